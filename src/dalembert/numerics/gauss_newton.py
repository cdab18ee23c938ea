"""Undamped Gauss-Newton steps to a point where rows vanish.

    x ← x + d ,   d the shortest solution of min ‖r + J d‖ ,   shortened to a largest change

Rows may depend on each other. Without damping or an acceptance test it finds a point from nearby, or fails; a search
from far away is the task of `least_squares`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.core.arrays import FloatArray


def close_rows(
    rows: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    x: FloatArray,
    *,
    rank: float,
    settled: float,
    most: int,
    longest: float = np.inf,
) -> tuple[FloatArray, bool]:
    """The last point, and whether the last step was shorter than ``settled``.

    rows : x (n,) -> r (m,) and J (m, n).  rank : singular value over the largest that is zero.  longest : change of a
    variable in one step.

    Examples
    --------
    >>> x, is_closed = close_rows(lambda x: (x**2 - 2.0, np.diag(2.0 * x)), np.ones(1), rank=1e-9, settled=1e-9, most=9)
    >>> x.round(6).tolist(), is_closed
    ([1.414214], True)
    """
    for _ in range(most):
        r, J = rows(x)
        if not (np.isfinite(r).all() and np.isfinite(J).all()):
            return x, False
        step = np.linalg.lstsq(J, -r, rcond=rank)[0]
        size = float(np.abs(step).max(initial=0.0))
        x = x + step * min(1.0, longest / max(size, 1e-300))
        if size < settled:
            return x, True
    return x, False
