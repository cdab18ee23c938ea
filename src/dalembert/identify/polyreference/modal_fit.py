"""Residues of frequency responses at known poles, and the poles that fit best (least squares, frequency domain).

H(ω) = Σ_k (φ_k l_kᵀ / (iω - s_k) + conjugate) + Σ_q E_q (iω)^q

E_q real: modes below the lines leave powers below zero, those above the lines powers from zero on. For poles and
participations the shapes and E are linear, one small problem per output. The poles and participations follow by
Gauss-Newton steps on what the linear unknowns leave (variable projection, Golub and Pereyra 1973). With residuals
weighted by their standard deviation the inverse of JᵀJ is the covariance of the poles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray


@dataclass(frozen=True, eq=False)
class ModalFit:
    """Modes that fit responses: s (k,) [rad/s], shapes (ny, k), participation (k, nu), E (powers, ny, nu).

    cost : weighted sum of squares; information : (2 k, 2 k), of Re s and Im s in turn, after all other unknowns.
    """

    s: ComplexArray
    shapes: ComplexArray
    participation: ComplexArray
    E: FloatArray
    cost: float
    information: FloatArray
    change: FloatArray  # Gauss-Newton step of (Re s, Im s, Re l, Im l)


def fit_modes(
    w: FloatArray, H: ComplexArray, weights: FloatArray, s: ComplexArray, participation: ComplexArray,
    powers: tuple[int, ...], passes: int = 5,
) -> ModalFit:  # fmt: skip
    """Modes at given poles and participations, improved by Gauss-Newton steps as long as the fit gets better.

    weights : (nf, ny, nu).  passes : steps; the start is close and each step squares the distance.
    """
    fit = _fit_shapes(w, H, weights, s, participation, powers)
    for _ in range(passes if len(s) else 0):
        k = len(s)
        moved = fit.s + fit.change[:k] + 1j * fit.change[k : 2 * k]
        turned = fit.participation.ravel() + np.array([1.0, 1j]) @ fit.change[2 * k :].reshape(2, -1)
        if not ((moved.real < 0.0) & (moved.imag > 0.0)).all():
            break
        trial = _fit_shapes(w, H, weights, moved, turned.reshape(fit.participation.shape), powers)
        if not trial.cost < fit.cost:
            break
        fit = trial
    size = np.linalg.norm(fit.participation, axis=1)
    return replace(fit, shapes=fit.shapes * size, participation=fit.participation / size[:, None])


def _split(columns: ComplexArray) -> FloatArray:
    return np.concatenate([columns.real, columns.imag])


def _fit_shapes(
    w: FloatArray, H: ComplexArray, weights: FloatArray, s: ComplexArray, participation: ComplexArray,
    powers: tuple[int, ...],
) -> ModalFit:  # fmt: skip
    """Shapes and E by linear least squares, and the step that improves poles and participations."""
    (nf, ny, nu), k = H.shape, len(s)
    iw = 1j * w
    scale = float(w[-1])  # powers of ω/ω_last
    near, far = 1.0 / (iw[:, None] - s), 1.0 / (iw[:, None] - s.conj())  # (nf, k)
    factors = participation.T[None]  # (1, nu, k)
    first, second = near[:, None] * factors, far[:, None] * factors.conj()
    smooth = np.zeros((nf, nu, len(powers) * nu), dtype=np.complex128)
    for q, power in enumerate(powers):
        for j in range(nu):
            smooth[:, j, q * nu + j] = (iw / scale) ** power
    basis = np.concatenate([first + second, 1j * (first - second), smooth], axis=2).reshape(nf * nu, -1)
    shapes = np.zeros((ny, k), dtype=np.complex128)
    E = np.zeros((len(powers), ny, nu))
    count = 2 * k + 2 * k * nu
    information, gradient, cost = np.zeros((count, count)), np.zeros(count), 0.0
    for o in range(ny):
        factor = weights[:, o].reshape(-1, 1)
        A, b = _split(factor * basis), _split(factor[:, 0] * H[:, o].ravel())
        sizes = np.linalg.norm(A, axis=0)
        sizes = np.where(sizes > 0.0, sizes, 1.0)
        Q, R = np.linalg.qr(A / sizes)
        x = np.linalg.lstsq(R, Q.T @ b, rcond=None)[0] / sizes
        shapes[o] = x[:k] + 1j * x[k : 2 * k]
        E[:, o] = x[2 * k :].reshape(len(powers), nu)
        residual = b - A @ x
        cost += float(residual @ residual)
        by_pole = shapes[o] * near[:, None] * first, shapes[o].conj() * far[:, None] * second
        slopes = [by_pole[0] + by_pole[1], 1j * (by_pole[0] - by_pole[1])]
        turning = np.zeros((2, nf, nu, k, nu), dtype=np.complex128)
        for j in range(nu):
            a, c = shapes[o] * near, shapes[o].conj() * far
            turning[0, :, j, :, j], turning[1, :, j, :, j] = a + c, 1j * (a - c)
        slopes += [turning[i].reshape(nf, nu, -1) for i in (0, 1)]
        J = _split(factor * np.concatenate(slopes, axis=2).reshape(nf * nu, -1))
        J -= Q @ (Q.T @ J)
        information += J.T @ J
        gradient += J.T @ residual
    E /= scale ** np.array(powers, dtype=np.float64)[:, None, None]
    step, inner = _solve_scaled(information, gradient, 2 * k)
    return ModalFit(s, shapes, participation, E, cost, inner, step)


def _solve_scaled(
    N: FloatArray, g: FloatArray, kept: int, undetermined: float = 1e-10
) -> tuple[FloatArray, FloatArray]:
    """Solution of N x = g of minimum norm in unit columns, and the Schur complement of the first unknowns.

    undetermined : relative eigenvalue of combinations without effect: the length of a participation, rounding 1e-14
    """
    sizes = np.sqrt(np.maximum(np.diag(N), 0.0))
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    scaled = N / np.outer(sizes, sizes)
    step = np.linalg.pinv(scaled, rcond=undetermined, hermitian=True) @ (g / sizes) / sizes
    rest = np.linalg.pinv(scaled[kept:, kept:], rcond=undetermined, hermitian=True)
    inner = scaled[:kept, :kept] - scaled[:kept, kept:] @ rest @ scaled[kept:, :kept]
    return step, inner * np.outer(sizes[:kept], sizes[:kept])
