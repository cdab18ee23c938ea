"""CSV text to and from records.

The whole body is parsed by NumPy at once; only when that fails are the lines read one by one, either because empty
cells are gaps, or to say which line is wrong.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np

from dalembert.errors import FileFormatError, unknown_name
from dalembert.record import Array, Record
from dalembert.record.sampling import unevenness

_DELIMITERS = ",;\t|"
_SECONDS = {"s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6}
_SECONDS |= {"ns": 1e-9, "min": 60.0, "h": 3600.0, "": 1.0}
_LINE_LIMIT = 4_000_000  # characters; a longer line is not a table
_ROWS_PER_WRITE = 4096


@dataclass(frozen=True)
class _Head:
    """What stands above the numbers."""

    names: list[str]
    units: list[str]
    delimiter: str
    lines: int
    about: dict[str, str]


def write(record: Record, path: Path, delimiter: str) -> None:
    """Write every number in its shortest form that reads back the same."""
    with path.open("w", encoding="utf-8", newline="") as file:
        for key, value in (("name", record.name), ("status", record.status)):
            if value:
                file.write(f"# {key}: {value}\n")
        file.write(delimiter.join(["time", *map(_quoted, record.names)]) + "\n")
        file.write(delimiter.join(["s", *map(_quoted, record.units.values())]) + "\n")
        for first in range(0, len(record), _ROWS_PER_WRITE):
            rows = slice(first, first + _ROWS_PER_WRITE)
            block = np.column_stack([record.time[rows], record.data[rows]]).tolist()
            file.writelines(delimiter.join(map(repr, row)) + "\n" for row in block)


def read(path: Path, time: str, delimiter: str | None, dt: float | None = None) -> Record:
    """Read a table with a header row; `FileFormatError` says the line where it goes wrong.

    With ``dt`` the table has no column of time: its rows are ``dt`` seconds apart.
    """
    try:
        with path.open(encoding="utf-8-sig", newline=None) as file:
            head = _read_head(file, path, delimiter)
        if dt is None and time not in head.names:
            known = unknown_name("column", time, head.names, "the header")
            advice = "Name the column of time by time=, or give dt= where there is none."
            raise FileFormatError(f"{known} {advice}", str(path), head.lines)
        if dt is not None and time in head.names:
            raise FileFormatError(
                f"dt is for files without time, but there is a column {time!r}.", str(path), head.lines
            )
        table = _fast(path, head)
        if table is None:
            with path.open(encoding="utf-8-sig", newline=None) as file:
                table = _line_by_line(file, path, head)
    except UnicodeDecodeError as error:
        raise FileFormatError(f"the text is not UTF-8 ({error.reason}). Save it as UTF-8.", str(path)) from error
    except csv.Error as error:
        raise FileFormatError(f"this is not a table ({error}).", str(path)) from error
    rest = list(range(len(head.names)))
    if dt is not None:
        clock: Array = dt * np.arange(len(table), dtype=np.float64)
    else:
        column = head.names.index(time)
        unit = head.units[column].strip("[]() ")
        if unit not in _SECONDS:
            raise FileFormatError(f"the unit of time is {unit!r}; expected one of s, ms, us, min, h.", str(path))
        rest.remove(column)
        scale = _SECONDS[unit]
        clock = table[:, column] if scale == 1.0 else table[:, column] * scale
        _refuse_stamps(clock, path, head, time)
    return Record(
        clock,
        table[:, rest],
        [head.names[i] for i in rest],
        [head.units[i] for i in rest],
        name=head.about.get("name", ""),
        status=head.about.get("status", "complete"),
        provenance=_uneven(clock, path, head) if dt is None else None,
    )


def _refuse_stamps(clock: Array, path: Path, head: _Head, time: str) -> None:
    """Times that repeat, go back or are missing, told by their line."""
    good = np.isfinite(clock)
    good[1:] &= clock[1:] > clock[:-1]
    if good.all():
        return
    k = int(np.argmin(good))
    if not np.isfinite(clock[k]):
        why = f"{time!r} is {'missing' if np.isnan(clock[k]) else 'infinite'} in this row."
    elif clock[k] == clock[k - 1]:
        more = int((~good).sum())
        others = f" {more} rows have a time that does not increase." if more > 1 else ""
        why = f"the time {clock[k]:.9g} s stands here a second time.{others} Take out one of both rows."
    else:
        why = f"time goes back from {clock[k - 1]:.9g} to {clock[k]:.9g} s. Sort the rows, or split the file here."
    raise FileFormatError(why, str(path), _line_of(path, head, k))


def _uneven(clock: Array, path: Path, head: _Head) -> dict[str, str]:
    """What is told of uneven times: the record is whole, but not every method takes it."""
    told = unevenness(clock)
    if not told:
        return {}
    line = _line_of(path, head, int(np.diff(clock).argmax()) + 1)
    return {"sampling": f"{told}, line {line}; record.resample(every=...) makes them even"}


def _line_of(path: Path, head: _Head, row: int) -> int:
    """Number of the line that holds a row of the table."""
    with path.open(encoding="utf-8-sig", newline=None) as file:
        below = (number for number, _ in _numbered(file, path) if number > head.lines)
        return next(islice(below, row, None), head.lines)


def _read_head(file: TextIO, path: Path, delimiter: str | None) -> _Head:
    about: dict[str, str] = {}
    lines = _numbered(file, path, about)
    line, text = next(lines, (0, ""))
    if not line:
        raise FileFormatError("the file has no header row.", str(path))
    if delimiter is None:
        delimiter = _delimiter(text)
    elif len(delimiter) != 1:
        raise FileFormatError(f"delimiter must be one character, not {delimiter!r}.", str(path))
    names = _cells(text, delimiter)
    if all(_is_number(cell) for cell in names):
        raise FileFormatError("the first row holds numbers; expected the names of the columns.", str(path), line)
    for i, name in enumerate(names):
        if not name:
            raise FileFormatError(f"column {i + 1} has no name in the header.", str(path), line)
        if name in names[:i]:
            raise FileFormatError(f"two columns are named {name!r} in the header.", str(path), line)
    if len(names) < 2:  # a single channel without time is no table either: a delimiter was missed
        raise FileFormatError(f"there is one column only, {names[0]!r}. Is the delimiter right?", str(path), line)
    units = [""] * len(names)
    second, text = next(lines, (0, ""))
    if not second:
        raise FileFormatError("there is no row of numbers under the header.", str(path), line)
    cells = _cells(text, delimiter)
    if _is_units(cells):
        line = second
        if len(cells) != len(names):
            raise FileFormatError(_ragged(cells, names, delimiter, "units"), str(path), line)
        units = cells
        if not any(lines):
            raise FileFormatError("there is no row of numbers under the units.", str(path), line)
    return _Head(names, units, delimiter, line, about)


def _numbered(file: TextIO, path: Path, about: dict[str, str] | None = None) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without comments and blank lines; known remarks go into `about`."""
    number = 0
    while text := file.readline(_LINE_LIMIT):
        number += 1
        if len(text) >= _LINE_LIMIT:
            raise FileFormatError(f"the line has more than {_LINE_LIMIT} characters.", str(path), number)
        stripped = text.strip()
        if stripped.startswith("#"):
            key, colon, value = stripped[1:].partition(":")
            if about is not None and colon and key.strip() in ("name", "status"):
                about[key.strip()] = " ".join(value.split())
        elif stripped:
            yield number, text.rstrip("\n")


def _quoted(text: str) -> str:
    # more than RFC 4180 asks for: a name with another delimiter in it must not mislead `_delimiter`
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in _DELIMITERS + '"#') else text


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
    if cells[0].strip("[]() ") in _SECONDS.keys() - {""}:
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
    return table if table.shape[1] == len(head.names) else None


def _line_by_line(file: TextIO, path: Path, head: _Head) -> Array:
    numbers = array("d")
    width = len(head.names)
    above = ((number, text) for number, text in _numbered(file, path) if number > head.lines)
    for number, text in above:
        cells = _cells(text.partition("#")[0], head.delimiter)
        if len(cells) != width:
            raise FileFormatError(_ragged(cells, head.names, head.delimiter, "row"), str(path), number)
        for name, cell in zip(head.names, cells, strict=True):
            if not cell:
                numbers.append(np.nan)
            elif _is_number(cell):
                numbers.append(float(cell))
            else:
                hint = " Write decimals with a point." if "," in cell else ""
                raise FileFormatError(f"{cell!r} in column {name!r} is not a number.{hint}", str(path), number)
    return np.frombuffer(numbers, dtype=np.float64).reshape(-1, width)


def _ragged(cells: Iterable[str], names: Iterable[str], delimiter: str, what: str) -> str:
    found, expected = len(list(cells)), len(list(names))
    shown = ", ".join(islice(names, 8))
    return f"the {what} has {found} cells, the header {expected} ({shown}); cells are separated by {delimiter!r}."
