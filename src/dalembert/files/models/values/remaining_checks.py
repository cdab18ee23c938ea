"""A part that could not be made: its further problems, key by key, so that all of them are reported at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel

from dalembert.core.errors import DalembertError
from dalembert.files.models.schema.kinds import PlaceTable
from dalembert.files.models.schema.options import KindTable
from dalembert.files.models.schema.values import declared_kind
from dalembert.files.models.values.places import place
from dalembert.files.models.values.scopes import Scope, Skip, Where


@contextmanager
def check_part(scope: Scope, where: Where, name: str, table: object) -> Iterator[None]:
    """As `Scope.part`; where the part fails, the rest of its table is checked too."""
    failed = False
    with scope.part(where, name):
        try:
            yield
        except (Skip, DalembertError):
            failed = True
            raise
    if failed:
        check_values(scope, table, where)


def check_values(scope: Scope, table: object, where: Where) -> None:
    """Check every value of a part for itself; a problem that is noted already is not noted twice."""
    for key, value in _given_values(table):
        try:
            _check(scope, table, key, value, where)
        except Skip:
            pass
        except DalembertError as error:
            scope.source.note(where[:2], error.finding)  # at the line where making the part would have failed
        except (ArithmeticError, TypeError, ValueError):
            pass  # numbers that only make no sense together


def check_remains(scope: Scope) -> None:
    """Parts of the file that lack a key or have an unknown type."""
    for where, (kind, values) in scope.source.remains.items():
        check_values(scope, kind.model_construct(**values), where)


def _given_values(table: Any) -> Iterator[tuple[str, Any]]:
    for key in type(table).model_fields:
        value = getattr(table, key, None)
        if value is not None and key in table.model_fields_set:
            yield key, value


def _check(scope: Scope, table: Any, key: str, value: Any, where: Where) -> None:
    place_here: Where = (*where, key)
    form = _form(table, key)
    if isinstance(value, PlaceTable) or (form in ("point", "frame", "place") and isinstance(value, str)):
        place(scope, value, place_here)
    elif isinstance(value, BaseModel):
        check_values(scope, value, place_here)
    elif isinstance(value, list) and value and all(isinstance(item, BaseModel) for item in value):
        for k, item in enumerate(value):
            check_values(scope, item, (*place_here, k))
    elif key == "points" and isinstance(value, dict):
        for name, raw in value.items():
            with scope.part((*place_here, name)):
                scope.numbers(raw, "length", (*place_here, name))
    elif form == "body":
        scope.body(value, place_here)
    elif form in ("coordinate", "joint"):
        scope.parts.wanted.append((scope.source, where[:2], scope.full(value), scope.prefix))
    elif _is_quantity(table, key, value):
        number = scope.get(table, key, where)
        if form in ("direction", "axis") and isinstance(number, list) and all(float(x) == 0 for x in number):
            problem = f"{key} has no direction: all its numbers are zero."
            scope.source.report(place_here, "zero-length", problem)
        if key == "mass" and float(number) < 0:
            scope.source.report(place_here, "negative", f"mass is negative ({float(number):g} kg).")


def _form(table: object, key: str) -> str:
    """The form of a value: of an option, or in tables that are no kinds."""
    if isinstance(table, KindTable):
        return table.declared[key].form if key in table.declared else ""
    return {"coordinate": "coordinate", "body": "body", "axis": "axis", "x": "axis"}.get(key, "")


def _is_quantity(table: Any, key: str, value: Any) -> bool:
    """Numbers and texts of numbers, not laws, names and choices."""
    return isinstance(value, (str, float, int, list)) and declared_kind(table, key) is not None
