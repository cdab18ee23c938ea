"""Linear matrix inequalities by an interior-point method (Clarabel, extra ``robust``).

    minimise cᵀ x   subject to   F_i(x) = F_i0 + Σ x_k F_ik ≽ 0

An expression is affine in the unknowns: one sparse row per entry of the matrix (row by row), one column per unknown,
and a last column for the constant. A X B has the rows of A ⊗ Bᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import require_extra


@dataclass(frozen=True, eq=False)
class AffineMatrix:
    """A matrix (rows, columns) whose entries are affine in the unknowns."""

    shape: tuple[int, int]
    rows: Any  # sparse (rows x columns, unknowns + 1)

    __array_ufunc__ = None  # A @ X of an array and an expression is an expression

    def __add__(self, other: AffineMatrix | FloatArray) -> AffineMatrix:
        return AffineMatrix(self.shape, self.rows + self._like(other).rows)

    __radd__ = __add__

    def __neg__(self) -> AffineMatrix:
        return AffineMatrix(self.shape, -self.rows)

    def __sub__(self, other: AffineMatrix | FloatArray) -> AffineMatrix:
        return self + (-self._like(other))

    def __mul__(self, factor: float) -> AffineMatrix:
        return AffineMatrix(self.shape, factor * self.rows)

    __rmul__ = __mul__

    def __rmatmul__(self, A: FloatArray) -> AffineMatrix:
        product = scipy.sparse.kron(A, scipy.sparse.identity(self.shape[1]), format="csr")
        return AffineMatrix((len(A), self.shape[1]), product @ self.rows)

    def __matmul__(self, B: FloatArray) -> AffineMatrix:
        product = scipy.sparse.kron(scipy.sparse.identity(self.shape[0]), B.T, format="csr")
        return AffineMatrix((self.shape[0], B.shape[1]), product @ self.rows)

    @property
    def T(self) -> AffineMatrix:
        order = np.arange(self.shape[0] * self.shape[1]).reshape(self.shape).T.ravel()
        return AffineMatrix(self.shape[::-1], self.rows[order])

    def __rsub__(self, other: FloatArray) -> AffineMatrix:
        return self._like(other) - self

    def times(self, matrix: FloatArray) -> AffineMatrix:
        """This one number times a matrix of numbers."""
        rows = scipy.sparse.kron(matrix.reshape(-1, 1), self.rows, format="csr")
        return AffineMatrix((matrix.shape[0], matrix.shape[1]), rows)

    def trace(self) -> AffineMatrix:
        """Sum of the diagonal, (1, 1)."""
        diagonal = np.arange(self.shape[0]) * (self.shape[1] + 1)
        return AffineMatrix((1, 1), scipy.sparse.csr_matrix(np.ones((1, len(diagonal)))) @ self.rows[diagonal])

    def value(self, x: FloatArray) -> FloatArray:
        """The matrix at the unknowns x."""
        return np.asarray(self.rows @ np.append(x, 1.0)).reshape(self.shape)

    def _like(self, other: AffineMatrix | FloatArray) -> AffineMatrix:
        return other if isinstance(other, AffineMatrix) else constant(np.asarray(other), self.rows.shape[1] - 1)


def constant(value: FloatArray, count: int) -> AffineMatrix:
    """A matrix that does not depend on the ``count`` unknowns."""
    column = scipy.sparse.csr_matrix(np.reshape(value, (-1, 1)))
    left = scipy.sparse.csr_matrix((value.size, count))
    return AffineMatrix((value.shape[0], value.shape[1]), scipy.sparse.hstack([left, column], format="csr"))


def block(parts: list[list[AffineMatrix]]) -> AffineMatrix:
    """A matrix of blocks."""
    heights, widths = [row[0].shape[0] for row in parts], [part.shape[1] for part in parts[0]]
    places = np.arange(sum(heights) * sum(widths)).reshape(sum(heights), sum(widths))
    order, rows, top = [], [], 0
    for row, height in zip(parts, heights, strict=True):
        left = 0
        for part, width in zip(row, widths, strict=True):
            order.append(places[top : top + height, left : left + width].ravel())
            rows.append(part.rows)
            left += width
        top += height
    stacked = scipy.sparse.vstack(rows, format="csr")
    return AffineMatrix(places.shape, stacked[np.argsort(np.concatenate(order))])


class Unknowns:
    """Matrices to determine, by name: symmetric, full, or numbers."""

    def __init__(self, **shapes: int | tuple[int, int]) -> None:
        """A number n is a symmetric (n, n) matrix, a pair a full one."""
        sizes = {name: n * (n + 1) // 2 if isinstance(n, int) else n[0] * n[1] for name, n in shapes.items()}
        self.count = sum(sizes.values())
        self.matrices: dict[str, AffineMatrix] = {}
        first = 0
        for name, shape in shapes.items():
            if isinstance(shape, int):
                triangle = np.zeros((shape, shape), dtype=int)
                triangle[np.triu_indices(shape)] = np.arange(sizes[name])
                places, size = np.maximum(triangle, triangle.T).ravel(), (shape, shape)
            else:
                places, size = np.arange(sizes[name]), shape
            entries = np.ones(len(places)), (np.arange(len(places)), first + places)
            rows = scipy.sparse.csr_matrix(entries, shape=(len(places), self.count + 1))
            self.matrices[name] = AffineMatrix(size, rows)
            first += sizes[name]

    def __getitem__(self, name: str) -> AffineMatrix:
        return self.matrices[name]

    def constant(self, value: FloatArray) -> AffineMatrix:
        return constant(np.asarray(value, dtype=float), self.count)


def minimize(
    gradient: FloatArray,
    inequalities: list[AffineMatrix],
    *,
    slack: float = np.inf,
    seconds: float = 120.0,
    accuracy: float = 1e-8,
) -> FloatArray | None:
    """x with the least cᵀ x and every matrix positive semidefinite; None where the solver has no such x.

    slack : negative eigenvalue of a matrix, relative to the largest unknown above 1, that still counts as zero.
    seconds : limit of the time of the solver.  accuracy : relative, of its own conditions; the user confirms the rest.
    """
    clarabel = require_extra("clarabel", "robust")
    rows, cones = [], []
    for matrix in inequalities:
        n = matrix.shape[0]
        columns, lines = np.tril_indices(n)  # columns of the upper triangle, one after the other
        weights = np.where(lines == columns, 0.5, 0.5 * np.sqrt(2.0))
        both = matrix.rows[lines * n + columns] + matrix.rows[columns * n + lines]
        rows.append(scipy.sparse.diags(weights) @ both)
        cones.append(clarabel.PSDTriangleConeT(n))
    stacked = scipy.sparse.vstack(rows, format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.time_limit = False, seconds
    settings.max_threads = 1  # more of them wait for each other: 15 times slower for 90 unknowns
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = accuracy
    count = stacked.shape[1] - 1
    quadratic = scipy.sparse.csc_matrix((count, count))
    right = np.asarray(stacked[:, [count]].todense()).ravel()
    solver = clarabel.DefaultSolver(quadratic, gradient, -stacked[:, :count], right, cones, settings)
    solution = solver.solve()
    acceptable = str(solution.status) in ("Solved", "AlmostSolved", "InsufficientProgress", "MaxTime")
    x = np.asarray(solution.x)
    if not (acceptable and np.all(np.isfinite(x))):
        return None
    limit = -slack * max(1.0, float(np.abs(x).max(initial=0.0)))
    return x if all(np.linalg.eigvalsh(matrix.value(x))[0] >= limit for matrix in inequalities) else None
