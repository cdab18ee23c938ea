"""The RSSR linkage and other links between ball joints, whose spin about the line of the balls is idle.

Closed form: the crank's ball A = a (cos θ, sin θ, 0) and the rocker's B = O + c (0, -sin ψ, cos ψ) stay L apart: so
P cos ψ + Q sin ψ = K with P = 2c (O - A)_z, Q = -2c (O - A)_y, K = L² - c² - |O - A|²; rates by differentiating it. A
coupler d = B - A that does not spin has ω = d × ḋ / L² and α = d × d̈ / L².
"""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from tests.helpers.findings import raises
from tests.helpers.rssr import A_ARM, B_ARM, FOOT, LENGTH, rssr


def crank_law(t):
    return 3 * t + 0.5 * da.sin(2 * t)


@cache
def equations(side: float = 0.0) -> da.EquationsOfMotion:
    return da.equations(rssr(side=side))


def closed_form(times: np.ndarray) -> tuple[np.ndarray, ...]:
    """ψ, ψ̇, ψ̈ (n,) and A, B with their two derivatives (n, 18)."""
    t = ca.SX.sym("t")
    theta = crank_law(t)
    a = ca.vertcat(A_ARM * ca.cos(theta), A_ARM * ca.sin(theta), 0)
    off = ca.DM(FOOT) - a
    P, Q = 2 * B_ARM * off[2], -2 * B_ARM * off[1]
    K = LENGTH**2 - B_ARM**2 - ca.sumsqr(off)
    psi = ca.atan2(Q, P) + ca.acos(K / ca.sqrt(P * P + Q * Q))  # the branch with ψ(0) = 0
    b = ca.DM(FOOT) + B_ARM * ca.vertcat(0, -ca.sin(psi), ca.cos(psi))
    x = ca.vertcat(psi, a, b)
    rate = ca.jacobian(x, t)
    values = np.array(ca.Function("closed", [t], [ca.vertcat(x, rate, ca.jacobian(rate, t))]).map(len(times))(times)).T
    first = ca.Function("first", [t], [psi])(0.0)
    assert abs(float(first)) < 1e-12
    psi = values[:, [0, 7, 14]]
    points = [values[:, k + 1 : k + 7] for k in (0, 7, 14)]
    return psi, *points


@pytest.mark.parametrize("side", [0.0, pytest.param(0.1, marks=pytest.mark.slow)])
def test_the_rssr_coupler_moves_as_its_closed_form_says(side):
    """Joints are closed to 1e-15 by Newton's method; rates and accelerations are linear solves with condition 1e2."""
    run = da.kinematics(equations(side), 2.0, motion={"R1": crank_law}, every=0.05)
    psi, points, rates, accelerations = closed_form(run.time)
    wrapped = np.angle(np.exp(1j * (run["R2.angle"] - psi[:, 0])))
    assert np.abs(wrapped).max() < 1e-10
    assert np.abs(run["R2.rate"] - psi[:, 1]).max() < 1e-10
    assert np.abs(run["R2.acceleration"] - psi[:, 2]).max() < 1e-10
    assert np.abs(np.hstack((run["A"], run["B"])) - points).max() < 1e-10
    d, d_rate, d_acceleration = (x[:, 3:] - x[:, :3] for x in (points, rates, accelerations))
    omega, alpha = (np.cross(d, x) / LENGTH**2 for x in (d_rate, d_acceleration))
    assert np.abs(run["coupler.wx"]).max() < 1e-10 and np.abs(run["coupler.alphax"]).max() < 1e-10
    for found, exact in (("w", omega), ("alpha", alpha)):
        size = np.linalg.norm(run[[f"coupler.{found}{k}" for k in "xyz"]], axis=1)
        assert np.abs(size - np.linalg.norm(exact, axis=1)).max() < 1e-10
    if side == 0.0:
        for channels, exact in ((("vx", "vy", "vz"), rates), (("ax", "ay", "az"), accelerations)):
            found = run[[f"coupler.{k}" for k in channels]]
            assert np.abs(found - (exact[:, :3] + exact[:, 3:]) / 2).max() < 1e-10
    assert run.statistics["held at rest"] == ["coupler turns about the line of its ball joints 'S1' and 'S2'"]


def test_inverse_dynamics_leaves_an_idle_spin_out_and_says_so():
    eqs = equations()
    run = da.inverse_dynamics(eqs, {"R1": crank_law}, times=np.linspace(0, 1, 11))
    assert run.statistics["determination"] == "determined" and run.statistics["degrees of freedom"] == 1
    assert run.statistics["idle"] == ["coupler turns about the line of its ball joints 'S1' and 'S2'"]
    assert run.statistics["largest residual"] < 1e-10  # a symmetric coupler asks for no moment about its line
    forward = da.simulate(eqs, 1.0, inputs={"torque": 1.5}, every=0.1)
    assert da.inverse_dynamics(eqs, forward)["torque"] == pytest.approx(1.5, abs=1e-10)


def test_what_is_free_is_named_and_nothing_else():
    with raises(da.errors.ModelError, "free-to-move"):
        da.kinematics(equations(), [0.0, 0.1])
    for side in (0.0, 0.1):
        assert da.mobility(equations(side)).idle == ("coupler turns about the line of its ball joints 'S1' and 'S2'",)


def two_links() -> da.Mechanism:
    """Ball joints at both ends and in the middle: two idle spins, and the middle ball swings."""
    m = da.Mechanism("two links", gravity=0)
    one = m.add_body("one", mass=1.0, inertia=(0.1, 0.2, 0.2), position=(0.5, 0, 0.5))
    two = m.add_body("two", mass=1.0, inertia=(0.1, 0.2, 0.2), position=(1.5, 0, 0.5))
    m.add_spherical("left", m.ground, one, at=(0, 0, 0))
    m.add_spherical("middle", one, two, at=(1, 0, 1))
    m.add_spherical("right", two, m.ground, at=(2, 0, 0))
    return m


def test_a_ball_that_swings_is_not_idle():
    eqs = da.equations(two_links())
    assert len(da.mobility(eqs).idle) == 2 and da.mobility(eqs).dof == 3
    with raises(da.errors.ModelError, "free-to-move", "'two links'"):
        da.kinematics(eqs, [0.0, 0.1])
    run = da.kinematics(eqs, [0.0, 0.1], motion={"one.y": lambda t: t})
    assert len(run.statistics["held at rest"]) == 2


def leg(stroke: tuple[float, float, float] = (1, 0, 1)) -> da.Mechanism:
    """Cylinder and piston between ball joints whose line is (1, 0, 1), with a stroke along it or not."""
    m = da.Mechanism("leg", gravity=0)
    slider = m.add_body("slider", mass=1.0, inertia=0.1, position=(1, 0, 1))
    cylinder = m.add_body("cylinder", mass=1.0, inertia=da.rod(0.5, axis="z"), position=(0.25, 0, 0.25),
                          rotation=(np.cos(np.pi / 8), 0, np.sin(np.pi / 8), 0))  # fmt: skip
    piston = m.add_body("piston", mass=1.0, inertia=da.rod(0.5, axis="z"), position=(0.75, 0, 0.75),
                        rotation=(np.cos(np.pi / 8), 0, np.sin(np.pi / 8), 0))  # fmt: skip
    m.add_prismatic("guide", m.ground, slider, at=(1, 0, 1), axis=(0, 1, 0))
    m.add_spherical("foot", m.ground, cylinder, at=(0, 0, 0))
    m.add_prismatic("stroke", cylinder, piston, at=(0, 0, 0), axis=stroke)
    m.add_spherical("head", piston, slider, at=(1, 0, 1))
    m.add_actuator("oil", "stroke", input="force")
    return m


def test_cylinder_and_piston_between_ball_joints_spin_together():
    eqs = da.equations(leg())
    run = da.kinematics(eqs, 1.0, motion={"guide": lambda t: t**2}, every=0.1)
    assert run.statistics["held at rest"] == [
        "cylinder and piston turn about the line of their ball joints 'foot' and 'head'"
    ]
    assert run["stroke.displacement"] == pytest.approx(np.sqrt(2 + run.time**4) - np.sqrt(2), abs=1e-12)
    # thin rods: their common spin has no inertia, and keeps its speed
    free = da.simulate(eqs, 1.0, inputs={"force": 1.0}, every=0.25)
    assert np.abs(free["energy.balance"]).max() < 1e-9 and np.abs(free["cylinder.wz"]).max() < 1e-12


def test_accelerations_of_a_leg_with_its_balls_off_the_stroke_are_the_derivatives_of_its_rates():
    """The line of the balls turns in the bodies of the leg, so e·ω = 0 asks for e·α = -ė·ω."""
    h = 2e-3
    run = da.kinematics(da.equations(leg((0, 0, 1))), h * np.arange(501), motion={"guide": lambda t: da.sin(2 * t)})
    assert len(run.statistics["held at rest"]) == 1
    for body in ("cylinder", "piston"):
        w, alpha = (run[[f"{body}.{kind}{k}" for k in "xyz"]] for kind in ("w", "alpha"))
        differences = (8 * (w[3:-1] - w[1:-3]) - (w[4:] - w[:-4])) / (12 * h)
        # h⁴/30 of the fifth derivative; rates below 2 rad/s change within 0.1 s at the fastest: 1e-7
        assert np.abs(alpha[2:-2] - differences).max() < h**4 / 30 * 2 / 0.1**5


def test_a_thin_rod_on_a_ball_joint_swings_as_a_pendulum():
    """No inertia about its own line: the spin is idle, and the rod swings in a plane as a rod on a hinge does."""
    m = da.Mechanism("thin rod")
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0), position=(0.5, 0, 0))
    m.add_spherical("ball", m.ground, rod, at=(0, 0, 0))
    run = da.simulate(da.equations(m), 1.0, every=0.1)
    hinged = da.Mechanism("hinged", planar=True)
    hinged.add_body("rod", mass=1.0, inertia=da.rod(1.0), position=(0.5, 0))
    hinged.add_revolute("hinge", hinged.ground, hinged["rod"], at=(0, 0))
    other = da.simulate(da.equations(hinged), 1.0, every=0.1)
    assert run["rod.z"] == pytest.approx(other["rod.y"], abs=1e-8)
    assert np.abs(run["rod.wx"]).max() < 1e-12


def test_a_torque_along_a_spin_without_inertia_is_still_refused():
    m = da.Mechanism("driven rod")
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0), position=(0.5, 0, 0))
    m.add_spherical("ball", m.ground, rod, at=(0, 0, 0))
    m.add_torque("twist", rod, (0.1, 0, 0), axes="body")
    with raises(da.errors.ModelError, "massless-body", "'rod.wx'"):
        da.simulate(da.equations(m), 1.0)
