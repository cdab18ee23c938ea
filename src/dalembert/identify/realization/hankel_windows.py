"""How large a Hankel matrix of Markov parameters is made, and what they reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.core.errors import DataError
from dalembert.identify.realization.okid import ObserverMarkov

# Largest side of a matrix that is decomposed without being told to: a second or so.
LARGEST_SIDE = 900
# Block rows that weakly damped modes want whatever the observer.
LEAST_ROWS = 100


def window(
    count: int | None, ny: int, nw: int, order: int | None, rows: int | None, columns: int | None,
    dc: tuple[int, int, int | None] | None, observer: ObserverMarkov | None,
) -> tuple[int, int, tuple[int, int, int] | None]:  # fmt: skip
    """Block rows and columns, and (γ, δ, τ) or None; refuses what the Markov parameters do not reach."""
    spread = 1 if dc is None else max(dc[0], dc[1]) + 1
    a, b = default_window(count, ny, nw, order, observer, spread) if rows is None or columns is None else (1, 1)
    a = a if rows is None else whole("rows", rows, 1)
    b = b if columns is None else whole("columns", columns, 1)
    if count is not None and rows is None and dc is not None and dc[2] is None:
        a = max(1, min(a, count // (2 + dc[0] + dc[1])))
    lags = None if dc is None else (dc[0], dc[1], a if dc[2] is None else dc[2])
    beyond = 0 if lags is None else (lags[0] + lags[1]) * lags[2]
    if count is not None:
        if columns is None:
            b = min(b, count - a - beyond)
        if b < 1 or a + b + beyond > count:
            raise DataError(
                f"{a} block rows and {max(b, 1)} block columns need {a + max(b, 1) + beyond} Markov parameters besides "
                f"Y_0; there are {count}. Use smaller rows, columns{' or tau, gamma, delta' if lags else ''}."
            )
    if order is not None and order > min(a * ny, b * nw):
        raise DataError(
            f"order {order} is more than a Hankel matrix of {a} x {b} blocks ({a * ny} x {b * nw}) can hold. "
            "Use more rows and columns, or a lower order."
        )
    return a, b, lags


def default_window(
    count: int | None, ny: int, nw: int, order: int | None, observer: ObserverMarkov | None, spread: int
) -> tuple[int, int]:
    """Block rows and columns that suit the Markov parameters at hand."""
    side = LARGEST_SIDE // spread
    if count is not None:
        a = max(min((count + 1) // 2, side // ny, max(LEAST_ROWS, -(-2 * (order or 0) // ny))), 1)
        return a, max(min(count - a, max(2 * a, -(-2 * (order or 0) // nw)), LARGEST_SIDE // nw), 1)
    assert observer is not None
    need = 0 if order is None else order
    a = max(observer.order, -(-2 * need // ny), LEAST_ROWS)
    b = max(2 * a, -(-2 * need // nw))
    return max(min(a, side // ny), 1), max(min(b, LARGEST_SIDE // nw), 1)


def lags_of(gamma: int, delta: int, tau: int | None) -> tuple[int, int, int | None]:
    lag = None if tau is None else whole("tau", tau, 1)
    return whole("gamma", gamma, 0), whole("delta", delta, 0), lag


def whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise DataError(f"{name} must be a whole number from {least} on, got {value!r}.")
    return int(value)
