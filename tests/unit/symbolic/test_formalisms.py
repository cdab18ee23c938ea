"""Formalisms: what each gives beyond accelerations, and the refusals that name the one that fits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.symbolic import (
    Derivation,
    System,
    boltzmann_hamel,
    gauss,
    gibbs_appell,
    hamilton,
    kane,
    lagrange,
    lagrange_multipliers,
    maggi,
    newton_euler,
    nielsen,
    penalty,
    to_sympy,
    udwadia_kalaba,
    virtual_work,
)
from tests.helpers.findings import raises

WITH_ROWS = (newton_euler, virtual_work, lagrange_multipliers, hamilton, gibbs_appell, kane, maggi, boltzmann_hamel,
             gauss, udwadia_kalaba)  # fmt: skip


def circle() -> System:
    """A pendulum in x and y: tension m (g cos θ + L ω²) along the rod."""
    s = System("circle", gravity=(0, -9.81))
    x, y = s.coordinates("x y", "m")
    length = s.parameter("L", 1.5, "m")
    s.add_particle("bob", s.parameter("m", 2.0, "kg"), (x, y))
    s.constrain((x**2 + y**2 - length**2) / (2 * length), "rod")
    return s


def sleigh(speeds: bool = True) -> System:
    """Chaplygin's sleigh: mass centre ``a`` ahead of the blade."""
    s = System("sleigh")
    x, y = s.coordinates("x y", "m")
    angle = s.coordinate("angle", "rad")
    m, inertia, a = s.parameter("m", 2.0, "kg"), s.parameter("I", 0.3, "kg m^2"), s.parameter("a", 0.4, "m")
    F, T = s.input("F", "N"), s.input("T", "N m")
    c, n = da.cos(angle), da.sin(angle)
    s.add_body("sleigh", m, inertia, (x + a * c, y + a * n), angle=angle)
    s.add_force("push", (F * c, F * n), "sleigh")
    s.add_torque("turn", T, "sleigh")
    s.constrain(s.rate(y) * c - s.rate(x) * n, "blade")
    if speeds:
        s.speed("u", s.rate(x) * c + s.rate(y) * n, "m/s")
        s.speed("w", s.rate(angle), "rad/s")
    return s


@pytest.mark.spec("002-C5", "002-D2", "002-D5", "003-C32")
@pytest.mark.parametrize("formalism", WITH_ROWS, ids=lambda one: one.__name__)
def test_every_formalism_gives_the_tension_of_a_pendulum(formalism: Callable[[System], Derivation]) -> None:
    theta, rate, m, length = 0.7, 1.3, 2.0, 1.5
    q = {"x": length * np.sin(theta), "y": -length * np.cos(theta)}
    v = {"x": length * rate * np.cos(theta), "y": length * rate * np.sin(theta)}
    found = formalism(circle()).solve(q, v)
    tension = m * (9.81 * np.cos(theta) + length * rate**2)
    assert found.multipliers == pytest.approx([-tension], rel=1e-13)
    turned = -9.81 / length * np.sin(theta)
    expected = [length * (turned * np.cos(theta) - rate**2 * np.sin(theta)),
                length * (turned * np.sin(theta) + rate**2 * np.cos(theta))]  # fmt: skip
    assert found.acceleration == pytest.approx(expected, rel=1e-13)


@pytest.mark.spec("002-T21", "002-D1", "002-D3", "002-D4", "000-06", "000-07")
@pytest.mark.parametrize("formalism", [gibbs_appell, kane, boltzmann_hamel], ids=lambda one: one.__name__)
def test_the_sleigh_has_its_equations_in_quasi_velocities(formalism: Callable[[System], Derivation]) -> None:
    """m (u̇ - a ω²) = F and (I + m a²) ω̇ + m a ω u = T, exactly in symbols."""
    import sympy

    d = formalism(sleigh())
    m, inertia, a, F, T, u, w = (sympy.Symbol(name, real=True) for name in ("m", "I", "a", "F", "T", "u", "w"))
    M = to_sympy(d.M).applyfunc(sympy.simplify)
    f = to_sympy(d.f).applyfunc(sympy.simplify)
    assert sympy.Matrix([[m, 0], [0, inertia + m * a**2]]) == M
    assert (f - sympy.Matrix([F + m * a * w**2, T - m * a * w * u])).applyfunc(sympy.simplify) == sympy.zeros(2, 1)


@pytest.mark.spec("002-D1", "002-C5")
def test_the_side_force_of_the_blade_is_the_same_by_relaxation_and_by_multipliers() -> None:
    state = ({"angle": 0.6}, {"x": 1.1 * np.cos(0.6), "y": 1.1 * np.sin(0.6), "angle": 0.8})
    inputs = {"F": 3.0, "T": 0.5}
    expected = lagrange_multipliers(sleigh()).solve(*state, inputs=inputs)
    for formalism in (gibbs_appell, kane, boltzmann_hamel, maggi, newton_euler, gauss):
        found = formalism(sleigh()).solve(*state, inputs=inputs)
        assert found.multipliers == pytest.approx(expected.multipliers, rel=1e-12)
    # the blade turns the path of the mass centre: λ = m (a ω̇ + u ω)
    side = 2.0 * (0.4 * expected.acceleration[2] + 1.1 * 0.8)
    assert expected.multipliers == pytest.approx([side], rel=1e-12)


@pytest.mark.spec("002-D4")
def test_the_independent_speeds_may_be_chosen_and_agree() -> None:
    state = ({"angle": 0.6}, {"x": 1.1 * np.cos(0.6), "y": 1.1 * np.sin(0.6), "angle": 0.8})
    chosen = [kane(sleigh(False), independent=names) for names in (["x.rate", "angle.rate"], ["y.rate", "angle.rate"])]
    found = [one.solve(*state, inputs={"F": 1.0, "T": 0.2}).acceleration for one in chosen]
    assert found[0] == pytest.approx(found[1], rel=1e-13)
    assert "x.rate, angle.rate" in chosen[0].markdown() and "random points" in chosen[0].markdown()


@pytest.mark.spec("002-C6", "003-C35")
def test_canonical_equations_are_the_derivatives_of_the_energy() -> None:
    s = System("pendulum", gravity=(0, -9.81))
    theta = s.coordinate("theta")
    s.add_particle("bob", 2.0, (1.5 * da.sin(theta), -1.5 * da.cos(theta)))
    d = hamilton(s)
    steps = {step.title: dict(step.terms) for step in d.steps}
    H = steps["Hamilton's function"]["H"]
    f = ca.Function("H", [s.q, d.v], [H, ca.gradient(H, d.v), -ca.gradient(H, s.q)])
    energy, rate, change = (float(one) for one in f(0.7, 1.2))
    assert energy == pytest.approx(1.2**2 / (2 * 4.5) - 2 * 9.81 * 1.5 * np.cos(0.7), rel=1e-14)
    assert rate == pytest.approx(1.2 / 4.5, rel=1e-14)
    assert change == pytest.approx(-2 * 9.81 * 1.5 * np.sin(0.7), rel=1e-14)
    eqs = da.equations(d)
    assert eqs.speeds.names == ("theta.momentum",)
    run = da.simulate(eqs, 2.0, start=eqs.state(q=[0.7], v=[1.2]), every=0.5)
    plain = da.equations(lagrange(s))
    other = da.simulate(plain, 2.0, start=plain.state(q=[0.7], v=[1.2 / 4.5]), every=0.5)
    assert run["theta"] == pytest.approx(other["theta"], abs=1e-6)  # both at the default tolerance


@pytest.mark.spec("003-C35")
def test_a_gyroscopic_system_has_momenta_with_a_linear_part() -> None:
    """A bead in a turning frame: T = ½ |ẋ + Ω × x|², p = ẋ + Ω × x, H = ½ |p|² - p · (Ω × x) + V."""
    s = System("turning frame")
    x, y = s.coordinates("x y")
    turn = s.parameter("Omega", 1.7)
    s.add_kinetic(((s.rate(x) - turn * y) ** 2 + (s.rate(y) + turn * x) ** 2) / 2)
    s.add_potential(2 * x**2 + 3 * y**2)
    q, v = {"x": 0.3, "y": -0.4}, {"x": 0.9, "y": 0.2}
    expected = [2 * 1.7 * 0.2 + (1.7**2 - 4) * 0.3, -2 * 1.7 * 0.9 + (1.7**2 - 6) * -0.4]
    assert hamilton(s).solve(q, v).acceleration == pytest.approx(expected, rel=1e-13)
    assert lagrange(s).solve(q, v).acceleration == pytest.approx(expected, rel=1e-13)


@pytest.mark.spec("002-C2", "000-08")
def test_the_accelerations_are_the_minimum_of_the_constraint_of_gauss() -> None:
    d = gauss(circle())
    s = d.system
    Z = dict(d.steps[0].terms)["Z"]
    f = ca.Function("Z", [s.q, s.rates, s.accelerations, s.p], [Z])
    theta, rate, length = 0.7, 1.3, 1.5
    q = {"x": length * np.sin(theta), "y": -length * np.cos(theta)}
    v = {"x": length * rate * np.cos(theta), "y": length * rate * np.sin(theta)}
    a = d.solve(q, v).acceleration
    along = np.array([np.cos(theta), np.sin(theta)])  # what the rod leaves free

    def value(h: float) -> float:
        return float(f(list(q.values()), list(v.values()), a + h * along, [length, 2.0]))

    assert value(0.1) > value(0.0) and value(-0.1) > value(0.0)
    assert value(0.1) == pytest.approx(value(-0.1), rel=1e-10)  # Z is a parabola about its minimum


@pytest.mark.spec("002-D5", "000-12", "000-13")
@pytest.mark.parametrize("form", ["regular", "singular", "augmented"])
def test_repeated_rows_change_nothing_for_udwadia_and_kalaba(form: str) -> None:
    s = circle()
    twice = circle()
    twice.constrain(3 * (twice.q[0] ** 2 + twice.q[1] ** 2 - 2.25), "again")
    state = ({"x": 0.9, "y": -1.2}, {"x": 0.4, "y": 0.3})
    one, two = (udwadia_kalaba(each, form=form).solve(*state) for each in (s, twice))
    assert two.acceleration == pytest.approx(one.acceleration, rel=1e-12)


@pytest.mark.spec("002-D5", "000-14")
def test_a_singular_mass_matrix_needs_the_forms_that_allow_it() -> None:
    """A massless coordinate tied to a mass: w = x + y."""
    s = System("tied")
    x, w = s.coordinates("x w")
    s.add_particle("m", 2.0, (x, 0))
    s.add_potential(3 * w**2)
    s.constrain(w - x, "tie")
    for form in ("singular", "augmented"):
        found = udwadia_kalaba(s, form=form).solve({"x": 0.5, "w": 0.5})
        assert found.acceleration == pytest.approx([-1.5, -1.5], rel=1e-13)
    assert lagrange_multipliers(s).solve({"x": 0.5, "w": 0.5}).acceleration == pytest.approx([-1.5, -1.5], rel=1e-13)
    with pytest.raises(ModelError) as caught:
        udwadia_kalaba(s).solve({"x": 0.5, "w": 0.5})
    assert caught.value.code == "singular-matrix" and "form='singular'" in str(caught.value)


@pytest.mark.spec("002-C7")
def test_a_penalty_meets_the_rows_up_to_its_factor() -> None:
    state = ({"x": 0.9, "y": -1.2}, {"x": 0.4, "y": 0.3})
    exact = lagrange_multipliers(circle()).solve(*state)
    gaps = []
    for factor in (1e4, 1e6):
        found = penalty(circle(), factor=factor).solve(*state)
        gaps.append(np.abs(found.acceleration - exact.acceleration).max())
        assert found.multipliers == pytest.approx(exact.multipliers, rel=10 / factor)
    assert gaps[0] / gaps[1] == pytest.approx(100, rel=0.02)  # first order in 1/α
    eqs = da.equations(penalty(circle(), factor=1e5, frequency=100.0))
    assert len(eqs.rows) == 0
    run = da.simulate(eqs, 0.5, start=eqs.state(q=[0.9, -1.2], v=[0.4, 0.3]), every=0.05)
    assert np.abs(np.hypot(run["x"], run["y"]) - 1.5).max() < 1e-3


@pytest.mark.spec("002-C7")
def test_an_opened_row_returns_as_a_damped_oscillator() -> None:
    """Two equal masses m tied by x - y = 0: (m/2 + α) φ̈ = -α (2 μ ω φ̇ + ω² φ), and the same with ẋ - ẏ = 0 alone."""
    mass, factor, damping, frequency = 3.0, 50.0, 0.3, 7.0
    for holonomic in (True, False):
        s = System("tied")
        x, y = s.coordinates("x y", "m")
        s.add_particle("one", mass, (x, 0))
        s.add_particle("two", mass, (y, 0))
        s.constrain(x - y if holonomic else s.rate(x) - s.rate(y), "tie")
        a = penalty(s, factor=factor, damping=damping, frequency=frequency).solve({"x": 0.2}, {"y": 0.5}).acceleration
        target = -2 * damping * frequency * -0.5 - (frequency**2 * 0.2 if holonomic else 0.0)
        assert a[0] - a[1] == pytest.approx(factor / (mass / 2 + factor) * target, rel=1e-13)
        assert a[0] + a[1] == pytest.approx(0.0, abs=1e-12)  # forces of a row are internal


@pytest.mark.spec("002-C1")
def test_a_pose_is_an_equilibrium_where_the_active_virtual_work_vanishes() -> None:
    """A ladder between a smooth floor and a smooth wall, its foot held by H: δW = (H sin a - ½ m g cos a) L δa
    on the displacements that floor and wall allow."""
    m, length, a = 4.0, 2.5, 0.9
    s = System("ladder", gravity=(0, -9.81))
    x, y = s.coordinates("x y", "m")
    angle = s.coordinate("angle", "rad")  # from the floor; the foot is to the right of the wall
    half = (length / 2 * da.cos(angle), length / 2 * da.sin(angle))
    s.add_body("ladder", m, m * length**2 / 12, (x, y), angle=angle)
    s.add_force("rope", (-s.input("H", "N"), 0), (x + half[0], y - half[1]), body="ladder")
    s.constrain(y - half[1], "floor")
    s.constrain(x - half[0], "wall")
    d = virtual_work(s)
    pose = {"x": length / 2 * np.cos(a), "y": length / 2 * np.sin(a), "angle": a}
    free = length / 2 * np.array([-np.sin(a), np.cos(a), 2 / length])  # displacement for δa = 1
    at = [list(pose.values()), np.zeros(3)]
    for share in (1.0, 1.2, 0.7):
        H = share * m * 9.81 / (2 * np.tan(a))
        _, Q, A, _ = (np.array(one) for one in d.kernel(*at, [H], [], 0.0))
        assert np.abs(A @ free).max() < 1e-14
        work = float(Q.ravel() @ free)  # nothing moves: f has the active forces alone
        assert work == pytest.approx(H * length * np.sin(a) - m * 9.81 * length / 2 * np.cos(a), abs=1e-12)
        found = d.solve(pose, inputs={"H": H})
        assert np.sign(np.round(found.acceleration[2], 10)) == np.sign(np.round(work, 10))
        if share == 1.0:
            assert found.acceleration == pytest.approx([0, 0, 0], abs=1e-12)
            # forces of the constraints: floor m g, wall H; they do no work on what the rows allow
            assert found.multipliers == pytest.approx([m * 9.81, H], rel=1e-12)
            assert float((A.T @ found.multipliers) @ free) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.spec("002-C1")
@pytest.mark.parametrize("place", [-0.7, -0.45, -0.2, 0.1, 0.4, 0.55, 0.9])
def test_a_support_that_can_open_holds_where_the_active_work_of_lifting_is_negative(place: float) -> None:
    """A beam on two feet at ±0.5 m that can only lift, and a load at ``place``: displacements are not reversible. At
    rest δW = -Σ λ δφ for openings δφ ≥ 0, so that it rests where λ ≥ 0; else it lifts, as the beam without the foot."""
    m, load = 2.0, 9.0

    def beam(*feet: float) -> System:
        s = System("beam", gravity=(0, -9.81))
        x, y = s.coordinates("x y", "m")
        angle = s.coordinate("angle", "rad")
        s.add_body("beam", m, 0.4, (x, y), angle=angle)
        s.add_force("load", (0, -load), (x + place * da.cos(angle), y + place * da.sin(angle)), body="beam")
        for foot in feet:
            s.constrain(y + foot * da.sin(angle), f"foot {foot:g}")
        return s

    feet = (-0.5, 0.5)
    d = virtual_work(beam(*feet))
    found = d.solve({})
    _, Q, A, _ = (np.array(one) for one in d.kernel(np.zeros(3), np.zeros(3), [], [], 0.0))
    lifts = np.linalg.pinv(A)  # displacements that open one foot each
    works = Q.ravel() @ lifts
    assert works == pytest.approx(-found.multipliers, rel=1e-12)
    assert found.acceleration == pytest.approx([0, 0, 0], abs=1e-12)
    total = m * 9.81 + load
    assert found.multipliers.sum() == pytest.approx(total, rel=1e-12)
    centre = load * place / total  # of weight and load: between the feet where all work of lifting is negative
    assert (works <= 0).all() == (abs(centre) <= 0.5)
    for k, foot in enumerate(feet):
        left = virtual_work(beam(*(one for one in feet if one != foot))).solve({}).acceleration
        assert (left[1] + foot * left[2] > 0) == (works[k] > 0)


@pytest.mark.spec("000-05", "002-C3")
def test_the_action_of_a_simulated_path_is_stationary() -> None:
    """The gradient of the discrete action by the inner points vanishes with the square of the step."""
    s = System("pendulum")
    theta = s.coordinate("theta")
    L = s.rate(theta) ** 2 / 2 + 9.81 * da.cos(theta)
    s.add_kinetic(s.rate(theta) ** 2 / 2)
    s.add_potential(-9.81 * da.cos(theta))
    f = ca.Function("L", [s.q, s.rates], [L])
    eqs = da.equations(s)
    sizes = []
    for h in (0.02, 0.01):
        run = da.simulate(eqs, 0.4, start=eqs.state(q=[0.8], v=[0.5]), every=h,
                          method=da.DormandPrince(rtol=1e-12, atol=1e-13))  # fmt: skip
        path = ca.SX.sym("path", len(run.time))
        action = ca.SX(0)
        for k in range(len(run.time) - 1):
            action = action + h * f((path[k] + path[k + 1]) / 2, (path[k + 1] - path[k]) / h)
        gradient = ca.Function("g", [path], [ca.gradient(action, path)])
        sizes.append(np.abs(np.array(gradient(run["theta"])))[1:-1].max() / h)
    assert sizes[1] < 0.01 and sizes[0] / sizes[1] == pytest.approx(4, rel=0.1)
    residual = da.symbolic.euler_lagrange(s, L)
    g = ca.Function("r", [s.q, s.rates, s.accelerations], [residual])
    assert abs(float(g(0.8, 0.5, -9.81 * np.sin(0.8)))) < 1e-14


def rolling_hoop() -> System:
    s = System("hoop")
    x, y = s.coordinates("x y")
    s.add_particle("m", 1.0, (x, y))
    s.constrain(s.rate(x) ** 2 + s.rate(y) ** 2 - 1, "speed")
    return s


def accelerating() -> System:
    s = System("law")
    x, y = s.coordinates("x y")
    s.add_particle("m", 1.0, (x, y))
    s.constrain(s.rate(x, 2) - y, "law")
    return s


def energies() -> System:
    s = System("energies")
    x = s.coordinate("x")
    s.add_kinetic(s.rate(x) ** 2)
    return s


def spring() -> System:
    s = System("spring")
    x = s.coordinate("x")
    s.add_particle("m", 1.0, (x, 0))
    s.add_potential(x**2, "spring")
    return s


REFUSED: dict[str, tuple[Callable[[], Any], str, str]] = {
    "Lagrange minimal, redundant coordinates": (lambda: lagrange(circle()), "lagrange_multipliers", "rod"),
    "Hamilton, velocity row": (lambda: hamilton(sleigh()), "maggi", "blade"),
    "Kane, row that is not affine": (lambda: kane(rolling_hoop()), "lagrange_multipliers", "speed"),
    "Kane, row of accelerations": (lambda: kane(accelerating()), "udwadia_kalaba", "law"),
    "Kane, energies": (lambda: kane(energies()), "boltzmann_hamel", "kinetic energy 1"),
    "Gibbs-Appell, energies": (lambda: gibbs_appell(energies()), "lagrange", "kinetic energy 1"),
    "Newton-Euler, potential": (lambda: newton_euler(spring()), "virtual_work", "spring"),
    "quadratic energies, rows": (lambda: da.symbolic.linearize_energies(circle()), "linearize", "rod"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_formalism_outside_its_domain_names_the_one_that_fits(name: str) -> None:
    make, fitting, place = REFUSED[name]
    with pytest.raises(ModelError) as caught:
        make()
    assert caught.value.code in ("not-supported", "not-affine", "wrong-level")
    assert place in dict(caught.value.where).values()
    advised = [part.function for one in caught.value.advice for part in one.parts]
    assert any(name.endswith(fitting) for name in advised)


def test_a_singular_mass_has_no_momenta() -> None:
    s = System("tied")
    x, w = s.coordinates("x w")
    s.add_particle("m", 2.0, (x, 0))
    s.constrain(w - x, "tie")
    with pytest.raises(ModelError) as caught:
        hamilton(s)
    assert caught.value.code == "singular-matrix"


@pytest.mark.spec("000-09", "000-10", "003-C34", "002-C5")
def test_rows_of_all_levels_and_of_time_give_the_accelerations_by_hand() -> None:
    """φ = x - ¼ t³, c = ẏ - t ẋ, and a row of accelerations z̈ - 2 ẍ."""
    s = System("levels")
    x, y, z = s.coordinates("x y z")
    s.add_particle("m", 2.0, (x, y, z))
    s.constrain(x - s.t**3 / 4, "driver")
    s.constrain(s.rate(y) - s.t * s.rate(x), "slip")
    s.constrain(s.rate(z, 2) - 2 * s.rate(x, 2), "law")
    t = 1.6
    v = {"x": 0.75 * t**2, "y": 0.75 * t**3, "z": 0.0}
    for formalism in (lagrange_multipliers, udwadia_kalaba, gauss, virtual_work, newton_euler):
        found = formalism(s).solve({"x": t**3 / 4}, v, t=t)
        expected = [1.5 * t, t * 1.5 * t + 0.75 * t**2, 3 * t]
        assert found.acceleration == pytest.approx(expected, rel=1e-13)


def test_rows_that_are_not_affine_in_the_rates_follow_the_rule_of_chetaev() -> None:
    """A particle of constant speed: the force of the row is along the velocity."""
    s = rolling_hoop()
    g = s.parameter("g", 9.81, "m/s^2")
    s.set_gravity((0, -g))
    found = lagrange_multipliers(s).solve({}, {"x": 0.6, "y": 0.8})
    assert found.acceleration @ [0.6, 0.8] == pytest.approx(0.0, abs=1e-14)
    assert found.acceleration @ [-0.8, 0.6] == pytest.approx(-9.81 * 0.6, rel=1e-13)


@pytest.mark.spec("002-D1", "000-06")
@pytest.mark.parametrize("independent", [None, ["x.rate"], ["y.rate"]])
def test_gibbs_appell_takes_a_row_that_is_not_affine_in_the_rates(independent: list[str] | None) -> None:
    """A particle of constant speed under gravity: with ẋ = cos ψ, ẏ = sin ψ it is ψ̇ = -g cos ψ."""
    s = rolling_hoop()
    s.set_gravity((0, -9.81))
    psi = 0.7
    d = gibbs_appell(s, independent=independent)
    found = d.solve({}, {"x": np.cos(psi), "y": np.sin(psi)})
    turn = -9.81 * np.cos(psi)
    assert found.acceleration == pytest.approx([-turn * np.sin(psi), turn * np.cos(psi)], rel=1e-13)
    assert found.multipliers == pytest.approx([9.81 * np.sin(psi) / 2], rel=1e-13)  # ∂c/∂ẏ = 2 ẏ: the part along v
    # sin ψ = tanh(τ), τ = artanh(sin ψ₀) - g t; the integrator keeps 1e-10
    eqs = da.equations(d)
    start = eqs.state(q=[0, 0], v=[np.cos(psi), np.sin(psi)])
    run = da.simulate(eqs, 0.4, start=start, every=0.1, method=da.DormandPrince(rtol=1e-11, atol=1e-12))
    tau = np.arctanh(np.sin(psi)) - 9.81 * run.time
    assert run["y.rate"] == pytest.approx(np.tanh(tau), abs=1e-9)
    assert run["x.rate"] == pytest.approx(1 / np.cosh(tau), abs=1e-9)


@pytest.mark.spec("002-D1")
def test_the_machine_of_appell_and_hamel_climbs_by_its_equations() -> None:
    """ż² = a² (ẋ² + ẏ²) with ẋ = s cos ψ, ẏ = s sin ψ: S = ½ m ((1 + a²) ṡ² + s² ψ̇²), so that (1 + a²) ṡ = -g a + F/m
    and m s ψ̇ = 0 under gravity and a force F along the path; a row of place and a body that turns beside it."""
    a, m, F, psi, size = 0.75, 2.0, 1.4, 0.6, 1.3
    s = System("Appell-Hamel", gravity=(0, 0, -9.81))
    x, y, z = s.coordinates("x y z", "m")
    height, angle = s.coordinate("h", "m"), s.coordinate("angle", "rad")
    s.add_particle("m", m, (x, y, z))
    s.add_body("flywheel", 0.5, (0.1, 0.2, 0.3), (0, 0, height), rotation=s.rotation("x", (angle,)))
    dx, dy, dz = (s.rate(one) for one in (x, y, z))
    s.add_force("push", (F * dx / size, F * dy / size, 0), "m")
    s.constrain(dz**2 - a**2 * (dx**2 + dy**2), "climb")
    s.constrain(height - z, "follow")
    state = (
        {"h": 0.4, "z": 0.4},
        {"x": size * np.cos(psi), "y": size * np.sin(psi), "z": a * size, "h": a * size, "angle": 2.0},
    )
    found = gibbs_appell(s).solve(*state)
    # the flywheel adds its mass to climbing: (m + (m + M) a²) ṡ = F - (m + M) g a
    speed = (F - 2.5 * 9.81 * a) / (m + 2.5 * a**2)
    expected = [speed * np.cos(psi), speed * np.sin(psi), a * speed, a * speed, 0.0]
    assert found.acceleration == pytest.approx(expected, rel=1e-12, abs=1e-12)
    other = lagrange_multipliers(s).solve(*state)  # rule of Chetaev
    assert found.multipliers == pytest.approx(other.multipliers, rel=1e-12)


@pytest.mark.spec("002-D1")
@pytest.mark.parametrize("speeds", ["rates", "declared", "independent"])
def test_gibbs_appell_with_general_rows_agrees_with_multipliers_of_chetaev(speeds: str) -> None:
    """A double pendulum on a cart: a row that is not affine and depends on places and time, beside a row of place."""
    s = System("cart", gravity=(0.4, -9.81), check_units=False)
    x, z = s.coordinates("x z", "m")
    a, b = s.coordinates("a b", "rad")
    dx, da_, db = s.rate(x), s.rate(a), s.rate(b)
    elbow = (x + 0.8 * da.sin(a), -0.8 * da.cos(a))
    s.add_particle("cart", 2.0, (x, z))
    s.add_body("upper", 1.1, 0.2, (x + 0.4 * da.sin(a), -0.4 * da.cos(a)), angle=a)
    s.add_body("lower", 0.7, 0.1, (elbow[0] + 0.3 * da.sin(b), elbow[1] - 0.3 * da.cos(b)), angle=b)
    s.add_torque("motor", s.input("T", "N m"), "lower", reaction="upper")
    s.constrain(dx**2 + (1 + x**2) * da_**2 - (2 + da.cos(b)) * (1 + s.t) * db**2, "speeds")
    s.constrain(z - 0.3 * x**2, "track")
    if speeds != "rates":
        s.speed("u", dx * da.cos(b) + 0.5 * da_ * da.sin(a) + 0.2 * s.rate(z))
        s.speed("w", da_ - x * db + s.t)
    if speeds == "declared":
        s.speed("k", db * (2 + x))
        s.speed("h", s.rate(z) - dx * da.sin(a))
    q = {"x": 0.4, "z": 0.3 * 0.16, "a": 0.7, "b": -0.5}
    v = {"x": 0.9, "z": 0.6 * 0.4 * 0.9, "a": -0.6, "b": 1.2}
    found, expected = (one(s).solve(q, v, inputs={"T": 1.5}, t=0.3) for one in (gibbs_appell, lagrange_multipliers))
    assert found.acceleration == pytest.approx(expected.acceleration, rel=1e-11)
    assert found.multipliers == pytest.approx(expected.multipliers, rel=1e-11)
    if speeds == "independent":
        with raises(ModelError, "conflicting-arguments"):
            gibbs_appell(s, independent=["u", "a.rate"])
        # the equations as they are shown: ∂S/∂u̇ = Wᵀ Q at the rates of u and w
        terms = {name: value for step in gibbs_appell(s).steps for name, value in step.terms}
        rates = ca.vertcat(s.symbols["u.rate"], s.symbols["w.rate"])
        turned = s.rate(ca.vertcat(*s.definitions.values()))
        at = [list(q.values()), list(v.values()), found.acceleration, 1.5, 0.3]
        symbols = [s.q, s.rates, s.accelerations, s.u, s.t]
        gap = ca.substitute(ca.gradient(terms["S"], rates) - terms["W^{T} Q"], rates, turned)
        assert np.abs(np.array(ca.Function("gap", symbols, [gap])(*at))).max() < 1e-11


@pytest.mark.spec("002-E1")
def test_the_projected_form_with_redundant_variables_has_the_same_solution() -> None:
    """Sᵀ (M v̇ - f) = 0 with A v̇ = b, from any complement S of A."""
    d = lagrange_multipliers(circle())
    s = d.system
    f = ca.Function("f", [s.q, d.v, s.p], [d.M, d.f, d.A, d.b])
    q, v = [0.9, -1.2], [0.4, 0.3]
    M, force, A, b = (np.array(one) for one in f(q, v, [1.5, 2.0]))
    S = np.linalg.svd(A)[2][1:].T * 3.7
    a = np.linalg.solve(np.vstack([S.T @ M, A]), np.vstack([S.T @ force, b]))[:, 0]
    found = d.solve(dict(zip("xy", q)), dict(zip("xy", v)))
    assert found.acceleration == pytest.approx(a, rel=1e-13)


@pytest.mark.spec("002-E2")
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_the_kinetic_energy_give_the_same_equations(order: int) -> None:
    """Nielsen's and Tzénoff's forms, on a sleigh in quasi-velocities and on a pendulum whose pivot moves with time."""
    state = ({"angle": 0.6}, {"x": 1.1 * np.cos(0.6), "y": 1.1 * np.sin(0.6), "angle": 0.8})
    inputs = {"F": 3.0, "T": 0.5}
    one, two = (f(sleigh()).solve(*state, inputs=inputs) for f in (lambda s: nielsen(s, order=order), boltzmann_hamel))
    assert one.acceleration == pytest.approx(two.acceleration, rel=1e-12)
    assert one.multipliers == pytest.approx(two.multipliers, rel=1e-12)
    s = System("moved", gravity=(0, -9.81))
    theta = s.coordinate("theta")
    s.add_particle("bob", 1.3, (da.sin(theta) + 0.2 * s.t**3, -da.cos(theta)))
    found = nielsen(s, order=order).solve({"theta": 0.4}, {"theta": 1.2}, t=0.7)
    assert found.acceleration == pytest.approx([-9.81 * np.sin(0.4) - 1.2 * 0.7 * np.cos(0.4)], rel=1e-12)


def test_an_order_of_nielsen_is_a_whole_number() -> None:
    with pytest.raises(ModelError) as caught:
        nielsen(sleigh(), order=0)
    assert caught.value.code == "not-a-count"


@pytest.mark.spec("002-T1", "002-A16", "002-B1")
def test_a_free_body_in_euler_parameters_turns_as_its_closed_form() -> None:
    """ω about y constant: e2 = sin(Ωt/2), e0 = cos(Ωt/2), everything else zero; ω is that of the matrix."""
    s = System("free body")
    place = s.coordinates("x y z", "m")
    turned = s.euler_parameters("body")
    s.add_body("body", 5.0, (2.0, 3.0, 4.0), place, rotation=turned)
    d = kane(s)
    assert d.names == ("body.wx", "body.wy", "body.wz", "x.rate", "y.rate", "z.rate")
    assert np.array_equal(np.array(ca.DM(d.M)), np.diag([2, 3, 4, 5, 5, 5]))  # nothing of the pose is left in it
    f = ca.Function("f", [d.v], [d.f])
    w = np.array([0.3, -0.7, 1.1])
    force = np.array(f([*w, 0.4, 0.5, 0.6]))[:, 0]
    assert force == pytest.approx([*-np.cross(w, [2, 3, 4] * w), 0, 0, 0], rel=1e-15, abs=1e-15)
    eqs = da.equations(s)
    run = da.simulate(eqs, 3.0, start=eqs.state(v=[0, 0.8, 0, 0, 0, 0]), every=0.5,
                      method=da.DormandPrince(rtol=1e-11, atol=1e-12))  # fmt: skip
    for name, expected in (("e0", np.cos(0.4 * run.time)), ("e1", 0), ("e2", np.sin(0.4 * run.time)), ("e3", 0)):
        assert np.abs(run[f"body.{name}"] - expected).max() < 1e-10
    skew = turned.matrix.T @ ca.reshape(s.rate(ca.vec(turned.matrix)), 3, 3)
    omega = d.motion.velocity(ca.vertcat(skew[2, 1], skew[0, 2], skew[1, 0]))
    g = ca.Function("g", [s.q, d.v], [omega])
    unit = np.array([0.5, 0.1, -0.7, 0.5]) / np.linalg.norm([0.5, 0.1, -0.7, 0.5])
    assert np.array(g([0, 0, 0, *unit], [*w, 0, 0, 0]))[:, 0] == pytest.approx(w, rel=1e-14)


@pytest.mark.spec("002-C2")
def test_a_top_in_euler_parameters_moves_as_one_in_angles() -> None:
    """Rows of the pivot stay rows of the equations; assembly and run close them."""

    def top(angles: bool) -> tuple[System, Any]:
        s = System("top", gravity=(0, 0, -9.81))
        turned = s.rotation("zxz", s.coordinates("psi theta phi", "rad")) if angles else s.euler_parameters("top")
        place = 0.4 * turned.matrix[:, 2]
        if not angles:
            x, y, z = s.coordinates("x y z", "m")
            s.constrain(ca.vertcat(x, y, z) - place, "pivot")
            place = (x, y, z)
        s.add_body("top", 1.5, (0.02, 0.02, 0.03), place, rotation=turned)
        s.drawn |= {"theta": 0.5} if angles else {"z": 0.4}
        return s, turned

    one, turned = top(True)
    two, _ = top(False)
    angles, rates = {"psi": 0.3, "theta": 0.5, "phi": 0.1}, {"psi": 1.0, "theta": 0.2, "phi": 20.0}
    body = one.bodies["top"]
    f = ca.Function("f", [one.q, one.rates], [turned.omega, body.position, body.velocity])
    omega, place, speed = (np.array(x)[:, 0] for x in f(list(angles.values()), list(rates.values())))
    first, second = da.equations(one), da.equations(two)
    assert (second.nq, second.nv, len(second.rows), len(second.quaternions)) == (7, 6, 3, 1)
    half = [a / 2 for a in angles.values()]
    c, n = np.cos(half[1]), np.sin(half[1])
    p = [c * np.cos(half[0] + half[2]), n * np.cos(half[0] - half[2]), n * np.sin(half[0] - half[2]),
         c * np.sin(half[0] + half[2])]  # fmt: skip
    tight = da.DormandPrince(rtol=1e-11, atol=1e-12)
    start = first.state(q=list(angles.values()), v=list(rates.values()))
    run = da.simulate(first, 0.5, start=start, every=0.1, method=tight)
    start = second.state(q=[*p, *place], v=[*omega, *speed])
    other = da.simulate(second, 0.5, start=start, every=0.1, method=tight)
    assert other["z"] == pytest.approx(0.4 * np.cos(run["theta"]), abs=1e-8)
    assert other["x"] == pytest.approx(0.4 * np.sin(run["theta"]) * np.sin(run["psi"]), abs=1e-8)
    # at its lowest, from a guess: the pivot closes
    assert da.assemble(second, guess={"top.e1": 1.0, "top.e0": 0.1})["z"] == pytest.approx(-0.4, abs=0.02)


@pytest.mark.spec("002-B1", "003-C40", "000-01")
def test_force_balances_give_the_reactions_of_every_body_also_in_minimal_coordinates() -> None:
    """A uniform rod on a pivot at rest: the pivot carries m g (1 - ¾ sin²θ) down and ⅜ m g sin 2θ to the side."""
    m, length, theta = 2.0, 1.2, 0.7
    s = System("rod", gravity=(0, -9.81))
    angle = s.coordinate("angle")  # from the vertical, hanging
    along = (da.sin(angle), -da.cos(angle))
    s.add_body("rod", m, m * length**2 / 12, tuple(length / 2 * one for one in along), angle=angle)
    found = newton_euler(s).solve({"angle": theta})
    turned = -1.5 * 9.81 / length * np.sin(theta)
    assert found.acceleration == pytest.approx([turned], rel=1e-13)
    force = found.reactions["rod"]
    expected = [-0.375 * m * 9.81 * np.sin(2 * theta), m * 9.81 * (1 - 0.75 * np.sin(theta) ** 2), 0.0]
    assert force[:3] == pytest.approx(expected, rel=1e-12, abs=1e-12)
    arm = -length / 2 * np.array([np.sin(theta), -np.cos(theta)])
    assert force[5] == pytest.approx(arm[0] * force[1] - arm[1] * force[0], rel=1e-12)  # it acts at the pivot
    assert kane(s).solve({"angle": theta}).reactions == {}


def test_velocities_in_turning_axes_are_for_formalisms_that_start_from_the_kinetic_energy() -> None:
    s = System("turntable")
    x, y = s.coordinates("x y", "m")
    turn = 2.0
    s.add_particle("bead", 0.5, (x, y), velocity=(s.rate(x) - turn * y, s.rate(y) + turn * x))
    state = ({"x": 0.3, "y": 0.2}, {"x": 0.5, "y": -0.4})
    exact = [turn**2 * 0.3 + 2 * turn * -0.4, turn**2 * 0.2 - 2 * turn * 0.5]  # centrifugal and Coriolis
    for formalism in (lagrange, boltzmann_hamel):
        np.testing.assert_allclose(formalism(s).solve(*state).acceleration, exact, rtol=1e-14)
    for refused in (kane, gibbs_appell, virtual_work, newton_euler, gauss):
        with pytest.raises(ModelError) as error:
            refused(s)
        assert error.value.code == "conflicting-arguments" and error.value.where == {"body": "bead"}


def test_a_velocity_may_be_shortened_by_the_rows() -> None:
    s = System("disc on a line", gravity=(0, -9.81))
    x, angle = s.coordinate("x", "m"), s.coordinate("angle", "rad")
    s.constrain(s.rate(x) + 0.3 * s.rate(angle), "roll")
    s.add_body("disc", 2.0, 0.09, (x, 0.3), angle=angle, velocity=(-0.3 * s.rate(angle), 0))
    assert virtual_work(s).solve({}, {"x": 0.3, "angle": -1.0}).acceleration == pytest.approx([0, 0], abs=1e-14)
    s.add_body("hub", 1.0, 0.01, (x, 0.3), angle=angle, angular_velocity=(0, 0, 2 * s.rate(angle)))
    with pytest.raises(ModelError) as error:
        virtual_work(s)
    assert error.value.where == {"body": "hub"}


@pytest.mark.parametrize(("gap", "refused"), [(0.9e-7, False), (1.1e-7, True)])
def test_a_given_velocity_is_the_rate_of_the_place_to_1e_7(gap: float, refused: bool) -> None:
    s = System("bead")
    x = s.coordinate("x", "m")
    s.add_particle("bead", 0.5, (x, 0), velocity=((1.0 + gap) * s.rate(x) + gap, 0))  # wrong by this part of 1 + |v|
    with raises(ModelError, "conflicting-arguments") if refused else nullcontext():
        virtual_work(s)
