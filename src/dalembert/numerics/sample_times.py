"""Sample times: which instants are the same, and how many intervals fit into a length of time.

A time tₖ = t₀ + k dt is rounded to some k ε of an interval. An interval that a person writes (1/rate) has six digits
or more. Both judgements are here, because a plant, its law, its observer and its record must agree about them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.core.arrays import FloatArray

EPS = float(np.finfo(np.float64).eps)


def slack(dt: float, rounding: float = 1e-9) -> float:
    """Time [s] within an interval that is rounding: k ε of computed times reaches it after 4.5 million samples."""
    return rounding * dt


def written(dt: float, digits: float = 1e-6) -> float:
    """Difference [s] of intervals that a person writes: 1/rate in six digits; 1e5 samples drift apart by 0.1 of one."""
    return digits * dt


def just_before(t: Any, zero: float = 1e-15) -> Any:
    """A time [s] earlier by the rounding of times near zero."""
    return t - zero


def just_after(t: Any, zero: float = 1e-15) -> Any:
    """A time [s] later by the rounding of times near zero."""
    return t + zero


def time_rounding(dt: float, latest: float) -> float:
    """Difference [s] below which computed times up to the latest one are the same: never below their own rounding."""
    return max(slack(dt), 4.0 * EPS * abs(latest))


def count_intervals(length: float, dt: float) -> int:
    """Whole intervals in a length of time; one that ends with it up to rounding is whole."""
    return int(np.floor((length + time_rounding(dt, length)) / dt))


def is_same_time(a: float, b: float, dt: float) -> bool:
    """Whether two computed times, or two given intervals, differ by rounding only."""
    return bool(abs(a - b) <= time_rounding(dt, b))


def is_reached(t: float, wanted: float, reached: float = 4e-16) -> bool:
    """Whether a step to the wanted time has ended there, up to the rounding of t + h."""
    return bool(t >= just_before(wanted) - reached * abs(wanted))


def lateness(t: Any, relative: float = 1e-12) -> Any:
    """Time [s] before t by which a step that ends earlier was cut short by error control: 4500 roundings."""
    return relative * t


def is_late(t: FloatArray, wanted: FloatArray) -> NDArray[np.bool_]:
    """Which steps to wanted times ended before them."""
    return np.asarray(t < just_before(wanted - lateness(np.abs(wanted))))


def is_begun(t: float, begin: float) -> bool:
    """Whether a sample time is the time at which a run begins."""
    return bool(t <= begin + lateness(max(1.0, abs(begin))))


def count_multiple(length: float, dt: float) -> int | None:
    """n with length = n dt, n ≥ 1, both as people write them; None where the length is no multiple."""
    count = round(length / dt)
    return count if count >= 1 and abs(length - count * dt) <= written(dt) else None
