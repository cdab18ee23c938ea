"""Values between the samples of a record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.core.arrays import FloatArray as Array
from dalembert.core.declare import positive, refused_as
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.numerics.sample_times import count_intervals


def regular_times(time: Array, every: float, most: float = 1e9) -> Array:
    """Times from the first sample on, ``every`` seconds apart; ``most`` of them take 8 GB."""
    first, last = float(time[0]), float(time[-1])
    refused_as("not-positive", positive)("every", every)
    many = (last - first) / every
    problem = f"every {every:.6g} s from {first:.6g} to {last:.6g} s are {many:.3g} samples, too many."
    DataError.when(not many < most, "too-large", problem)
    # the 1e-9 keeps the last sample when the length is a whole number of steps up to rounding
    wanted: Array = first + every * np.arange(count_intervals(last - first, every) + 1, dtype=np.float64)
    return wanted


def check_inside(time: Array, wanted: Array, what: str, rounding: float = 1e-12) -> Array:
    """The wanted times, rounding at the ends forgiven; an error for any outside the record.

    rounding : of the times: excess over an end that sums of up to a thousand steps have.
    """
    first, last = float(time[0]), float(time[-1])
    slack = rounding * max(abs(first), abs(last), last - first)
    outside = ~((wanted >= first - slack) & (wanted <= last + slack))
    for worst in wanted[outside][:1]:
        problem = f"t = {worst:.6g} s is outside {what}, which runs from {first:.6g} to {last:.6g} s."
        raise DataError("out-of-range", problem)
    clipped: Array = np.clip(wanted, first, last)
    return clipped


def interpolate_cubic(time: Array, data: Array, wanted: Array, names: Sequence[str]) -> Array:
    """A cubic spline through all samples of every column."""
    from scipy.interpolate import CubicSpline

    if time.size < 2:
        return interpolate_linear(time, data, wanted)
    for label, is_whole in zip(names, np.atleast_1d(np.isfinite(data).all(axis=0))):
        problem, advice = f"channel {label!r} has gaps, which a cubic spline cannot cross.", Argument("kind", "linear")
        DataError.when(not is_whole, "gaps", problem, Advice("Use {}.", advice), where={"channel": label})
    return np.asarray(CubicSpline(time, data, axis=0)(wanted), dtype=np.float64)


def interpolate_linear(time: Array, data: Array, wanted: Array) -> Array:
    """Straight lines between samples; a gap stays a gap."""
    if time.size == 1:
        return np.repeat(data, wanted.size, axis=0)
    start = np.clip(np.searchsorted(time, wanted, side="right") - 1, 0, time.size - 2)
    weight = ((wanted - time[start]) / (time[start + 1] - time[start]))[:, None]
    mixed = (1.0 - weight) * data[start] + weight * data[start + 1]
    # on a sample the neighbour must not matter, even when it is a gap: 0 · NaN is NaN
    mixed = np.where(weight == 0.0, data[start], mixed)
    return np.where(weight == 1.0, data[start + 1], mixed)
