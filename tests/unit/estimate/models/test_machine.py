"""Processes of machines: names, options, mistakes, and filters that run on them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from dalembert.equations import State
from dalembert.estimate import ExtendedKalman, SigmaPointKalman, Tableau, process
from dalembert.expressions import Kernel
from tests.helpers.filter_machines import (
    ball_pendulum,
    four_bar,
    free_top,
    motor_arm,
    rolling_disc,
    slider_crank,
    sliding_block,
    state_of,
)
from tests.helpers.findings import raises
from tests.helpers.repetitions import few

THIRD = Tableau((0.0, 1 / 3, 2 / 3), ((), (1 / 3,), (0.0, 2 / 3)), (0.25, 0.0, 0.75))  # Heun, order 3


def turned_at(eqs: da.EquationsOfMotion, angle: float = np.pi / 3, rate: float = 0.0) -> State:
    return da.assemble(eqs, {"A.angle": angle}, velocity={"A.angle": rate}, guess={"rocker.angle": 2.0})


# ---- names


def test_a_closed_loop_has_errors_in_its_independent_coordinate_and_speed() -> None:
    eqs = four_bar()
    model = process(eqs, outputs="encoder", coordinates="A.angle", at=turned_at(eqs))
    assert model.errors.names == ("A.angle", "A.rate")
    assert model.errors.units == ("rad", "rad/s")
    assert model.nx == 18
    assert model.wrapped == (True,)


def test_a_projection_has_errors_in_all_tangent_coordinates() -> None:
    eqs = ball_pendulum()
    model = process(eqs, closing="projection")
    assert model.ne == 2 * eqs.nv
    assert model.errors.names[:6] == ("upper.x", "upper.y", "upper.z", "upper.rx", "upper.ry", "upper.rz")
    assert model.errors.names[eqs.nv + 3] == "upper.wx"


def test_a_free_body_in_space_turns_by_rotation_vectors() -> None:
    model = process(free_top())
    assert model.errors.names[3:6] == ("body.rx", "body.ry", "body.rz")
    assert model.nx == 13
    assert model.ne == 12


def test_a_rolling_machine_has_fewer_speeds_than_coordinates() -> None:
    eqs = rolling_disc()
    model = process(eqs, at=state_of(eqs, 3, 0.1))
    speeds = [name for name in model.errors.names if name in eqs.speeds.names or name in eqs.measure_rates.names]
    assert model.ne == 5 + 3
    assert len(speeds) == 3


def test_internal_states_and_unknown_inputs_are_estimated() -> None:
    arm = process(motor_arm(), unknown="voltage")
    assert arm.errors.names[-2:] == ("motor.current", "voltage")
    assert arm.nu == 0
    assert "voltage" in arm.reported.names


def test_an_estimate_reports_every_channel_of_a_run_that_makes_sense() -> None:
    eqs = four_bar()
    start = turned_at(eqs)
    run = da.simulate(eqs, until=0.02, start=start, every=0.01)
    model = process(eqs, at=start, report="all")
    output = Kernel(model.functions["report"])(model.start, np.zeros(0), model.p, 0.0)[0]
    left_out = {"energy", "energy.balance", "residual.position", "residual.velocity"}
    left_out |= {name for name, unit in run.units.items() if unit.endswith("/s^2") and name not in eqs.outputs.names}
    assert set(model.reported.names) == set(run.names) - left_out
    for name, value in zip(model.reported.names, output, strict=True):
        assert value == pytest.approx(run[name][0], rel=1e-9, abs=1e-9)


def test_reactions_are_reported_only_where_asked_for() -> None:
    eqs = four_bar()
    assert "A.force.x" not in process(eqs, at=turned_at(eqs)).reported.names
    assert "A.force.x" in process(eqs, at=turned_at(eqs), report=["A.force.x"]).reported.names


def test_one_name_stands_for_all_axes_of_a_sensor() -> None:
    eqs = four_bar()
    model = process(eqs, outputs=["accelerometer", "C.rate"], at=turned_at(eqs))
    assert model.outputs.names == ("accelerometer.x", "accelerometer.y", "C.rate")
    assert model.outputs.units == ("m/s^2", "m/s^2", "rad/s")


def test_coordinates_are_chosen_that_stay_independent_all_round() -> None:
    for eqs in (four_bar(), slider_crank()):  # not the rocker, not the slider: both have dead points
        for angle in (0.3, 1.5, 3.0, 4.5):
            at = da.assemble(eqs, {"A.angle": angle})
            assert process(eqs, outputs="A.angle", at=at).errors.names == ("A.angle", "A.rate")


# ---- values


@pytest.mark.spec("004-C3")
@pytest.mark.parametrize(
    ("method", "order"), [("euler", 1), ("heun", 2), ("midpoint", 2), (THIRD, 3), ("rk4", 4)], ids=str
)
def test_steps_of_every_tableau_converge_with_its_order(method: str | Tableau, order: int) -> None:
    eqs = four_bar()
    start = turned_at(eqs, rate=1.0)
    run = da.simulate(eqs, until=0.4, start=start, every=0.4, method=da.DormandPrince(rtol=1e-12, atol=1e-12))
    misses = []
    for count in (16, 32):
        model = process(eqs, method=method, steps=count, at=start)
        x = np.array(model.functions["step"](model.start, [], model.p, 0.0, 0.4)).ravel()
        misses.append(abs(x[model.carried.index["crank.angle"]] - run["crank.angle"][-1]))
    assert np.log2(misses[0] / misses[1]) == pytest.approx(order, abs=0.3)


@pytest.mark.parametrize(
    "make", few([four_bar, slider_crank, motor_arm, ball_pendulum, rolling_disc, sliding_block], 3)
)
def test_a_step_is_that_of_a_run(make) -> None:
    eqs = make()
    start = state_of(eqs, 5, 0.05)
    run = da.simulate(eqs, until=0.02, start=start, every=0.02, method=da.RK4(step=1e-3))
    for closing in ("independent", "projection"):
        model = process(eqs, at=start, closing=closing, steps=20)
        x = np.array(model.functions["step"](model.start, np.zeros(model.nu), model.p, 0.0, 0.02)).ravel()
        for name in (*eqs.coordinates.names, *eqs.speeds.names, *eqs.internal.names):
            if name not in eqs.unrecorded:
                assert x[model.carried.index[name]] == pytest.approx(run[name][-1], rel=1e-7, abs=1e-7)


def test_counters_of_turns_follow_an_angle_over_many_corrections() -> None:
    eqs = ball_pendulum()
    model = process(eqs, coordinates="H.angle")
    place = model.errors.names.index("H.angle")
    x, e = model.start, np.zeros(model.ne)
    e[place] = 0.3
    before = eqs.kernel("measures")(x[: eqs.nq], np.zeros(eqs.nv), model.p, 0.0)[0][eqs.measures.index["H.angle"]]
    for _ in range(50):
        x = np.array(model.functions["retract"](x, e, model.p, 0.0)).ravel()
    after = eqs.kernel("measures")(x[: eqs.nq], np.zeros(eqs.nv), model.p, 0.0)[0][eqs.measures.index["H.angle"]]
    assert after - before == pytest.approx(15.0, abs=1e-9)
    assert x[eqs.coordinates.index["H.angle.turned"]] == pytest.approx(after, abs=1e-9)


# ---- filters


def numpy_ekf(model, y, u, dt, Q, R, P):
    """An extended Kalman filter in plain NumPy, slopes by differences in the space of errors."""
    F = {name: Kernel(f) for name, f in model.functions.items()}
    x, p, h, ne = model.start, model.p, 1e-6, model.ne
    history = []
    for k in range(len(y)):
        t = k * dt
        if k:
            after = F["step"](x, u[k - 1], p, t - dt, dt)[0]
            slope = np.zeros((ne, ne))
            for i in range(ne):
                for sign in (1, -1):
                    e = np.zeros(ne)
                    e[i] = sign * h
                    moved = F["step"](F["retract"](x, e, p, t - dt)[0], u[k - 1], p, t - dt, dt)[0]
                    slope[:, i] += sign * F["difference"](moved, after, p, t)[0] / (2 * h)
            x, P = after, slope @ P @ slope.T + Q
        H = np.zeros((model.ny, ne))
        for i in range(ne):
            for sign in (1, -1):
                e = np.zeros(ne)
                e[i] = sign * h
                H[:, i] += sign * F["outputs"](F["retract"](x, e, p, t)[0], u[k], p, t)[0] / (2 * h)
        S = H @ P @ H.T + R
        K = np.linalg.solve(S, H @ P).T
        x = F["retract"](x, K @ (y[k] - F["outputs"](x, u[k], p, t)[0]), p, t)[0]
        P = (np.eye(ne) - K @ H) @ P @ (np.eye(ne) - K @ H).T + K @ R @ K.T
        history.append(x)
    return np.array(history)


@pytest.mark.spec("004-C1", "004-C2", "004-C5")
@pytest.mark.parametrize(("make", "joint", "body"), [(four_bar, "A", "crank"), (motor_arm, "J", "arm")])
def test_the_extended_filter_is_that_of_plain_numpy_with_differences(make, joint, body) -> None:
    eqs = make()
    truth = da.assemble(eqs, {f"{joint}.angle": 1.0}, velocity={f"{joint}.angle": 0.5})
    guess = da.assemble(eqs, {f"{joint}.angle": 1.02}, start=truth)
    inputs = {name: lambda t: 3 * da.sin(20 * t) for name in eqs.inputs.names}
    run = da.simulate(eqs, until=0.3, start=truth, every=0.01, inputs=inputs)
    model = process(eqs, outputs="encoder", coordinates=f"{joint}.angle", at=guess)
    Q, R, P = 1e-6 * np.eye(model.ne), np.array([[1e-4]]), 1e-2 * np.eye(model.ne)
    estimate = ExtendedKalman(model, Q=Q, R=R, P0=P, dt=0.01).run(run)
    u = np.array([run[name] for name in model.inputs.names]).T.reshape(len(run), model.nu)
    x = numpy_ekf(model, run[["encoder"]], u, 0.01, Q, R, P)
    for name in (f"{body}.angle", *eqs.internal.names):
        assert estimate.record[name] == pytest.approx(x[:, model.carried.index[name]], abs=1e-7)


@pytest.mark.parametrize(
    ("kind", "closing"),
    [
        (ExtendedKalman, "independent"),
        (SigmaPointKalman, "independent"),
        pytest.param(ExtendedKalman, "projection", marks=pytest.mark.slow),
        pytest.param(SigmaPointKalman, "projection", marks=pytest.mark.slow),
    ],
)
def test_filters_find_a_four_bar_from_a_wrong_start_and_keep_it_closed(kind, closing) -> None:
    eqs = four_bar()
    run = da.simulate(eqs, until=2.0, start=turned_at(eqs), every=0.01)
    options = {"coordinates": "A.angle"} if closing == "independent" else {}
    wrong = turned_at(eqs, np.pi / 3 + 0.1)
    filter_ = kind(
        eqs, outputs=["encoder", "gyroscope"], Q=1e-9, R=1e-6, P0=1e-2, dt=0.01, at=wrong, closing=closing, **options
    )
    estimate = filter_.run(run)
    assert np.abs(estimate.record["A.angle"] - run["A.angle"])[100:].max() < 1e-3
    q = np.array([estimate.record[name] for name in eqs.coordinates.names]).T
    gaps = eqs.kernel("position").many(q, eqs.p, 0.0)[0]
    assert np.abs(gaps).max() < 1e-6


def test_a_large_machine_is_stepped_by_calls_to_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    run = da.simulate(four_bar(), until=0.2, start=turned_at(four_bar()), every=0.01)
    estimates = []
    for limit in (25_000, 0):
        monkeypatch.setattr("dalembert.estimate.models.machine_functions.FLAT_LIMIT", limit)
        eqs = four_bar()
        filter_ = ExtendedKalman(
            eqs, outputs="encoder", coordinates="A.angle", Q=1e-9, R=1e-6, P0=1e-2, dt=0.01, at=turned_at(eqs, 1.1)
        )
        assert filter_.process.functions["step"].is_a("SXFunction") == (limit > 0)
        estimates.append(filter_.run(run).record["A.angle"])
    assert estimates[0] == pytest.approx(estimates[1], abs=1e-12)


@pytest.mark.spec("000-76")
def test_the_covariance_may_follow_its_continuous_equation() -> None:
    """With Q an intensity, the continuous filter is the limit of the discrete one with Q Δt, of first order."""
    eqs = four_bar()
    run = da.simulate(eqs, until=0.4, start=turned_at(eqs), every=0.02)
    options = {"outputs": "encoder", "coordinates": "A.angle", "R": 1e-4, "P0": 1e-2, "at": turned_at(eqs, 1.1)}
    whole = ExtendedKalman(eqs, Q=1e-2, continuous=True, substeps=4, **options).run(run)
    fine = da.Record(
        np.linspace(0, 0.4, 1281),
        np.where(np.arange(1281) % 64 == 0, np.repeat(run["encoder"], 64)[: 1281], np.nan)[:, None],
        ["encoder"], ["rad"],
    )  # fmt: skip
    discrete = ExtendedKalman(eqs, Q=1e-2 * 0.4 / 1280, dt=0.4 / 1280, **options).run(fine)
    assert discrete.deviation("A.angle")[::64] == pytest.approx(whole.deviation("A.angle"), rel=2e-2)
    assert discrete.record["A.angle"][::64] == pytest.approx(whole.record["A.angle"], abs=1e-4)


def test_an_encoder_may_read_modulo_a_turn() -> None:
    eqs = four_bar()
    run = da.simulate(eqs, until=4.0, start=turned_at(eqs, rate=2.5), every=0.01)
    assert np.ptp(run["encoder"]) > 2 * np.pi
    record = da.Record(run.time, np.mod(run["encoder"], 2 * np.pi)[:, None], ["encoder"], ["rad"])
    filter_ = ExtendedKalman(
        eqs, outputs="encoder", coordinates="A.angle", Q=1e-9, R=1e-6, P0=1e-4, dt=0.01, at=turned_at(eqs, rate=2.5)
    )
    estimate = filter_.run(record)
    assert np.abs(estimate.record["A.angle"] - run["A.angle"]).max() < 1e-3


def test_a_crank_is_followed_through_dead_points_by_its_slider() -> None:
    eqs = slider_crank()
    start = da.assemble(eqs, {"A.angle": 0.5}, velocity={"A.angle": 15.0})
    run = da.simulate(eqs, until=2.0, start=start, every=2e-3)
    assert np.ptp(run["A.angle"]) > 3 * np.pi
    wrong = da.assemble(eqs, {"A.angle": 0.45}, velocity={"A.angle": 14.0})
    estimate = ExtendedKalman(eqs, outputs="place", Q=1e-9, R=1e-6, P0=0.1, dt=2e-3, at=wrong).run(run)
    assert np.abs(estimate.record["A.angle"] - run["A.angle"])[250:].max() < 0.01


def test_the_current_of_a_motor_is_found_from_its_encoder() -> None:
    eqs = motor_arm()
    start = da.assemble(eqs, {"J.angle": -np.pi / 2})
    run = da.simulate(eqs, until=1.0, start=start, every=2e-3, inputs={"voltage": lambda t: 3 * da.sin(5 * t)})
    wrong = da.assemble(eqs, {"J.angle": -1.4}, internal={"motor.current": 2.0})
    estimate = ExtendedKalman(eqs, Q=1e-10, R=1e-8, P0=1.0, dt=2e-3, at=wrong).run(run)
    assert np.abs(estimate.record["motor.current"] - run["motor.current"])[100:].max() < 0.02


def test_an_unknown_torque_is_found_from_an_encoder() -> None:
    eqs = four_bar(motor=True)
    run = da.simulate(eqs, until=3.0, start=turned_at(eqs), every=5e-3, inputs={"torque": 40.0})
    estimate = ExtendedKalman(
        eqs, outputs=["encoder", "gyroscope"], unknown="torque", coordinates="A.angle", dt=5e-3, at=turned_at(eqs),
        Q={"A.angle": 1e-12, "A.rate": 1e-10, "torque": 0.25}, R=1e-6,
        P0={"A.angle": 1e-4, "A.rate": 1e-4, "torque": 1e3},
    ).run(run)  # fmt: skip
    assert estimate.record["torque"][200:] == pytest.approx(40.0, abs=2.0)


def test_a_spinning_body_is_followed_by_its_mark_and_gyroscope() -> None:
    eqs = free_top()
    start = da.assemble(eqs, velocity={"body.wx": 3.0, "body.wy": 0.2, "body.wz": 0.5, "body.vz": 2.0})
    run = da.simulate(eqs, until=1.0, start=start, every=0.01)
    wrong = process(eqs).functions["retract"](process(eqs, at=start).start, 0.05 * np.ones(12), [], 0.0)
    estimate = ExtendedKalman(
        eqs, Q=1e-9, R=1e-6, P0=1e-2, dt=0.01, at=start, start=np.array(wrong).ravel()
    ).run(run)  # fmt: skip
    for name in ("body.e1", "body.x", "body.wy"):
        assert np.abs(estimate.record[name] - run[name])[50:].max() < 5e-3
    norms = sum(estimate.record[f"body.e{k}"] ** 2 for k in range(4))
    assert norms == pytest.approx(1.0, abs=1e-9)


def test_covariances_of_a_projection_stay_in_the_tangent_space() -> None:
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0))
    eqs = da.equations(m)
    at = da.assemble(eqs, {"A.angle": 1.0}, velocity={"A.angle": 1.0})
    filter_ = ExtendedKalman(eqs, outputs="A.angle", closing="projection", at=at, Q=0.0, R=1e-4, P0=1e-2, dt=0.01)
    stepper = filter_.stepper()
    for _ in range(3):
        stepper.step([1.0])
    A = eqs.kernel("rows")(stepper.x[:3], stepper.x[3:], [], [], [], 0.0)[0]
    across, along, P = np.linalg.qr(A.T)[0], null_space(A), stepper.P[:3, :3]
    assert np.abs(across.T @ P @ across).max() < 1e-12 * np.abs(P).max()
    assert float(np.abs(along.T @ P @ along).max()) > 0.1 * np.abs(P).max()


def test_nees_of_a_projection_counts_the_freedoms_alone() -> None:
    """A pendulum in three coordinates and three rates with two freedoms: eᵀ P⁻¹ e of its angle and its rate."""
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0))
    eqs = da.equations(m)
    at = da.assemble(eqs, {"A.angle": 1.0}, velocity={"A.angle": 1.0})
    filter_ = ExtendedKalman(eqs, outputs="A.angle", closing="projection", at=at, Q=1e-6, R=1e-4, P0=1e-2, dt=0.01)
    found = filter_.run(da.simulate(eqs, 0.05, start=at, every=0.01))
    names, true, wanted = filter_.process.carried.names, [], []
    places = [names.index("rod.angle"), names.index("rod.rate")]
    for k in range(len(found.time)):
        angle, rate = found.states[k][places]
        off = da.assemble(eqs, {"A.angle": angle + 1e-3}, velocity={"A.angle": rate - 2e-3})
        true.append([off[name] for name in names])
        P = found.covariances()[k][np.ix_(places, places)]
        wanted.append(np.array([1e-3, -2e-3]) @ np.linalg.solve(P, [1e-3, -2e-3]))
    assert da.estimate.nees(found, da.Record(found.time, true, names)) == pytest.approx(wanted, rel=1e-2)  # curvature


# ---- mistakes


def test_mistakes_are_reported_in_plain_words() -> None:
    eqs = four_bar(motor=True)
    for options, words in (
        ({"outputs": "encodr"}, ("unknown-name", "'encoder'")),
        ({"outputs": []}, ("empty",)),
        ({"outputs": ["encoder", "encoder"]}, ("duplicate",)),
        ({"outputs": [3]}, ("bad-name",)),
        ({"inputs": "tork"}, ("unknown-name", "'torque'")),
        ({"inputs": "torque", "unknown": "torque"}, ("conflicting-arguments",)),
        ({"closing": "nearly"}, ("unknown-choice", "'independent'", "'projection'")),
        ({"closing": "projection", "coordinates": "A.angle"}, ("ineffective-argument",)),
        ({"method": "implicit-euler"}, ("not-supported", "implicit-euler")),
        ({"method": "rk5"}, ("unknown-choice", "rk5")),
        ({"at": 3}, ("wrong-type", "State")),
        ({"report": "energy.kinetik"}, ("unknown-name", "energy.kinetic")),
        ({"wrapped": "gyroskope"}, ("unknown-name", "gyroscope")),
        ({"steps": 0}, ("not-a-count", "steps")),
        ({"newton_steps": 1.5}, ("not-a-count", "newton_steps")),
        ({"dt": -1.0}, ("not-positive", "dt")),
    ):
        with raises((DataError, ModelError), *words):
            process(eqs, **options)


@pytest.mark.parametrize("coordinates", [["A.angle", "D.angle"], "A.angel"])
def test_coordinates_that_are_dependent_or_unknown_are_refused_by_name(coordinates) -> None:
    with pytest.raises(ModelError) as caught:
        process(four_bar(motor=True), coordinates=coordinates)
    assert "A.angle" in str(caught.value)


def test_a_machine_without_sensors_asks_for_outputs() -> None:
    m = da.Mechanism("bare", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=0.1)
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0))
    with raises(ModelError, "empty"):
        process(da.equations(m))


def test_a_start_of_another_machine_or_with_open_joints_is_refused() -> None:
    eqs = four_bar()
    with raises(ModelError, "wrong-owner"):
        process(eqs, at=da.assemble(slider_crank()))
    with pytest.raises(da.errors.AssemblyError):
        process(eqs, at=eqs.state(np.ones(eqs.nq)))


def test_a_machine_without_freedom_has_nothing_to_estimate() -> None:
    m = da.Mechanism("driven", planar=True)
    wheel = m.add_body("wheel", mass=1.0, inertia=1.0)
    m.add_revolute("A", m.ground.at(0, 0), wheel.at(0, 0))
    m.add_driver("drive", "A", lambda t: t)
    with raises(ModelError, "no-freedom"):
        process(da.equations(m), outputs="A.angle")


# ---- edges of thresholds
