"""Text of scalar code: it computes what the interpreter computes, and is the same on every machine."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from dalembert.expressions.machine_code.program import Untranslatable
from dalembert.expressions.source_text import PYTHON, C, read_values, write_values

X, Y = ca.SX.sym("x"), ca.SX.sym("y")
EXPRESSIONS = {
    "sums": X - (Y - X) + (X + Y) - 3,
    "signs": -X * -Y - (-X) + (-2.5) * Y,
    "products": X / (Y * X) * (Y / (X / 3)),
    "powers": (X + Y) ** 2 * (X**2) ** 2 + X**Y + (-X) ** 2 - X**2 + X**3.5,
    "trigonometry": ca.sin(X) * ca.cos(Y) + ca.tan(X) + ca.asin(Y / 9) + ca.acos(Y / 9) + ca.atan(Y) + ca.atan2(X, Y),
    "hyperbolic": ca.sinh(X) + ca.cosh(Y) + ca.tanh(X) + ca.asinh(X) + ca.acosh(2 + Y) + ca.atanh(X / 9),
    "exponents": ca.exp(X) + ca.log(Y) + ca.sqrt(X + Y) + ca.log1p(X) + ca.expm1(Y),
    "rounding": ca.floor(3 * X) + ca.ceil(3 * Y) + ca.fmod(5 * X, Y) + ca.copysign(X, -Y) + ca.hypot(X, Y),
    "branches": ca.if_else(X < Y, X, -Y) + ca.if_else(ca.logic_and(X > 0, Y <= 1), 2, 3) + (X == Y) + (X != Y),
    "logic": ca.if_else(ca.logic_or(ca.logic_not(X > 1), Y > 5), X * Y, 0),
    "extremes": ca.fmin(X, Y) + 2 * ca.fmax(X, Y) + ca.fabs(-X) + ca.sign(X - Y),
    "twice": (X * Y + X) + (X * Y + X) + 1 / (X + Y),
}
POINTS = [(0.3, 1.7), (1.7, 0.3), (0.8, 0.8)]


def texts(expression: Any, language: Any) -> list[str]:
    found = read_values(ca.Function("f", [X, Y], [expression]))
    return write_values(found, language, [["x"], ["y"]], [["result"]])


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_the_text_computes_the_number_of_the_interpreter(name: str) -> None:
    function = ca.Function("f", [X, Y], [EXPRESSIONS[name]])
    program = compile("\n".join(texts(EXPRESSIONS[name], PYTHON)), name, "exec")
    for x, y in POINTS:
        known: dict[str, Any] = {"np": np, "x": np.float64(x), "y": np.float64(y)}
        exec(program, known)
        # some ten operations, each within an ulp
        assert float(known["result"]) == pytest.approx(float(function(x, y)), rel=1e-14)


def test_a_common_part_is_named_once_and_a_single_one_is_written_in_place() -> None:
    common = ca.sin(X) * Y
    assert texts(common + ca.exp(common) + ca.cos(X), PYTHON) == [
        "x1 = np.sin(x)*y",
        "result = x1 + np.exp(x1) + np.cos(x)",
    ]


def test_the_order_of_sums_and_quotients_is_kept() -> None:
    assert texts(X - (Y - 1), PYTHON) == ["result = x - (y - 1)"]
    assert texts(X + (Y + 1), PYTHON) == ["result = x + (y + 1)"]
    assert texts(X / (Y * 3), PYTHON) == ["result = x/(3*y)"]


def test_long_sums_are_cut_into_named_parts() -> None:
    total = sum((ca.sin(k * X) * ca.cos(k * Y) for k in range(2, 40)), ca.SX(0))
    assert max(map(len, texts(total, PYTHON))) < 160


def test_c_declares_its_names() -> None:
    common = ca.sin(X) * Y
    assert texts(common * ca.exp(common), C) == ["const double x1 = sin(x)*y;", "result = x1*exp(x1);"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_constant_that_is_not_finite_has_no_text(value: float) -> None:
    with pytest.raises(Untranslatable):
        texts(X * value, PYTHON)
