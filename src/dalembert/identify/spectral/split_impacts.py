"""One record of a modal test with many impacts, cut into a record for each (Palomba 2016, ch. 4).

An impact begins where the force reaches the trigger; its record begins a pretrigger time before and has a fixed length.
Impacts of which one record lacks a part, double hits and overloads are findings.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked, instance, not_negative, positive
from dalembert.core.errors import DataError, require_name
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.core.results import column, result, rows
from dalembert.core.rules import rule
from dalembert.identify.records.preparation_step import add_note, refuse_gaps
from dalembert.record import Record

__all__ = ["Impact", "Impacts", "split_impacts"]


def bounce_share(force: FloatArray, trigger: float, channels: FloatArray, quiet: float = 0.05) -> float:
    """Largest force after the first pulse over its peak; the pulse ends below ``quiet`` of the peak."""
    size = np.abs(force)
    first = int(np.argmax(size >= trigger))
    over = np.flatnonzero(size[first:] < min(trigger, quiet * size.max()))
    if not len(over):
        return 0.0
    end = first + int(over[0])
    return float(size[end:].max(initial=0.0) / size[first:end].max())


def longest_limit(force: FloatArray, trigger: float, channels: FloatArray) -> int:
    """Most samples in a row at the largest size of a channel that moves."""
    most = 0
    for x in np.abs(channels.T[np.ptp(channels, axis=0) > 0.0]):
        ends = np.flatnonzero(np.diff(np.concatenate([[0], (x == x.max()).astype(np.int8), [0]])))
        most = max(most, int((ends[1::2] - ends[::2]).max()))
    return most


# A bounce of a twentieth of the peak adds lines of 5 % to the spectrum of the force; reversed noise stays below.
DOUBLE_HIT = rule(
    "double-hit", bounce_share, above=0.05, edge=(0.045, 0.055),
    problem="impact at {time:.6g} s: the hammer hits again with {value:.0%} of its first peak.",
    advice=[Advice("Leave out this impact, as `good` does.")],
)  # fmt: skip
# Noise of one digit repeats a largest value twice at times; a clipped pulse stays at the limit of its sensor.
OVERLOAD = rule(
    "saturated-channel", longest_limit, above=3.0, edge=(3.0, 3.5),
    problem="impact at {time:.6g} s: a channel stays at its limit for {value} samples.",
    advice=[Advice("Lower the sensitivity of its amplifier, and leave out this impact, as `good` does.")],
)  # fmt: skip


@result
class Impact:
    """One impact: its time, the peak of the force and the judgement."""

    time: float = column("time", "s")
    peak: float = column("peak of the force", "{unit}")
    judgement: str = column("judgement", left=True)
    unit: str


@result
class Impacts:
    """Impacts of a modal test: ``records`` of all, ``findings`` on double hits, overloads and cut impacts."""

    impacts: tuple[Impact, ...] = rows()
    records: tuple[Record, ...]
    findings: tuple[Finding, ...]

    @property
    def good(self) -> tuple[Record, ...]:
        """Records of impacts without a finding, for `hammer_windows` and `frf`."""
        return tuple(record for record, impact in zip(self.records, self.impacts) if impact.judgement == "good")


@checked
def split_impacts(
    record: Annotated[Record, instance(Record), "of one test with several impacts, evenly sampled"],
    force: str,
    *,
    trigger: Annotated[float, positive, "force at which an impact begins [N]"],
    pretrigger: Annotated[float, not_negative, "time before it that belongs to its record [s]"] = 0.01,
    length: Annotated[float, positive, "of each record [s]"] = 16.0,
) -> Impacts:
    """Cut a record at its impacts into records of one length, and judge each.

    Parameters
    ----------
    force : channel of the hammer

    Examples
    --------
    >>> t = 0.001 * np.arange(6000)
    >>> hits = np.isin(np.arange(6000), [1000, 3000, 3040, 5000]) * 20.0
    >>> test = Record.from_channels(t, {"hammer": hits, "a": np.sin(t)})
    >>> found = split_impacts(test, "hammer", trigger=5.0, length=0.9)
    >>> [impact.judgement for impact in found.impacts], len(found.good)
    (['good', 'double-hit', 'good'], 2)
    """
    require_name("channel", force, record.names, argument="force")
    refuse_gaps(record, range(record.data.shape[1]), "an impact")
    dt, x = record.sample_time, np.abs(record[force])
    before, count = round(pretrigger / dt), round(length / dt)
    if count < 2 or before >= count:
        raise DataError("out-of-range", f"a record of {length:g} s has no room for a pretrigger of {pretrigger:g} s.")
    records, impacts = [], []
    findings: list[Finding] = []
    at = 0
    while (hit := _next(x, at, trigger)) is not None:
        begin, end = hit - before, hit - before + count
        at = end
        time = float(record.time[hit])
        if begin < 0 or end > len(x):
            words = f"impact at {time:.6g} s: the record lacks a part of its {length:g} s."
            findings.append(Finding("too-few-samples", words, {"channel": force, "time": time}, {}, ()))
            continue
        part = record.between(float(record.time[begin]), float(record.time[end - 1]))
        answers = [row.judge(part[force], trigger, part.data, time=time) for row in (DOUBLE_HIT, OVERLOAD)]
        judged = [finding for finding in answers if finding is not None]
        findings += judged
        records.append(add_note(part, part.data, f"impact at {time:.6g} s"))
        words = ", ".join(finding.code for finding in judged) or "good"
        impacts.append(Impact(time, float(np.abs(part[force]).max()), words, record.units.get(force, "")))
    if not records:
        raise DataError(
            "empty", f"channel {force!r} has no whole impact: its largest force is {x.max():.4g}.",
            Advice("Lower {}.", Argument("trigger")), Advice("Or shorten {}.", Argument("length")),
        )  # fmt: skip
    return Impacts(tuple(impacts), tuple(records), tuple(findings))


def _next(size: FloatArray, start: int, trigger: float) -> int | None:
    hits = np.flatnonzero(size[start:] >= trigger)
    return start + int(hits[0]) if len(hits) else None
