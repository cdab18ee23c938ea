"""Layout of a table in a text: lines before it, delimiter, decimal mark, header, row of units.

Loggers write lines about themselves above a table (``sep=,``, device, date), and none of them marks its end. The table
is found from its numbers: the first two lines in a row that hold numbers only, as many in both. The header is the
nearest line above them without a number; one above that is the header if this one holds units.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from dalembert.core.errors import DataError
from dalembert.files.tables.cells import (
    BLANKS,
    has_comma,
    has_thousands,
    is_date,
    is_missing,
    is_number,
    is_stamp,
    split_cells,
)
from dalembert.files.tables.clock import is_time_name
from dalembert.files.tables.header_units import is_time_unit
from dalembert.record.units import normalise_spelling, read_whole_unit

DELIMITERS = ",;\t|"
_SEPARATOR = re.compile(r"sep\s*=\s*(.)\s*", re.IGNORECASE)
_PAIR = re.compile(r"\s*(?P<key>[^:=]{1,60}?)\s*[:=]\s*(?P<value>\S.*)")


# Limits of the search for a table.
LINES = 400  # of text before the numbers, at most: headers of strong-motion loggers have up to 120
PAIRS = 100  # of a key and a value that are kept from it
VALUE = 200  # characters of such a value


@dataclass(frozen=True)
class TextTable:
    """A table in a text.

    header : (line, cells), None where the text has none.  below : the cells right under it.
    delimiter, decimal : how its cells are written.  preamble : pairs of a key and a value from the lines before it.
    """

    delimiter: str
    decimal: str = "."
    header: tuple[int, list[str]] | None = None
    below: tuple[int, list[str]] | None = None
    preamble: dict[str, str] = field(default_factory=dict)


def find_table(
    lines: Iterable[tuple[int, str]], delimiter: str | None = None, *, header_first: bool = False,
    above: Sequence[str] = (), nameless: bool = False,
) -> TextTable:  # fmt: skip
    """The table that begins within the first lines; ``lines`` are numbered, without comments and blank lines.

    header_first : whether the first line is the header, as in a file that this package has written.
    above : comments before the first line.  nameless : whether columns without names are called channel1, ...
    """
    some = list(islice(lines, 3 if header_first else LINES))
    if some and (found := _SEPARATOR.fullmatch(some[0][1])):
        delimiter = delimiter or found[1]
        del some[0]
    if not some:
        return TextTable(delimiter or ",")
    best: tuple[tuple[int, int], int, str, str, list[list[str]]] | None = None
    for candidate in () if header_first else [delimiter] if delimiter else [*DELIMITERS, BLANKS]:
        rows = [split_cells(text, candidate) for _, text in some]
        commas = candidate != "," and any(has_comma(c) for row in rows for c in row)
        decimal = "," if commas and not any(has_thousands(c, ".") for row in rows for c in row) else "."
        start, score = _first_numbers(rows, decimal)
        if score[1] > (0 if delimiter else 1) and (best is None or score > best[0]):
            best = (score, start, candidate, decimal, rows)
    if best is None:  # no numbers: the errors of a table without them name the first line
        chosen = delimiter or _delimiter_of(some[0][1])
        rows = [split_cells(text, chosen) for _, text in some[:3]]  # names, perhaps units, numbers
        decimal = "," if chosen != "," and any(has_comma(cell) for row in rows[1:] for cell in row) else "."
        return _table(some, rows, 0, chosen, decimal)
    _, start, chosen, decimal, rows = best
    header = _header_above(rows, start, decimal)
    if start == 0 and any(map(str.strip, above)):  # numpy.savetxt writes the names as a comment
        for mark in (*(() if chosen == BLANKS else (chosen,)), *DELIMITERS, BLANKS):
            names = split_cells(above[-1].lstrip("# "), mark)
            if len(names) == len(rows[0]) and not all(is_number(name, decimal) for name in names):
                return TextTable(chosen, decimal, (some[0][0] - 1, names), (some[0][0], rows[0]))
    if start == 0 and nameless and header == 0:
        names = [f"channel{k + 1}" for k in range(_width_of_numbers(rows[0], decimal))]
        return TextTable(chosen, decimal, (some[0][0] - 1, names), (some[0][0], rows[0]))
    return _table(some, rows, header, chosen, decimal)


def count_numbers(rows: Sequence[list[str]]) -> tuple[int, int]:
    """Number of rows of a table of numbers among rows of a worksheet, and of its columns."""
    return _first_numbers(rows, ".")[1]


def find_header(rows: Sequence[list[str]]) -> int:
    """Number of the row of names in a worksheet; 0 where none is found, for its error."""
    start, (_, width) = _first_numbers(rows, ".")
    return _header_above(rows, start, ".") if width else 0


def _table(
    lines: Sequence[tuple[int, str]], rows: Sequence[list[str]], header: int, delimiter: str, decimal: str
) -> TextTable:
    number = [line for line, _ in lines]
    below = (number[header + 1], rows[header + 1]) if header + 1 < len(rows) else None
    return TextTable(
        delimiter,
        decimal,
        (number[header], rows[header]),
        below,
        _pairs([text for _, text in lines[:header]], delimiter),
    )


def _first_numbers(rows: Sequence[list[str]], decimal: str) -> tuple[int, tuple[int, int]]:
    """First of two rows with equally many numbers; number of such rows, and of their cells."""
    widths = [_width_of_numbers(row, decimal) for row in rows]
    for k, width in enumerate(widths):
        if width and (k + 1 == len(rows) or widths[k + 1] == width):
            return k, (sum(w == width for w in widths), width)
    return 0, (0, 0)


def _width_of_numbers(row: Sequence[str], decimal: str) -> int:
    """Number of cells of a row that holds only numbers, without empty cells at its end; 0 for any other row."""
    if not any(is_number(cell, decimal) for cell in row):
        return 0
    if not all(is_number(cell, decimal) or is_missing(cell) or is_stamp(cell) or is_date(cell) for cell in row):
        return 0
    width = len(row)
    while width > 1 and not row[width - 1]:
        width -= 1
    return width


def _header_above(rows: Sequence[list[str]], start: int, decimal: str) -> int:
    """The row of names above the numbers; the first row where none is found, for its error."""
    texts = [k for k in range(start) if len(rows[k]) > 1 and _is_text(rows[k], decimal)]
    if not texts:
        return 0
    last = texts[-1]
    if last - 1 in texts and not any(map(is_time_name, rows[last])):
        named = any(map(is_time_name, rows[last - 1]))
        if named or (is_row_of_units(rows[last]) and not is_row_of_units(rows[last - 1])):
            return last - 1
    return last


def _is_text(row: Sequence[str], decimal: str) -> bool:
    """Whether a row holds names or units: no cell is a number, or one cell is a name of time."""
    return not any(is_number(cell, decimal) for cell in row) or any(map(is_time_name, row))


def is_row_of_units(cells: Sequence[str]) -> bool:
    """Whether a row under names has units: no name of time, and units in all cells, or one of time in the first."""
    if is_time_unit(cells[0]) and cells[0].strip("[]() "):
        return True
    return any(cells) and not any(is_time_name(cell) for cell in cells) and all(map(_is_unit, cells))


def _is_unit(cell: str) -> bool:
    text = normalise_spelling(cell.strip("[](){} "))
    if text in ("", "-", "1"):
        return True
    try:
        read_whole_unit(text)
    except DataError:
        return False
    return True


def _delimiter_of(header: str) -> str:
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


def _pairs(lines: Sequence[str], delimiter: str) -> dict[str, str]:
    """Pairs of a key and a value, as ``DeviceTag:,bottom`` or ``rate = 100``."""
    pairs: dict[str, str] = {}
    for text in lines:
        plain = text.replace(delimiter, " ") if delimiter in ",;\t|" else text
        pair = _PAIR.fullmatch(" ".join(plain.split()))
        if pair and len(pairs) < PAIRS:
            pairs[pair["key"]] = pair["value"][:VALUE]
    return pairs
