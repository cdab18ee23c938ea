"""Matrices whose rows and columns have names (Orsino 2016, definition 2.9).

    (X + Y)[r, c] = X[r, c] + Y[r, c]   on the union of the labels, an entry that a matrix does not have counts as zero
    (X Y)[r, c]   = Σ_k X[r, k] Y[k, c]  with k matched by name, whatever the order of the labels

The sum is commutative and associative, so that one operation builds block-diagonal matrices, adds contributions that
overlap, and assembles columns of forces. Entries are expressions or numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.declare import instance
from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice
from dalembert.core.tables import align_columns
from dalembert.expressions import Array, Expr
from dalembert.symbolic.text.read import require_shape

Labels = tuple[str, ...]


class LabelledMatrix:
    """A matrix with a name for every row and column.

    Parameters
    ----------
    entries : matrix of expressions or of numbers; a column where there is one column label
    rows, columns : labels; of a column of forces the one label is ``""``

    Examples
    --------
    >>> a = LabelledMatrix([[1.0, 2.0]], ["r"], ["x", "y"])
    >>> b = LabelledMatrix([[10.0]], ["r"], ["y"])
    >>> (a + b)["r", "y"]
    12.0
    """

    def __init__(self, entries: Any, rows: Iterable[str], columns: Iterable[str] = ("",)) -> None:
        self.rows: Labels = tuple(instance(Iterable)("rows", rows))
        self.columns: Labels = tuple(instance(Iterable)("columns", columns))
        self.is_numeric = not isinstance(entries, ca.SX)
        if self.is_numeric:
            entries = np.array(entries, dtype=float)
            if entries.ndim < 2 and entries.size == len(self.rows) * len(self.columns):
                entries = entries.reshape(len(self.rows), len(self.columns))
        self.entries: Any = entries
        for side, labels in (("row", self.rows), ("column", self.columns)):
            twice = sorted({label for label in labels if labels.count(label) > 1})
            if twice:
                raise ModelError("duplicate", f"{side} label {twice[0]!r} occurs twice.", where={side: twice[0]})
        require_shape(entries, "a matrix with these labels", (len(self.rows), len(self.columns)))

    # -- parts -----------------------------------------------------------------------------------------------------
    def __getitem__(self, place: tuple[str, str]) -> Any:
        """One entry by its labels; a label that does not exist is an error."""
        row, column = place
        value = self.entries[_find(row, self.rows, "row"), _find(column, self.columns, "column")]
        return float(value) if self.is_numeric else value

    def part(self, rows: Sequence[str] | None = None, columns: Sequence[str] | None = None) -> LabelledMatrix:
        """The rows and columns of these labels, in this order; a label that does not exist is an error."""
        wanted = self.rows if rows is None else tuple(rows)
        across = self.columns if columns is None else tuple(columns)
        return self._take(
            wanted, across, [_find(r, self.rows, "row") for r in wanted],
            [_find(c, self.columns, "column") for c in across],
        )  # fmt: skip

    def _take(self, rows: Labels, columns: Labels, i: Sequence[int], j: Sequence[int]) -> LabelledMatrix:
        if self.is_numeric:
            return LabelledMatrix(self.entries[np.ix_(i, j)], rows, columns)
        return LabelledMatrix(self.entries[list(i), list(j)] if i and j else ca.SX(len(i), len(j)), rows, columns)

    def expand(self, rows: Sequence[str], columns: Sequence[str]) -> LabelledMatrix:
        """The same entries on more labels, zero elsewhere; every label of this matrix must be among them."""
        place = {label: k for k, label in enumerate(rows)}
        across = {label: k for k, label in enumerate(columns)}
        i = [place[require_label(label, rows, "row")] for label in self.rows]
        j = [across[require_label(label, columns, "column")] for label in self.columns]
        shape = (len(rows), len(columns))
        result: Any = np.zeros(shape) if self.is_numeric else ca.SX(*shape)
        if i and j:
            if self.is_numeric:
                result[np.ix_(i, j)] = self.entries
            else:
                result[i, j] = self.entries
        return LabelledMatrix(result, rows, columns)

    # -- algebra ---------------------------------------------------------------------------------------------------
    def __add__(self, other: LabelledMatrix) -> LabelledMatrix:
        """Sum on the union of the labels: those of this matrix first."""
        if not isinstance(other, LabelledMatrix):
            return NotImplemented
        rows = self.rows + tuple(label for label in other.rows if label not in self.rows)
        columns = self.columns + tuple(label for label in other.columns if label not in self.columns)
        a, b = self.expand(rows, columns), other.expand(rows, columns)
        return LabelledMatrix(a.entries + b.entries, rows, columns)

    def __neg__(self) -> LabelledMatrix:
        return LabelledMatrix(-self.entries, self.rows, self.columns)

    def __sub__(self, other: LabelledMatrix) -> LabelledMatrix:
        return self + (-other)

    def scale(self, factor: Any) -> LabelledMatrix:
        """Every entry times a number or an expression."""
        return LabelledMatrix(self.entries * factor, self.rows, self.columns)

    def __matmul__(self, other: LabelledMatrix) -> LabelledMatrix:
        """Product by labels; a label that one of the two does not have is an error, see `multiply`."""
        if not isinstance(other, LabelledMatrix):
            return NotImplemented
        for label in self.columns:
            _find(label, other.rows, "row", "the second factor of a product")
        for label in other.rows:
            _find(label, self.columns, "column", "the first factor of a product")
        return self.multiply(other)

    def multiply(self, other: LabelledMatrix) -> LabelledMatrix:
        """Product by labels where inner labels that one of the two does not have count as zero."""
        common = [label for label in self.columns if label in other.rows]
        a, b = self.part(columns=common), other.part(rows=common)
        if not common:
            product: Any = np.zeros((len(self.rows), len(other.columns)))
            if not (self.is_numeric and other.is_numeric):
                product = ca.SX(*product.shape)
        else:
            product = a.entries @ b.entries
        return LabelledMatrix(product, self.rows, other.columns)

    @property
    def T(self) -> LabelledMatrix:
        return LabelledMatrix(self.entries.T, self.columns, self.rows)

    def apply(self, function: Callable[[Any], Any]) -> LabelledMatrix:
        """The same labels with a function applied to every entry."""
        rows = [[function(self[r, c]) for c in self.columns] for r in self.rows]
        if all(isinstance(entry, (int, float)) for row in rows for entry in row):
            return LabelledMatrix(np.array(rows, dtype=float).reshape(self.shape), self.rows, self.columns)
        matrix = ca.vertcat(*(ca.horzcat(*row) for row in rows)) if rows and rows[0] else ca.SX(*self.shape)
        return LabelledMatrix(ca.SX(matrix), self.rows, self.columns)

    def rename(self, names: dict[str, str] | Callable[[str], str]) -> LabelledMatrix:
        """The same entries under other labels."""

        def new(label: str) -> str:
            return names(label) if callable(names) else names.get(label, label)

        return LabelledMatrix(self.entries, map(new, self.rows), map(new, self.columns))

    def solve(self, right: LabelledMatrix) -> LabelledMatrix:
        """X of this @ X = right, by labels: the least-squares solution of smallest norm; numbers only."""
        if not (self.is_numeric and right.is_numeric):
            raise ModelError("wrong-type", "only matrices of numbers are solved; evaluate the expressions first.")
        solution = np.linalg.lstsq(self.entries, right.part(rows=self.rows).entries, rcond=None)[0]
        return LabelledMatrix(solution, self.columns, right.columns)

    def pseudo_inverse(self) -> LabelledMatrix:
        """A⁺ with rows and columns exchanged; of expressions by the smaller of AᵀA and AAᵀ, which must be regular."""
        A = self.entries
        if self.is_numeric:
            inverse = np.linalg.pinv(A)
        elif self.shape[0] < self.shape[1]:
            inverse = ca.solve(A @ A.T, A).T
        else:
            inverse = ca.solve(A.T @ A, A.T)
        return LabelledMatrix(inverse, self.columns, self.rows)

    def linearize(self, symbols: Expr, reference: Array | None = None) -> LabelledMatrix:
        """First-order expansion about values of the symbols, zero where left out; its symbols are the deviations."""
        at = ca.DM.zeros(symbols.numel()) if reference is None else ca.DM(reference)
        flat = ca.vec(ca.densify(ca.SX(self.entries)))
        value, slope = (ca.substitute(entry, symbols, at) for entry in (flat, ca.jacobian(flat, symbols)))
        return LabelledMatrix(ca.reshape(value + slope @ symbols, *self.shape), self.rows, self.columns)

    # -- properties ------------------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    @property
    def is_empty(self) -> bool:
        return not (self.rows and self.columns)

    @property
    def pattern(self) -> Array:
        """True where an entry is not zero."""
        nonzero = [[not ca.SX(self[r, c]).is_zero() for c in self.columns] for r in self.rows]
        return np.array(nonzero, dtype=bool).reshape(self.shape)

    def text(self, width: int = 12) -> str:
        """A table with the labels around the entries; long expressions are cut."""

        def show(value: Any) -> str:
            words = f"{value:.6g}" if self.is_numeric else "0" if value.is_zero() else str(value)
            return words if len(words) <= width else words[: width - 1] + "…"

        return align_columns(["", *self.columns], [[r, *(show(self[r, c]) for c in self.columns)] for r in self.rows])

    def __repr__(self) -> str:
        kind = "numbers" if self.is_numeric else "expressions"
        return f"LabelledMatrix({len(self.rows)} x {len(self.columns)} {kind}: {', '.join(self.columns[:8])})"


def zeros(rows: Iterable[str], columns: Iterable[str] = ("",)) -> LabelledMatrix:
    """Zeros under these labels."""
    rows, columns = tuple(rows), tuple(columns)
    return LabelledMatrix(ca.SX(len(rows), len(columns)), rows, columns)


def identity(rows: Iterable[str], columns: Iterable[str] | None = None) -> LabelledMatrix:
    """One where a row and a column have the same label, zero elsewhere."""
    rows = tuple(rows)
    columns = rows if columns is None else tuple(columns)
    entries = ca.SX(len(rows), len(columns))
    for i, label in enumerate(rows):
        if label in columns:
            entries[i, columns.index(label)] = 1
    return LabelledMatrix(entries, rows, columns)


def label_sum(*matrices: LabelledMatrix) -> LabelledMatrix:
    """Sum of several matrices on the union of their labels: block-diagonal where they share none."""
    total, *others = matrices
    for matrix in others:
        total = total + matrix
    return total


def labelled_jacobian(expressions: Expr, rows: Iterable[str], symbols: Expr, columns: Iterable[str]) -> LabelledMatrix:
    """∂expressions/∂symbols with a label for every expression and every symbol."""
    return LabelledMatrix(ca.SX(ca.jacobian(ca.vertcat(expressions), symbols)), rows, columns)


def coefficients(matrix: LabelledMatrix, symbols: Expr, names: Iterable[str]) -> dict[str, LabelledMatrix]:
    """A matrix that is affine in some symbols: its constant part under ``""``, and one matrix for each symbol."""
    parts = {}
    for name, symbol in zip(names, ca.vertsplit(symbols), strict=True):
        slope = ca.reshape(ca.jacobian(ca.vec(matrix.entries), symbol), *matrix.shape)
        if ca.depends_on(slope, symbols):
            raise ModelError("not-affine", f"the matrix must be affine in {name!r}.", where={"symbol": name})
        parts[name] = LabelledMatrix(slope, matrix.rows, matrix.columns)
    constant = ca.substitute(matrix.entries, symbols, ca.DM.zeros(symbols.numel()))
    return {"": LabelledMatrix(constant, matrix.rows, matrix.columns), **parts}


def evaluate(matrix: LabelledMatrix, symbols: Expr, values: Array) -> LabelledMatrix:
    """The numbers of a matrix of expressions."""
    if matrix.is_numeric:
        return matrix
    function = ca.Function("entries", [symbols], [ca.densify(matrix.entries)])
    return LabelledMatrix(np.array(function(values)).reshape(matrix.shape), matrix.rows, matrix.columns)


def _find(label: str, labels: Labels, side: str, where: str = "this matrix") -> int:
    return labels.index(require_label(label, labels, side, where))


def require_label(label: str, labels: Sequence[str], side: str, where: str = "this matrix") -> str:
    advice = Advice("Labels are names of variables: of a part of an assembly with the name of the part before them.")
    require_name(f"{side} label", label, labels, where, advice, error=ModelError, where={side: label})
    return label
