"""The continuous extended Kalman filter: order two, linear limit, gaps, manifolds, loops, what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from dalembert.estimate import ExtendedKalman, ExtendedKalmanBucy, KalmanBucy, UserModel, process
from dalembert.linear import StateSpace
from dalembert.record import Record
from tests.helpers import filter_machines
from tests.helpers.engines import ENGINES, engine
from tests.helpers.findings import raises

SPEC = pytest.mark.spec("000-76")
Q, R = np.diag([1e-4, 1e-2]), np.diag([1e-3, 4e-3])


def swing(**keywords: Any) -> UserModel:
    """A pendulum with a torque; read are the place of its bob and the acceleration, which jumps with the torque."""
    return UserModel(
        lambda x, u: [x[1], -9.81 * da.sin(x[0]) - 0.1 * x[1] + u[0]],
        lambda x, u: [da.sin(x[0]), -9.81 * da.sin(x[0]) - 0.1 * x[1] + u[0]],
        states=["angle", "speed"], inputs=["torque"], outputs=["place", "acceleration"], **keywords,
    )  # fmt: skip


def rate(x: Any, u: float) -> Any:
    return np.array([x[1], -9.81 * np.sin(x[0]) - 0.1 * x[1] + u])


def reading(x: Any, u: float) -> Any:
    return np.array([np.sin(x[0]), rate(x, u)[1]])


def data(samples: int = 21, dt: float = 0.05, noise: float = 0.02) -> Record:
    rng = np.random.default_rng(1)
    time = dt * np.arange(samples)
    u, x, rows = np.sin(3 * time) + 0.3 * rng.standard_normal(samples), np.array([1.0, 0.0]), []
    for k in range(samples):
        rows.append([u[k], *(reading(x, u[k]) + noise * rng.standard_normal(2))])
        x = solve_ivp(lambda _, z, k=k: rate(z, u[k]), (0, dt), x, rtol=1e-9, atol=1e-12).y[:, -1]
    return Record(time, np.array(rows), ["torque", "place", "acceleration"])


def integrated(record: Record, R: Any, x: Any, P: Any) -> tuple[Any, Any]:
    """Spec 000, eq 5.253 to 5.273, state and covariance together by Radau's method; slopes by hand."""
    u, y, weight = record["torque"], record[["place", "acceleration"]], np.linalg.inv(R)
    column, rows = np.concatenate([x, np.ravel(P)]), []

    def together(t: float, column: Any, k: int, h: float) -> Any:
        x, P = column[:2], column[2:].reshape(2, 2)
        e = (1 - t / h) * (y[k] - reading(x, u[k])) + t / h * (y[k + 1] - reading(x, u[k + 1]))
        A = np.array([[0.0, 1.0], [-9.81 * np.cos(x[0]), -0.1]])
        C = np.array([[np.cos(x[0]), 0.0], A[1]])
        K = P @ C.T @ weight
        return np.concatenate([rate(x, u[k]) + K @ e, (A @ P + P @ A.T - K @ C @ P + Q).ravel()])

    for k in range(len(record)):
        rows.append(column)
        if k < len(record) - 1:
            h = record.time[k + 1] - record.time[k]
            column = solve_ivp(
                together, (0, h), column, args=(k, h), method="Radau", rtol=1e-10, atol=1e-13
            ).y[:, -1]  # fmt: skip
    return np.array(rows)[:, :2], np.array(rows)[:, 2:].reshape(-1, 2, 2)


def spread(P: Any) -> Any:
    return np.sqrt(np.diagonal(P, axis1=-2, axis2=-1))


# --- against the differential equations -------------------------------------------------------------------------------


@SPEC
def test_it_is_of_order_two_against_the_equations_of_state_and_covariance() -> None:
    record, start = data(), np.array([0.9, 0.1])
    P0 = ExtendedKalmanBucy(swing(), Q=Q, R=R).steady_covariance(start, np.zeros(1), 0.0, None)
    x, P = integrated(record, R, start, P0)
    gaps = []
    for substeps in (2, 4, 8):
        found = ExtendedKalmanBucy(swing(), Q=Q, R=R, P0=P0, start=start, substeps=substeps).run(record)
        gaps.append((np.abs(found.states - x).max(), np.abs(found.covariances() - P).max()))
    coarse, middle, fine = np.array(gaps)
    assert coarse / middle == pytest.approx([4, 4], rel=0.15)
    assert middle / fine == pytest.approx([4, 4], rel=0.1)
    assert np.all(fine < [2e-5, 2e-7])


@SPEC
@pytest.mark.parametrize("size", [1e-6, 1e-9, 1e-15])
def test_it_is_stable_however_small_the_noise_of_the_sensors_is(size: float) -> None:
    """Trap T-20: rates of P/R, up to 1e15 per second, over intervals of 0.05 s, from 0.5 rad off."""
    record, P0 = data(noise=1e-4), np.eye(2)
    found = ExtendedKalmanBucy(swing(), Q=Q, R=size * np.eye(2), P0=P0, start=[0.5, 0.3]).run(record)
    assert np.linalg.eigvalsh(found.covariances()).min() > 0
    expected = np.array([reading(x, u) for x, u in zip(found.states, record["torque"], strict=True)])
    gap = np.abs(expected - record[["place", "acceleration"]]) / [1.0, 9.81]
    assert gap[2:].max() < 0.05**2 * 10 / 8  # signals curve by 10 m/s² between samples


@SPEC
@pytest.mark.slow
def test_what_a_start_from_far_off_leaves_dies_out() -> None:
    """The first interval, stiff and from 0.5 rad off, is one linear step; Radau's method resolves it."""
    record, P0, noise = data(13, noise=1e-4), np.eye(2), 1e-5 * np.eye(2)
    found = ExtendedKalmanBucy(swing(), Q=Q, R=noise, P0=P0, start=[0.5, 0.3], substeps=4).run(record)
    x, exact = integrated(record, noise, [0.5, 0.3], P0)
    assert np.all(np.abs(found.states - x)[1:] < spread(exact)[1:])
    assert np.all(np.abs(found.states - x)[10:] < 0.02 * spread(exact)[10:])
    assert spread(found.covariances())[10:] == pytest.approx(spread(exact)[10:], rel=1e-3)


@SPEC
def test_it_is_the_limit_of_the_filter_of_samples() -> None:
    """R / dt for a sample: the gap to the continuous-discrete filter goes with dt."""
    gaps = []
    for dt in (2e-3, 1e-3, 5e-4):
        time = dt * np.arange(round(0.4 / dt) + 1)
        motion = solve_ivp(lambda _, x: rate(x, 0.0), (0, 0.4), [1.0, 0.0], t_eval=time, rtol=1e-9, atol=1e-12).y.T
        record = Record(time, np.array([[0.0, *reading(x, 0.0)] for x in motion]), ["torque", "place", "acceleration"])
        continuous = ExtendedKalmanBucy(swing(), Q=Q, R=R, P0=1e-3, start=[0.97, 0.0])
        ours, samples = continuous.run(record), continuous.discrete(dt).run(record)
        assert isinstance(samples.filter, ExtendedKalman) and samples.filter.continuous
        gaps.append((np.abs(ours.states - samples.states)[-1].max(), np.abs(spread(ours.covariances()[-1])
                     - spread(samples.covariances()[-1])).max()))  # fmt: skip
    assert np.array(gaps[0]) / gaps[1] == pytest.approx([2, 2], rel=0.1)
    assert np.array(gaps[1]) / gaps[2] == pytest.approx([2, 2], rel=0.1)


# --- on linear models -------------------------------------------------------------------------------------------------


def random_system(seed: int = 3) -> tuple[StateSpace, Any, Any]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((3, 3)) - 1.5 * np.eye(3)
    system = StateSpace(A, rng.standard_normal((3, 1)), rng.standard_normal((2, 3)), rng.standard_normal((2, 1)))
    q, r = rng.standard_normal((3, 3)), rng.standard_normal((2, 2))
    return system, q @ q.T, r @ r.T + 0.1 * np.eye(2)


@SPEC
@pytest.mark.parametrize("size", [1.0, 1e-6])
def test_on_a_linear_model_it_is_the_kalman_bucy_filter(size: float) -> None:
    system, Q, R = random_system()
    record = Record(0.1 * np.arange(11), np.random.default_rng(0).standard_normal((11, 3)), ["u1", "y1", "y2"])
    linear = KalmanBucy(system, Q=Q, R=size * R, P0=np.eye(3), start=[1.0, 0.0, -1.0]).run(record)
    ours = ExtendedKalmanBucy(system, Q=Q, R=size * R, P0=np.eye(3), start=[1.0, 0.0, -1.0]).run(record)
    assert ours.states == pytest.approx(linear.states, rel=1e-9, abs=1e-10)
    assert ours.covariances() == pytest.approx(linear.covariances(), rel=1e-9, abs=1e-12)
    assert ours.innovations == pytest.approx(linear.innovations, rel=1e-9, abs=1e-9)
    assert ours.log_likelihood == pytest.approx(linear.log_likelihood, rel=1e-9)
    settled = ExtendedKalmanBucy(system, Q=Q, R=size * R).run(record)
    assert settled.covariances()[0] == pytest.approx(KalmanBucy(system, Q=Q, R=size * R).steady.P, rel=1e-8, abs=1e-12)


def test_about_an_operating_point_it_watches_as_the_kalman_bucy_filter_does() -> None:
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(0, 0.5))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    eqs = da.equations(m)
    upright = da.linearize(eqs, da.assemble(eqs, {"A.angle": np.pi}), outputs=["encoder"])
    filters = [kind(upright, Q=1e-3, R=1e-6, P0=1e-2) for kind in (KalmanBucy, ExtendedKalmanBucy)]
    for about in (False, True):
        for dt in (None, 0.01):
            linear, ours = (f.in_deviations().observer_step(dt) if about else f.observer_step(dt) for f in filters)
            assert ours.gives.names == linear.gives.names and ours.reads == linear.reads
            values = []
            for w in (linear, ours):
                p = np.array(w.parameters)
                signals = ([0.2], [3.1], p, 0.0) if dt is None else ([0.2], [0.2], [3.1], [1.0], p, 0.0, 0.0)
                values.append(np.array(w.function(np.array(w.start), *signals)[1]).ravel())
            assert values[1] == pytest.approx(values[0], rel=1e-12)
    loops = [da.simulate(eqs, 1.0, start=da.assemble(eqs, {"A.angle": 3.1}), controller=da.control.lqr(
             upright, Q=1.0, R=1.0, dt=0.01), observer=f, every=0.1) for f in filters]  # fmt: skip
    assert loops[1]["A.angle"] == pytest.approx(loops[0]["A.angle"], abs=1e-9)


# --- records ----------------------------------------------------------------------------------------------------------


@SPEC
def test_a_row_that_is_not_measured_is_left_out_of_the_intervals_beside_it() -> None:
    record = data()
    broken = np.array(record.data)
    broken[10, 2] = np.nan
    found = ExtendedKalmanBucy(swing(), Q=Q, R=R, P0=0.1).run(Record(record.time, broken, record.names))
    whole = ExtendedKalmanBucy(swing(), Q=Q, R=R, P0=0.1).run(record)
    place = ExtendedKalmanBucy(swing(), outputs="place", Q=Q, R=R[0, 0], P0=0.1)
    until = slice(0, 10)
    assert np.array_equal(found.states[until], whole.states[until])
    part = record.between(record.time[9], record.time[11])
    alone = place.run(part, start=found.states[9], P0=found.covariances()[9])
    assert found.states[10:12] == pytest.approx(alone.states[1:], rel=1e-12)
    assert found.covariances()[10:12] == pytest.approx(alone.covariances()[1:], rel=1e-10)
    assert np.isnan(found.innovations[10, 1])


def test_a_sensor_that_is_never_measured_twice_in_a_row_is_refused_with_a_way_out() -> None:
    record = data()
    slow = np.array(record.data)
    slow[1::2, 2] = np.nan
    with raises(DataError, "gap-in-record", "'acceleration'", "dt"):
        ExtendedKalmanBucy(swing(), Q=Q, R=R, P0=0.1).run(Record(record.time, slow, record.names))


def test_it_does_not_matter_to_a_linear_model_how_a_signal_is_sampled() -> None:
    system, Q, R = random_system()
    time, signal = np.array([0.0, 0.1, 0.4]), np.random.default_rng(0).standard_normal((3, 2))
    between = np.array([0.0, 0.03, 0.1, 0.2, 0.37, 0.4])
    runs = []
    for t in (time, between):
        y = np.column_stack([np.interp(t, time, column) for column in signal.T])
        record = Record(t, np.column_stack([np.ones(len(t)), y]), ["u1", "y1", "y2"])
        runs.append(ExtendedKalmanBucy(system, Q=Q, R=R, P0=np.eye(3)).run(record))
    assert runs[1].states[[0, 2, 5]] == pytest.approx(runs[0].states, rel=1e-10)


def test_sample_by_sample_is_the_run_over_the_record() -> None:
    record = data()
    ekf = ExtendedKalmanBucy(swing(), Q=Q, R=R, P0=0.1)
    found, clock = ekf.run(record), ekf.stepper(0.05)
    for row in record.data[:5]:
        sample = clock.step(row[1:], u=row[:1])
    assert sample["angle"] == pytest.approx(found["angle"][4], rel=1e-12)
    assert np.abs(clock.P / found.covariances()[4] - 1).max() < 1e-10


@pytest.mark.slow
def test_native_code_gives_the_bits_of_the_interpreter() -> None:
    record, found = data(), []
    for name in ENGINES:
        with engine(name):
            found.append(ExtendedKalmanBucy(swing(), Q=Q, R=R, P0=0.1).run(record))
    assert np.array_equal(found[0].states, found[1].states)


# --- machines ---------------------------------------------------------------------------------------------------------


MACHINES: dict[str, tuple[list[str], Any]] = {
    "driven pendulum": (["angle"], None),  # a joint that moves with time
    "free body": (["gyroscope", "mark"], None),  # rotations
    "sliding block": (["place"], {"push": lambda t: 30 + 5 * da.sin(5 * t)}),  # friction: x carries a reaction
    "loop in space": (["encoder"], None),  # redundant rows
    "ball pendulum": (["imu", "hinge"], None),
    "rolling disc": (["gyroscope", "centre"], None),  # fewer speeds than coordinates
}
QUICK = ("driven pendulum",)


@SPEC
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in MACHINES]
)
def test_on_machines_it_is_of_order_two(name: str) -> None:
    outputs, inputs = MACHINES[name]
    eqs = filter_machines.MACHINES[name]()
    start = filter_machines.state_of(eqs, seed=1, spread=0.1)
    model = process(eqs, outputs=outputs, at=start)
    record = da.estimate.measure(
        da.simulate(eqs, 0.1, start=start, inputs=inputs, every=0.01),
        dict.fromkeys(model.outputs.names, 0.03), seed=0,
    )  # fmt: skip
    found = {k: ExtendedKalmanBucy(model, Q=1e-4, R=1e-5, P0=1e-3, substeps=k).run(record) for k in (1, 2, 16)}
    fine = found[16]

    def gap(k: int) -> float:
        apart = [
            model.difference(a, b, model.p, t) for a, b, t in zip(found[k].states, fine.states, fine.time, strict=True)
        ]
        return float(np.max(np.abs(np.array(apart)[1:, :, 0]) / spread(fine.covariances())[1:]))

    assert gap(1) / gap(2) == pytest.approx(4, rel=0.25)
    assert gap(2) < 0.1  # of a deviation
    for a in (found[1].states[-1], fine.states[-1]):  # on its joints
        q = a[: eqs.nq]
        assert np.abs(np.array(eqs.functions["position"](q, eqs.p, record.time[-1]))).max(initial=0.0) < 1e-9


@SPEC
@pytest.mark.parametrize(
    ("name", "outputs"),
    [("driven pendulum", ["angle"]), pytest.param("free body", ["gyroscope", "mark"], marks=pytest.mark.slow)],
)
def test_integrated_together_with_the_machine_it_is_the_same_filter(name: str, outputs: list[str]) -> None:
    """Two formulations: P on the tangent of the moving estimate as part of the equations, and elements of intervals."""
    eqs = filter_machines.MACHINES[name]()
    start = filter_machines.state_of(eqs, seed=1, spread=0.1)
    off = filter_machines.state_of(eqs, seed=2, spread=0.12)
    model = process(eqs, outputs=outputs, at=off)
    ekf = ExtendedKalmanBucy(model, Q=1e-3, R=1e-3, P0=0.1)
    together = da.simulate(eqs, 0.4, start=start, observer=ekf, every=0.1)
    sampled = da.simulate(eqs, 0.4, start=start, observer=ExtendedKalmanBucy(model, Q=1e-3, R=1e-3, P0=0.1, dt=2e-3),
                          every=0.1)  # fmt: skip
    for channel in model.errors.names:
        deviation = together[f"estimate.{channel}.deviation"]
        assert sampled[f"estimate.{channel}.deviation"] == pytest.approx(deviation, rel=1e-4)
        if f"estimate.{channel}" in together.names:
            apart = np.abs(sampled[f"estimate.{channel}"] - together[f"estimate.{channel}"])
            assert np.all(apart < 1e-3 * deviation)


# --- loops ------------------------------------------------------------------------------------------------------------


@SPEC
def test_in_a_loop_it_knows_what_a_law_drives_and_estimates_as_over_the_record() -> None:
    m = da.Mechanism("cart", planar=True)
    cart, rod = m.add_body("cart", mass=1.0, inertia=0.1), m.add_body("rod", mass=0.5, inertia=da.rod(0.6))
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_revolute("hinge", cart.at(0, 0), rod.at(0, 0.3))
    m.add_force("push", cart.at(0, 0), (1, 0), input="push")
    m.add_sensor("place", da.displacement("rail"))
    m.add_sensor("acceleration", da.joint_acceleration("rail"))
    eqs = da.equations(m)
    law = da.control.udwadia_kalaba(eqs, {"place": "rail.displacement"}, actuated="push", frequency=5.0, dt=5e-3)
    ekf = ExtendedKalmanBucy(eqs, Q=1e-4, R=1e-5, P0=0.1, start={"hinge.angle": 0.8})
    noise = da.Noise(sensors={"place": 0.03, "acceleration": 0.03}, seed=1)
    start = da.assemble(eqs, {"hinge.angle": 1.0, "rail.displacement": 0.1})
    run = da.simulate(eqs, 2.0, start=start, controller=law, observer=ekf, noise=noise)
    assert np.abs(np.diff(run["push"])).max() > 0.1  # the accelerometer jumps with it
    late = run.between(0.5, None)
    for name in ("rail.displacement", "hinge.angle", "rail.speed", "hinge.rate"):
        error = (late[f"estimate.{name}"] - late[name]) / late[f"estimate.{name}.deviation"]
        assert 0.1 < np.sqrt(np.mean(error**2)) < 2.0
    assert np.abs(late["rail.displacement"][-100:]).max() < 0.02


# --- what it refuses --------------------------------------------------------------------------------------------------


def test_it_says_what_it_does_not_take() -> None:
    steps = UserModel(lambda x, u: [0.9 * x[0]], lambda x: [x[0]], states=["x"], outputs=["y"], continuous=False)
    four_bar = filter_machines.four_bar()
    record = data(4)
    for error, match, model, keywords in (
        (DataError, ("not-positive-definite", "R"), swing(), {"R": [1.0, 0.0]}),
        (DataError, ("not-positive-definite", "R"), swing(), {"R": [[1.0, 1.0], [1.0, 1.0]]}),
        (ModelError, ("not-supported",), steps, {}),
        (DataError, ("not-supported", "0.1"), StateSpace([[0.5]], None, [[1.0]], dt=0.1), {}),
        (DataError, ("conflicting-arguments",), swing(), {"input_noise": {"torque": 1.0}}),
        (DataError, ("not-a-count", "substeps"), swing(), {"substeps": 0}),
        (DataError, ("not-positive", "dt"), swing(), {"dt": -1.0}),
        (ModelError, ("not-supported", "'independent'"), four_bar, {"outputs": "encoder", "closing": "projection"}),
        (ModelError, ("wrong-type",), "swing", {}),
    ):
        with raises(error, *match):
            ExtendedKalmanBucy(model, **{"Q": 1.0, "R": 1.0, "P0": 1.0, **keywords})
    blind = UserModel(lambda x, u: [0 * x[0], -x[1]], lambda x: [x[1]], states=["drift", "seen"], outputs=["y"])
    with raises(DataError, "no-steady-filter", "P0"):
        ExtendedKalmanBucy(blind, Q=1.0, R=1.0).run(Record([0.0, 1.0], [[0.0], [0.0]], ["y"]))
    ekf = ExtendedKalmanBucy(swing(), Q=Q, R=R, P0=0.1)
    with raises(ModelError, "not-supported", "dt"):
        da.estimate.smooth(ekf.run(record))
    with raises(DataError, "not-positive", "dt"):
        ekf.discrete(0.0)
    depends = ExtendedKalmanBucy(swing(), Q=Q, R=lambda s: [1 + s["angle"] ** 2, 1.0], P0=0.1)
    assert np.isfinite(depends.run(record).states).all()
    with raises(DataError, "not-supported", "R"):
        depends.discrete(0.1)
