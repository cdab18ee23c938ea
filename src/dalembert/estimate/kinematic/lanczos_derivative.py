"""Derivatives of samples without a model, to compare an observer with.

Lanczos' low-noise differentiator fits a line through 2M + 1 points by least squares and takes its slope,

    f'₀ = Σ_{k=1..M} 3k / (M(M+1)(2M+1) Δt) (f_k - f_{-k}) ,

two-sided, so it looks M samples ahead. Applied again it gives second derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from dalembert.core.arguments import take_names
from dalembert.core.declare import ArgumentKind, Scope, checked, count, instance
from dalembert.core.errors import DataError
from dalembert.record import Record


def _read_points(name: str, value: object, scope: Scope) -> int:
    if not isinstance(value, int) or value < 3 or value % 2 == 0:
        raise DataError("out-of-range", f"{name} must be an odd number of at least 3, got {value!r}.")
    return value


Samples = Annotated[Record, instance(Record), "evenly sampled channels"]
Points = Annotated[int, ArgumentKind("an odd number from 3", _read_points), "samples of a line"]
Order = Annotated[int, count(1), "number of applications: 1 for rates, 2 for accelerations"]


@checked
def lanczos_derivative(
    record: Samples, names: str | Sequence[str] | None = None, *, points: Points = 7, order: Order = 1
) -> Record:
    """Derivatives of evenly sampled channels by Lanczos' differentiator.

    Parameters
    ----------
    names : channels; None: all.

    Returns
    -------
    Record of channels of the same names, without the ``order * (points - 1) / 2`` samples at either end.

    Examples
    --------
    >>> import numpy as np
    >>> import dalembert as da
    >>> t = np.arange(9) * 0.1
    >>> da.estimate.lanczos_derivative(da.Record(t, t[:, None] ** 2, ["x"]), points=3)["x"].round(12)
    array([0.2, 0.4, 0.6, 0.8, 1. , 1.2, 1.4])
    """
    chosen = record if names is None else record.select(*take_names("channel", names))
    half = points // 2
    if len(chosen) <= 2 * half * order:
        problem = f"{len(chosen)} samples are too few: order {order} with {points} points needs more."
        raise DataError("too-few-samples", problem)
    dt = chosen.sample_time
    data = chosen.data
    k = np.arange(1, half + 1)
    weights = 3.0 * k / (half * (half + 1) * (2 * half + 1) * dt)
    for _ in range(order):
        middle = len(data) - 2 * half
        data = np.sum(
            [w * (data[half + j : half + j + middle] - data[half - j : half - j + middle])
             for j, w in zip(k, weights, strict=True)],
            axis=0,
        )  # fmt: skip
    cut = half * order
    units = {name: f"{unit}/s" if order == 1 else f"{unit}/s^{order}" for name, unit in chosen.units.items() if unit}
    return Record(chosen.time[cut:-cut], data, chosen.names, units, name=chosen.name)
