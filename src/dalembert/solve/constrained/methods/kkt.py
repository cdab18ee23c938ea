"""The system of Lagrange's multipliers: [[M, -Aᵀ], [A, 0]] (v̇; λ) = (f; b)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from dalembert.core.arrays import FloatArray as Array
from dalembert.solve.constrained.matrices import (
    RANK_TOLERANCE,
    multipliers,
    rank_of,
    scales,
)


def kkt(M: Array, f: Array, A: Array, b: Array, *, tolerance: float = RANK_TOLERANCE) -> tuple[Array, Array]:
    """(v̇, λ) of [[M, -Aᵀ], [A, 0]] (v̇; λ) = (f; b).

    Solved by LU with one refinement; by least squares where rows are dependent.
    """
    n, m = M.shape[0], A.shape[0]
    d, r = scales(M, A)
    As = (A * d) * r[:, None]
    K = np.block([[M * np.outer(d, d), -As.T], [As, np.zeros((m, m))]])
    right = np.concatenate((f * d, b * r))
    values = np.linalg.svd(As, compute_uv=False)
    if rank_of(values, tolerance) == m and n >= m:
        factor = lu_factor(K)
        x = lu_solve(factor, right)
        x += lu_solve(factor, right - K @ x)
        return d * x[:n], r * x[n:]
    x = np.linalg.lstsq(K, right, rcond=tolerance)[0]
    return d * x[:n], multipliers(A, r * x[n:], tolerance=tolerance)
