"""Least squares of a chain of states that share parameters, by orthogonal elimination.

    minimise  Σⱼ ‖Jⱼ sⱼ + Lⱼ ϑ + rⱼ‖²  +  w² Σⱼ ‖Gⱼ sⱼ + Hⱼ ϑ - sⱼ₊₁ + cⱼ‖²  +  μ (Σⱼ ‖dⱼ ∘ sⱼ‖² + ‖d ∘ ϑ‖²)

sⱼ leaves the problem in order of j: a QR of its rows gives Rⱼ sⱼ + Sⱼ sⱼ₊₁ + Tⱼ ϑ + ρⱼ and rows without it, which go
on to sⱼ₊₁. No product of the Gⱼ is ever formed, so a chain that forgets or multiplies its start is solved as well as a
quiet one. The remainder at the end, R ϑ + ρ, is the square root of the information on ϑ with all states free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.typing import NDArray

from dalembert.core.arrays import FloatArray as Array


@dataclass(frozen=True)
class Chain:
    """The linear problem.

    ``data`` : (S, k, n + m + 1), rows [J L r], compressed or not; ``links`` : (S, n, n + m + 1), rows [G H c] from
    state j to j + 1; ``linked`` : (S,) bool, whether j + 1 continues j.
    """

    data: Array
    links: Array
    linked: NDArray[np.bool_]
    states: int
    parameters: int


@dataclass(frozen=True)
class Reduced:
    """Rows kept of every state (upper triangular in it), and the square root R (m, m), ρ (m,) of the parameters."""

    rows: list[Array]
    R: Array
    rho: Array
    left: float


def compress(rows: Array) -> Array:
    """Rows [J L r] of every segment, (S, k, c) -> (S, ≤ c, c), the same least squares."""
    if rows.shape[1] <= rows.shape[2]:
        return rows
    return triangularise(rows)


def triangularise(rows: Array) -> Array:
    """R of a QR factorization, of one matrix or of many."""
    factor: Any = np.linalg.qr(rows, mode="r")
    return np.asarray(factor)


def reduce(chain: Chain, weight: float, damping: float, scale_states: Array, scale_parameters: Array) -> Reduced:
    """Eliminate all states; ``scale_states`` (S, n), ``scale_parameters`` (m,): d of the damping."""
    n, m = chain.states, chain.parameters
    count = len(chain.data)
    kept: list[Array] = []
    carried = np.zeros((0, n + m + 1))  # rows on (s_j, ϑ, 1)
    alone = np.zeros((m, m + 1))  # rows on (ϑ, 1)
    alone[:, :m] = np.sqrt(damping) * np.diag(scale_parameters)
    for j in range(count):
        follows = bool(chain.linked[j])
        own = np.zeros((n, n + m + 1))
        own[:, :n] = np.sqrt(damping) * np.diag(scale_states[j])
        here = np.vstack((carried, chain.data[j], own))
        if follows:
            # heavy rows first: Householder's method is then safe however large the weight
            link = weight * chain.links[j]
            block = np.zeros((n + len(here), 2 * n + m + 1))
            block[:n, :n], block[:n, 2 * n :] = link[:, :n], link[:, n:]
            block[:n, n : 2 * n] = -weight * np.eye(n)
            block[n:, :n], block[n:, 2 * n :] = here[:, :n], here[:, n:]
            R = triangularise(block)
            kept.append(R[:n])
            carried = R[n:, n:]
        else:
            R = triangularise(here)
            kept.append(R[:n])
            alone = np.vstack((alone, R[n:, n:]))
            carried = np.zeros((0, n + m + 1))
        if len(alone) > 4 * (m + 1):
            alone = triangularise(alone)
    final = np.zeros((m + 1, m + 1))
    R = triangularise(alone)
    final[: len(R)] = R
    return Reduced(kept, final[:m, :m], final[:m, m], float(final[m, m] ** 2))


def solve(chain: Chain, reduced: Reduced, low: Array, high: Array) -> tuple[Array, Array, float]:
    """States (S, n), parameters (m,) within [low, high], and the least sum of squares."""
    n, m = chain.states, chain.parameters
    theta = solve_bounded(reduced.R, reduced.rho, low, high)
    states = np.zeros((len(chain.data), n))
    following = np.zeros(n)
    for j in range(len(chain.data) - 1, -1, -1):
        rows = reduced.rows[j]
        right = -(rows[:, -1] + rows[:, -1 - m : -1] @ theta)
        if chain.linked[j]:
            right = right - rows[:, n : 2 * n] @ following
        following = scipy.linalg.solve_triangular(rows[:, :n], right) if n else following
        states[j] = following
    left = reduced.R @ theta + reduced.rho
    return states, theta, reduced.left + float(left @ left)


def predict(chain: Chain, states: Array, theta: Array) -> tuple[float, Array]:
    """Sum of squares of the data and gaps (S, n), by the linear problem, after a step."""
    n = chain.states
    step = np.hstack((states, np.tile(np.append(theta, 1.0), (len(states), 1))))
    r = np.einsum("jki,ji->jk", chain.data, step)
    gaps = np.einsum("jki,ji->jk", chain.links, step)
    gaps[:-1] -= states[1:, :n]
    gaps[~chain.linked] = 0.0
    return float((r * r).sum()), gaps


def solve_bounded(R: Array, rho: Array, low: Array, high: Array, optimal: float = 1e-14) -> Array:
    """ϑ of least ‖R ϑ + ρ‖ within bounds.

    optimal : relative change of the sum of squares that ends a search within bounds: 45 units of rounding.
    """
    if not len(rho):
        return np.zeros(0)
    free = np.linalg.lstsq(R, -rho, rcond=None)[0]
    if (free >= low).all() and (free <= high).all():
        return np.asarray(free)
    wide = high > low
    theta = np.where(wide, 0.0, low)
    if wide.any():
        found = scipy.optimize.lsq_linear(
            R[:, wide], -(rho + R @ theta), bounds=(low[wide], high[wide]), method="bvls", tol=optimal
        )
        theta[wide] = np.clip(found.x, low[wide], high[wide])
    return np.asarray(theta)
