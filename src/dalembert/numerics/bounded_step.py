"""The minimum of a convex quadratic function within linear bounds, from a point that satisfies them.

    minimise ½ yᵀ H y + gᵀ y    subject to    C y ≤ d ,  d ≥ 0        (H positive definite; y = 0 is allowed)

A set of active bounds is kept as equalities; a step to their minimum stops at the first bound that it meets, which
joins the set, and a bound with a negative multiplier leaves it (Nocedal and Wright 2006, algorithm 16.3). A bound that
the active ones imply (limits of two joints that a gear couples) is met by rounding alone and does not join.
"""

from __future__ import annotations

import numpy as np

from dalembert.core.arrays import FloatArray


def bounded_minimum(
    H: FloatArray, g: FloatArray, C: FloatArray, d: FloatArray, rounding: float = 1e-13
) -> tuple[FloatArray, list[int]]:
    """y and the numbers of the bounds that are active there.

    rounding : of a step or a multiplier, relative to its size: five hundred units of rounding.
    """
    n, m = len(g), len(d)
    y: FloatArray = np.asarray(np.linalg.solve(H, -g), dtype=np.float64)
    if not m or (C @ y <= d).all():
        return y, []
    inverse = np.linalg.inv(H)
    away = inverse @ C.T  # H⁻¹ Cᵀ
    across = C @ away
    scale = float(np.abs(g).max())
    active: list[int] = []
    y = np.zeros(n)
    for _ in range(4 * (n + m)):  # a bound joins or leaves at each pass; few do so twice
        p = -(inverse @ g) - y
        multipliers: FloatArray = np.zeros(0)
        if active:  # C p = 0 on the active bounds
            multipliers = np.asarray(np.linalg.solve(across[np.ix_(active, active)], C[active] @ p), dtype=np.float64)
            p = p - away[:, active] @ multipliers
        first, share = None, 1.0
        if np.abs(p).max() > rounding * (1.0 + float(np.abs(y).max())):
            first, share = _first_met(C, C @ p, d - C @ y, active)
            y = y + share * p
        if first is not None:
            active.append(first)
        elif not active or multipliers.min() >= -rounding * (1.0 + scale):  # at the minimum along the active bounds
            break
        else:
            active.pop(int(np.argmin(multipliers)))
    return y, active


def _first_met(C: FloatArray, along: FloatArray, room: FloatArray, active: list[int]) -> tuple[int | None, float]:
    """The bound that a step meets first, and the share of the step up to there; None where it meets no bound."""
    along[active] = 0.0
    ahead = np.flatnonzero(along > 0.0)
    shares = room[ahead] / along[ahead]
    for k in np.argsort(shares):
        if shares[k] >= 1.0:
            break
        if not _is_implied(C, active, int(ahead[k])):
            return int(ahead[k]), max(float(shares[k]), 0.0)
    return None, 1.0


def _is_implied(C: FloatArray, active: list[int], row: int, implied: float = 1e-9) -> bool:
    """Whether a row is a combination of the active ones.

    implied : length of a row without its part along the active ones, relative: between rounding and a bound.
    """
    if not active:
        return False
    known, new = C[active], C[row]
    rest = new - known.T @ np.linalg.lstsq(known.T, new, rcond=None)[0]
    return bool(np.linalg.norm(rest) <= implied * np.linalg.norm(new))
