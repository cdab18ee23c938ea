"""All linear forms of a filter are one filter: random linear-Gaussian problems of 1 to 5 states."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.record import Record
from tests.helpers.linear_gaussian import random_problem

problems = st.builds(random_problem, st.integers(0, 2**31), st.integers(1, 5), st.integers(1, 3), st.integers(0, 2))
FORMS = ("covariance", "square-root", "information")


def close(a: object, b: object, scale: float) -> bool:
    return bool(np.abs(np.asarray(a) - np.asarray(b)).max() <= 1e-10 * max(1.0, scale))


@pytest.mark.spec("004-C4", "004-C2", "000-71")
@settings(max_examples=8)
@given(problems, st.integers(0, 2**31))
def test_every_form_is_the_filter_written_out_in_numpy_also_with_samples_missing(problem, seed):
    record = problem.simulate(np.random.default_rng(seed), 40, gaps=0.2)
    means, covariances, likelihood = problem.filtered(record)
    scale, size = np.abs(means).max(), np.abs(covariances).max()
    for form in FORMS:
        kalman = da.estimate.Kalman(
            problem.system, Q=problem.Q, R=problem.R, start=problem.x0, P0=problem.P0, form=form
        )
        estimate = kalman.run(record)
        assert close(estimate.states, means, scale), form
        assert close(estimate.covariances(), covariances, size), form
        assert estimate.log_likelihood == pytest.approx(likelihood, rel=1e-10, abs=1e-9)


@settings(max_examples=6)
@given(problems, st.integers(0, 2**31))
def test_smoothing_is_least_squares_over_the_whole_record(problem, seed):
    record = problem.simulate(np.random.default_rng(seed), 25, gaps=0.2)
    means, covariances = problem.batch(record)
    for form in FORMS:
        kalman = da.estimate.Kalman(
            problem.system, Q=problem.Q, R=problem.R, start=problem.x0, P0=problem.P0, form=form
        )
        smoothed = da.estimate.smooth(kalman.run(record))
        assert np.abs(smoothed.states - means).max() <= 1e-9 * max(1.0, np.abs(means).max())
        assert np.abs(smoothed.covariances() - covariances).max() <= 1e-9 * max(1.0, np.abs(covariances).max())


@settings(max_examples=5)
@given(problems, st.integers(0, 2**31))
def test_a_sensor_that_never_speaks_is_a_sensor_that_is_not_there(problem, seed):
    rng = np.random.default_rng(seed)
    system = problem.system
    if len(system.outputs) < 2:
        return
    record = problem.simulate(rng, 30)
    silent = np.array(record.data)
    silent[:, record.names.index("y2")] = np.nan
    both = Record(record.time, silent, record.names)
    whole = da.estimate.Kalman(system, Q=problem.Q, R=problem.R, start=problem.x0, P0=problem.P0).run(both)
    rows = [k for k, name in enumerate(system.outputs) if name != "y2"]
    fewer = da.estimate.Kalman(
        system, outputs=[system.outputs[k] for k in rows], Q=problem.Q, R=problem.R[np.ix_(rows, rows)],
        start=problem.x0, P0=problem.P0,
    ).run(record)  # fmt: skip
    assert close(whole.states, fewer.states, np.abs(fewer.states).max())
    assert whole.log_likelihood == pytest.approx(fewer.log_likelihood, rel=1e-11, abs=1e-10)


@settings(max_examples=5)
@given(problems, st.integers(0, 2**31))
def test_stepping_watching_and_running_are_the_same(problem, seed):
    record = problem.simulate(np.random.default_rng(seed), 20, gaps=0.3)
    kalman = da.estimate.Kalman(problem.system, Q=problem.Q, R=problem.R, start=problem.x0, P0=problem.P0)
    estimate = kalman.run(record)
    stepper, observer_step = kalman.stepper(), kalman.observer_step()
    state = np.array(observer_step.start)
    u, y = record[list(problem.system.inputs)], record[list(problem.system.outputs)]
    for k in range(len(record)):
        stepper.step(y[k], u[k])
        measured = np.isfinite(y[k]).astype(float)
        state, output = observer_step.function(
            state, u[max(k - 1, 0)], u[k], np.where(measured > 0, y[k], 0.0), measured, observer_step.parameters,
            record.time[k], 0.1 if k else 0.0,
        )  # fmt: skip
        assert np.allclose(stepper.x, estimate.states[k], rtol=1e-13, atol=1e-13)
        x, deviation = np.split(output.full().ravel(), 2)
        assert np.allclose(x, estimate.states[k], rtol=1e-12, atol=1e-12)
        assert np.allclose(deviation**2, estimate.deviations.data[k] ** 2, rtol=1e-12, atol=1e-12)
