"""Sample times: which instants are the same, and how many intervals fit into a length of time.

A time tₖ = t₀ + k dt is rounded to some k ε of an interval. An interval that a person writes (1/rate) has six digits
or more. Both judgements are here, because a plant, its law, its observer and its record must agree about them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.core.arrays import FloatArray


@dataclass(frozen=True)
class TimeTolerances:
    """Differences of times that do not count, as shares of an interval."""

    # Computed times: k ε reaches it after 4.5 million samples; what a machine moves within it is rounding.
    rounding: float = 1e-9
    # Intervals that people write: 1/rate in six digits. Over 1e5 samples the clocks drift apart by 0.1 of one.
    written: float = 1e-6
    # Relative: a step to a time ends there up to the rounding of t + h; below it nothing is left to step over.
    reached: float = 4e-16
    # [s]: the same for times near zero.
    instant: float = 1e-15
    # Relative: a step that ends earlier was cut short by error control. 4500 roundings.
    late: float = 1e-12


TOLERANCES = TimeTolerances()
EPS = float(np.finfo(np.float64).eps)


def time_rounding(dt: float, latest: float) -> float:
    """Difference [s] below which computed times up to the latest one are the same: never below their own rounding."""
    return max(TOLERANCES.rounding * dt, 4.0 * EPS * abs(latest))


def count_intervals(length: float, dt: float) -> int:
    """Whole intervals in a length of time; one that ends with it up to rounding is whole."""
    return int(np.floor((length + time_rounding(dt, length)) / dt))


def is_same_time(a: float, b: float, dt: float) -> bool:
    """Whether two computed times, or two given intervals, differ by rounding only."""
    return bool(abs(a - b) <= time_rounding(dt, b))


def is_reached(t: float, wanted: float) -> bool:
    """Whether a step to the wanted time has ended there."""
    return t >= wanted - TOLERANCES.instant - TOLERANCES.reached * abs(wanted)


def is_late(t: FloatArray, wanted: FloatArray) -> NDArray[np.bool_]:
    """Which steps to wanted times ended before them."""
    return np.asarray(t < wanted - TOLERANCES.late * np.abs(wanted) - TOLERANCES.instant)


def is_begun(t: float, begin: float) -> bool:
    """Whether a sample time is the time at which a run begins."""
    return t <= begin + TOLERANCES.late * max(1.0, abs(begin))


def count_multiple(length: float, dt: float) -> int | None:
    """n with length = n dt, n ≥ 1, both as people write them; None where the length is no multiple."""
    count = round(length / dt)
    return count if count >= 1 and abs(length - count * dt) <= TOLERANCES.written * dt else None
