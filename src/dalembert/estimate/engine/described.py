"""One description of what all filters share, shown by each of them.

A subclass names the parameters it shares in a line ``outputs, Q, R : see `Filter`.`` of its docstring and passes them
on as keywords; ``help(subclass)`` then shows what the base class says of them, and the whole signature.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

SHARED = re.compile(r"^(?P<names>[\w, ]+) : see `Filter`\.?(?P<rest>.*)\n", re.MULTILINE)
ENTRY = re.compile(r"^(?P<names>\w+(?:, \w+)*) : (?P<text>.*\n(?:    .*\n)*)", re.MULTILINE)


def described(cls: type, base: type) -> None:
    """Write the shared parameters into the docstring of a subclass, and its signature out."""
    own = cls.__dict__.get("__doc__")
    if own and base.__doc__:
        entries = [
            (m["names"].split(", "), m["text"]) for m in ENTRY.finditer(_parameters(inspect.cleandoc(base.__doc__)))
        ]
        cls.__doc__ = SHARED.sub(lambda m: _written(m["names"].split(", "), m["rest"], entries), inspect.cleandoc(own))
    if "__init__" in cls.__dict__:
        cls.__signature__ = _signature(cls, base)  # type: ignore[attr-defined]


def _parameters(doc: str) -> str:
    return doc.partition("----------\n")[2].partition("\n\n")[0] + "\n"


def _written(names: list[str], rest: str, entries: list[tuple[list[str], str]]) -> str:
    lines = []
    for known, text in entries:
        shown = [name for name in known if name in names]
        if shown:
            lines.append(f"{', '.join(shown)} : {text}")
    return "".join(lines) + (f"    {rest.strip()}\n" if rest.strip() else "")


def _signature(cls: Any, base: Any) -> inspect.Signature:
    own = list(inspect.signature(cls.__init__).parameters.values())[1:]
    if own and own[-1].kind is inspect.Parameter.VAR_KEYWORD:
        known = {p.name for p in own}
        passed = [p for p in inspect.signature(base.__init__).parameters.values() if p.name not in {"self", *known}]
        own = [*own[:-1], *passed] if own[-1].name == "keywords" else own
    return inspect.Signature(own)
