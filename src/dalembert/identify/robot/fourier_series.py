"""Periodic motions of joints as finite Fourier series within limits (Swevers, Ganseman, Tükel and others 1997).

    x(t) = o + Σ_k a_k sin kωt + b_k cos kωt ,     Σ k a_k = 0 ,   Σ k² b_k = 0

The last two conditions let the motion begin and end at rest. Each joint moves by q = centre of its range + s x, with
s = min(1, half range / max|x|, largest speed / max|ẋ|, largest acceleration / max|ẍ|): limits are kept by construction.
In a search the maxima are norms of degree 24 over the samples, which are smooth and not smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray
from dalembert.expressions import Array

FINE = 8  # samples per sample of the search, to find the true maxima


@dataclass(frozen=True)
class JointRange:
    """Limits of a joint in an excitation; infinite where there is none."""

    lower: float
    upper: float
    speed: float = np.inf
    acceleration: float = np.inf

    @property
    def centre(self) -> float:
        return 0.5 * (self.lower + self.upper)

    @property
    def limits(self) -> FloatArray:
        """Of x, ẋ and ẍ."""
        return np.array([0.5 * (self.upper - self.lower), self.speed, self.acceleration])


class FourierBasis:
    """Values, rates and accelerations of free coefficients: three matrices (samples, coefficients)."""

    def __init__(self, period: float, harmonics: int, times: Array) -> None:
        w = 2.0 * np.pi / period
        k = np.arange(1, harmonics + 1)
        phase = w * np.outer(times, k)
        S, C, zero = np.sin(phase), np.cos(phase), np.zeros((len(times), 1))
        full = (
            np.hstack([np.ones_like(zero), S, C]),
            np.hstack([zero, w * k * C, -w * k * S]),
            np.hstack([zero, -((w * k) ** 2) * S, -((w * k) ** 2) * C]),
        )
        at_rest = np.zeros((2, 2 * harmonics + 1))
        at_rest[0, 1 : harmonics + 1], at_rest[1, harmonics + 1 :] = k, k**2
        self.free = scipy.linalg.null_space(at_rest)  # (2 harmonics + 1, coefficients)
        self.matrices = tuple(matrix @ self.free for matrix in full)
        # largest ratio of a trigonometric polynomial of degree n to its values at N equal steps of its period (Ehlich
        # and Zeller 1964); not used for other times
        self.between = 1.0 / np.cos(np.pi * min(harmonics / len(times), 0.25))

    @property
    def count(self) -> int:
        return int(self.free.shape[1])


def scale_exactly(basis: FourierBasis, coefficients: Array, ranges: list[JointRange], *, fill: bool = False) -> Array:
    """Coefficients (joints, n) scaled down to the limits; with ``fill`` also up to the nearest of them."""
    scaled = np.array(coefficients)
    for j, span in enumerate(ranges):
        sizes = [basis.between * np.abs(B @ scaled[j]).max() for B in basis.matrices]
        share = min(limit / max(size, 1e-300) for limit, size in zip(span.limits, sizes, strict=True))
        scaled[j] *= share if fill else min(1.0, share)
    return scaled


def move(basis: FourierBasis, coefficients: Array, ranges: list[JointRange]) -> tuple[Array, Array, Array]:
    """q, v and a (samples, joints) of unscaled coefficients."""
    q, v, a = (B @ coefficients.T for B in basis.matrices)
    return q + np.array([span.centre for span in ranges]), v, a


def smooth_scale(basis: FourierBasis, x: Array, limits: Array, degree: int = 24) -> tuple[float, Array]:
    """s of one joint with smooth maxima, and its gradient by the coefficients.

    degree : of the norms: (Σ|x|²⁴)^(1/24) exceeds the largest of 200 samples of a sine by 15 %
    """
    norms, gradients = [], []
    for B, limit in zip(basis.matrices, limits, strict=True):
        if not np.isfinite(limit):
            continue
        y = B @ x
        top = max(float(np.abs(y).max()), 1e-300)
        sums = float(((np.abs(y) / top) ** degree).sum())
        norm = top * sums ** (1.0 / degree)
        slope = B.T @ (np.sign(y) * (np.abs(y) / top) ** (degree - 1)) * sums ** (1.0 / degree - 1.0)
        norms.append(norm / limit)
        gradients.append(slope / limit)
    norms.append(1.0)
    gradients.append(np.zeros_like(x))
    # the largest of them, approximated by a norm of high order
    ratio = np.array(norms)
    top = float(ratio.max())
    sums = float(((ratio / top) ** degree).sum())
    total = top * sums ** (1.0 / degree)
    weights = (ratio / top) ** (degree - 1) * sums ** (1.0 / degree - 1.0)
    gradient = sum(w * g for w, g in zip(weights, gradients, strict=True))
    return 1.0 / total, np.asarray(-gradient / total**2)
