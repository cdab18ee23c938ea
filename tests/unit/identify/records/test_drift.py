"""Drift of an output: each limit from both sides."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.arrays import FloatArray
from dalembert.identify.records.drift import PARTS, measure_drift

LONG = 64  # samples of a part
K = np.arange(PARTS)
BELOW_AND_ABOVE = pytest.mark.parametrize(("factor", "above"), [(0.97, False), (1.03, True)])


def stretched(level: FloatArray) -> FloatArray:
    """A signal with this mean in every part."""
    return np.repeat(level, LONG)


def wave(periods: int, phase: float = 0.0) -> FloatArray:
    level: FloatArray = np.cos(2.0 * np.pi * periods * (K + 0.5) / PARTS + phase)
    return level


def is_drift(level: FloatArray, *inputs: FloatArray) -> bool:
    return measure_drift(stretched(level), list(inputs), linear=False) > 0.0


@BELOW_AND_ABOVE
def test_a_level_along_an_input_is_its_effect(factor: float, above: bool) -> None:
    share = factor * 0.25  # of the level, as a square
    rng = np.random.default_rng(0)
    apart = rng.normal(size=PARTS).cumsum()
    basis = np.linalg.qr(np.column_stack([np.ones(PARTS), wave(1), apart]))[0]
    level = np.sqrt(share) * basis[:, 1] + np.sqrt(1.0 - share) * basis[:, 2]
    assert is_drift(level, stretched(wave(1))) is not above
