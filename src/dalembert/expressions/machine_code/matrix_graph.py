"""Statements of a matrix graph (an MX function), with its values placed in the work array.

A value is a place: a view of an argument, of a constant, of work. Consecutive element-wise operations become one
statement; a value that only this statement reads never reaches memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.expressions.machine_code.instructions import operation_names
from dalembert.expressions.machine_code.program import (
    BINARY,
    UNARY,
    Address,
    Apply,
    CallRoutine,
    Copy,
    DenseProduct,
    Gather,
    Repeat,
    Routine,
    Statement,
    Untranslatable,
    operations,
)

if TYPE_CHECKING:
    from dalembert.expressions.machine_code.reader import Reader

VIEWS = frozenset(operations("RESHAPE SPARSITY_CAST"))
JOINED = frozenset(operations("VERTCAT HORZCAT DIAGCAT"))
SPLIT = frozenset(operations("VERTSPLIT HORZSPLIT DIAGSPLIT"))
# Operations that CasADi expands to scalar code in the order in which it evaluates them.
EXPANDED = frozenset(
    operations(
        "MTIMES DOT RANK1 TRANSPOSE PROJECT NORM1 NORM2 NORMF NORMINF HORZREPMAT KRON GETNONZEROS SETNONZEROS "
        "ADDNONZEROS EINSTEIN"
    )
)
# Operations that begin with a number, which CasADi drops in their expansion: it determines the sign of a zero.
STARTED = frozenset(operations("BILIN HORZREPSUM MMIN MMAX"))
TOGETHER = 64
LOOP_PRODUCT = 300  # scalar products; a larger dense matrix product is a loop, a smaller one straight code


def entries_of(node: Any) -> list[int]:
    """Entries that a node reads from or writes to."""
    inside = node.info()
    if "nz" in inside:
        return [int(v) for v in inside["nz"]]
    if "slice" in inside:
        inside = inside["slice"]
        return list(range(inside["start"], inside["stop"], inside["step"]))
    inner, outer = inside["inner"], inside["outer"]
    return [
        i + j
        for i in range(outer["start"], outer["stop"], outer["step"])
        for j in range(inner["start"], inner["stop"], inner["step"])
    ]


@dataclass
class _Block:
    """Numbers in the work array that values share.  last : the last instruction that reads them."""

    size: int
    last: int
    offset: int = -1
    parts: bool = False  # whether something reads a part of it


class MatrixGraph:
    """Statements of an MX function."""

    def __init__(self, reader: Reader, function: ca.Function) -> None:
        self.reader, self.f = reader, function
        self.statements: list[Statement] = []
        self.free: list[tuple[int, int]] = []  # offset and size of free work, in order
        self.top = 0
        self.inner = 0

    def read(self) -> tuple[tuple[Statement, ...], int]:
        f = self.f
        count = f.n_instructions()
        codes = [
            (f.instruction_id(k), f.instruction_MX(k), f.instruction_input(k), f.instruction_output(k))
            for k in range(count)
        ]
        self.codes = codes
        self.lazy = _copies_for_maps(codes)
        self.copied: set[int] = set()  # values of which one copy replaces many
        self.values: list[tuple[Address | _Block, int, int]] = []  # base, offset in it, nonzeros
        self.blocks: dict[int, list[_Block]] = {}  # made by an instruction
        plan = [self._plan(k, *code) for k, code in enumerate(codes)]
        self.ends: dict[int, list[_Block]] = {}
        for blocks in self.blocks.values():
            for block in blocks:
                self.ends.setdefault(block.last, []).append(block)
        k = 0
        while k < count:
            members = self._group(k, plan)
            last = max(members, default=k)
            # values that only the group itself reads stay in registers; no work is reused before its end
            span = range(k, last + 1)
            made = [(block, i) for i in span for block in self.blocks.get(i, ())]
            inner = {id(block) for block, i in made if self._stays(block, i, last)}
            for block, _ in made:
                if id(block) not in inner:
                    self._allocate(block)
            if members:
                self._emit_group([(codes[i][0], *plan[i]) for i in members], inner)
            else:
                self._emit(k, *plan[k])
            for i in span:
                for block in self.ends.get(i, ()):
                    if id(block) not in inner:
                        self._release(block)
            k = last + 1
        self.statements = [self._settle(s) for s in self.statements]
        return tuple(self.statements), self.top + self.inner

    def _group(self, k: int, plan: list[tuple[list[int], list[int]]]) -> list[int]:
        """Element-wise instructions from k on, of one length, without other instructions between them."""
        members: list[int] = []
        made: set[int] = set()
        size = 0
        for i in range(k, len(plan)):
            op = self.codes[i][0]
            if op in (ca.OP_INPUT, ca.OP_CONST) or op in SPLIT or self._is_view(i, plan[i]):
                if not members:
                    break
                continue
            if op not in UNARY and op not in BINARY:
                break
            length = self.values[plan[i][1][0]][2]
            if members and length != size:
                break
            operands = plan[i][0][: 1 if op in UNARY else 2]
            if length == 0 or any(self.values[v][2] not in (1, length) for v in operands):
                break
            if any(self.values[v][2] != length and id(self.values[v][0]) in made for v in operands):
                break  # one number of a vector that this statement would compute: it must exist before
            made |= {id(block) for block in self.blocks[i]}
            size = length
            members.append(i)
            if len(members) == TOGETHER:
                break
        return members

    def _is_view(self, i: int, plan: tuple[list[int], list[int]]) -> bool:
        """Whether an instruction only names a part of a value."""
        return bool(plan[1]) and i not in self.blocks

    def _stays(self, block: _Block, made: int, last: int) -> bool:
        return self.codes[made][0] in (UNARY | BINARY) and block.last <= last and not block.parts

    def _emit_group(self, members: list[tuple[int, list[int], list[int]]], inner: set[int]) -> None:
        """One statement for a group of element-wise instructions."""
        known: dict[int, int] = {}  # block -> number of its result
        inputs: dict[tuple[Address, int], int] = {}
        steps: list[tuple[int, list[Any]]] = []
        made: list[tuple[_Block, Address | None]] = []
        size = self.values[members[0][2][0]][2]
        for op, operands, results in members:
            references: list[Any] = []
            for value in operands[: 1 if op in UNARY else 2]:
                base, _, length = self.values[value]
                if isinstance(base, _Block) and id(base) in known and length == size:
                    references.append(("step", known[id(base)]))
                    continue
                references.append(("input", inputs.setdefault((self._place(value), int(length > 1)), len(inputs))))
            steps.append((op, references))
            block = self.values[results[0]][0]
            assert isinstance(block, _Block)
            known[id(block)] = len(steps) - 1
            made.append((block, None if id(block) in inner else self._place(results[0])))
        count = len(inputs)
        self.statements.append(
            Apply(
                size,
                tuple(inputs),
                tuple((op, tuple(n + count if kind == "step" else n for kind, n in refs)) for op, refs in steps),
                tuple((k + count, place) for k, (_, place) in enumerate(made) if place is not None),
            )
        )

    # a call's work array begins above all values of the caller, known only at the end
    def _settle(self, statement: Statement) -> Statement:
        return replace(statement, work=self.top) if isinstance(statement, (CallRoutine, Repeat)) else statement

    def _plan(self, k: int, op: int, node: Any, inputs: Any, outputs: Any) -> tuple[list[int], list[int]]:
        """Values that instruction k reads and makes, as numbers of `values`."""
        if k == 0:
            self.register: dict[int, int] = {}
        if op == ca.OP_INPUT:
            # an input may be given in segments: its entries begin at the offset
            base = Address("a", inputs[0], int(node.info()["offset"]))
            return [], [self._value(base, 0, node.nnz(), outputs[0])]
        operands = [self.register[i] for i in inputs]
        for value in operands:
            base_, first, size = self.values[value]
            if isinstance(base_, _Block):
                base_.last = max(base_.last, k)
                base_.parts = base_.parts or first != 0 or size != base_.size
        if op == ca.OP_OUTPUT:
            return operands, []
        if op == ca.OP_CONST:
            base = self.reader.program.constant(float(v) for v in node.to_DM().nonzeros())
            return [], [self._value(base, 0, node.nnz(), outputs[0])]
        view = self._view(op, node, operands)
        if view is not None:
            return operands, [self._value(*view, outputs[0])]
        if k in self.lazy:
            self.copied.add(self._value(*self.values[operands[0]], outputs[0]))
            return operands, [len(self.values) - 1]
        if op in SPLIT:
            base_, first, _ = self.values[operands[0]]
            starts = [int(v) for v in node.info()["offset"]]  # of the nonzeros
            sizes = np.diff(starts).tolist()
            return operands, [
                self._value(base_, first + a, n, o) for a, n, o in zip(starts[:-1], sizes, outputs, strict=True)
            ]
        if op == ca.OP_CALL:
            callee = node.which_function()
            sizes = [callee.nnz_out(j) for j in range(callee.n_out())]
        else:
            sizes = [node.nnz()]
        made = []
        for size, register in zip(sizes, outputs, strict=True):
            block = _Block(size, k)
            self.blocks.setdefault(k, []).append(block)
            made.append(self._value(block, 0, size, register))
        return operands, made

    def _view(self, op: int, node: Any, operands: list[int]) -> tuple[Address | _Block, int, int] | None:
        """The place of a value that is a part of another, where it is contiguous."""
        if op in VIEWS:
            base, first, size = self.values[operands[0]]
            return (base, first, size) if size == node.nnz() else None
        if op == ca.OP_GETNONZEROS:
            entries = entries_of(node)
            base, first, _ = self.values[operands[0]]
            if entries and entries[0] >= 0 and entries == list(range(entries[0], entries[0] + len(entries))):
                return base, first + entries[0], len(entries)
        return None

    def _value(self, base: Address | _Block, offset: int, size: int, register: int) -> int:
        self.values.append((base, offset, size))
        if register >= 0:
            self.register[register] = len(self.values) - 1
        return len(self.values) - 1

    # -- work --------------------------------------------------------------------------------------------------------
    def _allocate(self, block: _Block) -> None:
        for j, (offset, size) in enumerate(self.free):
            if size >= block.size:
                block.offset = offset
                if size == block.size:
                    del self.free[j]
                else:
                    self.free[j] = (offset + block.size, size - block.size)
                return
        block.offset = self.top
        self.top += block.size

    def _release(self, block: _Block) -> None:
        if block.size == 0:
            return
        merged: list[tuple[int, int]] = []
        for offset, size in sorted([*self.free, (block.offset, block.size)]):
            if merged and sum(merged[-1]) == offset:
                merged[-1] = (merged[-1][0], merged[-1][1] + size)
            else:
                merged.append((offset, size))
        self.free = merged

    def _place(self, value: int) -> Address:
        base, offset, _ = self.values[value]
        return Address("w", 0, base.offset + offset) if isinstance(base, _Block) else base.at(offset)

    # -- statements --------------------------------------------------------------------------------------------------
    def _emit(self, k: int, operands: list[int], results: list[int]) -> None:
        op, node, _, outputs = self.codes[k]
        add = self.statements.append
        if op in (ca.OP_INPUT, ca.OP_CONST) or op in SPLIT:
            return
        given = [self._place(v) for v in operands]
        if op == ca.OP_OUTPUT:
            size = self.values[operands[0]][2]
            if size:
                add(Copy(Address("r", outputs[0], int(node.info()["offset"])), given[0], size))
            return
        if self._view(op, node, operands) is not None or k in self.lazy:
            return
        made = [self._place(v) for v in results]
        size = self.values[results[0]][2] if results else 0
        if op == ca.OP_CALL and node.which_function().class_name() == "Map":
            moving = [value not in self.copied for value in operands]
            repeat, work = self.reader.repeat(node.which_function(), given, made, moving)
            self.inner = max(self.inner, work)
            add(repeat)
        elif op == ca.OP_CALL:
            self._call(self.reader.function(node.which_function()), given, made)
        elif size == 0:
            return
        elif op in JOINED:
            at = 0
            for place, value in zip(given, operands, strict=True):
                if self.values[value][2]:
                    add(Copy(made[0].at(at), place, self.values[value][2]))
                at += self.values[value][2]
        elif op == ca.OP_GETNONZEROS and min(entries := entries_of(node)) >= 0:
            add(Gather(made[0], given[0], tuple(entries)))
        elif op == ca.OP_MTIMES and self._is_large_product(node):
            (rows, inner), columns = node.dep(1).shape, node.dep(2).shape[1]
            add(Copy(made[0], given[0], size))
            add(DenseProduct(made[0], given[1], given[2], rows, inner, columns))
        elif op in EXPANDED:
            dependencies = [node.dep(i) for i in range(node.n_dep())]
            self._call(self.reader.expand(node, dependencies), given, made)
        elif op in STARTED:
            routine, start = self.reader.expand_from_start(node, [node.dep(i) for i in range(node.n_dep())])
            self._call(routine, [start, *given], made)
        else:
            raise Untranslatable(f"the matrix operation {operation_names().get(op, op)}")

    def _is_large_product(self, node: Any) -> bool:
        x, y = node.dep(1), node.dep(2)
        dense = node.is_dense() and x.is_dense() and y.is_dense()
        return bool(dense and x.shape[0] * x.shape[1] * y.shape[1] > LOOP_PRODUCT)

    def _call(self, routine: Routine, inputs: Sequence[Address], outputs: Sequence[Address]) -> None:
        self.inner = max(self.inner, routine.work)
        self.statements.append(CallRoutine(routine, tuple(inputs), tuple(outputs), -1))


def _copies_for_maps(codes: Sequence[tuple[int, Any, Any, Any]]) -> set[int]:
    """Instructions that copy a matrix many times side by side, for nothing but calls of maps, which need one copy."""
    found: set[int] = set()
    source: dict[int, int] = {}  # instruction that made the value in a register, where it copies
    for k, (op, node, inputs, outputs) in enumerate(codes):
        if op in (ca.OP_INPUT, ca.OP_CONST):
            inputs = ()
        is_map = op == ca.OP_CALL and node.which_function().class_name() == "Map"
        if not is_map:
            found -= {source[i] for i in inputs if i in source}
        if op == ca.OP_OUTPUT:
            continue
        for register in outputs:
            source.pop(register, None)
        if op == ca.OP_HORZREPMAT:
            found.add(k)
            source[outputs[0]] = k
    return found
