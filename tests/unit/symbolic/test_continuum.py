"""Field equations and ends of one-dimensional continua, against the equations of textbooks."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from sympy.calculus.euler import euler_equations

from dalembert.errors import ModelError
from dalembert.symbolic import Continuum, field_equation, to_sympy

x, t = sympy.symbols("x t", real=True)


def symbol(name: str) -> Any:
    return sympy.Symbol(name, real=True)


def same(found: Any, expected: Any) -> bool:
    return bool(sympy.simplify(to_sympy(found) - expected) == 0)


@pytest.mark.spec("000-22")
def test_a_beam_under_axial_load_on_an_elastic_bed_has_its_equation_and_ends() -> None:
    """μ ẅ + (EI w'')'' + (P w')' + k w = f, shear -(EI w'')' - P w', moment EI w''."""
    c = Continuum("beam")
    EI, mu, P, k = (c.parameter(name) for name in ("EI", "mu", "P", "k"))
    found = field_equation(
        c, kinetic=mu * c.rate**2 / 2, potential=EI * c.curvature**2 / 2 - P * c.slope**2 / 2 + k * c.w**2 / 2,
        load=c.x * c.t,
    )  # fmt: skip
    w = {n: symbol(n) for n in ("w", "w_x", "w_xx", "w_xxx", "w_xxxx", "w_tt")}
    ei, m, p, bed = (symbol(name) for name in ("EI", "mu", "P", "k"))
    assert same(found.field, m * w["w_tt"] + ei * w["w_xxxx"] + p * w["w_xx"] + bed * w["w"] - x * t)
    assert same(found.shear, -ei * w["w_xxx"] - p * w["w_x"])
    assert same(found.moment, ei * w["w_xx"])
    assert "w_{" in found.latex() and "\\delta w' &= 0" in found.latex()


@pytest.mark.spec("000-22")
def test_a_tapered_beam_differentiates_its_section_too() -> None:
    c = Continuum("taper")
    stiffness = (1 + c.x) ** 3
    found = field_equation(c, kinetic=(1 + c.x) * c.rate**2 / 2, potential=stiffness * c.curvature**2 / 2)
    w = sympy.Function("w")(x, t)
    expected = (1 + x) * w.diff(t, 2) + ((1 + x) ** 3 * w.diff(x, 2)).diff(x, 2)
    shape = sympy.sin(2 * x) * sympy.exp(-t)
    names = {f"w_{'x' * i}{'t' * j}" if i + j else "w": shape.diff(x, i).diff(t, j) if i + j else shape
             for i in range(5) for j in range(3)}  # fmt: skip
    value = to_sympy(found.field).subs({symbol(name): one for name, one in names.items()})
    assert sympy.simplify(value - expected.subs(w, shape).doit()) == 0


@pytest.mark.spec("000-22")
def test_a_string_a_rod_and_a_beam_with_rotary_inertia_have_their_equations() -> None:
    c = Continuum("string")
    tension, mu = c.parameter("F"), c.parameter("mu")
    string = field_equation(c, kinetic=mu * c.rate**2 / 2, potential=tension * c.slope**2 / 2)
    assert "\\delta w'" not in string.latex() and "w_{xx}" in string.latex()  # a string has no moment
    assert same(string.field, symbol("mu") * symbol("w_tt") - symbol("F") * symbol("w_xx"))
    assert same(string.shear, symbol("F") * symbol("w_x")) and same(string.moment, 0)
    r = Continuum("Rayleigh")
    EI, m, rho = r.parameter("EI"), r.parameter("mu"), r.parameter("r")
    beam = field_equation(r, kinetic=m * r.rate**2 / 2 + m * rho**2 * r.field(1, 1) ** 2 / 2,
                          potential=EI * r.curvature**2 / 2)  # fmt: skip
    inertia = symbol("mu") * symbol("r") ** 2
    assert same(
        beam.field, symbol("mu") * symbol("w_tt") + symbol("EI") * symbol("w_xxxx") - inertia * symbol("w_xxtt")
    )
    assert same(beam.shear, -symbol("EI") * symbol("w_xxx") + inertia * symbol("w_xtt"))


@pytest.mark.spec("000-22")
def test_kinetic_energy_of_the_field_and_of_its_slope_has_its_forces() -> None:
    """A travelling string, μ (w_tt + 2 c w_xt + c² w_xx) - F w_xx, and a turning beam with the softening -μ Ω² w."""
    s = Continuum("string")
    F, mu, speed = (s.parameter(name) for name in ("F", "mu", "c"))
    found = field_equation(s, kinetic=mu * (s.rate + speed * s.slope) ** 2 / 2, potential=F * s.slope**2 / 2)
    m, c, f, tt, xt, xx = (symbol(name) for name in ("mu", "c", "F", "w_tt", "w_xt", "w_xx"))
    assert same(found.field, m * (tt + 2 * c * xt + c**2 * xx) - f * xx)
    assert same(found.shear, f * symbol("w_x") - m * c * (symbol("w_t") + c * symbol("w_x")))
    b = Continuum("blade")
    EI, mu, turn = (b.parameter(name) for name in ("EI", "mu", "Omega"))
    found = field_equation(b, kinetic=mu * (b.rate**2 + turn**2 * b.w**2) / 2, potential=EI * b.curvature**2 / 2)
    assert same(found.field, m * (tt - symbol("Omega") ** 2 * symbol("w")) + symbol("EI") * symbol("w_xxxx"))


@pytest.mark.spec("000-22")
def test_a_field_equation_is_that_of_the_calculus_of_variations() -> None:
    """Densities with every argument of the general form, against the Euler-Lagrange equations of SymPy."""
    c = Continuum("general")
    w, rate, slope, curvature = c.w, c.rate, c.slope, c.curvature
    kinetic = (1 + c.x) * rate**2 / 2 + c.t * w * rate * slope + slope**2 * w / 4 + c.x * w**3
    potential = (2 - c.x) * curvature**2 / 2 + w * slope**2 / 2 + c.t * w * curvature + w**4 / 4
    load = c.x * c.t**2
    field = sympy.Function("w")(x, t)
    place = {c.field(i, j).name(): field.diff(x, i).diff(t, j) if i + j else field for i in range(5) for j in range(3)}
    density = to_sympy(kinetic - potential + load * w).subs({symbol(name): one for name, one in place.items()})
    expected = euler_equations(density, field, [x, t])[0].lhs
    found = to_sympy(field_equation(c, kinetic=kinetic, potential=potential, load=load).field)
    gap = found.subs({symbol(name): one for name, one in place.items()}) + expected
    assert sympy.expand(gap.doit()) == 0


def test_a_large_deflection_keeps_its_nonlinear_terms() -> None:
    c = Continuum("string")
    found = field_equation(c, kinetic=c.rate**2 / 2, potential=c.slope**4 / 4)
    assert same(found.field, symbol("w_tt") - 3 * symbol("w_x") ** 2 * symbol("w_xx"))


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda c: field_equation(c, kinetic=c.rate**2, potential=c.field(3) ** 2), "foreign-symbol"),
        (lambda c: field_equation(c, kinetic=c.curvature**2, potential=c.slope**2), "foreign-symbol"),
        (lambda c: field_equation(c, kinetic=sympy.Symbol("q"), potential=c.slope**2), "unknown-name"),
        (lambda c: c.parameter("x"), "taken-name"),
    ],
)
def test_a_mistake_in_an_energy_is_named(make: Any, code: str) -> None:
    with pytest.raises(ModelError) as caught:
        make(Continuum("field"))
    assert caught.value.code == code and "symbol" in caught.value.where
