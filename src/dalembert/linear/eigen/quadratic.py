"""The quadratic eigenproblem ``(s² M + s (C+G) + K+H) φ = 0``.

Each case has a solver that keeps its structure:

- G = H = 0 and C diagonal in the undamped modes (C = 0 included): symmetric, ``K φ = μ M φ``,
  then one scalar quadratic ``s² + d s + μ = 0`` per mode. Real shapes; critical damping is exact.
- C = H = 0, K ≥ 0: with M = I and K = R Rᵀ the matrix ``[[0, Rᵀ], [-R, -G]]`` is skew, so the
  eigenvalues are exactly imaginary. K may be singular.
- complex stiffness K + i K_loss, K_loss (and C) diagonal in the undamped modes: ``s² + d s + μ + iκ = 0`` per mode,
  the root with Im s > 0; a loss factor η gives s = i ω √(1 + iη).
- anything else, massless coordinates included: first-order companion form.

One row per oscillatory pair (Im s > 0), one per real eigenvalue, one per direction of the null space of
K+H. The last represents the double eigenvalue 0 of a rigid-body mode, which is defective: rounding
alone would split it to ±√ε, so the null space is counted and those eigenvalues are reported as exactly 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DataError
from dalembert.linear import storage
from dalembert.linear.eigen import massless
from dalembert.numerics import ties

Rows = tuple[ComplexArray, ComplexArray]  # eigenvalues (k,), shapes (n, k)


def is_upper(s: ComplexArray, hysteretic: bool, rounding: float = 0.0, decay: float = 1e-3) -> Any:
    """Which eigenvalues get a row: Im s ≥ 0, up to rounding.

    A complex stiffness has no conjugate pairs: a decay, |Im s| / |s| up to 1e-3, may come out on either side of the
    real axis.
    """
    return s.imag >= -(decay if hysteretic else rounding) * np.abs(s)


def zero_tolerance(n: int) -> float:
    """Rounding of a zero eigenvalue of K (that is, of s²) relative to the largest, for n x n symmetric arithmetic."""
    return 10.0 * n * float(np.finfo(np.float64).eps)


def solve(
    M: FloatArray,
    C: FloatArray,
    G: FloatArray,
    K: FloatArray,
    H: FloatArray,
    K_loss: FloatArray,
    names: tuple[str, ...],
) -> Rows:
    """Eigenvalues (k,) and shapes (n, k), in any order and size."""
    hysteretic = bool(K_loss.any())
    stiffness = K + H + 1j * K_loss if hysteretic else K + H
    parts = massless.separate(M, C + G, stiffness, names)
    if parts.coupled:
        return _first_order(parts, stiffness, C + G)
    condensed = massless.condense(parts)
    values, shapes = _dispatch(condensed, bool(C.any()), bool(G.any()), bool(H.any()), hysteretic)
    return values, condensed.T @ shapes


def _dispatch(
    condensed: massless.Condensed, damped: bool, gyroscopic: bool, circulatory: bool, hysteretic: bool
) -> Rows:
    M, C, K, names = condensed.M, condensed.C, condensed.K, condensed.names
    factor = _cholesky(M) if massless.is_positive(M) else None
    if factor is None or circulatory:
        return _companion(M, C, K, names)
    if hysteretic:
        return _hysteretic(factor, M, C, K, names, gyroscopic)
    # To undamped modal coordinates, x = L⁻ᵀ Q η: M = I, K = diag μ with its zeros exact, C = D. The companion form
    # is more accurate too: its small eigenvalues are no longer lost in the rounding of the stiffest mode.
    mu, Q = stiffness_modes(factor, M, K)
    D = Q.T @ _congruent(factor, C) @ Q
    structured = None
    if not gyroscopic:
        structured = classical(D, mu)
    elif not damped and mu.min() >= 0.0:
        structured = _gyroscopic(D, mu)
    values, shapes = structured or _companion(np.eye(len(mu)), D, np.diag(mu), names)
    return values, scipy.linalg.solve_triangular(factor, Q @ shapes, lower=True, trans="T")


def stiffness_modes(factor: FloatArray, M: FloatArray, K: FloatArray) -> tuple[FloatArray, FloatArray]:
    """μ ascending, those within rounding of zero exactly 0, and orthonormal Q of L⁻¹ K L⁻ᵀ with M = L Lᵀ.

    Rounding of K alone moves μ of the mode x (xᵀMx = 1) by ε ‖K‖ ‖x‖², in coordinates of unit diagonal of M: more
    than ε of the largest μ where M is ill-conditioned, as in models reduced to coordinates with nearly equal motion.
    """
    stiffness = _congruent(factor, K)
    mu, Q = np.linalg.eigh(0.5 * (stiffness + stiffness.T))  # condensation keeps symmetry up to rounding
    size = np.sqrt(np.diag(M))
    shapes = size[:, None] * scipy.linalg.solve_triangular(factor, Q, lower=True, trans="T")
    largest = np.abs(K / np.outer(size, size)).sum(axis=1).max() * (shapes**2).sum(axis=0)
    small = np.abs(mu) <= zero_tolerance(len(mu)) * np.maximum(largest, np.abs(mu).max())
    if not small.any():
        return mu, Q
    symmetric = 0.5 * (K + K.T)
    if not massless.is_positive(symmetric):
        mu[small] = 0.0
        return mu, Q
    # K > 0 though its spectrum is wider than ε (stiff penalty springs): no mode is rigid, but the soft end is lost in
    # rounding. It is the stiff end of the inverse problem M φ = θ K φ, where it is accurate; the two ends meet in the
    # middle.
    scale = 1.0 / np.sqrt(np.diag(symmetric))
    lower: FloatArray = np.linalg.cholesky(scale[:, None] * symmetric * scale).astype(np.float64)
    inverse = _congruent(lower, scale[:, None] * M * scale)
    theta, Y = np.linalg.eigh(0.5 * (inverse + inverse.T))
    soft = theta[::-1] > np.sqrt(theta[-1] / mu[-1])
    Y = scale[:, None] * scipy.linalg.solve_triangular(lower, Y[:, ::-1][:, soft], lower=True, trans="T")
    low = factor.T @ Y / np.sqrt(theta[::-1][soft])
    high = Q[:, np.count_nonzero(soft) :]
    Q = np.hstack([low, high - low @ (low.T @ high)])
    return np.concatenate([1.0 / theta[::-1][soft], mu[np.count_nonzero(soft) :]]), scipy.linalg.polar(Q)[0]


def classical(D: FloatArray, mu: FloatArray) -> Rows | None:
    """M = I, symmetric D, K = diag μ ascending; None when the undamped modes do not uncouple D."""
    n = len(mu)
    tolerance = zero_tolerance(n)
    d, Q = np.zeros(n), np.eye(n)
    if D.any():
        turned = turn([D], mu, 10.0 * tolerance)
        if turned is None:
            return None
        (d,), Q = turned
        d[(mu == 0.0) & (np.abs(d) <= tolerance * np.abs(D).max())] = 0.0
    values, places = rows(d, mu, tolerance)
    return values, Q[:, places].astype(np.complex128)


def turn(parts: Sequence[FloatArray], mu: FloatArray, tolerance: float) -> tuple[list[FloatArray], FloatArray] | None:
    """Diagonals of symmetric matrices in modes turned to uncouple them, and the turn; None where none uncouples.

    Modes of a repeated frequency may be rotated among themselves; all others are fixed.
    """
    n = len(mu)
    Q = np.eye(n)
    sizes = [float(np.abs(matrix).max(initial=0.0)) or 1.0 for matrix in parts]
    # Matrices with common eigenvectors share them with a sum of incommensurable weights.
    weighted = (matrix / size * w for matrix, size, w in zip(parts, sizes, (1.0, 0.6180339887), strict=False))
    blend = sum(weighted, np.zeros((n, n)))
    apart = np.flatnonzero(np.diff(mu) > tolerance * np.abs(mu).max(initial=0.0)) + 1
    for group in np.split(np.arange(n), apart):
        block = np.ix_(group, group)
        Q[block] = np.linalg.eigh(0.5 * (blend[block] + blend[block].T))[1]
    diagonals = []
    for matrix, size in zip(parts, sizes, strict=True):
        turned = Q.T @ matrix @ Q
        diagonal = np.diag(turned).copy()
        if np.abs(turned - np.diag(diagonal)).max(initial=0.0) > tolerance * size:
            return None
        diagonals.append(diagonal)
    return diagonals, Q


def rows(d: FloatArray, mu: FloatArray, tolerance: float) -> tuple[ComplexArray, list[int]]:
    """Roots of s² + d s + μ = 0 that get a row of their own, and the mode each belongs to."""
    pairs = [(root, i) for i in range(len(mu)) for root in _scalar_roots(float(d[i]), float(mu[i]), tolerance)]
    return np.array([root for root, _ in pairs], dtype=np.complex128), [i for _, i in pairs]


def hysteretic_roots(d: FloatArray, stiffness: ComplexArray) -> ComplexArray:
    """Root of s² + d s + k = 0 with Im s > 0 for a complex k: s = -d/2 + i √(k - d²/4)."""
    return np.asarray(-0.5 * d + 1j * np.sqrt(stiffness - 0.25 * d**2))


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


def _hysteretic(
    factor: FloatArray, M: FloatArray, C: FloatArray, K: Any, names: tuple[str, ...], gyroscopic: bool
) -> Rows:
    """Complex stiffness; real shapes where K_loss (and C) is diagonal in the undamped modes."""
    mu, Q = stiffness_modes(factor, M, K.real)
    loss, D = (Q.T @ _congruent(factor, matrix) @ Q for matrix in (K.imag, C))
    turned = None if gyroscopic else turn([loss, D], mu, 100.0 * zero_tolerance(len(mu)))
    if turned is None:
        return _companion(M, C, K, names)
    (kappa, d), R = turned
    kappa[(mu == 0.0) & (np.abs(kappa) <= zero_tolerance(len(mu)) * np.abs(kappa).max())] = 0.0
    shapes = scipy.linalg.solve_triangular(factor, Q @ R, lower=True, trans="T")
    return hysteretic_roots(d, mu + 1j * kappa), shapes.astype(np.complex128)


def _gyroscopic(G: FloatArray, mu: FloatArray) -> Rows:
    """M = I, skew G, K = diag μ ≥ 0, no damping."""
    n = len(mu)
    R = np.diag(np.sqrt(mu))
    skew = np.block([[np.zeros((n, n)), R], [-R, -0.5 * (G - G.T)]])
    omega, Z = np.linalg.eigh(-1j * skew)
    N = np.eye(n)[:, mu == 0.0]
    # Eigenvalues come in ± pairs, the zeros among them; omega ascends, so the positive half is last.
    positive = n - zeros(N, G, N) // 2
    values = np.concatenate([np.zeros(N.shape[1]), 1j * omega[2 * n - positive :]])
    return values, np.hstack([N.astype(np.complex128), Z[n:, 2 * n - positive :]])


def _companion(M: FloatArray, C: FloatArray, K: Any, names: tuple[str, ...]) -> Rows:
    """Any real matrices; M may have zero rows where C has an invertible block."""
    scale = _scale(M, K)
    M, C, K = (scale[:, None] * matrix * scale for matrix in (M, C, K))
    values, shapes = _first_order(massless.separate(M, C, K, names), K, C)
    return values, scale[:, None] * shapes


def _first_order(parts: massless.Separated, K: Any, C: FloatArray) -> Rows:
    """Eigenvalues of the first-order form, those of the null space of K as exact zeros."""
    n = len(K)
    first = massless.first_order(parts)
    values, Z = scipy.linalg.eig(first.A)
    U, singular, Vt = np.linalg.svd(K)
    null = singular <= zero_tolerance(n) * singular.max()
    still = zeros(U[:, null].conj(), C, Vt[null].conj().T) if null.any() else 0
    moving = np.argsort(np.abs(values), kind="stable")[still:]
    moving = moving[is_upper(values[moving], np.iscomplexobj(K))]
    values = np.concatenate([np.zeros(np.count_nonzero(null)), values[moving]])
    return values, np.hstack([Vt[null].conj().T.astype(np.complex128), first.X @ Z[:, moving]])


def zeros(left: FloatArray, C: Any, right: FloatArray) -> int:
    """Number of eigenvalues 0: one per null vector of K, a second where C does not act on it."""
    k: int = right.shape[1]
    if k == 0:
        return 0
    acting = np.linalg.svd(left.T @ (C @ right), compute_uv=False)
    # Rounding: of a dense C relative to its norm, of a sparse one (too large for that) relative to its own terms.
    size = (np.abs(left).T @ (abs(C) @ np.abs(right))).max() if storage.is_sparse(C) else np.linalg.norm(C, 2)
    floor = zero_tolerance(len(right)) * float(size)
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


def normalise(shapes: ComplexArray, M: Any, massless: float = 1e-12) -> FloatArray | ComplexArray:
    """φᴴ M φ = 1 (largest component 1 for a mode without mass); largest component real and positive.

    ``massless`` : modal mass relative to the sum of magnitudes below which a shape moves no mass: 5000 roundings.
    """
    size = np.abs(shapes)
    largest = size.max(axis=0, initial=0.0)
    if not largest.all():
        raise DataError(
            "badly-scaled", "an eigenvector vanishes on every coordinate: the system is too badly scaled to find modes."
        )
    shapes = shapes / largest
    pivot = shapes[ties.first_largest(shapes), range(shapes.shape[1])]
    shapes = shapes * (pivot.conj() / np.abs(pivot))
    if not shapes.imag.any():
        shapes = np.ascontiguousarray(shapes.real)
    modal = np.einsum("ik,ik->k", shapes.conj(), M @ shapes).real
    floor = massless * np.einsum("ik,ik->k", np.abs(shapes), abs(M) @ np.abs(shapes))
    massive = modal > floor
    shapes[:, massive] /= np.sqrt(modal[massive])
    return shapes
