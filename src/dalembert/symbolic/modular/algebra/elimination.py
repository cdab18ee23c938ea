"""Elimination in symbols, with every decision on zeros and ranks taken at points.

Gauss-Jordan elimination of a sparse matrix of expressions. Numbers of the same matrix at several points are eliminated
beside it: an entry counts as zero where it is zero at all of them, a pivot is one that is far from zero at all of them.
A decision of this kind is no proof; its user reports at how many points it was taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg

from dalembert.expressions import Array, Expr


def is_rounding(values: Any, size: Any = 1.0, rounding: float = 1e-12) -> Array:
    """Whether values, relative to a size, vanish by definition: a row beside the longest, an imaginary part.

    rounding : of a few operations.
    """
    return np.asarray(np.abs(values) <= rounding * size)


def is_zero(values: Any, size: Any = 1.0, difference: float = 1e-9) -> Array:
    """Whether values are zero relative to a size: an entry in its row, the difference of two computations.

    difference : rounding of some hundred operations at a pose of moderate condition.
    """
    return np.asarray(np.abs(values) <= difference * size)


def null_space_of(matrix: Array, rank: float = 1e-9) -> Array:
    """Orthonormal columns that the rows are normal to; rank : singular value relative to the largest, as `is_zero`."""
    return np.asarray(scipy.linalg.null_space(matrix, rcond=rank) if matrix.size else np.eye(matrix.shape[1]))


def solve_determined(matrix: Array, right: Array, determined: float = 1e-12) -> Array | None:
    """The solution of equations for accelerations, None where a singular value below ``determined`` leaves one open.

    determined : relative to the largest: solutions keep at least four digits.
    """
    solution, _, rank, _ = np.linalg.lstsq(matrix, right, rcond=determined)
    return None if rank < matrix.shape[1] else np.asarray(solution)


@dataclass(frozen=True)
class Eliminated:
    """Rows in reduced echelon form.

    rows : the pivot rows, by number of the row given.  columns : the pivot column of each.
    table : of every pivot row its other entries, by column, divided by the pivot.
    right : right-hand side of every pivot row.
    dropped : rows that follow from others.  kept_right : remainders of the right-hand sides of these rows.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    table: tuple[dict[int, Any], ...]
    right: tuple[Any, ...]
    dropped: tuple[int, ...]
    kept_right: tuple[Any, ...]


def random_values(expression: Any, points: int = 3) -> Array:
    """Values of expressions at random values of their symbols, (points, rows, columns)."""
    rng = np.random.default_rng(20)
    symbols = ca.symvar(expression)
    function = ca.Function("at_random", [ca.vertcat(ca.SX(0, 1), *symbols)], [ca.densify(ca.SX(expression))])
    samples = [np.array(function(rng.uniform(0.3, 1.2, len(symbols)))) for _ in range(points)]
    return np.array(samples).reshape(points, *expression.shape)


def eliminate(
    matrix: Any, numbers: Array, columns: Sequence[int] | None = None, right: Any = None, rows: Sequence[int] = ()
) -> Eliminated:
    """Solve rows for the pivot columns.

    Parameters
    ----------
    matrix : (m, n) expressions.  numbers : (points, m, n) its values.
    columns : columns that may have pivots, all when left out.  right : (m,) expressions.
    rows : rows in groups of preference: a number for each, smaller first
    """
    m, n = matrix.shape
    allowed = set(range(n)) if columns is None else set(columns)
    work: list[dict[int, Any]] = [{} for _ in range(m)]
    sparse = ca.SX(matrix)
    pattern = sparse.sparsity()
    for i, j, value in zip(pattern.row(), pattern.get_col(), sparse.nonzeros(), strict=True):
        work[i][j] = value
    values = np.array(numbers, dtype=float)
    values = values.reshape(len(values) if values.ndim == 3 else 1, m, n)
    rhs = [ca.SX(0) if right is None else right[i] for i in range(m)]
    size = np.maximum(np.abs(values).max(axis=2), 1e-300)  # (points, m): of every row as given
    for i in range(m):
        _drop_zeros(work[i], values[:, i], size[:, i])
    free, order, pivots = set(range(m)), [], []
    levels = list(rows) or [0] * m
    while free:
        best = _best_pivot(work, values, size, free, allowed, levels)
        if best is None:
            break
        i, j = best
        free.remove(i)
        order.append(i)
        pivots.append(j)
        allowed.discard(j)
        pivot, number = work[i].pop(j), values[:, i, j].copy()
        work[i] = {k: value / pivot for k, value in work[i].items()}
        rhs[i] = rhs[i] / pivot
        values[:, i] /= number[:, None]
        size[:, i] /= np.abs(number)
        for r in range(m):
            if r == i or j not in work[r]:
                continue
            factor, share = work[r].pop(j), values[:, r, j].copy()
            for k, value in work[i].items():
                work[r][k] = work[r][k] - factor * value if k in work[r] else -factor * value
            rhs[r] = rhs[r] - factor * rhs[i]
            values[:, r] -= share[:, None] * values[:, i]
            size[:, r] = np.maximum(size[:, r], np.abs(share) * np.abs(values[:, i]).max(axis=1))
            values[:, r, j] = 0.0
            _drop_zeros(work[r], values[:, r], size[:, r])
    dropped = tuple(sorted(i for i in free if not any(j in allowed for j in work[i])))
    return Eliminated(
        tuple(order), tuple(pivots), tuple(work[i] for i in order), tuple(rhs[i] for i in order),
        dropped, tuple(rhs[i] for i in dropped),
    )  # fmt: skip


def solve_square(matrix: Expr, right: Expr, small: int = 4) -> Any:
    """Solution of a square system whose blocks are divided by their determinant alone, if they are small.

    A pivot of an elimination may vanish where the determinant does not; the number of minors of a block grows with the
    factorial of its size, so that blocks above ``small`` are eliminated.
    """
    n = matrix.shape[0]
    group = list(range(n))  # of rows; a column belongs to the rows that have it
    owner: dict[int, int] = {}

    def find(i: int) -> int:
        while group[i] != i:
            i = group[i]
        return i

    pattern = matrix.sparsity()
    for i, j in zip(pattern.row(), pattern.get_col(), strict=True):
        if j in owner:
            group[find(i)] = find(owner[j])
        else:
            owner[j] = i
    blocks: dict[int, tuple[list[int], list[int]]] = {}
    for i in range(n):
        blocks.setdefault(find(i), ([], []))[0].append(i)
    for j, i in owner.items():
        blocks[find(i)][1].append(j)
    solved = ca.SX(n, 1)
    for rows, columns in blocks.values():
        block, load = matrix[rows, columns], right[rows]
        solved[columns] = ca.inv_minor(block) @ load if len(rows) <= small else ca.solve(block, load)
    return solved


def _drop_zeros(row: dict[int, Any], values: Array, size: Array) -> None:
    for j in list(row):
        if is_zero(values[:, j], size).all():
            del row[j]
            values[:, j] = 0.0


def _best_pivot(
    work: list[dict[int, Any]], values: Array, size: Array, free: set[int], allowed: set[int], levels: list[int],
    difference: float = 1e-9,  # as in `is_zero`
    good_pivot: float = 1e-2,  # relative to its row: above it the shortest expression is taken, below it the largest
) -> tuple[int, int] | None:  # fmt: skip
    counts: dict[int, int] = {}
    for i in free:
        for j in work[i]:
            counts[j] = counts.get(j, 0) + 1
    best: tuple[Any, ...] | None = None
    for i in free:
        for j, value in work[i].items():
            if j not in allowed:
                continue
            share = float((np.abs(values[:, i, j]) / size[:, i]).min())
            if share <= difference:  # zero at one of the points: no pivot there
                share = difference * float((np.abs(values[:, i, j]) / size[:, i]).max())
            good = share >= good_pivot
            constant = value.is_constant()
            cost = (len(work[i]) - 1) * (counts[j] - 1)
            rank = (levels[i], not good, not constant if good else -share, cost, -share, i, j)
            if best is None or rank < best[0]:
                best = (rank, i, j)
    return None if best is None else (best[1], best[2])


def scale_rows(matrix: Array, least: float = 1e-14) -> Array:
    """Rows of length one; rows that are rounding beside the others, or shorter than ``least``, are zero."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    small = is_rounding(lengths, lengths.max(initial=0.0)) | (lengths <= least)
    return np.asarray(np.where(small, 0.0, matrix / np.where(small, 1.0, lengths)))


def rank_of(matrix: Array, tolerance: float = 1e-9) -> int:
    """Numerical rank of one matrix, its rows scaled to length one."""
    if not matrix.size:
        return 0
    values = np.linalg.svd(scale_rows(matrix), compute_uv=False)
    return int((values > tolerance * values[0]).sum()) if values[0] > 0 else 0
