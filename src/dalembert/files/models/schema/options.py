"""Tables of registered kinds in a model file: the options of a kind are the keys of its table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, create_model

from dalembert.files.models.schema.kinds import Axis, Direction, OneOrMore, Pair, Place, Position, Value
from dalembert.files.models.schema.values import FileTable, Law, Text, either, quantities, quantity
from dalembert.files.models.text import limits
from dalembert.model.actuators import ACTUATORS
from dalembert.model.options import REQUIRED, Option

if TYPE_CHECKING:
    ForceLaw = Any


class TableLaw(FileTable):
    """Piecewise linear force of the extension."""

    table: list[Pair] = Field(min_length=2, max_length=limits.LIST, description="pairs of extension and force")


class LimitsTable(FileTable):
    """Limits of a joint coordinate: data for checks and inverse kinematics, no stops."""

    lower: Value | None = Field(None, description="least value: m, or rad of an angle")
    upper: Value | None = Field(None, description="largest value: m, or rad of an angle")
    speed: Value | None = Field(None, description="largest speed either way: m/s, or rad/s of an angle")
    effort: Value | None = Field(None, description="largest effort of its actuators: N, or N m of an angle")


class KindTable(FileTable):
    """A table whose keys are the options of a kind."""

    declared: ClassVar[Mapping[str, Option]] = {}


if not TYPE_CHECKING:
    ForceLaw = either(("number", Law), ("table", TableLaw), hint="an expression or {table = [[x, force], ...]}")
Factors: Any = dict[Text, quantity("")]  # type: ignore[misc]
LAWS = Annotated[list[Law], Field(min_length=2, max_length=3)]
FORMS: dict[str, Any] = {  # others are kinds of numbers, choices and models
    "position": Position,
    "direction": Direction,
    "axis": Axis,
    **dict.fromkeys(("point", "frame", "place"), Place),
    **dict.fromkeys(("body", "coordinate", "joint", "named force", "input"), Text),
    "coordinates": Factors,
    "law": Law,
    "laws": LAWS,
    "law or laws": OneOrMore,
    "function": Law,
    "law of extension": ForceLaw,
    "curve": LAWS,
    "text": Annotated[str, Field(max_length=40)],
    "flag": bool,
}


def _form(option: Option) -> Any:
    if option.form in FORMS:
        return FORMS[option.form]
    if option.form == "limits":
        return dict[Text, LimitsTable] if option.choices else LimitsTable
    if option.choices:
        return Literal[option.choices]
    if option.form == "model":
        return any_of(kind_table(name, kind.summary(), kind.options(), "Model") for name, kind in ACTUATORS.items())
    if option.many:
        many = quantities(option.form, 1, 2, 3)
        return either(("number", quantity(option.form)), ("vector", many), hint="a number or one per axis")
    return quantity("" if option.about else option.form)


def kind_table(name: str, doc: str, options: Mapping[str, Option], suffix: str = "") -> type[KindTable]:
    """The table of a registered kind: its type and its options. Its class has the name of the kind, and a suffix."""
    keys: dict[str, Any] = {}
    for key, option in options.items():
        form, default = _form(option), ... if option.default is REQUIRED else option.default
        keys[key] = (form | None if default is None else form, Field(default, description=option.doc))
    title = "".join(word.capitalize() for word in name.replace("-", " ").split()) + suffix
    model: Any = create_model(title, __base__=KindTable, __doc__=doc, type=(Literal[name], ...), **keys)  # type: ignore
    model.declared = options
    return model  # type: ignore[no-any-return]


def any_of(tables: Iterable[type[FileTable]]) -> Any:
    """One of several tables, chosen by its type."""
    return Annotated[reduce(or_, tables), Field(discriminator="type")]
