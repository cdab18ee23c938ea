"""Programs: CasADi functions read instruction by instruction, apart from any processor.

A function becomes a routine that takes pointers to the nonzeros of its arguments, of its results, and to a work array.
An SX function is straight scalar code. An MX function is a list of statements: element-wise operations, copies, dense
products, calls, repeated calls (a map), a choice between calls (a switch) and table look-ups. Every other matrix
operation is expanded to scalar code by CasADi itself, so that it keeps the order of its sums.

Back ends (`llvm_code`) turn a `Program` into code. What has no translation raises `Untranslatable`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]

UNARY = frozenset(
    getattr(ca, f"OP_{name}")
    for name in (
        "ASSIGN NEG EXP LOG SQRT SQ TWICE SIN COS TAN ASIN ACOS ATAN FLOOR CEIL NOT ERF FABS SIGN INV SINH COSH TANH "
        "ASINH ACOSH ATANH ERFINV LOG1P EXPM1"
    ).split()
)
BINARY = frozenset(
    getattr(ca, f"OP_{name}")
    for name in (
        "ADD SUB MUL DIV POW CONSTPOW LT LE EQ NE AND OR FMOD COPYSIGN IF_ELSE_ZERO FMIN FMAX ATAN2 LIFT HYPOT REMAINDER"
    ).split()
)
VIEWS = frozenset((ca.OP_RESHAPE, ca.OP_SPARSITY_CAST))
JOINED = frozenset((ca.OP_VERTCAT, ca.OP_HORZCAT, ca.OP_DIAGCAT))
SPLIT = frozenset((ca.OP_VERTSPLIT, ca.OP_HORZSPLIT, ca.OP_DIAGSPLIT))
# Operations that CasADi expands to scalar code in the order in which it evaluates them.
EXPANDED = frozenset(
    getattr(ca, f"OP_{name}")
    for name in (
        "MTIMES DOT RANK1 TRANSPOSE PROJECT NORM1 NORM2 NORMF NORMINF HORZREPMAT KRON GETNONZEROS SETNONZEROS "
        "ADDNONZEROS EINSTEIN"
    ).split()
)
# Operations that begin with a number, which CasADi drops where it expands them: it decides on the sign of a zero.
STARTED = frozenset((ca.OP_BILIN, ca.OP_HORZREPSUM, ca.OP_MMIN, ca.OP_MMAX))
LOOP_PRODUCT = 300  # scalar products; a larger dense matrix product is a loop, a smaller one straight code
FEW = 16  # entries that a gather copies in place; more are a routine of their own, cut into pieces


class Untranslatable(Exception):
    """A function, or a part of it, that only the interpreter evaluates."""


# -- what a program holds --------------------------------------------------------------------------------------------
class Place(NamedTuple):
    """Address of numbers.  base : "a" argument, "r" result, "w" work, "c" constant; index : which one."""

    base: str
    index: int
    offset: int

    def at(self, offset: int) -> Place:
        return Place(self.base, self.index, self.offset + offset)


@dataclass(frozen=True)
class ScalarCall:
    """Call in scalar code.  inputs, outputs : registers of all entries, -1 for a result that nobody reads.

    work : where its arguments, its results and its own work array begin in the work array of the caller.
    """

    routine: Routine
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    work: int


@dataclass(frozen=True)
class Straight:
    """Scalar instructions, one per entry.

    out, first, second : registers; of an input the register, the argument and its entry; of an output the result, the
    register and the entry; of a call `out` is its number in `calls`.  constant : value of a constant.
    """

    operation: IntArray
    out: IntArray
    first: IntArray
    second: IntArray
    constant: FloatArray
    calls: tuple[ScalarCall, ...] = ()


@dataclass(frozen=True)
class Apply:
    """out[j] = operation(inputs[j]); an input with step 0 is one number for all."""

    operation: int
    out: Place
    inputs: tuple[tuple[Place, int], ...]
    count: int


@dataclass(frozen=True)
class Copy:
    out: Place
    source: Place
    count: int


@dataclass(frozen=True)
class Gather:
    """out[j] = source[entries[j]]."""

    out: Place
    source: Place
    entries: tuple[int, ...]


@dataclass(frozen=True)
class DenseProduct:
    """out (rows × columns) += x (rows × inner) y (inner × columns), columns first; sums in the order of `inner`."""

    out: Place
    x: Place
    y: Place
    rows: int
    inner: int
    columns: int


@dataclass(frozen=True)
class Call:
    """work : where the work array of the routine begins in that of the caller."""

    routine: Routine
    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]
    work: int


@dataclass(frozen=True)
class Repeat:
    """The routine `count` times; each pointer moves by its stride."""

    routine: Routine
    inputs: tuple[tuple[Place, int], ...]
    outputs: tuple[tuple[Place, int], ...]
    count: int
    work: int


@dataclass(frozen=True)
class Choose:
    """Call of the case that the number at `index` names; of the last one where it names none."""

    index: Place
    cases: tuple[Routine, ...]
    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]
    work: int


@dataclass(frozen=True)
class Table:
    """Piecewise linear interpolation on a grid of one or more dimensions; every point has as many values as `out`."""

    grid: tuple[FloatArray, ...]
    values: FloatArray
    modes: tuple[int, ...]  # search in each dimension: 0 from the left, 1 equally spaced, 2 bisection
    count: int


Statement: TypeAlias = "Apply | Copy | Gather | DenseProduct | Call | Repeat | Choose"


@dataclass(frozen=True)
class Routine:
    """Code with pointers to arguments, results and work. inputs, outputs : numbers of nonzeros."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    work: int
    body: Straight | Table | tuple[Statement, ...]


@dataclass
class Program:
    """Routines in the order of their use, callees first, and constant arrays."""

    routines: list[Routine] = field(default_factory=list)
    constants: list[tuple[float, ...]] = field(default_factory=list)
    functions: list[ca.Function] = field(default_factory=list)  # alive, so that their identities stay their own
    _done: dict[Any, Routine] = field(default_factory=dict)
    _arrays: dict[tuple[float, ...], int] = field(default_factory=dict)

    @property
    def main(self) -> Routine:
        return self.routines[-1]

    def size(self) -> int:
        """Scalar instructions and statements."""
        return sum(
            len(r.body.operation) if isinstance(r.body, Straight) else 1 if isinstance(r.body, Table) else len(r.body)
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

    def constant(self, values: Iterable[float]) -> Place:
        array = tuple(values)
        key = struct.pack(f"{len(array)}d", *array)  # tells 0.0 from -0.0
        found = self._arrays.setdefault(key, len(self.constants))  # type: ignore[call-overload]
        if found == len(self.constants):
            self.constants.append(array)
        return Place("c", found, 0)

    # -- functions ---------------------------------------------------------------------------------------------------
    def function(self, function: ca.Function) -> Routine:
        """The routine of a function, read at its first use."""
        key = function.__hash__()
        if key in self._done:
            return self._done[key]
        self.functions.append(function)
        kind = function.class_name()
        if kind == "SXFunction":
            calls = tuple(self._scalar_calls(function))
            used = max((len(c.inputs) + len(c.outputs) + c.routine.work for c in calls), default=0)
            return self.add(key, function, read_straight(function, calls), function.sz_w() + used)
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

    def _scalar_calls(self, function: ca.Function) -> Iterator[ScalarCall]:
        """Calls in an SX function, in their order."""
        if not function.get_function():
            return
        nodes = function.instructions_sx()
        for k in range(function.n_instructions()):
            if function.instruction_id(k) == ca.OP_CALL:
                routine = self.function(nodes[k].which_function())
                inputs, outputs = function.instruction_input(k), function.instruction_output(k)
                yield ScalarCall(routine, tuple(inputs), tuple(outputs), function.sz_w())

    def _map(self, key: Any, function: ca.Function) -> Routine:
        inside = function.info()
        inner, count = self.function(inside["f"]), int(inside["n"])

        def places(base: str, sizes: Sequence[int], whole: Any) -> tuple[tuple[Place, int], ...]:
            return tuple((Place(base, i, 0), n if whole(i) == n * count else 0) for i, n in enumerate(sizes))

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
        inputs = tuple(Place("a", i, 0) for i in range(1, function.n_in()))
        outputs = tuple(Place("r", i, 0) for i in range(function.n_out()))
        body = (Choose(Place("a", 0, 0), cases, inputs, outputs, 0),)
        return self.add(key, function, body, max(case.work for case in cases))

    def expanded(self, node: Any, dependencies: Sequence[Any]) -> Routine:
        """One matrix operation as scalar code."""
        key = (node.op(), *(tuple(x.sparsity().compress()) for x in (node, *dependencies)))
        identities = [d.__hash__() for d in dependencies]
        key = (*key, tuple(identities.index(i) for i in identities))  # x'x reads one argument, x'y both
        if node.op() in (ca.OP_GETNONZEROS, ca.OP_SETNONZEROS, ca.OP_ADDNONZEROS):
            key = (*key, tuple(entries_of(node)))
        elif node.op() == ca.OP_EINSTEIN:  # which indices are summed is not to be had
            key = (*key, node.__hash__())
        if key in self._done:
            return self._done[key]
        symbols = [ca.MX.sym(f"x{i}", d.sparsity()) for i, d in enumerate(dependencies)]
        alone = _alone(node, dependencies, symbols)
        function = ca.Function("operation", symbols, [alone]).expand()
        self.functions += [function, node]
        return self.add(key, function, read_straight(function), function.sz_w())

    def started(self, node: Any, dependencies: Sequence[Any]) -> tuple[Routine, Place]:
        """An operation that begins with a number, as scalar code with this number as first argument, and the number."""
        op = node.op()
        number = 0.0
        if op in (ca.OP_MMIN, ca.OP_MMAX) and dependencies[0].is_dense():
            number = np.inf if op == ca.OP_MMIN else -np.inf
        key = ("started", op, *(tuple(x.sparsity().compress()) for x in (node, *dependencies)))
        if key not in self._done:
            start = ca.SX.sym("start")
            symbols = [ca.SX.sym(f"x{i}", d.sparsity()) for i, d in enumerate(dependencies)]
            function = ca.Function("operation", [start, *symbols], [_from_start(node, start, symbols)])
            self.functions.append(function)
            self.add(key, function, read_straight(function), function.sz_w())
        return self._done[key], self.constant([number])


def _alone(node: Any, dependencies: Sequence[Any], symbols: Sequence[Any]) -> Any:
    """A node as a function of symbols in the place of its dependencies."""
    (alone,) = ca.graph_substitute([node], list(dependencies), list(symbols))
    known = {s.__hash__() for s in symbols}
    if all(s.__hash__() in known for s in ca.symvar(alone)):
        return alone
    # CasADi does not substitute a part of a split
    if node.op() == ca.OP_TRANSPOSE:
        return symbols[0].T
    if node.op() == ca.OP_PROJECT:
        return ca.project(symbols[0], node.sparsity())
    if node.op() == ca.OP_MTIMES:
        return ca.mac(symbols[1], symbols[2], symbols[0])
    if node.op() == ca.OP_DOT:
        return ca.dot(*symbols)
    raise Untranslatable(f"the matrix operation {_operation_name(node.op())} of a part of a split")


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


@lru_cache(maxsize=1)
def _operation_names() -> dict[int, str]:
    return {getattr(ca, name): name[3:].lower() for name in dir(ca) if name.startswith("OP_")}


def _operation_name(op: int) -> str:
    return _operation_names().get(int(op), str(op))


def read(function: ca.Function) -> Program:
    """The program of a function; `Program.main` is the function itself."""
    program = Program()
    program.function(function)
    return program


# -- scalar code -----------------------------------------------------------------------------------------------------
def read_straight(function: ca.Function, calls: tuple[ScalarCall, ...] = ()) -> Straight:
    """Instructions of an SX function, from its serialised form where that is known."""
    count = function.n_instructions()
    found = _serialised(function, count) if count > 64 and not calls else None
    code = _listed(function, count, calls) if found is None else found
    unknown = set(np.unique(code.operation)) - UNARY - BINARY - {ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CALL}
    if unknown:
        raise Untranslatable(f"the scalar operation {_operation_name(min(unknown))}")
    return code


def _listed(function: ca.Function, count: int, calls: tuple[ScalarCall, ...] = ()) -> Straight:
    rows = np.zeros((count, 4), dtype=np.int64)
    constant = np.zeros(count)
    called = 0
    for k in range(count):
        op, i, o = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_OUTPUT:
            rows[k] = op, o[0], i[0], o[1]
        elif op == ca.OP_CONST:
            rows[k] = op, o[0], 0, 0
            constant[k] = function.instruction_constant(k)
        elif op == ca.OP_CALL:
            rows[k] = op, called, 0, 0
            called += 1
        elif len(o) != 1 or len(i) > 2:
            raise Untranslatable(f"the scalar operation {_operation_name(op)}")
        else:
            rows[k] = op, o[0], i[0], i[-1]
    return Straight(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], constant, calls)


def _bytes_of(function: ca.Function) -> bytes:
    """The serialised form: two letters per byte, the lower half first."""
    letters = np.frombuffer(function.serialize().encode("ascii"), dtype=np.uint8) - ord("a")
    return (letters[0::2] | (letters[1::2] << 4)).astype(np.uint8).tobytes()


def _serialised(function: ca.Function, count: int) -> Straight | None:
    """Instructions as CasADi 3.8 writes them, four integers each; None where the first and last ones differ."""
    data = _bytes_of(function)
    end = len(data)
    wanted = _listed_some(function, [0, 1, 2, 3, count // 2, count - 1])
    start = b"".join(struct.pack("<4i", *wanted[k]) for k in range(4))
    place = data.rfind(start, 0, end)
    if place < 0 or place + 16 * count > end:
        return None
    block = np.frombuffer(data, dtype="<i4", count=4 * count, offset=place).reshape(count, 4).astype(np.int64)
    if any(tuple(block[k]) != row for k, row in wanted.items() if row[0] != ca.OP_CONST):
        return None
    constants = np.frombuffer(data, dtype="<f8", count=2 * count, offset=place).reshape(count, 2)[:, 1]
    is_constant = block[:, 0] == ca.OP_CONST
    for k in np.flatnonzero(is_constant)[:3]:
        if struct.pack("d", function.instruction_constant(int(k))) != struct.pack("d", constants[k]):
            return None
    is_output = block[:, 0] == ca.OP_OUTPUT
    registers = block[:, 1:][~is_output & ~is_constant]
    if block[:, 0].min() < 0 or registers.min(initial=0) < 0:
        return None
    return Straight(block[:, 0], block[:, 1], block[:, 2], block[:, 3], np.where(is_constant, constants, 0.0))


def _listed_some(function: ca.Function, which: Sequence[int]) -> dict[int, tuple[int, int, int, int]]:
    rows: dict[int, tuple[int, int, int, int]] = {}
    for k in which:
        op, i, o = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_OUTPUT:
            rows[k] = (op, o[0], i[0], o[1])
        elif op == ca.OP_CONST:
            low, high = struct.unpack("<2i", struct.pack("<d", function.instruction_constant(k)))
            rows[k] = (op, o[0], low, high)
        elif op == ca.OP_INPUT:
            rows[k] = (op, o[0], i[0], i[1])
        else:
            rows[k] = (op, o[0], i[0], i[-1])
    return rows


# -- tables ----------------------------------------------------------------------------------------------------------
def read_table(function: ca.Function) -> Table:
    """Grid and values of a linear interpolant, from the end of its serialised form."""
    data = _bytes_of(function)
    dimensions, values = function.nnz_in(0), function.nnz_out(0)
    for start in range(min(len(data), 4000)):
        table = _table_at(data, start, dimensions, values)
        if table is not None:
            return table
    raise Untranslatable("a table of an unknown form")


def _table_at(data: bytes, start: int, dimensions: int, count: int) -> Table | None:
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
    return Table(tuple(np.split(grid, offsets[1:-1])), values, modes, count)


# -- matrix graphs ---------------------------------------------------------------------------------------------------
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
        self.values: list[tuple[Place | _Block, int, int]] = []  # base, offset in it, nonzeros
        self.blocks: dict[int, list[_Block]] = {}
        plan = [self._plan(k, *code) for k, code in enumerate(codes)]
        ends: dict[int, list[_Block]] = {}
        for blocks in self.blocks.values():
            for block in blocks:
                ends.setdefault(block.last, []).append(block)
        for k, (operands, results) in enumerate(plan):
            for block in self.blocks.get(k, ()):
                self._allocate(block)
            self._emit(k, operands, results)
            for block in ends.get(k, ()):
                self._release(block)
        self.statements = [self._settle(s) for s in self.statements]
        return tuple(self.statements), self.top + self.inner

    # a call's work array begins above all values of the caller, known only at the end
    def _settle(self, statement: Statement) -> Statement:
        if isinstance(statement, Call):
            return Call(statement.routine, statement.inputs, statement.outputs, self.top)
        return statement

    def _plan(self, k: int, op: int, node: Any, inputs: Any, outputs: Any) -> tuple[list[int], list[int]]:
        """Values that instruction k reads and makes, as numbers of `values`."""
        if k == 0:
            self.register: dict[int, int] = {}
        if op == ca.OP_INPUT:
            # an input may be given in segments: its entries begin at the offset
            base = Place("a", inputs[0], int(node.info()["offset"]))
            return [], [self._value(base, 0, node.nnz(), outputs[0])]
        operands = [self.register[i] for i in inputs]
        for value in operands:
            base_ = self.values[value][0]
            if isinstance(base_, _Block):
                base_.last = max(base_.last, k)
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
            bounds = [int(v) for v in node.info()["offset"]]  # in nonzeros
            parts = zip(bounds[:-1], bounds[1:], outputs, strict=True)
            return operands, [self._value(base_, first + a, b - a, o) for a, b, o in parts]
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

    def _view(self, op: int, node: Any, operands: list[int]) -> tuple[Place | _Block, int, int] | None:
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

    def _value(self, base: Place | _Block, offset: int, size: int, register: int) -> int:
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

    def _place(self, value: int) -> Place:
        base, offset, _ = self.values[value]
        return Place("w", 0, base.offset + offset) if isinstance(base, _Block) else base.at(offset)

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
                add(Copy(Place("r", outputs[0], int(node.info()["offset"])), given[0], size))
            return
        if self._view(op, node, operands) is not None:
            return
        made = [self._place(v) for v in results]
        size = self.values[results[0]][2] if results else 0
        if op == ca.OP_CALL:
            self._call(self.program.function(node.which_function()), given, made)
        elif size == 0:
            return
        elif op in UNARY or op in BINARY:
            used = given[:1] if op in UNARY else given
            sizes = [self.values[v][2] for v in operands]
            if any(n not in (1, size) for n in sizes[: len(used)]):
                raise Untranslatable("an operation of different patterns")
            steps = tuple((place, int(n > 1)) for place, n in zip(used, sizes, strict=False))
            add(Apply(op, made[0], steps, size))
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
            self._call(self.program.expanded(node, dependencies), given, made)
        elif op in STARTED:
            routine, start = self.program.started(node, [node.dep(i) for i in range(node.n_dep())])
            self._call(routine, [start, *given], made)
        else:
            raise Untranslatable(f"the matrix operation {_operation_name(op)}")

    def _is_large_product(self, node: Any) -> bool:
        x, y = node.dep(1), node.dep(2)
        dense = node.is_dense() and x.is_dense() and y.is_dense()
        return bool(dense and x.shape[0] * x.shape[1] * y.shape[1] > LOOP_PRODUCT)

    def _call(self, routine: Routine, inputs: Sequence[Place], outputs: Sequence[Place]) -> None:
        self.inner = max(self.inner, routine.work)
        self.statements.append(Call(routine, tuple(inputs), tuple(outputs), -1))
