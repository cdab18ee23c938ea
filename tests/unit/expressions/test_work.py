"""Operations are counted as they are executed and as they are compiled, and code pays when its time has been spent."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

from dalembert.expressions import Kernel, work
from dalembert.expressions.work import COSTS, EngineCosts, Work, count_work, pay_off


def polynomial(size: int) -> ca.Function:
    """A flat function of about `size` operations."""
    x = ca.SX.sym("x")
    value = x
    for k in range(size // 2):
        value = value * x + (k + 1)
    return ca.Function("polynomial", [x], [value])


def test_the_operations_of_a_flat_function_are_its_instructions() -> None:
    function = polynomial(100)
    counted = count_work(function)
    assert counted.executed == counted.compiled == function.n_instructions()
    assert counted.numbers == 2


def test_a_function_that_is_called_often_is_compiled_once() -> None:
    inner = polynomial(1000)
    x = ca.MX.sym("x")
    value = x
    for _ in range(10):
        value = inner(value)
    counted = count_work(ca.Function("outer", [x], [value]))
    assert counted.executed >= 10 * inner.n_instructions()
    assert counted.compiled < 1.2 * inner.n_instructions()


def test_calls_maps_and_switches_count_their_callees() -> None:
    inner = polynomial(500)
    n = inner.n_instructions()
    mapped = count_work(inner.map(7))
    assert mapped.executed == 7 * n
    assert n < mapped.compiled < n + 100
    choice = count_work(ca.Function.conditional("choice", [inner, polynomial(200)], polynomial(100)))
    assert choice.executed == n
    assert choice.compiled > n
    y = ca.SX.sym("y")
    called = ca.Function("called", [y], [ca.sin(y)], {"never_inline": True})
    twice = ca.Function("twice", [y], [called(y) + called(2 * y)])
    assert count_work(twice).executed == twice.n_instructions() + 2 * called.n_instructions()


def test_code_is_due_when_the_time_on_the_interpreter_equals_the_time_to_make_it() -> None:
    counted = Work(executed=400_000, compiled=40_000)
    due = pay_off(counted, COSTS)
    spent = due.native * (COSTS.call + counted.executed * (COSTS.interpret - COSTS.evaluate))
    assert spent == pytest.approx(COSTS.begin + counted.compiled * COSTS.compile)
    assert due.native < pay_off(Work(40_000, 40_000), COSTS).native / 9  # ten calls of the same code
    assert due.best > due.native


def test_lanes_never_pay_where_packing_costs_more_than_they_gain() -> None:
    costs = EngineCosts(gain_lanes=1e-9, pack=1e-8)
    assert math.isinf(pay_off(Work(99, 99, numbers=10), costs).lanes)
    assert pay_off(Work(101, 101, numbers=10), costs).lanes < math.inf


def test_a_step_with_many_calls_becomes_native_after_few_evaluations() -> None:
    inner = polynomial(20_000)
    x = ca.MX.sym("x")
    value = x
    for _ in range(40):
        value = 1e-3 * inner(1e-3 * value)
    kernel = Kernel(ca.Function("outer", [x], [value]))
    due = math.ceil(work.pay_off(count_work(kernel.function), COSTS).native)
    assert 32 < due < 100
    values = []
    for k in range(due + 1):
        assert (kernel.code is None) == (k < due)
        values.append(float(kernel(0.5)[0][0]))
    assert np.unique(values).size == 1
