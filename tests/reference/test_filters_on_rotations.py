"""Filters of machines with Euler parameters against error-state filters in plain NumPy, and their NEES.

The body hangs on a ball joint: R ∈ SO(3), ω in body axes, J ω̇ = -ω × J ω + c × m Rᵀ g, with errors R = R₀ exp θ and
ω - ω₀. Nothing here is shared with the library: rotation matrices instead of Euler parameters and a closed joint,
slopes by differences, the covariance moved to the corrected state (θ' = Γ θ, Γ the right Jacobian of the shift) in
closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.equations import State
from dalembert.estimate import CentralDifference, ExtendedKalman, SigmaPointKalman, SphericalSimplex
from dalembert.estimate.engine.consistency import chi_square_band, nees
from dalembert.expressions import Array, Kernel

MASS, CENTRE, INERTIA = 1.3, np.array([0.02, -0.03, -0.5]), np.diag([0.12, 0.10, 0.03])
ABOUT_PIVOT = INERTIA + MASS * (CENTRE @ CENTRE * np.eye(3) - np.outer(CENTRE, CENTRE))
WEIGHT = MASS * np.array([0.0, 0.0, -9.81])
MARKS = {"tip": np.array([0.0, 0.0, -0.7]), "side": np.array([0.3, 0.1, -0.4])}  # from the pivot, in body axes
TURN, SPIN = np.array([0.3, -0.5, 0.8]), np.array([0.9, -0.6, 1.1])
STEPS, DT = 4, 0.02

Pose = tuple[Array, Array]  # R, ω


def pendulum() -> da.EquationsOfMotion:
    m = da.Mechanism("ball pendulum", planar=False)
    turn = Rotation.from_rotvec(TURN)
    body = m.add_body("bob", mass=MASS, inertia=tuple(np.diag(INERTIA)), position=tuple(turn.apply(CENTRE)),
                      rotation=turn.as_matrix())  # fmt: skip
    m.add_spherical("S", m.ground.at(0, 0, 0), body.at(*-CENTRE))
    for name, place in MARKS.items():
        m.add_sensor(name, da.position(body.at(*(place - CENTRE))))
    return da.equations(m)


def swinging(eqs: da.EquationsOfMotion) -> State:
    pose = da.assemble(eqs)
    R = Rotation.from_rotvec(TURN).as_matrix()
    return da.assemble(eqs, start=eqs.state(pose.q, np.r_[R @ np.cross(SPIN, CENTRE), SPIN]))


# ---- the same, in NumPy


def hat(a: Array) -> Array:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def exponential(a: Array) -> Array:
    return np.asarray(Rotation.from_rotvec(a).as_matrix())


def logarithm(R: Array) -> Array:
    return np.asarray(Rotation.from_matrix(R).as_rotvec())


def right_jacobian(a: Array) -> Array:
    """∂/∂δ log(exp(-a) exp(a + δ)) at δ = 0."""
    angle, S = float(np.linalg.norm(a)), hat(a)
    return np.eye(3) - (1 - np.cos(angle)) / angle**2 * S + (angle - np.sin(angle)) / angle**3 * S @ S


def rates(R: Array, w: Array) -> tuple[Array, Array]:
    torque = np.cross(CENTRE, R.T @ WEIGHT) - np.cross(w, ABOUT_PIVOT @ w)
    return R @ hat(w), np.linalg.solve(ABOUT_PIVOT, torque)


def step(x: Pose) -> Pose:
    """Runge-Kutta of order four on all nine entries of R."""
    R, w = x
    h = DT / STEPS
    for _ in range(STEPS):
        a = rates(R, w)
        b = rates(R + h / 2 * a[0], w + h / 2 * a[1])
        c = rates(R + h / 2 * b[0], w + h / 2 * b[1])
        d = rates(R + h * c[0], w + h * c[1])
        R, w = (y + h / 6 * (i + 2 * j + 2 * k + m) for y, i, j, k, m in zip((R, w), a, b, c, d, strict=True))
    return R, w


def seen(x: Pose, marks: tuple[str, ...]) -> Array:
    return np.concatenate([x[0] @ MARKS[name] for name in marks])


def moved(x: Pose, e: Array) -> Pose:
    return x[0] @ exponential(e[:3]), x[1] + e[3:]


def apart(x: Pose, x0: Pose) -> Array:
    return np.concatenate([logarithm(x0[0].T @ x[0]), x[1] - x0[1]])


def slope(function: Callable[[Array], Array]) -> Array:
    h = 1e-5
    return np.column_stack([(function(h * e) - function(-h * e)) / (2 * h) for e in np.eye(6)])


def reset(P: Array, shift: Array) -> Array:
    J = np.eye(6)
    J[:3, :3] = right_jacobian(shift[:3])
    return J @ P @ J.T


def extended(x: Pose, P: Array, samples: Array, marks: tuple[str, ...], Q: Array, R: Array) -> tuple[Pose, Array]:
    for k, y in enumerate(samples):
        if k:
            after = step(x)
            F = slope(lambda e, x=x, after=after: apart(step(moved(x, e)), after))
            x, P = after, F @ P @ F.T + Q
        H = slope(lambda e, x=x: seen(moved(x, e), marks))
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
        shift = K @ (y - seen(x, marks))
        x, P = moved(x, shift), reset((np.eye(6) - K @ H) @ P, shift)
    return x, P


def sigma(
    chi: Array, w: Array, x: Pose, P: Array, samples: Array, marks: tuple[str, ...], Q: Array, R: Array
) -> tuple[Pose, Array]:
    """Points χ (points, 6) of weights w."""
    for k, y in enumerate(samples):
        if k:
            after = [step(moved(x, e)) for e in chi @ np.linalg.cholesky(P).T]
            x = after[0]
            for _ in range(30):  # the mean is where the differences to all points cancel
                x = moved(x, w @ [apart(a, x) for a in after])
            E = np.array([apart(a, x) for a in after])
            P = E.T * w @ E + Q
        E = chi @ np.linalg.cholesky(P).T
        Y = np.array([seen(moved(x, e), marks) for e in E])
        W = Y - w @ Y
        S = W.T * w @ W + R
        K = E.T * w @ W @ np.linalg.inv(S)
        shift = K @ (y - w @ Y)
        x, P = moved(x, shift), reset(P - K @ S @ K.T, shift)
    return x, P


symmetric = partial(sigma, np.sqrt(6.0) * np.vstack((np.eye(6), -np.eye(6))), np.full(12, 1 / 12))
simplex = partial(sigma, SphericalSimplex().points(6).positions.T, SphericalSimplex().points(6).weights)


@pytest.mark.spec("004-C5", "004-C7")
@pytest.mark.parametrize("marks", [("tip", "side"), pytest.param(("side",), marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("make", "plain"),
    [
        (ExtendedKalman, extended),
        (SigmaPointKalman, symmetric),
        pytest.param(
            partial(SigmaPointKalman, points=SphericalSimplex(), square_root=True), simplex, marks=pytest.mark.slow
        ),
    ],
    ids=["extended", "symmetric points", "square root of a simplex"],
)
def test_filters_of_a_body_on_a_ball_joint_are_error_state_filters_of_rotations(make, plain, marks) -> None:
    eqs = pendulum()
    random = np.random.default_rng(1)
    P0 = 0.04 * np.eye(6) + 0.02 * np.ones((6, 6))  # 14 degrees, so that shifts turn far
    Q, R = 1e-5, 1e-3
    x0 = (exponential(TURN), SPIN)
    true, samples = moved(x0, np.linalg.cholesky(P0) @ random.normal(size=6)), []
    for k in range(8):
        true = step(true) if k else true
        samples.append(seen(true, marks) + np.sqrt(R) * random.normal(size=3 * len(marks)))
    filter_ = make(eqs, outputs=marks, at=swinging(eqs), Q=Q, R=R, P0=P0, dt=DT, steps=STEPS)
    names = filter_.process.outputs.names
    found = filter_.run(da.Record(DT * np.arange(8), samples, names, ["m"] * len(names)))
    x, P = plain(x0, P0, np.array(samples), marks, Q * np.eye(6), R * np.eye(len(names)))
    last = found.states[-1]
    assert filter_.process.errors.names == ("bob.rx", "bob.ry", "bob.rz", "bob.wx", "bob.wy", "bob.wz")
    # Runge-Kutta steps of 5 ms differ by some 1e-10 between the two forms, slopes by differences by as much
    assert np.abs(Rotation.from_quat(last[3:7], scalar_first=True).as_matrix() - x[0]).max() < 1e-8
    assert last[10:13] == pytest.approx(x[1], abs=1e-8)
    assert found.covariances()[-1] == pytest.approx(P, abs=1e-8 * np.diag(P).max())


# ---- NEES over many runs


def free_body() -> da.EquationsOfMotion:
    """Seen by the places of three points of it: no gyroscope."""
    m = da.Mechanism("free body", planar=False, gravity=0)
    body = m.add_body("body", mass=2.0, inertia=(0.1, 0.2, 0.25))
    for axis in range(3):
        m.add_sensor("abc"[axis], da.position(body.at(*(0.3 * np.eye(3)[axis]))))
    return da.equations(m)


def tumbling(eqs: da.EquationsOfMotion) -> State:
    return eqs.state(da.assemble(eqs).q, [0.1, 0.0, 0.2, 1.0, 0.7, 1.5])


def errors_of_many_runs(filter_: Any, P0: float, Q: float, R: float, runs: int, count: int) -> Array:
    """(runs, count) NEES; truth and filter have the same model, noise and spread of the start."""
    model = filter_.process
    step_, look, move = (Kernel(model.functions[name]) for name in ("step", "outputs", "retract"))
    random = np.random.default_rng(0)
    no_input = np.zeros(model.nu)

    def disturbed(x: Array, variance: float) -> Array:
        e = np.sqrt(variance) * random.normal(size=(runs, model.ne))
        return np.asarray(move.many(x, e, model.p, 0.0)[0].reshape(runs, model.nx))

    x = disturbed(np.tile(model.start, (runs, 1)), P0)
    true, samples = np.empty((count, runs, model.nx)), np.empty((count, runs, model.ny))
    for k in range(count):
        if k:
            x = disturbed(step_.many(x, no_input, model.p, 0.0, DT)[0].reshape(runs, model.nx), Q)
        noise = np.sqrt(R) * random.normal(size=(runs, model.ny))
        true[k], samples[k] = x, look.many(x, no_input, model.p, 0.0)[0].reshape(runs, model.ny) + noise
    time = DT * np.arange(count)
    found = []
    for run in range(runs):
        estimate = filter_.run(da.Record(time, samples[:, run], model.outputs.names, model.outputs.units))
        found.append(nees(estimate, da.Record(time, true[:, run], model.carried.names, model.carried.units)))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        ExtendedKalman,
        SigmaPointKalman,
        partial(SigmaPointKalman, points=CentralDifference(), square_root=True),
    ],
    ids=["extended", "symmetric points", "square root of central differences"],
)
@pytest.mark.parametrize(
    ("machine", "start", "outputs", "P0", "options", "freedoms"),
    [
        (free_body, tumbling, "abc", 1e-2, {}, 12),
        (pendulum, swinging, ("tip", "side"), 1e-2, {}, 6),
        (pendulum, swinging, ("tip", "side"), 1e-2, {"closing": "projection"}, 6),
        # the turn about the line from the joint to the tip is not seen: it may not be held for known. Where nothing
        # corrects it, its own nonlinearity adds up, so that the start must be known to a degree
        (pendulum, swinging, ("tip",), 1e-4, {}, 6),
    ],
    ids=["free body", "two points", "projection", "yaw not seen"],
)
def test_errors_of_filters_on_rotations_are_as_large_as_they_say(
    make, machine, start, outputs, P0, options, freedoms
) -> None:
    eqs = machine()
    Q, R = 1e-6, 1e-4
    at = start(eqs)
    filter_ = make(eqs, outputs=tuple(outputs), at=at, Q=Q, R=R, P0=P0, dt=DT, **options)
    found = errors_of_many_runs(filter_, P0, Q, R, runs=200, count=30)
    low, high = chi_square_band(freedoms, 200)
    mean = found.mean(axis=0)
    # samples of a run are correlated: each of 30 lies in its band with 95 %, not all of them must
    assert np.mean((low < mean) & (mean < high)) > 0.9
    assert low < mean.mean() < high


def test_errors_of_a_projection_are_counted_in_the_freedoms_of_the_joints() -> None:
    eqs = pendulum()
    filter_ = ExtendedKalman(eqs, outputs=("tip", "side"), at=swinging(eqs), Q=1e-6, R=1e-4, P0=1e-2, dt=DT,
                             closing="projection")  # fmt: skip
    found = errors_of_many_runs(filter_, 1e-2, 1e-6, 1e-4, runs=4, count=4)
    low, high = chi_square_band(6, 4, level=1 - 1e-6)
    assert low < found[:, -1].mean() < high
    run = da.simulate(eqs, until=0.1, start=swinging(eqs), every=DT)
    assert filter_.run(run).compare(run).states == 6
