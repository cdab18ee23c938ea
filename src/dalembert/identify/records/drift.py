"""Drift of the level of an output: a fault of its sensor, or motion that the inputs add up to.

The levels are the means of 32 parts of the record. They are a drift where they hold some of the power of the output,
neighbours are alike, and neither the levels of the inputs nor those of their sums (a mass without a spring) nor slow
first-order responses to them explain them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.core.arrays import FloatArray

PARTS, FEWEST = 32, 8  # parts of the record, and samples of each at least
TIME_CONSTANTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # of the slow responses, in parts


def measure_drift(
    y: FloatArray, inputs: Sequence[FloatArray], *, linear: bool, growth: float = 20.0, share: float = 0.02,
    neighbours: float = 0.65,
) -> float:  # fmt: skip
    """Share of the power of an output (N,) that is drift; 0 for none. linear : a straight line is subtracted later.

    growth : ratio of the standard deviations of the last and the first quarter: the level of a decay follows its size
    share : share of the power of the output in its levels; white noise in parts of 8 samples leaves 1/8 of its power
    there, but not in neighbours that are alike
    neighbours : correlation of neighbouring levels: of 32 independent ones it is beyond 0.5 by chance in one of some
    hundred
    """
    quarter = len(y) // 4
    if len(y) < PARTS * FEWEST:
        return 0.0
    first, last = float(y[:quarter].std()), float(y[-quarter:].std())
    if max(first, last) > growth * min(first, last):
        return 0.0
    level = _average_parts(y)
    level -= level.mean()
    if linear:
        time = np.arange(PARTS) - 0.5 * (PARTS - 1)
        level -= time * (time @ level) / (time @ time)
    size, power = float(level @ level), PARTS * float(y.var())
    if size < share * power or float(level[1:] @ level[:-1]) < neighbours * size or _is_explained(level, inputs):
        return 0.0
    return size / power


def _is_explained(
    level: FloatArray, inputs: Sequence[FloatArray], left_by_sums: float = 0.01, left_by_slow_responses: float = 0.1,
    along_input: float = 0.25,
) -> bool:  # fmt: skip
    """Whether the levels of the inputs, their sums or slow responses to them explain those of the output.

    left_by_sums : share of a drift that sums of inputs may leave: the sum of a white input explains a ramp by chance to
    some percent
    left_by_slow_responses : the same of slow first-order responses: of 300 records with a drift they left 10 % or more
    in all but two, of 40 slow systems without one less than that in all but three
    along_input : squared correlation with the level of an input that is its cause, or the action of a controller
    """
    size, still = float(level @ level), np.ones(PARTS)
    centred = [u - u.mean() for u in inputs]
    averages = [_average_parts(v) for v in centred]
    if any(float(average @ level) ** 2 > along_input * float(average @ average) * size for average in averages):
        return True
    if not inputs or 1 + 3 * len(inputs) >= PARTS // 2:
        return False
    sums = [_average_parts(np.cumsum(v)) for v in centred] + [_average_parts(np.cumsum(np.cumsum(v))) for v in centred]
    if _unexplained_power(level, [still, *averages, *sums]) < left_by_sums * size:
        return True
    from scipy.signal import lfilter  # slow to import

    keep = [np.exp(-PARTS / (constant * len(inputs[0]))) for constant in TIME_CONSTANTS]
    slow = [[_average_parts(lfilter([1.0], [1.0, -a], v)) for v in centred] for a in keep]
    return any(
        _unexplained_power(level, [still, *averages, *responses]) < left_by_slow_responses * size for responses in slow
    )


def _unexplained_power(level: FloatArray, causes: Sequence[FloatArray]) -> float:
    """Sum of squares that the causes leave of the levels."""
    M = np.column_stack(causes)
    M /= np.maximum(np.linalg.norm(M, axis=0), 1e-300)
    residual = level - M @ np.linalg.lstsq(M, level, rcond=None)[0]
    return float(residual @ residual)


def _average_parts(column: FloatArray) -> FloatArray:
    """Means of PARTS parts of equal length."""
    length = len(column) // PARTS
    result: FloatArray = column[: length * PARTS].reshape(PARTS, length).mean(axis=1)
    return result
