"""Q and R in all their forms; noise of the inputs; tuning; sensors."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from dalembert.estimate.judge.tuning import Task, find_entries
from dalembert.linear import StateSpace
from dalembert.record import Record
from tests.helpers.findings import raises
from tests.helpers.linear_gaussian import Problem, random_problem
from tests.unit.estimate.test_kalman import cart, kalman, pushed


def pendulum() -> da.estimate.UserModel:
    return da.estimate.UserModel(
        lambda x, u: [x[1], -9.81 * da.sin(x[0]) + da.cos(x[0]) * u[0]], lambda x: [x[0]],
        states=["angle", "speed"], inputs=["torque"], outputs=["encoder"],
    )  # fmt: skip


@pytest.mark.spec("004-C9")
@pytest.mark.parametrize(
    "form", [0.25, [0.25, 0.25], [[0.25, 0.0], [0.0, 0.25]], {"position": 0.25, "speed": 0.25}, lambda s: 0.25]
)
def test_the_forms_of_q_say_the_same(form):
    record = pushed(50)
    reference = kalman(Q=np.diag([0.25, 0.25])).run(record)
    assert kalman(Q=form).run(record).states == pytest.approx(reference.states, rel=1e-12, abs=1e-12)


@pytest.mark.spec("004-C9")
def test_covariances_may_depend_on_the_state_by_name():
    record = pushed(100)
    grown = kalman(R=lambda s: 1e-4 + 1e-3 * s["speed"] ** 2).run(record)
    assert np.all(np.diff(grown.spreads[5:, 0]) > 0)
    full = kalman(Q=lambda s: [[1e-6, 0.0], [0.0, s["dt"] ** 2 * s["push"] ** 2]]).run(record)
    assert full.states == pytest.approx(kalman(Q=[1e-6, 1e-2]).run(record).states, rel=1e-10)
    named = kalman(Q=lambda s: {"speed": 1e-2 * s["push"]}).run(record)
    assert named.states == pytest.approx(kalman(Q={"speed": 1e-2}).run(record).states, rel=1e-10)


def test_a_function_of_the_state_is_judged_before_it_runs():
    with pytest.raises(ModelError) as caught:
        kalman(R=lambda s: s["sped"])
    assert "'speed'" in str(caught.value)
    with raises(ModelError, "wrong-shape"):
        kalman(Q=lambda s: [1.0, 2.0, 3.0])
    with pytest.raises(ModelError):
        kalman(R=lambda s: 1.0 if s["speed"] > 0 else 2.0)


@pytest.mark.spec("004-C9")
def test_noise_of_the_inputs_comes_through_the_exact_derivative():
    # Q = G R_u Gᵀ with G = ∂f/∂u, of the pendulum's own step
    dt, variance = 0.02, 0.3
    ekf = da.estimate.ExtendedKalman(pendulum(), R=1e-4, input_noise={"torque": variance}, dt=dt, P0=1e-3)
    x, u = np.array([0.7, -0.4]), np.array([0.2])
    step = ekf.process.functions["step"]
    high, low = (step(x, u + h, [], 0.0, dt).full().ravel() for h in (1e-6, -1e-6))
    G = (high - low) / 2e-6
    found = np.array(ca.DM(ekf.model.Q(ca.DM(x), ca.DM(u), ca.DM(ekf.model.numbers), 0.0, dt)))
    assert found == pytest.approx(variance * np.outer(G, G), rel=1e-6, abs=1e-15)


@pytest.mark.spec("004-C9")
def test_noise_of_the_inputs_of_a_linear_model_is_b_r_b_in_every_form():
    model = cart(0.1)
    record = pushed(60)
    direct = da.estimate.Kalman(model, Q=1e-8 * np.eye(2) + 0.04 * model.B @ model.B.T, R=1e-4, P0=1.0).run(record)
    for form in ("covariance", "square-root", "information"):
        mapped = da.estimate.Kalman(model, Q=1e-8, input_noise={"push": 0.04}, R=1e-4, P0=1.0, form=form).run(record)
        assert mapped.states == pytest.approx(direct.states, rel=1e-10, abs=1e-10)
    settled = da.estimate.Kalman(model, Q=1e-8, input_noise=0.04, R=1e-4, form="steady").steady
    assert pytest.approx(direct.filter.steady.P, rel=1e-9) == settled.P


def test_other_numbers_run_on_the_same_native_code():
    record = pushed(50)
    first = kalman()
    first.run(record)
    other = first.with_numbers(first.noise.Q.values * 0, np.array([1.0, 1.0]))
    assert other.native is first.native
    assert other.run(record).states == pytest.approx(kalman(Q=0.0, R=1.0).run(record).states, rel=1e-12)


# --- tuning -----------------------------------------------------------------------------------------------------------


def diagonal_problem() -> Problem:
    p = random_problem(21, 3, 2)
    return Problem(p.system, np.diag([0.5, 0.05, 1.0]), np.diag([0.2, 0.05]), p.x0, p.P0)


@pytest.mark.spec("004-C9")
@pytest.mark.parametrize("against", ["likelihood", "truth"])
def test_slopes_of_the_criterion_are_those_of_differences(against):
    problem = diagonal_problem()
    record = problem.simulate(np.random.default_rng(1), 300)
    filter_ = da.estimate.Kalman(problem.system, Q=0.3, R=0.3, P0=1.0)
    task = Task(
        filter_, record, find_entries(filter_, ["Q", "R"]), None if against == "likelihood" else record, None, 1.0
    )
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


# --- sensors ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("004-C10")
def test_resolutions_and_deviations_are_those_of_the_source():
    from dalembert.estimate import Accelerometer, Encoder, ForceSensor

    for ppr, rad in ((2000, 3.14e-3), (1000, 6.28e-3), (4096, 1.53e-3)):
        assert Encoder(ppr).resolution == pytest.approx(rad, abs=0.5e-5)
    for sensitivity, metres in ((10e-3, 0.0305), (6e-3, 0.0509), (101.9e-3, 0.0030), (6.81e-3, 0.0448)):
        assert Accelerometer(sensitivity, bits=16, range=20.0).resolution == pytest.approx(metres, abs=0.5e-4)
    assert Accelerometer(1.0).resolution == pytest.approx(3.052e-4, abs=0.5e-7)
    tonne = 9.80665e3
    for scale, percent, sigma, last in (
        (80.0, 0.35, 0.28, 1e-9), (500 * tonne, 0.25, 12.26e3, 5.0), (15.0, 0.2, 0.03, 1e-9), (60.0, 0.2, 0.12, 1e-9),
        (2.0, 0.2, 0.004, 1e-9),
    ):  # fmt: skip
        assert ForceSensor(scale, percent=percent).sigma == pytest.approx(sigma, abs=last)


@pytest.mark.spec("004-C10")
def test_readings_are_noise_then_steps_within_the_range():
    sensor = da.estimate.Accelerometer(1.0, bits=4, range=16.0, noise=0.3)
    shown = sensor.reading(np.linspace(-20, 20, 401), np.random.default_rng(0).standard_normal(401))
    assert np.unique(np.abs(shown)).max() == 8.0 and np.all(shown == np.round(shown))
    assert da.estimate.Quantiser(step=0.1).sigma == pytest.approx(0.1 / math.sqrt(12))
    assert da.estimate.Quantiser(step=0.1).reading(np.array([0.04, 0.06, -0.04, -0.06])) == pytest.approx(
        [0.0, 0.1, 0.0, -0.1]
    )  # to the nearest step
    error = da.estimate.Encoder(360, noise=0.0).reading(x := np.random.default_rng(1).uniform(0, 6, 20000)) - x
    assert error.std() == pytest.approx(da.estimate.Encoder(360, noise=0.0).sigma, rel=0.02)


@pytest.mark.spec("004-C10")
def test_a_sensor_is_an_expression_too():
    sensor = da.estimate.ForceSensor(2.0, percent=0.2, bits=24)
    x, n = ca.SX.sym("x"), ca.SX.sym("n")
    function = ca.Function("sensor", [x, n], [sensor.reading(x, n)])
    for value, noise in ((0.123456789, 1.3), (5.0, 0.0), (-0.7, -2.0)):
        assert float(function(value, noise)) == sensor.reading(value, noise)


@pytest.mark.spec("004-C10")
def test_measuring_a_record_repeats_and_slower_sensors_leave_gaps():
    t = 0.01 * np.arange(1001)
    truth = Record.from_channels(t, {"angle": np.sin(t), "force": np.cos(t)}, {"angle": "rad", "force": "N"})
    sensors = {"angle": da.estimate.Encoder(2000, dt=0.05), "force": 0.5}
    seen = da.estimate.measure(truth, sensors, seed=3)
    assert da.estimate.measure(truth, sensors, seed=3)["force"].tolist() == seen["force"].tolist()
    assert np.isfinite(seen["angle"]).sum() == 201 and np.isfinite(seen["angle"][::5]).all()
    assert (seen["force"] - truth["force"]).std() == pytest.approx(0.5, rel=0.1)
    assert seen.units == truth.units
    alone = da.estimate.measure(truth, {"force": 0.5}, seed=3)
    assert alone["force"].tolist() == seen["force"].tolist()  # another sensor changes no draw
    late = da.estimate.measure(truth, {"angle": da.estimate.Quantiser(delay=0.02)}, seed=3)
    assert late["angle"][10:] == pytest.approx(truth["angle"][8:-2])


def test_sensors_refuse_nonsense():
    with raises(DataError, "not-positive"):
        da.estimate.Encoder(0)
    with raises(DataError, "not-positive"):
        da.estimate.Accelerometer(-1.0)
    with raises(DataError, "not-positive"):
        da.estimate.ForceSensor(1.0, percent=0.0)
    with pytest.raises(DataError):
        da.estimate.Quantiser(noise=-1.0)
    with raises(DataError, "unknown-name", "'push'"):
        da.estimate.measure(pushed(), {"pusch": 0.1}, seed=1)
    other = type("Other", (), {"deviation": 0.1})()
    with raises(DataError, "wrong-type", "'push'", "da.estimate"):
        da.estimate.measure(pushed(), {"push": other}, seed=1)


@pytest.mark.spec("004-C10")
def test_a_filter_told_the_sensors_own_variance_is_consistent():
    t = 0.01 * np.arange(3000)
    truth = Record.from_channels(t, {"push": np.sin(3 * t), "seen": (3 * t - np.sin(3 * t)) / 9})
    sensor = da.estimate.Encoder(1000)
    estimate = da.estimate.Kalman(
        StateSpace([[0, 1], [0, 0]], [0, 1], [1, 0], inputs="push", outputs="seen"), dt=0.01, Q=[0.0, 1e-7],
        R={"seen": sensor.variance}, P0=1.0,
    ).run(da.estimate.measure(truth, {"seen": sensor}, seed=5))  # fmt: skip
    # steps add r²/12 to the noise of r²: 8 % more than said
    assert estimate.consistency(settle=2.0).nis_mean == pytest.approx(1 + 1 / 12, abs=0.1)


def test_a_variance_that_hardly_matters_does_not_keep_the_others_from_their_optimum():
    model = pendulum()
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
