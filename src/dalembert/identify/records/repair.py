"""Outliers and dropouts in records: found, replaced by interpolation, and counted.

A sample is an outlier where both hold (Hampel's test of the signal and of its prediction from its neighbours):

|x - m| > threshold · 1.4826 · max(median |x - m|, floor),   m the median of the samples around it
|r|     > threshold · 1.4826 · median |r|,                   r = x_k - (-x_{k-2} + 4 x_{k-1} + 4 x_{k+1} - x_{k+2}) / 6

with medians over a window three times as wide (1.4826 of them estimate the standard deviation of Gaussian noise). The
first test alone finds the crests of an oscillation that lasts two windows, since m cuts them off and is exact in
between; the second alone finds the good neighbours of a spike. The floor, a twentieth of the robust spread of the whole
channel, protects quiet or quantised stretches.
A hammer impact is a few samples far from its neighbours as well: name the ``channels`` that respond, not the force.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dalembert.core.arguments import one_of, positive_number, real_number, whole_number
from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.errors import DataError
from dalembert.core.tables import align_columns
from dalembert.identify.records.channel_values import find_runs
from dalembert.identify.records.preparation_step import accept_several, add_note, find_columns
from dalembert.identify.records.prepare import Channels
from dalembert.record import Record

__all__ = ["Repair", "hampel", "repair"]


@frozen
class Repair:
    """A repaired record and its repairs; frozen.

    ``record`` : Record; ``outliers``, ``dropouts`` : (N, k) bool, samples found; ``replaced`` : (N, k) bool, samples
    that were filled; ``remaining`` : (N, k) bool, gaps too long or at an end of the record, still NaN.
    """

    record: Record
    outliers: NDArray[np.bool_]
    dropouts: NDArray[np.bool_]
    replaced: NDArray[np.bool_]
    remaining: NDArray[np.bool_]

    @property
    def count(self) -> int:
        """How many samples were replaced, in all channels."""
        return int(np.count_nonzero(self.replaced))

    def table(self) -> str:
        """Outliers, dropouts, replaced and remaining samples of every channel."""
        masks = (self.outliers, self.dropouts, self.replaced, self.remaining)
        counts = np.array([mask.sum(axis=0) for mask in masks]).T
        rows = [(*map(str, row), name) for row, name in zip(counts.tolist(), self.record.names)]
        return align_columns(("outliers", "dropouts", "replaced", "remaining", "channel"), rows, left=(-1,))

    def __repr__(self) -> str:
        gaps = int(np.count_nonzero(self.remaining))
        remark = f", {gaps} remain gaps (trim or cut them)" if gaps else ""
        return f"Repair: {self.count} of {self.record.data.size} samples replaced{remark}\n{self.table()}"


@accept_several
def repair(
    record: Record, *, threshold: float | None = 6.0, window: int = 15, longest: int = 10, held: int | None = None,
    kind: Literal["cubic", "linear"] = "cubic", channels: Channels = None,
) -> Repair:  # fmt: skip
    """Replace outliers and short dropouts by interpolation between the samples around them.

    Parameters
    ----------
    record : Record or sequence of them (then a tuple of results)
    threshold : outliers lie further from the local median, in local robust standard deviations; None looks for none
    window : samples of the local median, odd
    longest : longest run of bad samples to fill; longer ones become gaps (NaN), as do those at an end of the record
    held : this number of equal samples or more, without the first, is a dropout with the last value repeated
    kind : "cubic" (spline through all good samples) or "linear"
    channels : names; all when left out

    Returns
    -------
    Repair
        The record, masks of what was found and replaced, and counts.

    Examples
    --------
    >>> t = 0.01 * np.arange(200)
    >>> x = np.sin(2 * np.pi * t)
    >>> x[50], x[120:123] = 40.0, np.nan
    >>> mended = repair(Record(t, x[:, None], ["a"]))
    >>> mended
    Repair: 4 of 200 samples replaced
    outliers  dropouts  replaced  remaining  channel
           1         3         4          0  a
    >>> float(abs(mended.record["a"] - np.sin(2 * np.pi * t)).max()) < 1e-4
    True
    """
    one_of("kind", kind, ("cubic", "linear"))
    most, window = whole_number("longest", longest), whole_number("window", window, 3)
    threshold = None if threshold is None else positive_number("threshold", threshold)
    places = find_columns(record, channels)
    data = record.data.copy()
    outliers, dropouts, remaining = (np.zeros(data.shape, dtype=bool) for _ in range(3))
    for i in places:
        x = data[:, i].copy()
        dropouts[:, i] = ~np.isfinite(x)
        if held is not None:
            dropouts[:, i] |= find_held_samples(x, whole_number("held", held, 3))
        if dropouts[:, i].all():
            raise DataError(
                "not-finite",
                f"channel {record.names[i]!r} has no good sample. Leave it out.",
                where={"channel": record.names[i]},
            )
        if threshold is not None:
            outliers[:, i] = _find_outliers(x, ~dropouts[:, i], threshold, window)
        bad = outliers[:, i] | dropouts[:, i]
        if bad.any():
            remaining[:, i] = find_long_runs(bad, most)
            data[:, i] = _fill(record.time, x, bad, remaining[:, i], kind)
    replaced = (outliers | dropouts) & ~remaining
    counts = f"{int(outliers.sum())} outliers, {int(dropouts.sum())} dropouts, {int(replaced.sum())} samples replaced"
    return Repair(
        record=add_note(record, data, f"repaired: {counts}"), outliers=outliers, dropouts=dropouts, replaced=replaced,
        remaining=remaining,
    )  # fmt: skip


def hampel(x: FloatArray, threshold: float = 6.0, window: int = 15) -> NDArray[np.bool_]:
    """(N,) bool: samples of one channel that are outliers; no gaps. See :func:`repair`.

    Examples
    --------
    >>> x = np.sin(0.3 * np.arange(60))
    >>> x[20] += 3.0
    >>> np.flatnonzero(hampel(x))
    array([20])
    """
    gaussian = 1.4826  # standard deviation of Gaussian noise / median of its size
    # least spread, as a share of the robust spread of the channel: where a channel rests, its own spread is rounding or
    # one step of the converter, which is below this for eight bits and more
    least_deviation = 0.05
    # window of the spread over that of the median: of 50 000 samples of Gaussian noise 12, 4 and 4 were outliers beyond
    # four standard deviations with 1, 3 and 5
    wider = 3
    limit = real_number("threshold", threshold)
    width = whole_number("window", window, 3)
    if width % 2 == 0 or limit <= 0.0:
        raise DataError("out-of-range", f"window must be odd and threshold positive, got {window!r} and {threshold!r}.")
    values = np.asarray(x, dtype=np.float64)
    if len(values) < 5:
        return np.zeros(len(values), dtype=bool)
    half = min(max(width // 2, 2), len(values) - 1)
    # continued by reflection in the end points, so that a slope at an end is no outlier
    ends = 2.0 * values[0] - values[half:0:-1], 2.0 * values[-1] - values[-2 : -half - 2 : -1]
    longer = np.concatenate([ends[0], values, ends[1]])
    inner = slice(half, half + len(values))
    far = np.abs(values - running_median(longer, width)[inner])
    odd = np.abs(np.convolve(longer, [1.0, -4.0, 6.0, -4.0, 1.0], mode="same")[inner])
    floor = least_deviation * np.median(np.abs(values - np.median(values)))
    limit *= gaussian
    result: NDArray[np.bool_] = far > limit * np.maximum(running_median(far, wider * width), floor)
    if result.any():
        result &= odd > limit * running_median(odd, wider * width)
    return result


def running_median(x: FloatArray, width: int) -> FloatArray:
    """(N,) medians of windows of odd width; the ends are continued by reflection.

    The reflection is made here: mode "mirror" of SciPy 1.15.0 to 1.15.2 writes beyond its memory, and that of later
    versions is wrong where the window is wider than the record.
    """
    from scipy.ndimage import median_filter

    half = width // 2
    medians: FloatArray = median_filter(np.pad(x, half, mode="reflect"), width, mode="nearest")[half : half + len(x)]
    return medians


def _find_outliers(x: FloatArray, good: NDArray[np.bool_], threshold: float, window: int) -> NDArray[np.bool_]:
    """Outliers among the good samples, joined over the gaps."""
    outliers = np.zeros(len(x), dtype=bool)
    if np.count_nonzero(good) > window:
        outliers[good] = hampel(x[good], threshold, window)
    return outliers


def find_held_samples(x: FloatArray, least: int) -> NDArray[np.bool_]:
    """(N,) bool: repetitions in runs of ``least`` or more equal samples, the first of each run excepted."""
    starts, stops = find_runs(x[1:] == x[:-1])
    long = stops - starts + 1 >= least
    return _mark_runs(len(x), starts[long] + 1, stops[long] + 1)


def find_long_runs(bad: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """(N,) bool: bad samples in runs over ``most``, or at an end of the record."""
    starts, stops = find_runs(bad)
    long = (stops - starts > most) | (starts == 0) | (stops == len(bad))
    return _mark_runs(len(bad), starts[long], stops[long])


def _mark_runs(count: int, starts: NDArray[np.intp], stops: NDArray[np.intp]) -> NDArray[np.bool_]:
    """(count,) bool: True from each start up to its stop."""
    marks = np.zeros(count + 1, dtype=np.int64)
    marks[starts] += 1
    marks[stops] -= 1
    return np.asarray(np.cumsum(marks[:-1]) > 0)


def _fill(
    t: FloatArray, x: FloatArray, bad: NDArray[np.bool_], left: NDArray[np.bool_], kind: str, reach: int = 17
) -> FloatArray:
    # reach: samples on each side of a gap that a cubic spline depends on: (2 - √3)¹⁷ = 2e-10
    good, fill = ~bad, bad & ~left
    result = x.copy()
    result[left] = np.nan
    if fill.any():
        if kind == "cubic" and np.count_nonzero(good) >= 4:
            from scipy.interpolate import CubicSpline
            from scipy.ndimage import maximum_filter1d

            near = good & maximum_filter1d(fill.view(np.uint8), 2 * reach + 1).astype(bool)
            result[fill] = CubicSpline(t[near], x[near])(t[fill])
        else:
            result[fill] = np.interp(t[fill], t[good], x[good])
    return result
