"""Kalman gain and innovation covariance from what the past and the inputs leave of the future.

Given past and inputs, the future outputs are H_e e with H_e lower block triangular: I, C K, C A K, ... down each block
column. In L33 = H_e diag(S^(1/2)) every block column k therefore gives Γ K = L33[below, k] L33[k, k]⁻¹, and K is their
joint least-squares solution. Of the residual covariances Q = K S Kᵀ, S_wv = K S, R = S (positive semidefinite as they
stand, so the spectrum is a spectrum) the Riccati equation

    P = A P Aᵀ + Q - (A P Cᵀ + S_wv)(C P Cᵀ + R)⁻¹(A P Cᵀ + S_wv)ᵀ

has P = 0 as its stabilising solution where A - K C is stable; else its stabilising solution gives another gain and
covariance with the same spectrum and A - K C stable.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from dalembert.linear.checks import FloatArray


def innovation_form(
    A: FloatArray, gamma: FloatArray, fresh: FloatArray, freedom: float
) -> tuple[FloatArray | None, FloatArray, str]:
    """K (n, ny), S (ny, ny), and a note; K is None where no stable gain was found.

    gamma : (i, ny, n); fresh : L33 (i·ny, i·ny); freedom : J / (J - regressors), corrects S for what was fitted.
    """
    i, ny, n = gamma.shape
    blocks = fresh.reshape(i, ny, i, ny)
    pivots = np.array([blocks[k, :, k] for k in range(i)])
    S: FloatArray = freedom * np.mean(pivots @ pivots.transpose(0, 2, 1), axis=0)
    size = np.sqrt(np.diagonal(S))
    if not (size > 1e-9).all() or np.linalg.cond(S / np.outer(size, size)) > 1e12:
        return None, S, "no gain: the data are noise-free to rounding in some outputs."
    responses = np.einsum("ajkl,klm->ajkm", blocks, np.linalg.inv(pivots))
    upper, made = np.zeros((n, n)), np.zeros((n, ny))
    for a in range(i - 1):
        # C Aᵃ K stands in the block rows a + 1 below the diagonal
        upper += (i - 1 - a) * (gamma[a].T @ gamma[a])
        made += gamma[a].T @ np.trace(responses, offset=-(a + 1), axis1=0, axis2=2)
    K: FloatArray = scipy.linalg.lstsq(upper, made, check_finite=False)[0]
    C = gamma[0]
    radius = float(np.abs(np.linalg.eigvals(A - K @ C)).max(initial=0.0))
    if radius < 1.0 - 1e-9:
        return K, S, f"gain by least squares over the innovations of the future; |z| <= {radius:.4f} of A - K C."
    return _stabilised(A, C, K, S)


def _stabilised(
    A: FloatArray, C: FloatArray, K: FloatArray, S: FloatArray
) -> tuple[FloatArray | None, FloatArray, str]:
    """The stable gain of the same spectrum, by the Riccati equation; a little more process noise where it has none."""
    Q = K @ S @ K.T
    for extra in (0.0, 1e-8, 1e-5, 1e-2):
        more = extra * max(float(np.trace(Q)) / max(1, len(A)), 1e-12) * np.eye(len(A))
        try:
            P = scipy.linalg.solve_discrete_are(A.T, C.T, Q + more, S, s=K @ S)
        except (np.linalg.LinAlgError, ValueError):
            continue
        covariance = C @ P @ C.T + S
        gain: FloatArray = np.linalg.solve(covariance, (A @ P @ C.T + K @ S).T).T
        if np.isfinite(gain).all() and np.abs(np.linalg.eigvals(A - gain @ C)).max() < 1.0:
            added = f" (process noise raised by {extra:g} of itself)" if extra else ""
            return gain, covariance, f"gain by the Riccati equation{added}: the plain one left A - K C unstable."
    return None, S, "no gain: the Riccati equation of the residual covariances has no stabilising solution."


def better_gain(
    K: FloatArray | None, S: FloatArray, note: str, simulated: FloatArray | None
) -> tuple[FloatArray | None, FloatArray, str]:
    """No gain (K = 0) where simulation leaves no more than prediction with K does.

    A projection sees i samples of the past only. Where all noise is sensor noise the best gain is zero and what is
    found is that of a filter with so short a memory, which does worse than none.

    simulated : (ny, ny) covariance of y minus the simulated outputs, or None.
    """
    if K is None or simulated is None:
        return K, S, note
    if np.linalg.slogdet(simulated)[1] > np.linalg.slogdet(S)[1]:
        return K, S, note
    text = "the noise is sensor noise: simulation leaves no more than prediction, so the gain is zero."
    return np.zeros_like(K), simulated, text
