"""Fields of a uniform beam that vibrates harmonically, stable at any frequency (spec 003, C-43, C-44, C-51, trap 17).

Lengths in units of the beam, z from 0 to 1; forces in units of EI/l², moments in units of EI/l:

    u′ = φ + s² V,   φ′ = M,   M′ = -V - λ r² φ,   V′ = -λ u,
    λ = ρA ω² l⁴/EI,   r² = I/(A l²) (rotary inertia),   s² = χ EI/(G A l²) (shear).

r = s = 0 is the Euler-Bernoulli beam with λ = b⁴, M = u″, V = -u‴. A wave eᵖᶻ has p² = σ with

    σ₁ = -(λ(r²+s²)/2 + R),   σ₂ = λ(1 - λr²s²)/|σ₁|,   R² = λ + d²,   d = λ(s²-r²)/2;

σ₂ changes sign at the cut-off λ = 1/(r²s²). Wherever u = f(z) is such a wave, M = (σ + s²λ) f, and
σ₁ + s²λ = d - R, σ₂ + s²λ = d + R are computed without cancellation. Three bases, each used where it is well
conditioned: the Taylor series of exp(A z) for long waves, {cos, sin} with {e⁻ᵖᶻ, e⁻ᵖ⁽¹⁻ᶻ⁾} for short ones (the
sinh/cosh forms of the print fail near mode 10), and {cos, sin} with {C, S} (entire functions of σ₂) around and above
the cut-off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Wave numbers up to which the Taylor series is used: its terms stay below e^2.5, so that at most a digit is lost.
LONG_WAVE = 2.5
TERMS = 40  # 2.5⁴⁰/40! < 1e-31


@dataclass(frozen=True)
class Roots:
    """σ₁ < 0, σ₂ and the ratios M/u of both waves."""

    sigma1: float
    sigma2: float
    ratio1: float
    ratio2: float


def roots(lam: float, r2: float, s2: float) -> Roots:
    """Squared exponents of the waves at λ > 0."""
    d = 0.5 * lam * (s2 - r2)
    R = np.sqrt(lam + d * d)
    sigma1 = -(0.5 * lam * (r2 + s2) + R)
    sigma2 = lam * (1.0 - lam * r2 * s2) / -sigma1
    if d > 0.0:
        return Roots(sigma1, sigma2, -lam / (d + R), d + R)
    return Roots(sigma1, sigma2, d - R, lam / (R - d))


def system_matrix(lam: FloatArray, r2: float, s2: float) -> FloatArray:
    """A of y′ = A y, y = (u, φ, M, V); (..., 4, 4) for λ of shape (...)."""
    A = np.zeros((*np.shape(lam), 4, 4))
    A[..., 0, 1], A[..., 0, 3] = 1.0, s2
    A[..., 1, 2] = 1.0
    A[..., 2, 1], A[..., 2, 3] = -np.asarray(lam) * r2, -1.0
    A[..., 3, 0] = -np.asarray(lam)
    return A


def transfer(lam: FloatArray, r2: float, s2: float, z: float) -> FloatArray:
    """exp(A z) by its Taylor series, (..., 4, 4); for wave numbers times z up to about LONG_WAVE."""
    A = system_matrix(lam, r2, s2) * z
    total = term = np.broadcast_to(np.eye(4), A.shape)
    for k in range(1, TERMS):
        term = term @ A / k
        total = total + term
    return total


class Waves:
    """Four independent solutions at one λ; ``fields(z)`` gives (4 fields, 4 solutions, nz).

    The fields are u, φ, M, V. ``orientation`` is the sign of the determinant of the fields at one place, by which
    a characteristic function becomes independent of the basis.
    """

    def __init__(self, lam: float, r2: float, s2: float) -> None:
        self.lam, self.r2, self.s2 = lam, r2, s2
        self.roots = roots(lam, r2, s2) if lam > 0.0 else Roots(0.0, 0.0, 0.0, 0.0)
        self.k = float(np.sqrt(-self.roots.sigma1))
        p = float(np.sqrt(abs(self.roots.sigma2)))
        self.p = p
        self.longest = max(self.k, p)
        if self.longest <= LONG_WAVE:
            self.kind = "series"
            self.orientation = 1.0
        else:
            self.kind = "exponential" if self.roots.sigma2 > 0.0 and p >= 1.0 else "oscillating"
            self.orientation = float(np.sign(np.linalg.det(self._scaled(self._at_zero()))))

    def fields(self, z: FloatArray) -> FloatArray:
        """(4, 4, nz) values of u, φ, M, V (first axis) of the four solutions (second) at z (nz,) in [0, 1]."""
        if self.kind == "series":
            return self._series(z)
        out = np.empty((4, 4, len(z)))
        out[:, 0], out[:, 1] = self._oscillation(self.roots.sigma1, self.roots.ratio1, self.k, z)
        if self.kind == "oscillating":
            out[:, 2], out[:, 3] = self._oscillation(self.roots.sigma2, self.roots.ratio2, self.p, z)
        else:
            p, g = self.p, self.roots.ratio2
            falling, rising = np.exp(-p * z), np.exp(-p * (1.0 - z))
            out[:, 2] = np.array([1.0, -g / p, g, self.lam / p])[:, None] * falling
            out[:, 3] = np.array([1.0, g / p, g, -self.lam / p])[:, None] * rising
        return out

    def _oscillation(self, sigma: float, ratio: float, wave: float, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solution with u = C and its derivative; C = cosh √σ z, S = ∫C, entire in σ. Scaled to wave number 1."""
        if sigma < 0.0:
            C = np.cos(wave * z)
            S = np.sin(wave * z) / wave
        elif sigma > 0.0:
            C, S = np.cosh(wave * z), np.sinh(wave * z) / wave
        else:
            C, S = np.ones_like(z), z
        scale = max(wave, 1.0)
        first = np.array([C, ratio * S, ratio * C, -self.lam * S])
        second = np.array([sigma * S, ratio * C, ratio * sigma * S, -self.lam * C]) / scale
        return first, second

    def _series(self, z: FloatArray) -> FloatArray:
        A = system_matrix(np.float64(self.lam), self.r2, self.s2)  # type: ignore[arg-type]
        powers = [np.eye(4)]
        for k in range(1, TERMS):
            powers.append(powers[-1] @ A / k)
        out = np.zeros((4, 4, len(z)))
        for power in reversed(powers):  # Horner
            out = out * z + power[:, :, None]
        return out

    def _at_zero(self) -> FloatArray:
        """Fields at z = 0 with the rising exponential scaled to 1 there: only signs matter."""
        values = self.fields(np.zeros(1))[:, :, 0]
        if self.kind == "exponential":
            values[:, 3] = [1.0, self.roots.ratio2 / self.p, self.roots.ratio2, -self.lam / self.p]
        return values

    def _scaled(self, values: FloatArray) -> FloatArray:
        rows = values / np.abs(values).max(axis=1, keepdims=True)
        scaled: FloatArray = rows / np.abs(rows).max(axis=0, keepdims=True)
        return scaled
