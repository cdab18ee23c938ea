"""A part that could not be made: whatever else is wrong with it, key by key, so that all of it is reported at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from dalembert.core.errors import DalembertError
from dalembert.files.models.schema.forces import KindTable
from dalembert.files.models.schema.kinds import PlaceTable
from dalembert.files.models.schema.values import declared_kind
from dalembert.files.models.values.places import place
from dalembert.files.models.values.scopes import Scope, Skip, Where
from dalembert.model.couplings import COUPLERS
from dalembert.model.joints import JOINTS

_PLACES = ("a", "b")  # of joints


def look_over(scope: Scope, table: Any, where: Where) -> None:
    """Every value of a part for itself; what is said already is not said twice."""
    for key, value in _given(table):
        try:
            _look(scope, table, key, value, where)
        except Skip:
            pass
        except DalembertError as error:
            scope.source.note(where[:2], error.finding)  # at the line where making the part would have failed
        except (ArithmeticError, TypeError, ValueError):
            pass  # numbers that only make no sense together


def look_over_remains(scope: Scope) -> None:
    """Parts of the file that lack a key or have an unknown type."""
    for where, (kind, values) in scope.source.remains.items():
        look_over(scope, kind.model_construct(**values), where)


def _given(table: Any) -> Iterator[tuple[str, Any]]:
    for key in type(table).model_fields:
        value = getattr(table, key, None)
        if value is not None and key in table.model_fields_set:
            yield key, value


def _look(scope: Scope, table: Any, key: str, value: Any, where: Where) -> None:
    place_here: Where = (*where, key)
    form = _form(table, key)
    is_place = form in ("point", "frame", "place") or (form is None and key in _PLACES)
    if isinstance(value, PlaceTable) or (is_place and isinstance(value, str)):
        place(scope, value, place_here)
    elif isinstance(value, BaseModel):
        look_over(scope, value, place_here)
    elif isinstance(value, list) and value and all(isinstance(item, BaseModel) for item in value):
        for k, item in enumerate(value):
            look_over(scope, item, (*place_here, k))
    elif key == "points" and isinstance(value, dict):
        for name, raw in value.items():
            with scope.part((*place_here, name)):
                scope.numbers(raw, "length", (*place_here, name))
    elif key == "body" and isinstance(value, str):
        scope.body(value, place_here)
    elif (form in ("coordinate", "joint") or (form is None and key in _coordinate_keys())) and isinstance(value, str):
        scope.parts.wanted.append((scope.source, where[:2], scope.full(value), scope.prefix))
    elif _is_quantity(table, key, value):
        found = scope.get(table, key, where)
        if key in _direction_keys() and isinstance(found, list) and all(float(x) == 0 for x in found):
            problem = f"{key} has no direction: all its numbers are zero."
            scope.source.problem(place_here, "zero-length", problem)
        if key == "mass" and float(found) < 0:
            scope.source.problem(place_here, "negative", f"mass is negative ({float(found):g} kg).")


def _form(table: Any, key: str) -> str | None:
    """The form of an option, None in tables of other parts."""
    declared = table.declared.options() if isinstance(table, KindTable) else {}
    return declared[key].form if key in declared else None


def _is_quantity(table: Any, key: str, value: Any) -> bool:
    """Numbers and texts of numbers, not laws, names and choices."""
    return isinstance(value, (str, float, int, list)) and declared_kind(table, key) is not None


def _coordinate_keys() -> set[str]:
    """Keys that name a coordinate."""
    return {"coordinate", *(name for kind in COUPLERS.values() for name, _ in (kind.first, kind.second))}


def _direction_keys() -> set[str]:
    """Keys of joints that are directions, and those of places."""
    options = (option for kind in JOINTS.values() for option in kind.options)
    return {"axis", "x", *(option.name for option in options if option.form in ("direction", "axis"))}
