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
from dalembert.files.bodies.bounds import LIMITS, bounded_lines

TEXT = (".txt", ".csv", ".dat")
SUFFIXES = (*TEXT, ".mtx", ".npy")
# Shortest line of an entry of a sparse matrix, "1 1 1" and its end, and its numbers in memory.
ENTRY_TEXT, ENTRY = 6, 24
_BANNER = re.compile(r"%%matrixmarket\s+matrix\s+(coordinate|array)\s+(\w+)\s+([\w-]+)\s*", re.IGNORECASE)


def read_matrix(path: Path, shown: str, max_bytes: int) -> Any:
    """A matrix (rows, columns), sparse where the file is; finite."""
    size = path.stat().st_size
    if size > max_bytes:
        problem = f"the file has {size} bytes, more than max_bytes = {max_bytes}."
        raise FileFormatError("too-large", problem, path=shown, evidence={"bytes": size, "allowed": max_bytes})
    suffix = path.suffix.lower()
    if suffix == ".npy":
        try:
            matrix: Any = read_array(path.name, path.read_bytes())
        except FileFormatError as error:
            raise FileFormatError(error.code, error.finding.problem, path=shown) from None
        FileFormatError.when(matrix.dtype.kind == "U", "wrong-type", "the array holds texts, not numbers.", path=shown)
        matrix = matrix.astype(np.float64)
    elif suffix == ".mtx":
        matrix = _read_market(path, shown, size, max_bytes)
    else:
        matrix = _read_rows(path, shown, size, max_bytes)
    values = matrix.data if hasattr(matrix, "tocsc") else matrix
    bad = int((~(np.abs(values) <= LIMITS.largest)).sum())
    problem = f"{bad} numbers are not finite, or above {LIMITS.largest:g}."
    FileFormatError.when(bad, "not-finite", problem, path=shown, evidence={"numbers": bad})
    return matrix


def read_rows(path: Path, shown: str) -> Iterator[tuple[int, list[str]]]:
    """Cells of the lines of a text, with their numbers."""
    for number, text in bounded_lines(path, shown, LIMITS.row, "utf-8"):
        cells = text.partition("#")[0].replace(",", " ").split()
        if cells:
            yield number, cells


def read_numbers(cells: list[str], shown: str, line: int) -> list[float]:
    """Cells as finite numbers."""
    numbers = []
    for cell in cells:
        try:
            value = float(cell)
        except ValueError:
            raise FileFormatError("not-a-number", f"{cell!r:.40} is not a number.", path=shown, line=line) from None
        problem = f"{cell!r:.40} is not finite."
        FileFormatError.when(not math.isfinite(value), "not-finite", problem, path=shown, line=line)
        numbers.append(value)
    return numbers


def _read_rows(path: Path, shown: str, size: int, max_bytes: int) -> FloatArray:
    if 4 * size > max_bytes:  # "1 " is a number of 8 bytes
        problem = f"the file has {size} bytes; max_bytes = {max_bytes} allows {max_bytes // 4} bytes of text."
        raise FileFormatError("too-large", problem, path=shown, evidence={"bytes": size, "allowed": max_bytes})
    rows: list[FloatArray] = []
    for line, cells in read_rows(path, shown):
        width = len(rows[0]) if rows else len(cells)
        problem = f"a row of {len(cells)} numbers among rows of {width}."
        FileFormatError.when(len(cells) != width, "ragged-row", problem, path=shown, line=line)
        rows.append(np.array(read_numbers(cells, shown, line)))
    FileFormatError.when(not rows, "empty", "the file has no numbers.", path=shown)
    return np.stack(rows)


def _read_market(path: Path, shown: str, size: int, max_bytes: int) -> Any:
    """What the head declares is bounded before memory is taken; SciPy's reader ends the process on some bad files."""
    from scipy.sparse import coo_array

    with path.open(encoding="latin-1") as file:
        banner = _BANNER.fullmatch(file.readline(LIMITS.line))
        if banner is None:
            raise FileFormatError("bad-syntax", "the first line is not that of MatrixMarket.", path=shown, line=1)
        layout, field, symmetry = (word.lower() for word in banner.groups())
        if field not in ("real", "double", "integer") or symmetry not in ("general", "symmetric"):
            problem = f"a {field} {symmetry} matrix; real or integer, general or symmetric ones are read."
            raise FileFormatError("not-supported", problem, path=shown, line=1)
        line, text = 1, "%"
        while text.startswith("%") or (text and not text.strip()):
            line, text = line + 1, file.readline(LIMITS.line)
        counts = [int(word) if word.isascii() and word.isdigit() and len(word) < 12 else -1 for word in text.split()]
        sparse, general = layout == "coordinate", symmetry == "general"
        if len(counts) != (3 if sparse else 2) or min(counts) < 1 or not (general or counts[0] == counts[1]):
            raise FileFormatError("bad-syntax", f"{text.strip()!r:.60} is no size of a matrix.", path=shown, line=line)
        rows, columns = counts[:2]
        entries = counts[2] if sparse else rows * columns if general else rows * (rows + 1) // 2
        needed = 2 * ENTRY * counts[2] + 8 * (rows + columns) if sparse else 16 * rows * columns
        if needed > max_bytes:
            problem = f"a matrix of {rows} x {columns} takes {needed} bytes; max_bytes = {max_bytes}."
            raise FileFormatError("too-large", problem, path=shown, line=line, evidence={"bytes": needed})
        if entries * (ENTRY_TEXT if sparse else 2) > size + ENTRY_TEXT:
            problem = f"the file is cut short: {entries} entries are declared, and it has {size} bytes."
            raise FileFormatError("damaged", problem, path=shown, line=line, evidence={"entries": entries})
        table = _entries(file, entries, 3 if sparse else 1, shown)
    if not sparse:
        dense = np.zeros((rows, columns))
        j, i = np.nonzero(np.ones((columns, rows)) if general else np.triu(np.ones((rows, rows))))  # by columns
        dense[i, j] = table[:, 0]
        if not general:
            dense[j, i] = table[:, 0]
        return dense
    i, j = (table[:, k].astype(np.int64) - 1 for k in (0, 1))
    if (
        (table[:, :2] != np.floor(table[:, :2])).any()
        or min(i.min(), j.min()) < 0
        or i.max() >= rows
        or j.max() >= columns
    ):
        problem = f"an entry outside the {rows} x {columns} of the matrix."
        raise FileFormatError("damaged", problem, path=shown)
    values = table[:, 2]
    if not general:
        off = i != j
        i, j, values = (np.concatenate([upper, lower[off]]) for upper, lower in ((i, j), (j, i), (values, values)))
    return coo_array((values, (i, j)), shape=(rows, columns)).tocsc()


def _entries(file: Any, count: int, cells: int, shown: str) -> FloatArray:
    """The lines of a matrix, (count, cells)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a file that has no lines
            table = np.loadtxt(file, comments="%", ndmin=2, max_rows=count + 1)
    except (ValueError, OverflowError) as error:
        raise FileFormatError("damaged", f"the file is cut short or damaged ({error!s:.120}).", path=shown) from None
    if table.shape != (count, cells):
        there = f"{table.shape[0]} lines of {table.shape[1]} numbers"
        problem = f"the file is cut short or damaged: {there}, {count} lines of {cells} are declared."
        raise FileFormatError("damaged", problem, path=shown, evidence={"lines": int(table.shape[0])})
    bad = ~np.isfinite(table)
    if bad.any():
        problem = f"{int(bad.sum())} numbers are not finite."
        raise FileFormatError("not-finite", problem, path=shown, evidence={"numbers": int(bad.sum())})
    return np.asarray(table)


def read_array(name: str, content: bytes) -> Any:
    """The array of a .npy file: numbers of 8 bytes, or characters; no more than the bytes that are there."""
    where = {"field": name}
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        heads: dict[tuple[int, int], Callable[..., Any]] = {
            (1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0,
        }  # fmt: skip
        shape, by_column, kind = heads[version](file, max_header_size=LIMITS.header)
    except (ValueError, KeyError, SyntaxError, TypeError, RecursionError, MemoryError, TokenError) as error:
        problem = f"the head of the array {name!r} cannot be read ({error!s:.80})."
        raise FileFormatError("damaged", problem, where=where) from None
    if not isinstance(kind, np.dtype) or kind.kind not in "fiuU" or (kind.kind != "U" and kind.itemsize != 8):
        problem = f"the array {name!r} holds {kind}, not numbers of 8 bytes."
        raise FileFormatError("wrong-type", problem, where=where)
    start = file.tell()
    if min(shape, default=1) < 0 or prod(shape) * kind.itemsize != len(content) - start:
        problem = f"the array {name!r} has {len(content) - start} bytes, not those of its shape {shape}."
        raise FileFormatError("damaged", problem, where=where)
    values = np.frombuffer(content, dtype=kind, offset=start) if prod(shape) else np.zeros(0, kind)
    return values.reshape(shape, order="F" if by_column else "C")
