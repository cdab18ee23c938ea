"""Motion on the null space of the rows (Maggi): A S = 0 , A c = b , Sᵀ M S z = Sᵀ (f - M c) , v̇ = S z + c ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.core.arrays import FloatArray as Array
from dalembert.solve.constrained.matrices import (
    RANK_TOLERANCE,
    complement,
    pseudo_inverse,
)


def null_space(
    M: Array,
    f: Array,
    A: Array,
    b: Array,
    *,
    method: str = "svd",
    independent: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    tolerance: float = RANK_TOLERANCE,
) -> tuple[Array, Array]:
    """(v̇, λ) by Maggi's equations: motion on the null space of A, then the reactions."""
    inverse = pseudo_inverse(A, tolerance)
    particular = inverse @ b
    S = complement(A, method, independent=independent, names=names, tolerance=tolerance)
    inner = S.T @ M @ S
    acceleration = particular
    if S.shape[1]:
        acceleration = particular + S @ np.linalg.solve(inner, S.T @ (f - M @ particular))
    lam: Array = inverse.T @ (M @ acceleration - f)
    return acceleration, lam


def project_accelerations(M: Array, f: Array, A: Array, b: Array, *, tolerance: float = RANK_TOLERANCE) -> Array:
    """v̇ of the stacked system [SᵀM; A] v̇ = [Sᵀf; b]."""
    S = complement(A, tolerance=tolerance)
    return np.asarray(np.linalg.lstsq(np.vstack((S.T @ M, A)), np.concatenate((S.T @ f, b)), rcond=None)[0])
