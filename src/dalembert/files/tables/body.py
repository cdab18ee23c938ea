"""Numbers of a table in a text.

Arrow reads them in blocks where it is installed, NumPy at once where it is not. Only where both fail
are the lines read one by one, to find a remark or the wrong line.
"""

from __future__ import annotations

import importlib
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice
from dalembert.core.progress import Progress
from dalembert.files.tables.cells import (
    BLANKS,
    MISSING,
    is_missing,
    is_number,
    is_word,
    seconds_of_stamps,
    split_cells,
    with_point,
)

BLOCK, LARGEST = 1 << 18, 1 << 22  # bytes of text that are parsed at a time
BLOCKS = 32  # of a larger table: Arrow's memory of a block is small beside the table
_HASH = re.compile(r"#[A-Z]+[/!?]|1\.#[A-Z]")  # words of spreadsheets, #N/A and #DIV/0!, and 1.#INF begin no comment
_WORDS = 20  # different ones that are counted
COMMENTS = 100  # lines of them above a table that are looked at
_LINE_END = re.compile(rb"\r\n?|\n")


@dataclass(frozen=True)
class TextBody:
    """Place of the numbers of a table in a text, and how they are written.

    lines : of text above them.  cells : names of the columns.  width : cells of a row, with empty ones at its end.
    rows : at most.  stamps : column that holds times of day or dates.  origin : column of numbers that count from a
    distant date, and the number that is subtracted before they become floats: seconds since 1970 leave six decimals.
    ignored : columns that are not read: dates beside times of day.
    """

    path: Path
    encoding: str
    lines: int
    cells: list[str]
    width: int
    rows: int
    delimiter: str
    decimal: str
    stamps: int | None = None
    origin: tuple[int, str] | None = None
    ignored: tuple[int, ...] = ()


def read_body(body: TextBody, progress: Progress, words: Counter[tuple[int, str]]) -> tuple[FloatArray, str]:
    """All numbers, (rows, columns), and the first date of a column of dates.

    words : counts words in place of numbers by column; -1 is a line that was left out.
    """
    if body.stamps is None:
        table = _by_arrow(body, progress)
        if table is None and body.origin is None and not body.ignored:
            table = _by_numpy(body)
        if table is not None:
            return table, ""
    with body.path.open(encoding=body.encoding, newline=None) as file:
        return _line_by_line(file, body, words)


def number_lines(
    file: TextIO, about: dict[str, str] | None = None, above: list[str] | None = None
) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without comments and blank lines; known remarks go into `about`, others to `above`."""
    for number, text in enumerate(file, 1):
        stripped = text.strip()
        if stripped.startswith("#"):
            if above is not None and len(above) < COMMENTS:
                above.append(stripped)
            key, colon, value = stripped[1:].partition(":")
            if about is not None and colon and key.strip() in ("name", "status"):
                about[key.strip()] = " ".join(value.split())
        elif stripped:
            yield number, text.rstrip("\n")


def line_of(body: TextBody, row: int) -> int:
    """Number of the line that holds a row of the table."""
    with body.path.open(encoding=body.encoding, newline=None) as file:
        below = (number for number, _ in number_lines(file) if number > body.lines)
        return next(islice(below, row, None), body.lines)


def describe_ragged(found: int, cells: list[str], delimiter: str, what: str) -> str:
    shown = ", ".join(f"{name:.40}" for name in islice(cells, 8))
    mark = "blanks" if delimiter == BLANKS else repr(delimiter)
    return f"the {what} has {found} cells, the header {len(cells)} ({shown}); cells are separated by {mark}."


def _by_arrow(body: TextBody, progress: Progress) -> FloatArray | None:
    """All numbers, read by Arrow; None if Arrow is not installed or a line is malformed."""
    if body.delimiter == BLANKS:
        return None
    try:
        arrow, reader = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.csv")
    except ImportError:
        return None
    names = [str(k) for k in range(body.width)]
    types = {name: arrow.float64() if k < len(body.cells) else arrow.null() for k, name in enumerate(names)}
    far, origin = body.origin or (-1, "")
    if far >= 0:
        types[str(far)] = arrow.decimal128(30, 12)
    types |= {str(k): arrow.string() for k in body.ignored}
    # a quoted null is a null too, as in all readers
    convert = reader.ConvertOptions(
        column_types=types, null_values=list(MISSING), decimal_point=body.decimal, quoted_strings_can_be_null=True
    )
    parse = reader.ParseOptions(delimiter=body.delimiter, quote_char='"', double_quote=True)
    table, row = np.empty((body.rows, len(body.cells))), 0
    size = max(BLOCK, min(table.nbytes // BLOCKS, LARGEST))
    how = reader.ReadOptions(use_threads=False, block_size=2 * size, column_names=names, encoding=_find_encoding(body))
    pool = arrow.default_memory_pool()
    try:
        for block in _blocks(body, size):
            batch = reader.read_csv(arrow.BufferReader(block), how, parse, convert)
            if row + batch.num_rows > body.rows:
                return None
            column = None
            for k in (k for k in range(len(body.cells)) if k not in body.ignored):
                column = batch.column(k)
                if k == far:
                    zero = arrow.scalar(origin).cast(types[str(far)])
                    column = importlib.import_module("pyarrow.compute").subtract(column, zero).cast(arrow.float64())
                table[row : row + batch.num_rows, k] = column.to_numpy()
            row += batch.num_rows
            del batch, column  # both keep its memory
            pool.release_unused()  # it would keep every block
            progress.update(min(1.0, row / body.rows))
    except (arrow.ArrowException, OSError, UnicodeError):
        return None
    return table[:row] if row else None


def _find_encoding(body: TextBody) -> str:
    """Encoding of the blocks of a text."""
    return "utf-8" if body.encoding.startswith("utf") else body.encoding


def _blocks(body: TextBody, size: int) -> Iterator[bytes]:
    """Whole lines below the head, in blocks.

    Arrow can split a file itself, but it reads ahead in a thread whose memory is not released.
    """
    if body.encoding == "utf-16":
        with body.path.open(encoding=body.encoding, newline=None) as text:
            for _ in range(body.lines):
                text.readline()
            while lines := text.readlines(size):
                yield "".join(lines).encode()
        return
    above, tail = body.lines, b""
    with body.path.open("rb") as file:
        while block := file.read(size):
            if block.endswith(b"\r"):  # its line may end with the next byte
                block += file.read(1)
            block = tail + block
            ends = [match.end() for match in islice(_LINE_END.finditer(block), above)] if above else []
            above -= len(ends)
            begin = ends[-1] if ends else 0
            end = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
            if not above and end > begin:
                yield block[begin:end]
            tail = block[max(begin, end) :]
    if not above and tail.strip():
        yield tail


def _by_numpy(body: TextBody) -> FloatArray | None:
    """All numbers at once; None if a line is malformed."""
    if body.width != len(body.cells) or body.decimal != ".":
        return None
    try:
        table = np.loadtxt(
            str(body.path.absolute()), delimiter=None if body.delimiter == BLANKS else body.delimiter, comments="#",
            quotechar='"', skiprows=body.lines, ndmin=2, encoding=body.encoding,
        )  # fmt: skip
    except UnicodeDecodeError:
        raise
    except ValueError:
        return None
    return table if table.shape[1] == body.width else None


def _line_by_line(file: TextIO, body: TextBody, words: Counter[tuple[int, str]]) -> tuple[FloatArray, str]:
    numbers = array("d")
    ends_in_line = _ends_within_a_line(body.path)
    wide = len(body.cells)
    far, origin = body.origin or (-1, "")
    stamps: list[str] = []
    lines: list[int] = []
    below = ((number, text) for number, text in number_lines(file) if number > body.lines)
    following = next(below, None)
    while following is not None:
        (number, text), following = following, next(below, None)
        cells = split_cells(text if text.count("#") and _HASH.search(text) else text.partition("#")[0], body.delimiter)
        if following is None and ends_in_line and numbers and _is_cut(cells, wide, body.decimal):
            words[-1, f"line {number} is cut off and left out"] += 1
            break
        if len(cells) < wide or any(cells[wide:]):
            problem = describe_ragged(len(cells), body.cells, body.delimiter, "row")
            raise FileFormatError("ragged-row", problem, line=number)
        for k, (name, cell) in enumerate(zip(body.cells, cells[:wide], strict=True)):
            if k == body.stamps:
                stamps.append(cell)
                lines.append(number)
                numbers.append(np.nan)
            elif is_missing(cell) or k in body.ignored:
                numbers.append(np.nan)
            elif is_word(cell):
                numbers.append(np.nan)
                if len(words) < _WORDS or (k, cell) in words:
                    words[k, cell] += 1
            elif is_number(cell, body.decimal):
                plain = with_point(cell, body.decimal)
                numbers.append(_after(plain, origin) if k == far else float(plain))
            else:
                hint = [Advice("Write decimals with a point." if "," in cell else "Leave the cell empty for a gap.")]
                problem = f"{cell!r:.80} in column {name!r:.80} is not a number."
                raise FileFormatError("not-a-number", problem, *hint, line=number)
    table = np.frombuffer(numbers, dtype=np.float64).reshape(-1, wide)
    for k in {k for k, _ in words if k >= 0}:
        if np.isnan(table[:, k]).all() and wide < 3:
            problem = f"column {body.cells[k]!r:.80} holds words, no numbers."
            raise FileFormatError("not-a-number", problem, line=body.lines + 1)
    if body.stamps is None:
        return table, ""
    try:
        table[:, body.stamps], first = seconds_of_stamps(stamps)
    except ValueError as error:
        k = int(error.args[0])
        problem = f"{stamps[k]!r:.80} in column {body.cells[body.stamps]!r:.80} is not a time (ISO 8601)."
        raise FileFormatError("not-a-number", problem, line=lines[k]) from None
    return table, first


def _ends_within_a_line(path: Path) -> bool:
    """Whether the last line has no end: the writer was interrupted, or does not write one."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 2))
        return not set(file.read()) & set(b"\r\n")


def _is_cut(cells: list[str], wide: int, decimal: str) -> bool:
    return len(cells) < wide or not (is_missing(cells[-1]) or is_number(cells[-1], decimal) or is_word(cells[-1]))


def _after(number: str, origin: str) -> float:
    """Difference of two numbers with more digits than a float has."""
    from decimal import Decimal

    return float(Decimal(number) - Decimal(origin))
