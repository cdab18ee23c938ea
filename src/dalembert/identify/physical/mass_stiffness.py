"""Mass, stiffness and damping matrices from the complex modes of a realization (De Angelis et al. 2002).

Columns w of W, scaled so that Ψᵀ [[R, M], [M, 0]] Ψ = I for Ψ = [W; W Λ], one for each of the 2n eigenvalues, give

    M = (W Λ Wᵀ)⁻¹,   K = -(W Λ⁻¹ Wᵀ)⁻¹,   R = -M W Λ² Wᵀ M,   W Wᵀ = 0
    inputs Wᵀ B₂,   outputs C_s W Λᵇ  (b = 0, 1, 2 for positions, velocities, accelerations)

A realization has its eigenvectors in another scale: row k of Ψ⁻¹ B_c is (T_k Wᵀ B₂)_k and column k of C Ψ Λ⁻ᵇ is
(C_s W)_k / T_k. A coordinate with both a sensor and an actuator gives T_k² = (Ψ⁻¹ B_c)_k / (C Ψ Λ⁻ᵇ)_k, several by
least squares. B_c is that of the continuous system (zero-order hold undone mode by mode), not the sampled B. Only
eigenvalues with Im λ > 0 are used, their conjugates by W Λ Wᵀ = 2 Re Σ λ w wᵀ, so the results are real and symmetric,
and the residual of W Wᵀ = 0 measures how well the data fit a second-order model with these sensors and actuators.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray


@dataclass(frozen=True)
class ModalTriple:
    """Upper half of the spectrum: eigenvalues (n,) [1/s], inputs Ψ⁻¹ B_c (n, nu), outputs C Ψ (ny, n)."""

    eigenvalues: ComplexArray
    inputs: ComplexArray
    outputs: ComplexArray
    real: ComplexArray  # eigenvalues that belong to no pair


def modal_triple(A: FloatArray, B: FloatArray, C: FloatArray, dt: float | None, tolerance: float = 1e-8) -> ModalTriple:
    """Continuous-time modal triple of a realization, ascending in |λ|.

    The logarithm and the undone hold, B_c = (A - I)⁻¹ ln(A)/dt B, act on each eigenvalue by itself.

    tolerance : |z - 1| below which ln z / (z - 1) is 1 to √ε: there the logarithm has lost half of its digits.
    """
    z, Psi = np.linalg.eig(A.astype(np.float64))
    z, Psi = z.astype(np.complex128), Psi.astype(np.complex128)
    modal_B = np.linalg.solve(Psi, B)
    if dt is None:
        lam = z
    else:
        lam = np.log(z) / dt
        step = z - 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            hold = np.where(np.abs(step) > tolerance, lam / step, 1.0 / dt)
        modal_B = hold[:, None] * modal_B
    pair = z.imag != 0.0
    upper = np.flatnonzero(pair & (z.imag > 0.0))
    upper = upper[np.argsort(np.abs(lam[upper]), kind="stable")]
    return ModalTriple(lam[upper], modal_B[upper], C @ Psi[:, upper], lam[~pair])


def scale_factors(seen: ComplexArray, driven: ComplexArray) -> ComplexArray:
    """T_k² (n,) of each mode; seen : (pairs, n) rows of C Ψ Λ⁻ᵇ, driven : (n, pairs) columns of Ψ⁻¹ B_c."""
    weight = np.einsum("jk,jk->k", seen.conj(), seen).real
    return np.asarray(np.einsum("jk,kj->k", seen.conj(), driven) / weight)


def products(W: ComplexArray, lam: ComplexArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """W Wᵀ, W Λ Wᵀ, W Λ⁻¹ Wᵀ, W Λ² Wᵀ over all eigenvalues, each (n, n)."""
    weights = (np.ones_like(lam), lam, 1.0 / lam, lam**2)
    matrices = [2.0 * ((W * weight) @ W.T).real for weight in weights]
    return matrices[0], matrices[1], matrices[2], matrices[3]


def second_order_matrices(W: ComplexArray, lam: ComplexArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """M, K, R (n, n) from the scaled shapes W (n, n) and the eigenvalues with Im λ > 0."""
    _, mobility, flexibility, rate = products(W, lam)
    M, K = np.linalg.inv(mobility), -np.linalg.inv(flexibility)
    M, K = 0.5 * (M + M.T), 0.5 * (K + K.T)
    R = -M @ rate @ M
    return M, K, 0.5 * (R + R.T)


def inconsistency(W: ComplexArray) -> tuple[float, float]:
    """Largest entry of W Wᵀ, which is 0 for exact data: absolute, and relative to that of Σ |w| |w|ᵀ."""
    product = 2.0 * (W @ W.T).real
    size = 2.0 * (np.abs(W) @ np.abs(W).T)
    # uncoupled coordinates share no mode: their entry is 0 of 0
    relative = np.divide(np.abs(product), size, out=np.zeros_like(size), where=size > 0.0)
    return float(np.abs(product).max()), float(relative.max())
