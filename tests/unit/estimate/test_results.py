"""Estimates against the truth; consistency; smoothing; Kalman-Bucy over records."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from dalembert.linear import StateSpace
from dalembert.record import Record
from tests.helpers.findings import raises
from tests.helpers.linear_gaussian import random_problem
from tests.unit.estimate.test_kalman import cart, kalman, pushed


@pytest.mark.spec("004-C11")
def test_figures_after_settling_are_those_of_the_error():
    record = pushed(500)
    estimate = kalman(P0=100.0, start={"position": 3.0}).run(record)
    result = estimate.compare(record, settle=10.0)
    error = (estimate["speed"] - record["speed"])[100:]
    assert result["speed"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-12)
    assert result.largest["speed"] == pytest.approx(np.abs(error).max())
    assert result.mean["speed"] == pytest.approx(error.mean())
    assert result.errors["speed"][100:] == pytest.approx(error)
    assert result["speed"] < estimate.compare(record)["speed"]  # the first samples are worse
    kept = estimate.time >= estimate.time[0] + 10.0
    believed = np.sqrt(np.mean(estimate.deviations["speed"][kept] ** 2))
    assert result.deviation_rms["speed"] == pytest.approx(believed, rel=1e-12)
    assert believed < 0.99 * np.sqrt(np.mean(estimate.deviations["speed"] ** 2))
    assert 0 < result.cpu_per_second < 1
    assert "RMS error" in repr(result) and "NEES" in repr(result)


@pytest.mark.spec("004-C11")
def test_the_spectrum_of_an_error_shows_its_amplitude_and_frequency():
    record = pushed(1000)
    estimate = kalman().run(record)
    wrong = Record.from_channels(
        record.time, {"speed": np.asarray(estimate["speed"]) - 0.3 * np.sin(2 * np.pi * 1.0 * record.time)}
    )
    f, _, _, error = estimate.compare(wrong).spectra("speed")
    assert f[error.argmax()] == pytest.approx(1.0, abs=1e-9)
    assert error.max() == pytest.approx(0.3, rel=1e-3)


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


def test_a_truth_sampled_otherwise_is_interpolated_and_one_too_short_is_refused():
    record = pushed(200, noise=0.0)
    estimate = kalman().run(record)
    fine = pushed(400, dt=0.05).between(0.0, 19.95)
    assert estimate.compare(fine)["speed"] == pytest.approx(estimate.compare(record)["speed"], rel=1e-6)
    with raises(DataError, "out-of-range"):
        estimate.compare(record.between(0.0, 5.0))
    with raises(DataError, "unknown-name", "'speed'"):
        estimate.compare(record, channels="sped")
    with raises(DataError, "missing-channel"):
        estimate.compare(record.select("push"))
    with raises(DataError, "too-few-samples"):
        estimate.compare(record, settle=100.0)
    with raises(DataError, "missing-channel"):
        da.estimate.nees(estimate, record.select("position"))


@pytest.mark.spec("004-C11")
def test_consistency_tells_right_from_wrong_noise():
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


# --- Kalman-Bucy ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("000-70")
def test_kalman_bucy_over_fine_samples_is_the_discrete_filter():
    bucy = da.estimate.KalmanBucy(cart(), Q={"speed": 0.5}, R=1e-4, P0=1.0)
    record = pushed(4000, dt=1e-3, noise=0.1)
    ours, discrete = bucy.run(record), bucy.discrete(1e-3).run(record)
    # with sensors linear between samples, half of the weight of the last one, K dt, is still to come
    half = 0.5e-3 * bucy.steady.K[:, 0] * ours.innovations
    gap = np.abs(ours.states + half - discrete.states)[1000:]
    assert np.all(gap < 0.1 * np.abs(half).max(axis=0))
    assert ours.covariances()[-1] == pytest.approx(discrete.covariances()[-1], rel=0.02)


@pytest.mark.spec("000-70")
def test_the_steady_kalman_bucy_filter_is_the_other_begun_settled():
    record = pushed(200, dt=0.01)
    plain = da.estimate.KalmanBucy(cart(), Q={"speed": 0.5}, R=1e-4).run(record)
    steady = da.estimate.KalmanBucy(cart(), Q={"speed": 0.5}, R=1e-4, form="steady").run(record)
    assert steady.states == pytest.approx(plain.states, rel=1e-10, abs=1e-12)


@pytest.mark.spec("000-70")
@pytest.mark.parametrize("form", ["covariance", "steady"])
def test_the_continuous_watcher_is_the_differential_equation(form):
    bucy = da.estimate.KalmanBucy(cart(), Q={"speed": 0.5}, R=0.1, P0=np.diag([2.0, 3.0]), form=form)
    observer_step = bucy.observer_step()
    assert observer_step.dt is None and observer_step.reads == ("seen",) and observer_step.known == ("push",)
    rate, estimate = observer_step.function([0.1, 0.2, *observer_step.start[2:]], [1.5], [0.4], [], 0.0)
    P = bucy.steady.P if form == "steady" else np.diag([2.0, 3.0])
    A, C = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[1.0, 0.0]])
    expected = A @ [0.1, 0.2] + [0.0, 1.5] + P @ C.T[:, 0] / 0.1 * (0.4 - 0.1)
    assert rate.full().ravel()[:2] == pytest.approx(expected)
    assert estimate.full().ravel() == pytest.approx([0.1, 0.2, *np.sqrt(np.diag(P))])
    if form == "covariance":
        Pdot = A @ P + P @ A.T - P @ C.T @ C @ P / 0.1 + np.diag([0.0, 0.5])
        assert rate.full().ravel()[2:] == pytest.approx([Pdot[0, 0], Pdot[1, 0], Pdot[1, 1]])


def test_kalman_bucy_says_what_it_does_not_take():
    with raises(DataError, "not-supported"):
        da.estimate.KalmanBucy(cart(0.1), Q=1.0, R=1.0)
    with raises(DataError, "not-positive-definite", "R"):
        da.estimate.KalmanBucy(cart(), Q=1.0, R=0.0)
    with raises(ModelError, "wrong-type"):
        da.estimate.KalmanBucy("cart", Q=1.0, R=1.0)
    blind = StateSpace([[0.0, 0.0], [0.0, -1.0]], None, [[0.0, 1.0]], states=["drift", "seen"])
    with raises(DataError, "no-steady-filter"):
        da.estimate.KalmanBucy(blind, Q=1.0, R=1.0).steady
    still = StateSpace([[0.0]], None, [[1.0]], states=["bias"])
    with raises(DataError, "no-steady-filter"):
        da.estimate.KalmanBucy(still, Q=0.0, R=1.0).steady
    bucy = da.estimate.KalmanBucy(cart(), Q=1.0, R=1.0, P0=1.0)
    record = pushed(20)
    data = np.array(record.data)
    data[3, record.names.index("seen")] = np.nan
    with raises(DataError, "gap-in-record", "filter.discrete", "dt"):
        bucy.run(Record(record.time, data, record.names))
    with raises(ModelError, "not-supported"):
        da.estimate.smooth(bucy.run(record))
    with raises(DataError, "not-increasing"):
        bucy.covariances([0.0, 0.0])


# --- inside a simulation ------------------------------------------------------------------------------------------


def block_on_a_spring() -> tuple[da.EquationsOfMotion, StateSpace]:
    m = da.Mechanism("mass", planar=True)
    body = m.add_body("block", mass=2.0, inertia=1.0)
    m.add_prismatic("rail", m.ground, body, at=(0, 0), axis=(1, 0))
    m.add_spring("spring", joint="rail", stiffness=8.0, damping=0.4)
    m.add_force("push", body.at(0, 0), (1, 0), input="push")
    m.add_sensor("place", da.displacement("rail"))
    names = ["rail.displacement", "rail.speed"]
    model = StateSpace([[0, 1], [-4, -0.2]], [0, 0.5], [1, 0], states=names, inputs="push", outputs="place")
    return da.equations(m), model


@pytest.mark.parametrize("form", ["covariance", "square-root", "information", "steady"])
def test_a_filter_inside_a_simulation_is_the_filter_over_what_its_sensors_wrote(form):
    eqs, model = block_on_a_spring()
    filter_ = da.estimate.Kalman(model, Q=[1e-8, 1e-6], R=da.estimate.Encoder(1000).variance, dt=0.01, form=form)
    run = da.simulate(
        eqs, 3.0, start=da.assemble(eqs, {"rail": 0.3}), inputs={"push": 0.5}, observer=filter_,
        noise=da.Noise(sensors={"place": da.estimate.Encoder(1000)}, seed=1),
    )  # fmt: skip
    seen = Record.from_channels(run.time, {"place": run["measured.place"], "push": run["push"]})
    after = filter_.run(seen)
    assert run["estimate.rail.speed"] == pytest.approx(after["rail.speed"], rel=1e-10, abs=1e-12)
    assert np.abs(run["estimate.rail.speed"] - run["rail.speed"])[200:].max() < 0.05


def test_a_continuous_filter_goes_along_with_the_machine():
    eqs, model = block_on_a_spring()
    start = da.assemble(eqs, {"rail": 0.3}, velocity={"rail": -0.2})
    for form in ("covariance", "steady"):
        bucy = da.estimate.KalmanBucy(model, Q={"rail.speed": 1e-2}, R=1e-4, P0=1.0, form=form)
        run = da.simulate(eqs, 8.0, start=start, inputs={"push": lambda t: da.sin(t)}, observer=bucy)
        gap = np.abs(run["estimate.rail.speed"] - run["rail.speed"])
        slowest = bucy.steady.poles.real.max()
        assert gap[0] == pytest.approx(0.2)
        assert gap[-1] < 10 * 0.2 * np.exp(slowest * 8.0) + 1e-5  # and the tolerance of the simulation


# --- times that are not even, angles that wrap ----------------------------------------------------------------------


def test_samples_at_any_time_are_stepped_by_their_own_interval():
    model = da.estimate.UserModel(
        lambda x, u: [x[1], -4.0 * x[0]], lambda x: [x[0]], states=["x", "v"], outputs=["seen"]
    )
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.uniform(0.005, 0.05, 400))
    record = Record(t, np.cos(2 * t)[:, None], ["seen"])
    ekf = da.estimate.ExtendedKalman(model, Q=lambda s: 4e-9 * s["dt"], R=1e-8, P0=1.0, start=[0.0, 0.0])
    estimate = ekf.run(record)
    assert estimate["v"][-1] == pytest.approx(-2 * np.sin(2 * t[-1]), abs=1e-3)
    stepper = ekf.stepper(P0=1.0)
    for k, now in enumerate(t):
        stepper.step(record.data[k], t=now)
    assert stepper.x == pytest.approx(estimate.states[-1], rel=1e-12)


def test_an_angle_that_jumps_by_a_turn_is_no_innovation():
    from dataclasses import replace

    turning = da.estimate.process(StateSpace([[1.0, 0.1], [0.0, 1.0]], None, [[1.0, 0.0]], dt=0.1))
    t = 0.1 * np.arange(300)
    angle = (2.0 * t + np.pi) % (2 * np.pi) - np.pi
    record = Record(t, angle[:, None], ["y1"])
    filter_ = da.estimate.Kalman(replace(turning, wrapped=(True,)), Q=[0.0, 1e-8], R=1e-6, P0=[1.0, 10.0])
    estimate = filter_.run(record)
    assert np.abs(estimate.innovations[10:]).max() < 1e-3
    assert estimate["x1"][-1] == pytest.approx(2.0 * t[-1], abs=1e-3)
