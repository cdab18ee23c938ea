"""Matrices of Ansys: Harwell-Boeing text of the command HBMAT, and its mapping file (Duff, Grimes, Lewis 1992).

    title (72 characters), key (8)
    lines of: all, pointers, indices, values, right-hand sides
    type (RSA or RUA: real, symmetric or not, assembled), rows, columns, entries, 0
    formats of: pointers, indices, values, right-hand sides          such as (16I5), (1P,3E25.16), (D25.15)

Then come the pointers to the first entry of each column, the row of each entry, the values. A symmetric matrix has one
triangle. The mapping file has the same name and the suffix ``.mapping``, a line per row of the matrix:

    Matrix Eqn      Node      DOF
             1         7       UX
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice
from dalembert.files.bodies.bounds import bounded_lines
from dalembert.files.bodies.matrix_files import read_numbers
from dalembert.files.bodies.node_matrices import ENTRY, Entries, NodeMatrix, make_row, whole_number

SUFFIXES = (".matrix", ".hb", ".rsa", ".rua")
LABELS = {label: k for k, label in enumerate(("UX", "UY", "UZ", "ROTX", "ROTY", "ROTZ"), 1)}
_FORMAT = re.compile(
    r"\(\s*(?:[+-]?\d+\s*P\s*,?)?\s*(\d*)\s*\(?\s*([IEDFG])\s*(\d+)(?:\.\d+)?(?:E\d+)?\s*\)?\s*\)", re.I
)


def read_harwell_boeing(path: Path, shown: str, max_bytes: int) -> NodeMatrix:
    """The matrix of a file, its rows named by the mapping file."""
    lines = bounded_lines(path, shown)
    head = [_next(lines, shown) for _ in range(4)]
    counts = [whole_number(cell, shown, head[1][0]) for cell in head[1][1].split()]
    kind = head[2][1][:3].upper()
    sizes = [whole_number(cell, shown, head[2][0]) for cell in head[2][1][3:].split()]
    if len(counts) < 4 or len(sizes) < 3 or min(*counts, *sizes) < 0:
        raise FileFormatError("bad-syntax", "expected the sizes of a Harwell-Boeing matrix.", path=shown, line=2)
    if kind not in ("RSA", "RUA") or sizes[0] != sizes[1]:
        problem = f"type {kind!r} of {sizes[0]} x {sizes[1]}; square matrices RSA and RUA are read."
        raise FileFormatError("not-supported", problem, path=shown, line=3)
    if ENTRY * (sizes[2] + sizes[0]) > max_bytes:
        problem = f"{sizes[2]} entries take more than max_bytes = {max_bytes}."
        raise FileFormatError("too-large", problem, path=shown, line=3, evidence={"entries": sizes[2]})
    formats = [_format(text, shown) for text in (head[3][1][:16], head[3][1][16:32], head[3][1][32:52])]
    if len(counts) > 4 and counts[4] > 0:
        _next(lines, shown)  # of right-hand sides, which are not read
    labels = _read_mapping(path, shown, sizes[0])
    pointers = [whole_number(cell, shown, line) for line, cell in _cells(lines, shown, sizes[1] + 1, *formats[0])]
    if pointers[0] != 1 or pointers[-1] != sizes[2] + 1 or any(b < a for a, b in pairwise(pointers)):
        problem = f"the pointers of the columns do not lead from 1 to {sizes[2] + 1}."
        raise FileFormatError("damaged", problem, path=shown, line=5)
    rows = [whole_number(cell, shown, line) for line, cell in _cells(lines, shown, sizes[2], *formats[1])]
    problem = f"an entry outside the {sizes[0]} rows of the matrix."
    FileFormatError.when(rows and not 1 <= min(rows) <= max(rows) <= sizes[0], "damaged", problem, path=shown)
    entries = Entries(shown, max_bytes)
    column = 0
    for k, (line, cell) in enumerate(_cells(lines, shown, sizes[2], *formats[2])):
        while k + 1 >= pointers[column + 1]:
            column += 1
        (value,) = read_numbers([cell.upper().replace("D", "E")], shown, line)
        entries.add(labels[rows[k] - 1], labels[column], value, line)
    return entries.matrix(symmetric=kind == "RSA")


def _next(lines: Iterator[tuple[int, str]], shown: str) -> tuple[int, str]:
    item = next(lines, None)
    if item is None:
        raise FileFormatError("damaged", "the file is cut short.", path=shown)
    return item


def _format(text: str, shown: str) -> tuple[int, int]:
    """Numbers of a line, and their width."""
    match = _FORMAT.fullmatch(text.strip())
    if match is None or not 0 < int(match[3][:4]) < 1000:
        problem = f"{text.strip()!r:.30} is not a format of numbers such as (3E25.16)."
        raise FileFormatError("bad-syntax", problem, path=shown, line=4)
    return int(match[1][:4] or 1), int(match[3])


def _cells(
    lines: Iterator[tuple[int, str]], shown: str, count: int, each: int, width: int
) -> Iterator[tuple[int, str]]:
    """So many numbers of fixed width, as texts with their lines."""
    while count > 0:
        line, text = _next(lines, shown)
        for k in range(min(each, count)):
            yield line, text[k * width : (k + 1) * width].strip()
        count -= each


def _read_mapping(path: Path, shown: str, size: int) -> list[int]:
    """Row by row of the matrix, its node and direction."""
    file = next((path.with_suffix(end) for end in (".mapping", ".MAPPING") if path.with_suffix(end).is_file()), None)
    if file is None or file.resolve().parent != path.resolve().parent:
        advice = Advice("Write it with HBMAT, name, matrix,, ASCII, STIFF, NO, YES.")
        problem = f"there is no mapping file {path.with_suffix('.mapping').name!r} beside it."
        raise FileFormatError("no-such-file", problem, advice, path=shown)
    beside = str(Path(shown).with_name(file.name))
    labels = [0] * size
    for line, text in bounded_lines(file, beside):
        cells = text.split()
        if len(cells) != 3 or not cells[0].isdecimal():  # the title, and empty lines
            continue
        equation, node = (whole_number(cell, beside, line) for cell in cells[:2])
        problem = f"{cells[2]!r:.20} is not a displacement or rotation ({', '.join(LABELS)})."
        FileFormatError.when(cells[2].upper() not in LABELS, "not-supported", problem, path=beside, line=line)
        problem = f"equation {equation} of {size}."
        FileFormatError.when(not 0 < equation <= size, "out-of-range", problem, path=beside, line=line)
        labels[equation - 1] = make_row(node, LABELS[cells[2].upper()], beside, line)
    if 0 in labels:
        problem = f"equation {labels.index(0) + 1} of the matrix has no line."
        raise FileFormatError("missing-argument", problem, path=beside)
    return labels
