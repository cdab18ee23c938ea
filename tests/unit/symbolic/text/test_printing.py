"""Names in LaTeX and Python text of expressions."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from dalembert.symbolic.text.printing import count_operations, equations_in_latex, latex_name, python_function

SX = ca.SX


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x", "x"), ("theta", r"\theta"), ("Omega", r"\Omega"), ("m1", "m_{1}"), ("m_1", "m_{1}"),
        ("l_ab", r"l_{\mathrm{ab}}"), ("I_xx", "I_{xx}"), ("Alpha", r"\mathrm{Alpha}"), ("OMEGA", r"\mathrm{OMEGA}"),
        ("theta.rate", r"\dot{\theta}"), ("theta.acceleration", r"\ddot{\theta}"), ("x.derivative3", "x^{(3)}"),
        ("theta.momentum", r"p_{\theta}"), ("rod.mass", r"\mathrm{mass}_{\mathrm{rod}}"),
        ("rod.x.rate", r"\dot{x}_{\mathrm{rod}}"), ("rod.vx", r"\dot{x}_{\mathrm{rod}}"),
        ("crank.angle.acceleration", r"\ddot{\theta}_{\mathrm{crank}}"), ("bob.wx", r"\omega_{x, \mathrm{bob}}"),
        ("line_mass", r"\mathrm{line\_mass}"), ("bob.e0", r"e_{0, \mathrm{bob}}"),
        ("torque", r"\mathrm{torque}"), ("100 %", r"\mathrm{100\ \%}"), ("_x", r"\mathrm{\_x}"),
    ],
)  # fmt: skip
def test_a_name_has_its_latex(name: str, expected: str) -> None:
    assert latex_name(name) == expected


def test_python_text_of_every_operation_gives_the_numbers_of_the_graph() -> None:
    x, y = SX.sym("x"), SX.sym("y")
    expressions = [
        -x, x + y, x - y, x * y, x / y, x**2, 2 * x, 1 / x, x**y, x**3, ca.exp(x), ca.log(x), ca.sqrt(x), ca.sin(x),
        ca.cos(x), ca.tan(x), ca.asin(x), ca.acos(x), ca.atan(x), ca.sinh(x), ca.cosh(x), ca.tanh(x), ca.asinh(x),
        ca.acosh(1 + x), ca.atanh(x), ca.fabs(x), ca.sign(-x), ca.floor(5 * x), ca.ceil(5 * x), ca.erf(x), ca.log1p(x),
        ca.expm1(x), ca.fmin(x, y), ca.fmax(x, y), ca.atan2(x, y), ca.hypot(x, y), ca.fmod(5 * x, y),
        ca.copysign(x, -y),
        x < y, x <= y, x == y, x != y, ca.logic_and(x < y, x > 0), ca.logic_or(x < y, x < 0), ca.logic_not(x < y),
        ca.if_else(x < y, x, y), ca.remainder(5 * x, y), SX(-2.5) + 0 * x,
    ]  # fmt: skip
    column = ca.vertcat(*expressions)
    text = python_function("evaluate", {"q": [x, y]}, {"column": column}, "All of them.")
    space: dict[str, Any] = {"math": __import__("math")}
    exec(text, space)
    for point in ([0.3, 0.7], [0.9, 0.2]):
        expected = np.array(ca.Function("f", [x, y], [column])(*point))[:, 0]
        assert np.allclose(space["evaluate"](point), expected, rtol=1e-15, atol=0)


def test_operations_are_counted_without_inputs_and_constants() -> None:
    x = SX.sym("x")
    y = ca.sin(x)
    assert count_operations([y + 1, y * 2]) == 3 and count_operations([]) == 0


def test_short_equations_have_no_names_for_parts() -> None:
    x = SX.sym("x")
    assert equations_in_latex([("y", ca.sin(x) ** 2)]) == [r"y = \sin^{2}{\left(x \right)}"]


def test_a_matrix_too_wide_to_read_is_shown_by_its_entries() -> None:
    x = SX.sym("x")
    wide = SX(2, 20)
    wide[1, 17] = 3 * x
    assert equations_in_latex([("A", wide)])[0] == "A_{2, 18} = 3 x"
    assert len(equations_in_latex([("A", wide)])) == 2
