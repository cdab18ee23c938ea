"""Tables of joints and couplers in a model file, made from the registered kinds."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from dalembert.files.models.schema.kinds import Axis, Direction, Place, Position
from dalembert.files.models.schema.values import Law, Table, Text, quantity
from dalembert.model.couplings import CouplerKind
from dalembert.model.joints import JointKind
from dalembert.model.joints.joint import REQUIRED

FORMS: dict[str, Any] = {  # others are kinds of numbers
    "position": Position,
    "direction": Direction,
    "axis": Axis,
    "flag": bool,
    "curve": Annotated[list[Law], Field(min_length=2, max_length=3)],
}


def joint_table(name: str, kind: JointKind) -> type[Table]:
    """The table of a joint kind."""
    fields: dict[str, Any] = {
        "a": (Place, Field(description="on the first body")),
        "b": (Place, Field(description="on the second body")),
    }
    for option in kind.options:
        form = FORMS[option.form] if option.form in FORMS else quantity(option.form)
        if option.default is REQUIRED:
            fields[option.name] = (form, Field(description=option.doc))
        elif option.default is None:
            fields[option.name] = (form | None, Field(None, description=option.doc))
        else:
            fields[option.name] = (form, Field(option.default, description=option.doc))
    return kind_table(name, kind.doc, fields)


def coupler_table(name: str, kind: CouplerKind) -> type[Table]:
    """The table of a coupler kind."""
    fields: dict[str, Any] = {key: (Text, Field(description=doc)) for key, doc in (kind.first, kind.second)}
    key, doc, number = kind.ratio
    fields[key] = (quantity(number), Field(description=doc))
    key, doc, number = kind.offset
    fields[key] = (quantity(number), Field(0.0, description=doc))
    return kind_table(name, kind.doc, fields)


def kind_table(
    name: str, doc: str, fields: dict[str, Any], *, suffix: str = "", base: type[Table] = Table
) -> type[Table]:
    """The table of a registered kind: its type and its keys. Its class has the name of the kind, and a suffix."""
    title = "".join(word.capitalize() for word in name.replace("-", " ").split()) + suffix
    return create_model(title, __base__=base, __doc__=doc, type=(Literal[name], ...), **fields)  # type: ignore


def any_of(tables: Iterable[type[Table]]) -> Any:
    """One of several tables, chosen by its type."""
    return Annotated[reduce(or_, tables), Field(discriminator="type")]
