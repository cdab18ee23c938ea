"""Block Hankel matrices of Markov parameters: their size, their singular values and the order these show.

    H(k) = block (i, j) = Y_{k+1+i+j},  i < rows, j < columns        H(k) = P Aᵏ Q, of rank n

With noise the singular values of H(0) end in a smooth tail. The order is at the last clear gap before it.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call, Finding

SVD = tuple[FloatArray, FloatArray, FloatArray]


def hankel(markov: FloatArray, rows: int, columns: int, shift: int = 0) -> FloatArray:
    """H(shift), (rows ny, columns nw), of ``markov`` (count, ny, nw) = Y_1, Y_2, ...

    Examples
    --------
    >>> hankel(np.arange(5.0).reshape(5, 1, 1), 2, 3, 1).tolist()
    [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]
    """
    place = shift + np.add.outer(np.arange(rows), np.arange(columns))
    ny, nw = markov.shape[1:]
    return np.ascontiguousarray(markov[place].transpose(0, 2, 1, 3)).reshape(rows * ny, columns * nw)


def decompose(H: FloatArray) -> SVD:
    """SVD; the slower driver where the fast one fails."""
    try:
        U, s, Vt = scipy.linalg.svd(H, full_matrices=False)
    except scipy.linalg.LinAlgError:
        U, s, Vt = scipy.linalg.svd(H, full_matrices=False, lapack_driver="gesvd")
    return U, s, Vt


def order_from_gaps(
    s: FloatArray, most: int | None = None, rounding: float = 1e-13, clear_gap: float = 3.0, exact: float = 1e6
) -> tuple[int, float]:
    """Order at the last clear gap σ_n / σ_{n+1} of singular values, and that ratio.

    Weak modes lie behind gaps of their own and noise falls smoothly, so the last clear gap decides, not the largest;
    except where the largest is a fall to rounding. Without a clear gap the largest is returned. Values that are
    rounding count as one floor. ``most`` : highest order considered, half of the values when left out.

    rounding : rounding of the singular values relative to the largest: n ε with n = 450, half of the largest side.
    clear_gap : noise alone (white or decaying, 1 to 3 channels, 60 to 400 samples, 500 draws) has gaps up to 1.75.
    exact : sensors with noise below one part in a million do not exist: beyond this ratio follows rounding.

    Examples
    --------
    >>> order_from_gaps(np.array([5.0, 4.0, 0.1, 0.08, 1e-3, 9e-4, 8e-4, 8e-4, 7e-4]))
    (4, 80.0)
    """
    limit = max(1, min(len(s) // 2 if most is None else most, len(s) - 1))
    floor = max(rounding * float(s[0]), np.finfo(np.float64).tiny)
    sizes = np.maximum(s, floor)
    if len(s) == 1:
        return 1, np.inf
    ratios = sizes[:limit] / sizes[1 : limit + 1]
    clear = np.flatnonzero(ratios >= clear_gap)
    order = int(clear[-1] if clear.size and ratios.max() < exact else np.argmax(ratios)) + 1
    return order, float(ratios[order - 1])


def find_order(s: FloatArray, most: int | None = None, clear_gap: float = 3.0) -> tuple[int, str, list[Finding]]:
    """Order from the gaps of singular values, a note, and a finding where no gap is clear."""
    n, ratio = order_from_gaps(s, most)
    if ratio >= clear_gap:
        return n, f"order {n} at the last clear gap of the singular values (σ{n}/σ{n + 1} = {ratio:.3g})", []
    finding = Finding(
        "unclear-order",
        f"the singular values show no clear gap (largest {ratio:.2g}, after {n}): order {n} is uncertain.",
        evidence={"order": n, "ratio": ratio},
        advice=(Advice("Give {}.", Argument("order")), Advice("Look at {}.", Call("da.identify.stabilization"))),
    )
    return n, f"order {n} is uncertain: no clear gap of the singular values (σ{n}/σ{n + 1} = {ratio:.3g})", [finding]


def unstable_model(A: FloatArray, growth: float = 1e-9) -> list[Finding]:
    """A finding where a free motion of the discrete A grows.

    growth : |z| - 1 of an undamped mode: rounding of a realization.
    """
    radius = float(np.abs(np.linalg.eigvals(A)).max(initial=0.0))
    if radius <= 1.0 + growth:
        return []
    problem = f"the model of order {len(A)} is unstable (largest |z| = {radius:.6g})."
    advice = Advice("Try another order, or more data.")
    return [Finding("unstable-model", problem, {}, {"order": len(A), "radius": radius}, (advice,))]


def choose_window(
    count: int | None, ny: int, nw: int, order: int | None, rows: int | None, columns: int | None,
    dc: tuple[int, int, int | None] | None, observer_order: int,
) -> tuple[int, int, tuple[int, int, int] | None]:  # fmt: skip
    """Block rows and columns, and (γ, δ, τ) of ERA/DC or None.

    count : Markov parameters besides Y_0, None where an observer makes as many as are needed; dc : (γ, δ, τ or None).
    """
    spread = 1 if dc is None else max(dc[0], dc[1]) + 1
    usual = _default_window(count, ny, nw, order or 0, observer_order, spread)
    a, b = usual[0] if rows is None else rows, usual[1] if columns is None else columns
    if count is not None and rows is None and dc is not None and dc[2] is None:
        a = max(1, min(a, count // (2 + dc[0] + dc[1])))
    lags = None if dc is None else (dc[0], dc[1], a if dc[2] is None else dc[2])
    beyond = 0 if lags is None else (lags[0] + lags[1]) * lags[2]
    if count is not None:
        if columns is None:
            b = min(b, count - a - beyond)
        if b < 1 or a + b + beyond > count:
            names = ("rows", "columns", "tau", "gamma", "delta") if lags else ("rows", "columns")
            raise too_few_parameters(a, max(b, 1), a + max(b, 1) + beyond, count, *names)
    if order is not None and order > min(a * ny, b * nw):
        raise DataError(
            "order-too-high",
            f"order {order} is more than a Hankel matrix of {a} x {b} blocks ({a * ny} x {b * nw}) can hold.",
            Advice("Use a larger {}, or a lower order.", Argument("rows"), Argument("columns")),
        )
    return a, b, lags


def too_few_parameters(rows: int, columns: int, needed: int, count: int, *smaller: str) -> DataError:
    """The error where a Hankel matrix needs more Markov parameters than there are."""
    return DataError(
        "too-few-samples",
        f"{rows} block rows and {columns} block columns need {needed} Markov parameters besides Y_0, not {count}.",
        Advice("Use a smaller {}.", *map(Argument, smaller)),
        evidence={"needed": needed, "count": count},
    )


def _default_window(
    count: int | None, ny: int, nw: int, order: int, observer_order: int, spread: int, largest_side: int = 900,
    least_rows: int = 100,
) -> tuple[int, int]:  # fmt: skip
    """Block rows and columns that hold twice the order, within ``largest_side``.

    largest_side : largest side of a matrix that is decomposed by default: its singular values take about a second.
    least_rows : least number of block rows by default: ten samples of each period and ten periods show weak damping.
    """
    side = largest_side // spread
    if count is not None:
        a = max(min((count + 1) // 2, side // ny, max(least_rows, -(-2 * order // ny))), 1)
        return a, max(min(count - a, max(2 * a, -(-2 * order // nw)), largest_side // nw), 1)
    a = max(observer_order, -(-2 * order // ny), least_rows)
    b = max(2 * a, -(-2 * order // nw))
    return max(min(a, side // ny), 1), max(min(b, largest_side // nw), 1)
