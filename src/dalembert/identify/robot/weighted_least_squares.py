"""Weighted least squares with the noise of each joint from its residuals (Swevers, Ganseman, Tükel and others 1997).

    minimise Σ_j ‖y_j - W_j x‖² / σ_j² ,      σ_j² = ‖y_j - W_j x‖² / (N_j - p_j)

in turns until the σ_j converge. p_j = tr(P W_jᵀ W_j) / σ_j² is the effective number of parameters of joint j, P = (Σ
W_jᵀ W_j / σ_j²)⁻¹ the covariance of the estimate. A weight is one number per joint, so [W_j y_j] is replaced by the
triangle R_j of its QR factorization: records of any length take the memory of a block.

Where residuals are not white, P is not the covariance. The gradient Σ_t W_tᵀ r_t / σ² is then summed over batches of
the record, whose scatter Q gives P Q P (Huber 1967; batch means).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.core.arrays import FloatArray
from dalembert.expressions import Array


@dataclass(frozen=True)
class Triangles:
    """Data of each joint: R (joints, n + 1, n + 1) of [W y], and the number of rows of each."""

    R: FloatArray
    counts: FloatArray

    @classmethod
    def empty(cls, joints: int, columns: int) -> Triangles:
        return cls(np.zeros((joints, columns + 1, columns + 1)), np.zeros(joints))

    def add(self, W: Array, y: Array, used: NDArray[np.bool_]) -> Triangles:
        """With further samples: W (B, joints, n), y and used (B, joints)."""
        R, counts = self.R.copy(), self.counts.copy()
        for j in range(len(R)):
            rows = np.column_stack([W[used[:, j], j], y[used[:, j], j]])
            if len(rows):
                R[j] = np.linalg.qr(np.vstack([R[j], rows]), mode="r")
                counts[j] += len(rows)
        return Triangles(R, counts)

    def squares(self, x: Array) -> Array:
        """Sum of squared residuals of each joint."""
        return np.asarray(((self.R @ np.append(-x, 1.0)) ** 2).sum(axis=1))


@dataclass(frozen=True)
class WeightedEstimate:
    """x with its covariance (inf where undetermined), noise σ of each joint, and the square root of the information.

    directions : (k, n) unit vectors of scaled columns that the data do not determine; x is zero along them.
    condition : of the weighted columns, each of length 1.
    """

    x: FloatArray
    covariance: FloatArray
    noise: FloatArray
    information: FloatArray
    directions: FloatArray
    condition: float
    iterations: int

    @property
    def deviations(self) -> FloatArray:
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def inverse(self) -> FloatArray:
        """The covariance along determined directions, zero along others."""
        inverse = self.covariance.copy()
        loose = ~np.isfinite(np.diag(inverse))
        inverse[loose, :] = inverse[:, loose] = 0.0
        return inverse


def estimate(
    data: Triangles, spread: Array, noise: Array | None = None, error: float = 0.0, least_noise: float = 1e-5,
    rounds: int = 50, noise_change: float = 1e-3,
) -> WeightedEstimate:  # fmt: skip
    """Estimate and noise from all joints.

    spread : of the effort of each joint.  noise : given standard deviations; None to estimate them.
    error : least relative one of the accelerations.
    least_noise : least σ over the spread of the effort: the regressor, from derivatives of measured positions, is not
    more accurate.
    rounds : largest number of estimates of σ: 76 fits of an arm took 6 at most.
    noise_change : relative change of σ that ends its estimation: deviations have two digits.
    """
    least = max(least_noise, error) * np.maximum(spread, np.max(spread, initial=0.0) * 1e-6 + 1e-300)
    if noise is not None:
        return _solve(data, np.asarray(noise, dtype=float))
    sigma = np.maximum(spread, least)
    for k in range(1, rounds + 1):
        solution = replace(_solve(data, sigma), iterations=k)
        paid = [
            float(np.trace(solution.inverse @ (R[:, :-1].T @ R[:, :-1]))) / s**2
            for R, s in zip(data.R, sigma, strict=True)
        ]
        freedom = np.maximum(data.counts - paid, 1.0)
        now = np.where(data.counts > 0, np.maximum(np.sqrt(data.squares(solution.x) / freedom), least), sigma)
        if np.abs(now / sigma - 1.0).max(initial=0.0) < noise_change:
            break
        sigma = now
    return solution


def _solve(data: Triangles, sigma: Array, rank: float = 1e-6, least_entry: float = 1e-6) -> WeightedEstimate:
    # rank: Singular values of columns of length 1, relative to the largest. Derivatives of measured positions are
    # accurate to 1e-5 at best: directions with smaller values are their errors, not parameters of the robot.
    rows = np.vstack([R / s for R, s in zip(data.R, sigma, strict=True)])
    n = rows.shape[1] - 1
    R = np.asarray(np.linalg.qr(rows, mode="r"))[: n + 1]
    length = np.linalg.norm(R[:, :n], axis=0)
    size = np.where(length > 0, length, 1.0)
    U, s, Vt = np.linalg.svd(R[:, :n] / size)
    s = np.append(s, np.zeros(n - len(s)))
    zero = rank * max(float(s[0]), 1e-300)
    determined = s > zero
    inverse = np.where(determined, 1.0 / np.where(determined, s, 1.0), 0.0)
    x = Vt.T @ (inverse * (U.T @ R[:, n])[:n]) / size
    covariance = (Vt.T * inverse**2) @ Vt / np.outer(size, size)
    touched = (np.abs(Vt[~determined]) > least_entry).any(axis=0)
    covariance[touched, touched] = np.inf
    condition = float(s[0] / s[-1]) if determined.all() else np.inf
    return WeightedEstimate(x, covariance, sigma, R[:n, :n], Vt[~determined], condition, 0)


def batch_covariance(gradients: Array, found: WeightedEstimate) -> FloatArray:
    """Covariance by the scatter of the gradient over batches (batches, n), undetermined entries infinite as before."""
    G = gradients - gradients.mean(axis=0)
    moved = G @ found.inverse
    covariance = len(G) / (len(G) - 1.0) * moved.T @ moved
    loose = ~np.isfinite(np.diag(found.covariance))
    covariance[loose, loose] = np.inf
    return np.asarray(covariance)
