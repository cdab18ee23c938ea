"""Thresholds of outputs that are late or early, each just below and just above."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dalembert.identify.records.data import Data
from dalembert.identify.subspace.synchrony import (
    FARTHEST,
    THRESHOLDS,
    AsynchronousOutput,
    ShiftedOutputs,
    _input_significance,
    _still_early,
    shift_outputs,
)
from dalembert.linear import StateSpace

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


def test_a_shift_is_accepted_below_a_ratio_of_the_residuals() -> None:
    assert found(shifted(0.99 * THRESHOLDS.ratio)) == [2]
    assert found(shifted(1.01 * THRESHOLDS.ratio)) == []


def test_a_shift_is_refused_where_too_much_of_the_output_is_left() -> None:
    assert found(shifted(0.1, share=0.99 * THRESHOLDS.share)) == [2]
    assert found(shifted(0.1, share=1.01 * THRESHOLDS.share)) == []


def weak(ratio: float, effect: float) -> ShiftedOutputs:
    """A ratio at one sample late, the least at three; without shift the residual has an effect of the input."""
    rest = np.repeat(NOISE[:, None], 2 * FARTHEST + 1, axis=1)[:, :, None]
    rest[:, FARTHEST, 0] += effect * U[:, 0]
    outputs = shifted(0.82, late=3, rest=rest)
    outputs.ratios[FARTHEST + 1], outputs.shares[FARTHEST + 1] = ratio, 0.01
    return outputs


def test_a_weaker_shift_is_accepted_where_it_removes_the_effect_of_the_inputs() -> None:
    assert found(weak(0.99 * THRESHOLDS.largest_ratio, effect=1.0)) == [1]
    assert found(weak(1.01 * THRESHOLDS.largest_ratio, effect=1.0)) == []
    assert found(weak(0.99 * THRESHOLDS.largest_ratio, effect=0.0)) == []


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_effect_of_the_inputs_on_a_residual_counts_from_four_standard_deviations_on(factor: float) -> None:
    """The gain of the input in the residual is tuned so that its significance is at the threshold."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        small = _input_significance(NOISE + middle * U[:, 0], U) < factor * THRESHOLDS.significance
        low, high = (middle, high) if small else (low, middle)
    assert found(weak(0.9, effect=high)) == ([1] if factor > 1.0 else [])


def test_of_shifts_that_leave_nearly_the_same_the_shortest_counts() -> None:
    outputs = shifted(0.1, late=3)
    for factor, samples in ((0.99, 1), (1.01, 3)):
        ratios, shares = outputs.ratios.copy(), outputs.shares.copy()
        ratios[FARTHEST + 1], shares[FARTHEST + 1] = factor * THRESHOLDS.equal * 0.1, 0.01
        assert found(replace(outputs, ratios=ratios, shares=shares)) == [samples]


def test_an_early_output_stays_early_where_more_states_leave_more_than_the_shift() -> None:
    early = AsynchronousOutput("y", 0, -2, 0.1, 0.02)
    for factor in (0.99, 1.01):
        larger = shifted(1.0)
        larger.shares[FARTHEST, 0] = factor * THRESHOLDS.larger_model * early.share
        assert _still_early(early, larger) == (factor > 1.0)
    assert _still_early(replace(early, ratio=0.99 * THRESHOLDS.ratio), None)
    assert not _still_early(replace(early, ratio=1.01 * THRESHOLDS.ratio), None)


@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_a_model_that_grows_too_much_is_not_simulated(factor: float) -> None:
    pole = float(np.exp(factor * THRESHOLDS.growth / 1000))
    system = StateSpace([[pole]], [1.0], [1.0], dt=1.0, inputs="u", outputs="y")
    data = Data((U,), (U,), 1.0, ("u",), ("y",))
    assert (shift_outputs(data, system) is None) == (factor > 1.0)


@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_power_is_found_of_modes_that_last(factor: float) -> None:
    pole = float(np.exp(-factor * THRESHOLDS.decay / 1000))
    system = StateSpace([[pole]], [1.0], [1.0], dt=1.0, inputs="u", outputs="y")
    y = np.cumsum(U, axis=0)
    outputs = shift_outputs(Data((U,), (y,), 1.0, ("u",), ("y",)), system)
    assert outputs is not None
    assert (outputs.driven.max() > 0.0) == (factor < 1.0)


def test_residuals_below_the_exact_share_of_the_power_do_not_differ() -> None:
    """Noise-free data of the model itself: all shifts leave the floor, or more."""
    system = StateSpace([[0.9]], [1.0], [1.0], dt=1.0, inputs="u", outputs="y")
    y = np.array([sum(0.9 ** (k - 1 - j) * U[j] for j in range(k)) if k else np.zeros(1) for k in range(200)])
    outputs = shift_outputs(Data((U[:200],), (y,), 1.0, ("u",), ("y",)), system)
    assert outputs is not None
    assert outputs.shares[FARTHEST, 0] == pytest.approx(THRESHOLDS.exact, rel=1e-3)
