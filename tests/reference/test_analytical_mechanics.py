"""Closed forms and published numbers of analytical mechanics, by systems in symbols."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.symbolic import (
    System,
    boltzmann_hamel,
    gibbs_appell,
    kane,
    lagrange,
    lagrange_multipliers,
    linearize_energies,
    maggi,
    newton_euler,
    to_sympy,
)

TIGHT = da.DormandPrince(rtol=1e-11, atol=1e-12)


def pendulum_on_a_wire(length: object = None) -> System:
    """x down, y to the side, f = √(x² + y²) - l."""
    s = System("pendulum", gravity=(9.81, 0))
    x, y = s.coordinate("x", "m", drawn=1.0), s.coordinate("y", "m")
    s.add_particle("bob", s.parameter("m", 2.0, "kg"), (x, y))
    s.constrain(da.math.sqrt(x**2 + y**2) - (s.parameter("l", 1.5, "m") if length is None else 1 + 0.2 * s.t), "wire")
    return s


@pytest.mark.spec("003-C33", "003-E3", "003-C32")
def test_a_pendulum_in_one_angle_and_on_a_wire_moves_the_same() -> None:
    """m = 2, l = 1.5, from 1 rad at rest: θ(5 s) = 0.8445648, θ̇ = 1.2722845, λ = -17.884917; period 2.6198978 s."""
    s = System("pendulum")
    theta = s.coordinate("theta", "rad")
    s.add_kinetic(2.0 * 1.5**2 * s.rate(theta) ** 2 / 2)
    s.add_potential(-2.0 * 9.81 * 1.5 * da.cos(theta))
    one = da.equations(s)
    run = da.simulate(one, 5.0, start=one.state(q=[1.0]), every=0.01, method=TIGHT)
    assert run["theta"][-1] == pytest.approx(0.8445648, abs=6e-8)
    assert run["theta.rate"][-1] == pytest.approx(1.2722845, abs=6e-8)
    two = da.equations(pendulum_on_a_wire())
    other = da.simulate(two, 5.0, start=two.state(q=[1.5 * np.cos(1.0), 1.5 * np.sin(1.0)]), every=0.01, method=TIGHT)
    assert np.arctan2(other["y"], other["x"])[-1] == pytest.approx(0.8445648, abs=6e-8)
    end = {name: other[name][-1] for name in ("x", "y")}
    rates = {name: other[f"{name}.rate"][-1] for name in ("x", "y")}
    found = lagrange_multipliers(pendulum_on_a_wire()).solve(end, rates)
    assert found.multipliers[0] == pytest.approx(-17.884917, abs=6e-7)
    angle = run["theta"]
    crossings = [k for k in range(len(angle) - 1) if angle[k] > 0 >= angle[k + 1]]
    times = [run.time[k] + 0.01 * angle[k] / (angle[k] - angle[k + 1]) for k in crossings]
    assert times[1] - times[0] == pytest.approx(2.6198978, abs=1e-5)  # crossings by straight lines between samples


@pytest.mark.spec("003-E3")
def test_a_wire_that_grows_longer_gives_the_published_angle() -> None:
    """l = 1 + 0.2 t, m = 1, θ(0) = 0.5: θ(3 s) = -0.1036401."""
    eqs = da.equations(pendulum_on_a_wire(True))
    start = eqs.state(q=[np.cos(0.5), np.sin(0.5)], v=[0.2 * np.cos(0.5), 0.2 * np.sin(0.5)])
    run = da.simulate(eqs, 3.0, start=start, every=0.5, method=TIGHT)
    assert np.arctan2(run["y"], run["x"])[-1] == pytest.approx(-0.1036401, abs=6e-8)


def free_body(speeds: bool = True) -> System:
    """A rigid body, J = (2, 3, 4), m = 5, in Tait-Bryan angles; v and ω in body axes as speeds."""
    s = System("free body")
    X, Y, Z = s.coordinates("X Y Z", "m")
    phi, theta, psi = s.coordinates("phi theta psi", "rad")
    turned = s.rotation("zyx", (psi, theta, phi))
    s.add_body("body", 5.0, (2.0, 3.0, 4.0), (X, Y, Z), rotation=turned)
    if speeds:
        own = turned.matrix.T @ s.rate(ca.vertcat(X, Y, Z))
        for k, name in enumerate(("vx", "vy", "vz")):
            s.speed(name, own[k], "m/s")
        for k, name in enumerate(("wx", "wy", "wz")):
            s.speed(name, turned.omega[k], "rad/s")
    return s


@pytest.mark.spec("003-E12", "003-C39", "003-C36", "003-C38")
def test_a_free_body_in_body_axes_and_in_angles_has_the_published_motion() -> None:
    first = {"X": 0.0, "Y": 0.0, "Z": 0.0, "phi": 0.1, "theta": 0.2, "psi": 0.3}
    eqs = da.equations(boltzmann_hamel(free_body()))
    start = eqs.state(q=list(first.values()), v=[1, 0, 0.5, 0.1, 0.8, 0.2])
    run = da.simulate(eqs, 2.0, start=start, every=0.1, method=TIGHT)
    # printed to six digits
    for names, expected in (
        (("vx", "vy", "vz"), (-0.563675, -0.080569, 0.962174)),
        (("wx", "wy", "wz"), (-0.053433, 0.805932, 0.190860)),
        (("X", "Y", "Z"), (2.090937, 0.542302, 0.577832)),
        (("phi", "theta", "psi"), (1.982280, 1.091920, 2.489986)),
    ):
        assert [run[name][-1] for name in names] == pytest.approx(expected, abs=6e-7)
    angles = da.equations(lagrange(free_body(False)))
    N, n = eqs.kernel("kinematics")(start.q, eqs.p, 0.0)
    other = da.simulate(angles, 2.0, start=angles.state(q=start.q, v=N @ start.v + n), every=0.1, method=TIGHT)
    for name in first:
        assert other[name] == pytest.approx(run[name], abs=1e-8)
    assert {one.name for one in lagrange(free_body(False)).conserved} >= {"X.momentum", "psi.momentum", "E"}


@pytest.mark.spec("003-C36", "003-C39", "003-E12")
def test_the_equations_of_newton_and_euler_follow_from_quasi_velocities() -> None:
    """m v̇ + ω × m v = 0 and J ω̇ + ω × J ω = 0, at random states of all angles."""
    d = boltzmann_hamel(free_body())
    s = d.system
    f = ca.Function("f", [s.q, d.v], [d.M, d.f])
    random = np.random.default_rng(2)
    J = np.diag([2.0, 3.0, 4.0])
    for _ in range(4):
        q, v = random.uniform(-1, 1, 6), random.normal(size=6)
        M, force = (np.array(one) for one in f(q, v))
        assert np.allclose(M, np.diag([5, 5, 5, 2, 3, 4]), rtol=0, atol=1e-13)
        linear, omega = v[:3], v[3:]
        expected = [*(-5 * np.cross(omega, linear)), *(-np.cross(omega, J @ omega))]
        assert np.allclose(force[:, 0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.spec("003-C39", "003-C36")
@pytest.mark.parametrize("formalism", [boltzmann_hamel, kane, gibbs_appell], ids=lambda one: one.__name__)
def test_a_loaded_body_in_velocities_of_a_point_off_its_mass_centre_has_the_general_equations(formalism: Any) -> None:
    """Mb ẇ + [Ω~ 0; V~ Ω~] Mb w = (F, M_O) with Mb = [m 1, -m d~; m d~, J_O], in body axes, d from O to G: general
    inertia, a force at a point of the body, a torque and gravity; q̇ = B w with B = diag(R, W⁻¹)."""
    random = np.random.default_rng(12)
    m, d, p = 5.0, np.array([0.3, -0.2, 0.4]), np.array([-0.1, 0.5, 0.2])
    force, torque, g = random.normal(size=3), random.normal(size=3), np.array([0.4, -0.3, -9.81])
    root = random.normal(size=(3, 3))
    J = root @ root.T + np.eye(3)
    s = System("body off its mass centre", gravity=g.tolist())
    X, Y, Z = s.coordinates("X Y Z", "m")
    phi, theta, psi = s.coordinates("phi theta psi", "rad")
    turned = s.rotation("zyx", (psi, theta, phi))
    origin, R = ca.vertcat(X, Y, Z), turned.matrix
    s.add_body("body", m, ca.DM(J), origin + R @ d, rotation=turned)
    s.add_force("push", R @ force, origin + R @ p, body="body")
    s.add_torque("twist", torque.tolist(), "body")
    for k, axis in enumerate("xyz"):
        s.speed(f"v{axis}", (R.T @ s.rate(origin))[k], "m/s")
    for k, axis in enumerate("xyz"):
        s.speed(f"w{axis}", turned.omega[k], "rad/s")
    derived = formalism(s)
    f = ca.Function("f", [s.q, derived.v], [derived.M, derived.f, R, derived.motion.N])

    def skew(a: Any) -> Any:
        return np.cross(np.eye(3), np.asarray(a))

    Mb = np.block([[m * np.eye(3), -m * skew(d)], [m * skew(d), J - m * skew(d) @ skew(d)]])
    for _ in range(3):
        q, w = random.uniform(-1, 1, 6), random.normal(size=6)
        M, right, turn, B = (np.array(one) for one in f(q, w))
        assert np.allclose(M, Mb, rtol=0, atol=1e-12)
        weight = m * turn.T @ g
        applied = np.concatenate([force + weight, torque + np.cross(p, force) + np.cross(d, weight)])
        moving = np.block([[skew(w[3:]), np.zeros((3, 3))], [skew(w[:3]), skew(w[3:])]])
        assert np.allclose(right[:, 0], applied - moving @ Mb @ w, rtol=1e-11, atol=1e-11)
        sf, cf, tt, ct = np.sin(q[3]), np.cos(q[3]), np.tan(q[4]), np.cos(q[4])
        W = [[1, sf * tt, cf * tt], [0, cf, -sf], [0, sf / ct, cf / ct]]
        assert np.allclose(B, np.block([[turn, np.zeros((3, 3))], [np.zeros((3, 3)), np.array(W)]]), atol=1e-13)


@pytest.mark.spec("003-C39")
def test_forces_and_moments_in_body_axes_drive_the_six_equations_of_principal_axes() -> None:
    """m v̇x = m (Ωz vy - Ωy vz) + Fx, Jx Ω̇x = (Jy - Jz) Ωy Ωz + Mx, and cyclic."""
    s = free_body()
    turned = s.bodies["body"].rotation
    F, T = ([s.input(f"{name}{axis}", unit) for axis in "xyz"] for name, unit in (("F", "N"), ("M", "N m")))
    s.add_force("push", turned @ ca.vertcat(*F), "body")
    s.add_torque("twist", ca.vertcat(*T), "body")
    d = boltzmann_hamel(s)
    random = np.random.default_rng(3)
    q, w, u = random.uniform(-1, 1, 6), random.normal(size=6), random.normal(size=6)
    M, f = (np.array(one) for one in ca.Function("f", [s.q, d.v, s.u], [d.M, d.f])(q, w, u))
    (vx, vy, vz, Ox, Oy, Oz), m, (Jx, Jy, Jz) = w, 5.0, (2.0, 3.0, 4.0)
    expected = [
        (Oz * vy - Oy * vz) + u[0] / m, (Ox * vz - Oz * vx) + u[1] / m, (Oy * vx - Ox * vy) + u[2] / m,
        ((Jy - Jz) * Oy * Oz + u[3]) / Jx, ((Jz - Jx) * Ox * Oz + u[4]) / Jy, ((Jx - Jy) * Ox * Oy + u[5]) / Jz,
    ]  # fmt: skip
    assert np.linalg.solve(M, f[:, 0]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.spec("003-C38", "003-E12")
def test_the_equations_of_a_body_in_its_angles_are_the_corrected_ones() -> None:
    """The three rotational equations of Genta (2012) in symbols, the one of θ with its sign corrected."""
    s = System("body")
    psi, theta, phi = s.coordinates("psi theta phi")
    Jx, Jy, Jz = (s.parameter(name) for name in ("Jx", "Jy", "Jz"))
    st, ct, sf, cf = da.sin(theta), da.cos(theta), da.sin(phi), da.cos(phi)
    wx = s.rate(phi) - s.rate(psi) * st
    wy = s.rate(theta) * cf + s.rate(psi) * sf * ct
    wz = s.rate(psi) * ct * cf - s.rate(theta) * sf
    s.add_kinetic((Jx * wx**2 + Jy * wy**2 + Jz * wz**2) / 2)
    d = lagrange(s)
    left = d.M @ s.accelerations - d.f
    a, b, c = s.symbols["psi.acceleration"], s.symbols["theta.acceleration"], s.symbols["phi.acceleration"]
    p, t, f = s.rates[0], s.rates[1], s.rates[2]
    half = 1 - 2 * sf**2
    expected = [
        a * (Jx * st**2 + Jy * sf**2 * ct**2 + Jz * cf**2 * ct**2) - c * Jx * st + b * (Jy - Jz) * sf * cf * ct
        + f * t * ct * (half * (Jy - Jz) - Jx) + 2 * f * p * (Jy - Jz) * cf * ct**2 * sf
        + 2 * t * p * st * ct * (Jx - sf**2 * Jy - cf**2 * Jz) + t**2 * (Jz - Jy) * sf * cf * st,
        a * (Jy - Jz) * sf * cf * ct + b * (Jy * cf**2 + Jz * sf**2) + 2 * f * t * (Jz - Jy) * sf * cf
        + f * p * (Jy - Jz) * ct * half + p * f * Jx * ct - p**2 * st * ct * (Jx - Jy * sf**2 - Jz * cf**2),
        Jx * c - st * Jx * a - p * t * ct * (Jx + (Jy - Jz) * half) + t**2 * (Jy - Jz) * sf * cf
        - p**2 * (Jy - Jz) * cf * ct**2 * sf,
    ]  # fmt: skip
    gap = to_sympy(left - ca.vertcat(*expected)).applyfunc(lambda one: sympy.simplify(sympy.expand(one)))
    assert gap == sympy.zeros(3, 1)
    assert [one.name for one in d.conserved] == ["psi.momentum", "E"]  # ψ itself never appears


@pytest.mark.spec("002-E2", "002-A16")
def test_a_body_in_euler_parameters_has_the_equations_of_euler() -> None:
    """Four coordinates and three speeds: the norm is the fourth quasi-velocity, and it is zero."""
    s = System("quaternion")
    p = ca.vertcat(*s.coordinates("e0 e1 e2 e3"))
    pd = s.rates
    G = ca.vertcat(
        ca.horzcat(-p[1], p[0], p[3], -p[2]), ca.horzcat(-p[2], -p[3], p[0], p[1]), ca.horzcat(-p[3], p[2], -p[1], p[0])
    )
    omega = 2 * G @ pd
    for k, name in enumerate(("wx", "wy", "wz")):
        s.speed(name, omega[k])
    s.add_kinetic((2 * s.speeds[0] ** 2 + 3 * s.speeds[1] ** 2 + 4 * s.speeds[2] ** 2) / 2)
    s.constrain((p.T @ p - 1) / 2, "norm")
    d = boltzmann_hamel(s)
    f = ca.Function("f", [s.q, d.v], [d.M, d.f])
    random = np.random.default_rng(5)
    J = np.diag([2.0, 3.0, 4.0])
    for _ in range(4):
        unit, w = random.normal(size=4), random.normal(size=3)
        unit /= np.linalg.norm(unit)
        M, force = (np.array(one) for one in f(unit, w))
        assert np.allclose(M, J, rtol=0, atol=1e-14)
        assert np.allclose(force[:, 0], -np.cross(w, J @ w), rtol=1e-12, atol=1e-13)


@pytest.mark.spec("002-T14", "003-C30")
def test_the_linear_double_pendulum_has_the_published_matrix() -> None:
    """θ̈₁ = g (-(m₁ + m₂) θ₁ + m₂ θ₂)/(a₁ m₁), θ̈₂ = g (m₁ + m₂)(θ₁ - θ₂)/(a₂ m₁)."""
    m1, m2, a1, a2, g = 1.3, 0.6, 0.9, 0.7, 9.81
    s = System("double pendulum", gravity=(0, 0, -g))
    one, two = s.coordinates("one two")
    place = (a1 * da.sin(one), 0, -a1 * da.cos(one))
    s.add_particle("first", m1, place)
    s.add_particle("second", m2, (place[0] + a2 * da.sin(two), 0, place[2] - a2 * da.cos(two)))
    expected = -g / m1 * np.array([[-(m1 + m2) / a1, m2 / a1], [(m1 + m2) / a2, -(m1 + m2) / a2]])
    for lin in (linearize_energies(s), da.linearize(da.equations(s))):
        assert np.allclose(np.linalg.solve(lin.M, lin.K), expected, rtol=1e-12, atol=1e-12)


def coupled(alpha: float, epsilon: float, *, circulatory: bool) -> System:
    """ẍ₁ + ω₀² (1 + α) x₁ + ε ω₀² x₂ = 0, ẍ₂ + ω₀² (1 - α) x₂ ± ε ω₀² x₁ = 0, with ω₀ = 1."""
    s = System("coupled")
    x, y = s.coordinates("x y", "m")
    s.add_particle("one", 1.0, (x, 0))
    s.add_particle("two", 1.0, (0, y))
    s.add_potential((1 + alpha) * x**2 / 2 + (1 - alpha) * y**2 / 2)
    if circulatory:
        s.add_generalized_force("across x", x, -epsilon * y)
        s.add_generalized_force("across y", y, epsilon * x)
    else:
        s.add_potential(epsilon * x * y, "coupling")
    return s


@pytest.mark.spec("003-E2", "003-C20")
@pytest.mark.parametrize(
    ("alpha", "epsilon", "expected"),
    [(0.0, 0.1, (0.94868, 1.04881)), (-0.4, 0.1, (0.76661, 1.18841)), (0.0, 0.3, (0.83666, 1.14018)),
     (-0.4, 0.3, (0.70711, 1.22474)), (-0.8, 0.5, (0.23791, 1.39406))],
)  # fmt: skip
def test_two_oscillators_coupled_by_a_spring_have_real_frequencies(
    alpha: float, epsilon: float, expected: object
) -> None:
    lin = da.linearize(da.equations(coupled(alpha, epsilon, circulatory=False)))
    assert sorted(lin.modes().frequencies) == pytest.approx(expected, abs=6e-6)


@pytest.mark.spec("003-E2", "003-C20")
@pytest.mark.parametrize(
    ("alpha", "epsilon", "expected"),
    [(-0.2, 0.3, 0.11112 + 1.00615j), (0.0, 0.3, 0.14838 + 1.01095j), (0.0, 0.5, 0.24293 + 1.02909j),
     (-0.3, 0.5, 0.19626 + 1.01908j), (0.0, 0.1, 0.04994 + 1.00125j)],
)  # fmt: skip
def test_circulatory_coupling_makes_them_flutter(alpha: float, epsilon: float, expected: complex) -> None:
    lin = linearize_energies(coupled(alpha, epsilon, circulatory=True))
    assert np.abs(lin.H).max() == pytest.approx(epsilon, rel=1e-14)
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-(lin.K + lin.H), np.zeros((2, 2))]])
    values = np.linalg.eigvals(A)
    assert np.abs(values - expected).min() < 1e-5


@pytest.mark.spec("003-E1")
def test_springs_that_are_linear_near_equilibrium_have_three_regions() -> None:
    """Two masses in a chain: the force of a spring is linear, then progressive, then none after failure."""
    s = System("chain")
    x1, x2 = s.coordinates("x1 x2", "m")
    s.add_particle("one", 1.0, (x1, 0))
    s.add_particle("two", 1.0, (x2, 0))

    def force(stretch: object) -> object:
        size = da.math.absolute(stretch)
        stiff = da.where(size < 0.1, 10 * stretch, 10 * stretch + 500 * stretch**3)
        return da.where(size < 0.3, stiff, 0.0)

    s.add_generalized_force("left", x1, -force(x1) + force(x2 - x1))
    s.add_generalized_force("right", x2, -force(x2 - x1))
    d = lagrange(s)
    for a, b in ((0.05, 0.08), (0.2, 0.25), (0.05, 0.25), (0.4, 0.5), (0.1, 0.5)):
        first, second = (10 * e if abs(e) < 0.1 else 10 * e + 500 * e**3 if abs(e) < 0.3 else 0.0 for e in (a, b - a))
        found = d.solve({"x1": a, "x2": b}).acceleration
        assert found == pytest.approx([second - first, -second], rel=1e-14, abs=1e-15)
    shown = to_sympy(d.f)
    assert shown.has(sympy.Piecewise)


@pytest.mark.spec("003-C40")
def test_three_ways_to_a_machine_give_one_motion_and_the_reactions() -> None:
    """All equations with rows, minimum coordinates, and rows eliminated: a slider-crank of 9 equations and 8 rows."""
    r, rod = 0.3, 1.0
    s = System("slider-crank", gravity=(0, -9.81))
    names = ("xa", "ya", "a", "xb", "yb", "b", "xc", "yc", "c")
    xa, ya, a, xb, yb, b, xc, yc, c = s.coordinates(names)
    for name, place, angle in (("crank", (xa, ya), a), ("rod", (xb, yb), b), ("slider", (xc, yc), c)):
        s.add_body(name, 1.0, 0.1, place, angle=angle)
    s.constrain((xa - r / 2 * da.cos(a), ya - r / 2 * da.sin(a)), "A")
    s.constrain((xb - r * da.cos(a) - rod / 2 * da.cos(b), yb - r * da.sin(a) - rod / 2 * da.sin(b)), "B")
    s.constrain((xc - xb - rod / 2 * da.cos(b), yc - yb - rod / 2 * da.sin(b)), "C")
    s.constrain((yc, c), "guide")
    d = lagrange_multipliers(s)
    assert (len(d.names), len(d.rows), len(d.names) - len(d.rows)) == (9, 8, 1)
    angle, rate = 0.7, 2.0
    slope = -np.arcsin(r / rod * np.sin(angle))
    turn = -r * np.cos(angle) * rate / (rod * np.cos(slope))
    q = [r / 2 * np.cos(angle), r / 2 * np.sin(angle), angle,
         r * np.cos(angle) + rod / 2 * np.cos(slope), r * np.sin(angle) + rod / 2 * np.sin(slope), slope,
         r * np.cos(angle) + rod * np.cos(slope), 0.0, 0.0]  # fmt: skip
    v = [-r / 2 * np.sin(angle) * rate, r / 2 * np.cos(angle) * rate, rate,
         -r * np.sin(angle) * rate - rod / 2 * np.sin(slope) * turn,
         r * np.cos(angle) * rate + rod / 2 * np.cos(slope) * turn, turn,
         -r * np.sin(angle) * rate - rod * np.sin(slope) * turn, 0.0, 0.0]  # fmt: skip
    state = (dict(zip(names, q)), dict(zip(names, v)))
    full = d.solve(*state)
    least = System("slider-crank", gravity=(0, -9.81))
    one = least.coordinate("a")
    two = -da.math.asin(r / rod * da.sin(one))
    least.add_body("crank", 1.0, 0.1, (r / 2 * da.cos(one), r / 2 * da.sin(one)), angle=one)
    least.add_body(
        "rod", 1.0, 0.1, (r * da.cos(one) + rod / 2 * da.cos(two), r * da.sin(one) + rod / 2 * da.sin(two)), angle=two
    )
    least.add_body("slider", 1.0, 0.1, (r * da.cos(one) + rod * da.cos(two), 0), angle=0 * one)
    minimum = lagrange(least).solve({"a": angle}, {"a": rate})
    assert full.acceleration[2] == pytest.approx(minimum.acceleration[0], rel=1e-12)
    for formalism in (kane, maggi, newton_euler):  # the equations that are left give the reactions
        found = formalism(s).solve(*state)
        assert found.acceleration == pytest.approx(full.acceleration, rel=1e-11, abs=1e-11)
        assert found.multipliers == pytest.approx(full.multipliers, rel=1e-10, abs=1e-10)


@pytest.mark.spec("000-03")
def test_partial_velocities_and_generalized_forces_of_particles() -> None:
    """J = ∂r/∂q, J̇ q̇ and Q = Σ Jᵀ F of a double pendulum, against finite differences of its places."""
    s = System("double pendulum")
    a, b = s.coordinates("a b")
    one = (0.8 * da.sin(a), -0.8 * da.cos(a))
    s.add_particle("one", 1.0, one)
    s.add_particle("two", 2.0, (one[0] + 0.5 * da.sin(b), one[1] - 0.5 * da.cos(b)))
    s.add_force("push", (3.0, -1.0), "two")
    motion = lagrange(s).motion
    place = ca.Function("r", [s.q], [s.bodies["two"].position])
    body = motion.bodies[1]
    f = ca.Function("J", [s.q, motion.v], [body.J, body.gamma, motion.applied])
    q, v, h = np.array([0.4, -0.9]), np.array([0.7, 1.2]), 1e-4
    J, gamma, Q = (np.array(x) for x in f(q, v))

    def at(point: np.ndarray) -> np.ndarray:
        return np.array(place(point))[:, 0]

    for k, step in enumerate(np.eye(2) * h):
        assert J[:, k] == pytest.approx(
            (at(q + step) - at(q - step)) / (2 * h), abs=1e-8
        )  # h²/6 of the third derivative
    along = (at(q + h * v) - 2 * at(q) + at(q - h * v)) / h**2
    assert gamma[:, 0] == pytest.approx(along, abs=1e-6)  # rounding 1e-16/h²
    assert Q[:, 0] == pytest.approx(J.T @ [3.0, -1.0, 0.0], rel=1e-14)
