"""Numbers and names as words of a message or a table; small tables for notebooks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

OPEN = 10  # rows that are seen at once; the rest opens on a click and leaves the screen to the plot below


def count_noun(number: int, word: str) -> str:
    """``"1 input"``, ``"2 inputs"``, ``"no inputs"``."""
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"


def to_option(name: str) -> str:
    """The name of a class as a choice on the command line.

    Examples
    --------
    >>> to_option("GeneralizedAlpha"), to_option("RK4")
    ('generalized-alpha', 'rk4')
    """
    return name.lower() if name.isupper() or name[-1].isdigit() else re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def list_names(names: Sequence[str], units: Mapping[str, str], *, most: int = 12) -> str:
    """``"angle [rad], torque [N m], ..."``."""
    shown = [f"{name} [{units[name]}]" if units.get(name) else name for name in names[:most]]
    return ", ".join(shown) + (f", ... ({len(names)} in all)" if len(names) > most else "")


def complex_text(s: complex) -> str:
    """``"-1.5"``, ``"0+3.1416i"``."""
    return f"{s.real + 0.0:.5g}" if s.imag == 0.0 else f"{s.real + 0.0:.5g}{s.imag:+.5g}i"


def small_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left_off: int = 0) -> str:
    """An HTML table under its title, without scripts, every text escaped; the first column names the row.

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
