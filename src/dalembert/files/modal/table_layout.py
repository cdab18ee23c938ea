"""The place of a modal table in a text, and whether its modes are rows or columns.

The table is found by a heading of frequencies: in a row of names, with one row per mode under it, or as the first cell
of a row of numbers, with one column per mode. A table with modes in columns is transposed, so that both are read in the
same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.core.errors import FileFormatError
from dalembert.files.modal.column_words import ModalQuantity, read_word
from dalembert.files.tables.body import describe_ragged
from dalembert.files.tables.cells import BLANKS, has_comma, is_number, split_cells
from dalembert.files.tables.clock import is_time_name
from dalembert.files.tables.header import plain_cell
from dalembert.files.tables.layout import DELIMITERS

PREAMBLE = 60  # lines before the header of a table; loggers of modal tests write a dozen
FREQUENCIES = (ModalQuantity.frequency, ModalQuantity.damped_frequency)
_NAMES = ("coordinate", "coordinates", "channel", "sensor", "node", "dof", "name", "quantity", "")


@dataclass(frozen=True)
class ModalTable:
    """A modal table with one row per mode.

    heads, units : of the columns.  cells : one list per mode.  lines : number of the line of each row (of each column
    where ``is_turned``, that is, where modes are columns in the file).  head_line : of the names.
    """

    heads: list[str]
    units: list[str]
    cells: list[list[str]]
    lines: list[int]
    head_line: int
    decimal: str
    is_turned: bool

    def line(self, row: int, column: int) -> int:
        """Line of a cell."""
        return self.lines[column if self.is_turned else row]


@dataclass(frozen=True)
class FrequencyHeading:
    """A heading of frequencies: its row, the cells of all rows by a delimiter, and the number of known headings."""

    row: int
    rows: list[list[str]]
    delimiter: str
    is_turned: bool
    known: int


def find_heading(lines: Sequence[tuple[int, str]], delimiter: str | None = None) -> FrequencyHeading | None:
    """The heading of a modal table among the first lines, or None."""
    best: FrequencyHeading | None = None
    for candidate in [delimiter] if delimiter else [*DELIMITERS, BLANKS]:
        if candidate == BLANKS and best is not None:  # names may contain blanks
            break
        rows = [split_cells(text, candidate) for _, text in lines]
        heading = _look(rows, candidate)
        if heading is not None and (best is None or heading.known > best.known):
            best = heading
    return best


def _look(rows: list[list[str]], delimiter: str) -> FrequencyHeading | None:
    for k, row in enumerate(rows[:PREAMBLE]):
        if len(row) < 2 or any(map(is_time_name, row)):
            continue
        words = [read_word(plain_cell(cell)) for cell in row]
        hits = [k for k, word in enumerate(words) if word is not None and word.quantity in FREQUENCIES]
        numbers = [is_number(cell, _decimal(delimiter, row)) for cell in row]
        if hits and not any(numbers):
            return FrequencyHeading(k, rows, delimiter, False, sum(word is not None for word in words))
        if hits[:1] == [0] and any(numbers[1:3]):
            first = k
            while first and len(rows[first - 1]) > 1 and _is_label(rows[first - 1][0]):
                first -= 1
            below = [read_word(plain_cell(cells[0])) for cells in rows[first:] if cells]
            return FrequencyHeading(first, rows, delimiter, True, sum(word is not None for word in below))
    return None


def _is_label(cell: str) -> bool:
    """Whether the first cell of a row names the modes of a table with modes in columns, or one of its numbers."""
    return cell.casefold() in _NAMES or read_word(plain_cell(cell)) is not None


def _decimal(delimiter: str, row: Sequence[str]) -> str:
    return "," if delimiter != "," and any(map(has_comma, row)) else "."


def find_modal_table(lines: Sequence[tuple[int, str]]) -> ModalTable | None:
    """The modal table of a text, one row per mode; None where no heading names frequencies."""
    heading = find_heading(lines)
    if heading is None:
        return None
    numbers = [number for number, _ in lines]
    rows, place = [*heading.rows[heading.row :]], numbers[heading.row :]
    decimal = _decimal(heading.delimiter, [cell for row in rows for cell in row])
    width = len(_strip(rows[0]))
    if heading.is_turned:
        width = max(len(_strip(row)) for row in rows)
        if rows[0][0].casefold() in _NAMES or _is_numbering(rows[0], decimal):
            rows, place = rows[1:], place[1:]
    for row, line in zip(rows, place, strict=True):
        if len(row) < width or any(row[width:]):
            problem = describe_ragged(len(row), rows[0][:width], heading.delimiter, "row")
            raise FileFormatError("ragged-row", problem, line=line)
    cells = [row[:width] for row in rows]
    if heading.is_turned:
        cells = [list(column) for column in zip(*cells, strict=True)]
    heads, body = [plain_cell(cell) for cell in cells[0]], cells[1:]
    units = [""] * len(heads)
    lines_of = place if heading.is_turned else place[1:]
    if body and any(body[0]) and not any(is_number(cell, decimal) for cell in body[0]) and _is_units(body[0]):
        units, body = body[0], body[1:]
        lines_of = lines_of if heading.is_turned else lines_of[1:]
    if not body:
        raise FileFormatError("empty", "there is no mode under the headings.", line=place[0])
    for k, name in enumerate(heads):
        line = place[k] if heading.is_turned else place[0]
        FileFormatError.when(not name, "bad-name", f"column {k + 1} has no name.", line=line)
    return ModalTable(heads, units, body, lines_of, place[0], decimal, heading.is_turned)


def _is_units(cells: Sequence[str]) -> bool:
    """Whether a row has units: one of its cells is a unit of frequency."""
    return any(cell.strip("[](){} ").casefold() in ("hz", "khz", "rad/s") for cell in cells)


def _is_numbering(row: Sequence[str], decimal: str) -> bool:
    """Whether the first row of a transposed table only numbers modes: ``mode, 1, 2, 3`` or ``mode, mode 1, mode 2``."""
    word = read_word(plain_cell(row[0]))
    return word is not None and word.quantity is ModalQuantity.mode


def _strip(row: Sequence[str]) -> Sequence[str]:
    """A row without empty cells at its end."""
    width = len(row)
    while width > 1 and not row[width - 1]:
        width -= 1
    return row[:width]
