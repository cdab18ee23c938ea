"""Levels of an output that wander over the record: drift of a sensor, or motion that inputs sum up to.

The levels are the means of 32 parts of the record. They are a drift where they hold some of the power of the output,
neighbours are alike, and neither the levels of the inputs nor those of their sums (a mass without a spring) explain
them. White sums explain a ramp by chance rather well, so they must explain nearly all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.linear.checks import FloatArray

# Parts, of so many samples at least.
PARTS, FEWEST = 32, 8
# Share of the power, and correlation of neighbouring levels, where 0.5 is still chance.
WANDERS, SLOWLY = 0.02, 0.65
# What sums of inputs may leave of a drift that is theirs; and how alike input and output may wander, as a square.
EXPLAINED, ALONG = 0.01, 0.25
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
    size, causes = float(level @ level), [np.ones(PARTS)]
    for u in inputs:
        own, v = _levels(u) - u.mean(), u - u.mean()
        if float(own @ level) ** 2 > ALONG * float(own @ own) * size:
            return True  # a cause, or the answer of a controller
        causes += [own, _levels(np.cumsum(v)), _levels(np.cumsum(np.cumsum(v)))]
    if not inputs or len(causes) >= PARTS // 2:
        return False
    M = np.column_stack(causes)
    M /= np.maximum(np.linalg.norm(M, axis=0), 1e-300)
    rest = level - M @ np.linalg.lstsq(M, level, rcond=None)[0]
    return float(rest @ rest) < EXPLAINED * size


def _levels(column: FloatArray) -> FloatArray:
    """Means of PARTS parts of equal length."""
    length = len(column) // PARTS
    result: FloatArray = column[: length * PARTS].reshape(PARTS, length).mean(axis=1)
    return result
