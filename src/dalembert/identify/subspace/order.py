"""How many states the data ask for, by three judges, in words.

gap          the largest ratio of neighbouring singular values
information  J Σ_{k>n} -ln(1 - ρ_k²) - ln(J) (p - n)(q - n) least over n, ρ_k the canonical correlations of past (q
             numbers) and future (p numbers): how much of their dependence is left out, against what chance would give
             (Fujikoshi 1985, with the penalty of Schwarz)
stability    poles that stay where they are while the order grows; each pair asks for two states

Where the gap falls to rounding the data are noise-free and it decides alone; else the middle one of the three.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray, Frozen
from dalembert.identify.records.data import Data, Detrend
from dalembert.identify.subspace.projections import Projection
from dalembert.record import Record

# Noise-free data: a step of the singular values by at least this, down to rounding.
CLEAR_GAP = 1e4
ROUNDING = 1e-8
# A gap that is worth telling to someone who asked for another order.
TELLING_GAP = 3.0


class OrderChoice(Frozen):
    """The order chosen, the three votes and why.

    Attributes
    ----------
    order : int
    gap, information, stability : int
        What each judge asks for.
    criterion : (k,)
        Information criterion of orders 0, 1, ...
    singular_values : (k,)
    explanation : str
    """

    order: int
    gap: int
    information: int
    stability: int
    criterion: FloatArray
    singular_values: FloatArray
    explanation: str

    def __init__(self, **fields: Any) -> None:
        self._freeze(**fields)

    def __repr__(self) -> str:
        return f"OrderChoice: {self.order}\n{self.explanation}"


def choose_order(projection: Projection, most: int | None = None) -> OrderChoice:
    """Order of a model from the singular values of its projection, at most ``most``."""
    hankel = projection.hankel
    values = projection.values
    room = min((hankel.rows - 1) * hankel.ny, len(values) - 1, hankel.columns // 10)
    limit = max(1, min(room, most or room))
    shown = _shown(projection)
    gap, ratio = _gap(shown, limit)
    criterion = _criterion(projection, limit)
    information = max(1, int(np.argmin(criterion)))
    if ratio >= CLEAR_GAP and shown[gap] <= ROUNDING * shown[0]:
        text = (
            f"order {gap}: the singular values fall by {ratio:.1e} to rounding after the first {gap}, so the data are "
            "noise-free and the gap decides."
        )
        return OrderChoice(order=gap, gap=gap, information=information, stability=gap, criterion=criterion,
                           singular_values=values.copy(), explanation=text)  # fmt: skip
    from dalembert.identify.subspace.stabilization import stable_count

    stability = stable_count(projection, min(limit, 2 * max(information, gap) + 10))
    order = int(np.clip(sorted((gap, information, stability))[1], 1, limit))
    text = (
        f"order {order}: the largest gap of the singular values (ratio {ratio:.2g}) asks for {gap}, the information "
        f"criterion for {information}, the poles that stay put while the order grows for {stability}; the middle one "
        "was taken."
    )
    return OrderChoice(order=order, gap=gap, information=information, stability=stability, criterion=criterion,
                       singular_values=values.copy(), explanation=text)  # fmt: skip


def asked_order(projection: Projection, order: int) -> str:
    """Note on an order that was given, with what the singular values say where they say something else."""
    hankel, values = projection.hankel, projection.values
    limit = min((hankel.rows - 1) * hankel.ny, len(values) - 1, hankel.columns // 10)
    text = f"order {order} as asked"
    if limit < 1:
        return text
    gap, ratio = _gap(_shown(projection), limit)
    if gap == order or ratio < TELLING_GAP:
        return text
    return f"{text}; the singular values fall most ({ratio:.3g} times) after {gap}"


def suggest_order(
    record: Record | Sequence[Record] | Data, inputs: str | Iterable[str] = (),
    outputs: str | Iterable[str] | None = None, *, method: str | None = None, rows: int | None = None,
    most: int | None = None, detrend: Detrend = "none",
) -> OrderChoice:  # fmt: skip
    """How many states the data ask for, and why, in words.

    Parameters
    ----------
    record : Record, or several
    inputs, outputs : channel names; no inputs for output-only data
    method : "moesp", "n4sid", "cva", or "ssi_data", "ssi_cov" without inputs; optional
    rows : block rows of past and future, optional
    most : largest order to consider, optional

    Examples
    --------
    >>> k = np.arange(200)
    >>> decay = Record.from_channels(0.1 * k, {"sway": 0.99**k * np.cos(0.3 * k)})
    >>> suggest_order(decay).order
    2
    """
    from dalembert.identify.subspace.stabilization import prepared

    return choose_order(prepared(record, inputs, outputs, method, rows, None, detrend)[0], most)


def _shown(projection: Projection) -> FloatArray:
    """Values whose gap counts."""
    if projection.method != "cva":
        return projection.values
    # canonical correlations of clear data are all near 1: the gap shows in what is explained, not in how surely
    return np.asarray(np.linalg.svd(projection.explained, compute_uv=False))


def _gap(values: FloatArray, limit: int) -> tuple[int, float]:
    """Order before the largest ratio of neighbours, and that ratio; values below rounding count as rounding."""
    floor = 1e-13 * values[0]
    s = np.maximum(values[: limit + 1], floor)
    ratios = s[:-1] / s[1:]
    best = int(np.argmax(ratios))
    return best + 1, float(ratios[best])


def _criterion(projection: Projection, limit: int) -> FloatArray:
    hankel = projection.hankel
    rho = np.minimum(projection.correlations(), 1.0 - 1e-15)
    p, q = hankel.rows * hankel.ny, hankel.rows * (hankel.nu + hankel.ny)
    lost = hankel.columns * np.append(np.cumsum(-np.log1p(-(rho**2))[::-1])[::-1], 0.0)
    n = np.arange(min(limit, len(rho)) + 1)
    result: FloatArray = lost[n] - np.log(hankel.columns) * (p - n) * (q - n)
    return result
