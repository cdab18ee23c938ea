"""Tables of forces, actuator models and sensors in a model file, made from the registered kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from dalembert.files.models.schema.joints import any_of, kind_table
from dalembert.files.models.schema.kinds import Direction, OneOrMore, Pair, Place
from dalembert.files.models.schema.values import Law, Table, Text, either, quantities, quantity
from dalembert.model.actuators import ACTUATORS
from dalembert.model.options import Declared, Option

if TYPE_CHECKING:
    ForceLaw = Any


class TableLaw(Table):
    """Piecewise linear force of the extension."""

    table: list[Pair] = Field(min_length=2, max_length=1000, description="pairs of extension and force")


if not TYPE_CHECKING:
    ForceLaw = either(("number", Law), ("table", TableLaw), hint="an expression or {table = [[x, force], ...]}")


class KindTable(Table):
    """A table whose keys are the options of a kind."""

    declared: ClassVar[type[Declared]]


def _number(option: Option) -> Any:
    if option.shape == "direction":
        return Direction
    if option.shape == "axes":
        many = quantities(option.form, 1, 2, 3)
        return either(("number", quantity(option.form)), ("vector", many), hint="a number or one per axis")
    return quantity("" if option.about else option.form)


def _choice(option: Option) -> Any:
    return Literal[option.choices]


def _model(option: Option) -> Any:
    return any_of(part_table(kind, "Model") for kind in ACTUATORS.values())


FORMS: dict[str, Any] = {  # others are kinds of numbers
    **dict.fromkeys(("point", "frame", "place"), Place),
    **dict.fromkeys(("body", "coordinate", "joint", "named force", "input"), Text),
    "law": Law,
    "laws": Annotated[list[Law], Field(min_length=2, max_length=3)],
    "law or laws": OneOrMore,
    "function": Law,
    "law of extension": ForceLaw,
    "text": Annotated[str, Field(max_length=40)],
}
_MADE: dict[str, Callable[[Option], Any]] = {"choice": _choice, "model": _model}


def part_table(kind: type[Declared], suffix: str = "") -> type[KindTable]:
    """The table of a kind of force, sensor or actuator model."""
    fields: dict[str, Any] = {}
    for name, option in kind.options().items():
        form = FORMS[option.form] if option.form in FORMS else _MADE.get(option.form, _number)(option)
        default = ... if option.default is MISSING else option.default
        fields[name] = (form | None if default is None else form, Field(default, description=option.doc))
    made = kind_table(kind.kind, kind.summary(), fields, suffix=suffix, base=KindTable)
    assert issubclass(made, KindTable)
    made.declared = kind
    return made
