"""Small tables for notebooks: HTML without scripts, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

OPEN = 10  # rows that are seen at once; the rest opens on a click and leaves the screen to the plot below


def small_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left_off: int = 0) -> str:
    """A table under its title; the first column names the row, the others are numbers or words.

    Examples
    --------
    >>> small_table("a < b", ["name"], [["x"]])
    '<div><b>a &lt; b</b><table><thead><tr><th>name</th></tr></thead><tbody><tr><td>x</td></tr></tbody></table></div>'
    """
    more = f"<p>and {left_off} more</p>" if left_off else ""
    if len(rows) > OPEN:
        rest = _table(head, rows[OPEN:])
        more = f"<details><summary>{len(rows) - OPEN + left_off} more</summary>{rest}{more}</details>"
    return f"<div><b>{escape(title)}</b>{_table(head, rows[:OPEN])}{more}</div>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"
