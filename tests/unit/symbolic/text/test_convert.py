"""Conversion between the expression graph and SymPy, both ways, on every function that both know."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import MissingExtraError, ModelError
from dalembert.symbolic.text.convert import from_sympy, number, to_sympy, to_sympy_shared
from tests.helpers.findings import raises

SX = ca.SX
X, Y = SX.sym("x"), SX.sym("y")
x, y = sympy.Symbol("x", real=True), sympy.Symbol("y", real=True)
POINTS = [(0.3, 0.7), (0.9, -0.4), (-0.6, 0.8), (-0.25, -0.9), (0.5, 0.5)]
LARGE = [(1.7, 0.6), (2.4, 1.1), (1.2, 3.3)]  # where the inverse hyperbolic cosine and logarithms are real
# a function of the graph may be written with two or three functions of SymPy: each is within an ulp
TOLERANCE = 4e-15

GRAPH: dict[str, tuple[Any, Any]] = {
    "neg": (-X, POINTS), "exp": (ca.exp(X), POINTS), "log": (ca.log(X), LARGE), "sqrt": (ca.sqrt(X), LARGE),
    "square": (X**2, POINTS), "twice": (X + X, POINTS), "inverse": (1 / X, POINTS), "sin": (ca.sin(X), POINTS),
    "cos": (ca.cos(X), POINTS), "tan": (ca.tan(X), POINTS), "asin": (ca.asin(X), POINTS), "acos": (ca.acos(X), POINTS),
    "atan": (ca.atan(X), POINTS), "sinh": (ca.sinh(X), POINTS), "cosh": (ca.cosh(X), POINTS),
    "tanh": (ca.tanh(X), POINTS), "asinh": (ca.asinh(X), POINTS), "acosh": (ca.acosh(X), LARGE),
    "atanh": (ca.atanh(X), POINTS), "abs": (ca.fabs(X), POINTS), "sign": (ca.sign(X), POINTS),
    "floor": (ca.floor(3 * X), POINTS), "ceil": (ca.ceil(3 * X), POINTS), "erf": (ca.erf(X), POINTS),
"log1p": (ca.log1p(X), POINTS), "expm1": (ca.expm1(X), POINTS),
    "add": (X + Y, POINTS), "sub": (X - Y, POINTS), "mul": (X * Y, POINTS), "div": (X / Y, POINTS),
    "pow": (X**Y, LARGE),
    "constant power": (X**2.5, LARGE), "cube": (X**3, POINTS), "power -2": (X**-2, POINTS),
    "min": (ca.fmin(X, Y), POINTS), "max": (ca.fmax(X, Y), POINTS), "atan2": (ca.atan2(X, Y), POINTS),
    "hypot": (ca.hypot(X, Y), POINTS), "fmod": (ca.fmod(5 * X, Y), POINTS), "copysign": (ca.copysign(X, Y), POINTS),
    "less": (X < Y, POINTS), "at most": (X <= Y, POINTS), "equal": (X == Y, POINTS), "other": (X != Y, POINTS),
    "and": (ca.logic_and(X < Y, X > 0), POINTS), "or": (ca.logic_or(X < Y, X > 0), POINTS),
    "not": (ca.logic_not(X < Y), POINTS), "where": (ca.if_else(X < Y, X**2, ca.sin(Y)), POINTS),
    "where of a number": (ca.if_else(ca.floor(X), X, Y), POINTS),
    "table": (da.math.table([0, 1, 2], [0, 1, 1])(X), POINTS),
    "condition as a number": (3 * (X < Y) + (X < 0.4), POINTS), "constants": (9.81 * X + ca.pi / 3 + 0.1, POINTS),
}  # fmt: skip


def values(expression: Any, points: Any) -> np.ndarray:
    f = ca.Function("f", [X, Y], [expression])
    return np.array([float(f(a, b)) for a, b in points])


@pytest.mark.parametrize("name", GRAPH)
def test_an_operation_of_the_graph_keeps_its_values_through_sympy_and_back(name: str) -> None:
    expression, points = GRAPH[name]
    shown = to_sympy(expression)
    expected = values(expression, points)
    direct = np.array([float(shown.subs({x: a, y: b})) for a, b in points])
    assert np.allclose(direct, expected, rtol=TOLERANCE, atol=TOLERANCE)
    assert np.allclose(values(from_sympy(shown, {"x": X, "y": Y}), points), expected, rtol=TOLERANCE, atol=TOLERANCE)


SYMPY: dict[str, Any] = {
    "cot": sympy.cot(x), "sec": sympy.sec(x), "csc": sympy.csc(x), "acot": sympy.acot(x), "coth": sympy.coth(x),
    "sech": sympy.sech(x), "csch": sympy.csch(x), "acsch": sympy.acsch(x), "sinc": sympy.sinc(x),
    "frac": sympy.frac(3 * x), "mod": sympy.Mod(5 * x, y), "erfc": sympy.erfc(x), "Heaviside": sympy.Heaviside(x - 0.3),
    "piecewise": sympy.Piecewise((x, x < -0.5), (y, x < 0.4), (x * y, True)), "min of three": sympy.Min(x, y, 0.1),
    "max of three": sympy.Max(x, y, 0.1),
    "and": sympy.Piecewise((1, (x > 0) & (y > 0)), (2, (x > 0) | (y > 0)), (3, True)),
    "power 3/2": (x + 2) ** sympy.Rational(3, 2), "power -1/2": (x + 2) ** sympy.Rational(-1, 2),
    "power -3": (x + 2) ** -3, "rational": sympy.Rational(1, 3) * x, "e": sympy.E * x, "pi": sympy.pi * x,
    "golden": sympy.GoldenRatio * x, "ite": sympy.Piecewise((x, sympy.ITE(x > 0, y > 0, y < 0)), (y, True)),
}  # fmt: skip


@pytest.mark.parametrize("name", SYMPY)
def test_a_function_of_sympy_has_its_values_in_the_graph(name: str) -> None:
    expression = SYMPY[name]
    expected = [float(expression.subs({x: sympy.Float(a, 30), y: sympy.Float(b, 30)}).evalf(25)) for a, b in POINTS]
    assert np.allclose(
        values(from_sympy(expression, {"x": X, "y": Y}), POINTS), expected, rtol=TOLERANCE, atol=TOLERANCE
    )


def test_numbers_are_kept_to_the_last_bit_and_short_ones_are_exact() -> None:
    random = np.random.default_rng(0)
    for value in [*random.normal(size=50), *(10.0 ** random.uniform(-300, 300, 20)), 0.1, 2 / 3, 1e300]:
        assert float(number(value)) == value
    assert (number(0.5), number(-3.0), number(0.375)) == (sympy.Rational(1, 2), -3, sympy.Rational(3, 8))
    assert (number(np.pi), number(np.pi / 3), number(-2 * np.pi)) == (sympy.pi, sympy.pi / 3, -2 * sympy.pi)


def test_a_choice_is_shown_as_one_piecewise() -> None:
    shown = to_sympy(da.where(X < Y, X**2, da.sin(Y)))
    assert shown == sympy.Piecewise((x**2, x < y), (sympy.sin(y), True))


def test_common_subexpressions_are_named_and_give_the_expression_back() -> None:
    part = ca.sin(X) * Y + X
    f = [part**2 + ca.exp(part), part / (1 + part**2)]
    shared = to_sympy_shared(f, "x")
    names = [str(symbol) for symbol, _ in shared.definitions]
    assert names and "x" not in names and len(set(names)) == len(names)
    for result, expected in zip(shared.results, f, strict=True):
        for symbol, definition in reversed(shared.definitions):
            result = result.subs(symbol, definition)
        assert sympy.simplify(result - to_sympy(expected)) == 0


def test_a_matrix_keeps_its_shape_both_ways() -> None:
    M = SX(2, 3)
    M[0, 1], M[1, 2] = X, ca.sin(Y)
    shown = to_sympy(M)
    assert shown.shape == (2, 3) and shown[0, 1] == x and shown[0, 0] == 0
    back = from_sympy(shown, {"x": X, "y": Y})
    assert back.shape == (2, 3) and float(ca.Function("f", [X, Y], [back])(0.2, 0.3)[0, 1]) == 0.2


def test_functions_of_time_and_their_derivatives_are_coordinates_rates_and_accelerations() -> None:
    t = sympy.Symbol("t")
    theta = sympy.Function("theta")(t)
    names = {name: SX.sym(name) for name in ("theta", "theta.rate", "theta.acceleration", "t")}
    found = from_sympy(theta.diff(t, 2) + 2 * theta.diff(t) + 3 * theta + t, names)
    f = ca.Function("f", list(names.values()), [found])
    assert float(f(1, 10, 100, 1000)) == 100 + 20 + 3 + 1000


def test_the_inverse_error_function_is_that_of_both() -> None:
    f = ca.Function("f", [X], [ca.erfinv(X), from_sympy(sympy.erfinv(x), {"x": X})])
    found = [[float(one) for one in f(a)] for a, _ in POINTS]
    shown = [float(to_sympy(ca.erfinv(X)).subs(x, a)) for a, _ in POINTS]
    assert all(one == two for one, two in found)
    assert np.allclose([one for one, _ in found], shown, rtol=1e-7)  # the graph evaluates a rational approximation


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: from_sympy(sympy.gamma(x), {"x": X}), "gamma"),
        (lambda: from_sympy(sympy.besselj(0, x), {"x": X}), "besselj"),
        (lambda: from_sympy(sympy.I * x, {"x": X}), "I"),
        (lambda: from_sympy(sympy.Integral(sympy.exp(-(x**2)), x), {"x": X}), "Integral"),
        (lambda: from_sympy(sympy.Derivative(sympy.Function("g")(x), x), {"x": X}), "g"),
        (lambda: to_sympy(ca.remainder(X, Y)), "remainder"),
    ],
)
def test_a_function_without_a_counterpart_is_named(make: Callable[[], Any], named: str) -> None:
    with pytest.raises(ModelError) as caught:
        make()
    assert (caught.value.code, caught.value.where["function"]) == ("not-supported", named)


def test_an_unknown_symbol_is_named() -> None:
    with pytest.raises(ModelError) as caught:
        from_sympy(sympy.Symbol("w") + x, {"x": X})
    assert (caught.value.code, caught.value.where["symbol"]) == ("unknown-name", "w")


def test_without_sympy_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    with raises(MissingExtraError, "missing-extra", "dalembert[symbolic]"):
        to_sympy(X)


def test_equations_of_a_machine_and_of_symbols_do_not_load_sympy() -> None:
    program = """
import sys
import dalembert as da
m = da.Mechanism("pendulum", planar=True)
rod = m.add_body("rod", mass=1.0, inertia=0.1)
m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0))
da.equations(m)
s = da.symbolic.System("point")
x = s.coordinate("x")
s.add_particle("m", 1.0, (x, 0))
assert "sympy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
