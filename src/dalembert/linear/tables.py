"""Tables of results as plain text."""

from __future__ import annotations

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
