"""Joints as data: the declaration of a kind, a joint between two bodies, and the methods of a mechanism that add them.

A kind is registered by the file that declares it. Methods of `Mechanism`, model files, their schema and reference, and
pictures are made from this declaration; `mechanics/joints/` has the rows of the same name. A package adds kinds
through entry points of the group ``dalembert.joints``: modules that register a `JointKind` here and its
`JointEquations` there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.registry import Registry
from dalembert.equations import CoordinateLimits
from dalembert.expressions.quantities import atan2
from dalembert.model.bodies import (
    IDENTITY,
    Body,
    BodyFrame,
    Place,
    Point,
    Scalar,
    Vector,
    axes_from,
    length_of,
    matmul,
    transpose,
    vector,
)
from dalembert.model.joints.limits import GivenLimits, limits_option, read_limits
from dalembert.model.options import Option as Option
from dalembert.model.options import require_options
from dalembert.record.units import KINDS, in_si

Values = Vector | None

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


GLYPH_SHAPES = ("hinge", "pin", "slide", "screw", "slot", "ball", "cross", "rod", "wheel", "sphere")


@dataclass(frozen=True)
class Glyph:
    """Drawing of a joint in the page.

    shape : one of `GLYPH_SHAPES`, or "" for nothing.
    legend : its line in the legend; none when empty.
    lines : polylines in the axes of the first frame, in sizes of a pin, drawn besides the shape.
    radius : option with the radius of the second body, which rolls.
    """

    shape: str = "pin"
    legend: str = ""
    lines: tuple[tuple[tuple[float, float, float], ...], ...] = ()
    radius: str = ""

    def __post_init__(self) -> None:
        if self.shape:
            require_name("shape of a glyph", self.shape, GLYPH_SHAPES, error=ModelError)


@dataclass(frozen=True)
class JointKind:
    """A kind of joint, as data.

    doc : one sentence or two, for the method, the schema and the reference page.
    rows : number of constraint rows in space and in the plane, those of velocities included; None where the kind does
        not exist.  instead : kind to use there.
    directions : for each frame the option that gives its z axis in space, and the axis where it is left out; None: the
        axis of the first frame.
    numbers : options whose values are passed to the rows.
    variables : coordinates that are unknowns of their own, without mass, each with the option that holds its first
        guess; other coordinates follow from the poses of the bodies.
    bearing : whether Coulomb friction can act in it.
    urdf : type of the joint in a URDF file; none when empty.
    replacement : simpler joints that allow the same motion together, for files that do not have the kind.
    options : besides those that are given, `limits` of the coordinates.
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
    urdf: str = ""
    replacement: str = ""
    check: Callable[[Joint, Mapping[str, Any]], None] | None = None

    def __post_init__(self) -> None:
        if self.coordinates and all(option.name != "limits" for option in self.options):
            object.__setattr__(self, "options", (*self.options, limits_option(self.coordinates)))

    @property
    def keys(self) -> dict[str, Option]:
        """Keys of its table in a model file."""
        sides = (Option("a", "place", "on the first body"), Option("b", "place", "on the second body"))
        return {option.name: option for option in (*sides, *self.options)}


@dataclass(frozen=True, repr=False)
class Joint:
    """A joint between frame `a` and frame `b`; its axis is z of frame `a` (x of a planar slot).

    options : values of its kind's options that do not place the frames.
    """

    name: str
    kind: str
    a: BodyFrame
    b: BodyFrame
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Joint({self.name!r}, {self.kind}, {self.a.body.name}–{self.b.body.name})"

    @property
    def declaration(self) -> JointKind:
        return JOINTS[self.kind]

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return self.declaration.coordinates

    @property
    def holds(self) -> bool:
        """Whether it prevents any motion."""
        return self.declaration.rows[self.a.body.planar] != 0

    @property
    def limits(self) -> Mapping[str, CoordinateLimits]:
        """Of its coordinates, by their names."""
        return self.options.get("limits") or {}


class JointMethods:
    """The methods of `Mechanism` that add joints. Every registered kind has one, ``add_<kind>``.

    An axis is in the axes of each body where the bodies are given by points, in world axes (those of the drawing) where
    the joint is given by `at`.
    """

    planar: bool
    joints: list[Joint]

    def add_joint(self, kind: str, name: str, a: Place, b: Place, **options: Any) -> Joint:
        """A joint of a registered kind between a place of the first body and one of the second.

        kind : "revolute", "screw", ...; `dalembert.model.joints.JOINTS` lists them.
        options : those of the kind; see the method of its name or `docs/model-files-reference.md`.
        """
        declared = JOINTS[kind]
        what, where = f"{kind} joint {name!r}", {"joint": name}
        if declared.rows[1 if self.planar else 0] is None:
            use = Advice("Use {}.", Call(f"m.add_{declared.instead.replace(' ', '_')}"))
            problem = f"{what} does not exist in a {'planar' if self.planar else 'spatial'} mechanism."
            raise ModelError("not-supported", problem, *([use] if declared.instead else ()), where=where)
        chosen = _complete(declared, what, options, self.planar)
        frames = _frames(declared, what, a, b, chosen, self.planar)
        numbers = {option.name: chosen[option.name] for option in declared.options if option.form not in PLACEMENT}
        if declared.coordinates:
            numbers["limits"] = read_limits(declared.coordinates, chosen["limits"], what)
        joint = Joint(name, kind, *frames, numbers)
        if declared.check is not None:
            declared.check(joint, chosen)
        self.joints.append(joint)
        return joint

    if TYPE_CHECKING:  # those of the kinds of this package, for completion and type checkers

        def add_fixed(self, name: str, a: Place, b: Place, *, at: Values = None) -> Joint: ...
        def add_revolute(
            self, name: str, a: Place, b: Place, *, at: Values = None, axis: Values = None, axis_b: Values = None,
            x: Values = None, limits: GivenLimits = None,
        ) -> Joint: ...  # fmt: skip
        def add_prismatic(
            self, name: str, a: Place, b: Place, *, at: Values = None, axis: Values = None, axis_b: Values = None,
            limits: GivenLimits = None,
        ) -> Joint: ...  # fmt: skip
        def add_cylindrical(
            self, name: str, a: Place, b: Place, *, at: Values = None, axis: Values = None, axis_b: Values = None,
            limits: GivenLimits = None,
        ) -> Joint: ...  # fmt: skip
        def add_universal(
            self, name: str, a: Place, b: Place, *, at: Values = None, axis: Values = None,
            second_axis: Values = None, limits: GivenLimits = None,
        ) -> Joint: ...  # fmt: skip
        def add_free(
            self, name: str, a: Place, b: Place, *, at: Values = None, limits: GivenLimits = None
        ) -> Joint: ...
        def add_spherical(self, name: str, a: Place, b: Place, *, at: Values = None) -> Joint: ...
        def add_planar(
            self, name: str, a: Place, b: Place, *, at: Values = None, axis: Values = None, axis_b: Values = None,
            limits: GivenLimits = None,
        ) -> Joint: ...  # fmt: skip
        def add_screw(
            self, name: str, a: Place, b: Place, *, at: Values = None, axis: Values = None, lead: Scalar,
            limits: GivenLimits = None,
        ) -> Joint: ...  # fmt: skip
        def add_massless_rod(self, name: str, a: Place, b: Place, *, length: Scalar) -> Joint: ...
        def add_point_on_line(
            self, name: str, a: Place, b: Place, *, at: Values = None, axis: Values = None, limits: GivenLimits = None
        ) -> Joint: ...
        def add_pin_in_slot(
            self, name: str, a: Place, b: Place, *, at: Values = None, axis: Values = None, limits: GivenLimits = None
        ) -> Joint: ...
        def add_point_on_plane(
            self, name: str, a: Place, b: Place, *, at: Values = None, axis: Values = None
        ) -> Joint: ...
        def add_point_on_curve(
            self, name: str, a: Place, b: Place, *, curve: Callable[[Any], Any], start: float = 0.0,
            limits: GivenLimits = None,
        ) -> Joint: ...  # fmt: skip
        def add_rolling_wheel(
            self, name: str, a: Place, b: Place, *, radius: Scalar, axis: Values = None, normal: Values = None
        ) -> Joint: ...
        def add_rolling_sphere(
            self, name: str, a: Place, b: Place, *, radius: Scalar, normal: Values = None
        ) -> Joint: ...
        def add_rolling_discs(
            self, name: str, a: Place, b: Place, *, radius: Scalar, second_radius: Scalar, inside: bool = False
        ) -> Joint: ...


def unit_along(name: str, joints: Iterable[Joint], bodies: Iterable[Body]) -> str:
    """Unit of a coordinate, or of the first one of a joint; nothing where it is unknown."""
    owner, _, ending = name.rpartition(".")
    for joint in joints:
        if joint.name in (name, owner):
            units = [unit for coordinate, _, unit in joint.coordinates if ending == coordinate or joint.name == name]
            return units[0] if units else ""
    if any(body.name == owner for body in bodies):
        return "rad" if ending == "angle" else "m" if ending in ("x", "y", "z") else ""
    return ""


def _attach(name: str, kind: JointKind) -> None:
    """Give `JointMethods` the method of a kind."""

    def add(self: JointMethods, *sides: Any, **options: Any) -> Joint:
        return self.add_joint(name, *sides, **options)

    add.__name__ = f"add_{name.replace(' ', '_')}"
    add.__qualname__ = f"Mechanism.{add.__name__}"
    add.__doc__ = "\n\n".join([kind.doc, *(f"{option.name} : {option.doc}." for option in kind.options)])
    sides = [Parameter(side, Parameter.POSITIONAL_OR_KEYWORD) for side in ("self", "name", "a", "b")]
    options = [Parameter(option.name, Parameter.KEYWORD_ONLY, default=option.default) for option in kind.options]
    add.__signature__ = Signature([*sides, *options], return_annotation=Joint)  # type: ignore[attr-defined]
    setattr(JointMethods, add.__name__, add)


JOINTS: Registry[JointKind] = Registry(
    "joint kind", package="dalembert.model.joints", group="dalembert.joints", added=_attach
)


def _complete(kind: JointKind, what: str, options: Mapping[str, Any], planar: bool) -> dict[str, Any]:
    """The options of a kind: given, or their defaults; checked."""
    require_options(what, options, {option.name: option for option in kind.options})
    values: dict[str, Any] = {}
    for option in kind.options:
        value = options.get(option.name, option.default)
        if planar and option.spatial and value is not None:
            problem = f"{what}: in the plane every angle is about z."
            advice = Advice("Leave out {}.", Argument(option.name))
            raise ModelError("ineffective-argument", problem, advice, where={"argument": option.name})
        name = f"{option.name} of {what}"
        if option.form in KINDS or option.form == "position":
            form = "length" if option.form == "position" else option.form
            value = in_si(value, form, what=name, error=ModelError)
        values[option.name] = value if option.check is None else option.check(value, name)
    return values


def _frames(
    kind: JointKind, what: str, a: Place, b: Place, given: Mapping[str, Any], planar: bool
) -> tuple[BodyFrame, BodyFrame]:
    at, axis = given.get("at"), given.get("axis")
    if planar:
        angle = 0.0 if axis is None else _angle(axis, what)
        return _frame(kind, what, a, at, angle=angle), _frame(kind, what, b, at, angle=angle)
    (first, z), (second, default_b) = kind.directions
    z, x = z if given.get(first) is None else given[first], given.get("x")
    z_b = default_b if given.get(second) is None else given[second]
    twin = (z, x) if z_b is None else (z_b, None)
    return _frame(kind, what, a, at, (z, x)), _frame(kind, what, b, at, twin)


def _frame(
    kind: JointKind, what: str, side: Place, at: Values, directions: tuple[Any, Any] | None = None, angle: Any = 0.0
) -> BodyFrame:
    """One side: a frame as it is; else a point, or a place of the drawing, with its z and x directions or its angle."""
    if isinstance(side, BodyFrame):
        return side
    axes = IDENTITY if directions is None else axes_from(*directions, f"axis of {what}")
    if isinstance(side, Body) and at is not None:
        place = side.local(at, f"place of {what}")
        return BodyFrame(side, place, matmul(transpose(side.rotation), axes), angle - side.angle)
    point = _point(kind, what, side)
    return BodyFrame(point.body, point.coordinates, axes, angle)


def _point(kind: JointKind, what: str, side: Place) -> Point:
    """A point, or the origin of a body where the kind has no place in the drawing."""
    if isinstance(side, Point):
        return side
    if not isinstance(side, Body):
        problem = f"{what}: expected a point, a frame or a body, got {side!r}."
        raise ModelError("wrong-type", problem, Advice("Points are made by {}.", Call("body.at")))
    if any(option.name == "at" for option in kind.options):
        raise ModelError(
            "missing-argument",
            f"{what} joins bodies, and its place is not given.",
            Advice("Give points or the place in the drawing: {}.", Call("body.at"), Argument("at")),
            where={"body": side.name},
        )
    return side.at(*(0.0,) * side.dimension)


def _angle(axis: Vector, what: str) -> Any:
    """Angle of a direction in the plane."""
    x, y = vector(axis, 2, f"axis of {what}")
    length_of((x, y), f"axis of {what}")
    return atan2(y, x)
