"""Standard deviations of frequencies and damping ratios.

Fisher information S of (b, z₀, ln λ), C and D eliminated, R the covariance of the noise: covariance Σ = S⁻¹ (Ljung
1999, 9.4). Of the linear part Γ = [c, D]: Γ follows as -P θ, and has R ⊗ G_LL⁻¹ of its own.
modes        s = ln λ/dt,  f = |s|/2π,  ζ = -Re s/|s|; their covariance by the first derivative (delta method)
innovations  the modes are those of A = Ã + K C, the parameters Ã, K, C those of the predictor:
             dλ = wᴴ (dÃ + dK C + K dC) v / wᴴ v
"""

from __future__ import annotations

import numpy as np

from dalembert.core.arrays import BoolArray, ComplexArray, FloatArray
from dalembert.identify.likelihood import modal_likelihood as likelihood
from dalembert.identify.likelihood.likelihood_search import LikelihoodPoint
from dalembert.identify.likelihood.modal_likelihood import ModalModel
from dalembert.identify.likelihood.parametrisation import state_space


def correct_noise(point: LikelihoodPoint, free: BoolArray) -> FloatArray:
    """R with the number of fitted parameters subtracted from the number of samples."""
    ny = len(point.model.D)
    fitted = np.count_nonzero(free) / ny + point.model.nx + np.count_nonzero(point.model.direct)
    return point.noise * point.score.samples / max(point.score.samples - fitted, 1.0)


def modal_covariance(
    point: LikelihoodPoint, free: BoolArray, noise: FloatArray, dt: float, *, innovations: bool
) -> tuple[ComplexArray, FloatArray]:
    """Poles s [rad/s] (k,) of the modes that oscillate, ascending, and the covariance (2k, 2k) of (f_1, ζ_1, f_2, ...).

    f in Hz; noise R (ny, ny).
    """
    precision = likelihood.symmetric_inverse(noise)
    S = likelihood.information(point.model.C, precision, point.score.projected)[free][:, free]
    sigma = likelihood.symmetric_inverse(S)
    if innovations:
        ln, theta, gamma = _innovation_derivatives(point.model, free)
        # gradients of Re and Im of ln λ: (2k, parameters) and (2k, l, ny)
        through = np.einsum("kla,ljpg,ajgc->kjpc", gamma, point.score.follow, likelihood.output_map(point.model.C),
                            optimize=True)[:, free]  # fmt: skip
        whole = theta - through
        cov = whole @ sigma @ whole.T
        cov += np.einsum("kla,ab,lm,nmb->kn", gamma, noise, point.score.inverse, gamma, optimize=True)
    else:
        ln, theta = output_derivatives(point.model, free)
        cov = theta @ sigma @ theta.T
    slopes = modal_derivatives(ln / dt) / dt
    return ln / dt, slopes @ cov @ slopes.T


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


def _innovation_derivatives(model: ModalModel, free: BoolArray) -> tuple[ComplexArray, FloatArray, FloatArray]:
    """ln λ of A = Ã + K C, and its derivatives by the free parameters and by the linear part."""
    A, B, C, _ = state_space(model)
    ny, J = len(C), len(model.poles)
    nu = model.nu - ny
    K = B[:, nu:]
    values, V = np.linalg.eig(A + K @ C)
    W = np.linalg.inv(V)  # rows wᴴ, wᴴ v = 1
    waves = np.flatnonzero((values.imag > 0.0) & (np.abs(values) > 0.0))
    ln = np.log(values[waves].astype(complex))
    order = np.argsort(np.abs(ln), kind="stable")
    waves, ln = waves[order], ln[order]
    mask = model.linear_mask()
    left, right = (np.zeros((len(waves), 2 * J), dtype=complex) for _ in range(2))
    left[:, mask], right[:, mask] = W[waves] / values[waves][:, None], V[:, waves].T
    w, v = left.reshape(-1, J, 2), right.reshape(-1, J, 2)
    slopes = np.zeros((len(waves), *free.shape), dtype=complex)
    lam = model.multipliers()
    same, turned = w[..., 0] * v[..., 0] + w[..., 1] * v[..., 1], w[..., 0] * v[..., 1] - w[..., 1] * v[..., 0]
    # block [[Re μ, Im μ], [-Im μ, Re μ]] with μ = λ, then iλ
    slopes[:, :, -1, 0] = lam.real * same + lam.imag * turned
    slopes[:, :, -1, 1] = -lam.imag * same + lam.real * turned
    seen = V[:, waves].T @ C.T  # (C v): (k, ny)
    slopes[:, :, nu : nu + ny, 0] = w[:, :, 0, None] * seen[:, None, :]
    slopes[:, :, nu : nu + ny, 1] = -w[:, :, 1, None] * seen[:, None, :]
    steer = (W[waves] / values[waves][:, None]) @ K  # wᴴ K: (k, ny)
    linear = np.zeros((len(waves), model.nx + int(model.direct.sum()), ny), dtype=complex)
    linear[:, : model.nx] = V[:, waves].T[:, :, None] * steer[:, None, :]
    chosen = slopes[:, free]
    return ln, _parts(chosen), _parts(linear)


def _parts(values: ComplexArray) -> FloatArray:
    """Real and imaginary parts as alternating rows."""
    return np.stack([values.real, values.imag], axis=1).reshape(2 * len(values), *values.shape[1:])
