"""CasADi functions read into programs.

An SX function is straight scalar code, an MX function a list of statements (`matrix_graph`). A matrix operation without
a statement of its own is expanded to scalar code by CasADi itself, so that it keeps the order of its sums. A function
without a translation raises `Untranslatable`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.expressions.machine_code.instructions import operation_names, read_straight, read_table
from dalembert.expressions.machine_code.matrix_graph import SPLIT, MatrixGraph, entries_of
from dalembert.expressions.machine_code.program import (
    VECTOR,
    Address,
    Choose,
    Program,
    Repeat,
    Routine,
    Straight,
    Untranslatable,
)
from dalembert.expressions.machine_code.sharing import share_functions

PACKING = 3  # operations to put a number into a vector and to take one out
JOIN = {ca.OP_VERTSPLIT: ca.vertcat, ca.OP_HORZSPLIT: ca.horzcat, ca.OP_DIAGSPLIT: ca.diagcat}


def read(function: ca.Function) -> Program:
    """The program of a function; `Program.main` is the function itself."""
    reader = Reader()
    reader.function(function)
    return reader.program


class Reader:
    """Reads a function and all that it calls into one program, each function once."""

    def __init__(self) -> None:
        self.program = Program()
        self._functions: list[Any] = []  # kept alive, so that their identities stay unique
        self._done: dict[Any, Routine] = {}

    def function(self, function: ca.Function) -> Routine:
        """The routine of a function, read at its first use."""
        key = function.__hash__()
        if key in self._done:
            return self._done[key]
        self._functions.append(function)
        kind = function.class_name()
        if kind == "SXFunction":
            return self._scalar(key, function)
        if kind == "MXFunction":
            statements, work = MatrixGraph(self, function).read()
            return self._add(key, function, statements, work)
        if kind == "Map":
            return self._map(key, function)
        if kind == "Switch":
            return self._switch(key, function)
        if kind == "LinearInterpolant":
            return self._add(key, function, read_table(function), 0)
        raise Untranslatable(f"a function of the class {kind}")

    def _add(self, key: Any, function: ca.Function, body: Any, work: int) -> Routine:
        self._done[key] = self.program.add(function, body, work)
        return self._done[key]

    def _map(self, key: Any, function: ca.Function) -> Routine:
        inputs = [Address("a", i, 0) for i in range(function.n_in())]
        outputs = [Address("r", i, 0) for i in range(function.n_out())]
        repeat, work = self.repeat(function, inputs, outputs, [True] * len(inputs))
        return self._add(key, function, (replace(repeat, work=0),), work)

    def repeat(
        self, function: ca.Function, inputs: Sequence[Address], outputs: Sequence[Address], moving: Sequence[bool]
    ) -> tuple[Repeat, int]:
        """The statement of a map, and the size of its work.  moving : whether an argument has a part for each."""
        inside = function.info()
        inner, count = self.function(inside["f"]), int(inside["n"])
        given = tuple(zip(inputs, [n * m for n, m in zip(inner.inputs, moving, strict=True)], strict=True))
        found = tuple(zip(outputs, inner.outputs, strict=True))
        together = VECTOR if count >= VECTOR and _pays_at_once(inner, [*given, *found]) else 1
        work = inner.work
        if together > 1:
            work = together * (sum(inner.inputs) + sum(inner.outputs) + inner.work)
        return Repeat(inner, given, found, count, -1, together), work

    def _switch(self, key: Any, function: ca.Function) -> Routine:
        inside = function.info()
        if inside["project_in"] or inside["project_out"]:
            raise Untranslatable("a switch between functions of different patterns")
        cases = tuple(self.function(f) for f in (*inside["f"], inside["f_def"]))
        inputs = tuple(Address("a", i, 0) for i in range(1, function.n_in()))
        outputs = tuple(Address("r", i, 0) for i in range(function.n_out()))
        body = (Choose(Address("a", 0, 0), cases, inputs, outputs, 0),)
        return self._add(key, function, body, max(case.work for case in cases))

    def expand(self, node: Any, dependencies: Sequence[Any]) -> Routine:
        """One matrix operation as scalar code."""
        key: tuple[Any, ...] = (node.op(), *(value.sparsity().serialize() for value in (node, *dependencies)))
        identities = [d.__hash__() for d in dependencies]
        key = (*key, tuple(identities.index(i) for i in identities))  # xᵀx reads one argument, xᵀy both
        if node.op() in (ca.OP_GETNONZEROS, ca.OP_SETNONZEROS, ca.OP_ADDNONZEROS):
            key = (*key, tuple(entries_of(node)))
        elif node.op() == ca.OP_EINSTEIN:  # CasADi does not give the indices that it sums over
            key = (*key, node.__hash__())
        if key in self._done:
            return self._done[key]
        symbols = [ca.MX.sym(f"x{i}", d.sparsity()) for i, d in enumerate(dependencies)]
        alone = _isolate(node, dependencies, symbols)
        function = ca.Function("operation", symbols, [alone]).expand()
        self._functions += [function, node]
        return self._scalar(key, function)

    def _scalar(self, key: Any, function: ca.Function) -> Routine:
        code = share_functions(read_straight(function, self.function))
        callees = [call.routine for call in code.calls.values()]
        passed = max((sum(r.inputs) + sum(r.outputs) for r in callees), default=0)
        return self._add(key, function, code, code.registers + passed + max((r.work for r in callees), default=0))

    def expand_from_start(self, node: Any, dependencies: Sequence[Any]) -> tuple[Routine, Address]:
        """An operation that begins with a number, as scalar code with this number as first argument, and the number."""
        op = node.op()
        number = 0.0
        if op in (ca.OP_MMIN, ca.OP_MMAX) and dependencies[0].is_dense():
            number = np.inf if op == ca.OP_MMIN else -np.inf
        key = ("started", op, *(value.sparsity().serialize() for value in (node, *dependencies)))
        if key not in self._done:
            start = ca.SX.sym("start")
            symbols = [ca.SX.sym(f"x{i}", d.sparsity()) for i, d in enumerate(dependencies)]
            function = ca.Function("operation", [start, *symbols], [_from_start(node, start, symbols)])
            self._functions.append(function)
            self._scalar(key, function)
        return self._done[key], self.program.constant([number])


def _pays_at_once(routine: Routine, places: Sequence[tuple[Address, int]]) -> bool:
    """Whether evaluations in the parts of a vector, with the packing of their numbers, are faster than one by one."""
    body = routine.body
    return isinstance(body, Straight) and not body.calls and len(body.operation) > PACKING * sum(s for _, s in places)


def _isolate(node: Any, dependencies: Sequence[Any], symbols: Sequence[Any]) -> Any:
    """A node as a function of symbols in the place of its dependencies.

    CasADi does not substitute a part of a split: there the split value is replaced, by its parts put together.
    """
    (alone,) = ca.graph_substitute([node], list(dependencies), list(symbols))
    parts: dict[int, tuple[Any, dict[int, Any]]] = {}
    for value, symbol in zip(dependencies, symbols, strict=True):
        if value.is_output() and value.dep(0).op() in SPLIT:
            split = value.dep(0)
            parts.setdefault(split.__hash__(), (split, {}))[1][value.which_output()] = symbol
    for split, known in parts.values():
        every = [split.get_output(i) for i in range(len(split.info()["offset"]) - 1)]
        whole = JOIN[split.op()](*(known.get(i, ca.MX(part.sparsity())) for i, part in enumerate(every)))
        (alone,) = ca.graph_substitute([alone], [split.dep(0)], [whole])
    given = {s.__hash__() for s in symbols}
    if any(s.__hash__() not in given for s in ca.symvar(alone)):
        raise Untranslatable(f"the matrix operation {operation_names()[node.op()]} of a part of a split")
    return alone


def _from_start(node: Any, start: Any, symbols: Sequence[Any]) -> Any:
    """Value of an operation of `STARTED` in the order in which the interpreter evaluates it."""
    op, pattern = node.op(), node.sparsity()
    entries = symbols[0].nonzeros()
    if op == ca.OP_HORZREPSUM:
        size = pattern.nnz()
        sums = [start] * size
        for j, entry in enumerate(entries):
            sums[j % size] = sums[j % size] + entry
        return ca.SX(pattern, ca.vertcat(*sums))
    total = start
    if op == ca.OP_BILIN:
        rows, columns = symbols[0].sparsity().get_triplet()
        x, y = ca.densify(symbols[1]).nonzeros(), ca.densify(symbols[2]).nonzeros()
        for entry, row, column in zip(entries, rows, columns, strict=True):
            total = total + x[row] * entry * y[column]
        return total
    for entry in entries:
        total = ca.fmin(entry, total) if op == ca.OP_MMIN else ca.fmax(entry, total)
    return total
