"""Operations of a function, and the number of evaluations after which machine code saves time.

A function is evaluated n times, but n is not known beforehand. Interpreting until the time spent equals the time to
compile, and compiling then, costs at most twice the best choice in hindsight (the rule for rented skis: Karlin,
Manasse, Rudolph and Sleator 1988). A loop that announces n decides at once.

A step of a method calls its equations a dozen times, but their code is made once: operations that an evaluation
executes are counted apart from those that the compiler reads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca

from dalembert.expressions.machine_code.matrix_graph import LOOP_PRODUCT, SPLIT
from dalembert.expressions.machine_code.program import BINARY, UNARY

STATEMENT = 10  # operations that a statement of a matrix graph costs beside its entries, on each engine
LOOP = 30  # operations of a loop over entries
# Operations to compile of an element-wise operation: consecutive ones are one loop. 9000 of them take 0.85 s with the
# 14 000 scalar ones beside them (derivatives of a chain of fifty hinges).
IN_LOOP = 5
# Operations to compile up to which the best code is made at once, in 0.7 s at most. This serves runs that are repeated,
# not the sum of making and running, and reaches to the extended filter of a four-bar (13 000).
SMALL = 15_000
FREE = {ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST} | SPLIT


@dataclass(frozen=True)
class EngineCosts:
    """CPU seconds of the engines, by operation.

    Measured by ``python -m benchmarks --only engine`` on functions of 26 to 75 000 operations of the machines of the
    library, LLVM 20. They depend on the processor; the values are those of the first, where code saves time sooner.

                                   AMD EPYC, 4 lanes      Intel Xeon with AVX-512, 8 lanes, busy: median (range)
        interpreted [ns]           4 to 11                2.6 (2.0 to 5.8)
        native [ns]                0.2 to 0.8             0.32 (0.15 to 1.8)
        to make code [µs]          11 to 26               14 (9 to 53), and 3.6 ms
        to make the best [µs]      41 to 77               41 (29 to 209)
        gain of the best [ns]      factor 1.1 to 1.4      0.06 (-0.06 to 0.46); 0.38 where code leaves the second cache
        lanes: to make, gain       20 µs, 0.8 ns, roughly 3.6 µs (-12 to 29), 0.15 ns (0.06 to 1.1)
        to pack a number [ns]      0.4 to 1.1             not measured since native code packs

    On the second, code is made after a third of the time that would be best, which costs at most four times the best
    choice in hindsight instead of twice. Lanes save time above two operations per number on the first.
    """

    call: float = 0.2e-6  # of an evaluation on the interpreter, whatever its size
    interpret: float = 8e-9
    evaluate: float = 0.5e-9  # in native code
    begin: float = 6e-3  # of a compilation, whatever its size
    compile: float = 14e-6
    compile_best: float = 50e-6
    gain_best: float = 0.2e-9  # of the best code over the fast one
    compile_lanes: float = 20e-6  # in lanes, over the best code
    gain_lanes: float = 0.8e-9
    pack: float = 1.5e-9  # of a number of a batch that is put into a lane or taken out


COSTS = EngineCosts()


@dataclass(frozen=True)
class Work:
    """Operations of one evaluation, operations to compile, numbers of its arguments and results."""

    executed: int
    compiled: int
    numbers: int = 0


@dataclass(frozen=True)
class Due:
    """Fewest evaluations for native code, for the best code, and for code in lanes."""

    native: float
    best: float
    lanes: float


def pay_off(work: Work, costs: EngineCosts) -> Due:
    """Evaluations after which each kind of code saves time."""
    small = work.compiled <= SMALL
    each = costs.call + work.executed * (costs.interpret - costs.evaluate)
    native = (costs.begin + work.compiled * (costs.compile_best if small else costs.compile)) / each
    ratio = work.compiled / max(work.executed, 1)
    best = (costs.compile_best - costs.compile) / costs.gain_best * ratio
    gain = work.executed * costs.gain_lanes - work.numbers * costs.pack
    lanes = costs.compile_lanes * work.compiled / gain if gain > 0 else math.inf
    return Due(native, native if small else max(native, best), lanes)


def count_work(function: ca.Function) -> Work:
    """Operations of a function, those of its callees included."""
    seen: dict[int, Work] = {}
    total = _count(function, seen)
    numbers = function.nnz_in() + function.nnz_out()
    return Work(total.executed, sum(own.compiled for own in seen.values()), numbers)


def _count(function: ca.Function, seen: dict[int, Work]) -> Work:
    """Operations of an evaluation, callees included, and those of the code of this function alone."""
    key = function.__hash__()
    if key not in seen:
        kind = function.class_name()
        if kind == "SXFunction":
            seen[key] = _count_scalar(function, seen)
        elif kind == "MXFunction":
            seen[key] = _count_matrix(function, seen)
        elif kind == "Map":
            inside = function.info()
            seen[key] = Work(int(inside["n"]) * _count(inside["f"], seen).executed, LOOP)
        elif kind == "Switch":
            inside = function.info()
            cases = [_count(f, seen).executed for f in (*inside["f"], inside["f_def"])]
            seen[key] = Work(max(cases), LOOP)
        else:
            seen[key] = Work(function.nnz_out(), LOOP)
    return seen[key]


def _count_scalar(function: ca.Function, seen: dict[int, Work]) -> Work:
    own = called = function.n_instructions()
    if function.find_functions(0):
        nodes = function.instructions_sx()
        calls = [k for k in range(own) if function.instruction_id(k) == ca.OP_CALL]
        called += sum(_count(nodes[k].which_function(), seen).executed for k in calls)
    return Work(called, own)


def _count_matrix(function: ca.Function, seen: dict[int, Work]) -> Work:
    executed = compiled = function.nnz_out()
    for k in range(function.n_instructions()):
        op = function.instruction_id(k)
        if op in FREE:
            continue
        node = function.instruction_MX(k)
        if op == ca.OP_CALL:
            executed += STATEMENT + _count(node.which_function(), seen).executed
            compiled += STATEMENT
            continue
        entries = _products(node) if op == ca.OP_MTIMES else node.nnz()
        executed += STATEMENT + entries
        if op in UNARY or op in BINARY or op == ca.OP_GETNONZEROS:  # a line of a loop that others share
            compiled += IN_LOOP
        else:
            compiled += STATEMENT + (min(entries, LOOP) if entries > LOOP_PRODUCT or op != ca.OP_MTIMES else entries)
    return Work(executed, compiled)


def _products(node: Any) -> int:
    """Scalar products of a matrix product, with all columns as full as the fullest."""
    x, y = node.dep(1), node.dep(2)
    return int(x.nnz() * y.nnz() // max(x.shape[1], 1))
