"""Text tables to and from records: numbers under a header row, with or without lines before it."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice
from dalembert.core.progress import Progress
from dalembert.files.records.format import RECORD_FORMATS, Reading, RecordFormat
from dalembert.files.tables.body import TextBody, line_of, number_lines, read_body
from dalembert.files.tables.bounds import check_size, without_column
from dalembert.files.tables.cells import is_date, is_number, is_stamp, iso_date, split_cells, with_point
from dalembert.files.tables.clock import BY_RATE, date_of, marks_per_second, require_time, settle_times, step_of_column
from dalembert.files.tables.encoding import WINDOWS, count_lines
from dalembert.files.tables.header import quote_cell, read_head
from dalembert.files.tables.header_units import ColumnHeading
from dalembert.files.tables.headings import convert, describe_headings, leave_given, read_headings
from dalembert.files.tables.layout import TextTable, find_table
from dalembert.record import Array, Record
from dalembert.record.checks import check_time
from dalembert.record.sampling import describe_unevenness

_DELIMITER_OF = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".dat": "\t"}  # of a file that is written
_ROWS_PER_WRITE = 4096


def write(record: Record, path: Path, suffix: str) -> None:
    """Write every number in its shortest form that reads back the same."""
    delimiter = _DELIMITER_OF[suffix]
    with path.open("w", encoding="utf-8", newline="") as file:
        if record.name:
            file.write(f"# name: {record.name}\n")
        file.write(f"# status: {record.status}\n")
        file.write(delimiter.join(["time", *map(quote_cell, record.names)]) + "\n")
        file.write(delimiter.join(["s", *map(quote_cell, record.units.values())]) + "\n")
        for first in range(0, len(record), _ROWS_PER_WRITE):
            rows = slice(first, first + _ROWS_PER_WRITE)
            block = np.column_stack([record.time[rows], record.data[rows]]).tolist()
            file.writelines(delimiter.join(map(repr, row)) + "\n" for row in block)


def read(path: Path, how: Reading) -> Record:
    """Read a table with a header row; `FileFormatError` names the line that is wrong.

    With ``dt`` the table has no column of time: its rows are ``dt`` seconds apart.
    """
    rows, encoding = count_lines(path, how.max_bytes)
    about: dict[str, str] = {}
    above_table: list[str] = []
    words: Counter[tuple[int, str]] = Counter()
    try:
        with path.open(encoding=encoding, newline=None) as file:
            lines = (line for line in number_lines(file, about, above_table) if line[0] > (how.skip or 0))
            first_line = list(islice(lines, 1))
            layout = find_table(
                chain(first_line, lines),
                _one_mark(how.delimiter),
                header_first="status" in about or how.skip is not None,
                above=list(above_table),
                nameless=how.dt is not None or (how.time or "").startswith("channel"),
            )
        cells, units, above = read_head(layout, how.max_bytes)
        clock = require_time(cells, how.time, how.dt, line=layout.header[0] if layout.header else None)
        headings = leave_given(cells, read_headings(cells, units, clock, si=not about), how.known_units)
        check_size(rows - above, len(cells) - (clock is not None), how.max_bytes)
        body = _body(path, encoding, layout, cells, units, above, rows - above, clock, headings)
        with Progress(how.progress, f"read {path.name}") as progress:
            table, first = read_body(body, progress, words)
    except UnicodeDecodeError as error:
        raise FileFormatError(
            "not-readable", f"the text is not UTF-8 ({error.reason}).", Advice("Save it as UTF-8.")
        ) from error
    except csv.Error as error:
        raise FileFormatError("bad-syntax", f"this is not a table ({error}).") from error
    provenance: dict[str, Any] = {}
    if first:
        if "T" not in first and body.ignored and (day := _first_day(body)):
            first = f"{day}T{first}"
        headings[clock or 0] = ColumnHeading(headings[clock or 0].name, "s")
    elif body.origin is not None:
        first = _date(body.origin[1], headings[body.origin[0]])
    if first:
        provenance["start"] = first
    convert(table, headings)
    times: Array
    channels, dropped = list(headings), {*body.ignored} | ({clock} if clock is not None else set())
    # a column of words alone is no channel
    texts = {k for k, _ in words if k >= 0 and k not in dropped and np.isnan(table[:, k]).all()}
    dropped |= texts
    step = how.dt
    if step is None and clock is None:
        step, column = step_of_column(cells, table)
        dropped.add(column)
        provenance["sampling"] = f"sample time {step:.9g} s from column {cells[column]!r}"
    if step is not None:
        times = step * np.arange(len(table), dtype=np.float64)
    else:
        assert clock is not None
        times, notes = (table[:, clock], {}) if about else settle_times(table[:, clock])
        _refuse_stamps(times, body, cells[clock])
        check_time(times)
        provenance |= notes or _note_unevenness(times, body)
        times = times.copy()  # only now: the checks above take as much memory as this copy
    for column in sorted(dropped, reverse=True):
        table = without_column(table, column)
        del channels[column]
    FileFormatError.when(not channels, "empty", "there is no column besides time.")
    if words:
        provenance["cells"] = _describe_words(words, cells, texts)
    provenance |= describe_headings(cells, headings)
    if layout.preamble:
        provenance["preamble"] = layout.preamble
    if encoding == WINDOWS:
        provenance["encoding"] = "not UTF-8: read as Windows-1252"
    return Record(
        times, table, [heading.name for heading in channels], [heading.unit for heading in channels],
        name=about.get("name", ""), status=about.get("status", "complete"), provenance=provenance,
    )  # fmt: skip


def _describe_words(words: Counter[tuple[int, str]], cells: list[str], texts: set[int]) -> list[str]:
    """Cells that are no numbers, in words."""
    notes = [text for k, text in words if k < 0] + [f"{cells[k]!r:.80} holds words: left out" for k in sorted(texts)]
    for (k, word), count in words.items():
        if k >= 0 and k not in texts:
            notes.append(f"{count} cell{'s'[: count > 1]} {cells[k]!r:.80} with {word!r:.40}, no number: a gap")
    return notes


def _one_mark(delimiter: str | None) -> str | None:
    problem = f"delimiter must be one character, not {delimiter!r}."
    FileFormatError.when(delimiter is not None and len(delimiter) != 1, "out-of-range", problem)
    return delimiter


def _body(
    path: Path, encoding: str, found: TextTable, cells: list[str], units: list[str] | None, above: int, rows: int,
    clock: int | None, headings: list[ColumnHeading],
) -> TextBody:  # fmt: skip
    """The place of the numbers; the first row shows the number of columns, and whether time is a date."""
    with path.open(encoding=encoding, newline=None) as file:
        text = next((text for number, text in number_lines(file) if number > above), None)
    if text is None:
        raise FileFormatError(
            "empty", f"there is no row of numbers under the {'units' if units else 'header'}.", line=above
        )
    first = split_cells(text.partition("#")[0], found.delimiter)
    width = max(len(first), len(cells)) if not any(first[len(cells) :]) else len(cells)
    cell = first[clock] if clock is not None and clock < len(first) else ""
    dated = clock if is_stamp(cell) else None
    number = with_point(cell, found.decimal) if is_number(cell, found.decimal) else "0"
    if clock is not None and not headings[clock].given:
        headings[clock] = replace(headings[clock], factor=(1.0, marks_per_second(float(number))))
    origin = (clock, number) if clock is not None and _date(number, headings[clock]) else None
    dates = tuple(k for k, cell in enumerate(first[: len(cells)]) if is_date(cell))
    return TextBody(path, encoding, above, cells, width, rows, found.delimiter, found.decimal, dated, origin, dates)


def _first_day(body: TextBody) -> str:
    """The date in the first row, beside a time of day, in ISO 8601."""
    with body.path.open(encoding=body.encoding, newline=None) as file:
        text = next(text for number, text in number_lines(file) if number > body.lines)
    cells = split_cells(text, body.delimiter)
    clock = cells[body.stamps] if body.stamps is not None else ""
    return iso_date(cells[body.ignored[0]], american=clock.lower().rstrip(".").endswith("m"))


def _date(number: str, heading: ColumnHeading) -> str:
    times, over = heading.factor
    return date_of(float(number) * times / over)


def _refuse_stamps(clock: Array, body: TextBody, name: str) -> None:
    """Refuse times that repeat, decrease or are missing, with their line."""
    code, advice = "not-increasing", list[Advice]()
    good = np.isfinite(clock)
    good[1:] &= clock[1:] > clock[:-1]
    if good.all():
        return
    k = int(np.argmin(good))
    if not np.isfinite(clock[k]):
        code, why = "not-finite", f"{name!r} is {'missing' if np.isnan(clock[k]) else 'infinite'} in this row."
    elif clock[k] == clock[k - 1]:
        more = int((~good).sum())
        others = f" {more} rows have a time that does not increase." if more > 1 else ""
        why = f"the time {clock[k]:.9g} s occurs here a second time.{others}"
        advice = [Advice("Remove one of the two rows, or give {} in place of these times.", *BY_RATE)]
    else:
        why = f"time goes back from {clock[k - 1]:.9g} to {clock[k]:.9g} s."
        advice = [Advice("Sort the rows, split the file here, or give {} in place of these times.", *BY_RATE)]
    raise FileFormatError(code, why, *advice, line=line_of(body, k))


def _note_unevenness(clock: Array, body: TextBody) -> dict[str, Any]:
    """A note on uneven times: the record is whole, but not every method takes it."""
    note = describe_unevenness(clock)
    if not note:
        return {}
    line = line_of(body, int(np.diff(clock).argmax()) + 1)
    return {"sampling": f"{note}, line {line}"}


RECORD_FORMATS.register("csv", RecordFormat(tuple(_DELIMITER_OF), read, write))
