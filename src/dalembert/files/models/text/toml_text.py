"""Documents of plain values as TOML and JSON text."""

from __future__ import annotations

import json
import re
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_WIDTH = 100  # columns of an inline table before it becomes a table of its own


def json_text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def toml_text(document: dict[str, Any]) -> str:
    """Values first, then one table per part.

    Examples
    --------
    >>> print(toml_text({"name": "arm", "bodies": {"upper arm": {"mass": 1.0}}}))
    name = "arm"
    <BLANKLINE>
    [bodies."upper arm"]
    mass = 1.0
    <BLANKLINE>
    """
    lines: list[str] = []
    _table((), document, lines)
    return "\n".join(lines).lstrip("\n") + "\n"


def _table(path: tuple[str, ...], table: dict[str, Any], lines: list[str]) -> None:
    plain = {key: value for key, value in table.items() if not _is_section(path, value)}
    if path and (plain or not table):
        lines += ["", f"[{'.'.join(_key(step) for step in path)}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    for key, value in table.items():
        if key not in plain:
            _table((*path, key), value, lines)


def _is_section(path: tuple[str, ...], value: object) -> bool:
    """Sections and parts are tables of their own; the content of a part stays on its line when it is short."""
    return isinstance(value, dict) and (len(path) < 2 or len(_value(value)) > _WIDTH)


def _key(key: str) -> str:
    return key if _BARE.match(key) else _string(key)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, dict):
        inner = ", ".join(f"{_key(key)} = {_value(entry)}" for key, entry in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(entry) for entry in value)}]"
    return repr(int(value) if isinstance(value, int) else float(value))
