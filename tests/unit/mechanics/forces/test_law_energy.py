"""Elastic energy of every force that has one: forces are its derivatives, and undamped machines keep their energy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.equations import State
from dalembert.mechanics.rotations import exponential, logarithm, logarithm_and_rate
from tests.helpers.checks import DIFFERENCE, STEP, moved

Array = NDArray[np.float64]


def kept(run: da.Record) -> float:
    """Energy that the steps may lose: each misses a speed (of about 1) by rtol |v| + atol = 2e-9, T by twice that."""
    return float(4e-9 * run.statistics["steps"] * run["energy.kinetic"].max())


def two_bodies(planar: bool) -> tuple[da.Mechanism, Any, Any]:
    m = da.Mechanism("pair", planar=planar, gravity=0)
    inertia: Any = (0.3, 0.4) if planar else ((0.2, 0.3, 0.4), (0.3, 0.25, 0.2))
    places = ((0, 0), (0.4, 0.1)) if planar else ((0, 0, 0), (0.4, 0.1, 0.2))
    a = m.add_body("a", mass=1.5, inertia=inertia[0], position=places[0])
    b = m.add_body("b", mass=1.0, inertia=inertia[1], position=places[1])
    return m, a, b


def bushing(planar: bool) -> da.Mechanism:
    m, a, b = two_bodies(planar)
    if planar:
        frames: Any = a.frame(0.1, -0.2, angle=0.4), b.frame(-0.3, 0.15, angle=-0.7)
        m.add_bushing("F", *frames, stiffness=(20.0, 5.0), rotational_stiffness=3.0)
    else:
        frames = a.frame(0.1, -0.2, 0.3, axis=(1, 2, 3)), b.frame(-0.3, 0.15, 0.2, axis=(0, 1, -1))
        m.add_bushing("F", *frames, stiffness=(20.0, 5.0, 11.0), rotational_stiffness=(1.0, 7.0, 2.5))
    return m


def contact(planar: bool) -> da.Mechanism:
    m, a, b = two_bodies(planar)
    m.add_contact("F", a, b, radius=1.0, stiffness=30.0, exponent=1.5)
    return m


def law(planar: bool) -> da.Mechanism:
    m, a, b = two_bodies(planar)
    gap = m.parameter("gap", 0.1)
    m.add_spring("F", a, b, free_length=0.3, law=lambda x, v: da.math.maximum(x - gap, 0) * 40 + da.sin(3 * x) + v**3)
    return m


def stop(planar: bool) -> da.Mechanism:
    m, a, b = two_bodies(planar)
    m.add_revolute("J", a, b, at=(0.2, 0.1) if planar else (0.2, 0.1, 0.0))
    m.add_stop("F", "J", lower=-0.05, upper=0.05, stiffness=25.0)
    return m


MACHINES = [(f, planar) for f in (bushing, contact, law, stop) for planar in (True, False)]
NAMES = [f"{f.__name__} {'in the plane' if planar else 'in space'}" for f, planar in MACHINES]


@pytest.mark.parametrize("make, planar", MACHINES, ids=NAMES)
def test_an_elastic_force_is_the_derivative_of_its_energy(make: Callable[[bool], da.Mechanism], planar: bool) -> None:
    """Central differences of V along every speed, at poses far from small angles; the force at rest does all of it."""
    eqs = da.equations(make(planar))
    random = np.random.default_rng(5)
    seen = 0.0
    for _ in range(4):
        q = moved(eqs, np.array(eqs.placement.q), 0.5 * random.normal(size=eqs.nv))
        if len(eqs.rows):
            q = np.array(da.assemble(eqs, start=eqs.state(q)).q)
        none = np.zeros(eqs.nv)

        def V(q: Array, none: Array = none) -> float:
            return float(eqs.kernel("energy")(q, none, [], eqs.p, 0.0)[1][0])

        (f,) = eqs.kernel("forces")(q, none, [], [], eqs.p, 0.0, np.zeros(len(eqs.rows)))
        by_difference = [
            (V(moved(eqs, q, STEP * e)) - V(moved(eqs, q, -STEP * e))) / (2 * STEP) for e in np.eye(eqs.nv)
        ]
        scale = 1 + np.abs(f).max()
        assert f == pytest.approx(-np.array(by_difference), abs=10 * DIFFERENCE * scale)  # derivatives up to k = 40
        seen = max(seen, float(np.abs(f).max()))
    assert seen > 0.1


@pytest.mark.parametrize("make, planar", MACHINES, ids=NAMES)
def test_energy_of_an_undamped_machine_is_constant(make: Callable[[bool], da.Mechanism], planar: bool) -> None:
    m = make(planar)
    if make is law:
        m.forces.clear()
        m.add_spring(
            "F", m.bodies[0], m.bodies[1], free_length=0.3, law=lambda x: 40 * da.math.maximum(x - 0.1, 0) + x**3
        )
    eqs = da.equations(m)
    v = np.random.default_rng(2).normal(size=eqs.nv)
    start = da.assemble(eqs, start=eqs.state(v=v))
    run = da.simulate(eqs, 2.0, start=start, every=0.02)
    assert np.ptp(run["energy.potential"]) > 1e-2
    assert np.ptp(run["energy"]) < kept(run)
    assert np.abs(run["energy.balance"]).max() < kept(run)


def test_logarithm_of_a_rotation_is_exact_and_smooth_from_zero_to_half_a_turn() -> None:
    p, theta = ca.SX.sym("p", 4), ca.SX.sym("theta", 3)
    f = logarithm(p)
    second = ca.jacobian(ca.vec(ca.jacobian(f, p)), p)
    log = ca.Function("log", [p], [f, *logarithm_and_rate(p), second])
    exp = ca.Function("exp", [theta], [exponential(theta)])
    axis = np.array([0.36, -0.48, 0.8])
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    for angle in (0.0, 1e-170, 1e-9, 1e-4, 1.0001e-4, 0.3, 1.0, 2.0, 3.0, np.pi - 1e-9):
        for sign in (1, -1):  # both sets of Euler parameters are the same rotation
            value, same, rate, curvature = (np.array(x) for x in log(sign * exp(angle * axis)))
            assert value.ravel() == pytest.approx(angle * axis, abs=2e-15)
            assert (same == value).all()
            # θ̇ = T w with T = 1 - ½ θ× + (1 - (φ/2) cot(φ/2)) n× n×
            last = 1 - angle / 2 / np.tan(angle / 2) if angle > 1e-6 else angle**2 / 12
            assert rate == pytest.approx(np.eye(3) - angle / 2 * K + last * K @ K, abs=1e-13)
            assert np.isfinite(curvature).all()


def test_bushing_beyond_half_a_turn_takes_the_shorter_way_round() -> None:
    m = da.Mechanism("turning", gravity=0)
    m.add_bushing("F", m.ground, m.add_body("b", mass=1, inertia=1), rotational_stiffness=(1.0, 2.0, 3.0))
    eqs = da.equations(m)
    torques = []
    for angle in (np.pi - 1e-6, np.pi + 1e-6):
        x, y, z, w = Rotation.from_rotvec([0, 0, angle]).as_quat()
        q = [0, 0, 0, w, x, y, z]
        (f,) = eqs.kernel("forces")(q, np.zeros(6), [], [], eqs.p, 0.0, [])
        assert eqs.kernel("energy")(q, np.zeros(6), [], eqs.p, 0.0)[1][0] == pytest.approx(1.5 * np.pi**2, rel=1e-5)
        torques.append(f[5])
    assert torques == pytest.approx([-3 * np.pi, 3 * np.pi], rel=1e-5)  # the energy goes on, the torque turns round


def uneven() -> tuple[da.EquationsOfMotion, State]:
    m = da.Mechanism("uneven", gravity=0)
    box = m.add_body("box", mass=1.0, inertia=(0.02, 0.05, 0.04))
    m.add_spherical("ball", m.ground.at(0, 0, 0), box.at(0, 0, 0))
    m.add_bushing("mount", m.ground.at(0, 0, 0), box.at(0, 0, 0), rotational_stiffness=(1.0, 5.0, 20.0))
    eqs = da.equations(m)
    x, y, z, w = Rotation.from_rotvec(np.deg2rad(36) * np.array([0.6, 0.64, 0.48])).as_quat()
    return eqs, da.assemble(eqs, start=eqs.state([0, 0, 0, w, x, y, z]))


@pytest.mark.parametrize("end", [2.0, pytest.param(100.0, marks=pytest.mark.slow)])
def test_an_uneven_rotational_bushing_creates_no_energy(end: float) -> None:
    """Let go at 36 degrees about no axis of its own."""
    eqs, start = uneven()
    run = da.simulate(eqs, end, start=start, every=0.05)
    assert run["energy.kinetic"].max() > 0.5 * run["energy"][0]
    assert np.ptp(run["energy"]) < 1e-6 * run["energy"][0]


@pytest.mark.parametrize("planar", [True, False])
def test_rotational_damping_of_a_bushing_lets_the_swinging_die_out(planar: bool) -> None:
    """Small swinging with damping ratio ζ = c / (2 √(k I)) = 0.05: the energy falls by exp(-2 ζ ω t)."""
    m = da.Mechanism("damped", planar=planar, gravity=0)
    rates = [2.0] if planar else [1.0, 2.0, 3.0]
    inertia = [0.5] if planar else [0.5, 0.4, 0.3]
    k = [i * w**2 for i, w in zip(inertia, rates, strict=True)]
    c = [2 * 0.05 * i * w for i, w in zip(inertia, rates, strict=True)]
    body = m.add_body("b", mass=1.0, inertia=inertia[0] if planar else tuple(inertia))
    m.add_bushing("F", m.ground, body, stiffness=1.0, rotational_stiffness=k, rotational_damping=c)
    eqs = da.equations(m)
    for axis, w in enumerate(rates):
        v = np.zeros(eqs.nv)
        v[(2 if planar else 3) + axis] = 1e-2
        period = 2 * np.pi / (w * np.sqrt(1 - 0.05**2))
        run = da.simulate(eqs, 4 * period, start=eqs.state(v=v), every=period)
        assert run["energy"] == pytest.approx(run["energy"][0] * np.exp(-2 * 0.05 * w * run.time), rel=1e-6)
        assert np.abs(run["energy.balance"]).max() < 1e-12


# --- laws -----------------------------------------------------------------------------------------------------------

LAWS: dict[str, Callable[[Any], Any]] = {
    "cubic": lambda x: 100 * x + 5e3 * x**3,
    "saturating": lambda x: 50 * da.math.tanh(10 * x),
    "gap": lambda x: da.where(x > 0.2, 300 * (x - 0.2), 0),
    "dead band": lambda x: 300 * da.math.maximum(da.math.absolute(x) - 0.15, 0) * da.math.sign(x),
    "two stiffnesses": lambda x: da.where(x > 0, 100 * x, 700 * x),
    "steps in a step": lambda x: da.where(x > 0.1, da.where(x < 0.3, 2.0, 20 * x), -3 * x),
    "square of the extension in a switch": lambda x: da.where(x**2 > 0.15**2, 300 * x, 50 * x),
    "table in a law": lambda x: 2 * da.math.table([-0.5, 0.1, 0.4], [-1.0, 0.0, 4.0])(x),
    "a table": da.math.table([-0.5, 0.1, 0.4, 0.6], [-1.0, 0.0, 4.0, 3.0]),
}


@pytest.mark.parametrize("name", LAWS)
def test_energy_of_a_law_is_its_integral_over_the_extension(name: str) -> None:
    m = da.Mechanism("law", planar=True, gravity=0)
    b = m.add_body("b", mass=1.0, inertia=1.0)
    m.add_prismatic("P", m.ground.at(0, 0), b.at(0, 0), axis=(1, 0))
    m.add_spring("F", joint="P", free=0.7, law=LAWS[name])
    eqs = da.equations(m)
    edges = [-0.5, -0.15, 0.0, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6]
    for x in (-0.45, -0.1, 0.0, 0.05, 0.25, 0.55, 0.8):
        V = eqs.kernel("energy")([x + 0.7, 0, 0], np.zeros(3), [], eqs.p, 0.0)[1][0]
        low, high = min(0.0, x), max(0.0, x)
        whole = quad(lambda s: float(LAWS[name](s)), low, high, points=[e for e in edges if low < e < high] or None)[0]
        assert float(V) == pytest.approx(np.sign(x) * whole, rel=1e-10, abs=1e-12), x


def test_energy_of_a_detent_is_exact_over_many_turns() -> None:
    """Twenty turns with 24 and 72 notches each; the number of notches may be a parameter, zero too."""
    m = da.Mechanism("rotor", planar=True, gravity=0)
    notches = m.parameter("notches", 24.0)
    m.add_revolute("A", m.ground.at(0, 0), m.add_body("r", mass=1.0, inertia=0.01).at(0, 0))
    m.add_spring("F", joint="A", law=lambda x: 0.6 * da.sin(notches * x) - da.cos(72 * x + 0.3) / 5 + 2 * x**3)
    eqs = da.equations(m)
    a = 40 * np.pi + 0.1
    for n, first in ((24, 0.6 * (1 - np.cos(24 * a)) / 24), (0, 0.0)):
        V = eqs.kernel("energy")([0, 0, a], np.zeros(3), [], eqs.replace(notches=n).p, 0.0)[1][0]
        rest = V - a**4 / 2
        rounding = 4 * np.finfo(float).eps * a**4
        assert rest == pytest.approx(first - (np.sin(72 * a + 0.3) - np.sin(0.3)) / 360, abs=rounding)


def test_a_law_that_is_not_finite_at_the_free_length_counts_from_another_place() -> None:
    """Attraction k / r² of two points: E = m v² / 2 - k / r, up to a constant."""
    m = da.Mechanism("orbit", planar=True, gravity=0)
    b = m.add_body("b", mass=1.0, inertia=1.0, position=(1, 0))
    m.add_spring("pull", m.ground, b, law=lambda r: 1 / r**2)
    eqs = da.equations(m)
    run = da.simulate(eqs, 6.0, start=eqs.state(v=[0, 1.2, 0]), every=0.1)
    r = np.hypot(run["b.x"], run["b.y"])
    assert np.ptp(r) > 1.0
    assert run["energy.potential"] == pytest.approx(1 - 1 / r, abs=1e-9)
    assert np.ptp(run["energy"]) < kept(run)


def test_what_a_law_has_at_zero_speed_is_elastic_and_the_rest_is_lost() -> None:
    m = da.Mechanism("law", planar=True, gravity=0)
    b = m.add_body("b", mass=1.0, inertia=1.0)
    m.add_prismatic("P", m.ground.at(0, 0), b.at(0, 0), axis=(1, 0))
    m.add_spring("F", joint="P", law=lambda x, v: 30 * x + 4 * x**3 + (1 + x**2) * v)
    eqs = da.equations(m)
    run = da.simulate(eqs, 2.0, start=da.assemble(eqs, {"P": 0.5}), every=0.01)
    x = run["P.displacement"]
    assert run["energy.potential"] == pytest.approx(15 * x**2 + x**4, abs=1e-12)
    assert np.all(np.diff(run["energy"]) <= 1e-12) and run["energy"][-1] < 0.2 * run["energy"][0]
    assert np.abs(run["energy.balance"]).max() < 1e-8


def test_a_damped_contact_stores_its_spring_and_loses_the_rest() -> None:
    """Hunt-Crossley with a damping so strong that the point leaves before the ground has come back."""
    m = da.Mechanism("ball", planar=True)
    b = m.add_body("b", mass=1.0, inertia=0.1, position=(0, 0.2))
    m.add_contact("floor", m.ground, b, stiffness=1e4, exponent=1.5, damping=3.0, friction=0.2)
    eqs = da.equations(m)
    run = da.simulate(eqs, 0.4, start=eqs.state(v=[0.5, -2.0, 1.0]), every=0.002)
    depth = np.maximum(-run["b.y"], 0)
    stored = 9.81 * run["b.y"] + 1e4 * depth**2.5 / 2.5
    assert depth.max() > 1e-2
    assert run["energy.potential"] == pytest.approx(stored, abs=1e-10)
    assert run["energy"][-1] < 0.7 * run["energy"][0]
    assert np.abs(run["energy.balance"]).max() < 1e-6
