"""Times that count as the same: both sides of each tolerance."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.numerics.sample_times import (
    count_intervals,
    count_multiple,
    is_late,
    is_same_time,
)


@pytest.mark.parametrize(("short", "count"), [(0.5e-9, 7), (2e-9, 6)])
def test_an_interval_that_lacks_a_rounding_at_its_end_is_whole(short: float, count: int):
    assert count_intervals(0.7 - short * 0.1, 0.1) == count


@pytest.mark.parametrize(("off", "count"), [(0.5e-6, 3), (-0.5e-6, 3), (2e-6, None), (-2e-6, None)])
def test_a_multiple_is_written_with_six_digits(off: float, count: int | None):
    assert count_multiple(0.03 + off * 0.01, 0.01) == count


def test_a_length_below_one_interval_is_no_multiple():
    assert count_multiple(1e-9, 0.01) is None


def test_times_are_the_same_within_their_own_rounding_after_a_long_run():
    """k dt and the same time summed up differ by k ε of an interval, which passes 1e-9 after 4.5 million samples."""
    k = 80_000_000
    times = np.cumsum(np.full(8, k // 8 * 0.1))
    assert is_same_time(float(times[-1]), k * 0.1, 0.1)
    assert is_same_time(8e6 * (1 + 3e-16), 8e6, 0.1) and not is_same_time(8e6 * (1 + 2e-15), 8e6, 0.1)
    assert count_intervals(8e6 * (1 - 3e-16), 0.1) == k


@pytest.mark.parametrize(
    ("wanted", "short", "late"), [(0.0, 0.5e-15, False), (0.0, 2e-15, True), (1.0, 0.5e-12, False), (1.0, 2e-12, True)]
)
def test_a_step_that_error_control_cut_short_is_late(wanted: float, short: float, late: bool):
    assert bool(is_late(np.array([wanted - short]), np.array([wanted]))[0]) is late
