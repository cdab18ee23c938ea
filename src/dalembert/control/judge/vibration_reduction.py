"""Reduction of a motion by control, in percent:  100 (a - b) / a  of its peaks or rms values."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked, one_of
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.record import Record

Measure = Annotated[str, one_of("peak", "rms"), "largest absolute value, or root mean square about zero"]


@checked
def reduction(before: Record, after: Record, *channels: str, measure: Measure = "peak") -> dict[str, float]:
    """Reduction of channels from one record to another [%], by name: 100: no motion remains, negative: the motion grew.

    Parameters
    ----------
    before, after : Record
        Without and with control: two runs, or two windows of one (``run.between(10, 20)``). Choose windows in which the
        motion is steady.
    channels : names of channels or vectors to compare; all channels of both records when left out

    Examples
    --------
    >>> free = Record([0.0, 1.0, 2.0], [[0.0], [4.0], [-2.0]], ["x"])
    >>> held = Record([0.0, 1.0, 2.0], [[0.0], [-1.0], [1.0]], ["x"])
    >>> reduction(free, held, "x")
    {'x': 75.0}
    """
    shared = tuple(name for name in before.names if name in after)
    names = tuple(label for name in channels for label in before.expand(name)) if channels else shared
    sizes = [_measure(record, names, measure) for record in (before, after)]
    still = [name for name, size in zip(names, sizes[0], strict=True) if size == 0.0]
    if still:
        raise DataError(
            "no-motion",
            f"{', '.join(still)} did not move before, so its reduction is not defined. Leave out these channels, or "
            "take another window.",
        )
    found: FloatArray = 100.0 * (sizes[0] - sizes[1]) / sizes[0]
    return dict(zip(names, found.tolist(), strict=True))


def _measure(record: Record, names: tuple[str, ...], measure: str) -> FloatArray:
    if not len(record):
        raise DataError("empty", "a record without samples has no peaks: is the window inside the run?")
    values = np.column_stack([record[name] for name in names]) if names else np.zeros((1, 0))
    gaps = [name for name, column in zip(names, values.T, strict=True) if not np.isfinite(column).all()]
    if gaps:
        raise DataError(
            "not-finite",
            f"{', '.join(gaps)} has gaps (NaN).",
            Advice("Repair the record ({}), or take a window.", Call("da.identify.repair")),
        )
    return np.asarray(np.abs(values).max(axis=0) if measure == "peak" else np.sqrt((values**2).mean(axis=0)))
