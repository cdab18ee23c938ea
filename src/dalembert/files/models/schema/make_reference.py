"""Make ``docs/model-files-reference.md``: ``python -m dalembert.files.models.schema.make_reference FILE``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dalembert.core.atomic_files import write_text
from dalembert.files.models.schema.json_schema import model_schema
from dalembert.record.units import UNITS

INTRODUCTION = Path(__file__).with_name("reference_start.md")
SECTIONS = (
    "include", "ground", "bodies", "joints", "couplers", "drivers", "constraints", "variables", "forces", "sensors",
    "start", "starts", "simulate",
)  # fmt: skip
_KIND = re.compile(r"^([a-z ]+): a number(?: \[(.*)\])?, or a text")


def reference_text() -> str:
    """The page, in Markdown."""
    schema = model_schema()
    return "\n".join([*_lines(schema)]) + "\n"


def _lines(schema: dict[str, Any]) -> Iterator[str]:
    shown: set[str] = set()
    units = ", ".join(f"`{unit}`" for unit in UNITS)
    yield INTRODUCTION.read_text(encoding="utf-8").replace("UNITS", units).rstrip()
    yield from ("", "## The file", "")
    yield from _keys(schema)
    for section in SECTIONS:
        table = schema["properties"][section]
        about = table.get("description", "")
        yield from ("", f"## {section}", "", f"{about[:1].upper()}{about[1:]}." if about else "")
        parts = [*_references(table)]
        for name in parts:
            yield from _table(schema, name, shown, heading=len(parts) > 1)
    later = [name for name in schema["$defs"] if name not in shown]
    yield from ("", "## Tables inside tables", "", "Tables that the sections above refer to.")
    for name in later:
        yield from _table(schema, name, shown)


def _table(schema: dict[str, Any], name: str, shown: set[str], *, heading: bool = True) -> Iterator[str]:
    table = schema["$defs"][name]
    shown.add(name)
    if heading:
        yield from ("", f"### {_title(table, name)}", "", _plain(table.get("description", "")))
    if set(table["properties"]) - {"type"}:
        yield ""
        yield from _keys(table)


def _keys(own: dict[str, Any]) -> Iterator[str]:
    yield from ("| key | value | default | meaning |", "|---|---|---|---|")
    for key, entry in own["properties"].items():
        if "const" in entry or key == "$schema":
            continue  # the type is the heading
        default = "needed" if key in own.get("required", ()) else _default(entry)
        yield f"| `{key}` | {_cell(_value(entry))} | {default} | {_cell(_meaning(entry))} |"


def _references(given: Any) -> Iterator[str]:
    """Names of the tables that a section is made of."""
    if isinstance(given, dict):
        for key, value in given.items():
            if key == "$ref":
                yield value.rpartition("/")[2]
            elif key != "discriminator":
                yield from _references(value)
    elif isinstance(given, list):
        for value in given:
            yield from _references(value)


def _title(own: dict[str, Any], name: str) -> str:
    kind = own["properties"].get("type", {})
    if "const" in kind:
        return f'type = "{kind["const"]}"'
    if "enum" in kind and name.endswith("Sensor"):
        return "type = " + ", ".join(f'"{choice}"' for choice in kind["enum"])
    return _words(name)


def _words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Table")).lower()


def _value(given: dict[str, Any]) -> str:
    """The values that a key takes, in a few words."""
    if "$ref" in given:
        name = _words(given["$ref"].rpartition("/")[2])
        return name if name == "place" else f"table: {name}"
    if "enum" in given:
        return ", ".join(f'`"{choice}"`' for choice in given["enum"])
    if kind := _KIND.match(given.get("description", "")):
        return f"{kind[1]} [{kind[2]}]" if kind[2] else "number"
    forms = given.get("anyOf") or given.get("oneOf")
    if forms:
        if [form.get("type") for form in forms] == ["number", "string"]:
            law = "expression of" in given.get("description", "")
            unit = re.search(r" \[(.*)\]$", given.get("description", ""))
            return "expression" if law else f"number [{unit[1]}]" if unit else "number"
        shown = dict.fromkeys(_value(form) for form in forms if form.get("type") != "null")
        return "place" if "place" in shown else " or ".join(shown)
    if given.get("type") == "array":
        least, most = given.get("minItems"), given.get("maxItems")
        if least == most == 3 and given["items"].get("type") == "array":
            return f"3×3 matrix, {_value(given['items']['items'])}"
        count = f"{least} " if least == most and least else f"{least} to {most} " if least and most else ""
        return f"list of {count}× {_value(given['items'])}" if count else f"list of {_value(given['items'])}"
    if given.get("type") == "object" and "additionalProperties" in given:
        inner = given["additionalProperties"]
        several = inner is True or "discriminator" in inner
        return "tables by name" if several else f"by name: {_value(inner)}"
    return {"string": "text", "boolean": "true or false", "integer": "whole number"}.get(given.get("type", ""), "")


def _meaning(given: dict[str, Any]) -> str:
    text = _plain(given.get("description", ""))
    if _KIND.match(text) or text.startswith("a number, or an expression of parameters, time"):
        return ""
    return re.sub(r" \[[^\]]*\]$", "", text)


def _default(given: dict[str, Any]) -> str:
    value = given.get("default")
    if value is None or value == {} or value == "":
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value:g}`" if isinstance(value, float) else ""


def _plain(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), reference_text())
