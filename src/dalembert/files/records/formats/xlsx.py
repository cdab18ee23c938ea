"""Worksheets of Excel to records: the first sheet that holds a table of numbers.

A file is an archive of XML texts, which may unpack to any size: sizes are compared with the bound before openpyxl reads
them, row by row, in a separate process. Formulas are not computed: a cell holds the value that was last stored.
"""

from __future__ import annotations

import datetime
import zipfile
from array import array
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.errors import DataError, FileFormatError, require_extra
from dalembert.files.modal.recognition import looks_modal, modal_error
from dalembert.files.records.format import RECORD_FORMATS, RecordFormat
from dalembert.files.records.sections import read_apart
from dalembert.files.tables import layout
from dalembert.files.tables.body import describe_ragged
from dalembert.files.tables.bounds import check_size
from dalembert.files.tables.cells import is_date, is_missing, is_stamp, is_word, seconds_of_stamps
from dalembert.files.tables.clock import date_of, marks_per_second, require_time, step_of_column
from dalembert.files.tables.header import read_head
from dalembert.files.tables.headings import convert, describe_headings, read_headings
from dalembert.files.tables.layout import TextTable, count_numbers, find_header

LIBRARIES = ("openpyxl",)


def sections(path: Path, time: str | None, max_bytes: int, dt: float | None) -> Iterator[Any]:
    """Numbers of the first sheet with a table."""
    openpyxl = require_extra("openpyxl", "lab")
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        problem = f"the file unpacks to {size} bytes, more than max_bytes = {max_bytes}."
        FileFormatError.when(size > max_bytes, "too-large", problem)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # writers leave the stored size of a sheet stale: rows beyond it would be lost
        tops = ((sheet, _top(sheet)) for sheet in book.worksheets)
        filled = [(sheet, top) for sheet, top in tops if top]
        FileFormatError.when(not filled, "empty", "no sheet of the file holds a table.")
        # a cover page has texts, and no second row of numbers below the first
        table = (sheet_ for sheet_ in filled if min(count_numbers([texts for _, texts in sheet_[1]])) > 1)
        yield from _sections(*next(table, filled[0]), time, max_bytes, dt)
    except (DataError, FileFormatError):
        raise
    except Exception as error:  # openpyxl passes on errors of zipfile and the XML parser
        raise FileFormatError("damaged", f"this is not a worksheet that can be read ({error}).") from error


def _rows(sheet: Any, most: int | None = None) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """First rows that are not blank, each with its line."""
    lines = enumerate(sheet.iter_rows(values_only=True), 1)
    return islice(((line, row) for line, row in lines if any(cell is not None for cell in row)), most)


def _top(sheet: Any) -> list[tuple[int, list[str]]]:
    return [(line, _strip([_text(cell) for cell in row])) for line, row in _rows(sheet, layout.LINES)]


def _sections(
    sheet: Any, top: list[tuple[int, list[str]]], time: str | None, max_bytes: int, dt: float | None
) -> Iterator[Any]:
    first = find_header([texts for _, texts in top])
    heading = top[first][0]
    names, units, above = read_head(TextTable("\t", ".", top[first], next(iter(top[first + 1 :]), None)), max_bytes)
    if looks_modal(names, 0) and looks_modal(names, sum(1 for _ in _rows(sheet))):
        raise modal_error(None, heading)
    clock = require_time(names, time, dt, line=heading)
    headings = read_headings(names, units, clock)
    table, started, days = _numbers(sheet, names, above, clock, max_bytes)
    if clock is not None:
        times, over = headings[clock].factor
        number = float(table[0, clock])
        over *= 1.0 if headings[clock].given else marks_per_second(number)
        if start := date_of(number * times / over):  # before the digits of a float are used up by the date
            started, headings[clock] = start, replace(headings[clock], factor=(times, over))
            table[:, clock] -= table[0, clock]
    convert(table, headings)
    provenance: dict[str, Any] = {"sheet": str(sheet.title), **({"start": started} if started else {})}
    rate = None
    if clock is None and dt is None:
        dt, rate = step_of_column(names, table)
    chosen = [k for k in range(len(names)) if k not in (clock, rate, *days)]
    yield {
        "samples": len(table), "dt": dt, "names": [headings[k].name for k in chosen],
        "units": [headings[k].unit for k in chosen], "provenance": provenance | describe_headings(names, headings),
    }  # fmt: skip
    for k in ([clock] if clock is not None and dt is None else []) + chosen:
        yield np.ascontiguousarray(table[:, k])


def _numbers(
    sheet: Any, names: list[str], above: int, clock: int | None, max_bytes: int
) -> tuple[Any, str, set[int]]:  # fmt: skip
    """Numbers below a line; the first date where time is one; and columns of dates beside times of day."""
    numbers, width = array("d"), len(names)
    stamps: list[str] = []
    lines: list[int] = []
    days: set[int] = set()
    for line, cells in _rows(sheet):
        if line <= above:
            continue
        check_size(len(numbers) // width + 1, width, max_bytes)
        if any(_text(cell) for cell in cells[width:]):
            raise FileFormatError("ragged-row", describe_ragged(len(cells), names, "\t", "row"), line=line)
        day = ""
        for k in range(width):
            cell = cells[k] if k < len(cells) else None
            if k == clock and (isinstance(cell, datetime.datetime | datetime.time) or is_stamp(_text(cell))):
                stamps.append(_text(cell))
                lines.append(line)
                numbers.append(np.nan)
            elif clock is not None and (isinstance(cell, datetime.datetime) or is_date(_text(cell))):
                day = cell.date().isoformat() if isinstance(cell, datetime.datetime) else str(cell)
                days.add(k)
                numbers.append(np.nan)
            elif isinstance(cell, bool) or not isinstance(cell, int | float):
                if cell is not None and not is_missing(text := _text(cell)) and not is_word(text):
                    problem = f"{_text(cell)!r:.80} in column {names[k]!r:.80} is not a number."
                    raise FileFormatError("not-a-number", problem, line=line)
                numbers.append(np.nan)
            else:
                numbers.append(float(cell))
        if day and stamps and ":" in stamps[-1][:3]:
            stamps[-1] = f"{day} {stamps[-1]}"
    FileFormatError.when(not numbers, "empty", "there is no row of numbers under the header.", line=above)
    table, started = np.frombuffer(numbers, dtype=np.float64).reshape(-1, width), ""
    if clock is not None and len(stamps) == len(table):
        try:
            table[:, clock], started = seconds_of_stamps(stamps)
        except ValueError as error:
            k = int(error.args[0])
            problem = f"{stamps[k]!r:.80} is not a time (ISO 8601)."
            raise FileFormatError("not-a-number", problem, line=lines[k]) from None
    return table, started, days


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime.datetime):
        return cell.isoformat()
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return repr(float(cell))
    return " ".join(str(cell).split())


def _strip(cells: list[str]) -> list[str]:
    """Without empty cells at the end: a sheet is as wide as its widest row."""
    while len(cells) > 1 and not cells[-1]:
        cells.pop()
    return cells


_READ = read_apart("dalembert.files.records.formats.xlsx:sections")
RECORD_FORMATS.register("xlsx", RecordFormat((".xlsx", ".xlsm"), _READ))
