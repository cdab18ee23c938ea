"""Sampling of records: even times, lost samples and holes, on both sides of each threshold."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.record import interpolate
from dalembert.record.interpolate import check_inside, regular_times
from dalembert.record.sampling import are_samples, find_holes, find_jumps, is_even
from tests.helpers.findings import raises


def steps(*last: float, usual: int = 40) -> np.ndarray:
    """Times of ``usual`` steps of one second, with others after them."""
    return np.concatenate([[0.0], np.cumsum([1.0] * usual + list(last))])


@pytest.mark.parametrize(("share", "even"), [(0.9, True), (1.1, False)])
def test_times_may_be_rounded_by_a_thousandth_of_a_step(share: float, even: bool) -> None:
    times = np.arange(41.0)
    times[7] += share * 0.001
    assert is_even(times) is even


@pytest.mark.parametrize(("share", "missing"), [(0.99, []), (1.01, [1])])
def test_a_step_beyond_one_and_a_half_has_lost_a_sample(share: float, missing: list[int]) -> None:
    assert [gap.samples for gap in find_jumps(steps(share * 1.5, 1.0))] == missing


@pytest.mark.parametrize(("share", "holes"), [(0.99, 0), (1.01, 1)])
def test_a_step_beyond_three_is_a_hole(share: float, holes: int) -> None:
    assert len(find_holes(steps(share * 3.0, 1.0))) == holes


@pytest.mark.parametrize(("long", "found"), [(3, 3), (5, 0)])
def test_long_steps_are_gaps_where_nine_of_ten_steps_are_equal(long: int, found: int) -> None:
    assert len(find_jumps(steps(*[2.0] * long, usual=40 - long))) == found


# ---- edges of thresholds


@pytest.mark.parametrize(("off", "on_grid"), [(3e-10, True), (3e-9, False)])
def test_a_wanted_time_is_a_sample_within_a_billionth_of_the_record(off, on_grid):
    times = np.arange(11.0)
    assert are_samples(times, np.array([3.0 + 11 * off])) == on_grid


@pytest.mark.parametrize(("excess", "refused"), [(3e-13, False), (3e-12, True)])
def test_a_time_beyond_the_end_by_rounding_is_forgiven(excess, refused):
    with raises(DataError, "out-of-range") if refused else nullcontext():
        assert check_inside(np.array([0.0, 8.0]), np.array([8.0 * (1.0 + excess)]), "it")[0] == 8.0


@pytest.mark.parametrize("many", [2e9, 1e12])
def test_a_resampled_record_of_a_billion_samples_is_refused(many):
    with raises(DataError, "too-large"):
        regular_times(np.array([0.0, 1.0]), 1.0 / many)


def test_a_hundred_million_samples_are_allowed(monkeypatch):
    monkeypatch.setattr(interpolate, "count_intervals", lambda length, every: 1)  # without 8 GB of them
    assert len(regular_times(np.array([0.0, 1.0]), 5e-9)) == 2


def test_a_time_that_is_nonsense_has_1e15_samples_missing_at_most():
    time = np.concatenate([np.arange(20.0), [1e300]])
    (gap,) = find_jumps(time)
    assert gap.samples == 10**15 - 1
