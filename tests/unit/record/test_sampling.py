"""Sampling of records: even times, lost samples and holes, on both sides of each threshold."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.record.interpolate import regular_times
from dalembert.record.sampling import find_holes, find_jumps
from tests.helpers.findings import raises


def steps(*last: float, usual: int = 40) -> np.ndarray:
    """Times of ``usual`` steps of one second, with others after them."""
    return np.concatenate([[0.0], np.cumsum([1.0] * usual + list(last))])


@pytest.mark.parametrize(("share", "holes"), [(0.99, 0), (1.01, 1)])
def test_a_step_beyond_three_is_a_hole(share: float, holes: int) -> None:
    assert len(find_holes(steps(share * 3.0, 1.0))) == holes


@pytest.mark.parametrize(("long", "found"), [(3, 3), (5, 0)])
def test_long_steps_are_gaps_where_nine_of_ten_steps_are_equal(long: int, found: int) -> None:
    assert len(find_jumps(steps(*[2.0] * long, usual=40 - long))) == found


# ---- edges of thresholds


@pytest.mark.parametrize("many", [2e9, 1e12])
def test_a_resampled_record_of_a_billion_samples_is_refused(many):
    with raises(DataError, "too-large"):
        regular_times(np.array([0.0, 1.0]), 1.0 / many)
