"""Levels of an output that wander over the record: drift of a sensor, or motion that inputs sum up to.

The levels are the means of 32 parts of the record. They are a drift where they hold some of the power of the output,
neighbours are alike, and neither the levels of the inputs nor those of their sums (a mass without a spring) nor slow
first-order responses to them explain them. White sums explain a ramp by chance rather well, so they must explain nearly
all of it; slow responses less well: of 300 records with a drift they left 10 % or more in all but two, of 40 slow
systems without one less than that in all but three.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.core.arrays import FloatArray

# Parts, of so many samples at least.
PARTS, FEWEST = 32, 8
# Share of the power, and correlation of neighbouring levels, where 0.5 is still chance.
WANDERS, SLOWLY = 0.02, 0.65
# What sums of inputs may leave of a drift that is theirs; and how alike input and output may wander, as a square.
EXPLAINED, ALONG = 0.01, 0.25
# Time constants of slow responses, in parts, and what they may leave.
SLOW, ANSWERED = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0), 0.1
# An output that grows or dies out by more takes its level with it.
GROWN = 20.0


def drift_share(y: FloatArray, inputs: Sequence[FloatArray], *, linear: bool) -> float:
    """Share of the power of an output (N,) that is drift; 0 for none. linear : a straight line is taken off later."""
    quarter = len(y) // 4
    if len(y) < PARTS * FEWEST:
        return 0.0
    first, last = float(y[:quarter].std()), float(y[-quarter:].std())
    if max(first, last) > GROWN * min(first, last):
        return 0.0
    level = _levels(y)
    level -= level.mean()
    if linear:
        time = np.arange(PARTS) - 0.5 * (PARTS - 1)
        level -= time * (time @ level) / (time @ time)
    size, whole = float(level @ level), PARTS * float(y.var())
    if size < WANDERS * whole or float(level[1:] @ level[:-1]) < SLOWLY * size or _explained(level, inputs):
        return 0.0
    return size / whole


def _explained(level: FloatArray, inputs: Sequence[FloatArray]) -> bool:
    """Whether inputs, or their sums, wander in the same way."""
    size, still = float(level @ level), np.ones(PARTS)
    centred = [u - u.mean() for u in inputs]
    own = [_levels(v) for v in centred]
    if any(float(one @ level) ** 2 > ALONG * float(one @ one) * size for one in own):
        return True  # a cause, or the answer of a controller
    if not inputs or 1 + 3 * len(inputs) >= PARTS // 2:
        return False
    sums = [_levels(np.cumsum(v)) for v in centred] + [_levels(np.cumsum(np.cumsum(v))) for v in centred]
    if _left(level, [still, *own, *sums]) < EXPLAINED * size:
        return True
    from scipy.signal import lfilter  # slow to import

    keep = [np.exp(-PARTS / (part * len(inputs[0]))) for part in SLOW]
    slow = [[_levels(lfilter([1.0], [1.0, -a], v)) for v in centred] for a in keep]
    return any(_left(level, [still, *own, *answers]) < ANSWERED * size for answers in slow)


def _left(level: FloatArray, causes: Sequence[FloatArray]) -> float:
    """Sum of squares that the causes leave of the levels."""
    M = np.column_stack(causes)
    M /= np.maximum(np.linalg.norm(M, axis=0), 1e-300)
    rest = level - M @ np.linalg.lstsq(M, level, rcond=None)[0]
    return float(rest @ rest)


def _levels(column: FloatArray) -> FloatArray:
    """Means of PARTS parts of equal length."""
    length = len(column) // PARTS
    result: FloatArray = column[: length * PARTS].reshape(PARTS, length).mean(axis=1)
    return result
