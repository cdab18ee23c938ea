"""Stable minimum-phase systems of given magnitude, by linear programs (Boyd and Vandenberghe 2004, section 4.3).

|W(jω)|² = N(x) / D(x) with polynomials of x = (ω² - c²)/(ω² + c²), which is in [-1, 1]. For a factor t the bounds
m² D ≤ N ≤ t² m² D (above m) or m² D / t² ≤ N ≤ t² m² D (around it) are linear in the coefficients, so the least t is
found by bisection, to the global optimum. Roots of N and D in the left half-plane are zeros and poles of W.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy.optimize
from numpy.polynomial import chebyshev

from dalembert.core.arrays import AnyArray, ComplexArray, FloatArray
from dalembert.core.errors import ConvergenceError
from dalembert.linear import StateSpace


def fit_magnitude(
    frequencies: FloatArray,
    magnitudes: FloatArray,
    order: int,
    *,
    above: bool = False,
    weights: FloatArray | None = None,
    least: float = 1e-3,
    steps: int = 18,
    accuracy: float = 1e-3,
    widest: float = 20.0,
) -> tuple[StateSpace, float]:
    """A system of this order and the factor t to which it fits.

    frequencies : (n,) [rad/s], finite.  magnitudes : (n,), from ``least`` of the largest on; smaller ones are raised.
    above : at or above all magnitudes, instead of around them.
    accuracy : relative, of ln t.  widest : largest ln t that is tried.
    weights : (n,) up to 1: the factor may be t^(1/weight) there.
    """
    inside = frequencies[frequencies > 0.0]
    c = math.exp(float(np.mean(np.log(inside)))) if len(inside) else 1.0
    level = float(magnitudes.max()) or 1.0
    m = np.maximum(magnitudes / level, least) ** 2
    x = (frequencies**2 - c**2) / (frequencies**2 + c**2)
    exponents = 2.0 / np.ones(len(m)) if weights is None else 2.0 / np.maximum(weights, 1e-2)
    basis = chebyshev.chebvander(x, order)
    between = chebyshev.chebvander(np.cos(np.linspace(0.0, np.pi, 20 * (order + 1))), order)
    low, high = 0.0, math.log(4.0)
    best: tuple[float, FloatArray] | None = None
    while best is None and high < widest:
        solved = _solve(basis, between, m, np.exp(high * exponents), above)
        best, high = (None if solved is None else (high, solved)), (high if solved is not None else 2.0 * high)
    if best is None:
        raise ConvergenceError("no-solution", f"no magnitude of order {order} follows the {len(m)} values.")
    for _ in range(steps):
        middle = 0.5 * (low + best[0])
        solved = _solve(basis, between, m, np.exp(middle * exponents), above)
        if solved is None:
            low = middle
        else:
            best = middle, solved
        if best[0] - low < accuracy * (best[0] + accuracy):
            break
    numerator, denominator = best[1][: order + 1], best[1][order + 1 :]
    infinite = float(numerator.sum() / denominator.sum())  # x = 1; bounds hold to the tolerance of the program
    gain = level * math.sqrt(max(infinite, 0.01 * float(m.min())))
    return _cascade(_roots(numerator, c, order), _roots(denominator, c, order), gain), math.exp(best[0])


def _solve(
    basis: AnyArray, between: AnyArray, m: FloatArray, factor: FloatArray, above: bool, lowest: float = 0.1
) -> FloatArray | None:
    """Coefficients of N and D, or None where there are none for this factor.

    lowest : share of the smallest magnitude, below which the system nowhere falls: it has an inverse.
    """
    lower = 1.0 if above else 1.0 / factor
    rows = np.vstack([
        np.hstack([-basis / m[:, None], basis * np.reshape(lower, (-1, 1))]),
        np.hstack([basis / m[:, None], -basis * factor[:, None]]),
        np.hstack([np.zeros_like(between), -between]),
        np.hstack([-between, lowest**2 * float(m.min()) * between]),
    ])  # fmt: skip
    limits = np.concatenate([np.zeros(2 * len(m)), -np.ones(len(between)), np.zeros(len(between))])
    size = np.abs(rows).max(axis=1)
    cost = np.concatenate([np.zeros(basis.shape[1]), between.sum(axis=0)])
    solved = scipy.optimize.linprog(cost, rows / size[:, None], limits / size, bounds=(None, None), method="highs")
    return np.asarray(solved.x) if solved.status == 0 else None


def _roots(coefficients: FloatArray, c: float, order: int) -> ComplexArray:
    """Roots in s of the left half-plane; those at infinite x are -c."""
    x = np.asarray(chebyshev.chebroots(coefficients), dtype=complex) if order else np.zeros(0, complex)
    squares = -(c**2) * (1.0 + x) / np.where(x == 1.0, 1e-16, 1.0 - x)
    roots = -np.sqrt(squares)
    roots = np.where(roots.real > 0.0, -roots, roots)
    alone = (x.imag == 0.0) & (squares.real < 0.0)  # a magnitude that touches zero on the axis
    roots = np.where(alone, -np.abs(roots), roots)
    return np.concatenate([roots, np.full(order - len(roots), -c + 0j)])


def _cascade(zeros: ComplexArray, poles: ComplexArray, gain: float) -> StateSpace:
    """Sections of first and second order, slow ones first."""
    system = StateSpace.gain([[gain]])
    for z, p in zip(_sections(zeros), _sections(poles), strict=True):
        b, a = np.real(np.poly(z)), np.real(np.poly(p))
        n = len(p)
        A = np.vstack([-a[1:], np.eye(n)[: n - 1]])
        system = StateSpace(A, np.eye(n)[:, :1], (b[1:] - a[1:])[None], [[1.0]]) * system
    return system


def _sections(roots: ComplexArray, real: float = 1e-9) -> list[Sequence[complex]]:
    """Two roots each, pairs together; of an odd number one alone at last. real : imaginary part that is rounding."""
    pairs = sorted((r for r in roots if r.imag > real * abs(r)), key=abs)
    single = sorted((r.real for r in roots if abs(r.imag) <= real * abs(r)), key=abs)
    sections: list[Sequence[complex]] = [(r, r.conjugate()) for r in pairs]
    sections += [single[k : k + 2] for k in range(0, len(single), 2)]
    return sorted(sections, key=lambda each: (-len(each), abs(each[0])))
