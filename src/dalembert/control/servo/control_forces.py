"""The extended Udwadia-Kalaba method (Pappalardo 2011, after Udwadia 2003).

The unactuated equations of motion are appended to the virtual constraints as further rows, A = [A₁; M_U],
b = [b₁; Q_U]:  Q_c = Aᵀ (A M⁻¹ Aᵀ)⁺ (b - A M⁻¹ Q).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dalembert.core.arguments import matrix, square
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.linear.transforms.riccati import symmetric

RANK = 1e-10


def control_forces(
    M: FloatArray, Q: FloatArray, A: FloatArray, b: FloatArray, unactuated: Iterable[int] = ()
) -> tuple[FloatArray, FloatArray]:
    """Q_c and a_c = M⁻¹ Q_c of the extended Udwadia-Kalaba method in independent coordinates.

    M (n, n) positive definite, Q (n,), virtual constraints A (m, n) q̈ = b (m,); rows of ``unactuated`` coordinates are
    appended, so that no control force acts there: the general formula with the Moore-Penrose inverse, for any
    number of rows.
    """
    M = symmetric("M", square("M", M))
    n = len(M)
    Q = matrix("Q", Q, n, 1, "one force per coordinate", vector="column")[:, 0]
    A = matrix("A", A, None, n, "one column per coordinate", vector="row")
    b = matrix("b", b, len(A), 1, "one entry per row of A", vector="column")[:, 0]
    free = list(unactuated)
    if any(isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 0 <= k < n for k in free):
        raise DataError("out-of-range", f"unactuated must be numbers of coordinates from 0 to {n - 1}, got {free!r}.")
    rows, right = np.vstack([A, M[free]]), np.concatenate([b, Q[free]])
    try:
        root = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise DataError(
            "not-positive-definite", "M must be positive definite: independent coordinates, each with mass."
        ) from None
    scaled = np.linalg.solve(root, rows.T).T  # A M^(-1/2)
    inverse = np.linalg.pinv(scaled, rcond=RANK)
    part = inverse @ (right - rows @ np.linalg.solve(M, Q))
    return root @ part, np.linalg.solve(root.T, part)
