"""Kinds of values of a model file, as types of pydantic: numbers with a dimension, vectors, places, laws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Discriminator, PlainValidator, StringConstraints, Tag, WithJsonSchema
from pydantic_core import PydanticCustomError

from dalembert.files.models.text import limits
from dalembert.files.models.text.sources import shorten
from dalembert.record.units import KINDS


class FileTable(BaseModel):
    """A table of the file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


@dataclass(frozen=True)
class Kind:
    """Which dimension a value of the file has; "" for whatever the coordinate it belongs to has."""

    name: str


def _is_value(given: Any) -> bool:
    if isinstance(given, str):
        return bool(given.strip()) and len(given) <= limits.EXPRESSION
    return isinstance(given, (int, float)) and not isinstance(given, bool)


def _check_value(given: Any) -> Any:
    if not _is_value(given):
        raise PydanticCustomError(
            "value", "expected a number or an expression such as '20 mm'{got}", {"got": _quote_given(given)}
        )
    if isinstance(given, str):
        return given
    try:
        number = float(given)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise PydanticCustomError("finite", "expected a finite number{got}", {"got": _quote_given(given)})
    return number


def _quote_given(given: Any) -> str:
    return f", got {shorten(repr(given))}."


def _schema(kind: str) -> dict[str, Any]:
    unit = KINDS[kind][0] if kind else ""
    what = f"a number [{unit}]" if unit else "a number"
    return {
        "anyOf": [{"type": "number"}, {"type": "string", "minLength": 1, "maxLength": limits.EXPRESSION}],
        "description": f"{kind or 'value'}: {what}, or a text with a unit or an expression of parameters",
    }


def quantity(kind: str) -> Any:
    """The type of a number of this kind."""
    return Annotated[Any, PlainValidator(_check_value), WithJsonSchema(_schema(kind)), Kind(kind)]


def quantities(kind: str, *sizes: int) -> Any:
    """The type of a list of numbers of this kind, of one of the given lengths (any, when none is given)."""

    def check(given: Any) -> Any:
        if not isinstance(given, list) or (sizes and len(given) not in sizes) or len(given) > limits.LIST:
            wanted = " or ".join(str(n) for n in sizes) or f"up to {limits.LIST}"
            raise PydanticCustomError(
                "list", "expected a list of {n} numbers{got}", {"n": wanted, "got": _quote_given(given)}
            )
        return [_check_value(x) for x in given]

    schema: dict[str, Any] = {"type": "array", "items": _schema(kind)}
    if sizes:
        schema |= {"minItems": min(sizes), "maxItems": max(sizes)}
    return Annotated[Any, PlainValidator(check), WithJsonSchema(schema), Kind(kind)]


def _matrix(given: Any) -> Any:
    good = isinstance(given, list) and len(given) == 3 and all(isinstance(row, list) and len(row) == 3 for row in given)
    if not good:
        raise PydanticCustomError("matrix", "expected three rows of three numbers{got}", {"got": _quote_given(given)})
    return [[_check_value(x) for x in row] for row in given]


def matrix(kind: str) -> Any:
    row = {"type": "array", "items": _schema(kind), "minItems": 3, "maxItems": 3}
    schema = {"type": "array", "items": row, "minItems": 3, "maxItems": 3}
    return Annotated[Any, PlainValidator(_matrix), WithJsonSchema(schema), Kind(kind)]


def either(*members: tuple[str, Any], hint: str) -> Any:
    """A value of one of several forms, chosen by its look, so that only one form reports a problem.

    Forms: "text", "number", "vector" (a list of numbers), "matrix" (a list of lists), "table".
    """
    names = [name for name, _ in members]

    def choose(given: Any) -> str | None:
        form = None
        if isinstance(given, str):
            form = "text" if "text" in names else "number"
        elif isinstance(given, (int, float)) and not isinstance(given, bool):
            form = "number"
        elif isinstance(given, (dict, BaseModel)):
            form = "table"
        elif isinstance(given, list):
            form = "matrix" if "matrix" in names and given and all(isinstance(x, list) for x in given) else "vector"
        return form if form in names else None

    union: Any = None
    for name, member in members:
        tagged = Annotated[member, Tag(name)]  # type: ignore[valid-type]
        union = tagged if union is None else union | tagged
    chooser = Discriminator(choose, custom_error_type="form", custom_error_message=f"expected {hint}.")
    return Annotated[union, chooser] if len(members) > 1 else union


def declared_kind(table: FileTable | type[FileTable], key: str) -> str | None:
    """Kind of number that a key of a table takes; None for values that are no numbers: a law, a name, a choice."""
    info = (table if isinstance(table, type) else type(table)).model_fields[key]
    return _find_kind((*info.metadata, info.annotation))


def _find_kind(parts: Any) -> str | None:
    for term in parts:
        if isinstance(term, Kind):
            return term.name
        if get_origin(term) is not None or get_args(term):
            inner = _find_kind((*get_args(term), *getattr(term, "__metadata__", ())))
            if inner is not None:
                return inner
    return None


Text = Annotated[str, StringConstraints(min_length=1, max_length=limits.NAME)]
Law = Annotated[Any, PlainValidator(_check_value), WithJsonSchema({
    "anyOf": [{"type": "number"}, {"type": "string", "minLength": 1, "maxLength": limits.EXPRESSION}],
    "description": "a number, or an expression of parameters, time t and coordinates by name"})]  # fmt: skip
