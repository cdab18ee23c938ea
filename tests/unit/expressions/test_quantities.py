"""Equations through pools, quantities and functions that work on every kind of number."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.equations import State
from dalembert.expressions import Quantity, call_user, of_time, table
from dalembert.expressions.quantities import is_real
from tests.helpers.findings import raises

FUNCTIONS = ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "sign"]
PAIRS = ["atan2", "minimum", "maximum"]


# --- equations through pools -------------------------------------------------------------------------------------


def pendulum() -> da.EquationsOfMotion:
    m = da.Mechanism("pendulum", planar=True)
    length = m.parameter("length", 1.0)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-length / 2, 0))
    return da.equations(m)


def swing(work: tuple[da.EquationsOfMotion, State, float]) -> float:
    eqs, start, length = work
    eqs = eqs.replace(length=length)
    start = da.assemble(eqs, {"hinge": start["hinge.angle"]})
    return float(da.simulate(eqs, 0.2, start=start, method=da.RK4(1e-3))["hinge.angle"][-1])


def test_equations_and_states_go_through_a_process_pool() -> None:
    eqs = pendulum()
    start = da.assemble(eqs, {"hinge": 0.3})
    work = [(eqs, start, length) for length in (0.8, 1.2)]
    here = [swing(w) for w in work]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        there = list(pool.map(swing, work))
    assert there == here
    assert here[0] != here[1]


def test_threads_do_not_share_buffers() -> None:
    eqs = pendulum()
    start = da.assemble(eqs, {"hinge": 0.3})
    lengths = np.linspace(0.5, 1.5, 12)
    alone = [swing((eqs, start, x)) for x in lengths]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(swing, [(eqs, start, x) for x in lengths]))
    assert together == alone


# --- quantities ----------------------------------------------------------------------------------------------------


def test_arithmetic_on_parameters_gives_the_value_and_the_expression() -> None:
    a, b = Quantity.parameter("a", 3.0), Quantity.parameter("b", 0.5)
    for make in (
        lambda a, b: a + b,
        lambda a, b: 2 + a - b - 1,
        lambda a, b: a * b * 3,
        lambda a, b: 3 * a / b,
        lambda a, b: 1 / a,
        lambda a, b: 1 - a,
        lambda a, b: a**b + 2**b + a**2,
        lambda a, b: -a + (+b),
        lambda a, b: abs(-a),
        lambda a, b: da.sin(a) + da.math.atan2(a, b) * da.math.maximum(a, b),
        lambda a, b: np.float64(2.0) * a + a * np.float64(2.0) + np.int64(1),
    ):
        quantity = make(a, b)
        number = float(make(3.0, 0.5))
        assert quantity.value == pytest.approx(number, rel=1e-15)
        symbols = {"a": ca.SX.sym("a"), "b": ca.SX.sym("b")}
        function = ca.Function("f", list(symbols.values()), [quantity.evaluate(symbols)])
        assert float(function(3.0, 0.5)) == pytest.approx(number, rel=1e-15)
        assert set(quantity.parameters()) <= {"a", "b"}


def test_a_quantity_reads_like_its_formula() -> None:
    a = Quantity.parameter("a", 3.0)
    assert repr(1 / a + da.sin(a)) == "((1 / a) + sin(a))"


def test_a_quantity_survives_pickling() -> None:
    a = Quantity.parameter("a", 3.0)
    assert pickle.loads(pickle.dumps(da.sin(a) / 2)).value == math.sin(3.0) / 2  # noqa: S301


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_numbers_arrays_parameters_and_expressions(name: str) -> None:
    function = getattr(da.math, name)
    reference = getattr(np, {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(name, name))
    assert float(function(0.3)) == float(reference(0.3))
    np.testing.assert_array_equal(function(np.array([0.2, 0.4])), reference(np.array([0.2, 0.4])))
    assert function(Quantity.parameter("a", 0.3)).value == float(reference(0.3))
    x = ca.SX.sym("x")
    # two libraries: a unit or two in the last place
    assert float(ca.Function("f", [x], [function(x)])(0.3)) == pytest.approx(float(reference(0.3)), rel=4e-16)


@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_mix_kinds(name: str) -> None:
    function = getattr(da.math, name)
    expected = float(function(0.3, -0.2))
    assert function(Quantity.parameter("a", 0.3), -0.2).value == expected
    x = ca.SX.sym("x")
    assert float(ca.Function("f", [x], [function(x, -0.2)])(0.3)) == pytest.approx(expected, rel=4e-16)
    np.testing.assert_array_equal(function(np.array([0.3, 0.1]), -0.2)[0], expected)


def test_where_chooses_in_every_kind() -> None:
    assert float(da.where(True, 1.0, 2.0)) == 1.0
    np.testing.assert_array_equal(da.where(np.array([1.0, -1.0]) > 0, 1.0, 2.0), [1.0, 2.0])
    t, expression = of_time(lambda t: da.where(t < 1, 0.0, 5.0), "a step")
    step = ca.Function("f", [t], [expression])
    assert (float(step(0.5)), float(step(1.5))) == (0.0, 5.0)


def test_a_table_interpolates_and_continues_with_its_end_slopes() -> None:
    x, y = [0.0, 1.0, 3.0, 4.0], [0.0, 2.0, 2.0, 0.0]
    law = table(x, y)
    inside = np.linspace(0, 4, 41)
    np.testing.assert_allclose(law(inside), np.interp(inside, x, y), rtol=0, atol=1e-15)
    assert (float(law(-1.0)), float(law(5.0))) == (-2.0, -2.0)
    s = ca.SX.sym("s")
    assert float(ca.Function("f", [s], [law(s)])(0.25)) == 0.5


@pytest.mark.parametrize(
    ("x", "y", "code"),
    [
        ([0, 1], [0], "wrong-shape"),
        ([0], [0], "wrong-shape"),
        ([1, 0], [0, 1], "not-increasing"),
        ([0, math.nan], [0, 1], "not-increasing"),
        ([0, 1], [0, math.inf], "not-increasing"),
        ("ab", [0, 1], "not-a-number"),
    ],
)
def test_a_table_of_bad_points_is_refused(x: Any, y: Any, code: str) -> None:
    with raises(da.errors.ModelError, code):
        table(x, y)


@pytest.mark.parametrize("x", [1, 1.0, np.float32(1), np.int8(1), np.array(1.0), math.nan, ca.DM(1)])
def test_real_numbers_of_all_kinds_are_known(x: Any) -> None:
    assert is_real(x)


@pytest.mark.parametrize("x", [True, np.True_, "1", b"1", None, [1.0], np.ones(1), 1j, ca.SX.sym("x"), object(), int])
def test_what_is_no_real_number_is_known_too(x: Any) -> None:
    assert not is_real(x)


# --- calling a user's function ---------------------------------------------------------------------------------


def test_asking_a_symbol_for_its_value_fails_only_inside_the_users_function() -> None:
    t = ca.SX.sym("t")
    with raises(da.errors.ModelError, "value-of-symbol", "the law", "da.sin"):
        call_user(lambda t: 1.0 if math.sin(t) > 0 else -1.0, "the law", t)
    assert math.isnan(float(t))  # CasADi itself is as it was


def test_constants_keep_their_value_inside_the_users_function() -> None:
    assert call_user(lambda t: float(ca.SX(2.0)), "the law", ca.SX.sym("t")) == 2.0


def test_an_interrupt_inside_the_users_function_is_not_an_error_of_the_model() -> None:
    def interrupted(t: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call_user(interrupted, "the law", ca.SX.sym("t"))
