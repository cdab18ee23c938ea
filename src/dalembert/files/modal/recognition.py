"""Recognition of files with modes, so that a modal table is never read as a record of time.

A table of text counts as one of modes where it has no column of time, few rows, and headings of frequencies and of mode
numbers, damping or modal masses. JSON counts where it has a list of modes with shapes, a universal file where it has
sets 55 and no measured function.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice, Call
from dalembert.files.modal.column_words import ModalQuantity, read_word
from dalembert.files.modal.format import LARGEST
from dalembert.files.modal.formats.json_document import is_modal, load_document
from dalembert.files.modal.table_layout import FREQUENCIES, PREAMBLE, find_heading
from dalembert.files.tables.body import number_lines
from dalembert.files.tables.clock import is_time_name
from dalembert.files.tables.encoding import count_lines
from dalembert.files.tables.header import plain_cell
from dalembert.files.tables.header_units import read_heading
from dalembert.files.tables.universal import find_kinds

TABLES = (".csv", ".tsv", ".txt", ".dat")
_START = 1 << 18  # first bytes of a table, in which its heading is searched
_ONLY_MODAL = (ModalQuantity.mode, ModalQuantity.damping, ModalQuantity.mass, ModalQuantity.frequency_deviation)


def holds_modes(path: Path) -> bool:
    """Whether a file holds modes; False too where it cannot be read."""
    try:
        return find_modes(path) is not None
    except (OSError, FileFormatError):
        return False


def refuse_modes(path: Path) -> None:
    """Refuse a file of modes where a record of time is read."""
    if path.suffix.lower() in (*TABLES, ".json", ".uff", ".unv", ".55") and path.is_file():
        try:
            line = find_modes(path)
        except (OSError, FileFormatError):  # the reader of the format reports it
            return
        if line is not None:
            raise modal_error(str(path), line or None)


def modal_error(path: str | None, line: int | None) -> FileFormatError:
    """The error of a file of modes that was given as a record."""
    return FileFormatError(
        "modal-table", "this is a table of modes (frequencies and shapes), not a record of time.",
        Advice("Read it by {}.", Call("da.read_modes")),
        Advice("Compare it by {}.", Call("da.structures.correlate")),
        path=path, line=line,
    )  # fmt: skip


def find_modes(path: Path) -> int | None:
    """Line of the headings of a file with modes, 0 where its format has no lines; None for another file."""
    suffix = path.suffix.lower()
    if suffix in TABLES:
        return _in_table(path)
    if path.stat().st_size > LARGEST:
        return None
    if suffix == ".json":
        return 0 if is_modal(load_document(path)) else None
    if suffix in (".uff", ".unv", ".55"):
        kinds = find_kinds(path)
        return 0 if "55" in kinds and not any(kind.startswith("58") for kind in kinds) else None
    return None


def _in_table(path: Path) -> int | None:
    with path.open("rb") as file:
        start = file.read(_START)
    encoding = "utf-16" if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    text = io.StringIO(start.decode(encoding, errors="replace"), newline=None)
    some = list(islice(number_lines(text), PREAMBLE))
    try:
        heading = find_heading(some)
    except csv.Error:
        return None
    if heading is None:
        return None
    row, line = heading.rows[heading.row], some[heading.row][0]
    first = [cells[0] for cells in heading.rows[heading.row :]] if heading.is_turned else row
    heads = [plain_cell(cell) for cell in first]
    if not looks_modal(heads, 0) or path.stat().st_size > LARGEST:
        return None
    rows = len(row) if heading.is_turned else count_lines(path, LARGEST)[0] - line
    return line if looks_modal(heads, rows) else None


def looks_modal(heads: Sequence[str], rows: int, most: int = 200, most_of_spectra: int = 50) -> bool:
    """Whether headings over this number of rows are those of modes, not those of a log without a column of time.

    most : rows of a modal table: with more it is a log with channels of these names.
    most_of_spectra : the same where a column of frequencies is the only sign of modes: spectra have hundreds of lines.

    Examples
    --------
    >>> looks_modal(["mode", "frequency_hz", "a1"], 5), looks_modal(["frequency_hz", "psd"], 1000)
    (True, False)
    """
    if any(map(is_time_name, heads)):
        return False
    words = [read_word(head) for head in heads]
    quantities = {word.quantity for word in words if word is not None}
    if not quantities & set(FREQUENCIES):
        return False
    if quantities & set(_ONLY_MODAL):
        return rows <= most
    first = words[0]
    spelled = first is not None and first.quantity in FREQUENCIES and len(read_heading(heads[0]).name) > 3
    return spelled and rows <= most_of_spectra
