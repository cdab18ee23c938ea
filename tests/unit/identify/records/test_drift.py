"""Drift of an output: each limit from both sides."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.arrays import FloatArray
from dalembert.identify.records.drift import PARTS, THRESHOLDS, measure_drift

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
def test_neighbouring_levels_of_a_drift_are_alike(factor: float, above: bool) -> None:
    def likeness(rough: float) -> float:
        level = wave(1) + rough * wave(8)
        return float(level[1:] @ level[:-1] / (level @ level))

    low, high = 0.0, 3.0  # the rougher, the less alike
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if likeness(middle) > factor * THRESHOLDS.neighbours else (low, middle)
    assert likeness(low) == pytest.approx(factor * THRESHOLDS.neighbours)
    assert is_drift(wave(1) + low * wave(8)) is above


@BELOW_AND_ABOVE
def test_a_level_along_an_input_is_its_effect(factor: float, above: bool) -> None:
    share = factor * THRESHOLDS.along_input  # of the level, as a square
    rng = np.random.default_rng(0)
    apart = rng.normal(size=PARTS).cumsum()
    basis = np.linalg.qr(np.column_stack([np.ones(PARTS), wave(1), apart]))[0]
    level = np.sqrt(share) * basis[:, 1] + np.sqrt(1.0 - share) * basis[:, 2]
    assert is_drift(level, stretched(wave(1))) is not above


def explained(causes: FloatArray, left: float) -> FloatArray:
    """A slow level of which the causes (PARTS, k) leave this share of the power; the rest is slow too."""
    rng = np.random.default_rng(5)
    Q = np.linalg.qr(np.column_stack([np.ones(PARTS), causes]))[0]
    apart = rng.normal(size=PARTS).cumsum().cumsum()
    apart = apart - Q @ (Q.T @ apart)
    mine = causes[:, -1] - causes[:, -1].mean()
    # the share that the span leaves: only `apart` is outside of it
    level: FloatArray = np.sqrt(1.0 - left) * mine / np.linalg.norm(mine) + np.sqrt(left) * apart / np.linalg.norm(
        apart
    )
    return level


def means(signal: FloatArray) -> FloatArray:
    average: FloatArray = signal.reshape(PARTS, LONG).mean(axis=1)
    return average


@BELOW_AND_ABOVE
def test_sums_of_an_input_may_leave_little_of_a_level(factor: float, above: bool) -> None:
    u = np.random.default_rng(2).normal(size=PARTS * LONG)
    v = u - u.mean()
    sums = np.column_stack([means(v), means(np.cumsum(v)), means(np.cumsum(np.cumsum(v)))])
    level = explained(sums / np.linalg.norm(sums, axis=0), factor * THRESHOLDS.left_by_sums)
    assert is_drift(level, u) is above


@BELOW_AND_ABOVE
def test_a_slow_response_to_an_input_may_leave_a_tenth_of_a_level(factor: float, above: bool) -> None:
    from scipy.signal import lfilter

    u = np.random.default_rng(4).normal(size=PARTS * LONG)
    v = u - u.mean()
    slow = np.column_stack([means(v), means(lfilter([1.0], [1.0, -np.exp(-1.0 / (4.0 * LONG))], v))])
    level = explained(slow / np.linalg.norm(slow, axis=0), factor * THRESHOLDS.left_by_slow_responses)
    assert is_drift(level, u) is above
