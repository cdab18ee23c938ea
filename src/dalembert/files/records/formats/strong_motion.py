"""Strong motion (V2 files of CSMIP and COSMOS) to records: acceleration, velocity and displacement of one channel.

A file has lines of text and blocks of numbers; the line above a block gives their count, quantity, unit and format:

    12600 points of accel data equally spaced at  .005 sec, in cm/sec2. (8f10.6)        CSMIP
    8700 acceleration pts, approx 87 secs, units=cm/sec2 (04), Format=(8f10.5)          COSMOS (version 1.20, 2001)

COSMOS gives the sample time in its list of real values alone; the one that fits count and duration is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice
from dalembert.files.records.format import RECORD_FORMATS, Reading, RecordFormat
from dalembert.files.tables.bounds import check_size
from dalembert.files.tables.header_units import read_unit_cell
from dalembert.record import Record

_CSMIP = re.compile(
    r"\s*(?P<count>\d{1,9})\s+points of (?P<what>\w+) data equally spaced at\s*(?P<dt>\d*\.?\d+)\s*sec,\s*in\s+"
    r"(?P<unit>[^\s(]+?)\.?\s*\((?P<form>[^)]*)\)\s*"
)
_COSMOS = re.compile(
    r"\s*(?P<count>\d{1,9})\s+(?P<what>acceleration|velocity|displacement)\s+pts,\s*approx\s+(?P<length>\d+\.?\d*)\s*secs,"
    r"\s*units\s*=\s*(?P<unit>[^\s(]+)\s*\(\d+\),\s*Format\s*=\s*\((?P<form>[^)]*)\).*\s*",
    re.IGNORECASE,
)
_FORM = re.compile(r"\d+[fFeE]([1-9]\d{0,2})\.\d+")
_CHANNEL = re.compile(r"Chan(?:nel)?\s*(\d{1,9})\s*:?\s*([A-Za-z0-9 .+-]*?)(?:\s{2,}|$)", re.IGNORECASE)
_STATION_CHANNEL = re.compile(r"Sta Chn:\s*(\d{1,9})")
_LOCATION = re.compile(r"Location:\s*(\S.*?)\s*$")
_QUANTITIES = {"accel": "acceleration", "veloc": "velocity", "displ": "displacement"}
_MOST_HEAD = 400  # lines of text before the first block; COSMOS allows 120 and more comments


def read(path: Path, how: Reading) -> Record:
    """Channels ``chan2.acceleration``, ``chan2.velocity``, ``chan2.displacement`` in SI."""
    problem = "a V2 file has its sample time: dt does not apply."
    FileFormatError.when(how.dt is not None, "conflicting-arguments", problem)
    with path.open(encoding="latin-1", newline=None) as file:
        lines = enumerate(file, 1)
        head: list[str] = []
        columns: dict[str, Any] = {}
        units: dict[str, str] = {}
        notes: list[str] = []
        step = 0.0
        for number, text in lines:
            match = _CSMIP.fullmatch(text) or _COSMOS.fullmatch(text)
            if match is None:
                if not columns:
                    head.append(text)
                if len(head) > _MOST_HEAD:
                    break
                continue
            count = int(match["count"])
            interval = _sample_time(match.groupdict(), head, number)
            problem = f"blocks are sampled every {step} and {interval} s."
            FileFormatError.when(step and interval != step, "uneven-sampling", problem, line=number)
            step = interval
            check_size(count, len(columns) + 1, how.max_bytes)
            name = _QUANTITIES.get(match["what"][:5].lower(), match["what"].lower())
            heading = read_unit_cell(name, match["unit"].replace("sec", "s").replace("s2", "s^2"))
            if note := heading.describe(name):
                notes.append(note)
            columns[name] = _numbers(lines, count, match["form"], number) * heading.factor[0] / heading.factor[1]
            units[name] = heading.unit
    problem = "no block of numbers is found: expected a V2 file of CSMIP or COSMOS."
    FileFormatError.when(not columns, "damaged", problem, Advice("Get corrected data in this format from the archive."))
    samples = {len(column) for column in columns.values()}
    if len(samples) > 1:
        raise FileFormatError("wrong-shape", f"blocks have {', '.join(map(str, sorted(samples)))} samples.")
    label, provenance = _describe(head)
    if notes:
        provenance["units"] = notes
    names = [f"{label}.{name}" if label else name for name in columns]
    return Record(
        step * np.arange(samples.pop()), np.column_stack(list(columns.values())), names, list(units.values()),
        provenance=provenance,
    )  # fmt: skip


def _sample_time(found: dict[str, str], head: list[str], line: int) -> float:
    if found.get("dt"):
        return float(found["dt"])
    count, length = int(found["count"]), float(found["length"])
    values = [float(word) for text in head for word in re.findall(r"-?\d*\.\d+", text)]
    for value in values:
        for step in (value, 1e-3 * value):  # in s or in ms
            if 0 < step < 1 and abs(step * count - length) <= 1.0:
                return step
    raise FileFormatError("no-time", "the list of real values holds no sample time that fits the duration.", line=line)


def _numbers(lines: Iterator[tuple[int, str]], count: int, form: str, line: int) -> Any:
    """A given count of numbers of fixed width."""
    width = _FORM.fullmatch(form.replace(" ", ""))
    if width is None:
        raise FileFormatError("bad-syntax", f"({form:.40}) is not a format of numbers.", line=line)
    wide, numbers = int(width[1]), np.empty(count)
    place = 0
    while place < count:
        line, text = next(lines, (line, ""))
        if not text:
            raise FileFormatError("damaged", f"{count} numbers are declared, {place} are there.", line=line)
        text = text.rstrip()
        cells = [text[k : k + wide] for k in range(0, len(text), wide)]
        for cell in cells[: count - place]:
            try:
                numbers[place] = float(cell)
            except ValueError:
                raise FileFormatError("not-a-number", f"{cell!r:.40} is not a number.", line=line) from None
            place += 1
    return numbers


def _describe(head: list[str]) -> tuple[str, dict[str, Any]]:
    """Name of the channel, and the station and place from the text."""
    provenance: dict[str, Any] = {"title": " ".join(head[0].split())} if head else {}
    channel = next((match for text in head if (match := _CHANNEL.search(text))), None)
    station = next((match for text in head if (match := _STATION_CHANNEL.search(text))), None)
    location = next((match for text in head if (match := _LOCATION.search(text))), None)
    if channel is not None:
        provenance["channel"] = " ".join(f"{channel[1]} {channel[2]}".split())
    if location is not None:
        provenance["location"] = location[1]
    number = station or channel  # the recorder's channel, where the station does not number its own
    return (f"chan{int(number[1])}" if number is not None else ""), provenance


RECORD_FORMATS.register("strong_motion", RecordFormat((".v2", ".v2c"), read))
