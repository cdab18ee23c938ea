"""Consistency of innovations and errors with the covariances of a filter."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from tests.helpers.findings import raises
from tests.helpers.kalman_models import kalman, pushed
from tests.helpers.linear_gaussian import random_problem


@pytest.mark.spec("004-C11")
def test_nees_of_a_state_held_for_known_counts_nothing_where_it_is_right_and_all_where_it_is_not():
    model = da.StateSpace(np.diag([0.9, 0.8]), C=[[1.0, 0.0]], states=["a", "b"], outputs="seen", dt=1.0)
    kalman = da.estimate.Kalman(model, Q=0.0, R=1.0, start=[0.0, 1.0], P0={"a": 1.0})
    right = 0.8 ** np.arange(5)
    record = da.Record(np.arange(5.0), np.column_stack([0 * right, right, 0 * right]), ["a", "b", "seen"])
    estimate = kalman.run(record)
    assert np.isfinite(da.estimate.nees(estimate, record)).all()
    off = da.Record(np.arange(5.0), np.column_stack([0 * right, 1.1 * right, 0 * right]), ["a", "b", "seen"])
    assert np.isinf(da.estimate.nees(estimate, off)).all()


def test_nees_is_the_squared_error_in_units_of_the_covariance():
    problem = random_problem(31, 3, 2)
    record = problem.simulate(np.random.default_rng(0), 400)
    estimate = da.estimate.Kalman(problem.system, Q=problem.Q, R=problem.R, start=problem.x0, P0=problem.P0).run(record)
    values = da.estimate.nees(estimate, record)
    e, P = record[["x1", "x2", "x3"]][7] - estimate.states[7], estimate.covariances()[7]
    assert values[7] == pytest.approx(e @ np.linalg.solve(P, e), rel=1e-9)
    assert estimate.compare(record).nees_mean == pytest.approx(values.mean() / 3)
    assert 0.8 < estimate.compare(record).nees_mean < 1.2


@pytest.mark.spec("004-C11")
def test_consistency_distinguishes_right_from_wrong_noise():
    problem = random_problem(32, 3, 2)
    record = problem.simulate(np.random.default_rng(1), 3000, gaps=0.1)

    def judged(q: float, r: float) -> da.estimate.Consistency:
        return da.estimate.Kalman(problem.system, Q=q * problem.Q, R=r * problem.R, P0=1.0).run(record).consistency()

    right = judged(1.0, 1.0)
    assert right.consistent and right.verdict == "consistent" and 0.93 < right.inside < 0.97
    assert "times larger than the filter expects" in judged(0.04, 0.04).verdict
    assert "times smaller than the filter expects" in judged(25.0, 25.0).verdict
    slow, fast = judged(1e-3, 10.0), judged(1e3, 1.0)
    assert not slow.is_white and "enlarge Q" in slow.verdict
    assert not fast.is_white and "Q is too large" in fast.verdict
    assert "lag 1" in repr(right)


def test_bands_are_checked():
    assert da.estimate.chi_square_band(1, 10**6)[1] == pytest.approx(1.0, abs=3e-3)
    with raises(DataError, "out-of-range"):
        da.estimate.chi_square_band(2, level=95)
    with raises(DataError, "wrong-shape"):
        da.estimate.mean_nees([1.0, 2.0], 2)
    with raises(DataError, "too-few-samples"):
        kalman().run(pushed(20)).consistency(settle=50.0)
