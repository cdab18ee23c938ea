"""Matrices in files: text, MatrixMarket, or NumPy; read within bounds.

Text (``.txt``, ``.csv``, ``.dat``) has a row per line, numbers between blanks or commas, and remarks behind ``#``.
MatrixMarket (``.mtx``) is real or integer, general or symmetric, in coordinates or whole. NumPy (``.npy``) has numbers
of 8 bytes; no pickle is read.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import FileFormatError
from dalembert.files.bodies.bounds import FileLines

TEXT = (".txt", ".csv", ".dat")
SUFFIXES = (*TEXT, ".mtx", ".npy")
# Shortest line of an entry of a sparse matrix, "1 1 1" and its end, and its numbers in memory.
ENTRY_TEXT, ENTRY = 6, 24
HEAD = 10_000  # characters of a line of the head
_BANNER = re.compile(r"%%matrixmarket\s+matrix\s+(coordinate|array)\s+(\w+)\s+([\w-]+)\s*", re.IGNORECASE)


def read_matrix(path: Path, shown: str, max_bytes: int, largest: float = 1e100) -> Any:
    """A matrix (rows, columns), sparse where the file is; no number above ``largest``, whose third power overflows."""
    size, suffix = path.stat().st_size, path.suffix.lower()
    with FileFormatError.of_file(shown):
        _check_bytes(size, max_bytes)
        if suffix == ".npy":
            matrix: Any = read_array(path.name, path.read_bytes())
            FileFormatError.when(matrix.dtype.kind == "U", "wrong-type", "the array holds texts, not numbers.")
            matrix = matrix.astype(np.float64)
        elif suffix == ".mtx":
            matrix = _read_market(path, size, max_bytes)
        else:
            _check_bytes(4 * size, max_bytes)  # "1 " is a number of 8 bytes
            with text_lines(path, shown) as lines:
                rows: list[FloatArray] = []
                for cells in split_rows(lines):
                    width = len(rows[0]) if rows else len(cells)
                    problem = f"a row of {len(cells)} numbers among rows of {width}."
                    FileFormatError.when(len(cells) != width, "ragged-row", problem)
                    rows.append(np.array([real_number(cell) for cell in cells]))
                FileFormatError.when(not rows, "empty", "the file has no numbers.")
            matrix = np.stack(rows)
        _check_finite(matrix.data if hasattr(matrix, "tocsc") else matrix, largest)
    return matrix


def _check_bytes(size: int, max_bytes: int) -> None:
    problem = f"its numbers may take {size} bytes, more than max_bytes = {max_bytes}."
    FileFormatError.when(size > max_bytes, "too-large", problem, evidence={"bytes": size, "allowed": max_bytes})


def _check_finite(values: Any, largest: float) -> None:
    bad = int((~(np.abs(values) <= largest)).sum())
    problem = f"{bad} numbers are not finite, or above {largest:g}."
    FileFormatError.when(bad, "not-finite", problem, evidence={"numbers": bad})


def text_lines(path: Path, shown: str) -> FileLines:
    """Lines of a text of numbers, each of 400 000 numbers at most."""
    return FileLines(path, shown, 10_000_000, "utf-8")


def split_rows(lines: FileLines) -> Iterator[list[str]]:
    """Cells of the lines of a text that have some."""
    return (cells for text in lines if (cells := text.partition("#")[0].replace(",", " ").split()))


def real_number(cell: str) -> float:
    """A cell as a finite number."""
    try:
        value = float(cell)
    except ValueError:
        raise FileFormatError("not-a-number", f"{cell!r:.40} is not a number.") from None
    if not math.isfinite(value):  # of millions: no message without an error
        raise FileFormatError("not-finite", f"{cell!r:.40} is not finite.")
    return value


def _read_market(path: Path, size: int, max_bytes: int) -> Any:
    """What the head declares is bounded before memory is taken; SciPy's reader ends the process on some bad files."""
    from scipy.sparse import coo_array

    with path.open(encoding="latin-1") as file:
        banner, at = _BANNER.fullmatch(file.readline(HEAD)), 1
        if banner is None:
            raise FileFormatError("bad-syntax", "the first line is not that of MatrixMarket.", line=at)
        layout, field, symmetry = (word.lower() for word in banner.groups())
        readable = field in ("real", "double", "integer") and symmetry in ("general", "symmetric")
        problem = f"a {field} {symmetry} matrix; real or integer, general or symmetric ones are read."
        FileFormatError.when(not readable, "not-supported", problem, line=at)
        text = "%"
        while text.startswith("%") or (text and not text.strip()):
            at, text = at + 1, file.readline(HEAD)
        counts = [int(word) if word.isascii() and word.isdigit() and len(word) < 12 else -1 for word in text.split()]
        sparse, general = layout == "coordinate", symmetry == "general"
        is_size = len(counts) == (3 if sparse else 2) and min(counts) >= 1 and (general or counts[0] == counts[1])
        FileFormatError.when(not is_size, "bad-syntax", f"{text.strip()!r:.60} is no size of a matrix.", line=at)
        rows, columns = counts[:2]
        entries = counts[2] if sparse else rows * columns if general else rows * (rows + 1) // 2
        needed = 2 * ENTRY * entries + 8 * (rows + columns) if sparse else 16 * rows * columns
        problem = f"a matrix of {rows} x {columns} takes {needed} bytes; max_bytes = {max_bytes}."
        FileFormatError.when(needed > max_bytes, "too-large", problem, line=at, evidence={"bytes": needed})
        short = entries * (ENTRY_TEXT if sparse else 2) > size + ENTRY_TEXT
        problem = f"the file is cut short: {entries} entries are declared, and it has {size} bytes."
        FileFormatError.when(short, "damaged", problem, line=at, evidence={"entries": entries})
        table = _entries(file, entries, 3 if sparse else 1)
    if not sparse:
        dense = np.zeros((rows, columns))
        j, i = np.nonzero(np.ones((columns, rows)) if general else np.triu(np.ones((rows, rows))))  # by columns
        dense[i, j] = table[:, 0]
        if not general:
            dense[j, i] = table[:, 0]
        return dense
    outside = (table[:, :2] != np.clip(np.floor(table[:, :2]), 1, counts[:2])).any()
    FileFormatError.when(outside, "damaged", f"an entry outside the {rows} x {columns} of the matrix.")
    (i, j), values = table[:, :2].T.astype(np.int64) - 1, table[:, 2]
    if not general:
        off = i != j
        i, j, values = (np.concatenate([upper, lower[off]]) for upper, lower in ((i, j), (j, i), (values, values)))
    return coo_array((values, (i, j)), shape=(rows, columns)).tocsc()


def _entries(file: Any, count: int, cells: int) -> FloatArray:
    """The lines of a matrix, (count, cells)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a file that has no lines
            table = np.loadtxt(file, comments="%", ndmin=2, max_rows=count + 1)
    except (ValueError, OverflowError) as error:
        raise FileFormatError("damaged", f"the file is cut short or damaged ({error!s:.120}).") from None
    lines, width = table.shape
    problem = f"it has {lines} lines of {width} numbers; {count} lines of {cells} are declared."
    FileFormatError.when((lines, width) != (count, cells), "damaged", problem, evidence={"lines": lines})
    _check_finite(table, np.finfo(float).max)
    return np.asarray(table)


def read_array(name: str, content: bytes, head: int = 10_000) -> Any:
    """The array of a .npy file: numbers of 8 bytes, or characters; no more than the bytes that are there.

    head : most characters of the head of an array; 100 are usual.
    """
    where = {"field": name}
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        heads: dict[tuple[int, int], Callable[..., Any]] = {
            (1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0,
        }  # fmt: skip
        shape, by_column, kind = heads[version](file, max_header_size=head)
    except (ValueError, KeyError, SyntaxError, TypeError, RecursionError, MemoryError, TokenError) as error:
        problem = f"the head of the array {name!r} cannot be read ({error!s:.80})."
        raise FileFormatError("damaged", problem, where=where) from None
    if not isinstance(kind, np.dtype) or kind.kind not in "fiuU" or (kind.kind != "U" and kind.itemsize != 8):
        problem = f"the array {name!r} holds {kind}, not numbers of 8 bytes."
        raise FileFormatError("wrong-type", problem, where=where)
    start = file.tell()
    fits = min(shape, default=1) >= 0 and prod(shape) * kind.itemsize == len(content) - start
    problem = f"the array {name!r} has {len(content) - start} bytes, not those of its shape {shape}."
    FileFormatError.when(not fits, "damaged", problem, where=where)
    values = np.frombuffer(content, dtype=kind, offset=start) if prod(shape) else np.zeros(0, kind)
    return values.reshape(shape, order="F" if by_column else "C")
