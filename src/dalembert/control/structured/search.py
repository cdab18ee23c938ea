"""Quasi-Newton descent of a function that is smooth nearly everywhere: BFGS with a weak Wolfe line search by bisection.

A step t satisfies f(x + t d) ≤ f + c₁ t g'd and g(x + t d)'d ≥ c₂ g'd. Such steps exist wherever the function is
locally Lipschitz, and the method converges to points without descent in practice (Lewis and Overton 2013).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.core.arrays import FloatArray

Function = Callable[[FloatArray], tuple[float, FloatArray]]


def descend(
    f: Function, x: FloatArray, *, steps: int, done: Callable[[float], bool], flat: float = 1e-9, back: int = 10
) -> tuple[FloatArray, float]:
    """Minimise from x; `done` ends at a value, ``flat`` where ``back`` steps gain less than this share of it."""
    value, gradient = f(x)
    H = np.eye(len(x))
    history = [value]
    for count in range(steps):
        direction = -H @ gradient
        slope = float(gradient @ direction)
        if slope >= 0.0:
            H, direction = np.eye(len(x)), -gradient
            slope = float(gradient @ direction)
        if slope == 0.0 or done(value):
            break
        if count == 0:
            size = float(np.linalg.norm(direction))
            direction, slope = direction / size, slope / size
        step = _line_search(f, x, value, direction, slope)
        if step is None:
            break
        t, new, g = step
        s, y = t * direction, g - gradient
        curvature = float(s @ y)
        if curvature > 0.0:
            if count == 0:
                H *= curvature / float(y @ y)
            rho = 1.0 / curvature
            Hy = H @ y
            H += rho * (1.0 + rho * float(y @ Hy)) * np.outer(s, s) - rho * (np.outer(Hy, s) + np.outer(s, Hy))
        x, value, gradient = x + s, new, g
        history.append(value)
        if len(history) > back and history[-1 - back] - value <= flat * abs(value):
            break
    return x, value


def _line_search(
    f: Function, x: FloatArray, value: float, direction: FloatArray, slope: float, c1: float = 1e-4, c2: float = 0.5,
    rounds: int = 30,
) -> tuple[float, float, FloatArray] | None:  # fmt: skip
    low, high, t = 0.0, np.inf, 1.0
    lower: tuple[float, float, FloatArray] | None = None
    for _ in range(rounds):
        new, g = f(x + t * direction)
        if not new <= value + c1 * t * slope:
            high = t
        elif float(g @ direction) < c2 * slope:
            low, lower = t, (t, new, g)
        else:
            return t, new, g
        t = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low
    return lower
