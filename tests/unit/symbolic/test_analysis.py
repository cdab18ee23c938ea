"""Linear equations in symbols, Routh's reduction and Noether's theorem, against numbers and closed forms."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from tests.helpers.findings import raises

S = da.symbolic


def spherical():
    s = S.System("spherical pendulum")
    theta, phi = s.coordinate("theta", "rad", drawn=0.8), s.coordinate("phi", "rad")
    m, rod, g = s.parameter("m", 1.3, "kg"), s.parameter("l", 0.9, "m"), s.parameter("g", 9.81, "m/s^2")
    s.set_gravity((0, 0, -g))
    out = rod * da.sin(theta)
    s.add_particle("bob", m, (out * da.cos(phi), out * da.sin(phi), -rod * da.cos(theta)))
    return s


def cart(damped=True):
    s = S.System("cart", gravity=(0, -9.81))
    x, a, b = s.coordinate("x", "m"), s.coordinate("a", "rad"), s.coordinate("b", "rad")
    M, m, rod = s.parameter("M", 2.0, "kg"), s.parameter("m", 0.5, "kg"), s.parameter("l", 0.8, "m")
    push = s.input("push", "N")
    first = (x + rod * da.sin(a), -rod * da.cos(a))
    s.add_particle("cart", M, (x, 0))
    s.add_particle("one", m, first)
    s.add_particle("two", m, (first[0] + rod * da.sin(b), first[1] - rod * da.cos(b)))
    s.add_generalized_force("push", x, push - 0.3 * s.rate(x) if damped else push)
    s.add_potential(s.parameter("k", 40.0, "N/m") * x**2 / 2)
    return s


def test_the_linear_system_in_symbols_has_the_numbers_of_linearize():
    s = cart()
    found = S.linearize(s)
    eqs = da.equations(s)
    numbers = da.linearize(eqs, da.assemble(eqs, {"x": 0.0, "a": 0.0, "b": 0.0}))
    made = found.numbers()
    for name in ("M", "C", "K", "B"):
        np.testing.assert_allclose(getattr(made, name), getattr(numbers, name), atol=1e-9)
    other = found.numbers({"l": 1.6})
    assert other.M[1, 1] == pytest.approx(4 * made.M[1, 1])
    text = found.latex()
    assert "2 l^{2} m" in text and "\\sin" not in text and "M + 2 m" in text


def test_a_conical_pendulum_is_linearized_about_its_steady_motion():
    """θ̈ = sin θ cos θ φ̇² - g/l sin θ: steady at Ω² cos θ₀ = g/l; n² = Ω² (1 + 3 cos² θ₀) with the momentum kept."""
    s = spherical()
    spin = s.parameter("Omega", math.sqrt(9.81 / 0.9 / math.cos(0.8)), "rad/s")
    symbols = s.symbols
    angle = ca.acos(symbols["g"] / (symbols["l"] * spin**2))
    model = S.linearize(s, {"theta": angle}, rates={"phi": spin}).numbers()
    rate, c = 9.81 / 0.9 / math.cos(0.8), math.cos(0.8)
    assert model.modes().frequencies.max() ** 2 == pytest.approx(rate * (1 + 3 * c**2), rel=1e-9)
    with raises(da.errors.ModelError, "not-supported", "theta"):
        S.linearize(s, {"theta": 0.3}, rates={"phi": spin})
    with raises(da.errors.ModelError, "unknown-name"):
        S.linearize(s, {"thet": 0.3})


def test_the_reduced_system_moves_as_the_whole_one():
    s = spherical()
    momentum = 1.3 * 0.9**2 * math.sin(0.8) ** 2 * 2.5
    reduced = S.routh(s, {"phi": momentum})
    whole = S.lagrange(s).solve({"theta": 0.8}, {"theta": 0.4, "phi": 2.5}).acceleration
    alone = S.lagrange(reduced.system).solve({"theta": 0.8}, {"theta": 0.4}).acceleration
    assert alone[0] == pytest.approx(whole[0], rel=1e-12)
    shown = S.to_sympy(reduced.effective_potential)
    expected = momentum**2 / (2 * 1.3 * 0.9**2 * math.sin(0.8) ** 2) - 1.3 * 9.81 * 0.9 * math.cos(0.8)
    values = {"theta": 0.8, "m": 1.3, "l": 0.9, "g": 9.81, "phi.momentum": momentum}
    assert float(shown.subs({one: values[one.name] for one in shown.free_symbols})) == pytest.approx(
        expected, rel=1e-12
    )
    assert "theta.rate" not in {one.name for one in shown.free_symbols}
    with raises(da.errors.ModelError, "not-supported", "theta", "phi"):
        S.routh(s, {"theta": 1.0})


def test_a_top_of_routh_has_gyroscopic_terms_and_inputs_stay():
    """Two cyclic angles of a heavy top leave one coordinate; forces without a potential stay along it."""
    s = S.System("top", gravity=(0, 0, -9.81))
    psi, theta, phi = s.coordinates("psi theta phi", "rad")
    turn = s.rotation("zxz", (psi, theta, phi))
    s.add_body("top", 1.0, [0.5, 0.5, 0.2], turn.matrix @ ca.vertcat(0, 0, 0.3), rotation=turn)
    s.add_generalized_force("drag", theta, s.input("torque", "N m") - 0.7 * s.rate(theta))
    state = ({"theta": 0.6}, {"psi": 1.1, "theta": -0.4, "phi": 20.0})
    spin = 0.2 * (20.0 + 1.1 * math.cos(0.6))
    upright = (0.5 + 0.3**2) * math.sin(0.6) ** 2 * 1.1 + spin * math.cos(0.6)
    reduced = S.routh(s, {"psi": upright, "phi": spin})
    assert reduced.system.coordinate_names == ["theta"]
    whole = S.lagrange(s).solve(*state, inputs={"torque": 0.3}).acceleration[1]
    alone = S.lagrange(reduced.system).solve({"theta": 0.6}, {"theta": -0.4}, inputs={"torque": 0.3}).acceleration[0]
    assert alone == pytest.approx(whole, rel=1e-12)


def kepler():
    s = S.System("Kepler")
    x, y = s.coordinate("x", "m", drawn=1.0), s.coordinate("y", "m")
    mu = s.parameter("mu", 1.0, "m^3/s^2")
    m = s.parameter("m", 2.0, "kg")
    s.add_particle("planet", m, (x, y, 0))
    s.add_potential(-m * mu / da.math.sqrt(x**2 + y**2))
    return s, x, y


def test_a_rotation_that_the_user_names_gives_the_angular_momentum():
    s, x, y = kepler()
    found = S.noether(s, {"x": -y, "y": x}, name="angular momentum")
    derivation = S.lagrange(s)
    run = da.simulate(da.equations(derivation), 3.0, start={"x": 1.0, "y": 0.2, "x.rate": 0.1, "y.rate": 0.9})
    kept = derivation.conserved_along(run, [found])["angular momentum"]
    assert np.abs(kept - 2.0 * (1.0 * 0.9 - 0.2 * 0.1)).max() < 1e-7  # tolerances of the run: 1e-9 a step
    with raises(da.errors.ModelError, "not-supported"):
        S.noether(s, {"x": 1.0})


def test_a_moving_frame_needs_its_gauge():
    """Free particle, x → x + ε t: p t - m x is kept."""
    s = S.System("free")
    x, m = s.coordinate("x", "m"), s.parameter("m", 2.0, "kg")
    s.add_particle("p", m, (x, 0, 0))
    with raises(da.errors.ModelError, "not-supported"):
        S.noether(s, {"x": s.t})
    boost = S.noether(s, {"x": s.t}, gauge=m * x, name="boost")
    derivation = S.lagrange(s)
    run = da.simulate(da.equations(derivation), 2.0, start={"x": 0.5, "x.rate": 0.7})
    np.testing.assert_allclose(derivation.conserved_along(run, [boost])["boost"], -1.0, atol=1e-9)


def test_a_force_along_a_symmetry_breaks_it():
    s, x, y = kepler()
    s.add_generalized_force("drag", x, -0.1 * s.rate(x))
    with raises(da.errors.ModelError, "not-supported"):
        S.noether(s, {"x": -y, "y": x})


def test_the_effective_potential_of_a_heavy_top_reads_as_in_books():
    """Goldstein (2002), eq. 5.60: V_eff = (p_ψ - p_φ cos θ)²/(2 A sin² θ) + p_φ²/(2 C) + m g l cos θ."""
    s = S.System("top")
    psi, theta, phi = s.coordinates("psi theta phi", "rad")
    A, C, m, arm, g = (s.parameter(name, 1.0) for name in ("A", "C", "m", "l", "g"))
    s.set_gravity((0, 0, -g))
    turn = s.rotation("zxz", (psi, theta, phi))
    s.add_body("top", m, ca.diag(ca.vertcat(A, A, C)), (0, 0, 0), rotation=turn)
    s.add_potential(m * g * arm * da.cos(theta))
    reduced = S.routh(s, {"psi": 0.1, "phi": 0.2})
    potential, rate, _ = reduced.latex().splitlines()[1:-1]
    assert potential.count("frac") == 4  # the square in full, and p_φ²/(2 C)
    assert (
        rate
        == r"\dot{\psi} &= \frac{- p_{\phi} \cos{\left(\theta \right)} + p_{\psi}}{A \sin^{2}{\left(\theta \right)}} \\"
    )
    assert "M &= A" in S.lagrange(reduced.system).latex()
    assert "without psi, phi" in repr(reduced) and "SX(" not in repr(reduced) + repr(S.linearize(s, {"theta": 0}))
