"""Simply supported Timoshenko beam in closed form (Timoshenko 1921).

With x = (iπ/α)², α = l √(A/I) the slenderness, χ* = χ E/G and W = (ω/ω_i*)² the squared ratio to Euler-Bernoulli,
ω_i* = (iπ/l)² √(EI/ρA):

    χ* x² W² - (1 + x (1 + χ*)) W + 1 = 0.

The lower root is the bending branch, the upper one the shear branch; both have u = sin(iπz/l). i = 0 is the thickness
shear ω = √(GA/(χ ρI)), all sections turning alike (a discretised model contains all three). The lower root
is computed as 2/(b + √(b² - 4χ*x²)), and b² - 4χ*x² as the sum of squares it is, so that nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, ModelError
from dalembert.structures.continuous.beams import Beam


@dataclass(frozen=True)
class SupportedBranches:
    """Frequencies [rad/s] of a simply supported beam: modes i = 1 ... of both branches, and thickness shear (i = 0)."""

    bending: FloatArray
    shear: FloatArray
    thickness_shear: float
    euler_bernoulli: FloatArray


def supported_ratios(
    slenderness: ArrayLike, mode: ArrayLike, shear: float, *, rotary: bool = True
) -> tuple[FloatArray, FloatArray]:
    """ω/ω* of the bending and of the shear branch; depends on α/i only.

    Parameters
    ----------
    slenderness, mode : α and i; arrays are broadcast
    shear : float
        χ* = χ E/G; 0 leaves shear out (then there is no shear branch: inf).
    rotary : bool
        False leaves rotary inertia out (no shear branch either).

    Examples
    --------
    >>> lower, upper = supported_ratios(50.0, 1, 44 / 15)
    >>> float(lower.round(5)), float(upper.round(4))
    (0.99235, 149.0376)
    """
    alpha, i = np.asarray(slenderness, dtype=np.float64), np.asarray(mode, dtype=np.float64)
    if not ((alpha > 0.0).all() and (i > 0.0).all() and shear >= 0.0):
        raise DataError(
            "not-positive", "slenderness and mode number must be positive, the shear number χE/G not negative."
        )
    x = (i * np.pi / alpha) ** 2
    if not rotary or shear == 0.0:
        lower = 1.0 / np.sqrt(1.0 + x * (shear + (1.0 if rotary else 0.0)))
        return lower, np.full_like(lower, np.inf)
    b = 1.0 + x * (1.0 + shear)
    root = np.sqrt((1.0 + x - shear * x) ** 2 + 4.0 * shear * x)
    return np.sqrt(2.0 / (b + root)), np.sqrt((b + root) / (2.0 * shear * x**2))


def supported_branches(beam: Beam, count: int = 5) -> SupportedBranches:
    """Closed form for a beam supported at both ends, of any theory; the judge of ``beam.frequencies``.

    Examples
    --------
    >>> beam = Beam(1.0, EI=1.0, rhoA=1.0, rhoI=1e-4, GA=3e3, left="supported", right="supported", theory="timoshenko")
    >>> supported_branches(beam, 2).bending.round(5).tolist()
    [9.84858, 39.14599]
    """
    for end in (beam.left, beam.right):
        if not (np.isinf(end.spring) and end.rotational_spring == 0.0 and end.inertia == 0.0):
            raise ModelError(
                "not-supported",
                f"the closed form is for supported ends without spring and inertia; got {end.text()!r}.",
            )
    i = np.arange(1, whole_number("count", count, 1) + 1)
    euler = (i * np.pi / beam.length) ** 2 * np.sqrt(beam.EI / beam.rhoA)
    bend = beam.EI / (beam.GA * beam.length**2)  # s²; r² = ρI/(ρA l²); χ* = s²/r², x = (iπ)² r²
    turn = beam.rhoI / (beam.rhoA * beam.length**2)
    if turn == 0.0:
        lower = 1.0 / np.sqrt(1.0 + (i * np.pi) ** 2 * bend)
        upper, thickness = np.full(len(i), np.inf), np.inf
    else:
        lower, upper = supported_ratios(1.0 / np.sqrt(turn), i, bend / turn)
        thickness = float(np.sqrt(beam.GA / beam.rhoI))
    return SupportedBranches(lower * euler, upper * euler, thickness, euler)
