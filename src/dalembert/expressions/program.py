"""Programs: CasADi functions read instruction by instruction, apart from any processor.

A function becomes a routine that takes pointers to the nonzeros of its arguments, of its results, and to a work array.
An SX function is straight scalar code. An MX function is a list of statements: element-wise operations, copies, dense
products, calls, repeated calls (a map), a choice between calls (a switch) and table look-ups. Every other matrix
operation is expanded to scalar code by CasADi itself, so that it keeps the order of its sums.

Back ends (`llvm_code`) turn a `Program` into code. What has no translation raises `Untranslatable`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dalembert.expressions.sharing import share_functions

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]


def operations(names: str) -> dict[int, str]:
    """CasADi's numbers of these operations, with their names in lower case."""
    return {getattr(ca, f"OP_{name}"): name.lower() for name in names.split()}


UNARY = frozenset(
    operations(
        "ASSIGN NEG EXP LOG SQRT SQ TWICE SIN COS TAN ASIN ACOS ATAN FLOOR CEIL NOT ERF FABS SIGN INV SINH COSH TANH "
        "ASINH ACOSH ATANH ERFINV LOG1P EXPM1"
    )
)
BINARY = frozenset(
    operations(
        "ADD SUB MUL DIV POW CONSTPOW LT LE EQ NE AND OR FMOD COPYSIGN IF_ELSE_ZERO FMIN FMAX ATAN2 LIFT HYPOT "
        "REMAINDER"
    )
)
VIEWS = frozenset(operations("RESHAPE SPARSITY_CAST"))
JOINED = frozenset(operations("VERTCAT HORZCAT DIAGCAT"))
SPLIT = frozenset(operations("VERTSPLIT HORZSPLIT DIAGSPLIT"))
JOIN = {ca.OP_VERTSPLIT: ca.vertcat, ca.OP_HORZSPLIT: ca.horzcat, ca.OP_DIAGSPLIT: ca.diagcat}
# Operations that CasADi expands to scalar code in the order in which it evaluates them.
EXPANDED = frozenset(
    operations(
        "MTIMES DOT RANK1 TRANSPOSE PROJECT NORM1 NORM2 NORMF NORMINF HORZREPMAT KRON GETNONZEROS SETNONZEROS "
        "ADDNONZEROS EINSTEIN"
    )
)
# Operations that begin with a number, which CasADi drops where it expands them: it decides on the sign of a zero.
STARTED = frozenset(operations("BILIN HORZREPSUM MMIN MMAX"))
LOOP_PRODUCT = 300  # scalar products; a larger dense matrix product is a loop, a smaller one straight code
FEW = 16  # entries that a gather copies in place; more are a routine of their own, cut into pieces


class Untranslatable(Exception):
    """A function, or a part of it, that only the interpreter evaluates."""


# -- what a program holds --------------------------------------------------------------------------------------------
class Address(NamedTuple):
    """Address of numbers.  base : "a" argument, "r" result, "w" work, "c" constant; which : the number of it."""

    base: str
    which: int
    offset: int

    def at(self, offset: int) -> Address:
        return Address(self.base, self.which, self.offset + offset)


@dataclass(frozen=True)
class Straight:
    """Scalar instructions, one per entry.

    out, first, second : registers; of an input the register, the argument and its entry; of an output the result, the
    register and the entry.  constant : value of a constant.  calls : by the number of their instruction.
    registers : their number; the work array begins with them.
    """

    operation: IntArray
    out: IntArray
    first: IntArray
    second: IntArray
    constant: FloatArray
    calls: Mapping[int, StraightCall]
    registers: int


@dataclass(frozen=True)
class StraightCall:
    """A call inside scalar code: registers of all entries of its arguments and of its results (-1: not used)."""

    routine: Routine
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Apply:
    """Element-wise operations on vectors of `count` entries, one after the other.

    inputs : places and steps (0: one number for all entries).  steps : operations with the numbers of their operands:
    first the inputs, then the results of the steps before.  outputs : numbers of the results to keep, and where.
    """

    count: int
    inputs: tuple[tuple[Address, int], ...]
    steps: tuple[tuple[int, tuple[int, ...]], ...]
    outputs: tuple[tuple[int, Address], ...]


@dataclass(frozen=True)
class Copy:
    out: Address
    source: Address
    count: int


@dataclass(frozen=True)
class Gather:
    """out[j] = source[entries[j]]."""

    out: Address
    source: Address
    entries: tuple[int, ...]


@dataclass(frozen=True)
class DenseProduct:
    """out (rows × columns) += x (rows × inner) y (inner × columns), columns first; sums in the order of `inner`."""

    out: Address
    x: Address
    y: Address
    rows: int
    inner: int
    columns: int


@dataclass(frozen=True)
class CallRoutine:
    """work : where the work array of the routine begins in that of the caller."""

    routine: Routine
    inputs: tuple[Address, ...]
    outputs: tuple[Address, ...]
    work: int


@dataclass(frozen=True)
class Repeat:
    """The routine `count` times; each pointer moves by its stride."""

    routine: Routine
    inputs: tuple[tuple[Address, int], ...]
    outputs: tuple[tuple[Address, int], ...]
    count: int
    work: int


@dataclass(frozen=True)
class Choose:
    """CallRoutine of the case that the number at `index` names; of the last one where it names none."""

    index: Address
    cases: tuple[Routine, ...]
    inputs: tuple[Address, ...]
    outputs: tuple[Address, ...]
    work: int


@dataclass(frozen=True)
class Interpolation:
    """Piecewise linear interpolation on a grid of one or more dimensions; every point has as many values as `out`."""

    grid: tuple[FloatArray, ...]
    values: FloatArray
    modes: tuple[int, ...]  # search in each dimension: 0 from the left, 1 equally spaced, 2 bisection
    count: int


Statement: TypeAlias = "Apply | Copy | Gather | DenseProduct | CallRoutine | Repeat | Choose"


@dataclass(frozen=True)
class Routine:
    """Code with pointers to arguments, results and work. inputs, outputs : numbers of nonzeros."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    work: int
    body: Straight | Interpolation | tuple[Statement, ...]


@dataclass
class Program:
    """Routines in the order of their use, callees first, and constant arrays."""

    routines: list[Routine] = field(default_factory=list)
    constants: list[tuple[float, ...]] = field(default_factory=list)
    functions: list[ca.Function] = field(default_factory=list)  # alive, so that their identities stay their own
    _done: dict[Any, Routine] = field(default_factory=dict)
    _arrays: dict[bytes, int] = field(default_factory=dict)

    @property
    def main(self) -> Routine:
        return self.routines[-1]

    def size(self) -> int:
        """Scalar instructions and statements."""
        return sum(
            len(r.body.operation)
            if isinstance(r.body, Straight)
            else 1
            if isinstance(r.body, Interpolation)
            else len(r.body)
            for r in self.routines
        )

    def add(self, key: Any, function: ca.Function, body: Any, work: int) -> Routine:
        routine = Routine(
            f"f{len(self.routines)}",
            tuple(function.nnz_in(i) for i in range(function.n_in())),
            tuple(function.nnz_out(i) for i in range(function.n_out())),
            work,
            body,
        )
        self.routines.append(routine)
        self._done[key] = routine
        return routine

    def constant(self, values: Iterable[float]) -> Address:
        array = tuple(values)
        key = struct.pack(f"{len(array)}d", *array)  # distinguishes 0.0 from -0.0
        found = self._arrays.setdefault(key, len(self.constants))
        if found == len(self.constants):
            self.constants.append(array)
        return Address("c", found, 0)

    # -- functions ---------------------------------------------------------------------------------------------------
    def function(self, function: ca.Function) -> Routine:
        """The routine of a function, read at its first use."""
        key = function.__hash__()
        if key in self._done:
            return self._done[key]
        self.functions.append(function)
        kind = function.class_name()
        if kind == "SXFunction":
            return self._scalar(key, function)
        if kind == "MXFunction":
            statements, work = _Graph(self, function).read()
            return self.add(key, function, statements, work)
        if kind == "Map":
            return self._map(key, function)
        if kind == "Switch":
            return self._switch(key, function)
        if kind == "LinearInterpolant":
            return self.add(key, function, read_table(function), 0)
        raise Untranslatable(f"a function of the class {kind}")

    def _map(self, key: Any, function: ca.Function) -> Routine:
        inside = function.info()
        inner, count = self.function(inside["f"]), int(inside["n"])

        def places(base: str, sizes: Sequence[int], whole: Any) -> tuple[tuple[Address, int], ...]:
            return tuple((Address(base, i, 0), n if whole(i) == n * count else 0) for i, n in enumerate(sizes))

        body = (
            Repeat(
                inner,
                places("a", inner.inputs, function.nnz_in),
                places("r", inner.outputs, function.nnz_out),
                count,
                0,
            ),
        )
        return self.add(key, function, body, inner.work)

    def _switch(self, key: Any, function: ca.Function) -> Routine:
        inside = function.info()
        if inside["project_in"] or inside["project_out"]:
            raise Untranslatable("a switch between functions of different patterns")
        cases = tuple(self.function(f) for f in (*inside["f"], inside["f_def"]))
        inputs = tuple(Address("a", i, 0) for i in range(1, function.n_in()))
        outputs = tuple(Address("r", i, 0) for i in range(function.n_out()))
        body = (Choose(Address("a", 0, 0), cases, inputs, outputs, 0),)
        return self.add(key, function, body, max(case.work for case in cases))

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
        alone = _alone(node, dependencies, symbols)
        function = ca.Function("operation", symbols, [alone]).expand()
        self.functions += [function, node]
        return self._scalar(key, function)

    def _scalar(self, key: Any, function: ca.Function) -> Routine:
        code = share_functions(read_straight(function, self))
        callees = [call.routine for call in code.calls.values()]
        passed = max((sum(r.inputs) + sum(r.outputs) for r in callees), default=0)
        return self.add(key, function, code, code.registers + passed + max((r.work for r in callees), default=0))

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
            self.functions.append(function)
            self._scalar(key, function)
        return self._done[key], self.constant([number])


def _alone(node: Any, dependencies: Sequence[Any], symbols: Sequence[Any]) -> Any:
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
        raise Untranslatable(f"the matrix operation {_operation_names()[node.op()]} of a part of a split")
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


def read(function: ca.Function) -> Program:
    """The program of a function; `Program.main` is the function itself."""
    program = Program()
    program.function(function)
    return program


# -- scalar code -----------------------------------------------------------------------------------------------------
def read_straight(function: ca.Function, program: Program) -> Straight:
    """Instructions of an SX function, from its serialised form where that is known."""
    count = function.n_instructions()
    found = _read_serialised(function, count) if count > 64 else None
    if found is None or (found[0][:, 0] == ca.OP_CALL).any():
        found = _read_one_by_one(function, count)
    rows, constant = found
    operation, is_call = rows[:, 0], rows[:, 0] == ca.OP_CALL
    unknown = set(np.unique(operation)) - UNARY - BINARY - {ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CALL}
    if unknown:
        raise Untranslatable(f"the scalar operation {_operation_names().get(int(min(unknown)), min(unknown))}")
    calls = {}
    for k in np.flatnonzero(is_call).tolist():
        routine = program.function(function.instructions_sx()[k].which_function())
        registers = (tuple(function.instruction_input(k)), tuple(function.instruction_output(k)))
        calls[k] = StraightCall(routine, *registers)
    written = rows[operation != ca.OP_OUTPUT, 1].max(initial=-1)
    most = max([int(written), *(r for call in calls.values() for r in call.outputs)]) + 1
    return Straight(operation, rows[:, 1], rows[:, 2], rows[:, 3], constant, calls, most)


def _read_one_by_one(function: ca.Function, count: int) -> tuple[IntArray, FloatArray]:
    """Instructions one by one: (operation, out, first, second) and constants; a call only by its operation."""
    rows = np.zeros((count, 4), dtype=np.int64)
    constant = np.zeros(count)
    for k in range(count):
        rows[k] = _instruction(function, k)
        if rows[k, 0] == ca.OP_CONST:
            rows[k, 2:] = 0
            constant[k] = function.instruction_constant(k)
    return rows, constant


def _instruction(function: ca.Function, k: int) -> tuple[int, int, int, int]:
    """One instruction as the serialised form has it; of a constant the two halves of its value."""
    op, i, o = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
    if op == ca.OP_CALL:
        return op, 0, 0, 0
    if op == ca.OP_OUTPUT:
        return op, o[0], i[0], o[1]
    if op == ca.OP_CONST:
        return (op, o[0], *struct.unpack("<2i", struct.pack("<d", function.instruction_constant(k))))
    return op, o[0], i[0], i[-1]


def _bytes_of(function: ca.Function) -> bytes:
    """The serialised form: two letters per byte, the lower half first."""
    letters = np.frombuffer(function.serialize().encode("ascii"), dtype=np.uint8) - ord("a")
    return (letters[0::2] | (letters[1::2] << 4)).astype(np.uint8).tobytes()


def _read_serialised(function: ca.Function, count: int) -> tuple[IntArray, FloatArray] | None:
    """Instructions as CasADi 3.8 writes them, four integers each; None where a few of them are not found so."""
    data = _bytes_of(function)
    first = b"".join(struct.pack("<4i", *_instruction(function, k)) for k in range(4))
    place = data.rfind(first)
    if place < 0 or place + 16 * count > len(data):
        return None
    rows = np.frombuffer(data, dtype="<i4", count=4 * count, offset=place).reshape(count, 4)
    if any(tuple(rows[k]) != _instruction(function, k) for k in (count // 3, count // 2, count - 1)):
        return None
    constants = np.frombuffer(data, dtype="<f8", count=2 * count, offset=place).reshape(count, 2)[:, 1]
    is_constant = rows[:, 0] == ca.OP_CONST
    whole = rows.astype(np.int64)
    whole[is_constant, 2:] = 0
    if whole.min() < 0:
        return None
    return whole, np.where(is_constant, constants, 0.0)


# -- tables ----------------------------------------------------------------------------------------------------------
def read_table(function: ca.Function) -> Interpolation:
    """Grid and values of a linear interpolant, from the end of its serialised form."""
    data = _bytes_of(function)
    dimensions, values = function.nnz_in(0), function.nnz_out(0)
    for start in range(min(len(data), 4000)):
        table = _table_at(data, start, dimensions, values)
        if table is not None:
            return table
    raise Untranslatable("a table of an unknown form")


def _table_at(data: bytes, start: int, dimensions: int, count: int) -> Interpolation | None:
    """The table whose grid begins at this byte: the lengths must fit, and its end be the end of the data."""

    def length(at: int) -> int:
        return int(struct.unpack_from("<q", data, at)[0]) if at + 8 <= len(data) else -1

    n = length(start)
    at = start + 8 + 8 * n
    if not 2 * dimensions <= n <= len(data) // 8 or length(at) != dimensions + 1:
        return None
    offsets = struct.unpack_from(f"<{dimensions + 1}q", data, at + 8)
    sizes = np.diff(offsets)
    at += 8 + 8 * (dimensions + 1)
    if offsets[0] != 0 or offsets[-1] != n or sizes.min() < 2 or length(at) != count * int(np.prod(sizes)):
        return None
    total = count * int(np.prod(sizes))
    grid = np.frombuffer(data, dtype="<f8", count=n, offset=start + 8).astype(float)
    values = np.frombuffer(data, dtype="<f8", count=total, offset=at + 8).astype(float)
    modes = struct.unpack_from(f"<{dimensions}q", data, len(data) - 8 * dimensions)
    if length(len(data) - 8 * dimensions - 8) != dimensions or not all(0 <= mode <= 2 for mode in modes):
        return None
    return Interpolation(tuple(np.split(grid, offsets[1:-1])), values, modes, count)


# -- matrix graphs ---------------------------------------------------------------------------------------------------
@lru_cache(maxsize=1)
def _operation_names() -> dict[int, str]:
    return {getattr(ca, name): name[3:].lower() for name in dir(ca) if name.startswith("OP_")}


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


class _Graph:
    """Statements of an MX function. A value is a place: a view of an argument, of a constant, of work."""

    def __init__(self, program: Program, function: ca.Function) -> None:
        self.program, self.f = program, function
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
            inner = [block for i in span for block in self.blocks.get(i, ()) if self._stays(block, i, last)]
            for i in span:
                for block in self.blocks.get(i, ()):
                    if not any(block is one for one in inner):
                        self._allocate(block)
            if members:
                self._emit_group([(codes[i][0], *plan[i]) for i in members], inner)
            else:
                self._emit(k, *plan[k])
            for i in span:
                for block in self.ends.get(i, ()):
                    if not any(block is one for one in inner):
                        self._release(block)
            k = last + 1
        self.statements = [self._settle(s) for s in self.statements]
        return tuple(self.statements), self.top + self.inner

    def _group(self, k: int, plan: list[tuple[list[int], list[int]]]) -> list[int]:
        """Element-wise instructions from k on, of one length, between which nothing else happens."""
        members: list[int] = []
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
            size = length
            members.append(i)
        return members

    def _is_view(self, i: int, plan: tuple[list[int], list[int]]) -> bool:
        """Whether an instruction only names a part of a value."""
        return bool(plan[1]) and i not in self.blocks

    def _stays(self, block: _Block, made: int, last: int) -> bool:
        return self.codes[made][0] in (UNARY | BINARY) and block.last <= last and not block.parts

    def _emit_group(self, members: list[tuple[int, list[int], list[int]]], inner: list[_Block]) -> None:
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
            kept = not any(block is one for one in inner)
            made.append((block, self._place(results[0]) if kept else None))
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
        if isinstance(statement, CallRoutine):
            return CallRoutine(statement.routine, statement.inputs, statement.outputs, self.top)
        return statement

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
            base = self.program.constant(float(v) for v in node.to_DM().nonzeros())
            return [], [self._value(base, 0, node.nnz(), outputs[0])]
        view = self._view(op, node, operands)
        if view is not None:
            return operands, [self._value(*view, outputs[0])]
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
        if self._view(op, node, operands) is not None:
            return
        made = [self._place(v) for v in results]
        size = self.values[results[0]][2] if results else 0
        if op == ca.OP_CALL:
            self._call(self.program.function(node.which_function()), given, made)
        elif size == 0:
            return
        elif op in JOINED:
            at = 0
            for place, value in zip(given, operands, strict=True):
                if self.values[value][2]:
                    add(Copy(made[0].at(at), place, self.values[value][2]))
                at += self.values[value][2]
        elif op == ca.OP_GETNONZEROS and len(entries := entries_of(node)) <= FEW and min(entries) >= 0:
            add(Gather(made[0], given[0], tuple(entries)))
        elif op == ca.OP_MTIMES and self._is_large_product(node):
            (rows, inner), columns = node.dep(1).shape, node.dep(2).shape[1]
            add(Copy(made[0], given[0], size))
            add(DenseProduct(made[0], given[1], given[2], rows, inner, columns))
        elif op in EXPANDED:
            dependencies = [node.dep(i) for i in range(node.n_dep())]
            self._call(self.program.expand(node, dependencies), given, made)
        elif op in STARTED:
            routine, start = self.program.expand_from_start(node, [node.dep(i) for i in range(node.n_dep())])
            self._call(routine, [start, *given], made)
        else:
            raise Untranslatable(f"the matrix operation {_operation_names().get(op, op)}")

    def _is_large_product(self, node: Any) -> bool:
        x, y = node.dep(1), node.dep(2)
        dense = node.is_dense() and x.is_dense() and y.is_dense()
        return bool(dense and x.shape[0] * x.shape[1] * y.shape[1] > LOOP_PRODUCT)

    def _call(self, routine: Routine, inputs: Sequence[Address], outputs: Sequence[Address]) -> None:
        self.inner = max(self.inner, routine.work)
        self.statements.append(CallRoutine(routine, tuple(inputs), tuple(outputs), -1))
