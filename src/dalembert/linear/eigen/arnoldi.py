"""Modes of large sparse systems with damping, gyroscopic, circulatory or hysteretic terms.

    Q(s) φ = (s² M + s (C+G) + K+H + i K_loss) φ = 0

The undamped modes Φ come first (Lanczos). Then

- C = α M + β K, or CΦ = MΦ D with D diagonal once the modes of repeated frequencies are rotated (judged after one
  application of the inverse, which reduces the rounding that K amplifies): one scalar quadratic s² + d s + μ = 0 per
  mode, shapes real. K_loss likewise: μ + iκ, s = i √(μ + iκ); a plain loss factor is exact.
- else shift-invert Arnoldi on the companion form. With z = (φ, sφ/γ) and one factor of Q(s₀),

      (a, b) → u = -Q(s₀)⁻¹ (γ M b + (C + s₀ M) a),   (u, (a + s₀ u)/γ),   eigenvalue 1/(s - s₀)

  γ is a typical frequency, so that both halves have the same weight. s₀ is real near rest (one real factor, conjugate
  pairs are found together), i ω near a frequency.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse.linalg

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import ConvergenceError
from dalembert.core.findings import Advice
from dalembert.linear import storage
from dalembert.linear.eigen import quadratic
from dalembert.linear.eigen import undamped_modes as lanczos
from dalembert.linear.eigen.undamped_modes import Undamped
from dalembert.numerics.sparse.sparse_factor import Factor

Rows = tuple[ComplexArray, Any]  # eigenvalues (k,); shapes (n, k), real where all modes are


def solve(system: Any, count: int, near: float, band: tuple[float, float] | None) -> Rows:
    """Eigenvalues and shapes (mass-normalised, n x k) of a sparse SecondOrder, unsorted."""
    M, K = system.M, system.K
    full = storage.nonzero(system.G) or storage.nonzero(system.H)
    modes = lanczos.in_band(M, K, *band) if band else lanczos.nearest(M, K, count, near)
    if not full:
        rows = _uncouple(system, modes)
        if rows is not None:
            return rows
    if band:  # damping moves a few modes over the ends of the band: look a little wider
        near = float(np.sqrt(0.5 * (band[0] ** 2 + band[1] ** 2))) if band[0] > 0.0 else 0.0
        count = len(modes.mu) + 4
    return _companion(system, modes, count, near)


def _uncouple(
    system: Any,
    modes: Undamped,
    uncoupled: float = 1e-8,  # misfit of CΦ = MΦD after one inverse: shapes come out of Lanczos to 1e-10 or better
    critical: float = 1e-13,  # discriminant of s² + d s + μ, relative to its terms, of a double root: 500 roundings
) -> Rows | None:
    """Rows of a system whose damping the undamped modes uncouple; None for the others."""
    mu, V = modes.mu, modes.shapes
    damping = _modal(system.C, system, modes, uncoupled)
    loss = _modal(system.K_loss, system, modes, uncoupled)
    if damping is None or loss is None:
        return None
    turned = quadratic.turn([damping, loss], mu, uncoupled)
    if turned is None:
        return None
    (d, kappa), Q = turned
    shapes = V @ Q if np.any(damping) or np.any(loss) else V
    if np.any(loss):
        return quadratic.hysteretic_roots(d, mu + 1j * kappa), shapes
    values, places = quadratic.rows(d, mu, critical)
    return values, shapes[:, places]


def _modal(matrix: Any, system: Any, modes: Undamped, uncoupled: float = 1e-8) -> FloatArray | None:
    """ΦᵀXΦ where X maps the modes onto themselves, XΦ = MΦ(ΦᵀXΦ); None where it does not."""
    mu, V = modes.mu, modes.shapes
    if not storage.nonzero(matrix):
        return np.zeros((len(mu), len(mu)))
    if (fit := rayleigh_fit(matrix, system.M, system.K)) is not None:
        return np.diag(fit[0] + fit[1] * mu)
    image = matrix @ V
    D = V.T @ image
    D = 0.5 * (D + D.T)
    misfit = modes.factor.solve(np.asfortranarray(image - (system.M @ V) @ D))
    if np.abs(misfit).max() > uncoupled * np.abs(modes.factor.solve(np.asfortranarray(image))).max():
        return None
    return np.asarray(D)


def rayleigh_fit(matrix: Any, M: Any, K: Any, misfit: float = 1e-11) -> tuple[float, float] | None:
    """(α, β) with X = α M + β K, entry by entry; None where there are none. Dense or sparse.

    ``misfit`` : far above rounding of the sum, far below a modelling difference.
    """
    if storage.is_sparse(matrix):
        inner = [[float((a.multiply(b)).sum()) for b in (M, K, matrix)] for a in (M, K)]
    else:
        inner = [[float((a * b).sum()) for b in (M, K, matrix)] for a in (M, K)]
    (mm, mk, mx), (_, kk, kx) = inner
    # Scaled normal equations: M and K differ by ten orders of magnitude. Where they are proportional, any α and β on
    # one line fit, and rounding along it changes nothing.
    scale = np.array([np.sqrt(mm) or 1.0, np.sqrt(kk) or 1.0])
    normal = np.array([[mm, mk], [mk, kk]]) / np.outer(scale, scale)
    alpha, beta = np.linalg.lstsq(normal, np.array([mx, kx]) / scale, rcond=None)[0] / scale
    fits = abs(matrix - alpha * M - beta * K).max() <= misfit * abs(matrix).max()
    return (float(alpha), float(beta)) if fits else None


def _companion(system: Any, modes: Undamped, count: int, near: float, rounding: float = 1e-9) -> Rows:
    """Rows by Arnoldi's method, which converges to 1e-12 or better: ``rounding`` is |Im s| / |s| of a real one."""
    M, C = system.M, system.C_full
    hysteretic = storage.nonzero(system.K_loss)
    K = system.K_full + 1j * system.K_loss if hysteretic else system.K_full
    elastic = np.sqrt(np.abs(modes.mu[modes.mu != 0.0]))
    gamma = float(np.median(elastic)) if len(elastic) else near or 1.0
    rigid = _at_rest(system, modes.shapes[:, modes.mu == 0.0])
    zeros = quadratic.zeros(rigid, C, rigid) if rigid.shape[1] else 0
    if near > 0.0:
        shift: complex = 1j * near
    else:
        shift = 0.0 if not zeros else 0.1 * float(elastic.min(initial=gamma))
    # A real shift also finds the conjugates; a few more eigenvalues make the last wanted ones accurate.
    wanted = (count + 2 if near > 0.0 else 2 * count + 4) + zeros
    values, vectors = _arnoldi(M, C, K, shift, gamma, min(wanted, 2 * M.shape[0] - 2))
    # The zeros of the rigid bodies are defective: rounding splits them. They are known, and separated.
    if zeros and near == 0.0:
        moving = np.argsort(np.abs(values), kind="stable")[zeros:]
        values, vectors = values[moving], vectors[:, moving]
    upper = quadratic.is_upper(values, hysteretic, rounding)
    values, vectors = values[upper], vectors[:, upper]
    real = np.abs(values.imag) <= rounding * np.abs(values)
    values = np.asarray(np.where(real, values.real, values), dtype=np.complex128)
    if not (storage.nonzero(system.C) or storage.nonzero(system.H) or hysteretic) and np.all(modes.mu >= 0.0):
        values = np.asarray(1j * values.imag, dtype=np.complex128)  # conservative and K ≥ 0: exactly imaginary
    if near == 0.0 and rigid.shape[1]:
        values = np.concatenate([np.zeros(rigid.shape[1]), values])
        vectors = np.hstack([rigid.astype(np.complex128), vectors])
    return values, vectors


def _at_rest(system: Any, rigid: FloatArray, rounding: float = 1e-12) -> FloatArray:
    """The null space common to K, H and K_loss: a rigid body at rest feels rounding of their largest entries only."""
    for matrix in (system.H, system.K_loss):
        if rigid.shape[1] and storage.nonzero(matrix):
            image = matrix @ rigid
            _, singular, Vt = np.linalg.svd(image, full_matrices=False)
            floor = rounding * float(abs(matrix).max()) * float(np.abs(rigid).max()) * np.sqrt(len(rigid))
            rank = int(np.count_nonzero(singular > floor))
            rigid = rigid @ Vt[rank:].T
    return rigid


def _arnoldi(M: Any, C: Any, K: Any, shift: complex, gamma: float, count: int) -> Rows:
    n = M.shape[0]
    complex_ = bool(np.iscomplexobj(K) or np.imag(shift))
    kind = np.complex128 if complex_ else np.float64
    s0 = shift if complex_ else float(np.real(shift))
    factor = _factor(K + s0 * C + s0**2 * M)
    left = C + s0 * M

    def apply(z: Any) -> Any:
        a, b = z[:n], z[n:]
        u = -factor.solve((gamma * (M @ b) + left @ a).astype(kind))
        return np.concatenate([u, (a + s0 * u) / gamma])

    start = apply(np.random.default_rng(0).normal(size=2 * n).astype(kind))
    operator = scipy.sparse.linalg.LinearOperator((2 * n, 2 * n), matvec=apply, dtype=kind)
    try:
        theta, Z = scipy.sparse.linalg.eigs(operator, count, v0=start)
    except scipy.sparse.linalg.ArpackError as error:
        raise ConvergenceError(
            "no-convergence",
            f"{count} eigenvalues near s = {s0:.4g} rad/s did not converge: {error}.",
            Advice("Choose fewer modes or another frequency."),
        ) from error  # fmt: skip
    return s0 + 1.0 / theta, Z[:n]


def _factor(matrix: object) -> Factor:
    try:
        return Factor(matrix)
    except ArithmeticError as error:
        raise ConvergenceError(
            "singular-matrix", "the shifted matrix is singular: choose modes near another frequency."
        ) from error
