"""Linear models against closed forms: frequencies, stability limits, transfer functions.

Derivatives are exact and equilibria are found to rounding, so results agree to about 1e-12 times the condition of the
eigenproblem; RELATIVE = 1e-9 leaves three digits for that.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipk

import dalembert as da
from dalembert.core.errors import ModelError
from dalembert.equations import State
from tests.helpers.findings import raises

G = 9.81
RELATIVE = 1e-9


def second_order(eqs: da.EquationsOfMotion, at: State | None = None, **options: object) -> da.SecondOrder:
    lin = da.linearize(eqs, at, **options)  # type: ignore[arg-type]
    assert isinstance(lin, da.SecondOrder)
    return lin


def double_pendulum() -> da.EquationsOfMotion:
    m = da.Mechanism("double pendulum", planar=True)
    first = m.add_body("first", mass=1.0)
    second = m.add_body("second", mass=1.0)
    m.add_revolute("A", m.ground.at(0, 0), first.at(0, 1))
    m.add_revolute("B", first.at(0, 0), second.at(0, 1))
    return da.equations(m)


@pytest.mark.spec("003-C26")
def test_pendulum_of_a_rod() -> None:
    """ω² = 3 g / 2 L."""
    m = da.Mechanism("rod", planar=True)
    rod = m.add_body("rod", mass=0.7, inertia=da.rod(1.3))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.65, 0))
    modes = second_order(da.equations(m)).modes()
    assert modes.frequencies[0] == pytest.approx(np.sqrt(1.5 * G / 1.3), rel=RELATIVE)


def test_double_pendulum_of_equal_points() -> None:
    """ω² = (2 ∓ √2) g / L."""
    modes = second_order(double_pendulum()).modes()
    np.testing.assert_allclose(modes.frequencies, np.sqrt(G * (2 + np.array([-1, 1]) * np.sqrt(2))), rtol=RELATIVE)


def test_double_pendulum_upright_falls_at_the_same_rates() -> None:
    eqs = double_pendulum()
    modes = second_order(eqs, da.equilibrium(eqs, guess={"A": 3.1, "B": 0.05})).modes()
    rates = np.sort(modes.eigenvalues.real)
    expected = np.sqrt(G * (2 + np.array([-1, 1]) * np.sqrt(2)))
    np.testing.assert_allclose(rates, [-expected[1], -expected[0], expected[0], expected[1]], rtol=RELATIVE)


def test_chain_of_masses_and_springs() -> None:
    """n equal masses between walls: ω_k = 2 √(k/m) sin(k π / (2 (n+1)))."""
    n, k, mass = 6, 40.0, 0.3
    m = da.Mechanism("chain", planar=True, gravity=0)
    places = [m.ground.at(0, 0)]
    for i in range(n):
        body = m.add_body(f"m{i}", mass=mass, inertia=0.01)
        m.add_prismatic(f"rail{i}", m.ground.at(i + 1, 0), body.at(0, 0))
        places.append(body.at(0, 0))
    places.append(m.ground.at(n + 1, 0))
    for i in range(n + 1):
        m.add_spring(f"s{i}", places[i], places[i + 1], stiffness=k, free_length=1.0)
    modes = second_order(da.equations(m)).modes()
    expected = 2 * np.sqrt(k / mass) * np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1)))
    np.testing.assert_allclose(modes.frequencies, expected, rtol=RELATIVE)


def test_four_bar_swings_as_its_energies_say() -> None:
    """One degree of freedom: ω² = V″(s) / m(s) with V and the inertia from the kinematics alone.

    V″ by central differences of the potential along the assembled mechanism, h = 1e-3: h² V⁗ / 12, about 1e-6.
    """
    m = da.Mechanism("four-bar", planar=True)
    crank = m.add_body("crank", mass=1.0, inertia=da.rod(0.5))
    rod = m.add_body("rod", mass=2.0, inertia=da.rod(1.2))
    rocker = m.add_body("rocker", mass=1.5, inertia=da.rod(0.9))
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.25, 0))
    m.add_revolute("B", crank.at(0.25, 0), rod.at(-0.6, 0))
    m.add_revolute("C", rod.at(0.6, 0), rocker.at(0.45, 0))
    m.add_revolute("D", m.ground.at(1.0, 0), rocker.at(-0.45, 0))
    m.add_spring("spring", joint="A", stiffness=30.0, free=0.5)
    eqs = da.equations(m)
    rest = da.equilibrium(eqs)
    lin = second_order(eqs, rest)
    assert len(lin.coordinates) == 1
    lin = second_order(eqs, rest, coordinates=["A"])

    def potential(shift: float) -> float:
        pose = da.assemble(eqs, {"A": rest["A.angle"] + shift}, start=rest)
        return float(eqs.kernel("energy")(pose.q, pose.v, pose.z, eqs.p, 0.0)[1][0])

    h = 1e-3
    stiffness = (potential(h) - 2 * potential(0.0) + potential(-h)) / h**2
    assert (potential(h) - potential(-h)) / (2 * h) == pytest.approx(0.0, abs=1e-4)
    moving = da.assemble(eqs, velocity={"A": 1.0}, start=rest)
    inertia = 2 * float(eqs.kernel("energy")(moving.q, moving.v, moving.z, eqs.p, 0.0)[0][0])
    assert lin.M[0, 0] == pytest.approx(inertia, rel=RELATIVE)
    assert lin.K[0, 0] == pytest.approx(stiffness, rel=1e-4)


# --- spinning ---------------------------------------------------------------------------------------------------------

TOP_MASS, TOP_ARM, TOP_CROSS, TOP_SPIN = 1.0, 0.3, 0.01, 0.02


def top() -> da.EquationsOfMotion:
    """Symmetric top on two rings without mass."""
    m = da.Mechanism("top")
    outer = m.add_body("outer", mass=0.0, inertia=0.0)
    inner = m.add_body("inner", mass=0.0, inertia=0.0)
    rotor = m.add_body("rotor", mass=TOP_MASS, inertia=(TOP_CROSS, TOP_CROSS, TOP_SPIN))
    m.add_revolute("precession", m.ground.at(0, 0, 0), outer.at(0, 0, 0), axis=(0, 0, 1))
    m.add_revolute("nutation", outer.at(0, 0, 0), inner.at(0, 0, 0), axis=(1, 0, 0))
    m.add_revolute("spin", inner.at(0, 0, 0), rotor.at(0, 0, -TOP_ARM), axis=(0, 0, 1))
    return da.equations(m)


@pytest.mark.parametrize("guess", [0.0, 20.0])
def test_steady_precession_of_a_top(guess: float) -> None:
    """A Ω² cos θ - C n Ω + m g l = 0 with n = ψ̇ + Ω cos θ: a slow and a fast root; nutation about them:

    ω² = Ω² - 2 (m g l / A) cos θ + (m g l / (A Ω))²  (Goldstein 5.7, about any steady precession).
    """
    eqs = top()
    theta, spin = 0.5, 60.0
    A, C, moment = TOP_CROSS + TOP_MASS * TOP_ARM**2, TOP_SPIN, TOP_MASS * G * TOP_ARM
    steady = da.equilibrium(
        eqs, rates={"spin": spin, "precession": None}, hold={"nutation": theta}, guess={"precession.rate": guess}
    )
    a, b = (A - C) * np.cos(theta), -C * spin
    roots = np.sort(np.roots([a, b, moment]).real)
    rate = steady["precession.rate"]
    assert rate == pytest.approx(roots[0] if guess == 0 else roots[1], rel=RELATIVE)
    lin = second_order(eqs, steady)
    assert not lin.C.any() and lin.G.any()
    nutation = np.sqrt(rate**2 - 2 * moment / A * np.cos(theta) + (moment / (A * rate)) ** 2)
    assert lin.modes().frequencies.max() == pytest.approx(nutation, rel=1e-8)


@pytest.mark.slow
def test_a_slow_top_has_no_steady_precession() -> None:
    """(C n)² < 4 A m g l cos θ."""
    with raises(da.errors.ConvergenceError, "no-solution", "'top'"):
        da.equilibrium(top(), rates={"spin": 10.0, "precession": None}, hold={"nutation": 0.5})


def test_rotor_in_springs_splits_its_frequencies() -> None:
    """Disc on a stiff bushing spinning at Ω: tilting A φ″ ± C Ω φ′ + k φ = 0, ω = ± C Ω / 2A + √((CΩ/2A)² + k/A)."""
    A, C, k, speed = 0.05, 0.08, 200.0, 300.0
    m = da.Mechanism("rotor", gravity=0)
    hub = m.add_body("hub", mass=0.0, inertia=0.0)
    rotor = m.add_body("rotor", mass=1.0, inertia=(A, A, C))
    m.add_bushing("mount", m.ground.at(0, 0, 0), hub.at(0, 0, 0), stiffness=1e4, rotational_stiffness=k)
    m.add_revolute("spin", hub.at(0, 0, 0), rotor.at(0, 0, 0))
    # a hub without inertia about the spin axis is held by its mount only
    eqs = da.equations(m)
    with raises(ModelError, "massless-body"):
        da.linearize(eqs)
    m = da.Mechanism("rotor", gravity=0)
    outer = m.add_body("outer", mass=0.0, inertia=0.0)
    inner = m.add_body("inner", mass=0.0, inertia=0.0)
    rotor = m.add_body("rotor", mass=1.0, inertia=(A, A, C))
    m.add_revolute("tilt x", m.ground.at(0, 0, 0), outer.at(0, 0, 0), axis=(1, 0, 0))
    m.add_revolute("tilt y", outer.at(0, 0, 0), inner.at(0, 0, 0), axis=(0, 1, 0))
    m.add_revolute("spin", inner.at(0, 0, 0), rotor.at(0, 0, 0), axis=(0, 0, 1))
    for axis in "xy":
        m.add_spring(f"spring {axis}", joint=f"tilt {axis}", stiffness=k)
    eqs = da.equations(m)
    lin = second_order(eqs, da.equilibrium(eqs, rates={"spin": speed}))
    half = C * speed / (2 * A)
    expected = np.sqrt(half**2 + k / A) + np.array([-half, half])
    found = np.sort(lin.modes().frequencies)[-2:]
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert lin.G[0, 1] == pytest.approx(C * speed, rel=RELATIVE)


@pytest.mark.spec("003-E12")
def test_spin_about_the_intermediate_axis_grows() -> None:
    """J = (2, 3, 4), 0.8 rad/s about y: s = ± 0.8 √((J_y-J_x)(J_z-J_y)/(J_x J_z)) = ± 0.282843 1/s."""
    m = da.Mechanism("free body", gravity=0)
    m.add_body("body", mass=5.0, inertia=(2.0, 3.0, 4.0))
    eqs = da.equations(m)
    lin = second_order(eqs, da.equilibrium(eqs, rates={"body.wy": 0.8}))
    values = lin.modes().eigenvalues
    growth = 0.8 * np.sqrt((3 - 2) * (4 - 3) / (2 * 4))
    assert values.real.max() == pytest.approx(growth, rel=RELATIVE)
    assert growth == pytest.approx(0.282843, abs=5e-7)
    # the other pair: the turn of the body as seen from its own axes
    assert values.imag.max() == pytest.approx(0.8, rel=RELATIVE)
    for axis in ("x", "z"):
        stable = second_order(eqs, da.equilibrium(eqs, rates={f"body.w{axis}": 0.8}))
        assert stable.modes().eigenvalues.real.max() == pytest.approx(0.0, abs=1e-9)


# --- rolling ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.5, 0.99, 1.01, 2.0])
def test_an_upright_disc_rolls_stably_above_its_critical_speed(share: float) -> None:
    """Thin disc: s² = (4/5) g/r - (12/5) ω², so it stands for ω² > g / (3 r)."""
    r, mass = 0.5, 2.0
    m = da.Mechanism("disc")
    inertia = (mass * r * r / 4, mass * r * r / 2, mass * r * r / 4)
    disc = m.add_body("disc", mass=mass, inertia=inertia, position=(0, 0, r))
    m.add_rolling_wheel("roll", m.ground, disc, radius=r)
    eqs = da.equations(m)
    speed = share * np.sqrt(G / (3 * r))
    steady = da.equilibrium(eqs, rates={"disc.wy": speed})
    assert steady["disc.vx"] == pytest.approx(speed * r, rel=RELATIVE)
    lin = da.linearize(eqs, steady)
    assert isinstance(lin, da.StateSpace)
    square = 0.8 * G / r - 2.4 * speed**2
    largest = max(np.linalg.eigvals(lin.A), key=abs)
    assert largest**2 == pytest.approx(square, rel=1e-8)
    assert (np.linalg.eigvals(lin.A).real.max() > 1e-3) == (share < 1)


@pytest.mark.parametrize("ahead", [0.3, -0.3])
def test_a_sleigh_on_a_knife_edge_is_stable_with_its_mass_ahead(ahead: float) -> None:
    """Chaplygin sleigh sliding straight at v, centre of mass `ahead` of the edge: s = -m a v / (J + m a²)."""
    mass, inertia, v = 2.0, 0.4, 1.5
    m = da.Mechanism("sleigh", planar=True, gravity=0)
    m.add_body("sleigh", mass=mass, inertia=inertia)

    def side_slip(s: State) -> object:
        across = s["sleigh.vy"] * da.cos(s["sleigh.angle"]) - s["sleigh.vx"] * da.sin(s["sleigh.angle"])
        return across - ahead * s["sleigh.rate"]

    m.add_constraint("edge", side_slip, level="velocity")
    eqs = da.equations(m)
    steady = da.equilibrium(eqs, rates={"sleigh.x": v, "sleigh.angle": 0.0})
    lin = da.linearize(eqs, steady)
    assert isinstance(lin, da.StateSpace)
    values = np.linalg.eigvals(lin.A)
    expected = -mass * ahead * v / (inertia + mass * ahead**2)
    assert np.abs(values - expected).min() < 1e-8
    assert np.sum(np.abs(values) < 1e-6) == len(values) - 1


# --- electric drive ---------------------------------------------------------------------------------------------------


def test_dc_motor_drive_has_its_transfer_function() -> None:
    """ω(s)/u(s) = n k / ((J s + d)(L s + R) + n² k²), J of load plus rotor through the gear, at 40 frequencies."""
    k, R, L, n, rotor, load, drag = 0.05, 0.8, 2e-3, 10.0, 1e-5, 4e-3, 0.02
    m = da.Mechanism("drive", planar=True, gravity=0)
    wheel = m.add_body("wheel", mass=1.0, inertia=load)
    m.add_revolute("axle", m.ground.at(0, 0), wheel.at(0, 0))
    m.add_damper("drag", joint="axle", damping=drag)
    motor = da.DCMotor(torque_constant=k, resistance=R, inductance=L, gear_ratio=n, rotor_inertia=rotor)
    m.add_actuator("motor", "axle", input="voltage", model=motor)
    m.add_sensor("speed", da.rate("axle"))
    lin = da.linearize(da.equations(m))
    assert isinstance(lin, da.StateSpace)
    assert "motor.current" in lin.states and lin.outputs == ("speed",)
    J = load + n * n * rotor
    for omega in np.logspace(-1, 4, 40):
        s = 1j * omega
        found = (lin.C @ np.linalg.solve(s * np.eye(lin.nx) - lin.A, lin.B) + lin.D)[0, 0]
        expected = n * k / ((J * s + drag) * (L * s + R) + n * n * k * k)
        assert found == pytest.approx(expected, rel=RELATIVE)


# --- the large and the small ------------------------------------------------------------------------------------------


@pytest.mark.spec("003-C27")
def test_a_pendulum_in_the_large_needs_its_own_period() -> None:
    """T = 4 √(l/g) K(sin²(θ₀/2)): simulation finds it, the linear model (2π √(l/g)) is 18 % short at θ₀ = π/2."""
    m = da.Mechanism("pendulum", planar=True)
    bob = m.add_body("bob", mass=1.0)
    m.add_revolute("hinge", m.ground.at(0, 0), bob.at(0, 1))
    eqs = da.equations(m)
    linear = 2 * np.pi / second_order(eqs).modes().frequencies[0]
    assert linear == pytest.approx(2 * np.pi / np.sqrt(G), rel=RELATIVE)
    for start in (0.01, np.pi / 2, 3.0):
        period = 4 / np.sqrt(G) * ellipk(np.sin(start / 2) ** 2)
        method = da.DormandPrince(rtol=1e-11, atol=1e-11)
        run = da.simulate(eqs, period, start=da.assemble(eqs, {"hinge": start}), method=method, every=period)
        # back at the turning point, at rest: the rate there is -(g/l) sin θ₀ times the error of the period
        assert run["hinge.angle"][-1] == pytest.approx(start, abs=1e-8)
        assert run["hinge.rate"][-1] == pytest.approx(0.0, abs=1e-7)
        assert (period / linear < 1.0001) == (start < 0.02)
