"""Small dense matrices as expressions: what the algebra of filters is made of.

A covariance is carried as its lower triangle, column by column, so that it is symmetric by construction. Factors are
unrolled `SX` kernels called from `MX`: `casadi.chol` has no `MX` form.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from dalembert.expressions import Array

SX, MX = ca.SX, ca.MX


def triangle(n: int) -> int:
    """Entries of the lower triangle of an n × n matrix."""
    return n * (n + 1) // 2


def pack(P: Any) -> Any:
    """Lower triangle of a dense n × n matrix, column by column: (n(n+1)/2,)."""
    rows, columns = ca.Sparsity.lower(P.shape[0]).get_triplet()
    places = [i + P.shape[0] * j for i, j in zip(rows, columns, strict=True)]
    return ca.vec(ca.densify(P))[places]


def unpack(entries: Any, n: int) -> Any:
    """Symmetric n × n matrix of its lower triangle."""
    return ca.reshape(entries[_places(n)], n, n)


def unpack_factor(entries: Any, n: int) -> Any:
    """Lower triangular n × n matrix (dense) of its lower triangle."""
    kind = MX if isinstance(entries, MX) else SX if isinstance(entries, SX) else ca.DM
    return ca.densify(kind(ca.Sparsity.lower(n), entries))


@lru_cache(maxsize=64)
def _places(n: int) -> list[int]:
    where = np.zeros((n, n), dtype=int)
    rows, columns = ca.Sparsity.lower(n).get_triplet()
    for k, (i, j) in enumerate(zip(rows, columns, strict=True)):
        where[i, j] = where[j, i] = k
    return [int(k) for k in where.ravel()]


def packed(P: Array) -> Array:
    """:func:`pack` for numbers."""
    i, j = np.tril_indices(len(P))
    order = np.lexsort((i, j))
    return np.asarray(P[i[order], j[order]], dtype=float)


def unpacked(entries: Array, n: int) -> Array:
    """(..., n(n+1)/2) numbers to (..., n, n) symmetric."""
    return np.ascontiguousarray(entries[..., _places(n)]).reshape(*entries.shape[:-1], n, n)


def cholesky(S: Any, floor: float = 0.0) -> Any:
    """Lower L with L Lᵀ = S, as an expression; S : (n, n) positive definite, its lower triangle is read.

    floor : a pivot below it counts as zero, and so does its column (for a semidefinite S).
    """
    return cholesky_function(int(S.shape[0]), float(floor))(S)


@lru_cache(maxsize=64)
def cholesky_function(n: int, floor: float = 0.0) -> ca.Function:
    S = SX.sym("S", n, n)
    L = SX.zeros(n, n)
    for j in range(n):
        d = S[j, j] - ca.sumsqr(L[j, :j])
        root = ca.sqrt(ca.fmax(d, 0)) if floor else ca.sqrt(d)
        L[j, j] = root
        for i in range(j + 1, n):
            entry = S[i, j] - ca.dot(L[i, :j], L[j, :j]) if j else S[i, j]
            L[i, j] = ca.if_else(d > floor, entry / ca.if_else(d > floor, root, 1), 0) if floor else entry / root
    return ca.Function(f"cholesky{n}", [S], [ca.densify(L)], ["S"], ["L"])


def solve_lower(L: Any, B: Any) -> Any:
    """L⁻¹ B for a lower triangular L; B : (n, k)."""
    return lower_function(int(L.shape[0]), int(B.shape[1]), False)(L, B)


def solve_upper(L: Any, B: Any) -> Any:
    """L⁻ᵀ B for a lower triangular L; B : (n, k)."""
    return lower_function(int(L.shape[0]), int(B.shape[1]), True)(L, B)


@lru_cache(maxsize=128)
def lower_function(n: int, k: int, transposed: bool) -> ca.Function:
    L, B = SX.sym("L", n, n), SX.sym("B", n, k)
    X = SX.zeros(n, k)
    if transposed:
        for i in reversed(range(n)):
            X[i, :] = (B[i, :] - (L[i + 1 :, i].T @ X[i + 1 :, :] if i + 1 < n else 0)) / L[i, i]
    else:
        for i in range(n):
            X[i, :] = (B[i, :] - (L[i, :i] @ X[:i, :] if i else 0)) / L[i, i]
    return ca.Function(f"lower{n}x{k}{'t' if transposed else ''}", [L, B], [ca.densify(X)])


def solve_positive(S: Any, B: Any) -> Any:
    """S⁻¹ B for a positive definite S; B : (n, k)."""
    L = cholesky(S)
    return solve_upper(L, solve_lower(L, B))
