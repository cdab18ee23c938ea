"""Thresholds of outputs that are late or early, each just below and just above."""

from __future__ import annotations

import numpy as np

from dalembert.identify.subspace.synchrony import (
    FARTHEST,
    ShiftedOutputs,
)

RNG = np.random.default_rng(0)
U = RNG.standard_normal((1000, 1))
NOISE = RNG.standard_normal(1000)


def shifted(ratio: float, share: float = 0.01, late: int = 2, rest: np.ndarray | None = None) -> ShiftedOutputs:
    """One output whose residual power falls to ``ratio`` at one shift; by default its residuals are noise."""
    ratios, shares = np.ones((2 * FARTHEST + 1, 1)), np.ones((2 * FARTHEST + 1, 1))
    ratios[FARTHEST + late], shares[FARTHEST + late] = ratio, share
    if rest is None:
        rest = np.broadcast_to(NOISE[:, None, None], (1000, 2 * FARTHEST + 1, 1))
    none = np.zeros((0, 1))
    return ShiftedOutputs(("y",), ratios, shares, rest, U, U, np.zeros(0, dtype=complex), none, none)


def found(outputs: ShiftedOutputs) -> list[int]:
    return [one.samples for one in outputs.find_asynchronous()]


def weak(ratio: float, effect: float) -> ShiftedOutputs:
    """A ratio at one sample late, the least at three; without shift the residual has an effect of the input."""
    rest = np.repeat(NOISE[:, None], 2 * FARTHEST + 1, axis=1)[:, :, None]
    rest[:, FARTHEST, 0] += effect * U[:, 0]
    outputs = shifted(0.82, late=3, rest=rest)
    outputs.ratios[FARTHEST + 1], outputs.shares[FARTHEST + 1] = ratio, 0.01
    return outputs


def test_a_weaker_shift_is_accepted_where_it_removes_the_effect_of_the_inputs() -> None:
    assert found(weak(0.94, effect=1.0)) == [1]
    assert found(weak(0.94, effect=0.0)) == []
