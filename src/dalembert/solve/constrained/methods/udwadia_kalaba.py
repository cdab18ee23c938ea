"""The equation of Udwadia and Kalaba (1992), and that of Udwadia and Phohomsiri (2006) for singular masses.

With M = L Lᵀ and Ac = A L⁻ᵀ:
    a = M⁻¹ f ,  e = b - A a ,  H = (A M⁻¹ Aᵀ)⁺ ,  λ = H e ,  a_c = M⁻¹ Aᵀ H e = L⁻ᵀ Ac⁺ e ,  v̇ = a + a_c .
Singular mass: M + α² A⁺A and f + α² A⁺b in place of M and f, which adds α² A⁺ (A v̇ - b) = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from dalembert.core.arrays import FloatArray as Array
from dalembert.core.errors import ModelError
from dalembert.solve.constrained.matrices import (
    NEGATIVE,
    RANK_TOLERANCE,
    is_singular,
    pseudo_inverse,
    rank_of,
    realizability,
)


@dataclass(frozen=True)
class Constrained:
    """v̇ = a + a_c, multipliers λ of minimum norm, constraint force Q_c, violation e of the free motion, rank of A."""

    acceleration: Array
    free: Array
    correction: Array
    lam: Array
    force: Array
    violation: Array
    rank: int


def heavier(
    M: Array, f: Array, A: Array, b: Array, alpha: float = 1.0, tolerance: float = RANK_TOLERANCE
) -> tuple[Array, Array]:
    """M + α² A⁺A and f + α² A⁺b: the same v̇ and λ, and no longer singular."""
    inverse = pseudo_inverse(A, tolerance)
    return M + alpha**2 * (inverse @ A), f + alpha**2 * (inverse @ b)


def udwadia_kalaba(
    M: Array,
    f: Array,
    A: Array,
    b: Array,
    *,
    alpha: float = 1.0,
    tolerance: float = RANK_TOLERANCE,
) -> Constrained:
    """The fundamental equations (Udwadia and Kalaba 1992).

    alpha : share of A⁺A added to a singular mass matrix; the result does not depend on it.
    """
    if is_singular(M):
        M, f = heavier(M, f, A, b, alpha=alpha, tolerance=tolerance)
    try:
        L = cholesky(M, lower=True)
    except np.linalg.LinAlgError:
        realizability(M, A, tolerance=tolerance)
        raise ModelError("not-positive-definite", NEGATIVE) from None
    free = solve_triangular(L, solve_triangular(L, f, lower=True), lower=True, trans="T")
    violation = b - A @ free
    Ac = solve_triangular(L, A.T, lower=True).T
    U, values, Vt = np.linalg.svd(Ac, full_matrices=False)
    rank = rank_of(values, tolerance)
    U, values, Vt = U[:, :rank], values[:rank], Vt[:rank]
    inner = Vt.T @ ((U.T @ violation) / values)  # Ac⁺ e
    lam = U @ ((U.T @ violation) / values**2)  # H e
    correction = solve_triangular(L, inner, lower=True, trans="T")
    return Constrained(free + correction, free, correction, lam, A.T @ lam, violation, rank)


def udwadia_phohomsiri(
    M: Array, f: Array, A: Array, b: Array, *, tolerance: float = RANK_TOLERANCE
) -> tuple[Array, Array]:
    """(v̇, λ) with v̇ = [(1 - A⁺A) M; A]⁺ [f; b], for a mass matrix of any rank (Udwadia and Phohomsiri 2006)."""
    inverse = pseudo_inverse(A, tolerance)
    stack = np.vstack(((np.eye(M.shape[0]) - inverse @ A) @ M, A))
    acceleration: Array = pseudo_inverse(stack, tolerance) @ np.concatenate((f, b))
    return acceleration, inverse.T @ (M @ acceleration - f)
