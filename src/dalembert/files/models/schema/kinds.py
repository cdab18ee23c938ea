"""Kinds of numbers of a model file by name, and places on bodies.

Type checkers see ``Any``: pydantic reads these types when the module is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from dalembert.files.models.schema.values import FileTable, Law, Text, either, matrix, quantities, quantity

if TYPE_CHECKING:
    Angle = Any
    Axis = Any
    Density = Any
    Direction = Any
    Edges = Any
    Gravity = Any
    Length = Any
    Mass = Any
    Number = Any
    OneOrMore = Any
    Target = Any
    Pair = Any
    Place = Any
    Position = Any
    Pressure = Any
    RadiusLength = Any
    Rotation3 = Any
    Time = Any
    Value = Any
else:
    Number, Angle, Length = (quantity(k) for k in ("number", "angle", "length"))
    Mass, Time, Density, Pressure = (quantity(k) for k in ("mass", "time", "density", "pressure"))
    Value = quantity("")  # of whatever dimension the coordinate has
    Direction, Axis, Pair = quantities("", 2, 3), quantities("", 3), quantities("", 2)  # of any length
    Position, Edges, RadiusLength = (quantities("length", *n) for n in ((2, 3), (2, 3), (1, 2)))
    Rotation3 = matrix("number")
    Target = either(("number", Value), ("vector", quantities("number", 4)), hint="a number, or a quaternion")
    OneOrMore = either(("number", Law), ("vector", list[Law]), hint="an expression or a list of them")
    Gravity = either(
        ("number", quantity("acceleration")),
        ("vector", quantities("acceleration", 2, 3)),
        hint="a vector, or 0 for none",
    )


class PlaceTable(FileTable):
    """A point or frame of a body."""

    body: Text = Field(description="name of a body, or 'ground'")
    point: Text | None = Field(None, description="one of the body's named points")
    at: Position | None = Field(None, description="coordinates in the body's own axes, from its origin")
    offset: Position | None = Field(None, description="coordinates in the body's own axes, from its centre of mass")
    axis: Axis | None = Field(None, description="spatial: z axis of the frame")
    x: Axis | None = Field(None, description="spatial: x direction of the frame")
    axes: Rotation3 | None = Field(None, description="spatial: axes of the frame as columns of a rotation")
    angle: Angle | None = Field(None, description="planar: angle of the frame")


if not TYPE_CHECKING:
    Place = either(
        ("text", Text),
        ("table", PlaceTable),
        hint="a place: 'crank', 'crank.tip', 'crank(0.1, 0)' or a table with body",
    )
