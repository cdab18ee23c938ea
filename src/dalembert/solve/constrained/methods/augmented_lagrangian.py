"""Penalty and augmented Lagrangian (Bayo, García de Jalón and Serna 1988).

(M + α AᵀA) v̇ = f + Aᵀ(α b + λ) , λ ← λ + α (b - A v̇) ; the first pass is the penalty.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from dalembert.core.arrays import FloatArray as Array
from dalembert.core.errors import ConvergenceError, ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.solve.constrained.matrices import (
    NEGATIVE,
    multipliers,
    realizability,
    scales,
)

PENALTY = 1e7  # of the augmented Lagrangian, in units where M has a unit diagonal and rows have unit length
PENALTY_ITERATIONS = 60
PENALTY_TOLERANCE = 1e-11  # last change of v̇ and λ, relative


def augmented_lagrangian(
    M: Array,
    f: Array,
    A: Array,
    b: Array,
    *,
    penalty: float = PENALTY,
    tolerance: float = PENALTY_TOLERANCE,
    iterations: int = PENALTY_ITERATIONS,
) -> tuple[Array, Array]:
    """(v̇, λ) by penalty and multiplier updates, to convergence.

    Written in corrections of v̇ and λ, so that a large penalty costs no digits. ConvergenceError when the last change
    stays above `tolerance`; that happens near a singular pose, where the other methods decide the rank.
    """
    change = np.inf
    for acceleration, lam, change in itertools.islice(_passes(M, f, A, b, penalty), iterations):
        if change <= tolerance:
            return acceleration, multipliers(A, lam)
    raise ConvergenceError(
        "no-convergence",
        f"the augmented Lagrangian did not settle in {iterations} iterations (last change {change:.1e}, "
        f"wanted {tolerance:.0e}). The pose is near singular.",
        Advice("Use {}, or a larger penalty.", Argument("method", "udwadia_kalaba")),
    )


def penalise(M: Array, f: Array, A: Array, b: Array, *, penalty: float = PENALTY) -> tuple[Array, Array]:
    """(v̇, λ) by the penalty alone: (M + α AᵀA) v̇ = f + α Aᵀb , λ = α (b - A v̇); rows are met up to about 1/α."""
    acceleration, lam, _ = next(_passes(M, f, A, b, penalty))
    return acceleration, multipliers(A, lam)


def _passes(M: Array, f: Array, A: Array, b: Array, penalty: float) -> Iterator[tuple[Array, Array, float]]:
    """(v̇, λ, last change) of every pass of the augmented Lagrangian."""
    d, r = scales(M, A)
    Ms, As = M * np.outer(d, d), (A * d) * r[:, None]
    fs, bs = f * d, b * r
    try:
        factor = cholesky(Ms + penalty * (As.T @ As), lower=True)
    except np.linalg.LinAlgError:
        realizability(M, A)
        raise ModelError("not-positive-definite", NEGATIVE) from None
    y, mu = np.zeros(len(d)), np.zeros(len(r))
    while True:
        gap = bs - As @ y
        right = fs + As.T @ (mu + penalty * gap) - Ms @ y
        step = solve_triangular(factor, solve_triangular(factor, right, lower=True), lower=True, trans="T")
        push = penalty * (gap - As @ step)
        y, mu = y + step, mu + push
        size = max(_largest(y), _largest(Ms @ y), _largest(fs))
        yield d * y, r * mu, max(_largest(step), _largest(As.T @ push)) / (size or 1.0)


def _largest(x: Any) -> float:
    return float(np.abs(x).max(initial=0.0))
