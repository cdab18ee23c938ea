"""The Carvallo-Whipple benchmark bicycle (Meijaard, Papadopoulos, Ruina, Schwab 2007) from leaves to root.

Two routes: equations of motion derived and then linearized, and the linear model made of linearized leaves. Published
numbers have 14 digits; both keep 1e-10, the second 1e-11 (the largest entry, g K₀, is 794). Axes as in the paper: x
forward, y right, z down.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.symbolic.modular import (
    Assembly,
    attach_body,
    linearize_parts,
    modular_model,
    rigid_body,
    rolling_wheel,
    rotation_matrix,
    speed_model,
)

WHEELBASE, TRAIL, TILT, GRAVITY = 1.02, 0.08, np.pi / 10, 9.81
REAR, FRONT = 0.3, 0.35
PUBLISHED = {
    "M": [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]],
    "C1": [[0, 33.86641391492494], [-0.85035641456978, 1.6854039739756]],
    "K0": GRAVITY * np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]]),
    "K2": [[0, 76.59734589573222], [0, 2.65431523794604]],
}
LEAN, STEER = "machine.phi", "machine.delta"


def bicycle(*, torques: bool = False) -> Assembly:
    """The benchmark bicycle; with torques along lean and steer as inputs where asked."""
    down = (0.0, 0.0, GRAVITY)
    frame = rigid_body("frame", mass=85.0, inertia=(9.2, 11.0, 2.8, 0.0, 2.4, 0.0), coordinates="none", gravity=down)
    fork = rigid_body(
        "fork", mass=4.0, inertia=(0.05892, 0.06, 0.00708, 0.0, -0.00756, 0.0), coordinates="none", gravity=down
    )
    machine = Assembly("machine", [frame, fork])
    contact = ca.vertcat(machine.add_coordinate("x", "m"), machine.add_coordinate("y", "m"), 0)
    angles = [machine.add_coordinate(name, "rad") for name in ("psi", "phi", "theta")]
    steer = machine.add_coordinate("delta", "rad")
    R, tilt = rotation_matrix("zxy", angles), rotation_matrix("y", [TILT])
    R_fork = R @ tilt @ rotation_matrix("z", [steer]) @ tilt.T
    head = contact + R @ ca.vertcat(WHEELBASE + TRAIL, 0, 0)
    attach_body(machine, "frame", contact + R @ ca.vertcat(0.3, 0, -0.9), R)
    attach_body(machine, "fork", head + R_fork @ ca.vertcat(0.9 - WHEELBASE - TRAIL, 0, -0.7), R_fork)
    machine.choose(*(f"{name}.rate" for name in ("x", "y", "psi", "phi", "theta", "delta")))
    for name in ("phi", "delta") if torques else ():
        machine.add_input(f"{name} torque", "N m", on=f"{name}.rate")

    rear = rolling_wheel("rear", radius=REAR, mass=2.0, axial=0.12, radial=0.0603, gravity=down)
    front = rolling_wheel("front", radius=FRONT, mass=3.0, axial=0.28, radial=0.1405, gravity=down)
    root = Assembly("bicycle", [machine, rear, front])
    hubs = {"rear": (contact + R @ ca.vertcat(0, 0, -REAR), R),
            "front": (head + R_fork @ ca.vertcat(-TRAIL, 0, -FRONT), R_fork)}  # fmt: skip
    for name, (hub, frame_of) in hubs.items():
        axle = rotation_matrix("zx", [root[f"{name}.psi"], root[f"{name}.phi"]])[:, 1] - frame_of[:, 1]
        for k, axis in enumerate("xyz"):
            root.constrain(root[f"{name}.{axis}"] - hub[k], f"{name} hub {axis}")
        for k in (0, 2):
            root.constrain(axle[k], f"{name} axle {'xyz'[k]}")
    root.choose("machine.x.rate", f"{STEER}.rate", f"{LEAN}.rate")
    names = [f"machine.{k}" for k in ("x", "y", "psi", "phi", "theta", "delta")]
    names += [f"{wheel}.{k}" for wheel in ("rear", "front") for k in ("x", "y", "z", "psi", "phi", "theta")]
    root.place(dict.fromkeys(names, 0.0) | {"rear.z": -REAR, "front.z": -FRONT, "front.x": WHEELBASE})
    return root


def straight(v: float) -> dict[str, float]:
    turning = {f"{wheel}.{name}": -v / r for wheel, r in (("rear", REAR), ("front", FRONT)) for name in ("theta.rate",
               "wy")}  # fmt: skip
    forward = ("machine.x.rate", "machine.frame.vx", "machine.fork.vx", "rear.vx", "front.vx")
    return turning | dict.fromkeys(forward, v)


@pytest.fixture(scope="module")
def parts() -> Any:
    return modular_model(bicycle())


def lateral(parts: Any, v: float) -> Any:
    coordinates = ["machine.x", "machine.y", "machine.psi", LEAN, STEER, "rear.theta", "front.theta"]
    lin = linearize_parts(parts, straight(v), coordinates=coordinates)
    assert lin.residual < 1e-12
    return lin.part([f"{LEAN}.rate", f"{STEER}.rate"], [LEAN, STEER])  # checks that heading and path do not act


@pytest.mark.spec("002-G7", "002-T15")
def test_published_matrices_from_linearized_leaves(parts: Any) -> None:
    found = speed_model({v: lateral(parts, v) for v in (0.0, 1.0, 3.0, 7.0)})
    for name, expected in PUBLISHED.items():
        np.testing.assert_allclose(getattr(found, name), expected, rtol=0, atol=1e-11)


def published_eigenvalues(v: float) -> Any:
    M, C1, K0, K2 = (np.array(PUBLISHED[name]) for name in ("M", "C1", "K0", "K2"))
    inverse = np.linalg.inv(M)
    return np.linalg.eigvals(
        np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ (K0 + v**2 * K2), -v * inverse @ C1]])
    )


def largest_distance(found: Any, expected: Any) -> float:
    return max(float(np.abs(found - value).min()) for value in expected)


@pytest.mark.spec("002-G7", "002-G8")
def test_eigenvalues_from_0_to_10_metres_per_second_by_both_routes(parts: Any) -> None:
    """The published matrices have 14 digits; next to a double eigenvalue their square root is left: no speed is one."""
    eqs = da.equations(bicycle())
    for v in range(11):
        expected = published_eigenvalues(v)
        assert largest_distance(lateral(parts, v).eigenvalues(), expected) < 1e-10
        start = eqs.state(v=[straight(v).get(name, 0.0) for name in eqs.speeds.names])
        lin = da.linearize(eqs, start, coordinates=[LEAN, STEER])
        assert largest_distance(np.linalg.eigvals(lin.A), expected) < 1e-10
    at_five = lateral(parts, 5.0).eigenvalues()
    weave = -0.775341882195845 + 4.46486771378823j
    assert largest_distance(at_five, [-14.0783896927982, weave, weave.conjugate(), -0.32286642900409]) < 1e-10


@pytest.mark.spec("002-G7")
def test_published_matrices_from_derived_equations() -> None:
    """Torques along lean and steer accelerate them by M⁻¹; M⁻¹ times the others stands in the state matrix.

    M has a condition number of 350: the inverse of M⁻¹ keeps 1e-13 of its entries, up to 81, and g K₀, up to 794.
    """
    eqs = da.equations(bicycle(torques=True))
    for v in (0.5, 3.0, 7.0):
        start = eqs.state(v=[straight(v).get(name, 0.0) for name in eqs.speeds.names])
        lin = da.linearize(eqs, start, coordinates=[LEAN, STEER])
        place = [lin.states.index(name) for name in (LEAN, STEER)]
        rate = [lin.states.index(f"{name}.rate") for name in (LEAN, STEER)]
        M = np.linalg.inv(lin.B[rate, :])
        np.testing.assert_allclose(M, PUBLISHED["M"], rtol=0, atol=1e-10)
        stiffness, damping = (-M @ lin.A[np.ix_(rate, columns)] for columns in (place, rate))
        np.testing.assert_allclose(stiffness, PUBLISHED["K0"] + v**2 * np.array(PUBLISHED["K2"]), rtol=0, atol=1e-10)
        np.testing.assert_allclose(damping, v * np.array(PUBLISHED["C1"]), rtol=0, atol=1e-10)


@pytest.mark.spec("002-G7")
def test_difference_quotients_of_the_complement_would_leave_five_digits_less(parts: Any) -> None:
    """Why the derivative of the complement is exact: with γ = 1e-3 the quotient is off by 1e-7 and more."""
    from dalembert.symbolic.modular.algebra.complement import linear_complement

    rng = np.random.default_rng(3)
    B0, B1 = rng.normal(size=(3, 5)), rng.normal(size=(3, 5, 1))
    columns, free = tuple("abcde"), ("d", "e")
    C0, C1 = linear_complement(B0, B1, columns, free)
    assert np.abs(B0 @ C1[:, :, 0] + B1[:, :, 0] @ C0).max() < 1e-13
    step = 1e-3
    plus, minus = (
        linear_complement(B0 + s * step * B1[:, :, 0], np.zeros((3, 5, 0)), columns, free)[0] for s in (1, -1)
    )
    quotient = (plus - minus) / (2 * step)
    assert np.abs(quotient - C1[:, :, 0]).max() > 1e-7


@pytest.mark.spec("002-T22", "002-A11")
def test_linear_complement_with_the_published_step_needs_twice_the_step_below_the_fraction() -> None:
    from dalembert.symbolic.modular.algebra.complement import linear_complement

    rng = np.random.default_rng(22)
    B0, B1 = rng.normal(size=(3, 5)), rng.normal(size=(3, 5))
    columns, free, step = tuple("abcde"), ("d", "e"), 1e-4
    none = np.zeros((3, 5, 0))
    C0, _ = linear_complement(B0, none, columns, free)
    plus, minus = (linear_complement(B0 + s * step * B1, none, columns, free)[0] for s in (1, -1))
    gaps = [np.abs(B0 @ ((plus - minus) / below) + B1 @ C0).max() for below in (2 * step, step)]
    assert gaps[0] < 1e-4  # of order γ²
    assert gaps[1] > 0.1  # of order one
    _, exact = linear_complement(B0, B1[:, :, None], columns, free)
    assert np.abs(B0 @ exact[:, :, 0] + B1 @ C0).max() < 1e-12
