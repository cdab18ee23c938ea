"""Costly functions of one number are evaluated once, with the same bits."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.expressions.machine_code.native import compile_native
from dalembert.expressions.machine_code.program import Straight
from dalembert.expressions.machine_code.reader import read
from dalembert.expressions.machine_code.sharing import COSTLY, share_functions
from tests.helpers.native_code import assert_same_bits


def code_of(function: ca.Function) -> Straight:
    body = read(function).main.body
    assert isinstance(body, Straight)
    return body


def costly(code: Straight) -> int:
    return int(np.isin(code.operation, COSTLY).sum())


def evaluate(function: ca.Function, x: np.ndarray) -> np.ndarray:
    native = compile_native(function)
    result = np.empty(function.nnz_out(0))
    native.trigger([x, result], native.work())()
    return result


def twice(length: int = 0) -> ca.Function:
    """sin and cos of every input in two separate expressions, with other operations in between."""
    x, y = ca.SX.sym("x", 5), ca.SX.sym("y", 5)
    part = ca.Function("part", [y], [ca.sin(y) * ca.cos(y) + ca.exp(2 * y)])
    between = ca.sum1(x)
    for _ in range(length):
        between = between * 0.5 + x[0]
    return ca.Function("twice", [x], [part(x) - between + ca.sin(x[::-1]) * part(x)])


def test_the_same_function_of_an_input_is_evaluated_once() -> None:
    function = twice()
    assert costly(code_of(function)) == 5 + 5 + 10  # exp has a product of its own as argument


def test_values_are_kept_over_the_pieces_of_the_code_with_the_same_bits() -> None:
    for length in (0, 400):
        function = twice(length)
        x = np.random.default_rng(length).normal(size=5)
        assert_same_bits(evaluate(function, x), np.array(function(x)).ravel())


def test_functions_of_a_register_that_was_written_again_are_different() -> None:
    x = ca.SX.sym("x")
    value = x
    for _ in range(6):
        value = ca.sin(value)
    function = ca.Function("nested", [x], [value])
    assert costly(code_of(function)) == 6
    assert_same_bits(evaluate(function, np.array([0.7])), np.array(function(0.7)).ravel())


def test_code_without_repetitions_is_left_as_it_is() -> None:
    x = ca.SX.sym("x", 2)
    code = code_of(ca.Function("once", [x], [ca.sin(x[0]) + ca.cos(x[0]) + ca.sin(x[1])]))
    assert share_functions(code) is code


def test_calls_inside_scalar_code_keep_their_places() -> None:
    x, y = ca.SX.sym("x", 2), ca.SX.sym("y", 2)
    inner = ca.Function("inner", [y], [ca.sin(y) + 1], {"never_inline": True})
    again = ca.Function("again", [y], [ca.sin(y)])
    function = ca.Function("outer", [x], [again(x) * inner(again(x)) + inner(x) * again(x)])
    data = np.array([0.3, -1.2])
    assert_same_bits(evaluate(function, data), np.array(function(data)).ravel())


def test_functions_of_two_results_of_one_call_are_different() -> None:
    x = ca.SX.sym("x", 2)
    y = ca.SX.sym("y", 2)
    inner = ca.Function("inner", [y], [y[0] + 1, y[1] * 2], {"never_inline": True})
    a, b = inner(x)
    function = ca.Function("outer", [x], [ca.vertcat(ca.sin(a), ca.sin(b), ca.sin(a) * ca.sin(b))])
    point = np.array([0.3, -1.1])
    assert_same_bits(evaluate(function, point), np.array(function(point)).ravel())
