"""Smoothing: every estimate from the whole record."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.record import Record
from tests.helpers.findings import raises
from tests.helpers.kalman_models import kalman, pushed
from tests.helpers.linear_gaussian import random_problem


def test_smoothing_lowers_deviations_and_errors_and_leaves_the_last_sample():
    record = pushed(300)
    estimate = kalman().run(record)
    smoothed = da.estimate.smooth(estimate)
    assert smoothed.smoothed and "smoothed" in repr(smoothed)
    assert smoothed.states[-1] == pytest.approx(estimate.states[-1], rel=1e-14)
    assert np.all(smoothed.deviations.data <= estimate.deviations.data * (1 + 1e-9))
    assert smoothed.compare(record)["speed"] < estimate.compare(record)["speed"]
    with raises(DataError, "not-supported"):
        da.estimate.smooth(smoothed)
    with raises(DataError, "wrong-type", "filter.run"):
        da.estimate.smooth(record)


def test_smoothing_of_an_extended_filter_of_a_linear_model_is_that_of_the_linear_filter():
    problem = random_problem(33, 3, 2)
    record = problem.simulate(np.random.default_rng(2), 300, gaps=0.2)
    given = {"Q": problem.Q, "R": problem.R, "P0": problem.P0, "start": problem.x0}
    linear = da.estimate.smooth(da.estimate.Kalman(problem.system, **given).run(record))
    for other in (da.estimate.ExtendedKalman, da.estimate.SigmaPointKalman):
        smoothed = da.estimate.smooth(other(problem.system, **given).run(record))
        assert smoothed.states == pytest.approx(linear.states, abs=1e-9)
        assert smoothed.covariances() == pytest.approx(linear.covariances(), abs=1e-9)


def test_smoothing_of_a_pendulum_beats_its_filter():
    model = da.estimate.UserModel(
        lambda x, u: [x[1], -9.81 * da.sin(x[0])], lambda x: [x[0]], states=["angle", "speed"], outputs=["encoder"]
    )
    ekf = da.estimate.ExtendedKalman(model, Q=[1e-9, 1e-5], R=1e-3, dt=0.01, P0=1.0, start=[0.5, 0.0])
    rng = np.random.default_rng(4)
    step = ekf.process.functions["step"]
    x, rows = np.array([1.0, 0.0]), []
    for _ in range(600):
        rows.append([*x, x[0] + np.sqrt(1e-3) * rng.standard_normal()])
        x = step(x, [], [], 0.0, 0.01).full().ravel() + np.sqrt([1e-9, 1e-5]) * rng.standard_normal(2)
    record = Record(0.01 * np.arange(600), rows, ["angle", "speed", "encoder"])
    estimate = ekf.run(record)
    smoothed = da.estimate.smooth(estimate)
    for name in ("angle", "speed"):
        assert smoothed.compare(record, settle=1.0)[name] < 0.8 * estimate.compare(record, settle=1.0)[name]
    assert 0.7 < smoothed.compare(record, settle=1.0).nees_mean < 1.4
