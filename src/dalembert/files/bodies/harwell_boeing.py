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
from dalembert.files.bodies.bounds import FileLines
from dalembert.files.bodies.matrix_files import real_number
from dalembert.files.bodies.node_matrices import ENTRY, Entries, NodeMatrix, make_row, whole_number

SUFFIXES = (".matrix", ".hb", ".rsa", ".rua")
LABELS = {label: k for k, label in enumerate(("UX", "UY", "UZ", "ROTX", "ROTY", "ROTZ"), 1)}
_FORMAT = re.compile(
    r"\(\s*(?:[+-]?\d+\s*P\s*,?)?\s*(\d*)\s*\(?\s*([IEDFG])\s*(\d+)(?:\.\d+)?(?:E\d+)?\s*\)?\s*\)", re.I
)


def read_harwell_boeing(path: Path, shown: str, max_bytes: int) -> NodeMatrix:
    """The matrix of a file, its rows named by the mapping file."""
    with FileLines(path, shown) as file:
        lines = iter(file)
        _next(lines)
        counts = [whole_number(cell) for cell in _next(lines).split()]
        head = _next(lines)
        kind, sizes = head[:3].upper(), [whole_number(cell) for cell in head[3:].split()]
        is_head = len(counts) >= 4 and len(sizes) >= 3 and min(*counts, *sizes) >= 0
        FileFormatError.when(not is_head, "bad-syntax", "expected the sizes of a Harwell-Boeing matrix.")
        rows, columns, size = sizes[:3]
        problem = f"type {kind!r} of {rows} x {columns}; square matrices RSA and RUA are read."
        FileFormatError.when(kind not in ("RSA", "RUA") or rows != columns, "not-supported", problem)
        problem = f"{size} entries take more than max_bytes = {max_bytes}."
        FileFormatError.when(ENTRY * (size + rows) > max_bytes, "too-large", problem, evidence={"entries": size})
        head = _next(lines)
        formats = [_format(text) for text in (head[:16], head[16:32], head[32:52])]
        if len(counts) > 4 and counts[4] > 0:
            _next(lines)  # of right-hand sides, which are not read
        labels = _read_mapping(path, shown, rows)
        pointers = [whole_number(cell) for cell in _cells(lines, columns + 1, *formats[0])]
        is_path = pointers[0] == 1 and pointers[-1] == size + 1 and all(a <= b for a, b in pairwise(pointers))
        problem = f"the pointers of the columns do not lead from 1 to {size + 1}."
        FileFormatError.when(not is_path, "damaged", problem)
        places = [whole_number(cell) for cell in _cells(lines, size, *formats[1])]
        outside = min(places, default=1) < 1 or max(places, default=1) > rows
        FileFormatError.when(outside, "damaged", f"an entry outside the {rows} rows of the matrix.")
        entries = Entries(max_bytes)
        column = 0
        for k, cell in enumerate(_cells(lines, size, *formats[2])):
            while k + 1 >= pointers[column + 1]:
                column += 1
            entries.add(labels[places[k] - 1], labels[column], real_number(cell.upper().replace("D", "E")))
        file.place = None
        return entries.matrix(symmetric=kind == "RSA")


def _next(lines: Iterator[str]) -> str:
    text = next(lines, None)
    if text is None:
        raise FileFormatError("damaged", "the file is cut short.")
    return text


def _format(text: str) -> tuple[int, int]:
    """Numbers of a line, and their width."""
    match = _FORMAT.fullmatch(text.strip())
    if match is None or not 0 < int(match[3][:4]) < 1000:
        raise FileFormatError("bad-syntax", f"{text.strip()!r:.30} is not a format of numbers such as (3E25.16).")
    return int(match[1][:4] or 1), int(match[3])


def _cells(lines: Iterator[str], count: int, each: int, width: int) -> Iterator[str]:
    """So many numbers of fixed width, as texts."""
    while count > 0:
        text = _next(lines)
        yield from (text[k * width : (k + 1) * width].strip() for k in range(min(each, count)))
        count -= each


def _read_mapping(path: Path, shown: str, size: int) -> list[int]:
    """Row by row of the matrix, its node and direction."""
    file = next((path.with_suffix(end) for end in (".mapping", ".MAPPING") if path.with_suffix(end).is_file()), None)
    if file is None or file.resolve().parent != path.resolve().parent:
        advice = Advice("Write it with HBMAT, name, matrix,, ASCII, STIFF, NO, YES.")
        problem = f"there is no mapping file {path.with_suffix('.mapping').name!r} beside it."
        raise FileFormatError("no-such-file", problem, advice, path=shown)
    labels = [0] * size
    with FileLines(file, str(Path(shown).with_name(file.name))) as lines:
        for text in lines:
            cells = text.split()
            if len(cells) != 3 or not cells[0].isdecimal():  # the title, and empty lines
                continue
            equation, node, label = whole_number(cells[0]), whole_number(cells[1]), cells[2].upper()
            problem = f"{label!r:.20} is not a displacement or rotation ({', '.join(LABELS)})."
            FileFormatError.when(label not in LABELS, "not-supported", problem)
            FileFormatError.when(not 0 < equation <= size, "out-of-range", f"equation {equation} of {size}.")
            labels[equation - 1] = make_row(node, LABELS[label])
        if 0 in labels:
            problem = f"equation {labels.index(0) + 1} of the matrix has no line."
            raise FileFormatError("missing-argument", problem)
    return labels
