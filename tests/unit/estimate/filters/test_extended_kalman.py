"""The extended Kalman filter: exact Jacobians, Joseph's form, iteration, gaps, angles, continuous covariance."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.estimate import ExtendedKalman, UserModel, process
from dalembert.estimate.engine.recursion import tick_function
from tests.helpers.engines import ENGINES, engine
from tests.helpers.findings import raises
from tests.helpers.repetitions import few

DT = 0.02


def swing(**keywords: Any) -> UserModel:
    """A pendulum with a torque; angle by a resolver and height of the bob are read."""
    return UserModel(
        lambda x, u: [x[1], -9.81 * da.sin(x[0]) - 0.1 * x[1] + u[0]], lambda x: [x[0], -da.cos(x[0])],
        states=["angle", "speed"], inputs=["torque"], outputs=["resolver", "height"], **keywords,
    )  # fmt: skip


def data(samples: int = 300, seed: int = 0) -> da.Record:
    rng = np.random.default_rng(seed)
    time = DT * np.arange(samples)
    u = np.sin(3 * time)
    step = process(swing()).functions["step"]
    x, rows = np.array([0.8, 0.0]), []
    for k in range(samples):
        rows.append([u[k], x[0] + 0.02 * rng.standard_normal(), -np.cos(x[0]) + 0.01 * rng.standard_normal()])
        x = np.array(step(x, u[k], [], time[k], DT)).ravel()
    return da.Record(time, np.array(rows), ["torque", "resolver", "height"])


def textbook(record: da.Record, Q: Any, R: Any, x: Any, P: Any, iterations: int = 1) -> tuple[Any, Any]:
    """Spec 004, C5, in NumPy with Jacobians by central differences of the same step."""
    step = process(swing()).functions["step"]
    u, y = record["torque"], np.column_stack([record["resolver"], record["height"]])
    states, covariances = [], []

    def f(x: Any, k: int) -> Any:
        return np.array(step(x, u[k], [], record.time[k], DT)).ravel()

    for k in range(len(record)):
        if k:
            F = np.column_stack([(f(x + d, k - 1) - f(x - d, k - 1)) / 2e-5 for d in 1e-5 * np.eye(2)])
            x, P = f(x, k - 1), F @ P @ F.T + Q
        e = np.zeros(2)
        for _ in range(iterations):
            z = x + e
            H = np.array([[1.0, 0.0], [np.sin(z[0]), 0.0]])
            S = H @ P @ H.T + R
            K = P @ H.T @ np.linalg.inv(S)
            e = K @ (y[k] - np.array([z[0], -np.cos(z[0])]) + H @ e)
        x, P = x + e, P - K @ S @ K.T
        states.append(x)
        covariances.append(P)
    return np.array(states), np.array(covariances)


@pytest.mark.spec("004-C5")
@pytest.mark.parametrize("iterations", few([1, 4], 2))
@pytest.mark.parametrize("name", ENGINES)
def test_the_filter_is_the_textbooks(iterations: int, name: str) -> None:
    record = data()
    Q, R, P0 = np.diag([1e-6, 1e-4]), np.diag([4e-4, 1e-4]), np.diag([0.5, 0.5])
    ekf = ExtendedKalman(swing(), Q=Q, R=R, P0=P0, start=[0.3, 0.0], iterations=iterations)
    with engine(name):
        found = ekf.run(record)
    states, covariances = textbook(record, Q, R, np.array([0.3, 0.0]), P0, iterations)
    # the differences of the textbook are good to 1e-9
    assert np.abs(found.states - states).max() < 1e-8
    assert np.abs(found.covariances() - covariances).max() < 1e-8
    assert (ekf.native.sample.code is None) == (name == "interpreter")


@pytest.mark.spec("004-C5")
def test_iteration_ends_at_the_most_likely_state() -> None:
    """Gauss-Newton: the gradient of the posterior is zero there."""
    P0, R = np.diag([0.3, 0.2]), np.diag([0.05, 0.01])
    ekf = ExtendedKalman(swing(), Q=1e-6, R=R, P0=P0, start=[0.3, 0.0], iterations=40, dt=DT)
    stepper = ekf.stepper()
    y = np.array([0.9, -0.55])
    stepper.step(y, [0.0])
    x = stepper.x
    H = np.array([[1.0, 0.0], [np.sin(x[0]), 0.0]])
    gradient = np.linalg.solve(P0, x - [0.3, 0.0]) - H.T @ np.linalg.solve(R, y - [x[0], -np.cos(x[0])])
    assert np.abs(gradient).max() < 1e-10


@pytest.mark.spec("004-C5")
def test_josephs_form_knows_a_variance_that_the_short_one_loses() -> None:
    """A sensor far better than what was known before: P⁻ - K S Kᵀ has nothing left but rounding."""
    model = UserModel(lambda x, u: [x[1], 0.0], lambda x: [x[0]], states=["a", "b"], outputs=["y"])
    P0, R = np.array([[1e8, 5e7], [5e7, 1e8]]), 1e-12
    stepper = ExtendedKalman(model, Q=0.0, R=R, P0=P0, dt=0.1).stepper()
    stepper.step([1.0])
    K, S = P0[:, :1] / (P0[0, 0] + R), P0[0, 0] + R
    assert abs((P0 - S * K @ K.T)[0, 0] - R) > 0.5 * R  # the short form
    assert abs(stepper.P[0, 0] - R) < 1e-6 * R
    assert np.linalg.eigvalsh(stepper.P).min() > 0


def test_a_missing_sample_is_as_if_its_sensor_did_not_exist() -> None:
    record = data(120)
    gaps = np.array(record["height"])
    gaps[::2] = np.nan
    gaps[40:60] = np.nan
    with_gaps = da.Record(
        record.time, np.column_stack([record["torque"], record["resolver"], gaps]), ["torque", "resolver", "height"]
    )
    noise = {"Q": 1e-5, "P0": 0.1, "start": [0.7, 0.0]}
    R = np.array([[4e-4, 1e-4], [1e-4, 1e-4]])  # correlated: what is left is a part of R
    found = ExtendedKalman(swing(), R=R, **noise).run(with_gaps)
    both = ExtendedKalman(swing(), R=R, **noise).stepper(DT)
    alone = ExtendedKalman(swing(), outputs=["resolver"], R=R[0, 0], **noise).stepper(DT)
    whole = {True: both, False: alone}
    state = None
    for k in range(len(record)):  # two filters that hand the state over, each with the sensors there are
        seen = bool(np.isfinite(gaps[k]))
        used = whole[seen]
        if state is not None:
            used.filter_state, used._u, used.t, used._begun = state
        y = [record["resolver"][k], gaps[k]] if seen else [record["resolver"][k]]
        used.step(y, [record["torque"][k]])
        state = (used.filter_state.copy(), used._u.copy(), used.t, True)
        assert np.abs(used.x - found.states[k]).max() < 1e-13


@pytest.mark.parametrize("value", [0.0, 1e300, -7.0])
def test_what_stands_in_a_missing_row_has_no_influence_at_all(value: float) -> None:
    ekf = ExtendedKalman(swing(), Q=1e-5, R=[4e-4, 1e-4], P0=0.1, dt=DT)
    tick = ekf.native.tick
    m, p = ekf.initial_filter_state(None, None, DT), ekf.model.numbers
    wanted = [a.copy() for a in tick.raw(m, [0.1], [0.2], [0.05, 0.0], [1.0, 0.0], p, DT, DT)]
    found = tick.raw(m, [0.1], [0.2], [0.05, value], [1.0, 0.0], p, DT, DT)
    for k in (0, 1, 2, 5, 6):  # all but the innovation of the row itself
        assert np.array_equal(found[k], wanted[k])


def test_residuals_of_angles_go_the_short_way_round() -> None:
    """The resolver jumps from π to -π; an unwrapped residual of 2π would throw the filter."""
    model = UserModel(
        lambda x, u: [x[1], 0.0], lambda x: [x[0]], states=["angle", "speed"], outputs=["resolver"],
        angles=["resolver"], start=[3.0, 1.0],
    )  # fmt: skip
    time = 0.02 * np.arange(200)
    y = np.angle(np.exp(1j * (3.0 + time)))
    found = ExtendedKalman(model, Q=1e-8, R=1e-6, P0=1e-4).run(da.Record(time, y[:, None], ["resolver"]))
    assert np.abs(found.innovations).max() < 1e-6
    assert np.abs(found["angle"] - (3.0 + time)).max() < 1e-6


def test_noise_of_the_inputs_goes_through_their_exact_slope() -> None:
    ekf = ExtendedKalman(swing(), Q=0.0, R=1e12, P0=0.0, input_noise={"torque": 0.04}, dt=DT)
    stepper = ekf.stepper(start=[0.4, 0.1])
    stepper.step([0.0, 0.0], [0.2])
    stepper.step([0.0, 0.0], [0.2])
    step = process(swing()).functions["step"]
    G = np.array(step([0.4, 0.1], 0.2 + 1e-5, [], 0, DT) - step([0.4, 0.1], 0.2 - 1e-5, [], 0, DT)) / 2e-5
    assert np.abs(stepper.P - 0.04 * G @ G.T).max() < 1e-12


@pytest.mark.spec("000-76")
@pytest.mark.parametrize("substeps", [1, 4])
def test_between_samples_the_covariance_follows_its_differential_equation(substeps: int) -> None:
    """Ṗ = A P + P Aᵀ + Q along ẋ = f(x), A = ∂f/∂x there, against an integrator of both (spec 000, item 76)."""
    Q, P0, x0, u, gap = np.array([[0.01, 0.002], [0.002, 0.3]]), np.diag([0.02, 0.1]), np.array([0.8, -0.4]), 0.3, 0.1

    def rates(t: float, z: Any) -> Any:
        x, P = z[:2], z[2:].reshape(2, 2)
        A = np.array([[0.0, 1.0], [-9.81 * np.cos(x[0]), -0.1]])
        return np.r_[x[1], -9.81 * np.sin(x[0]) - 0.1 * x[1] + u, (A @ P + P @ A.T + Q).ravel()]

    exact = solve_ivp(rates, (0, gap), np.r_[x0, P0.ravel()], rtol=1e-12, atol=1e-12).y[:, -1]
    ekf = ExtendedKalman(swing(), Q=Q, R=1e12, P0=P0, start=x0, dt=gap, continuous=True, substeps=substeps)
    stepper = ekf.stepper()
    for _ in range(2):
        stepper.step([np.nan, np.nan], [u])
    # of order four: the error per interval is about (h ω)⁵ P / 100
    assert np.abs(stepper.P.ravel() - exact[2:]).max() < 2e-5 / substeps**4
    assert np.abs(stepper.x - exact[:2]).max() < 1e-5 / substeps**3.9


@pytest.mark.spec("000-76")
def test_with_many_samples_the_continuous_filter_is_that_of_the_riccati_equation() -> None:
    """Samples every dt with variance R/dt: P settles where A P + P Aᵀ - P Cᵀ R⁻¹ C P + Q = 0, with an error O(dt)."""
    A, C, Q, R = np.array([[0.0, 1.0], [-4.0, -0.3]]), np.array([[1.0, 0.0]]), np.diag([0.01, 0.3]), 0.02
    model = UserModel(lambda x, u: [x[1], -4.0 * x[0] - 0.3 * x[1]], lambda x: [x[0]], states=["q", "v"], outputs=["y"])
    exact = scipy.linalg.solve_continuous_are(A.T, C.T, Q, [[R]])
    errors = []
    for dt in (0.01, 0.005):
        ekf = ExtendedKalman(model, Q=Q, R=R / dt, P0=exact, continuous=True)
        count = int(20 / dt)
        found = ekf.run(da.Record(dt * np.arange(count), np.zeros((count, 1)), ["y"]))
        errors.append(np.abs(found.covariances()[-1] - exact).max())
    assert errors[0] < 0.02 * np.abs(exact).max()
    assert abs(errors[0] / errors[1] - 2.0) < 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iterations": 0}, ("not-a-count", "iterations")), ({"substeps": 1.5}, ("not-a-count", "substeps")),
        ({"continuous": True, "input_noise": 1.0}, ("conflicting-arguments",)),
    ],
)  # fmt: skip
def test_mistakes_are_reported(change: dict[str, Any], message: str) -> None:
    with raises(DataError, *message):
        ExtendedKalman(swing(), Q=1e-6, R=1e-4, P0=0.1, **change)


def test_a_model_of_one_interval_has_no_continuous_covariance() -> None:
    plant = da.linear.StateSpace([[0.9]], [[1.0]], [[1.0]], [[0.0]], dt=0.1)
    with raises(DataError, "not-supported"):
        ExtendedKalman(plant, Q=1e-6, R=1e-4, P0=0.1, continuous=True)


def test_matrices_and_one_flat_expression_are_the_same_filter() -> None:
    """Ten masses: small filters are flattened, large ones call the kernels of their matrices."""
    n = 10

    def f(x: Any, u: Any) -> list[Any]:
        q = [0.0, *(x[i] for i in range(n)), 0.0]
        forces = [100 * (q[i] - 2 * q[i + 1] + q[i + 2]) - 50 * q[i + 1] ** 3 for i in range(n)]
        return [*(x[n + i] for i in range(n)), *forces]

    model = UserModel(f, lambda x: [x[0], x[4], x[9]], states=[f"x{i}" for i in range(2 * n)], outputs=["a", "b", "c"])
    ekf = ExtendedKalman(model, Q=1e-6, R=1e-4, P0=1e-3, dt=0.01)
    functions = [tick_function(ekf), tick_function(ekf).expand()]
    rng = np.random.default_rng(0)
    m = ekf.begin(0.1 * rng.standard_normal(20), np.diag(rng.uniform(1e-4, 1e-2, 20)))
    for measured in ([1, 1, 1], [1, 0, 1]):
        sample = (m, [], [], 0.1 * rng.standard_normal(3), measured, ekf.model.numbers, 0.01, 0.01)
        values = [[np.array(v).ravel() for v in function.call([*map(ca.DM, sample)])] for function in functions]
        for a, b in zip(*values, strict=True):
            assert np.abs(a - b).max() < 1e-13 * max(1.0, np.abs(a).max())


@pytest.mark.spec("000-76")
def test_continuous_noise_is_that_of_the_exact_discrete_model_forwards_and_backwards() -> None:
    """Van Loan's integral gives the Q of one interval; filter and smoother must agree."""
    dt, A, Qc = 0.1, np.array([[0.0, 1.0], [-4.0, -0.3]]), np.diag([0.01, 0.3])
    big = scipy.linalg.expm(dt * np.block([[-A, Qc], [np.zeros((2, 2)), A.T]]))
    Ad = big[2:, 2:].T
    exact = da.linear.StateSpace(Ad, np.zeros((2, 1)), [[1.0, 0.0]], [[0.0]], dt=dt, states=["q", "v"])
    model = UserModel(
        lambda x, u: [x[1], -4.0 * x[0] - 0.3 * x[1]], lambda x: [x[0]], states=["q", "v"], outputs=["y1"]
    )
    y = np.random.default_rng(0).standard_normal((40, 1))
    record = da.Record(dt * np.arange(40), np.hstack([y, np.zeros((40, 1))]), [exact.outputs[0], exact.inputs[0]])
    wanted = ExtendedKalman(exact, Q=Ad @ big[:2, 2:], R=0.1, P0=1.0).run(record)
    found = ExtendedKalman(model, Q=Qc, R=0.1, P0=1.0, continuous=True, substeps=16).run(
        da.Record(record.time, y, ["y1"])
    )
    assert np.abs(found.states - wanted.states).max() < 1e-7  # of order four in dt/16
    back, wanted_back = da.estimate.smooth(found), da.estimate.smooth(wanted)
    assert np.abs(back.states - wanted_back.states).max() < 1e-7
    assert np.abs(back.covariances() - wanted_back.covariances()).max() < 1e-7


def test_a_record_with_other_steps_than_the_filter_was_made_for_is_refused():
    """Q is the noise of one step of dt: over other steps it would be another filter."""
    import dalembert as da

    model = da.estimate.UserModel(lambda x, u: [-x[0]], lambda x: [x[0]], states=["x"], outputs=["y"])
    record = da.Record(0.01 * np.arange(50), np.ones((50, 1)), ["y"])
    with raises(DataError, "sample-time-mismatch", "0.01", "0.02"):
        da.estimate.ExtendedKalman(model, Q=1e-6, R=1e-4, P0=1.0, dt=0.02).run(record)
    assert len(da.estimate.ExtendedKalman(model, Q=1e-6, R=1e-4, P0=1.0).run(record)) == 50


# -- a Jacobian frozen over the interval -------------------------------------------------------------------------------


def pendulum() -> da.EquationsOfMotion:
    m = da.Mechanism("pendulum", planar=True)
    rods = [m.add_body(name, mass=1.0, inertia=da.rod(1.0)) for name in ("upper", "lower")]
    m.add_revolute("A", m.ground.at(0, 0), rods[0].at(-0.5, 0))
    m.add_revolute("B", rods[0].at(0.5, 0), rods[1].at(-0.5, 0))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    return da.equations(m)


def slopes(model: object, dt: float, **options: object) -> list[np.ndarray]:
    """F and G of one prediction, at a moving state."""
    ekf = da.estimate.ExtendedKalman(model, Q=1e-6, R=1e-6, P0=1.0, dt=dt, input_noise=1.0, **options)
    m = ekf.process
    x, u, p, t, h = (ca.MX.sym(*s) for s in (("x", m.nx), ("u", m.nu), ("p", len(ekf.model.numbers)), ("t",), ("h",)))
    kernel = ca.Function("slopes", [x, u, p, t, h], ekf.transition(x, u, p, t, h)[1:])
    start = (
        m.start + 0.3 * np.cos(np.arange(m.nx)) if m.flat else m.placed({"A.angle": 0.4, "B.angle": 0.9, "A.rate": 2})
    )
    return [np.array(value) for value in kernel(start, np.full(m.nu, 0.5), ekf.model.numbers, 0.0, dt)]


@pytest.mark.parametrize("coordinates", few(["joint", "absolute"]))
def test_it_differs_from_the_exact_one_by_the_square_of_the_interval(coordinates: str) -> None:
    eqs = pendulum()
    if coordinates == "absolute":
        options: dict[str, object] = {"coordinates": ["A.angle", "B.angle"]}
    else:
        options = {}
    errors = []
    for dt in (0.01, 0.005):
        exact, frozen = (slopes(eqs, dt, jacobian=word, **options) for word in ("exact", "frozen"))
        errors.append([np.abs(a - b).max() for a, b in zip(exact, frozen, strict=True)])
    ratios = np.array(errors[0]) / errors[1]
    assert ratios == pytest.approx(4.0, rel=0.1)


def test_on_a_linear_model_it_is_the_exponential_to_the_fourth_power() -> None:
    A, dt = np.array([[0.0, 1.0], [-40.0, -0.5]]), 0.02
    model = da.estimate.UserModel(
        lambda x, u: [x[1], -40.0 * x[0] - 0.5 * x[1] + 3.0 * u[0]], lambda x: [x[0]], states=["a", "b"],
        outputs=["y"], inputs=["f"],
    )  # fmt: skip
    F, G = slopes(model, dt, jacobian="frozen")
    size = np.abs(np.linalg.matrix_power(A * dt, 5)).max()
    assert np.abs(F - scipy.linalg.expm(A * dt)).max() <= size / 100
    held = da.linear.StateSpace(A, [[0.0], [3.0]], np.eye(2)).to_discrete(dt)
    assert np.abs(G - held.B).max() <= size / 10


def test_estimates_are_as_good_and_steps_without_a_rate_are_refused() -> None:
    eqs = pendulum()
    start = da.assemble(eqs, {"A.angle": 0.4, "B.angle": 0.9})
    truth = da.simulate(eqs, until=1.0, start=start, every=0.005, inputs={"torque": lambda t: da.sin(9 * t)})
    estimates = [
        da.estimate.ExtendedKalman(
            eqs, Q=1e-8, R=1e-8, P0=1e-2, start={"A.angle": 0.45, "B.angle": 0.8}, jacobian=word
        ).run(truth) for word in ("exact", "frozen")
    ]  # fmt: skip
    late = truth.time > 0.5
    errors = [np.sqrt(np.mean((e["B.angle"] - truth["B.angle"])[late] ** 2)) for e in estimates]
    assert errors[1] < 1.2 * errors[0] + 1e-5 and errors[0] < 1e-3
    sampled = da.linear.StateSpace([[0.9]], [[1.0]], [[1.0]], dt=0.1)
    with raises(DataError, "not-supported"):
        da.estimate.ExtendedKalman(sampled, Q=1.0, R=1.0, jacobian="frozen")
    with raises(DataError, "unknown-choice"):
        da.estimate.ExtendedKalman(eqs, Q=1.0, R=1.0, jacobian="old")
