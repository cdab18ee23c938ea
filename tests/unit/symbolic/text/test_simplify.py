"""Simplification ends within its bounds and says what it left."""

from __future__ import annotations

import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError
from dalembert.symbolic import System, lagrange, to_sympy
from dalembert.symbolic.text.simplify import simplify_expression


def double_pendulum() -> System:
    s = System("double pendulum", gravity=(0, -9.81))
    a, b = s.coordinates("a b", "rad")
    m, rod = s.parameter("m", 1.0, "kg"), s.parameter("l", 1.0, "m")
    one = (rod * da.sin(a), -rod * da.cos(a))
    s.add_particle("one", m, one)
    s.add_particle("two", m, (one[0] + rod * da.sin(b), one[1] - rod * da.cos(b)))
    return s


def test_the_mass_matrix_of_a_double_pendulum_becomes_the_one_of_textbooks() -> None:
    d = lagrange(double_pendulum()).simplify(progress=False)
    m, rod, a, b = (sympy.Symbol(name, real=True) for name in ("m", "l", "a", "b"))
    c = m * rod**2 * sympy.cos(a - b)
    assert d.shown["M"] == sympy.Matrix([[2 * m * rod**2, c], [c, m * rod**2]]) and d.left == ()
    assert "1.0" not in d.latex()
    exact = to_sympy(d.f)
    values = {a: 0.3, b: -0.8, m: 1.3, rod: 0.7, sympy.Symbol("a.rate", real=True): 0.4,
              sympy.Symbol("b.rate", real=True): -1.1}  # fmt: skip
    gap = (d.shown["f"] - exact).subs(values)
    assert max(abs(float(one)) for one in gap) < 1e-13


def test_what_is_beyond_a_bound_is_left_and_named() -> None:
    d = lagrange(double_pendulum())
    few = d.simplify(operations=3, progress=False)
    assert {"T", "V", "M", "f"} <= set(few.left) and "M" not in few.shown
    assert "Not simplified, because of the bounds: " in few.markdown()


def test_progress_goes_from_zero_to_one() -> None:
    seen: list[float] = []
    lagrange(double_pendulum()).simplify(operations=5, progress=seen.append)
    assert seen[0] == 0.0 and seen[-1] == 1.0 and seen == sorted(seen)


def test_numbers_with_a_decimal_point_stay_where_they_are() -> None:
    x, y = sympy.symbols("x y", real=True)
    found = simplify_expression(9.81 * x * sympy.sin(y) ** 2 + 9.81 * x * sympy.cos(y) ** 2)
    assert found == sympy.Float(9.81) * x


def test_a_bound_that_is_not_positive_is_refused() -> None:
    with pytest.raises(ModelError) as caught:
        lagrange(double_pendulum()).simplify(operations=0)
    assert caught.value.code == "not-positive"
