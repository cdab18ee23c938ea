"""Twists, wrenches and symmetric matrices of many links or speeds at once, by components.

A component is a vector over links or over speeds, of scalars (SX) or as one symbol (MX): the same formula is scalar
code for a few of them, and a loop over vectors for many. Components without entries stay empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.absolute.build_equations import share

LONG_SUM = 8  # terms; an addition takes four cycles, and the processor starts one or two per cycle
Triple: TypeAlias = "tuple[Expr, Expr, Expr]"


def cross(x: Triple, y: Triple) -> Triple:
    return (x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0])


def plus(*terms: Triple) -> Triple:
    x, y, z = (sum(parts[1:], parts[0]) for parts in zip(*terms, strict=True))
    return x, y, z


def times(c: Expr, x: Triple) -> Triple:
    return (c * x[0], c * x[1], c * x[2])


def inner(x: Sequence[Expr], y: Sequence[Expr]) -> Expr:
    first, *rest = (a * b for a, b in zip(x, y, strict=True))
    return sum(rest, first)


def add_terms(terms: Sequence[Expr]) -> Expr:
    """The sum of terms; a long one as four partial sums, since an addition waits for the previous one."""
    if len(terms) > LONG_SUM:
        terms = [add_terms(terms[k :: LONG_SUM // 2]) for k in range(LONG_SUM // 2)]
    return sum(terms[1:], terms[0])


@dataclass(frozen=True)
class Columns:
    """Twists or wrenches: angular and linear part."""

    w: Triple
    v: Triple

    @classmethod
    def of(cls, matrix: Expr) -> Columns:
        """From one in every row."""
        wx, wy, wz, vx, vy, vz = ca.horzsplit(matrix)
        return cls((wx, wy, wz), (vx, vy, vz))

    def __add__(self, other: Columns) -> Columns:
        return Columns(plus(self.w, other.w), plus(self.v, other.v))

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (*self.w, *self.v)


def twist_cross(V: Columns, U: Columns) -> Columns:
    """V × U."""
    return Columns(cross(V.w, U.w), plus(cross(V.w, U.v), cross(V.v, U.w)))


@dataclass(frozen=True)
class SymmetricMatrices:
    """Symmetric 3 x 3 matrices by xx, xy, xz, yy, yz, zz."""

    entries: Sequence[Expr]

    @property
    def rows(self) -> tuple[Triple, Triple, Triple]:
        xx, xy, xz, yy, yz, zz = self.entries
        return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)

    def __matmul__(self, x: Triple) -> Triple:
        a, b, c = (inner(row, x) for row in self.rows)
        return a, b, c


def fill(rows: Sequence[Expr]) -> Expr:
    """Rows under each other; a column of the result has all its entries or none."""
    table = ca.sparsify(ca.vertcat(*rows))
    return ca.horzcat(*(ca.densify(part) if part.nnz() else part for part in ca.horzsplit(table)))


# -- scalars or vectors ----------------------------------------------------------------------------------------------
AT_ONCE = 4  # numbers in a register of the processor: lengths of vectors and beginnings of runs are multiples of it


def lengthen(table: Expr) -> Expr:
    """With rows of zeros up to a multiple of `AT_ONCE`."""
    count = -table.shape[0] % AT_ONCE
    parts = ca.horzsplit(table)
    return ca.horzcat(*(ca.vertcat(x, ca.SX.zeros(count) if x.nnz() else ca.SX(count, 1)) for x in parts))


def align(vector: Expr, first: int, stop: int) -> tuple[int, int]:
    """The run as it is for scalars, and with its ends at a multiple of `AT_ONCE` for vectors."""
    if not isinstance(vector, ca.MX):
        return first, stop
    return first - first % AT_ONCE, stop + -stop % AT_ONCE


def zeros(like: Expr, count: int) -> Expr:
    return type(like).zeros(count)


def stage(compute: Callable[..., Sequence[Expr]], *given: Expr) -> Sequence[Expr]:
    """compute(*given) as scalar code: at once for scalars, as a call of a function for vectors."""
    if not any(isinstance(x, ca.MX) for x in given):
        return compute(*given)
    symbols = [ca.SX.sym(f"x{k}", x.sparsity()) for k, x in enumerate(given)]
    found = [lengthen(x) for x in compute(*symbols)]
    return share(compute.__name__, symbols, found).call(list(given))  # type: ignore[no-any-return]
