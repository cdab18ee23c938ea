"""Normal forms of text: unique, quick, equal to the graph; textbook systems read as in their books by default."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.symbolic import System, from_sympy, hamilton, lagrange
from dalembert.symbolic.text.normal_form import normal_form

x, y, a, b = (ca.SX.sym(name) for name in ("x", "y", "a", "b"))


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (0.3 * ca.sin(x) ** 2 + 0.1 * ca.cos(x) ** 2 + 0.2 * ca.cos(x) ** 2, "0.3"),
        (a * ca.sin(x) ** 2 + b * ca.cos(x) ** 2, "a*sin(x)**2 + b*cos(x)**2"),
        (ca.cos(x) * ca.cos(y) + ca.sin(x) * ca.sin(y), "cos(x - y)"),
        (a * ca.cos(x) * ca.cos(y) - a * ca.sin(x) * ca.sin(y), "a*cos(x + y)"),
        (ca.sin(x) * ca.cos(y) - ca.cos(x) * ca.sin(y), "sin(x - y)"),
        (0.1 * x + 0.2 * x - 0.3 * x, "0"),
        ((x + y) * (x - y) + y**2, "x**2"),
        (ca.sin(-x) + ca.sin(x), "0"),
        (x / (a + b) - x / (b + a), "0"),
        (1e-9 * x + 1e9 * y, "1.0e-9*x + 1000000000*y"),
    ],
)
def test_forms_are_short(given, shown):
    assert normal_form(given, 1000) == sympy.sympify(shown, {n: sympy.Symbol(n, real=True) for n in "xyab"})


def test_a_form_has_the_value_of_its_graph():
    symbols = {one.name(): one for one in (x, y, a, b)}
    terms = [ca.sin(x - 2 * y) ** 3 * ca.exp(a * b) / (a + b * ca.cos(y)), ca.sqrt(x**2 + a) * (x + y) ** 4 / x,
             ca.if_else(x > y, a, b * ca.tan(x)) + ca.fabs(y) * 0.37, ca.atan2(a, b + ca.sin(x) ** 2)]  # fmt: skip
    column = ca.vertcat(*terms)
    form = normal_form(column, 10_000)
    both = ca.Function("both", [x, y, a, b], [column, from_sympy(form, symbols)])
    for point in np.random.default_rng(0).uniform(0.2, 1.4, (20, 4)):
        one, two = (np.array(value) for value in both(*point))
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_the_bound_counts_products():
    factors = ca.vertcat(*((x + k) * (y + k) for k in range(1, 8)))
    big = ca.SX(1)
    for factor in ca.vertsplit(factors):
        big = big * factor
    assert normal_form(big, 50) is None
    assert normal_form(big, 50_000) is not None


def hoop():
    s = System("hoop")
    theta = s.coordinate("theta", "rad", drawn=0.3)
    m, R = s.parameter("m", 1.0, "kg"), s.parameter("R", 0.5, "m")
    spin, g = s.parameter("Omega", 3.0, "rad/s"), s.parameter("g", 9.81, "m/s^2")
    s.set_gravity((0, 0, -g))
    out = R * da.sin(theta)
    s.add_particle("bead", m, (out * da.cos(spin * s.t), out * da.sin(spin * s.t), -R * da.cos(theta)))
    return s


def top():
    s = System("top", gravity=(0, 0, -9.81))
    angles = s.coordinates("psi theta phi", "rad")
    m, rod = s.parameter("m", 1.0, "kg"), s.parameter("l", 0.5, "m")
    A, C = s.parameter("A", 0.5, "kg m^2"), s.parameter("C", 0.2, "kg m^2")
    turn = s.rotation("zxz", angles)
    s.add_body("top", m, [A, A, C], turn.matrix @ ca.vertcat(0, 0, rod), rotation=turn)
    return s


def expression(text):
    names = ("m", "R", "Omega", "g", "theta", "psi", "phi", "l", "A", "C", "M", "p_theta", "p_psi", "p_phi", "p_x")
    known = {
        name: sympy.Symbol(name.removeprefix("p_") + ".momentum" * name.startswith("p_"), real=True) for name in names
    }
    return sympy.sympify(text, known)


def test_the_default_text_of_the_hoop_is_that_of_its_textbook():
    shown = lagrange(hoop()).readable
    assert shown["M"] == expression("R**2*m")
    assert shown["f"] == expression("R*m*(Omega**2*R*cos(theta) - g)*sin(theta)")
    assert shown["h"].free_symbols.isdisjoint({sympy.Symbol("t", real=True)})


def test_the_default_text_of_the_top_is_that_of_its_textbook():
    shown = lagrange(top()).readable
    assert shown["M"][0, 0] == expression("A*sin(theta)**2 + C*cos(theta)**2 + l**2*m*sin(theta)**2")
    assert shown["M"][1:, :] == expression("Matrix([[0, A + l**2*m, 0], [C*cos(theta), 0, C]])")
    canonical = hamilton(top())
    H = expression(
        "(p_psi - p_phi*cos(theta))**2/(2*(A + l**2*m)*sin(theta)**2) + p_theta**2/(2*(A + l**2*m)) + p_phi**2/(2*C)"
        " + 9.81*l*m*cos(theta)"
    )
    assert sympy.simplify(canonical.readable["H"] - H) == 0
    assert canonical.readable["H"].count_ops() < 2 * H.count_ops()  # without fractions of fractions: not cut up
    assert "x_{" not in canonical.markdown()


def test_hamiltons_function_of_a_pendulum_on_a_cart_is_that_of_its_textbook():
    s = System("cart")
    s.set_gravity((0, -s.parameter("g", 9.81, "m/s^2")))
    M, m, rod = s.parameter("M", 2.0, "kg"), s.parameter("m", 0.5, "kg"), s.parameter("l", 0.8, "m")
    place, angle = s.coordinate("x", "m"), s.coordinate("theta", "rad")
    s.add_particle("cart", M, (place, 0))
    s.add_particle("bob", m, (place + rod * da.sin(angle), -rod * da.cos(angle)))
    assert lagrange(s).readable["M"] == expression("Matrix([[M + m, l*m*cos(theta)], [l*m*cos(theta), l**2*m]])")
    # Goldstein's form: one fraction over the determinant of M
    kinetic = "(l**2*m*p_x**2 - 2*l*m*p_x*p_theta*cos(theta) + (M + m)*p_theta**2)/(2*l**2*m*(M + m*sin(theta)**2))"
    assert sympy.expand(hamilton(s).readable["H"] - expression(f"{kinetic} - g*l*m*cos(theta)")) == 0


PAN_TILT = """<robot name="pantilt"><link name="base"/>
<link name="pan"><inertial><origin xyz="0.01 0 0.05"/><mass value="1.2"/>
<inertia ixx="0.012" iyy="0.015" izz="0.009" ixy="0" ixz="0.001" iyz="0"/></inertial></link>
<link name="tilt"><inertial><origin xyz="0.1 0 0.02" rpy="0 0.2 0"/><mass value="0.8"/>
<inertia ixx="0.005" iyy="0.015" izz="0.012" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="p" type="revolute"><parent link="base"/><child link="pan"/><origin xyz="0 0 0.1"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="5" velocity="5"/></joint>
<joint name="t" type="revolute"><parent link="pan"/><child link="tilt"/><origin xyz="0 0 0.1"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="5" velocity="5"/></joint></robot>"""


def test_a_machine_with_numbers_prints_in_five_lines_without_its_cyclic_coordinate(tmp_path):
    file = tmp_path / "pantilt.urdf"
    file.write_text(PAN_TILT)
    d = da.symbolic.from_mechanism(da.read_urdf(file), "lagrange")
    assert len(d.latex().splitlines()) == 5
    pan = sympy.Symbol("p.angle", real=True)
    for one in d.readable.values():
        assert pan not in one.free_symbols
    tilt = sympy.Symbol("t.effort", real=True)
    assert tilt not in d.readable["f"][0].free_symbols and tilt in d.readable["f"][1].free_symbols
    assert d.simplify(progress=False).left == ()
    few = d.simplify(operations=1, progress=False)
    assert {"M", "f"} <= set(few.left)
