"""Tables of results as plain text."""

from __future__ import annotations

import math
from collections.abc import Sequence


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Right-aligned columns under their heads.

    Examples
    --------
    >>> print(aligned(["mode", "Hz"], [["1", "2.5"], ["10", "31"]]))
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
