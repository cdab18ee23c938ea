"""The fastest motion along a given path, by reachability (Pham and Pham 2018).

With x = ṡ² and u = s̈ every limit along a path q(s) is a half-plane a u + b x ≤ c, since x' = 2 u. On a grid of s

    K(N) = {0} ,   K(i) = {x : the limits at s_i hold for some u with x + 2 Δ u in K(i+1)}     backward, to stop in time
    u_i = the largest u that the limits and K(i+1) allow                                       forward, as fast as that

The limits hold at both ends of every interval, over which u is constant. With one unknown to eliminate, a set is found
from pairs of rows (Fourier and Motzkin): no linear program is called.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray


@dataclass(frozen=True)
class PathTiming:
    """x = ṡ² at the grid and u = s̈ between; `stuck` is the place in the grid that no motion can pass, or -1."""

    s: FloatArray
    x: FloatArray
    u: FloatArray
    stuck: int = -1

    @property
    def times(self) -> FloatArray:
        """Time at every place of the grid; s̈ is constant in between."""
        speed = np.sqrt(self.x)
        with np.errstate(divide="ignore"):
            return np.concatenate(([0.0], np.cumsum(2 * np.diff(self.s) / (speed[:-1] + speed[1:]))))


def fastest_timing(s: FloatArray, a: FloatArray, b: FloatArray, c: FloatArray, most: FloatArray) -> PathTiming:
    """From rest to rest in the shortest time.

    Parameters
    ----------
    s : (n,) increasing.  a, b, c : (n, m) limits a u + b x ≤ c at each place.  most : (n,) largest x, may be infinite.
    """
    count = len(s)
    low, high = np.zeros(count), np.zeros(count)
    size = np.maximum(np.abs(c).max(axis=0, initial=0.0), 1e-300)
    a, b, c = a / size, b / size, c / size
    none = PathTiming(s, np.zeros(count), np.zeros(count - 1))
    for i in range(count - 2, -1, -1):
        found = _range_of_x(*_interval_rows(s, a, b, c, i, low[i + 1], high[i + 1]), float(most[i]))
        if found is None:
            return PathTiming(s, none.x, none.u, i)
        low[i], high[i] = found
    if low[0] > 0.0:
        return PathTiming(s, none.x, none.u, 0)
    x, u = np.zeros(count), np.zeros(count - 1)
    for i in range(count - 1):
        alpha, beta, gamma = _interval_rows(s, a, b, c, i, low[i + 1], high[i + 1])
        rising = alpha > 0.0
        u[i] = ((gamma - beta * x[i])[rising] / alpha[rising]).min()
        x[i + 1] = min(max(x[i] + 2 * (s[i + 1] - s[i]) * u[i], low[i + 1]), high[i + 1])
        u[i] = (x[i + 1] - x[i]) / (2 * (s[i + 1] - s[i]))
        if x[i] <= 0.0 and x[i + 1] <= 0.0:
            return PathTiming(s, x, u, i)
    return PathTiming(s, x, u)


def _interval_rows(
    s: FloatArray, a: FloatArray, b: FloatArray, c: FloatArray, i: int, low: float, high: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """α u + β x ≤ γ of one interval: limits at both its ends, and the set to arrive in."""
    twice = 2 * (s[i + 1] - s[i])
    alpha = np.concatenate((a[i], a[i + 1] + twice * b[i + 1], (twice, -twice)))
    beta = np.concatenate((b[i], b[i + 1], (1.0, -1.0)))
    return alpha, beta, np.concatenate((c[i], c[i + 1], (high, -low)))


def _range_of_x(
    alpha: FloatArray, beta: FloatArray, gamma: FloatArray, most: float, slack: float = 1e-12
) -> tuple[float, float] | None:
    """All x for which some u satisfies α u + β x ≤ γ: every pair of an upper and a lower bound of u is a row of x.

    slack : rows are scaled to right sides of about one, so this is a pure number: a hundred roundings of a row with ten
    terms.
    """
    up, down = alpha > 0.0, alpha < 0.0
    flat = ~(up | down)
    slope = (np.outer(alpha[up], beta[down]) - np.outer(beta[up], alpha[down])).ravel()
    right = (np.outer(alpha[up], gamma[down]) - np.outer(gamma[up], alpha[down])).ravel()
    slope, right = np.concatenate((slope, beta[flat])), np.concatenate((right, gamma[flat]))
    rounding = slack * np.maximum(np.abs(slope), 1.0)
    upper, lower = slope > rounding, slope < -rounding
    level = ~(upper | lower)
    if (right[level] < -slack).any():
        return None
    high = min(most, float((right[upper] / slope[upper]).min(initial=np.inf)))
    low = max(0.0, float((right[lower] / slope[lower]).max(initial=-np.inf)))
    if low > high + slack * max(1.0, high):
        return None
    return min(low, high), high
