"""Sampling of records: even times, lost samples and holes, on both sides of each threshold."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.record.sampling import find_holes, find_jumps, is_even


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
