"""Fields of a uniform beam that vibrates harmonically, stable at any frequency.

Lengths in units of the beam, z from 0 to 1; forces in units of EI/l², moments in units of EI/l:

    u′ = φ + s² V,   φ′ = M,   M′ = -V - λ r² φ,   V′ = -λ u,
    λ = ρA ω² l⁴/EI,   r² = I/(A l²) (rotary inertia),   s² = χ EI/(G A l²) (shear).

r = s = 0 is the Euler-Bernoulli beam with λ = b⁴, M = u″, V = -u‴. A wave eᵖᶻ has p² = σ with

    σ₁ = -(λ(r²+s²)/2 + R),   σ₂ = λ(1 - λr²s²)/|σ₁|,   R² = λ + d²,   d = λ(s²-r²)/2;

σ₂ changes sign at the cut-off λ = 1/(r²s²). Wherever u = f(z) is such a wave, M = (σ + s²λ) f, and
σ₁ + s²λ = d - R, σ₂ + s²λ = d + R are computed without cancellation. Three bases, each used where it is well
conditioned: the Taylor series of exp(A z) for long waves, {cos, sin} with {e⁻ᵖᶻ, e⁻ᵖ⁽¹⁻ᶻ⁾} for short ones (the
usual sinh/cosh forms fail near mode 10), and {cos, sin} with {C, S} (entire functions of σ₂) around and above
the cut-off. The determinant of the four fields at one place is positive in all three bases, so that a determinant of
end conditions keeps its sign from one basis to the next.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray

Numbers = TypeVar("Numbers", FloatArray, ComplexArray)

# Wave numbers up to which the Taylor series is used: its terms stay below e^2.5, so that at most a digit is lost.
LONG_WAVE = 2.5
TERMS = 40  # 2.5⁴⁰/40! < 1e-31


def roots(lam: FloatArray, r2: float, s2: float) -> tuple[FloatArray, FloatArray]:
    """σ₁ < 0 and σ₂ (2, ...), and the ratios M/u of both waves (2, ...), at λ ≥ 0 of shape (...)."""
    d = 0.5 * lam * (s2 - r2)
    R = np.sqrt(lam + d * d)
    sigma1 = -(0.5 * lam * (r2 + s2) + R)
    sigma2 = np.divide(lam * (lam * r2 * s2 - 1.0), sigma1, out=np.zeros_like(R), where=sigma1 != 0.0)
    far = np.abs(d) + R
    near = np.divide(lam, far, out=np.zeros_like(R), where=far != 0.0)  # R - |d| without cancellation
    ratios = np.where(d > 0.0, [-near, far], [-far, near])
    return np.stack([sigma1, sigma2]), ratios


def system_matrix(lam: Numbers, r2: float, s2: float) -> Numbers:
    """A of y′ = A y, y = (u, φ, M, V); (..., 4, 4) for λ of shape (...), real or complex."""
    A = np.zeros((*np.shape(lam), 4, 4), dtype=np.asarray(lam).dtype)
    A[..., 0, 1], A[..., 0, 3] = 1.0, s2
    A[..., 1, 2] = 1.0
    A[..., 2, 1], A[..., 2, 3] = -lam * r2, -1.0
    A[..., 3, 0] = -lam
    return A


def taylor(lam: Numbers, r2: float, s2: float, z: FloatArray) -> Numbers:
    """exp(A z), (..., 4, 4, nz), for wave numbers times z up to about LONG_WAVE."""
    A: Any = system_matrix(lam, r2, s2)
    powers = [np.broadcast_to(np.eye(4), A.shape)]
    for k in range(1, TERMS):
        powers.append(powers[-1] @ A / k)
    total: Any = np.zeros((*A.shape, len(z)), dtype=A.dtype)
    for power in reversed(powers):  # Horner
        total = total * z + power[..., None]
    found: Numbers = total
    return found


def oscillation(lam: FloatArray, sigma: FloatArray, ratio: FloatArray, z: FloatArray) -> FloatArray:
    """u = C and its derivative, (..., 4 fields, 2, nz); C = cosh √σ z, S = ∫C, entire in σ; derivative scaled down."""
    wave = np.sqrt(np.abs(sigma))[..., None]
    phase = wave * z
    grows = (sigma > 0.0)[..., None]
    C = np.where(grows, np.cosh(np.where(grows, phase, 0.0)), np.cos(phase))
    odd = np.where(grows, np.sinh(np.where(grows, phase, 0.0)), np.sin(phase))
    S = np.divide(odd, wave, out=np.broadcast_to(z, phase.shape).copy(), where=wave > 0.0)
    lam, sigma, ratio = lam[..., None], sigma[..., None], ratio[..., None]
    scale = np.maximum(wave, 1.0)
    first = np.stack([C, ratio * S, ratio * C, -lam * S], axis=-2)
    second = np.stack([sigma * S / scale, ratio * C / scale, ratio * sigma * S / scale, -lam * C / scale], axis=-2)
    return np.stack([first, second], axis=-2)


def exponentials(lam: FloatArray, sigma: FloatArray, ratio: FloatArray, z: FloatArray) -> FloatArray:
    """The waves e⁻ᵖᶻ and e⁻ᵖ⁽¹⁻ᶻ⁾, p² = σ > 0, (..., 4 fields, 2, nz)."""
    p = np.sqrt(sigma)
    one = np.ones_like(p)
    falling = np.stack([one, -ratio / p, ratio, lam / p], axis=-1)[..., None]
    rising = np.stack([one, ratio / p, ratio, -lam / p], axis=-1)[..., None]
    p = p[..., None, None]
    return np.stack([falling * np.exp(-p * z), rising * np.exp(-p * (1.0 - z))], axis=-2)


def fields(lam: FloatArray, r2: float, s2: float, z: FloatArray) -> FloatArray:
    """u, φ, M, V of four independent solutions at each λ (m,) and place z (nz,) in [0, 1]: (m, 4 fields, 4, nz)."""
    sigma, ratio = roots(lam, r2, s2)
    out = np.empty((len(lam), 4, 4, len(z)))
    long = np.sqrt(np.abs(sigma).max(axis=0)) <= LONG_WAVE
    decays = ~long & (sigma[1] >= 1.0)
    turns = ~long & ~decays
    if long.any():
        out[long] = taylor(lam[long], r2, s2, z)
    for some, second in ((decays, exponentials), (turns, oscillation)):
        if some.any():
            out[some, :, :2] = oscillation(lam[some], sigma[0, some], ratio[0, some], z)
            out[some, :, 2:] = second(lam[some], sigma[1, some], ratio[1, some], z)
    return out


def shortest(lam: FloatArray, r2: float, s2: float) -> FloatArray:
    """Largest wave number [rad per length of the beam] at each λ."""
    largest: FloatArray = np.sqrt(np.abs(roots(lam, r2, s2)[0]).max(axis=0))
    return largest


class Waves:
    """Four independent solutions at one λ; ``fields(z)`` gives (4 fields, 4 solutions, nz)."""

    def __init__(self, lam: float, r2: float, s2: float) -> None:
        self.lam, self.r2, self.s2 = lam, r2, s2
        self.longest = float(shortest(np.array([lam]), r2, s2)[0])

    def fields(self, z: FloatArray) -> FloatArray:
        """(4, 4, nz) values of u, φ, M, V (first axis) of the four solutions (second) at z (nz,) in [0, 1]."""
        values: FloatArray = fields(np.array([self.lam]), self.r2, self.s2, z)[0]
        return values
