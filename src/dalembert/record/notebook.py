"""Small tables for notebooks: HTML without scripts, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def small_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left_off: int = 0) -> str:
    """A table under its title; the first column names the row, the others are numbers or words.

    Examples
    --------
    >>> small_table("a < b", ["name"], [["x"]])
    '<div><b>a &lt; b</b><table><thead><tr><th>name</th></tr></thead><tbody><tr><td>x</td></tr></tbody></table></div>'
    """
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    more = f"<p>and {left_off} more</p>" if left_off else ""
    body = f"<thead><tr>{top}</tr></thead><tbody>{lines}</tbody>"
    return f"<div><b>{escape(title)}</b><table>{body}</table>{more}</div>"
