"""CSV text to and from records.

The whole body is parsed by NumPy at once; only when that fails are the lines read one by one, either because empty
cells are gaps, or to find the line that is wrong.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from dalembert.core.errors import FileFormatError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.files.records.bounds import LIMITS, check_size, without_column
from dalembert.files.records.format import FORMATS, Reading, RecordFormat
from dalembert.files.records.header_units import ColumnHeading, is_time_unit, read_heading, seconds
from dalembert.record import Array, Record
from dalembert.record.checks import check_time
from dalembert.record.sampling import describe_unevenness

_DELIMITERS = ",;\t|"
_DELIMITER_OF = {".csv": ",", ".tsv": "\t", ".txt": "\t"}  # of a file that is written
_FORMULA = re.compile(r"'*[=+\-@＝＋－＠].")  # what a spreadsheet would compute; an apostrophe before it makes it text
_ROWS_PER_WRITE = 4096


@dataclass(frozen=True)
class _Head:
    """What stands above the numbers: ``cells`` as written, ``headings`` with their units read."""

    cells: list[str]
    headings: list[ColumnHeading]
    clock: int | None
    delimiter: str
    lines: int
    about: dict[str, str]


def write(record: Record, path: Path, suffix: str) -> None:
    """Write every number in its shortest form that reads back the same."""
    delimiter = _DELIMITER_OF[suffix]
    with path.open("w", encoding="utf-8", newline="") as file:
        if record.name:
            file.write(f"# name: {record.name}\n")
        file.write(f"# status: {record.status}\n")
        file.write(delimiter.join(["time", *map(_quote, record.names)]) + "\n")
        file.write(delimiter.join(["s", *map(_quote, record.units.values())]) + "\n")
        for first in range(0, len(record), _ROWS_PER_WRITE):
            rows = slice(first, first + _ROWS_PER_WRITE)
            block = np.column_stack([record.time[rows], record.data[rows]]).tolist()
            file.writelines(delimiter.join(map(repr, row)) + "\n" for row in block)


def read(path: Path, how: Reading) -> Record:
    """Read a table with a header row; `FileFormatError` names the line that is wrong.

    With ``dt`` the table has no column of time: its rows are ``dt`` seconds apart.
    """
    time, dt, max_bytes, given = how.time, how.dt, how.max_bytes, how.known_units
    rows = _count_lines(path, max_bytes)
    try:
        with path.open(encoding="utf-8-sig", newline=None) as file:
            head = _read_head(file, how.delimiter, time, dt, max_bytes)
        check_size(rows - head.lines, len(head.cells) - (head.clock is not None), max_bytes)
        table = _fast(path, head)
        if table is None:
            with path.open(encoding="utf-8-sig", newline=None) as file:
                table = _line_by_line(file, head)
    except UnicodeDecodeError as error:
        raise FileFormatError(
            "not-readable", f"the text is not UTF-8 ({error.reason}).", Advice("Save it as UTF-8.")
        ) from error
    except csv.Error as error:
        raise FileFormatError("bad-syntax", f"this is not a table ({error}).") from error
    headings = [
        ColumnHeading(one.name) if cell in given or one.name in given else one
        for cell, one in zip(head.cells, head.headings, strict=True)
    ]
    head = replace(head, headings=list(headings))
    for column, heading in enumerate(head.headings):
        times, over = heading.factor
        if times != over:
            table[:, column] *= times
            table[:, column] /= over
    provenance: dict[str, Any] = {}
    clock: Array
    if dt is not None:
        clock = dt * np.arange(len(table), dtype=np.float64)
    elif head.clock is not None:
        clock = table[:, head.clock]
        _refuse_stamps(clock, path, head, time)
        check_time(clock)
        provenance = _note_unevenness(clock, path, head)
        clock = clock.copy()  # only now: the checks above take as much memory as it does
        table = without_column(table, head.clock)
        del headings[head.clock]
    provenance |= _notes(head)
    return Record(
        clock,
        table,
        [heading.name for heading in headings],
        [heading.unit for heading in headings],
        name=head.about.get("name", ""),
        status=head.about.get("status", "complete"),
        provenance=provenance,
    )


def _notes(head: _Head) -> dict[str, Any]:
    """What was made of the units in the header, for the provenance; and the names that it had."""
    pairs = list(zip(head.cells, head.headings, strict=True))
    notes = [note for cell, heading in pairs if (note := heading.describe(cell))]
    full = {cell: heading.name for cell, heading in pairs if cell != heading.name}
    return {**({"units": notes} if notes else {}), **({"headers": full} if full else {})}


def _count_lines(path: Path, max_bytes: int) -> int:
    """How many lines the file has; one that is too long for a table is refused."""
    most = min(LIMITS.line, max(max_bytes // LIMITS.line_share, LIMITS.short_line))
    lines, begun = 1, 0
    with path.open("rb") as file:
        while block := file.read(1 << 18):
            ends = np.flatnonzero(np.isin(np.frombuffer(block, dtype=np.uint8), (10, 13)))
            longest = max(int(np.diff(ends).max(initial=0)), begun + int(ends[0]) if len(ends) else begun + len(block))
            begun = len(block) - int(ends[-1]) if len(ends) else begun + len(block)
            if max(longest, begun) > most:
                raise FileFormatError("too-large", f"a line has more than {most} characters.", line=lines + len(ends))
            lines += len(ends) - block.count(b"\r\n")
    return lines


def _refuse_stamps(clock: Array, path: Path, head: _Head, time: str) -> None:
    """Refuse times that repeat, decrease or are missing, with their line."""
    code, advice = "not-increasing", ""
    good = np.isfinite(clock)
    good[1:] &= clock[1:] > clock[:-1]
    if good.all():
        return
    k = int(np.argmin(good))
    if not np.isfinite(clock[k]):
        code, why = "not-finite", f"{time!r} is {'missing' if np.isnan(clock[k]) else 'infinite'} in this row."
    elif clock[k] == clock[k - 1]:
        more = int((~good).sum())
        others = f" {more} rows have a time that does not increase." if more > 1 else ""
        why = f"the time {clock[k]:.9g} s stands here a second time.{others}"
        advice = "Take out one of both rows."
    else:
        why = f"time goes back from {clock[k - 1]:.9g} to {clock[k]:.9g} s."
        advice = "Sort the rows, or split the file here."
    raise FileFormatError(code, why, *[Advice(advice)] * bool(advice), line=_line_of(path, head, k))


def _note_unevenness(clock: Array, path: Path, head: _Head) -> dict[str, Any]:
    """A note on uneven times: the record is whole, but not every method takes it."""
    note = describe_unevenness(clock)
    if not note:
        return {}
    line = _line_of(path, head, int(np.diff(clock).argmax()) + 1)
    return {"sampling": f"{note}, line {line}; record.resample(every=...) makes them even"}


def _line_of(path: Path, head: _Head, row: int) -> int:
    """Number of the line that holds a row of the table."""
    with path.open(encoding="utf-8-sig", newline=None) as file:
        below = (number for number, _ in _number_lines(file) if number > head.lines)
        return next(islice(below, row, None), head.lines)


def _read_head(file: TextIO, delimiter: str | None, time: str, dt: float | None, max_bytes: int) -> _Head:
    about: dict[str, str] = {}
    lines = _number_lines(file, about)
    line, text = next(lines, (0, ""))
    if not line:
        raise FileFormatError("no-header", "the file has no header row.")
    if delimiter is None:
        delimiter = _delimiter(text)
    elif len(delimiter) != 1:
        raise FileFormatError("out-of-range", f"delimiter must be one character, not {delimiter!r}.")
    check_size(1, text.count(delimiter), max_bytes)
    names = [_plain(cell) for cell in _cells(text, delimiter)]
    if all(_is_number(cell) for cell in names):
        raise FileFormatError("no-header", "the first row holds numbers; expected the names of the columns.", line=line)
    seen: set[str] = set()
    for i, name in enumerate(names):
        if not name:
            raise FileFormatError("bad-name", f"column {i + 1} has no name in the header.", line=line)
        if name in seen:
            raise FileFormatError("taken-name", f"two columns are named {name!r:.80} in the header.", line=line)
        seen.add(name)
    if len(names) < 2:  # a single channel without time is no table either: a delimiter was missed
        raise FileFormatError(
            "bad-syntax",
            f"there is one column only, {names[0]!r:.80}.",
            Advice("Check {}.", Argument("delimiter")),
            line=line,
        )
    second, text = next(lines, (0, ""))
    if not second:
        raise FileFormatError("empty", "there is no row of numbers under the header.", line=line)
    cells = _cells(text, delimiter)
    units = None
    if _is_units(cells):
        if len(cells) != len(names):
            raise FileFormatError("ragged-row", _describe_ragged(cells, names, delimiter, "units"), line=second)
        units = [_plain(cell) for cell in cells]
        if not any(lines):
            raise FileFormatError("empty", "there is no row of numbers under the units.", line=second)
    clock = _clock(names, time, dt, line)
    headings = _headings(names, units, clock)
    return _Head(names, headings, clock, delimiter, second if units else line, about)


def _clock(names: list[str], time: str, dt: float | None, line: int) -> int | None:
    """Which column is time, by its header or by its name without the unit."""
    found = [k for k, name in enumerate(names) if name == time]
    found += [k for k, name in enumerate(names) if read_heading(name).name == time and k not in found]
    if dt is not None:
        if found:
            there = names[found[0]]
            raise FileFormatError(
                "conflicting-arguments", f"dt is for files without time, but there is a column {there!r}.", line=line
            )
        return None
    if not found:
        raise FileFormatError(
            "no-time",
            unknown_name("column", time, names, "the header"),
            Advice("Name the column of time by {}.", Argument("time")),
            Advice("Give {} where there is none.", Argument("dt")),
            line=line,
            where={"name": time},
        )
    return found[0]


def _headings(cells: list[str], units: list[str] | None, clock: int | None) -> list[ColumnHeading]:
    """Names and units. A row of units leaves the names alone; without one the header is searched for them."""
    found = [read_heading(cell, is_time=k == clock) for k, cell in enumerate(cells)]
    if clock is not None:
        time = found[clock]
        if units is not None and units[clock]:
            factor = seconds(units[clock])
            given = units[clock].strip("[]() ")
            if factor and time.understood and time.given and factor != time.factor:
                raise FileFormatError(
                    "unit-mismatch", f"time is in {time.given} by the header, in {given} by the units."
                )
            time = ColumnHeading(cells[clock], "s", factor or time.factor, given, factor is not None)
        if not time.understood:
            raise FileFormatError(
                "unit-mismatch", f"the unit of time is {time.given!r:.80}; expected one of s, ms, us, ns, min, h."
            )
        found[clock] = time
    if units is not None:
        return [found[k] if k == clock else ColumnHeading(cell, units[k]) for k, cell in enumerate(cells)]
    # where two columns differ by their unit alone, or would be called time, both keep it in their names
    short = Counter(heading.name for heading in found)
    taken = {cell for cell, heading in zip(cells, found, strict=True) if cell == heading.name} | {"time"}
    keep = {name for name, count in short.items() if count > 1 or name in taken}
    return [
        replace(heading, name=cell) if heading.name in keep and k != clock else heading
        for k, (cell, heading) in enumerate(zip(cells, found, strict=True))
    ]


def _number_lines(file: TextIO, about: dict[str, str] | None = None) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without comments and blank lines; known remarks go into `about`."""
    for number, text in enumerate(file, 1):
        stripped = text.strip()
        if stripped.startswith("#"):
            key, colon, value = stripped[1:].partition(":")
            if about is not None and colon and key.strip() in ("name", "status"):
                about[key.strip()] = " ".join(value.split())
        elif stripped:
            yield number, text.rstrip("\n")


def _quote(text: str) -> str:
    if _FORMULA.match(text):
        text = "'" + text
    # more than RFC 4180 asks for: a name with another delimiter in it must not mislead `_delimiter`
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in _DELIMITERS + '"#') else text


def _plain(cell: str) -> str:
    """A name or unit without the apostrophe that keeps a spreadsheet from computing it."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _delimiter(header: str) -> str:
    outside = "".join(header.split('"')[::2])
    return max(_DELIMITERS, key=outside.count)


def _cells(text: str, delimiter: str) -> list[str]:
    # any white space becomes one blank: spreadsheets put no-break spaces into headers
    return [" ".join(cell.split()) for cell in next(csv.reader([text], delimiter=delimiter, skipinitialspace=True))]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_000, other programs do not


def _is_units(cells: Sequence[str]) -> bool:
    """A row of units: it starts with a unit of time, or no cell is a number."""
    if is_time_unit(cells[0]):
        return True
    return any(cells) and not any(_is_number(cell) for cell in cells)


def _fast(path: Path, head: _Head) -> Array | None:
    """All numbers at once, or None when a line is not what it should be."""
    try:
        table = np.loadtxt(
            str(path.absolute()),
            delimiter=head.delimiter,
            comments="#",
            quotechar='"',
            skiprows=head.lines,
            ndmin=2,
            encoding="utf-8-sig",
        )
    except UnicodeDecodeError:
        raise
    except ValueError:
        return None
    return table if table.shape[1] == len(head.cells) else None


def _line_by_line(file: TextIO, head: _Head) -> Array:
    numbers = array("d")
    width = len(head.cells)
    above = ((number, text) for number, text in _number_lines(file) if number > head.lines)
    for number, text in above:
        cells = _cells(text.partition("#")[0], head.delimiter)
        if len(cells) != width:
            raise FileFormatError("ragged-row", _describe_ragged(cells, head.cells, head.delimiter, "row"), line=number)
        for name, cell in zip(head.cells, cells, strict=True):
            if not cell:
                numbers.append(np.nan)
            elif _is_number(cell):
                numbers.append(float(cell))
            else:
                hint = [Advice("Write decimals with a point.")] if "," in cell else []
                raise FileFormatError(
                    "not-a-number", f"{cell!r:.80} in column {name!r:.80} is not a number.", *hint, line=number
                )
    return np.frombuffer(numbers, dtype=np.float64).reshape(-1, width)


def _describe_ragged(cells: Iterable[str], names: Iterable[str], delimiter: str, what: str) -> str:
    found, expected = len(list(cells)), len(list(names))
    shown = ", ".join(f"{name:.40}" for name in islice(names, 8))
    return f"the {what} has {found} cells, the header {expected} ({shown}); cells are separated by {delimiter!r}."


FORMATS.register("csv", RecordFormat(tuple(_DELIMITER_OF), read, write))
