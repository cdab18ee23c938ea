"""How a record is sampled: evenly or not, and where something is missing.

A gap is a run of samples that one channel lacks (NaN), or, in a record that is even otherwise, a time step so long that
samples of all channels must have been lost.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray as Array
from dalembert.core.errors import DalembertWarning
from dalembert.core.findings import Advice, Call
from dalembert.core.tables import align_columns

EVERY = "(all)"
_BLOCK = 1 << 16  # samples looked at together


class GapWarning(DalembertWarning):
    """Values were made up where nothing was measured."""


@dataclass(frozen=True)
class Gap:
    """Samples that are missing.

    channel : name, or "(all)" where time itself jumps.  start, stop : first and last time without a sample; of a jump,
    the samples on either side [s].  samples : number of missing ones.
    """

    channel: str
    start: float
    stop: float
    samples: int


@dataclass(frozen=True)
class Gaps:
    """All gaps of a record, by channel and time; a sequence of :class:`Gap`."""

    gaps: tuple[Gap, ...]
    label: str

    def __iter__(self) -> Iterator[Gap]:
        return iter(self.gaps)

    def __len__(self) -> int:
        return len(self.gaps)

    def __getitem__(self, k: int) -> Gap:
        return self.gaps[k]

    def table(self, most: int = 30) -> str:
        """One line per gap, ``most`` of them."""
        rows = [(gap.channel, f"{gap.start:.6g}", f"{gap.stop:.6g}", str(gap.samples)) for gap in self.gaps]
        lines = [align_columns(("channel", "from [s]", "to [s]", "samples"), rows[:most], left=(0,))]
        if len(rows) > most:
            lines.append(f"... and {len(rows) - most} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        if not self.gaps:
            return f"{self.label} has no gaps"
        missing = sum(gap.samples for gap in self.gaps)
        return f"{self.label} has {len(self)} gap{'s'[: len(self) > 1]}, {missing} samples missing\n{self.table()}"


def steps_agree(step: float, other: float, tolerance: float = 1e-3) -> bool:
    """Whether two sample times are one: a thousandth passes rounded times and crystals of loggers, no lost sample."""
    return abs(step - other) <= tolerance * other


def is_even(time: Array, tolerance: float = 1e-3) -> bool:
    """Whether all times lie on a grid of equal steps, to a thousandth of a step or the last bit of the times."""
    if time.size < 3:
        return True
    step = (time[-1] - time[0]) / (time.size - 1)
    allowed = max(tolerance * step, 2.0 * float(np.spacing(np.abs(time[[0, -1]]).max())))
    for first in range(0, time.size, _BLOCK):
        some = time[first : first + _BLOCK]
        grid = time[0] + step * np.arange(first, first + some.size)
        if not np.abs(some - grid).max() <= allowed:
            return False
    return True


@dataclass(frozen=True)
class RoundedGrid:
    """Times of a record of one rate whose stamps were rounded.

    times : exact ones, from the first stamp on [s].  step : [s].  digit : coarsest rounding [s].
    """

    times: Array
    step: float
    digit: float


def find_rounded_grid(time: Array, least: int = 32, hole: float = 3.0, coarse: float = 1e-3) -> RoundedGrid | None:
    """The even grid behind stamps with few decimals, which may repeat; None where there is none.

    Stamps t_k = round(t_0 + n_k h) lie within half a digit of the line, where n_k counts samples and jumps where some
    were lost. Of the rates 1/h that the digits allow, the fraction with the smallest denominator is taken.

    least : samples; fewer fit a grid by chance.  hole : of the usual step, above which a step has lost samples.
    coarse : rounding of the times, of their length, that leaves no rate.
    """
    if time.size < least or not np.isfinite(time).all() or is_even(time):
        return None
    some = time[:_BLOCK]  # most clocks that are no grid are none from the beginning: saves memory
    if time.size > _BLOCK and not is_even(some) and find_rounded_grid(some) is None:
        return None
    steps = np.diff(time)
    if steps.min() < 0.0 or not steps.any():
        return None
    digit = _digits(time, least)
    usual = float(np.median(steps[steps > 0.0]))
    jumps = steps > hole * usual + digit.max()
    if not (steps == 0.0).any() and (lost := find_jumps(time)):
        jumps[np.searchsorted(time, [gap.start for gap in lost])] = True
    usual = float(steps[~jumps].mean())
    count = np.concatenate([[0.0], np.cumsum(np.where(jumps, np.maximum(np.rint(steps / usual), 1.0), 1.0))])
    slope = float(np.polyfit(count, time - time[0], 1)[0])
    coarsest = float(digit.max())
    if not 0.0 < coarsest <= coarse * slope * count[-1]:
        return None
    # rounding moves the ends of the line by a digit at most, its slope by least squares usually by far less
    spreads = coarsest / count[-1], coarsest / time.size**1.5
    for step in (*[1.0 / _simplest(1.0 / (slope + spread), 1.0 / (slope - spread)) for spread in spreads], slope):
        off = time - time[0] - step * count
        off -= 0.5 * (off.max() + off.min())
        # half a digit, the deviation of the slope over the record, and the last bits of stamp and line
        most = 0.5 * coarsest * (1.0 + 3.0 / np.sqrt(time.size)) + 4.0 * np.spacing(np.abs(time).max())
        if np.abs(off).max() <= most:
            return RoundedGrid(time[0] + step * count, step, coarsest)
    return None


def _digits(time: Array, least: int, finest: int = 9, roundings: float = 4.0) -> Array:
    """Rounding of every time [s]: that of all times with as many digits before the point, 0 for none.

    finest : decimals; microseconds are the finest that loggers round to.
    """
    size = np.floor(np.log10(np.maximum(np.abs(time), 1.0)))
    rounding = np.zeros(time.size)
    last = 0.0
    for decade in np.unique(size):
        some = size == decade
        for places in range(finest + 1):
            scaled = time[some] * 10.0**places
            if (np.abs(scaled - np.rint(scaled)) <= roundings * np.spacing(np.abs(scaled))).all():
                # a few times, such as 100.00 at the end, show too few decimals
                last = 10.0**-places if scaled.size >= least or not last else last
                break
        rounding[some] = last
    return rounding


def _simplest(low: float, high: float) -> float:
    """The fraction with the smallest denominator between two positive numbers."""
    floor = np.ceil(low)
    if floor <= high or not high > low:
        return float(min(floor, high))
    return float(floor - 1.0 + 1.0 / _simplest(1.0 / (high - floor + 1.0), 1.0 / (low - floor + 1.0)))


def describe_unevenness(time: Array) -> str:
    """In words how uneven the steps are, or "" where they are equal."""
    if is_even(time):
        return ""
    steps = np.diff(time)
    longest, least, most = int(steps.argmax()), steps.min(), steps.max()
    usual = float(np.median(steps, overwrite_input=True))
    return (
        f"uneven steps, {least:.4g} to {most:.4g} s (usually {usual:.4g} s, the longest after "
        f"t = {time[longest]:.6g} s)"
    )


def find_jumps(time: Array, longest: float = 1.5, mostly: float = 0.9, most: float = 1e15) -> list[Gap]:
    """Steps of a record that is even otherwise, in which samples were lost.

    longest : usual steps, half-way between one and two.  mostly : share of usual steps, below which the record is
    uneven.  most : samples missing: a time that is nonsense must not overflow their count.
    """
    if time.size < 3:
        return []
    steps = np.diff(time)
    usual = float(np.median(steps))
    # loggers round times: one step must be distinguished from two, no more
    if (np.abs(steps - usual) < (longest - 1.0) * usual).mean() < mostly:
        return []
    places = np.flatnonzero(steps > longest * usual)
    missing = [max(1, round(min(float(steps[k]) / usual, most)) - 1) for k in places]
    return [Gap(EVERY, float(time[k]), float(time[k + 1]), n) for k, n in zip(places, missing, strict=True)]


def find_holes(time: Array, bridged: float = 3.0) -> list[Gap]:
    """Jumps of time too long to be bridged by a line: more than two samples are missing."""
    jumps = find_jumps(time)
    longest = bridged * float(np.median(np.diff(time))) if jumps else 0.0
    return [gap for gap in jumps if gap.stop - gap.start > longest]


def describe_gap(gap: Gap, time: Array) -> str:
    """``"0.5 s without samples from t = 19.99 s"``; a usual step of the time is no gap and is subtracted."""
    lost = gap.stop - gap.start - float(np.median(np.diff(time)))
    return f"{lost:.4g} s without samples from t = {gap.start:.6g} s"


def are_samples(times: Array, wanted: Array, on_grid: float = 1e-9) -> bool:
    """Whether all wanted times are samples, up to rounding per step of the record: nine digits of its times."""
    place = np.interp(wanted, times, np.arange(len(times)))
    return bool((np.abs(place - np.round(place)) < on_grid * len(times)).all())


def find_interpolated(time: Array, wanted: Array) -> list[str]:
    """In words the holes that wanted times fall into."""
    return [describe_gap(gap, time) for gap in find_holes(time) if ((wanted > gap.start) & (wanted < gap.stop)).any()]


def warn_of_interpolation(holes: Sequence[str], label: str, most: int = 5) -> None:
    """Warn of interpolated samples, at the place of the user's call; ``most`` holes are named."""
    more = "; ..." if len(holes) > most else ""
    warnings.warn(
        GapWarning(
            "gaps",
            f"{label}: {'; '.join(holes[:most])}{more}: filled by interpolation.",
            Advice("Cut the record there with {} if it shall be measured data only.", Call("Record.parts")),
        ),
        stacklevel=3,
    )


def describe_missing(data: Array) -> str:
    """The missing samples in words, or ""."""
    lost = np.isnan(data)
    samples = int(np.count_nonzero(lost))
    if not samples:
        return ""
    runs = int(np.count_nonzero(lost[1:] & ~lost[:-1]) + np.count_nonzero(lost[0]))
    return f"{samples} sample{'s'[: samples > 1]} missing in {runs} gap{'s'[: runs > 1]}"


def find_gaps(time: Array, data: Array, names: Sequence[str]) -> list[Gap]:
    """All gaps, those of time first."""
    jumps = find_jumps(time)
    lost = np.isnan(data)
    for k in np.flatnonzero(lost.any(axis=0)).tolist():
        edges = np.diff(np.concatenate([[0], lost[:, k].astype(np.int8), [0]]))
        for first, last in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1):
            jumps.append(Gap(names[k], float(time[first]), float(time[last]), int(last - first + 1)))
    return jumps
