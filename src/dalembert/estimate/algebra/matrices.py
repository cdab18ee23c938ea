"""Small dense matrices as expressions, for the algebra of filters.

A covariance is carried as its lower triangle, column by column, so that it is symmetric by construction. Its factors
are in `kernels`.
"""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np

from dalembert.expressions import Array, Expr

SX, MX = ca.SX, ca.MX


def triangle(n: int) -> int:
    """Entries of the lower triangle of an n × n matrix."""
    return n * (n + 1) // 2


def pack(P: Expr) -> Expr:
    """Lower triangle of a dense n × n matrix, column by column: (n(n+1)/2,)."""
    rows, columns = ca.Sparsity.lower(P.shape[0]).get_triplet()
    places = [i + P.shape[0] * j for i, j in zip(rows, columns, strict=True)]
    return ca.vec(ca.densify(P))[places]


def unpack(entries: Expr, n: int) -> Expr:
    """Symmetric n × n matrix of its lower triangle."""
    return ca.reshape(entries[_places(n)], n, n)


def unpack_factor(entries: Expr, n: int) -> Expr:
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


def pack_numbers(P: Array) -> Array:
    """:func:`pack` for numbers."""
    i, j = np.tril_indices(len(P))
    order = np.lexsort((i, j))
    return np.asarray(P[i[order], j[order]], dtype=float)


def unpack_numbers(entries: Array, n: int) -> Array:
    """(..., n(n+1)/2) numbers to (..., n, n) symmetric."""
    return np.ascontiguousarray(entries[..., _places(n)]).reshape(*entries.shape[:-1], n, n)
