"""Names of the columns of a table and its row of units, with the errors of a header that cannot be read."""

from __future__ import annotations

import re

from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice, Argument
from dalembert.files.tables.body import describe_ragged
from dalembert.files.tables.bounds import check_size
from dalembert.files.tables.cells import is_number, is_stamp
from dalembert.files.tables.clock import BY_RATE
from dalembert.files.tables.header_units import is_time_unit
from dalembert.files.tables.layout import DELIMITERS, TextTable

LABVIEW_TIME = "X_Value"
FORMULA = re.compile(r"'*[=+\-@＝＋－＠].")  # a spreadsheet would compute this; an apostrophe before it makes it text


def read_head(found: TextTable, max_bytes: int) -> tuple[list[str], list[str] | None, int]:
    """Names, units where there is a row of them, and the number of lines above the numbers."""
    if found.header is None:
        raise FileFormatError("no-header", "the file has no header row.")
    line, row = found.header
    check_size(1, len(row), max_bytes)
    below = found.below[1] if found.below else []
    names = [plain_cell(cell) for cell in row]
    # every line ends with a delimiter, or rows have no cell for the comments of LabVIEW
    while len(names) > 1 and names[-1] in ("", "Comment") and not any(below[len(names) - 1 :]):
        names.pop()
    if all(is_number(cell, found.decimal) for cell in names):
        problem = "the first row holds numbers; expected the names of the columns."
        advice = [Advice("Give {} for a file without names and time.", *BY_RATE)]
        advice.append(Advice("Give {} where its first column is time.", Argument("time", "channel1")))
        raise FileFormatError("no-header", problem, *advice, line=line)
    seen: set[str] = set()
    for i, name in enumerate(names):
        if not name:
            raise FileFormatError("bad-name", f"column {i + 1} has no name in the header.", line=line)
        if name == LABVIEW_TIME and name in seen:  # a column of time for every channel
            names[i] = f"{name} {i}"
        elif name in seen:
            raise FileFormatError("taken-name", f"two columns are named {name!r:.80} in the header.", line=line)
        seen.add(name)
    if len(names) < 2:  # one column is not a table: the delimiter was not found
        raise FileFormatError(
            "bad-syntax", f"there is one column only, {names[0]!r:.80}.", Advice("Check {}.", Argument("delimiter")),
            line=line,
        )  # fmt: skip
    if found.below is None:
        raise FileFormatError("empty", "there is no row of numbers under the header.", line=line)
    if not _is_units(below, found.decimal):
        return names, None, line
    while len(below) > len(names) and not below[-1]:
        below.pop()
    if len(below) != len(names):
        problem = describe_ragged(len(below), names, found.delimiter, "units")
        raise FileFormatError("ragged-row", problem, line=found.below[0])
    return names, [plain_cell(cell) for cell in below], found.below[0]


def _is_units(cells: list[str], decimal: str) -> bool:
    """Whether a row has units: it starts with a unit of time, or no cell is a number."""
    if is_time_unit(cells[0]):
        return True
    return any(cells) and not any(is_number(cell, decimal) or is_stamp(cell) for cell in cells)


def plain_cell(cell: str) -> str:
    """A name or unit without the apostrophe that keeps a spreadsheet from computing it."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def quote_cell(text: str) -> str:
    """A name as a cell: in quotes where it has a delimiter, with an apostrophe where it looks like a formula."""
    if FORMULA.match(text):
        text = "'" + text
    # more than RFC 4180 requires: a name with another delimiter in it must not mislead the search for the delimiter
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in DELIMITERS + '"#') else text
