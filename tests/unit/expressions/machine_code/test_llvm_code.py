"""Every scalar operation gives the bits of the interpreter, on ordinary and on special numbers."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import casadi as ca
import numpy as np
import pytest

from dalembert.expressions.machine_code.native import compile_native
from dalembert.expressions.machine_code.program import BINARY, UNARY, Untranslatable
from dalembert.expressions.machine_code.reader import read
from tests.helpers.findings import raises
from tests.helpers.native_code import (
    Array,
    assert_native_equals_interpreter,
    assert_same_bits,
    evaluate,
    interpret,
    random_rows,
)
from tests.helpers.repetitions import few

NAMES = {getattr(ca, name): name[3:].lower() for name in dir(ca) if name.startswith("OP_")}
OPERATIONS = sorted(UNARY | BINARY)
SPECIAL = [
    *(sign * value for value in (0.0, 1.0, 0.5, 0.7, 0.9999999, 1e-10, 5e-324, 2.2e-308, 1e308) for sign in (1, -1)),
    *(np.inf, -np.inf, np.nan, 2.0, 3.7, -2.5, 0.3, 710.0, 1e22, np.pi / 2, 2.0**63, -(2.0**53)),
]
ENGINES = [(lanes, optimise) for lanes in (1, 4, 8) for optimise in (False, True)]


def apply(op: int, x: Any, y: Any) -> Any:
    kind = type(x)
    return kind.binary(op, x, y) if op in BINARY else kind.unary(op, x)


@cache
def pairs() -> Array:
    """All pairs of special numbers, then random ones of many magnitudes."""
    random = np.random.default_rng(0)
    spread = random.normal(size=(1000, 2)) * np.exp(5 * random.normal(size=(1000, 2)))
    return np.vstack([list(product(SPECIAL, SPECIAL)), spread, random.uniform(-1, 1, size=(300, 2))])


@cache
def scalar_function() -> ca.Function:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    return ca.Function("operations", [x, y], [apply(op, x, y) for op in OPERATIONS])


@cache
def scalar_results(lanes: int, optimise: bool) -> list[Array]:
    arguments = [pairs()[:, :1], pairs()[:, 1:]]
    if lanes == 0:
        return interpret(scalar_function(), arguments)
    return evaluate(compile_native(scalar_function(), lanes=lanes, optimise=optimise), arguments)


def test_every_scalar_operation_of_casadi_is_translated_but_printing() -> None:
    """53 operations of an SX function: 50 compute, and constants, inputs and outputs."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    exist = set()
    for op in NAMES:
        for make in (lambda op=op: ca.SX.unary(op, x), lambda op=op: ca.SX.binary(op, x, y)):
            try:
                made = ca.Function("f", [x, y], [make()])
            except RuntimeError:
                continue
            exist |= {made.instruction_id(k) for k in range(made.n_instructions())}
    others = {ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT}
    assert exist - others - {ca.OP_PRINTME} <= UNARY | BINARY
    assert len(UNARY | BINARY | others) == 53
    with raises(Untranslatable, None, "printme"):
        read(ca.Function("f", [x, y], [ca.SX.binary(ca.OP_PRINTME, x, y)]))


def test_the_tested_functions_hold_every_operation() -> None:
    """CasADi makes a power by a constant of `constpow` only there, and a lift only in matrix graphs."""
    functions = (scalar_function(), vector_function(3))
    held = {f.instruction_id(k) for f in functions for k in range(f.n_instructions())}
    assert (held | {ca.OP_ASSIGN}) - {ca.OP_INPUT, ca.OP_OUTPUT} == UNARY | BINARY


@pytest.mark.parametrize("op", OPERATIONS, ids=NAMES.get)
def test_an_operation_has_the_bits_of_the_interpreter(op: int) -> None:
    k = OPERATIONS.index(op)
    expected = scalar_results(0, False)[k]
    for lanes, optimise in ENGINES:
        assert_same_bits(scalar_results(lanes, optimise)[k], expected, f"{lanes} lanes, optimise={optimise}")


@pytest.mark.parametrize(("lanes", "optimise"), ENGINES)
def test_operations_with_constants_have_the_bits_of_the_interpreter(lanes: int, optimise: bool) -> None:
    """A compiler may fold constants, and turn a division or a power by a constant into something else."""
    x = ca.SX.sym("x")
    constants = [c for c in SPECIAL if not np.isnan(c)] if lanes == 1 else [0.0, -0.0, 2.0, 0.5, -1.0, 3.0, np.inf]
    values = [apply(op, x, ca.SX(c)) for op in sorted(BINARY) for c in constants]
    values += [apply(op, ca.SX(c), x) for op in sorted(BINARY) for c in constants]
    function = ca.Function("constants", [x], [ca.vertcat(*values)])
    rows = [np.concatenate([SPECIAL, np.random.default_rng(1).normal(size=40)])[:, None]]
    assert_native_equals_interpreter(function, rows, lanes=[lanes], optimise=optimise)


def vector_function(size: int) -> ca.Function:
    x, y, s = ca.MX.sym("x", size), ca.MX.sym("y", size), ca.MX.sym("s")
    values = [apply(op, x, y) for op in OPERATIONS]
    values += [apply(op, x, s) for op in sorted(BINARY)] + [apply(op, s, y) for op in sorted(BINARY)]
    return ca.Function("vectors", [x, y, s], values)


@pytest.mark.parametrize(("size", "optimise"), few([(3, False), (11, False), (11, True)], 2))
def test_operations_on_vectors_have_the_bits_of_the_interpreter(size: int, optimise: bool) -> None:
    """Short vectors are unrolled, longer ones are loops over several entries at once with a remainder."""
    random = np.random.default_rng(size)
    rows = [random.choice(pairs().ravel(), size=(120, n)) for n in (size, size, 1)]
    assert_native_equals_interpreter(vector_function(size), rows, optimise=optimise)


@pytest.mark.parametrize("count", [250, 251, 800])
def test_code_in_pieces_has_the_bits_of_the_interpreter(count: int) -> None:
    """Values, inputs and constants that a later piece reads cross its border, whatever register they were in."""
    random = np.random.default_rng(count)
    x = ca.SX.sym("x", 5)
    values = [*ca.vertsplit(x), ca.SX(0.3), ca.SX(-0.0)]
    while len(values) < count:
        # some operands from far away, so that they live across several pieces
        far, near = random.integers(len(values)), random.integers(max(0, len(values) - 9), len(values))
        a, b = values[far], values[near]
        values.append([a + b, a * b, a - b, ca.sin(a), ca.fmax(a, b)][random.integers(5)])
    function = ca.Function("pieces", [x], [ca.vertcat(*values[::7]), values[-1]])
    for optimise in (False, True):
        assert_native_equals_interpreter(function, random_rows(function, 20), optimise=optimise)
