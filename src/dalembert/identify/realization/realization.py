"""ERA and ERA/DC: a state-space model from Markov parameters (Juang and Pappa 1985; Juang, Cooper and Wright 1988).

    H(k)   = block (i, j) = Y_{k+1+i+j},  i < a, j < b        H(k) = P_a Aᵏ Q_b
    ERA      H(0) = R S Vᵀ,  P = R_n S_n^½,  Q = S_n^½ V_nᵀ,  A = S_n^-½ R_nᵀ H(1) V_n S_n^-½,
             C = first rows of P, B = first columns of Q
    ERA/DC   Δ(k) = H(k) H(0)ᵀ,  X(k) = block (i, j) = Δ(k + (i + j) τ),  i ≤ γ, j ≤ δ,  X(0) = R S Vᵀ,
             A as above from X(1),  P_a = first rows of R_n S_n^½,  Q_b = P_a⁺ H(0)

Correlating averages noise that differs from sample to sample. Without correlations and with γ = δ = 0 it is ERA.
The selector of eq. 3.158 in Pappalardo 2011 must have (δ + 1) a ny rows, one per column of X(0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray

# A ratio of neighbouring singular values that tells an order, and one that only data without noise have.
CLEAR_GAP = 3.0
FALL_TO_ROUNDING = 1e6
# Singular values below this part of the largest are rounding.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Realization:
    """A (n, n), B (n, nw), C (ny, n), singular values, and the observability matrix P (a ny, n) it came from."""

    A: FloatArray
    B: FloatArray
    C: FloatArray
    singular_values: FloatArray
    P: FloatArray


def hankel(markov: FloatArray, rows: int, columns: int, shift: int = 0) -> FloatArray:
    """H(shift), (rows ny, columns nw), of ``markov`` (count, ny, nw) = Y_1, Y_2, ...

    Examples
    --------
    >>> hankel(np.arange(5.0).reshape(5, 1, 1), 2, 3, 1).tolist()
    [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]
    """
    place = shift + np.add.outer(np.arange(rows), np.arange(columns))
    ny, nw = markov.shape[1:]
    return np.ascontiguousarray(markov[place].transpose(0, 2, 1, 3)).reshape(rows * ny, columns * nw)


def decompose(H: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """SVD; the slower driver where the fast one fails."""
    try:
        U, s, Vt = scipy.linalg.svd(H, full_matrices=False)
    except scipy.linalg.LinAlgError:
        U, s, Vt = scipy.linalg.svd(H, full_matrices=False, lapack_driver="gesvd")
    return U, s, Vt


SVD = tuple[FloatArray, FloatArray, FloatArray]


def era_matrices(markov: FloatArray, rows: int, columns: int, order: int, svd: SVD | None = None) -> Realization:
    """ERA. markov : (rows + columns or more, ny, nw), Y_1 first; svd : of H(0) where it is known already."""
    ny, nw = markov.shape[1:]
    U, s, Vt = decompose(hankel(markov, rows, columns)) if svd is None else svd
    root = np.sqrt(s[:order])
    left, right = U[:, :order], Vt[:order]
    A = left.T @ hankel(markov, rows, columns, 1) @ right.T / np.outer(root, root)
    P = left * root
    return Realization(A, (root[:, None] * right)[:, :nw], P[:ny], s, P)


def correlations(markov: FloatArray, rows: int, columns: int, gamma: int, delta: int, tau: int) -> list[FloatArray]:
    """X(0) and X(1), each ((γ+1) a ny, (δ+1) a ny)."""
    H0 = hankel(markov, rows, columns)
    lags = {k + s * tau for k in (0, 1) for s in range(gamma + delta + 1)}
    Delta = {k: hankel(markov, rows, columns, k) @ H0.T for k in lags}
    return [np.block([[Delta[k + (i + j) * tau] for j in range(delta + 1)] for i in range(gamma + 1)]) for k in (0, 1)]


def era_dc_matrices(
    markov: FloatArray, rows: int, columns: int, order: int, gamma: int, delta: int, tau: int
) -> Realization:
    """ERA/DC. markov : (rows + columns + (γ + δ) τ or more, ny, nw), Y_1 first."""
    ny, nw = markov.shape[1:]
    X0, X1 = correlations(markov, rows, columns, gamma, delta, tau)
    U, s, Vt = decompose(X0)
    root = np.sqrt(s[:order])
    left, right = U[:, :order], Vt[:order]
    A = left.T @ X1 @ right.T / np.outer(root, root)
    P = (left * root)[: rows * ny]
    B = np.asarray(np.linalg.lstsq(P, hankel(markov, rows, 1), rcond=None)[0], dtype=np.float64)
    return Realization(A, B[:, :nw], P[:ny], s, P)


def order_from_gaps(s: FloatArray, most: int | None = None) -> tuple[int, float]:
    """Order at the last clear gap σ_n / σ_{n+1} (3 or more) of singular values, and that ratio.

    Weak modes lie behind gaps of their own, noise falls smoothly; so the last clear gap counts, not the largest, except
    where the largest is a fall to rounding. Without a clear gap the largest is returned. Values that are rounding count
    as one floor. ``most`` : highest order looked at, half of the values when left out.

    Examples
    --------
    >>> order_from_gaps(np.array([5.0, 4.0, 0.1, 0.08, 1e-3, 9e-4, 8e-4, 8e-4, 7e-4]))
    (4, 80.0)
    """
    limit = max(1, min(len(s) // 2 if most is None else most, len(s) - 1))
    floor = max(ROUNDING * float(s[0]), np.finfo(np.float64).tiny)
    sizes = np.maximum(s, floor)
    if len(s) == 1:
        return 1, np.inf
    ratios = sizes[:limit] / sizes[1 : limit + 1]
    clear = np.flatnonzero(ratios >= CLEAR_GAP)
    order = int(clear[-1] if clear.size and ratios.max() < FALL_TO_ROUNDING else np.argmax(ratios)) + 1
    return order, float(ratios[order - 1])
