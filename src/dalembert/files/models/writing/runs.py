"""Start and simulation defaults of a mechanism as tables of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from dalembert.files.models.values.laws import InputLaw

if TYPE_CHECKING:
    from dalembert.files.models.writing.document import Document


def start_table(document: Document, start: Mapping[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in start.items():
        if key in ("position", "velocity", "guess", "internal") and isinstance(value, Mapping):
            table[key] = {name: float(x) for name, x in value.items()}
        elif key == "t":
            table[key] = float(value)
        else:
            document.refused.append(f"start[{key!r}] has no place in a file.")
    return table


def simulation_table(document: Document, simulation: Mapping[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in simulation.items():
        if key in ("until", "every") and isinstance(value, (int, float)):
            table[key] = float(value)
        elif key == "inputs" and isinstance(value, Mapping):
            table[key] = {name: _input(document, name, x) for name, x in value.items()}
        elif key == "method" and is_dataclass(value):
            table[key] = _method(document, value)
        else:
            document.refused.append(f"simulation[{key!r}] has no place in a file.")
    return table


def _input(document: Document, name: str, value: object) -> Any:
    if callable(value):
        return document.law(value, InputLaw, f"input {name!r} of the simulation")[0]
    return document.number(value, f"input {name!r} of the simulation")


def _method(document: Document, method: Any) -> dict[str, Any]:
    table: dict[str, Any] = {"type": type(method).__name__}
    for field in fields(method):
        value = getattr(method, field.name)
        if value == (None if field.default is MISSING else field.default):
            continue
        if isinstance(value, (int, float, str)):
            table[field.name] = value
        else:
            document.refused.append(f"{field.name} of the method of integration has no place in a file.")
    return table
