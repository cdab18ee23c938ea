"""Tables of results as plain text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy.sparse

from dalembert.core.arrays import Matrix


def align_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Right-aligned columns under their heads.

    Examples
    --------
    >>> print(align_columns(["mode", "Hz"], [["1", "2.5"], ["10", "31"]]))
    mode   Hz
       1  2.5
      10   31
    """
    lines = [head, *rows]
    widths = [max(len(line[c]) for line in lines) for c in range(len(head))]
    return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def spread(value: float, deviation: float | None) -> str:
    """A number with its standard deviation, no more digits than that allows.

    Examples
    --------
    >>> spread(22.808584, 3.3e-6), spread(3.6782, 0.0131), spread(120.4, 7.0), spread(4.53e-7, 1.7e-8)
    ('22.8085840 ± 0.0000033', '3.678 ± 0.013', '120.4 ± 7.0', '4.53e-07 ± 1.7e-08')
    """
    if deviation is None or not (0.0 < deviation < math.inf):
        return f"{value:.5g}"
    if abs(value) < 1e-3 and deviation < 1e-4:
        return f"{value:.3g} ± {deviation:.1e}"
    if deviation < 1e-9:
        return f"{value:.9f} ± less than 1e-9"
    decimals = max(0, 1 - math.floor(math.log10(deviation)))
    return f"{value:.{decimals}f} ± {deviation:.{decimals}f}"


def matrix_lines(symbol: str, array: Matrix, rows: Sequence[str]) -> list[str]:
    """Lines that show a matrix with the names of its rows; only its size where it is large."""
    if max(array.shape) > 8:
        count = array.count_nonzero() if scipy.sparse.issparse(array) else np.count_nonzero(array)
        return [f"  {symbol}: {array.shape[0]} x {array.shape[1]}, {count} non-zero"]
    if scipy.sparse.issparse(array):
        array = array.toarray()
    # rounding errors of differences are shown as 0; small entries of a matrix of small entries stay
    floor = min(1e-12, 2e-15 * float(np.abs(array).max(initial=0.0)))
    cells = [[f"{0.0 if abs(value) < floor else value:.6g}" for value in row] for row in array]
    widths = [max(len(row[j]) for row in cells) for j in range(array.shape[1])]
    name_width = max(len(name) for name in rows)
    lines = []
    for i, (name, row) in enumerate(zip(rows, cells, strict=True)):
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append(f"  {(symbol if i == 0 else '').ljust(10)}  {name.ljust(name_width)}  {numbers}")
    return lines


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of a table; every column but the last is right-justified."""
    table = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(row[j]) for row in table) for j in range(len(head) - 1)]
    return "\n".join(
        "  ".join([*(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=True)), row[-1]])
        for row in table
    )
