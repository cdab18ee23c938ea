"""The quadratic eigenproblem ``(s² M + s (C+G) + K+H) φ = 0`` (spec 003, C-08, C-09, C-14, C-19).

Each case goes to the solver that keeps its structure:

- G = H = 0 and C diagonal in the undamped modes (C = 0 included): symmetric, ``K φ = μ M φ``,
  then one scalar quadratic ``s² + d s + μ = 0`` per mode. Real shapes; critical damping is exact.
- C = H = 0, K ≥ 0: with M = I and K = R Rᵀ the matrix ``[[0, Rᵀ], [-R, -G]]`` is skew, so the
  eigenvalues are exactly imaginary. (The source's form is singular with K, trap 11; this one is not.)
- anything else, massless coordinates included: first-order companion form.

One row per oscillatory pair (Im s > 0), one per real eigenvalue, one per direction of the null space of
K+H. The last stands for the double eigenvalue 0 of a rigid-body mode; that one is defective, and rounding
alone would split it to ±√ε, so the null space is counted and those eigenvalues are reported as exactly 0.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from dalembert.errors import DataError
from dalembert.linear import massless
from dalembert.linear.checks import ComplexArray, FloatArray

Rows = tuple[ComplexArray, ComplexArray]  # eigenvalues (k,), shapes (n, k)


def zero_tolerance(n: int) -> float:
    """Relative to the largest: what n x n symmetric arithmetic leaves of a zero in K (that is, in s²)."""
    return 10.0 * n * float(np.finfo(np.float64).eps)


def solve(
    M: FloatArray, C: FloatArray, G: FloatArray, K: FloatArray, H: FloatArray, names: tuple[str, ...]
) -> tuple[ComplexArray, FloatArray | ComplexArray]:
    """Eigenvalues (k,) ascending in modulus and shapes (n, k), mass-normalised."""
    parts = massless.separate(M, C + G, K + H, names)
    if parts.coupled:
        values, shapes = _first_order(parts, K + H, C + G)
    else:
        rest = massless.condense(parts)
        values, shapes = _dispatch(rest, bool(C.any()), bool(G.any()), bool(H.any()))
        shapes = rest.T @ shapes
    order = np.lexsort((values.real, values.imag, np.abs(values)))
    return values[order], normalised(shapes[:, order], M)


def _dispatch(rest: massless.Condensed, damped: bool, gyroscopic: bool, circulatory: bool) -> Rows:
    M, C, K = rest.M, rest.C, rest.K
    factor = _cholesky(M) if massless.is_positive(M) else None
    if factor is None or circulatory:
        return _companion(M, C, K, rest.names)
    # To undamped modal coordinates, x = L⁻ᵀ Q η: M = I, K = diag μ with its zeros exact, C = D. The companion form
    # gains too: its small eigenvalues no longer drown in the rounding of the stiffest mode.
    K_ = _congruent(factor, K)
    mu, Q = np.linalg.eigh(0.5 * (K_ + K_.T))  # condensation keeps symmetry up to rounding
    mu[np.abs(mu) <= zero_tolerance(len(mu)) * np.abs(mu).max()] = 0.0
    D = Q.T @ _congruent(factor, C) @ Q
    found = None
    if not gyroscopic:
        found = classical(D, mu)
    elif not damped and mu.min() >= 0.0:
        found = _gyroscopic(D, mu)
    values, shapes = found or _companion(np.eye(len(mu)), D, np.diag(mu), rest.names)
    return values, scipy.linalg.solve_triangular(factor, Q @ shapes, lower=True, trans="T")


def classical(D: FloatArray, mu: FloatArray) -> Rows | None:
    """M = I, symmetric D, K = diag μ ascending; None when the undamped modes do not uncouple D."""
    n = len(mu)
    tolerance = zero_tolerance(n)
    d, turn = np.zeros(n), np.eye(n)
    if D.any():
        # Repeated frequencies leave their modes free to turn among themselves: turn them to uncouple D.
        apart = np.flatnonzero(np.diff(mu) > 10.0 * tolerance * np.abs(mu).max()) + 1
        for group in np.split(np.arange(n), apart):
            block = np.ix_(group, group)
            turn[block] = np.linalg.eigh(0.5 * (D[block] + D[block].T))[1]
        turned = turn.T @ D @ turn
        d = np.diag(turned).copy()
        noise = tolerance * np.abs(D).max()
        if np.abs(turned - np.diag(d)).max() > 10.0 * noise:
            return None
        d[(mu == 0.0) & (np.abs(d) <= noise)] = 0.0
    pairs = [(root, i) for i in range(n) for root in _scalar_roots(float(d[i]), float(mu[i]), tolerance)]
    values = np.array([root for root, _ in pairs], dtype=np.complex128)
    return values, turn[:, [i for _, i in pairs]].astype(np.complex128)


def _scalar_roots(d: float, mu: float, tolerance: float) -> list[complex]:
    """Roots of s² + d s + μ that get a row of their own."""
    if d == 0.0 and mu == 0.0:
        return [0.0]
    half = 0.5 * d
    discriminant = half * half - mu
    if abs(discriminant) <= tolerance * max(half * half, abs(mu)):
        return [-half, -half]
    if discriminant < 0.0:
        return [complex(-half, np.sqrt(-discriminant))]
    far = -(half + np.copysign(np.sqrt(discriminant), half))
    return [mu / far, far]


def _gyroscopic(G: FloatArray, mu: FloatArray) -> Rows:
    """M = I, skew G, K = diag μ ≥ 0, no damping."""
    n = len(mu)
    R = np.diag(np.sqrt(mu))
    skew = np.block([[np.zeros((n, n)), R], [-R, -0.5 * (G - G.T)]])
    omega, Z = np.linalg.eigh(-1j * skew)
    N = np.eye(n)[:, mu == 0.0]
    # Eigenvalues come in ± pairs, the zeros among them; omega ascends, so the positive half is last.
    positive = n - _zeros(N, G, N) // 2
    values = np.concatenate([np.zeros(N.shape[1]), 1j * omega[2 * n - positive :]])
    return values, np.hstack([N.astype(np.complex128), Z[n:, 2 * n - positive :]])


def _companion(M: FloatArray, C: FloatArray, K: FloatArray, names: tuple[str, ...]) -> Rows:
    """Any real matrices; M may have zero rows where C has an invertible block."""
    scale = _scale(M, K)
    M, C, K = (scale[:, None] * matrix * scale for matrix in (M, C, K))
    values, shapes = _first_order(massless.separate(M, C, K, names), K, C)
    return values, scale[:, None] * shapes


def _first_order(parts: massless.Separated, K: FloatArray, C: FloatArray) -> Rows:
    """Eigenvalues of the first-order form, those of the null space of K as exact zeros."""
    n = len(K)
    first = massless.first_order(parts)
    values, Z = scipy.linalg.eig(first.A)
    U, singular, Vt = np.linalg.svd(K)
    null = singular <= zero_tolerance(n) * singular.max()
    zeros = _zeros(U[:, null], C, Vt[null].T) if null.any() else 0
    moving = np.argsort(np.abs(values), kind="stable")[zeros:]
    moving = moving[values[moving].imag >= 0.0]
    values = np.concatenate([np.zeros(np.count_nonzero(null)), values[moving]])
    return values, np.hstack([Vt[null].T.astype(np.complex128), first.X @ Z[:, moving]])


def _zeros(left: FloatArray, C: FloatArray, right: FloatArray) -> int:
    """How many eigenvalues are 0: one per null vector of K, a second where C does not act on it."""
    k: int = right.shape[1]
    if k == 0:
        return 0
    acting = np.linalg.svd(left.T @ C @ right, compute_uv=False)
    floor = zero_tolerance(len(C)) * float(np.linalg.norm(C, 2))
    rank = int(np.count_nonzero(acting > floor))
    return 2 * k - rank


def _scale(M: FloatArray, K: FloatArray) -> FloatArray:
    """Coordinate scales that make metres and radians comparable: M_ii = 1, and K_ii alike where there is no mass."""
    mass, stiffness = np.abs(np.diag(M)), np.abs(np.diag(K))
    scale = np.ones(len(M))
    massive = mass > 0.0
    scale[massive] = 1.0 / np.sqrt(mass[massive])
    typical = (stiffness * scale**2)[massive].max(initial=0.0) or 1.0
    springs = ~massive & (stiffness > 0.0)
    scale[springs] = np.sqrt(typical / stiffness[springs])
    return scale


def _cholesky(M: FloatArray) -> FloatArray | None:
    try:
        factor: FloatArray = np.linalg.cholesky(M).astype(np.float64)
    except np.linalg.LinAlgError:
        return None
    return factor


def _congruent(factor: FloatArray, matrix: FloatArray) -> FloatArray:
    """L⁻¹ X L⁻ᵀ."""
    half = scipy.linalg.solve_triangular(factor, matrix, lower=True)
    result: FloatArray = scipy.linalg.solve_triangular(factor, half.T, lower=True).T
    return result


def normalised(shapes: ComplexArray, M: FloatArray) -> FloatArray | ComplexArray:
    """φᴴ M φ = 1 (largest component 1 for a mode without mass); largest component real and positive."""
    size = np.abs(shapes)
    largest = size.max(axis=0)
    if not largest.all():
        raise DataError("an eigenvector vanishes on every coordinate: the system is too badly scaled to find modes.")
    shapes = shapes / largest
    first = np.argmax(size >= (1.0 - 1e-6) * largest, axis=0)  # the first of equals, so rounding does not choose
    pivot = shapes[first, range(shapes.shape[1])]
    shapes = shapes * (pivot.conj() / np.abs(pivot))
    modal = np.einsum("ik,ij,jk->k", shapes.conj(), M, shapes).real
    floor = 1e-12 * np.einsum("ik,ij,jk->k", np.abs(shapes), np.abs(M), np.abs(shapes))
    massive = modal > floor
    shapes[:, massive] /= np.sqrt(modal[massive])
    return shapes if shapes.imag.any() else np.ascontiguousarray(shapes.real)
