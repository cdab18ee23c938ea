"""Tables of results: columns of plain text, and small tables for notebooks."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from html import escape
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray, Matrix

Numbers = Sequence[Any] | FloatArray

WIDE = 8  # most rows and columns of a matrix that is written out
OPEN = 10  # rows that are seen at once; the rest opens on a click and leaves the screen to the plot below


def align_columns(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int] = (), indent: str = ""
) -> str:
    """Columns under their heads, right-justified but for those in ``left``; an empty ``head`` is no line.

    left : numbers of columns; -1 is the last.  indent : begins every line.

    Examples
    --------
    >>> print(align_columns(["mode", "Hz"], [["1", "2.5"], ["10", "31"]]))
    mode   Hz
       1  2.5
      10   31
    >>> print(align_columns(["channel", "unit"], [["x", "m"], ["force", "N"]], left=(0, -1)))
    channel  unit
    x        m
    force    N
    """
    lines = [head, *rows] if head else list(rows)
    if not lines:
        return ""
    count = len(lines[0])
    widths = [max(len(line[c]) for line in lines) for c in range(count)]
    flush = {c % count for c in left}

    def text(line: Sequence[str]) -> str:
        cells = zip(line, widths, strict=True)
        return "  ".join(cell.ljust(w) if c in flush else cell.rjust(w) for c, (cell, w) in enumerate(cells))

    return "\n".join((indent + text(line)).rstrip() for line in lines)


def spread(value: float, deviation: float | None, small: float = 1e-3, fine: float = 1e-4, least: float = 1e-9) -> str:
    """A number with its standard deviation, no more digits than that allows.

    A value below ``small`` with a deviation below ``fine`` is written with an exponent: in plain digits it would begin
    with three zeros at least, and its deviation with four. Deviations below ``least`` are not written: nine decimals
    are as many as a table has room for.

    Examples
    --------
    >>> spread(22.808584, 3.3e-6), spread(3.6782, 0.0131), spread(120.4, 7.0), spread(4.53e-7, 1.7e-8)
    ('22.8085840 ± 0.0000033', '3.678 ± 0.013', '120.4 ± 7.0', '4.53e-07 ± 1.7e-08')
    """
    if deviation is None or not (0.0 < deviation < math.inf):
        return f"{value:.5g}"
    if abs(value) < small and deviation < fine:
        return f"{value:.3g} ± {deviation:.1e}"
    if deviation < least:
        return f"{value:.9f} ± less than 1e-9"
    decimals = max(0, 1 - math.floor(math.log10(deviation)))
    return f"{value:.{decimals}f} ± {deviation:.{decimals}f}"


def mode_cells(
    hertz: Numbers,
    damping: Numbers | None,
    hertz_deviation: Numbers | None = None,
    damping_deviation: Numbers | None = None,
) -> list[tuple[str, str]]:
    """Frequency [Hz] and damping ratio [%] of every mode with the digits that standard deviations leave."""

    def cell(values: Numbers | None, deviations: Numbers | None, k: int, factor: float) -> str:
        deviation = None if deviations is None else factor * float(deviations[k])
        return "" if values is None else spread(factor * float(values[k]), deviation)

    return [
        (cell(hertz, hertz_deviation, k, 1.0), cell(damping, damping_deviation, k, 100.0)) for k in range(len(hertz))
    ]


def _floor(array: Matrix, zero: float = 1e-12, rounding: float = 2e-15) -> float:
    """Below this, and ten units of ``rounding`` of its largest entry, an entry of a matrix is written as 0."""
    return min(zero, rounding * float(np.abs(array).max(initial=0.0)))


def matrix_lines(symbol: str, array: Matrix, rows: Sequence[str]) -> list[str]:
    """Lines that show a matrix with the names of its rows; only its size where it is large."""
    is_sparse = hasattr(array, "toarray")
    if max(array.shape) > WIDE:
        count = array.count_nonzero() if is_sparse else np.count_nonzero(array)
        return [f"  {symbol}: {array.shape[0]} x {array.shape[1]}, {count} non-zero"]
    if is_sparse:
        array = array.toarray()
    # rounding errors of differences are shown as 0; small entries of a matrix of small entries stay
    floor = _floor(array)
    cells = [[f"{0.0 if abs(value) < floor else value:.6g}" for value in row] for row in array]
    lines = [[f"{'' if i else symbol:10}", name, *row] for i, (name, row) in enumerate(zip(rows, cells, strict=True))]
    return align_columns((), lines, left=(0, 1), indent="  ").splitlines()


def matrix_latex(symbol: str, array: Matrix) -> str:
    """A matrix of numbers in LaTeX, ``symbol = [...]``; only its size where it is large.

    Examples
    --------
    >>> matrix_latex("K", np.array([[1.0, 0.5]]))
    'K = \\\\begin{bmatrix}1 & 0.5\\\\end{bmatrix}'
    """
    if max(array.shape) > WIDE:
        return f"{symbol} \\in \\mathbb{{R}}^{{{array.shape[0]} \\times {array.shape[1]}}}"
    full = np.asarray(array.toarray() if hasattr(array, "toarray") else array)
    floor = _floor(full)
    rows = (" & ".join(_number_latex(0.0 if abs(value) < floor else value) for value in row) for row in full)
    return f"{symbol} = \\begin{{bmatrix}}" + " \\\\ ".join(rows) + "\\end{bmatrix}"


def _number_latex(value: Any) -> str:
    text = f"{value:.5g}"
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if exponent and not np.iscomplexobj(value) else text


def display_latex(lines: Sequence[str]) -> str:
    """Formulas below each other, as a notebook shows them."""
    return "$$\\begin{gathered}\n" + " \\\\\n".join(lines) + "\n\\end{gathered}$$"


def small_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left_off: int = 0) -> str:
    """An HTML table under its title, without scripts, every text escaped; the first column names the row.

    Examples
    --------
    >>> small_table("a < b", ["name"], [["x"]])
    '<div><b>a &lt; b</b><table><thead><tr><th>name</th></tr></thead><tbody><tr><td>x</td></tr></tbody></table></div>'
    """
    more = f"<p>and {left_off} more</p>" if left_off else ""
    if len(rows) > OPEN:
        tail = _table(head, rows[OPEN:])
        more = f"<details><summary>{len(rows) - OPEN + left_off} more</summary>{tail}{more}</details>"
    return f"<div><b>{escape(title)}</b>{_table(head, rows[:OPEN])}{more}</div>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"
