"""Tuning of Q and R: every kind of filter finds the variances the data were made with; progress, speed, mistakes."""

from __future__ import annotations

import math
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, Interrupted
from dalembert.estimate import ExtendedKalman, Kalman, SigmaPointKalman, SphericalSimplex, UserModel, process, tune
from dalembert.estimate.judge.tuning import Task, _Descent, _TuningPoint, find_entries
from dalembert.linear import StateSpace
from dalembert.record import Record
from tests.helpers.driven_pendulum import pendulum as driven_pendulum
from tests.helpers.findings import raises
from tests.helpers.kalman_models import cart, kalman, pushed
from tests.helpers.linear_gaussian import Problem, random_problem

DT, TRUE_Q, TRUE_R = 0.05, 4e-3, 2.5e-3


def pendulum() -> UserModel:
    return UserModel(
        lambda x, u: [x[1], -9.81 * da.sin(x[0]) - 0.1 * x[1] + u[0]], lambda x: [x[0]],
        states=["angle", "speed"], inputs=["torque"], outputs=["encoder"], start=[0.5, 0.0],
    )  # fmt: skip


@lru_cache(maxsize=4)
def swung(count: int = 1200) -> Record:
    """A driven pendulum with kicks of variance TRUE_Q in its speed, read with noise of variance TRUE_R."""
    rng, step = np.random.default_rng(7), process(pendulum()).functions["step"]
    time = DT * np.arange(count)
    u, x, rows = 2 * np.sin(2.5 * time), np.array([0.5, 0.0]), []
    for k in range(count):
        rows.append([u[k], x[0] + np.sqrt(TRUE_R) * rng.standard_normal()])
        kick = np.array([0.0, np.sqrt(TRUE_Q) * rng.standard_normal()])
        x = np.array(step(x, u[k], [], 0.0, DT)).ravel() + kick
    return Record(time, rows, ["torque", "encoder"])


@pytest.mark.spec("004-C9")
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (ExtendedKalman, {}), (ExtendedKalman, {"iterations": 2}), (SigmaPointKalman, {}),
        (SigmaPointKalman, {"points": SphericalSimplex(0.3), "square_root": True}),
    ],
)  # fmt: skip
def test_nonlinear_filters_find_the_variances_the_data_were_made_with(kind: Any, options: Any) -> None:
    given = {"Q": {"speed": 1.0}, "R": 1e-5, "P0": 1e-2, "dt": DT, **options}
    found = tune(kind(pendulum(), **given), swung())
    # 1200 samples determine a variance of the noise to √(2/1200) = 4 %, through a filter a few times worse
    assert found.variances == pytest.approx({"Q.speed": TRUE_Q, "R.encoder": TRUE_R}, rel=0.2)
    assert found.at_bound == () and found.after < found.before
    assert found.filter.run(swung()).consistency(settle=2.0).consistent


@pytest.mark.spec("004-C9")
def test_the_forms_of_the_kalman_filter_find_them_too_and_all_the_same() -> None:
    rng = np.random.default_rng(3)
    cart = StateSpace([[1.0, DT], [0.0, 1.0]], None, [[1.0, 0.0]], states=["place", "speed"], outputs="seen", dt=DT)
    x, seen = np.zeros(2), []
    for _ in range(1500):
        seen.append(x[0] + np.sqrt(TRUE_R) * rng.standard_normal())
        x = cart.A @ x + [0.0, np.sqrt(TRUE_Q) * rng.standard_normal()]
    record = Record.from_channels(DT * np.arange(1500), {"seen": seen})
    first, *others = (
        tune(Kalman(cart, Q={"speed": 1.0}, R=1.0, P0=1e-2, form=form), record).variances
        for form in ("covariance", "square-root", "information")
    )
    assert first == pytest.approx({"Q.speed": TRUE_Q, "R.seen": TRUE_R}, rel=0.2)
    for other in others:  # one optimum, sharper than its distance from the truth
        assert other == pytest.approx(first, rel=1e-5)


def test_the_optimum_does_not_move_with_the_first_guess() -> None:
    record = swung(600)
    low, high = (
        tune(ExtendedKalman(pendulum(), Q={"speed": q}, R=r, P0=1e-2, dt=DT), record).variances
        for q, r in ((1e-6, 1e-1), (1e2, 1e-6))
    )
    assert low == pytest.approx(high, rel=1e-4)


def test_missing_samples_are_no_hindrance() -> None:
    record = swung()
    data = np.array(record.data)
    data[np.arange(len(record)) % 3 != 0, 1] = np.nan
    ekf = ExtendedKalman(pendulum(), Q={"speed": 1.0}, R=1.0, P0=1e-2, dt=DT)
    found = tune(ekf, Record(record.time, data, record.names))
    assert found.variances == pytest.approx({"Q.speed": TRUE_Q, "R.encoder": TRUE_R}, rel=0.35)


def test_it_hands_back_the_filter_it_was_given_with_its_code() -> None:
    ukf = SigmaPointKalman(pendulum(), Q={"speed": 1e-2}, R=1e-2, P0=1e-2, dt=DT)
    found = tune(ukf, swung(300))
    assert type(found.filter) is SigmaPointKalman and found.filter.native is ukf.native


def test_progress_grows_and_an_interruption_says_how_far_it_came() -> None:
    seen: list[float] = []
    tune(ExtendedKalman(pendulum(), Q={"speed": 1.0}, R=1.0, P0=1e-2, dt=DT), swung(300), progress=seen.append)
    assert len(seen) > 10 and seen == sorted(seen) and seen[0] > 0 and seen[-1] <= 1

    def stop(fraction: float) -> None:
        if fraction > 0.3:
            raise KeyboardInterrupt

    with raises(Interrupted, "interrupted"):
        tune(ExtendedKalman(pendulum(), Q={"speed": 1.0}, R=1.0, P0=1e-2, dt=DT), swung(300), progress=stop)


def test_a_record_too_short_to_determine_a_variance_is_refused() -> None:
    ekf = ExtendedKalman(pendulum(), Q={"speed": 1.0}, R=1.0, P0=1e-2, dt=DT)
    with raises(DataError, "too-few-samples"):
        tune(ekf, swung(3))


def test_a_full_matrix_is_scaled_alike_in_every_form() -> None:
    """One factor for all of Q: variances by it, their square roots by its root; square-root filters find the same."""
    rng = np.random.default_rng(4)
    Q = TRUE_Q * np.array([[0.3, 0.2], [0.2, 1.0]])
    cart = StateSpace([[1.0, DT], [0.0, 1.0]], None, [[1.0, 0.0]], states=["place", "speed"], outputs="seen", dt=DT)
    x, rows, root = np.zeros(2), [], np.linalg.cholesky(Q)
    for _ in range(600):
        rows.append(x[0] + np.sqrt(TRUE_R) * rng.standard_normal())
        x = cart.A @ x + root @ rng.standard_normal(2)
    record = Record(DT * np.arange(600), np.array(rows)[:, None], ["seen"])
    found = [
        tune(Kalman(cart, Q=30.0 * Q, R=TRUE_R, P0=1.0, form=form), record).variances
        for form in ("covariance", "square-root")
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-4)
    (scale,) = [value for name, value in found[0].items() if name.startswith("Q")]
    assert 0.5 < 30.0 * scale < 2.0


def diagonal_problem() -> Problem:
    p = random_problem(21, 3, 2)
    return Problem(p.system, np.diag([0.5, 0.05, 1.0]), np.diag([0.2, 0.05]), p.x0, p.P0)


@pytest.mark.spec("004-C9")
@pytest.mark.parametrize("against", ["likelihood", "truth"])
def test_slopes_of_the_criterion_are_those_of_differences(against):
    problem = diagonal_problem()
    record = problem.simulate(np.random.default_rng(1), 300)
    filter_ = da.estimate.Kalman(problem.system, Q=0.3, R=0.3, P0=1.0)
    truth = None if against == "likelihood" else record
    task = Task(filter_, record, find_entries(filter_, ["Q", "R"]), truth, 1.0)
    value, slope, curvature = task.slopes(task.first)
    assert value == pytest.approx(task.plain(task.first), rel=1e-12)
    for k in range(len(slope)):
        h = 1e-4 * np.eye(len(slope))[k]
        assert slope[k] == pytest.approx((task.plain(task.first + h) - task.plain(task.first - h)) / 2e-4, rel=1e-5)
    assert np.linalg.eigvalsh(curvature)[0] > -1e-12


@pytest.mark.spec("004-C9")
def test_likelihood_finds_the_variances_of_the_data():
    problem = diagonal_problem()
    record = problem.simulate(np.random.default_rng(2), 3000)
    tuned = da.estimate.tune(da.estimate.Kalman(problem.system, Q=20.0, R=20.0, P0=1.0), record)
    right = da.estimate.Kalman(problem.system, Q=problem.Q, R=problem.R, P0=1.0).run(record)
    found = tuned.filter.run(record)
    # the optimum is at least as likely as the truth, and by no more than a few χ² of five unknowns
    assert right.log_likelihood - 1e-6 <= found.log_likelihood < right.log_likelihood + 15
    assert tuned.variances["Q.x1"] == pytest.approx(0.5, rel=0.3)
    assert tuned.variances["R.y1"] == pytest.approx(0.2, rel=0.3)
    assert found.consistency().consistent
    assert tuned.after < tuned.before and "Q.x3" in repr(tuned) and tuned.at_bound == ()


@pytest.mark.spec("004-C9")
def test_against_a_reference_the_ratio_of_q_to_r_is_found():
    problem = diagonal_problem()
    record = problem.simulate(np.random.default_rng(3), 2000)
    poor = da.estimate.Kalman(problem.system, Q=1e-3, R=problem.R, P0=1.0)
    tuned = da.estimate.tune(poor, record, truth=record, settle=2.0)
    best = da.estimate.Kalman(problem.system, Q=problem.Q, R=problem.R, P0=1.0).run(record).compare(record, settle=2.0)
    ours, before = (f.run(record).compare(record, settle=2.0) for f in (tuned.filter, poor))
    for name in problem.system.states:
        assert ours[name] < 1.02 * best[name]
    assert sum(ours.rms.values()) < sum(before.rms.values())


def test_one_factor_of_a_full_matrix_and_single_variances_may_be_varied():
    problem = random_problem(22, 3, 2)
    record = problem.simulate(np.random.default_rng(4), 1500)
    filter_ = da.estimate.Kalman(problem.system, Q=100 * problem.Q, R=problem.R, P0=1.0)
    tuned = da.estimate.tune(filter_, record, vary="Q")
    assert pytest.approx(problem.Q, rel=0.25, abs=0.02) == tuned.Q
    names = da.estimate.tune(kalman(), pushed(300), vary=["R.seen"])
    assert list(names.variances) == ["R.seen"]
    assert math.sqrt(names.variances["R.seen"]) == pytest.approx(0.01, rel=0.2)


def test_tuning_says_what_it_cannot_do():
    record = pushed(50)
    with raises(DataError, "unknown-name", "'R.seen'", "R"):
        da.estimate.tune(kalman(), record, vary="R.sen")
    with raises(DataError, "empty"):
        da.estimate.tune(kalman(Q=0.0), record, vary="Q")
    with raises(DataError, "not-supported"):
        da.estimate.tune(da.estimate.Kalman(cart(), Q=1.0, R=1.0, dt=0.1, form="steady"), record)
    with raises(DataError, "wrong-type"):
        da.estimate.tune("kalman", record)
    with raises(DataError, "missing-channel"):
        da.estimate.tune(kalman(), record, truth=record.select("push"))


def test_a_variance_that_hardly_matters_does_not_keep_the_others_from_their_optimum():
    model = driven_pendulum()
    ekf = da.estimate.ExtendedKalman(model, Q=[1e-9, 1e-3], R=0.1, dt=0.01, P0=1.0, start=[0.5, 0.0])
    rng = np.random.default_rng(4)
    step = ekf.process.functions["step"]
    x, rows = np.array([1.0, 0.0]), []
    for _ in range(800):
        rows.append([0.0, x[0] + np.sqrt(1e-3) * rng.standard_normal()])
        x = step(x, [0.0], [], 0.0, 0.01).full().ravel() + np.array([0.0, np.sqrt(1e-5)]) * rng.standard_normal(2)
    record = Record(0.01 * np.arange(800), rows, ["torque", "encoder"])
    two = da.estimate.tune(ekf, record, vary=["Q.speed", "R"])
    three = da.estimate.tune(ekf, record)
    assert three.after <= two.after + 1e-7
    assert two.variances["R.encoder"] == pytest.approx(1e-3, rel=0.2)


# ---- edges of thresholds


def descent(truth=None) -> _Descent:
    return _Descent(SimpleNamespace(first=np.zeros(2), truth=truth), None)


def place(gradient, curvature=(1.0, 1.0), theta=(0.0, 0.0), value=0.5) -> _TuningPoint:
    return _TuningPoint(np.array(theta), value, np.array(gradient), np.diag(curvature))


def test_a_variance_changes_by_a_factor_of_seven_at_most_and_stays_within_twelve_decades():
    assert descent().step(place((-100.0, 0.1)), 0.0).change == pytest.approx([2.0, -0.1])
    at_end = place((-100.0, 100.0), theta=(27.0, -27.0))
    assert descent().step(at_end, 0.0).change == pytest.approx([12 * np.log(10.0), -12 * np.log(10.0)], rel=1e-14)
