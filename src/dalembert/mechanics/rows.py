"""Sparse linear forms of the speeds, and the growing set of constraint rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import casadi as ca

from dalembert.equations import Row
from dalembert.expressions import Expr

SX = ca.SX


class Form:
    """A few rows linear in the speeds, kept as (row, column, value) triplets."""

    def __init__(self, rows: list[int], columns: list[int], values: list[Expr], count: int) -> None:
        self.rows, self.columns, self.values, self.count = rows, columns, values, count

    @classmethod
    def of_blocks(cls, blocks: Iterable[tuple[Sequence[int], Expr]]) -> Form:
        rows: list[int] = []
        columns: list[int] = []
        values: list[Expr] = []
        count = 0
        for where, block in blocks:
            block = ca.sparsify(SX(block))
            count = max(count, block.shape[0])
            if not where:
                continue
            r, c = block.sparsity().get_triplet()
            rows += r
            columns += [where[k] for k in c]
            values += block.nonzeros()
        return cls(rows, columns, values, count)

    @classmethod
    def of_matrix(cls, matrix: Expr) -> Form:
        matrix = ca.sparsify(matrix)
        r, c = matrix.sparsity().get_triplet()
        return cls(list(r), list(c), matrix.nonzeros(), matrix.shape[0])

    def scale(self, factor: Expr) -> Form:
        return Form(self.rows, self.columns, [factor * x for x in self.values], self.count)

    def __add__(self, other: Form) -> Form:
        return Form(
            self.rows + other.rows,
            self.columns + other.columns,
            self.values + other.values,
            max(self.count, other.count),
        )

    def multiply_transposed(self, effort: Expr, size: int) -> Expr:
        """Formᵀ effort, as a column of the given size; `effort` has one entry per row."""
        result = SX.zeros(size)
        for row, column, value in zip(self.rows, self.columns, self.values, strict=True):
            result[column] = result[column] + value * effort[row]
        return result

    @staticmethod
    def stack(forms: Sequence[Form], width: int) -> Expr:
        """Sparse matrix of all forms, one below the other; repeated entries add up."""
        entries: dict[tuple[int, int], Expr] = {}
        offset = 0
        for form in forms:
            for row, column, value in zip(form.rows, form.columns, form.values, strict=True):
                key = (row + offset, column)
                entries[key] = entries[key] + value if key in entries else value
            offset += form.count
        if not entries:
            return SX(offset, width)
        rows, columns = zip(*entries, strict=True)
        return SX.triplet(list(rows), list(columns), ca.vertcat(*entries.values()), offset, width)


@dataclass(frozen=True)
class Measured:
    """A named coordinate: value, rate ṡ, form S and bias with s̈ = S v̇ + bias."""

    value: Expr
    rate: Expr
    form: Form
    bias: Expr
    unit: str
    rate_name: str


class RowSet:
    """Constraint rows in the order they were added."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.tags: list[Row] = []
        self._forms: list[Form] = []
        self._right: list[Expr] = []
        self._positions: list[Expr] = []
        self._velocities: list[Expr] = []
        self._matrix: Expr = None

    def __len__(self) -> int:
        return len(self.tags)

    def add(self, owner: str, levels: list[str], form: Form, b: Expr, phi: Expr, rates: Expr) -> tuple[int, ...]:
        first = len(self.tags)
        self.tags += [Row(owner, level, k) for k, level in enumerate(levels)]
        self._forms.append(Form(form.rows, form.columns, form.values, len(levels)))
        self._right.append(b)
        if phi.shape[0]:
            self._positions.append(phi)
        if rates.shape[0]:
            self._velocities.append(rates)
        self._matrix = None
        return tuple(range(first, len(self.tags)))

    def matrix(self) -> Expr:
        if self._matrix is None:
            self._matrix = Form.stack(self._forms, self.width)
        return self._matrix

    def right_hand_side(self) -> Expr:
        return ca.densify(ca.vertcat(*self._right)) if self._right else SX.zeros(0, 1)

    def positions(self) -> Expr:
        return ca.densify(ca.vertcat(*self._positions)) if self._positions else SX.zeros(0, 1)

    def velocities(self) -> Expr:
        return ca.densify(ca.vertcat(*self._velocities)) if self._velocities else SX.zeros(0, 1)
