"""Programs: the code of a function in a form that is independent of CasADi and of the processor.

A function is a routine that takes pointers to the nonzeros of its arguments, of its results, and to a work array. It is
straight scalar code, or a list of statements: element-wise operations, copies, dense products, calls, repeated calls (a
map), a choice between calls (a switch) and table look-ups.

`reader` makes programs of CasADi functions; back ends (`llvm_code`) turn them into code.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import casadi as ca

from dalembert.core.arrays import FloatArray, Int64Array


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


VECTOR = 4  # numbers in a register of AVX: loops over entries take this number at once


class Untranslatable(Exception):
    """A function, or a part of it, that only the interpreter evaluates."""


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

    operation: Int64Array
    out: Int64Array
    first: Int64Array
    second: Int64Array
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
    """The routine `count` times; each pointer moves by its stride.

    together : evaluations that a machine may make at once, in the parts of a vector. `work` then has room for the
    numbers of the arguments, of the results and of the routine's own work, so many times each, in this order.
    """

    routine: Routine
    inputs: tuple[tuple[Address, int], ...]
    outputs: tuple[tuple[Address, int], ...]
    count: int
    work: int
    together: int = 1


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
    functions: list[ca.Function] = field(default_factory=list)  # kept alive, so that their identities stay unique
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

    def add(self, function: ca.Function, body: Any, work: int) -> Routine:
        routine = Routine(
            f"f{len(self.routines)}",
            tuple(function.nnz_in(i) for i in range(function.n_in())),
            tuple(function.nnz_out(i) for i in range(function.n_out())),
            work,
            body,
        )
        self.routines.append(routine)
        return routine

    def constant(self, values: Iterable[float]) -> Address:
        array = tuple(values)
        key = struct.pack(f"{len(array)}d", *array)  # distinguishes 0.0 from -0.0
        found = self._arrays.setdefault(key, len(self.constants))
        if found == len(self.constants):
            self.constants.append(array)
        return Address("c", found, 0)
