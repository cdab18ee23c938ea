"""Kalman gain and innovation covariance from the part of the future that past and inputs do not explain.

Given past and inputs, the future outputs are H_e e with H_e lower block triangular: I, C K, C A K, ... down each block
column. In L33 = H_e diag(S^(1/2)) every block column k therefore gives Γ K = L33[below, k] L33[k, k]⁻¹, and K is their
joint least-squares solution. Of the residual covariances Q = K S Kᵀ, S_wv = K S, R = S (positive semidefinite, so that
the spectrum is one) the Riccati equation

    P = A P Aᵀ + Q - (A P Cᵀ + S_wv)(C P Cᵀ + R)⁻¹(A P Cᵀ + S_wv)ᵀ

has P = 0 as its stabilising solution where A - K C is stable; else its stabilising solution gives another gain and
covariance with the same spectrum and A - K C stable.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray
from dalembert.identify.model.playback import free_motion
from dalembert.identify.records.data import Data
from dalembert.identify.subspace.hankel_factor import HankelFactor
from dalembert.identify.subspace.input_matrices import find_input_matrices
from dalembert.linear.recursions import march

NO_GAIN = "no gain: the data are noise-free in some outputs."


def find_gain(
    A: FloatArray, gamma: FloatArray, innovations: FloatArray, correction: float, stability: float = 1e-9
) -> tuple[FloatArray | None, FloatArray, str]:
    """K (n, ny), S (ny, ny), and a note; K is None where no stable gain was found.

    gamma : (i, ny, n); innovations : L33 (i·ny, i·ny); correction : :func:`correct_freedom`, for S.
    stability : |z| of A - K C at most 1 less this: a mode that does not decay within 1e9 samples.
    """
    i, ny, n = gamma.shape
    pivots, S = _diagonal_blocks(innovations, ny, correction)
    if _noise_free(S):
        return None, S, NO_GAIN
    responses = np.einsum("ajkl,klm->ajkm", innovations.reshape(i, ny, i, ny), np.linalg.inv(pivots))
    upper, target = np.zeros((n, n)), np.zeros((n, ny))
    for a in range(i - 1):
        # C Aᵃ K is in the block rows a + 1 below the diagonal
        upper += (i - 1 - a) * (gamma[a].T @ gamma[a])
        target += gamma[a].T @ np.trace(responses, offset=-(a + 1), axis1=0, axis2=2)
    K: FloatArray = scipy.linalg.lstsq(upper, target, check_finite=False)[0]
    C = gamma[0]
    radius = float(np.abs(np.linalg.eigvals(A - K @ C)).max(initial=0.0))
    if radius < 1.0 - stability:
        return K, S, f"gain by least squares over the innovations of the future; |z| <= {radius:.4f} of A - K C."
    return _stabilise_gain(A, C, K, S)


def _diagonal_blocks(innovations: FloatArray, ny: int, correction: float) -> tuple[FloatArray, FloatArray]:
    """Diagonal blocks (i, ny, ny) of L33, and the covariance S (ny, ny) they are the roots of."""
    i = len(innovations) // ny
    pivots = innovations.reshape(i, ny, i, ny)[np.arange(i), :, np.arange(i)]
    return pivots, correction * np.mean(pivots @ pivots.transpose(0, 2, 1), axis=0)


def _noise_free(S: FloatArray, condition: float = 1e12, noise: float = 1e-5) -> bool:
    # condition: Condition number of their correlations: half of the digits of S, a square, remain at 1e8, none at 1e16.
    # noise: Root mean square of the innovations of outputs of unit size.
    size = np.sqrt(np.diagonal(S))
    return not (size > noise).all() or bool(np.linalg.cond(S / np.outer(size, size)) > condition)


def _stabilise_gain(
    A: FloatArray, C: FloatArray, K: FloatArray, S: FloatArray
) -> tuple[FloatArray | None, FloatArray, str]:
    """The stable gain of the same spectrum, by the Riccati equation; with more process noise where that has none."""
    Q = K @ S @ K.T
    for extra in (0.0, 1e-8, 1e-5, 1e-2):
        more = extra * max(float(np.trace(Q)) / max(1, len(A)), 1e-12) * np.eye(len(A))
        try:
            P = scipy.linalg.solve_discrete_are(A.T, C.T, Q + more, S, s=K @ S)
            covariance = C @ P @ C.T + S
            gain: FloatArray = np.linalg.solve(covariance, (A @ P @ C.T + K @ S).T).T
        except (np.linalg.LinAlgError, ValueError):  # a channel without noise leaves the covariance singular
            continue
        if np.isfinite(gain).all() and np.abs(np.linalg.eigvals(A - gain @ C)).max() < 1.0:
            added = f" (process noise raised by {extra:g} of itself)" if extra else ""
            return gain, covariance, f"gain by the Riccati equation{added}: the plain one left A - K C unstable."
    return None, S, "no gain: the Riccati equation of the residual covariances has no stabilising solution."


def find_inputs_and_noise(
    data: Data, hankel: HankelFactor, A: FloatArray, gamma: FloatArray, innovations: FloatArray, feedthrough: bool,
    stability: float = 1e-9,
) -> tuple[FloatArray, FloatArray, FloatArray | None, FloatArray, list[str], float | None]:  # fmt: skip
    """B, D, K, S of the scaled channels, notes, and the share of the worst output that simulation does not explain.

    By simulation for sensor noise, by prediction for noise that drives the states.

    A projection uses i samples of the past only. Where all noise is sensor noise the best gain is zero, and the gain
    found is that of a filter over i samples; where a little noise drives the states too, the best filter uses more than
    i. The residual of a simulation (covariance R) distinguishes both: a filter without process noise would have reached
    R + C P Cᵀ after i samples, and S lies below that where there is some. R is taken with the best C for the simulated
    states: errors of C in Γ would look like noise.
    """
    options: dict[str, Any] = {"feedthrough": feedthrough, "exact": hankel.how == "orthogonal"}
    C = gamma[0]
    _, S = _diagonal_blocks(innovations, len(C), correct_freedom(hankel))
    stable = float(np.abs(np.linalg.eigvals(A)).max(initial=0.0)) < 1.0 + stability
    if not stable:
        K, S, note = find_gain(A, gamma, innovations, correct_freedom(hankel))
        B, D, residuals, _, how = find_input_matrices(data, hankel.scales, A, C, K, **options)
        unexplained = float(np.diag(residuals).max()) if K is None and residuals is not None else None
        return B, D, K, S if K is None or residuals is None else residuals, [how, note], unexplained
    B, D, R, least, how = find_input_matrices(data, hankel.scales, A, C, None, **options)
    unexplained = None if R is None else float(np.diag(R).max())
    if R is None or least is None or _noise_free(S):
        K, S, note = find_gain(A, gamma, innovations, correct_freedom(hankel))
        return B, D, K, S, [how, note], unexplained
    first = innovations[: len(S), : len(S)]
    expected = least + C @ _predict_covariance(A, C, least, hankel.rows) @ C.T
    gained = _logdet(expected) - _logdet(correct_freedom(hankel) * first @ first.T)
    better: FloatArray | None = None
    if gained >= np.sqrt(2.0 * len(S) / hankel.columns):
        K, S, note = find_gain(A, gamma, innovations, correct_freedom(hankel))
        if K is None:
            return B, D, K, S, [how, note], unexplained
        better, note = _choose_gain(data, hankel.scales, A, B, C, D, K, S, R, note)
    if better is None:
        text = "the noise is sensor noise: prediction leaves no less than simulation, so the gain is zero."
        return B, D, np.zeros((len(A), len(S))), R, [how, text], unexplained
    B, D, residuals, _, how = find_input_matrices(data, hankel.scales, A, C, better, **options)
    return B, D, better, S if residuals is None else residuals, [how, note], unexplained


def correct_freedom(hankel: HankelFactor) -> float:
    """Factor that corrects for the degrees of freedom of past and inputs, J / (J - regressors)."""
    return hankel.columns / max(1.0, hankel.columns - (len(hankel.standard) - hankel.rows * hankel.ny))


def _predict_covariance(A: FloatArray, C: FloatArray, R: FloatArray, steps: int) -> FloatArray:
    """Covariance of the predicted state after some samples with sensor noise R alone, from an unknown initial state."""
    responses = free_motion(A, C, steps)
    information = 1e-4 * np.eye(len(A)) + np.tensordot(responses, np.linalg.solve(R, responses), axes=((0, 1), (0, 1)))
    ahead = np.linalg.matrix_power(A, steps)
    P: FloatArray = ahead @ np.linalg.solve(information, ahead.T)
    return 0.5 * (P + P.T)


def _logdet(S: FloatArray) -> float:
    return float(np.linalg.slogdet(S)[1])


def _choose_gain(
    data: Data, scales: FloatArray, A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, K: FloatArray,
    S: FloatArray, R: FloatArray, note: str,
) -> tuple[FloatArray | None, str]:  # fmt: skip
    """The gain that predicts best among K, those of less process noise, κ K S Kᵀ, and none, on up to 10 000 samples."""
    k = int(np.argmax(data.lengths))
    u, y = data.u[k][:10_000] / scales[: data.nu], data.y[k][:10_000] / scales[data.nu :]

    def residual(gain: FloatArray) -> float:
        closed = A - gain @ C
        x = march(closed, (u @ (B - gain @ D).T + y @ gain.T)[:-1], np.zeros(len(A)))
        e = (y - x @ C.T - u @ D.T)[len(y) // 10 :]
        return _logdet(e.T @ e / len(e))

    best: FloatArray | None = K
    least, none = residual(K), residual(np.zeros_like(K))
    shares = (0.3, 0.1)
    if none - 2.0 * np.log(len(y)) / len(y) < least:  # a gain must reduce more than its degrees of freedom do by chance
        best, least, shares = None, none - 2.0 * np.log(len(y)) / len(y), (0.03, 0.003)
    Q = K @ S @ K.T
    for share in shares:
        try:
            P = scipy.linalg.solve_discrete_are(A.T, C.T, share * Q + 1e-14 * np.trace(Q) * np.eye(len(A)), R)
        except (np.linalg.LinAlgError, ValueError):
            continue
        gain = np.linalg.solve(C @ P @ C.T + R, C @ P @ A.T).T
        value = residual(gain)
        if value < least:
            best, least = gain, value
            note = f"gain by the Riccati equation with {share:g} of the process noise that was found: it predicts best."
    return best, note
