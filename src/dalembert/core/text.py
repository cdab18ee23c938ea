"""Numbers and names as words of a message or a table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence


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
