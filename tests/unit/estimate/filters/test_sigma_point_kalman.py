"""Sigma-point filters: the recursion of spec 004, square roots, gaps, angles, manifolds, mistakes."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ConvergenceError, DataError
from dalembert.equations import Channels
from dalembert.estimate import (
    CentralDifference,
    Cubature,
    ExtendedKalman,
    Process,
    Scaled,
    SigmaPointKalman,
    SphericalSimplex,
    Symmetric,
    UserModel,
    process,
)
from dalembert.estimate.engine.recursion import tick_function
from tests.helpers.engines import ENGINES, engine
from tests.helpers.findings import raises

DT = 0.02
RULES = [Symmetric(1.0), Scaled(1.0, 2.0, 0.0), Scaled(0.3), SphericalSimplex(0.25), CentralDifference(), Cubature()]


def swing(**keywords: Any) -> UserModel:
    return UserModel(
        lambda x, u: [x[1], -9.81 * da.sin(x[0]) - 0.1 * x[1] + u[0]], lambda x: [da.sin(x[0]), -da.cos(x[0])],
        states=["angle", "speed"], inputs=["torque"], outputs=["x", "y"], **keywords,
    )  # fmt: skip


def data(samples: int = 120, seed: int = 0) -> da.Record:
    rng = np.random.default_rng(seed)
    time = DT * np.arange(samples)
    u = np.sin(3 * time)
    step = process(swing()).functions["step"]
    x, rows = np.array([0.8, 0.0]), []
    for k in range(samples):
        rows.append([u[k], *(np.array([np.sin(x[0]), -np.cos(x[0])]) + 0.02 * rng.standard_normal(2))])
        x = np.array(step(x, u[k], [], time[k], DT)).ravel()
    return da.Record(time, np.array(rows), ["torque", "x", "y"])


def textbook(record: da.Record, chi: Any, wm: Any, wc: Any, Q: Any, R: Any, x: Any, P: Any, redraw: bool) -> Any:
    """Spec 004, C7, line by line in NumPy; the first sample is corrected only."""
    step = process(swing()).functions["step"]
    u, y = record["torque"], np.column_stack([record["x"], record["y"]])
    states, covariances = [], []
    X = None
    for k in range(len(record)):
        if k:
            X = (x[:, None] + np.linalg.cholesky(P) @ chi).T
            X = np.array([np.array(step(point, u[k - 1], [], 0.0, DT)).ravel() for point in X])
            x = wm @ X
            P = (X - x).T @ np.diag(wc) @ (X - x) + Q
        if redraw or X is None:
            X = (x[:, None] + np.linalg.cholesky(P) @ chi).T
        Y = np.column_stack([np.sin(X[:, 0]), -np.cos(X[:, 0])])
        expected = wm @ Y
        S = (Y - expected).T @ np.diag(wc) @ (Y - expected) + R
        K = (X - x).T @ np.diag(wc) @ (Y - expected) @ np.linalg.inv(S)
        x, P = x + K @ (y[k] - expected), P - K @ S @ K.T
        states.append(x)
        covariances.append(P)
    return np.array(states), np.array(covariances)


NOISE = {"Q": np.array([[1e-5, 1e-6], [1e-6, 1e-3]]), "R": np.diag([4e-4, 9e-4]), "P0": np.diag([0.2, 0.3])}
START = np.array([0.5, 0.2])


@pytest.mark.spec("004-C7", "004-C8")
@pytest.mark.parametrize("rule", [Symmetric(1.0), Scaled(0.3), SphericalSimplex(0.25), Cubature()], ids=str)
@pytest.mark.parametrize("redraw", [True, False])
def test_the_recursion_is_that_of_the_specification(rule: Any, redraw: bool) -> None:
    record, points = data(), rule.points(2)
    found = SigmaPointKalman(swing(), points=rule, redraw=redraw, start=START, **NOISE).run(record)
    wanted = textbook(
        record,
        points.positions,
        points.mean_weights,
        points.weights,
        NOISE["Q"],
        NOISE["R"],
        START,
        NOISE["P0"],
        redraw,
    )
    assert np.abs(found.states - wanted[0]).max() < 1e-11
    assert np.abs(found.covariances() - wanted[1]).max() < 1e-11


@pytest.mark.spec("004-C7")
def test_drawing_anew_and_using_again_differ_by_what_the_noise_of_the_process_adds() -> None:
    record = data()
    ways = [SigmaPointKalman(swing(), redraw=r, start=START, **NOISE).run(record) for r in (True, False)]
    assert 1e-4 < np.abs(ways[0].states - ways[1].states).max() < 0.1
    without = NOISE | {"Q": 0.0}
    rule = SphericalSimplex(0.25)
    same = [SigmaPointKalman(swing(), points=rule, redraw=r, start=START, **without).run(record) for r in (True, False)]
    # the points still differ by the curvature of one step
    assert np.abs(same[0].states - same[1].states).max() < 2e-3


@pytest.mark.spec("004-C8")
def test_central_differences_are_those_of_their_inventor() -> None:
    """Nørgaard, Poulsen, Ravn (2000): covariance by first and second differences, one sample by hand."""
    h, x, P, R = 3.0**0.5, START, np.array([[0.2, 0.05], [0.05, 0.3]]), NOISE["R"]
    stepper = SigmaPointKalman(swing(), points=CentralDifference(h), Q=NOISE["Q"], R=R, P0=P, start=x, dt=DT).stepper()
    sample = np.array([0.6, -0.7])
    stepper.step(sample, [0.0])

    def g(x: Any) -> Any:
        return np.array([np.sin(x[0]), -np.cos(x[0])])

    L = np.linalg.cholesky(P)
    plus, minus = (np.column_stack([g(x + s * h * L[:, i]) for i in range(2)]) for s in (1, -1))
    mean = (h**2 - 2) / h**2 * g(x) + (plus + minus).sum(axis=1) / (2 * h**2)
    first = (plus - minus) / (2 * h)
    second = np.sqrt(h**2 - 1) / (2 * h**2) * (plus + minus - 2 * g(x)[:, None])
    S = first @ first.T + second @ second.T + R
    K = L @ first.T @ np.linalg.inv(S)
    assert np.abs(stepper.x - (x + K @ (sample - mean))).max() < 1e-14
    assert np.abs(stepper.P - (P - K @ S @ K.T)).max() < 1e-14


@pytest.mark.spec("004-C8")
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_square_root_form_is_the_same_filter(rule: Any) -> None:
    record = data()
    plain, root = (
        SigmaPointKalman(swing(), points=rule, square_root=s, start=START, **NOISE).run(record) for s in (False, True)
    )
    assert np.abs(plain.states - root.states).max() < 1e-11
    assert np.abs(plain.covariances() - root.covariances()).max() < 1e-11
    assert np.abs(plain.nis - root.nis).max() < 1e-8
    assert abs(plain.log_likelihood - root.log_likelihood) < 1e-8


@pytest.mark.parametrize("options", [{}, {"square_root": True}, {"redraw": False}, {"points": CentralDifference()}])
@pytest.mark.parametrize("value", [0.0, 1e300, -7.0])
def test_what_stands_in_a_missing_row_has_no_influence_at_all(options: Any, value: float) -> None:
    ukf = SigmaPointKalman(swing(), dt=DT, **options, **NOISE)
    tick = ukf.native.tick
    m, p = ukf.initial_filter_state(None, None, DT), ukf.model.numbers
    wanted = [a.copy() for a in tick.raw(m, [0.1], [0.2], [0.05, 0.0], [1.0, 0.0], p, DT, DT)]
    found = tick.raw(m, [0.1], [0.2], [0.05, value], [1.0, 0.0], p, DT, DT)
    for k in (0, 1, 2, 5, 6):
        assert np.array_equal(found[k], wanted[k])


@pytest.mark.parametrize("options", [{}, {"square_root": True}, {"redraw": False}])
def test_a_missing_row_is_as_if_its_sensor_did_not_exist(options: Any) -> None:
    R = np.array([[4e-4, 1e-4], [1e-4, 9e-4]])
    keywords = {"Q": NOISE["Q"], "P0": NOISE["P0"], "start": START, "dt": DT, **options}
    both = SigmaPointKalman(swing(), R=R, **keywords).stepper()
    alone = SigmaPointKalman(swing(), outputs=["y"], R=R[1, 1], **keywords).stepper()
    for k in range(20):
        both.step([np.nan, -0.8 + 0.01 * k], [0.1])
        alone.step([-0.8 + 0.01 * k], [0.1])
        assert np.abs(both.x - alone.x).max() < 1e-14
        assert np.abs(both.P - alone.P).max() < 1e-14
        assert abs(both.nis - alone.nis) < 1e-9


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("square_root", [False, True])
def test_outputs_that_are_angles_are_averaged_about_the_first_point(rule: Any, square_root: bool) -> None:
    """Near ±π the readings of the points lie on both sides; the resolver is the wrapped angle itself."""
    turn = 2 * np.pi

    def model(wrapped: bool) -> UserModel:
        return UserModel(
            lambda x, u: [x[1], 0.0],
            lambda x: [x[0] - turn * ca.ceil((x[0] - np.pi) / turn)] if wrapped else [x[0]],
            states=["angle", "speed"], outputs=["resolver"], angles=["resolver"], start=[3.0, 1.0],
        )  # fmt: skip

    time = 0.02 * np.arange(60)
    noisy = 3.0 + time + 0.01 * np.random.default_rng(0).standard_normal(60)
    record = da.Record(time, np.angle(np.exp(1j * noisy))[:, None], ["resolver"])
    ways = [
        SigmaPointKalman(model(w), points=rule, square_root=square_root, Q=1e-6, R=1e-4, P0=1e-2).run(record)
        for w in (True, False)
    ]
    assert np.abs(ways[0].states - ways[1].states).max() < 1e-9
    assert np.abs(ways[0]["angle"] - (3.0 + time)).max() < 0.05


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_start_that_is_known_exactly_is_no_trouble(rule: Any) -> None:
    record = data()
    known = SigmaPointKalman(swing(), points=rule, Q=NOISE["Q"], R=NOISE["R"], P0=0.0, start=[0.8, 0.0]).run(record)
    assert np.isfinite(known.states).all()
    assert np.abs(known["angle"] - 0.8).max() < 3
    partly = SigmaPointKalman(
        swing(), points=rule, square_root=True, Q=[0.0, 1e-3], R=NOISE["R"], P0=[0.1, 0.0], start=[0.8, 0.0]
    ).run(record)
    assert np.isfinite(partly.states).all()


def test_a_covariance_that_became_indefinite_stops_the_run_and_says_when() -> None:
    """Negative weights of the centre: the source of it, and allowed to the user."""
    model = UserModel(
        lambda x, u: [40.0 * x[0] * x[1], 40.0 * x[0] ** 2, -40.0 * x[0] * x[2], x[1]], lambda x: [x[3]],
        states=["a", "b", "c", "d"], outputs=["y"], method="euler",
    )  # fmt: skip
    record = da.Record(0.05 * np.arange(30), np.zeros((30, 1)), ["y"])
    with raises(ConvergenceError, "diverged") as caught:
        SigmaPointKalman(model, points=Symmetric(-3.9), Q=1e-9, R=1e-6, P0=1.0).run(record)
    assert "square-root" in str(caught.value) or "diverged" in str(caught.value)


def quaternion_process() -> Process:
    """A body that turns with a held rate: x = (quaternion, rate), errors of three dimensions each; two axes seen."""
    q, w, e = ca.SX.sym("q", 4), ca.SX.sym("w", 3), ca.SX.sym("e", 6)
    x, x0 = ca.vertcat(q, w), ca.SX.sym("x0", 7)
    u, p, t, dt = ca.SX.sym("u", 0), ca.SX.sym("p", 0), ca.SX.sym("t"), ca.SX.sym("dt")

    def times(a: Any, b: Any) -> Any:
        v = a[0] * b[1:] + b[0] * a[1:] + ca.cross(a[1:], b[1:])
        return ca.vertcat(a[0] * b[0] - ca.dot(a[1:], b[1:]), v)

    def turned(r: Any) -> Any:
        angle = ca.sqrt(ca.sumsqr(r) + 1e-30)
        return ca.vertcat(ca.cos(angle / 2), ca.sin(angle / 2) / angle * r)

    def vector(q: Any) -> Any:
        s = ca.if_else(q[0] < 0, -1, 1) * q
        length = ca.sqrt(ca.sumsqr(s[1:]) + 1e-30)
        return 2 * ca.atan2(length, s[0]) / length * s[1:]

    def to_world(q: Any, v: Any) -> Any:
        return times(times(q, ca.vertcat(0, v)), ca.vertcat(q[0], -q[1:]))[1:]

    back = ca.vertcat(x0[0], -x0[1:4])
    seen = ca.vertcat(to_world(q, ca.DM([1, 0, 0])), to_world(q, ca.DM([0, 0, 1])))
    functions = {
        "step": ca.Function("step", [x, u, p, t, dt], [ca.vertcat(times(q, turned(w * dt)), w)]),
        "outputs": ca.Function("outputs", [x, u, p, t], [seen]),
        "retract": ca.Function("retract", [x, e, p, t], [ca.vertcat(times(q, turned(e[:3])), w + e[3:])]),
        "difference": ca.Function("difference", [x, x0, p, t], [ca.vertcat(vector(times(back, q)), w - x0[4:])]),
    }
    names = [*(f"q{i}" for i in range(4)), *(f"w{i}" for i in range(3))]
    small = [*(f"turn{i}" for i in range(3)), *(f"w{i}" for i in range(3))]
    carried, errors = Channels(names, [""] * 7), Channels(small, [""] * 6)
    outputs = Channels([f"y{i}" for i in range(6)], [""] * 6)
    start = np.array([1.0, 0, 0, 0, 0, 0, 0])
    return Process("body", errors, carried, Channels((), ()), outputs, functions, start, wrapped=(False,) * 6)


def turning(samples: int) -> tuple[da.Record, Any]:
    model = quaternion_process()
    rng = np.random.default_rng(2)
    x, rows, truth = np.array([0.0, 1.0, 0.0, 0.0, 0.9, -1.4, 2.0]), [], []
    for _ in range(samples):
        y = np.array(model.functions["outputs"](x, [], [], 0.0)).ravel()
        rows.append(y + 0.02 * rng.standard_normal(6))
        truth.append(x)
        x = np.array(model.functions["step"](x, [], [], 0.0, 0.05)).ravel()
    return da.Record(0.05 * np.arange(samples), np.array(rows), list(model.outputs.names)), np.array(truth)


@pytest.mark.parametrize(
    "make",
    [
        lambda m, **k: ExtendedKalman(m, **k),
        lambda m, **k: ExtendedKalman(m, iterations=3, **k),
        lambda m, **k: SigmaPointKalman(m, **k),
        lambda m, **k: SigmaPointKalman(m, points=SphericalSimplex(0.1), **k),
        lambda m, **k: SigmaPointKalman(m, points=CentralDifference(), **k),
        lambda m, **k: SigmaPointKalman(m, square_root=True, **k),
        lambda m, **k: SigmaPointKalman(m, redraw=False, **k),
    ],
)
def test_a_quaternion_is_estimated_on_its_sphere(make: Any) -> None:
    """A body turns 2.6 rad/s, the filter begins half a turn away from it in nobody's coordinates' favour."""
    record, truth = turning(200)
    start = np.array([np.cos(1.4), np.sin(1.4), 0.0, 0.0, 0.0, 0.0, 0.0])
    found = make(quaternion_process(), Q=1e-8, R=4e-4, P0=np.diag([0.5] * 3 + [4.0] * 3), start=start).run(record)
    assert np.abs(np.linalg.norm(found.states[:, :4], axis=1) - 1).max() < 1e-12
    apart = 2 * np.arccos(np.minimum(np.abs(np.sum(found.states[:, :4] * truth[:, :4], axis=1)), 1))
    assert apart[100:].max() < 0.02
    assert np.abs(found.states[100:, 4:] - truth[100:, 4:]).max() < 0.02


@pytest.mark.parametrize("options", [{}, {"square_root": True}, {"redraw": False}, {"points": CentralDifference()}])
def test_smoothing_backwards_finds_the_start_on_the_sphere(options: Any) -> None:
    record, truth = turning(150)
    start = np.array([np.cos(1.4), np.sin(1.4), 0.0, 0.0, 0.0, 0.0, 0.0])
    keywords = {"Q": 1e-8, "R": 4e-4, "P0": np.diag([0.5] * 3 + [4.0] * 3), "start": start}
    found = SigmaPointKalman(quaternion_process(), **options, **keywords).run(record)
    smoothed = da.estimate.smooth(found)
    assert np.abs(np.linalg.norm(smoothed.states[:, :4], axis=1) - 1).max() < 1e-12

    def apart(states: Any) -> Any:
        return 2 * np.arccos(np.minimum(np.abs(np.sum(states[:40, :4] * truth[:40, :4], axis=1)), 1)).max()

    assert apart(smoothed.states) < 0.1 * apart(found.states)


def test_both_forms_agree_on_a_manifold() -> None:
    record, _ = turning(60)
    start = np.array([np.cos(1.4), np.sin(1.4), 0.0, 0.0, 0.0, 0.0, 0.0])
    keywords = {"Q": 1e-6, "R": 4e-4, "P0": np.diag([0.2] * 3 + [4.0] * 3), "start": start}
    ways = [SigmaPointKalman(quaternion_process(), square_root=s, **keywords).run(record) for s in (False, True)]
    assert np.abs(ways[0].states - ways[1].states).max() < 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": 3.0}, ("wrong-type", "points")),
        ({"square_root": True, "redraw": False}, ("conflicting-arguments",)),
        ({"points": Symmetric(-2.5)}, ("out-of-range", "kappa")),
    ],
)  # fmt: skip
def test_mistakes_are_reported(options: Any, message: str) -> None:
    with raises(DataError, *message):
        SigmaPointKalman(swing(), Q=1e-6, R=1e-4, P0=0.1, **options)


def chain(n: int) -> UserModel:
    def f(x: Any, u: Any) -> list[Any]:
        q = [0.0, *(x[i] for i in range(n)), 0.0]
        forces = [100 * (q[i] - 2 * q[i + 1] + q[i + 2]) - 50 * q[i + 1] ** 3 for i in range(n)]
        return [*(x[n + i] for i in range(n)), *forces]

    return UserModel(f, lambda x: [x[0], x[n - 1]], states=[f"x{i}" for i in range(2 * n)], outputs=["a", "b"])


@pytest.mark.parametrize(
    "options",
    [{}, {"square_root": True}, {"redraw": False}, {"points": SphericalSimplex()}, {"points": CentralDifference()}],
)
@pytest.mark.parametrize("masses", [2, 7])
def test_matrices_and_one_flat_expression_are_the_same_filter(options: Any, masses: int) -> None:
    ukf = SigmaPointKalman(chain(masses), Q=1e-4, R=1e-4, P0=1e-2, dt=0.01, **options)
    functions = [tick_function(ukf), tick_function(ukf).expand()]
    rng = np.random.default_rng(0)
    m = ukf.begin(0.1 * rng.standard_normal(2 * masses), np.diag(rng.uniform(1e-4, 1e-2, 2 * masses)))
    sample = (m, [], [], [0.05, -0.02], [1, 1], ukf.model.numbers, 0.01, 0.01)
    values = [[np.array(v).ravel() for v in function.call([*map(ca.DM, sample)])] for function in functions]
    for a, b in zip(*values, strict=True):
        assert np.abs(a - b).max() < 1e-12 * max(1.0, np.abs(a).max())


def test_noise_of_the_inputs_is_that_of_the_extended_filter_on_a_linear_model() -> None:
    model = UserModel(
        lambda x, u: [x[1], -4.0 * x[0] + u[0]], lambda x: [x[0]], states=["q", "v"], inputs=["f"], outputs=["y"]
    )
    record = da.Record(0.1 * np.arange(30), np.random.default_rng(0).standard_normal((30, 2)), ["f", "y"])
    keywords = {"Q": 1e-4, "R": 0.01, "P0": 0.1, "input_noise": {"f": 0.5}}
    wanted = ExtendedKalman(model, **keywords).run(record)
    for square_root in (False, True):
        found = SigmaPointKalman(model, square_root=square_root, **keywords).run(record)
        assert np.abs(found.states - wanted.states).max() < 1e-11


@pytest.mark.parametrize("square_root", [False, True])
def test_native_code_gives_the_bits_of_the_interpreter(square_root: bool) -> None:
    record, found = data(60), []
    for name in ENGINES:
        ukf = SigmaPointKalman(swing(), square_root=square_root, start=START, **NOISE)
        with engine(name):
            found.append(ukf.run(record))
        assert (ukf.native.sample.code is None) == (name == "interpreter")
    assert np.array_equal(found[0].states, found[1].states)
    assert np.array_equal(found[0].covariances(), found[1].covariances())


# ---- edges of thresholds
