"""Several files as one record: one file per sensor or channel, each with its own clock.

The files are aligned by the first of these that they have in common:

    packet number   a channel that counts samples in every file: the same number is the same moment
    start time      a date in every file: times count from the earliest one
    clock           times of the files overlap

Samples of one clock are copied; others are interpolated to that of the first file. The remaining delay between
channels of the same name is estimated and reported, never removed: in a structure the floors also have delays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.record import Record
from dalembert.record.interpolate import interpolate_linear
from dalembert.record.sampling import steps_agree

_TAGS = ("devicetag", "device", "sensor", "sensorname", "tag", "channel", "station", "name", "serial", "serialnumber")
_COUNTERS = ("packetcounter", "packet", "packetnumber", "samplenumber", "samplecounter", "frame", "framecounter",
             "counter")  # fmt: skip


def join_records(
    records: Sequence[Record], files: Sequence[Path], overlap: float = 0.5, same_moment: float = 0.25
) -> Record:
    """One record with the channels of all, on the clock of the first; the provenance reports how it was made.

    overlap : least part of the shortest file that all files have in common: less is an accident of two clocks.
    same_moment : largest distance of two samples of one moment, as a share of the sample time: jitter of loggers is
        below a tenth; with a quarter the sample is unique.
    """
    labels = _label(records, files)
    clocks, way = _common_clock(records, files)
    first, last = max(clock[0] for clock in clocks), min(clock[-1] for clock in clocks)
    shortest = min(clock[-1] - clock[0] for clock in clocks)
    if last - first < overlap * shortest or last <= first:
        listed = ", ".join(f"{file.name} {clock[0]:.6g} to {clock[-1]:.6g} s" for file, clock in zip(files, clocks))
        raise DataError(
            "no-common-clock", f"the times of the files do not overlap enough: {listed}.",
            Advice("Give files of one measurement, or {} where they begin together.", Argument("dt")),
        )  # fmt: skip
    step = float(np.median(np.diff(clocks[0])))
    margin = same_moment * step
    grid = clocks[0][(clocks[0] >= first - margin) & (clocks[0] <= last + margin)]
    columns: list[FloatArray] = []
    names: list[str] = []
    units: list[str] = []
    notes: list[str] = []
    counts = Counter(name for record in records for name in record.names if not _is_counter(name))
    for record, clock, label in zip(records, clocks, labels, strict=True):
        channels = [name for name in record.names if not _is_counter(name)]
        block, note = _on_grid(clock, record[channels], grid, step, margin)
        columns.append(block)
        names += [name if counts[name] == 1 else f"{label}.{name}" for name in channels]
        units += [record.units[name] for name in channels]
        if note:
            notes.append(f"{label}: {note}")
    provenance: dict[str, Any] = {
        "joined": {"by": way, "files": [file.name for file in files], "labels": labels, "notes": notes}
    }
    for record, label in zip(records, labels, strict=True):
        for key, value in record.provenance.items():
            provenance.setdefault(key, {})[label] = value
    joined = Record(grid - grid[0], np.column_stack(columns), names, units, provenance=provenance)
    if delays := _delays(joined, labels, step):
        joined = joined._with_note("delays", *delays)
    return joined


def _label(records: Sequence[Record], files: Sequence[Path]) -> list[str]:
    """One name for each file: the tag of its device where the tags differ, else the name of the file."""
    tags = []
    for record in records:
        pairs = {_plain(key): value for key, value in record.provenance.get("preamble", {}).items()}
        tags.append(next((pairs[key] for key in _TAGS if pairs.get(key)), record.name))
    if all(tags) and len(set(tags)) == len(tags):
        return [tag.replace(" ", "_") for tag in tags]
    stems = [file.stem for file in files]
    return stems if len(set(stems)) == len(stems) else [f"{stem}_{k + 1}" for k, stem in enumerate(stems)]


def _common_clock(records: Sequence[Record], files: Sequence[Path]) -> tuple[list[FloatArray], str]:
    """Times of the samples of every file on one clock [s], and their source."""
    steps = [float(np.median(np.diff(record.time))) if len(record) > 1 else 0.0 for record in records]
    if any(step <= 0 for step in steps):
        short = files[int(np.argmin(steps))].name
        raise DataError("too-few-samples", f"{short} has one sample only: it has no clock.")
    counters = [next((name for name in record.names if _is_counter(name)), None) for record in records]
    counted = [record[name] for record, name in zip(records, counters, strict=True) if name is not None]
    same = steps_agree(min(steps), max(steps))
    if same and len(counted) == len(records) and all(map(_counts, counted)):
        return [float(np.mean(steps)) * numbers for numbers in counted], "packet number"
    starts = [record.provenance.get("start") for record in records]
    if all(isinstance(start, str) and "T" in start for start in starts):
        dates = np.array(starts, dtype="datetime64[us]")
        offsets = (dates - dates.min()).astype(np.int64) * 1e-6
        return [record.time - record.time[0] + offset for record, offset in zip(records, offsets)], "start time"
    return [record.time for record in records], "clock"


def _on_grid(
    clock: FloatArray, data: FloatArray, grid: FloatArray, step: float, margin: float
) -> tuple[FloatArray, str]:
    """Samples at the times of the grid, NaN where there is none, and a note on what was done."""
    place = np.clip(np.searchsorted(clock, grid), 1, len(clock) - 1)
    place -= grid - clock[place - 1] < clock[place] - grid
    near = np.abs(clock[place] - grid) <= margin
    interval = float(np.median(np.diff(clock)))
    if steps_agree(interval, step):
        block = np.where(near[:, None], data[place], np.nan)
        lost = int((~near).sum())
        if lost <= 0.5 * len(grid):
            return block, f"{lost} samples are missing" if lost else ""
    inside = (grid >= clock[0]) & (grid <= clock[-1])
    block = np.full((len(grid), data.shape[1]), np.nan)
    block[inside] = interpolate_linear(clock, data, grid[inside])
    return block, f"interpolated from every {interval:.6g} s to every {step:.6g} s"


def _delays(joined: Record, labels: Sequence[str], step: float, longest: float = 2.0, least: float = 0.8) -> list[str]:
    """Delays of the files behind the first one, each by the channel of the same name that agrees best.

    longest : delay in the search [s]: loggers started by one command differ by less.
    least : correlation of two channels whose delay is reported: below it the peak is as often a beat of another
        motion (four sensors on one building: 0.47 and 0.6 with delays of 0.1 to 1.2 s that are none).
    """
    from dalembert.identify.records.drivers import beside_accelerations
    from dalembert.identify.records.synchronise import delay

    delays_: list[str] = []
    beside = beside_accelerations(joined.names)
    for label in labels[1:]:
        best: tuple[float, float, str] | None = None
        for name in (
            candidate for candidate in joined.names if candidate.startswith(f"{label}.") and candidate not in beside
        ):
            quantity = name.removeprefix(f"{label}.")
            if f"{labels[0]}.{quantity}" not in joined.names:
                continue
            # differences, so that drifts do not count
            a, b = np.diff(joined[f"{labels[0]}.{quantity}"]), np.diff(joined[name])
            if not np.isfinite(a + b).all() or not np.ptp(a) or not np.ptp(b):
                continue
            late = delay(a, b, step, longest=min(longest, 0.1 * step * len(a)))
            shift = round(late / step)
            front, back = (a[: len(a) - shift], b[shift:]) if shift >= 0 else (a[-shift:], b[: len(b) + shift])
            alike = float(np.corrcoef(front, back)[0, 1])
            if alike >= least and (best is None or alike > best[0]):
                best = (alike, late, quantity)
        if best is not None:
            delays_.append(f"{label} is {best[1]:.6g} s behind {labels[0]} by {best[2]} (correlation {best[0]:.2f})")
    return delays_


def _counts(values: FloatArray) -> bool:
    """Whether a channel counts samples: whole numbers that increase."""
    return bool(np.all(np.isfinite(values)) and np.all(values == np.round(values)) and np.all(np.diff(values) > 0))


def _is_counter(name: str) -> bool:
    return _plain(name) in _COUNTERS


def _plain(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
