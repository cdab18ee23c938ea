"""Factors of covariances as expressions: what sigma-point and square-root filters are made of.

    P = L Lᵀ  (Cholesky),   A Aᵀ = L Lᵀ  (Householder reflections of the rows of a wide A, nothing is squared),
    L Lᵀ ± v vᵀ = L₁ L₁ᵀ  (rank one)

Every L is lower triangular with a diagonal that is not negative, so that all ways to the same P give the same L (the
sigma points of a square-root filter are those of the plain one). All functions take `SX` or `MX`; from `MX` a small
problem is one call of an unrolled `SX` kernel, a large one stays in matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import casadi as ca

from dalembert.expressions import Expr

SX, MX = ca.SX, ca.MX
EPSILON = 2.0**-52


def lower(n: int) -> ca.Sparsity:
    return ca.Sparsity.lower(n)


def symmetric(P: Expr) -> Expr:
    """Full matrix of its lower triangle."""
    return ca.tril2symm(ca.tril(P))


def half_product(A: Expr, B: Any | None = None) -> Expr:
    """Lower triangle of A Bᵀ (of A Aᵀ without B) where that product is symmetric."""
    B = A if B is None else B
    if not isinstance(A, MX):
        return _mask(lower(A.shape[0]), A, B)
    return ca.tril(ca.mtimes(A, B.T))


def _mask(pattern: ca.Sparsity, A: Expr, B: Expr) -> Expr:
    """Entries of A Bᵀ in the pattern only; structural zeros cost nothing."""
    rows = [_row(A, i) for i in range(A.shape[0])]
    others = rows if B is A else [_row(B, i) for i in range(B.shape[0])]
    entries = []
    for i, j in zip(*pattern.get_triplet(), strict=True):
        shorter, right = rows[i], others[j]
        if len(right) < len(shorter):
            shorter, right = right, shorter
        products = [value * right[k] for k, value in shorter.items() if k in right]
        entries.append(sum(products[1:], products[0]) if products else SX(0))
    return SX(pattern, ca.vertcat(*entries)) if entries else SX(*pattern.shape)


def _row(A: Expr, i: int) -> dict[int, Any]:
    row = A[i, :]
    values = row.nonzeros()
    return dict(zip(row.sparsity().get_col(), values, strict=True))


def unroll(
    name: str, code: Callable[..., tuple[Any, ...]], cost: int, *arguments: Any, most: int = 10_000
) -> tuple[Any, ...]:
    """What ``code(*arguments)`` returns; from MX as the call of one SX kernel, if its cost [instructions] allows.

    A kernel uses structural zeros and does no work twice; operations on matrices in MX often copy them.
    """
    if cost > most or not any(isinstance(a, MX) for a in arguments):
        return code(*arguments)
    matrices = [a if isinstance(a, MX) else MX(a) for a in arguments]
    symbols = [SX.sym(f"a{k}", a.sparsity()) for k, a in enumerate(matrices)]
    function = ca.Function(name, symbols, [SX(value) for value in code(*symbols)], {"cse": True})
    return tuple(function.call(matrices))


# --- Cholesky -------------------------------------------------------------------------------------------------------


def factor(P: Expr) -> Expr:
    """Lower L with L Lᵀ = P. A semidefinite P gives zero columns; an indefinite one gives NaN, which a run reports.

    P : (n, n), its lower triangle is read.  L : (n, n), lower triangular in its pattern.
    """
    n = int(P.shape[0])
    P = ca.tril(P)
    P = P if P.sparsity() == lower(n) else ca.project(P, lower(n))
    if not isinstance(P, MX):
        return _factor(P)
    return _blocked_factor(P)


@lru_cache(maxsize=64)
def factor_function(n: int) -> ca.Function:
    P = SX.sym("P", lower(n))
    return ca.Function(f"factor{n}", [P], [_factor(P)], ["P"], ["L"])


def _factor(P: Expr, lost: float = 1e-8) -> Expr:
    """lost : a pivot that is negative by more than this part of its variance is no rounding: P is indefinite."""
    n = P.shape[0]
    L: list[list[Any]] = [[] for _ in range(n)]
    inverses: list[Any] = []
    for i in range(n):
        for j in range(i):
            entry = P[i, j] - sum((L[i][k] * L[j][k] for k in range(1, j)), L[i][0] * L[j][0] if j else SX(0))
            L[i].append(entry * inverses[j])
        diagonal = P[i, i]
        pivot = diagonal - sum((entry * entry for entry in L[i][1:]), L[i][0] * L[i][0] if i else SX(0))
        # what rounding leaves of a zero pivot counts as zero, and so does its column
        positive = ca.logic_or(pivot > 4 * n * EPSILON * diagonal, pivot < -lost * diagonal)
        root = ca.sqrt(positive * pivot)
        inverses.append(positive / (root + (1 - positive)))
        L[i].append(root)
    columns = [L[i][j] for j in range(n) for i in range(j, n)]
    return SX(lower(n), ca.vertcat(*columns)) if n else SX(0, 0)


def _blocked_factor(P: Expr, rows: int = 24) -> Expr:
    """By blocks of rows: kernels on the diagonal, products of matrices beside it; one kernel where it is small.

    rows : of a block in MX; a kernel of b rows has about b³/3 instructions.
    """
    n = int(P.shape[0])
    if n <= rows + rows // 2:
        return factor_function(n)(P)
    remainder = symmetric(P)
    columns = []
    for first in range(0, n, rows):
        size = min(rows, n - first)
        diagonal = factor_function(size)(ca.tril(remainder[:size, :size]))
        below = solve_right(diagonal, remainder[size:, :size])
        columns.append(ca.vertcat(MX(first, size), diagonal, below))
        remainder = remainder[size:, size:] - ca.mtimes(below, below.T)
    return ca.project(ca.horzcat(*columns), lower(n))


# --- triangular systems -----------------------------------------------------------------------------------------------


def solve_left(L: Expr, B: Expr) -> Expr:
    """L⁻¹ B; a zero on the diagonal (of a semidefinite factor) gives a zero row.  B : (n, k)."""
    if isinstance(L, MX) or isinstance(B, MX):
        return solve_function(int(L.shape[0]), int(B.shape[1]))(ca.project(L, lower(L.shape[0])), ca.densify(B))
    return _solve(L, B)


def solve_right(L: Expr, B: Expr) -> Expr:
    """B L⁻ᵀ; B : (k, n)."""
    return solve_left(L, B.T).T


def solve_positive(L: Expr, B: Expr) -> Expr:
    """(L Lᵀ)⁻¹ B."""
    if isinstance(L, MX) or isinstance(B, MX):
        n, k = int(L.shape[0]), int(B.shape[1])
        return solve_function(n, k, both=True)(ca.project(L, lower(n)), ca.densify(B))
    return _solve_transposed(L, _solve(L, B))


@lru_cache(maxsize=128)
def solve_function(n: int, k: int, *, both: bool = False, most: int = 10_000) -> ca.Function:
    if n * n * k > most and k > 1:  # instructions of a solution called once from MX
        return _by_columns(solve_function(n, 1, both=both), n, k)
    L, B = SX.sym("L", lower(n)), SX.sym("B", n, k)
    X = _solve(L, B)
    X = _solve_transposed(L, X) if both else X
    return ca.Function(f"solve{n}x{k}{'both' if both else ''}", [L, B], [ca.densify(X)])


def _by_columns(column: ca.Function, n: int, k: int) -> ca.Function:
    L, B = MX.sym("L", lower(n)), MX.sym("B", n, k)
    solved = [column(L, b) for b in ca.horzsplit(B)]
    return ca.Function(f"{column.name()}by{k}", [L, B], [ca.horzcat(*solved)])


def _inverse(d: Expr) -> Expr:
    """1/d, or 0 for 0. Written with comparisons as numbers: CasADi draws a conditional into every product it meets."""
    return (d != 0) / (d + (d == 0))


def _solve(L: Expr, B: Expr) -> Expr:
    rows: list[Any] = []
    for i in range(L.shape[0]):
        right = B[i, :]
        for j in range(i):
            right = right - L[i, j] * rows[j]
        rows.append(right * _inverse(L[i, i]))
    return ca.vertcat(*rows) if rows else B


def _solve_transposed(L: Expr, B: Expr) -> Expr:
    n = L.shape[0]
    rows: list[Any] = [None] * n
    for i in reversed(range(n)):
        right = B[i, :]
        for j in range(i + 1, n):
            right = right - L[j, i] * rows[j]
        rows[i] = right * _inverse(L[i, i])
    return ca.vertcat(*rows) if rows else B


# --- square systems ---------------------------------------------------------------------------------------------------


def solve_square(A: Expr, B: Expr) -> Expr:
    """A⁻¹ B for a regular A : (n, n), B : (n, k), without CasADi's own solver, which has no native code."""
    n, k = int(A.shape[0]), int(B.shape[1])
    cost = 4 * n * n * (n + k)
    return unroll(f"square{n}x{k}", lambda a, b: (_solve_square(a, b),), cost, ca.densify(A), ca.densify(B))[0]


def _solve_square(A: Expr, B: Expr) -> Expr:
    """Modified Gram-Schmidt on the columns of (A, B): as exact as Householder's method (Björck, 1967)."""
    n = A.shape[0]
    columns_left = ca.horzcat(A, B)
    rows: list[Any] = []  # of R and Qᵀ B, from the diagonal on
    for _ in range(n):
        column, columns_left = columns_left[:, 0], columns_left[:, 1:]
        size = ca.sqrt(ca.sumsqr(column))
        q = column / size
        along = q.T @ columns_left
        columns_left = columns_left - q @ along
        rows.append((size, along))
    unknowns: list[Any] = []  # the last unknown first
    for size, along in reversed(rows):
        count = len(unknowns)
        right = along[:, count:]
        if count:
            right = right - along[:, :count] @ ca.vertcat(*reversed(unknowns))
        unknowns.append(right / size)
    return ca.vertcat(*reversed(unknowns))


# --- triangular form of a wide matrix, rank one -----------------------------------------------------------------------


def triangular(A: Expr, most: int = 40_000) -> Expr:
    """Lower L with L Lᵀ = A Aᵀ, from Householder reflections: as exact as A itself, no product is formed.

    A : (n, m), any m; its structural zeros are used.  most : instructions of a factorisation called once from MX.
    """
    n, m = A.shape
    if m < n:
        A = ca.horzcat(A, type(A)(n, n - m))
    if not isinstance(A, MX) or 2 * n * n * A.shape[1] > most:
        return _triangular(A)
    return triangular_function(n, A.shape[1])(ca.densify(A))


@lru_cache(maxsize=64)
def triangular_function(n: int, m: int) -> ca.Function:
    A = SX.sym("A", n, m)
    return ca.Function(f"triangular{n}x{m}", [A], [_triangular(A)], ["A"], ["L"])


def _triangular(A: Expr) -> Expr:
    kind = MX if isinstance(A, MX) else SX
    n = A.shape[0]
    columns = []
    remainder = A
    for k in range(n):
        length, v, scale, sign = _mirror(remainder[0, :].T)
        below = remainder[1:, :]
        along = scale * ca.mtimes(below, v)
        columns.append(ca.vertcat(kind(k, 1), length, (below[:, 0] - along * v[0, 0]) * sign))
        remainder = below[:, 1:] - ca.mtimes(along, v[1:, 0].T)
    return ca.project(ca.horzcat(*columns), lower(n)) if n else A


def _mirror(row: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    head, tail = row[0, 0], row[1:, 0]
    size = ca.sumsqr(tail)
    reflected = size > 0  # a row that is done already stays unchanged, to the last bit
    length = ca.sqrt(head * head + size)
    towards = 1 - 2 * (head < 0)
    first = head + towards * length
    # the reflection turns the row into -towards·length; without one it is head itself
    return (
        length, ca.vertcat(first, tail), reflected / (length * ca.fabs(first) + (1 - reflected)),
        towards * (1 - 2 * reflected),
    )  # fmt: skip


def rank_one(L: Expr, v: Expr, *, remove: bool = False) -> Expr:
    """Factor of L Lᵀ + v vᵀ, or of L Lᵀ - v vᵀ (NaN where that is indefinite, which a run reports)."""
    n = int(L.shape[0])
    if isinstance(L, MX) or isinstance(v, MX):
        return rank_one_function(n, remove)(ca.project(L, lower(n)), ca.densify(v))
    return _rank_one(L, v, remove)


@lru_cache(maxsize=64)
def rank_one_function(n: int, remove: bool) -> ca.Function:
    L, v = SX.sym("L", lower(n)), SX.sym("v", n)
    name = "downdate" if remove else "update"
    return ca.Function(f"{name}{n}", [L, v], [_rank_one(L, v, remove)])


def _rank_one(L: Expr, v: Expr, remove: bool) -> Expr:
    n = L.shape[0]
    sign = -1.0 if remove else 1.0
    columns = []
    for k in range(n):
        d, w = L[k, k], v[k, 0]
        # (d - w)(d + w) loses less than d² - w²
        root = ca.sqrt((d - w) * (d + w)) if remove else ca.sqrt(d * d + w * w)
        inverse = _inverse(root)
        cosine, sine = d * inverse, w * inverse
        below, v_below = L[k + 1 :, k], v[k + 1 :, 0]
        columns.append(ca.vertcat(SX(k, 1), root, cosine * below + sign * sine * v_below))
        v = ca.vertcat(v[: k + 1, 0], cosine * v_below - sine * below)
    return ca.project(ca.horzcat(*columns), lower(n)) if n else L
