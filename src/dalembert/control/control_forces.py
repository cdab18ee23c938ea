"""The extended Udwadia-Kalaba method as the source writes it (spec 000, 75).

The unactuated equations of motion are appended to the virtual constraints as further rows, A = [A₁; M_U],
b = [b₁; Q_U]:  Q_c = Aᵀ (A M⁻¹ Aᵀ)⁺ (b - A M⁻¹ Q).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dalembert.errors import ModelError
from dalembert.linear.checks import FloatArray

RANK = 1e-10


def control_forces(
    M: FloatArray, Q: FloatArray, A: FloatArray, b: FloatArray, unactuated: Iterable[int] = ()
) -> tuple[FloatArray, FloatArray]:
    """Q_c and a_c = M⁻¹ Q_c of the extended Udwadia-Kalaba method in independent coordinates (spec 000, 75).

    M (n, n), Q (n,), virtual constraints A (m, n) q̈ = b (m,); rows of ``unactuated`` coordinates are appended, so that
    no control force acts there: the general formula with the Moore-Penrose inverse, whatever the number of rows.
    """
    M, Q = np.asarray(M, dtype=float), np.asarray(Q, dtype=float)
    free = list(unactuated)
    rows = np.vstack([np.atleast_2d(np.asarray(A, dtype=float)), M[free]])
    right = np.concatenate([np.atleast_1d(np.asarray(b, dtype=float)), Q[free]])
    if np.linalg.matrix_rank(np.vstack([M, rows])) < len(M):
        raise ModelError("the rows of M and A together do not determine the accelerations (rank below n).")
    root = np.linalg.cholesky(M)
    scaled = np.linalg.solve(root, rows.T).T  # A M^(-1/2)
    inverse = np.linalg.pinv(scaled, rcond=RANK)
    part = inverse @ (right - rows @ np.linalg.solve(M, Q))
    return root @ part, np.linalg.solve(root.T, part)
