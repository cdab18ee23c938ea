"""The declaration of a kind of joint, and a joint between two bodies.

A kind is registered by the file that declares it. Methods of `Mechanism`, model files, their schema and reference, and
pictures are made from this declaration; `mechanics/joints/` holds the rows of the same name. A package adds kinds
through entry points of the group ``dalembert.joints``: modules that register a `JointKind` here and its
`JointEquations` there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from dalembert.core.registry import Registry
from dalembert.model.bodies import Frame
from dalembert.model.options import Option as Option

PLACEMENT = ("position", "direction", "axis")  # forms of options that only place the frames
Z = (0.0, 0.0, 1.0)


class Coordinate(NamedTuple):
    """A coordinate of a joint, its rate and the unit of the coordinate."""

    name: str
    rate: str
    unit: str


ANGLE = Coordinate("angle", "rate", "rad")
DISPLACEMENT = Coordinate("displacement", "speed", "m")
AT = Option("at", "position", "where the drawing shows the joint, instead of points of the bodies", None)
AXIS = Option("axis", "direction", "in the axes of the first body (with at: of the drawing)", None)
AXIS_B = Option("axis_b", "direction", "in the axes of the second body, where it differs", None)


@dataclass(frozen=True)
class Glyph:
    """How the page draws a joint.

    shape : "hinge", "pin", "slide", "screw", "slot", "ball", "cross", "rod", "wheel", "sphere" or "" for nothing.
    legend : its line in the legend; none when empty.
    lines : polylines in the axes of the first frame, in sizes of a pin, drawn besides the shape.
    radius : option that holds the radius of the second body, which rolls.
    """

    shape: str = "pin"
    legend: str = ""
    lines: tuple[tuple[tuple[float, float, float], ...], ...] = ()
    radius: str = ""


@dataclass(frozen=True)
class JointKind:
    """A kind of joint, as data.

    doc : one sentence or two, for the method, the schema and the reference page.
    rows : number of constraint rows in space and in the plane, those of velocities included; None where the kind does
        not exist.  instead : kind to use there.
    directions : for each frame the option that gives its z axis in space, and the axis where it is left out; None: the
        axis of the first frame.
    numbers : options whose values are handed to the rows.
    variables : coordinates that are unknowns of their own, without mass, each with the option that holds its first
        guess; other coordinates follow from the poses of the bodies.
    bearing : whether Coulomb friction can act in it.
    check : called with the joint and the arguments; raises if they do not fit together.
    """

    doc: str
    rows: tuple[int | None, int | None]
    coordinates: tuple[Coordinate, ...] = ()
    options: tuple[Option, ...] = ()
    glyph: Glyph = Glyph()
    directions: tuple[tuple[str, Any], tuple[str, Any]] = (("axis", Z), ("axis_b", None))
    numbers: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    bearing: bool = False
    instead: str = ""
    check: Callable[[Joint, Mapping[str, Any]], None] | None = None

    @property
    def keys(self) -> dict[str, Option]:
        """Keys of its table in a model file."""
        sides = (Option("a", "place", "on the first body"), Option("b", "place", "on the second body"))
        return {one.name: one for one in (*sides, *self.options)}

    @property
    def signature(self) -> Signature:
        """Of the method that adds such a joint."""
        sides = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("name", "a", "b")]
        options = [Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default) for one in self.options]
        return Signature([*sides, *options], return_annotation=Joint)


@dataclass(frozen=True, repr=False)
class Joint:
    """A joint between frame `a` and frame `b`; its axis is z of frame `a` (x of a planar slot).

    options : values of its kind's options that do not place the frames.
    """

    name: str
    kind: str
    a: Frame
    b: Frame
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Joint({self.name!r}, {self.kind}, {self.a.body.name}–{self.b.body.name})"

    @property
    def declaration(self) -> JointKind:
        return JOINTS[self.kind]

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return self.declaration.coordinates


JOINTS: Registry[JointKind] = Registry("joint kind", package="dalembert.model.joints", group="dalembert.joints")
