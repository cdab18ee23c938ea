"""Standard deviations of frequencies and damping ratios.

Fisher information S of (b, z₀, ln λ), C and D eliminated, R the covariance of the noise: covariance Σ = S⁻¹ (Ljung
1999, 9.4). Of the linear part Γ = [c, D]: Γ follows as -P θ, and has R ⊗ G_LL⁻¹ of its own.
modes        s = ln λ/dt,  f = |s|/2π,  ζ = -Re s/|s|; their covariance by the first derivative (delta method)
"""

from __future__ import annotations

import numpy as np

from dalembert.core.arrays import BoolArray, ComplexArray, FloatArray
from dalembert.identify.likelihood import modal_likelihood as likelihood
from dalembert.identify.likelihood.likelihood_search import LikelihoodPoint
from dalembert.identify.likelihood.modal_likelihood import ModalModel


def correct_noise(point: LikelihoodPoint, free: BoolArray) -> FloatArray:
    """R with the number of fitted parameters subtracted from the number of samples."""
    ny = len(point.model.D)
    fitted = np.count_nonzero(free) / ny + point.model.nx + np.count_nonzero(point.model.direct)
    return point.noise * point.score.samples / max(point.score.samples - fitted, 1.0)


def modal_covariance(
    point: LikelihoodPoint, free: BoolArray, noise: FloatArray, dt: float
) -> tuple[ComplexArray, FloatArray]:
    """Poles s [rad/s] (k,) of the modes that oscillate, ascending, and the covariance (2k, 2k) of (f_1, ζ_1, f_2, ...).

    f in Hz; noise R (ny, ny).
    """
    precision = likelihood.symmetric_inverse(noise)
    S = likelihood.information(point.model.C, precision, point.score.projected)[free][:, free]
    sigma = likelihood.symmetric_inverse(S)
    ln, theta = output_derivatives(point.model, free)
    slopes = modal_derivatives(ln / dt) / dt
    return ln / dt, slopes @ theta @ sigma @ theta.T @ slopes.T


def modal_derivatives(s: ComplexArray) -> FloatArray:
    """∂(f, ζ)/∂(Re s, Im s) as a block-diagonal matrix (2k, 2k)."""
    a, b, w = s.real, s.imag, np.abs(s)
    result = np.zeros((2 * len(s), 2 * len(s)))
    at = 2 * np.arange(len(s))
    result[at, at], result[at, at + 1] = a / w / (2.0 * np.pi), b / w / (2.0 * np.pi)
    result[at + 1, at], result[at + 1, at + 1] = -1.0 / w + a * a / w**3, a * b / w**3
    return result


def output_derivatives(model: ModalModel, free: BoolArray) -> tuple[ComplexArray, FloatArray]:
    """ln λ of the modes that oscillate, ascending, and their derivatives by the free parameters (2k, parameters)."""
    waves = np.flatnonzero(~model.real & (model.poles.imag > 0.0))
    waves = waves[np.argsort(np.abs(model.poles[waves]), kind="stable")]
    slopes = np.zeros((2 * len(waves), *free.shape))
    for i, j in enumerate(waves):
        slopes[2 * i, j, -1, 0] = slopes[2 * i + 1, j, -1, 1] = 1.0
    return model.poles[waves], slopes[:, free]
