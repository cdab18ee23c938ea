"""Loops over entries, tables and evaluations of a map compute the bits of the interpreter."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from dalembert.expressions.machine_code import llvm_code, matrix_graph
from dalembert.expressions.machine_code.llvm_code import LlvmCode
from dalembert.expressions.machine_code.llvm_loops import FEW, SHARED, UNROLLED
from dalembert.expressions.machine_code.program import VECTOR, Apply, Gather, Repeat
from dalembert.expressions.machine_code.reader import PACKING, read
from tests.helpers.native_code import assert_native_equals_interpreter, random_rows

LENGTHS = [1, 3, VECTOR, VECTOR + 1, UNROLLED, UNROLLED + 1, 2 * UNROLLED + 3]


def check(function: ca.Function) -> None:
    assert_native_equals_interpreter(function, random_rows(function, 5))


def statements(function: ca.Function, kind: type) -> list:
    return [s for r in read(function).routines if isinstance(r.body, tuple) for s in r.body if isinstance(s, kind)]


@pytest.mark.parametrize("length", LENGTHS)
def test_vectors_of_any_length_are_taken_several_numbers_at_once(length: int) -> None:
    x, y, c = ca.MX.sym("x", length), ca.MX.sym("y", length), ca.MX.sym("c")
    check(ca.Function("f", [x, y, c], [c * x - y * ca.sin(x), x / (y + 3) + c]))


@pytest.mark.parametrize("length", [UNROLLED + 1, 20])
def test_a_number_of_a_vector_that_is_made_just_before_is_read_afterwards(length: int) -> None:
    """Both operations have one length and could be one loop, but the second needs an entry of the first."""
    x, y = ca.MX.sym("x", length), ca.MX.sym("y", length)
    made = x * y + x
    function = ca.Function("f", [x, y], [made[0] * y, made[length - 1] * x + y])
    assert len(statements(function, Apply)) > 1
    check(function)


@pytest.mark.parametrize("length", LENGTHS[-3:])
def test_statements_of_one_form_are_one_function(length: int) -> None:
    vectors = [ca.MX.sym(f"x{k}", length + k) for k in range(SHARED + 1)]
    numbers = ca.MX.sym("c", 3)
    results = [numbers[0] * x + numbers[1] * x - numbers[2] * x for x in vectors]
    function = ca.Function("f", [numbers, *vectors], results)
    text = LlvmCode(read(function)).source()
    long = sum(length + k > UNROLLED for k in range(SHARED + 1))
    assert text.count("define internal void @apply0") == (long >= SHARED)
    assert text.count("call void @apply0") == (long if long >= SHARED else 0)
    check(function)


@pytest.mark.parametrize("count", [FEW - 1, FEW, FEW + 1, 200])
def test_many_entries_are_gathered_by_a_table(count: int) -> None:
    x = ca.MX.sym("x", 50)
    entries = np.random.default_rng(0).integers(0, 50, count).tolist()
    function = ca.Function("f", [x], [(2 * x).nz[entries] + 1])
    assert [s.entries for s in statements(function, Gather)] == [tuple(entries)]
    assert ("@entries" in LlvmCode(read(function)).source()) == (count > FEW)
    check(function)


def test_long_lists_of_statements_are_cut_into_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = ca.MX.sym("x", 30), ca.MX.sym("y", 7)
    for _ in range(12):
        x, y = ca.vertcat(x[5:] * y[0], x[:5]), ca.vertcat(y[2:] + x[3], y[:2])
    function = ca.Function("f", ca.symvar(ca.vertcat(x, y)), [x, y])
    check(function)
    monkeypatch.setattr(llvm_code, "LONG", 20)
    assert LlvmCode(read(function)).source().count("define internal void @f0.") > 3
    check(function)


def test_a_long_row_of_operations_is_several_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = ca.MX.sym("x", 13), ca.MX.sym("y", 13)
    value = x
    for k in range(40):
        value = value * y - (x if k % 3 else value)
    function = ca.Function("f", [x, y], [value])
    check(function)
    monkeypatch.setattr(matrix_graph, "TOGETHER", 7)
    assert max(len(s.steps) for s in statements(function, Apply)) == 7
    check(function)


# -- maps ------------------------------------------------------------------------------------------------------------
def work(size: int, operations: int) -> ca.Function:
    """Of a matrix for all and a vector for each."""
    a, x = ca.SX.sym("a", 3), ca.SX.sym("x", size)
    values = [*ca.vertsplit(x), *ca.vertsplit(a)]
    for k in range(operations):
        values.append(values[-1] * values[k] + ca.cos(values[k // 2]) if k % 3 else values[k] - values[-2])
    return ca.Function("work", [a, x], [ca.vertcat(*values[-2:]), values[-3]])


@pytest.mark.parametrize("count", [VECTOR - 1, VECTOR, VECTOR + 1, 2 * VECTOR + 3])
@pytest.mark.parametrize("size", [2, FEW + 4])
def test_a_map_takes_several_evaluations_at_once(size: int, count: int) -> None:
    inner = work(size, 4 * PACKING * (size + 3))
    function = inner.map(count)
    (repeat,) = statements(function, Repeat)
    assert repeat.together == (VECTOR if count >= VECTOR else 1)
    check(function)


def test_a_map_whose_numbers_cost_more_than_its_operations_is_one_by_one() -> None:
    for operations, together in ((1, 1), (4 * PACKING * 30, VECTOR)):
        (repeat,) = statements(work(30, operations).map(8), Repeat)
        assert repeat.together == together


@pytest.mark.parametrize("count", [VECTOR + 2, 9])
def test_arguments_that_are_the_same_for_all_evaluations_are_not_copied(count: int) -> None:
    inner = work(3, 100)
    a, x = ca.MX.sym("a", 3), ca.MX.sym("x", 3, count)
    shared = inner.map("all", "serial", count, [0], [])
    function = ca.Function("f", [a, x], shared(2 * a, x))
    (repeat,) = [s for s in statements(function, Repeat) if s.together > 1]
    assert [stride for _, stride in repeat.inputs] == [0, 3]
    check(function)


def test_copies_that_something_else_reads_too_are_made() -> None:
    inner = work(3, 100)
    a, x = ca.MX.sym("a", 3), ca.MX.sym("x", 3, 5)
    copies = ca.repmat(a, 1, 5)
    function = ca.Function("f", [a, x], [*inner.map(5)(copies, x), copies + x])
    assert all(stride for s in statements(function, Repeat) for _, stride in s.inputs)
    check(function)


def test_a_routine_serves_maps_and_single_calls() -> None:
    inner = work(3, 100)
    a, x = ca.MX.sym("a", 3), ca.MX.sym("x", 3, 6)
    check(ca.Function("f", [a, x], [*inner.map(6)(ca.repmat(a, 1, 6), x), *inner(a, x[:, 0])]))
