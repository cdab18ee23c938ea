"""TDMS files of LabVIEW to records: the channels of one length, with the time of their waveforms.

npTDMS reads them in a separate process; length and type of every channel are checked before its numbers are read.
An index file beside it is not opened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.errors import DataError, FileFormatError, require_extra, unknown_name
from dalembert.files.records.format import RECORD_FORMATS, RecordFormat
from dalembert.files.records.sections import read_apart
from dalembert.files.tables.bounds import check_size
from dalembert.files.tables.clock import NO_TIME, find_time
from dalembert.files.tables.header_units import read_unit_cell
from dalembert.files.tables.headings import describe_headings

LIBRARIES = ("nptdms",)
_UNITS = ("unit_string", "NI_UnitDescription")


def sections(path: Path, time: str | None, max_bytes: int, dt: float | None) -> Iterator[Any]:
    """Channels of numbers that have the most common length."""
    nptdms = require_extra("nptdms", "lab")
    try:
        with path.open("rb") as raw, nptdms.TdmsFile.open(raw) as file:
            yield from _sections(file, time, max_bytes, dt)
    except (DataError, FileFormatError):
        raise
    except Exception as error:  # npTDMS passes on all errors: ValueError, EOFError, struct.error ...
        raise FileFormatError("damaged", f"this is not a TDMS file that can be read ({error}).") from error


def _sections(file: Any, time: str | None, max_bytes: int, dt: float | None) -> Iterator[Any]:
    every = [channel for group in file.groups() for channel in group.channels()]
    channels = [
        channel
        for channel in every
        if channel.dtype is not None and np.dtype(channel.dtype).kind in "fiu" and len(channel)
    ]
    FileFormatError.when(not channels, "empty", "no channel of the file holds numbers.")
    samples = Counter(len(channel) for channel in channels).most_common(1)[0][0]
    check_size(samples, len(channels), max_bytes)
    chosen = [channel for channel in channels if len(channel) == samples]
    count = Counter(channel.name for channel in chosen)
    names = [channel.name if count[channel.name] == 1 else f"{channel.group_name}.{channel.name}" for channel in chosen]
    place = find_time(names, time)
    clock = None if place is None else chosen.pop(place)
    if place is not None:
        del names[place]
    step = dt if dt is not None else None if clock is not None else _increment(chosen)
    if clock is None and not step:
        raise FileFormatError(
            "no-time", unknown_name("channel", time or "time", names, "the file"),
            *NO_TIME, where={"name": time or "time"},
        )  # fmt: skip
    units = [
        next((str(channel.properties[key]) for key in _UNITS if channel.properties.get(key)), "") for channel in chosen
    ]
    headings = [read_unit_cell(name, unit) for name, unit in zip(names, units, strict=True)]
    notes = describe_headings(names, headings)
    start = next(
        (channel.properties["wf_start_time"] for channel in chosen if channel.properties.get("wf_start_time")), None
    )
    if start is not None:
        notes["start"] = str(start)
    if skipped := [channel.name for channel in every if channel is not clock and channel not in chosen]:
        notes["left out"] = skipped
    yield {
        "samples": samples, "dt": step, "names": names, "units": [heading_.unit for heading_ in headings],
        "provenance": notes,
    }  # fmt: skip
    if clock is not None and dt is None:
        yield np.asarray(clock[:], dtype=np.float64)
    for channel, heading in zip(chosen, headings, strict=True):
        times, over = heading.factor
        yield np.asarray(channel[:], dtype=np.float64) * times / over


def _increment(channels: list[Any]) -> float | None:
    """Sample time [s] that all waveforms have; an error where they differ."""
    steps = {
        float(channel.properties["wf_increment"]) for channel in channels if channel.properties.get("wf_increment")
    }
    if len(steps) > 1:
        shown = ", ".join(f"{step:.6g}" for step in sorted(steps))
        raise FileFormatError("uneven-sampling", f"channels are sampled every {shown} s.")
    return steps.pop() if steps else None


_READ = read_apart("dalembert.files.records.formats.tdms:sections")
RECORD_FORMATS.register("tdms", RecordFormat((".tdms",), _READ))
