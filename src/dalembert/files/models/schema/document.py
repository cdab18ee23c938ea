"""The model file as pydantic models: what may stand where. `model_schema` makes the JSON Schema of it.

Numbers are SI; a text in place of a number is a quantity with a unit or an expression (see `arithmetic`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from dalembert.files.models.schema.forces import AnyForce, Sensor
from dalembert.files.models.schema.json_schema import model_schema as model_schema
from dalembert.files.models.schema.kinds import (
    Angle,
    Axis,
    Density,
    Direction,
    Edges,
    Gravity,
    Length,
    Mass,
    Number,
    OneOrMore,
    Place,
    Position,
    RadiusLength,
    Time,
    Value,
)
from dalembert.files.models.schema.methods import MethodTable
from dalembert.files.models.schema.values import Law, Table, Text, either, matrix, quantities, quantity

MAX_BODIES = 10_000
MAX_PARTS = 50_000
MAX_COUPLERS = 2_000  # each is looked for among all bodies

if TYPE_CHECKING:
    Inertia = Any
    BodyRotation = Any


# -- bodies ---------------------------------------------------------------------------------------------------------
class ShapeTable(Table):
    """A shape; exactly one of rod, box, cylinder, sphere."""

    rod: Length | None = Field(None, description="length of a thin rod")
    box: Edges | None = Field(None, description="edges along x, y, z")
    cylinder: RadiusLength | None = Field(None, description="radius and length")
    sphere: Length | None = Field(None, description="radius")
    axis: Literal["x", "y", "z"] | None = Field(None, description="of a rod (x) or a cylinder (z)")
    hollow: bool | None = Field(None, description="a sphere that is a thin shell")


class PartTable(ShapeTable):
    """A part of a composite body."""

    mass: Mass = Field(description="of this part")
    position: Position = Field(description="of its centre, in the body")


class InertiaTable(ShapeTable):
    """Inertia by a shape, by several shapes, or from a closed triangle mesh."""

    composite: list[PartTable] | None = Field(None, min_length=1, max_length=200, description="parts welded together")
    mesh: Text | None = Field(None, description="an STL file beside this one")
    density: Density | None = Field(None, description="of the mesh; or give the mass of the body")
    scale: Length | None = Field(None, description="one unit of the mesh, '1 mm' by default")


class PictureTable(Table):
    """A triangle mesh by which pictures show a body."""

    mesh: Text = Field(description="an STL file beside this one, in the coordinates of the body")
    scale: Length | None = Field(None, description="one unit of the mesh, '1 mm' by default")


class RotationTable(Table):
    """A turn about an axis."""

    axis: Axis = Field(description="of any length")
    angle: Angle = Field(description="about it, right-handed")


if not TYPE_CHECKING:
    Inertia = either(
        ("number", quantity("inertia")),
        ("vector", quantities("inertia", 3)),
        ("matrix", matrix("inertia")),
        ("table", InertiaTable),
        hint="a number, three principal values, a 3x3 matrix or a shape such as {rod = 0.2}",
    )
    BodyRotation = either(
        ("vector", quantities("number", 4)),
        ("matrix", matrix("number")),
        ("table", RotationTable),
        hint="a quaternion (scalar first), a 3x3 matrix or {axis, angle}",
    )


class BodyTable(Table):
    """A rigid body."""

    mass: Mass | None = Field(None, description="needed unless a composite or a mesh with a density gives it")
    inertia: Inertia = Field(0.0, description="about the centre of mass")
    position: Position | None = Field(None, description="of the centre of mass, where the drawing shows it")
    angle: Angle | None = Field(None, description="planar: how the drawing shows it")
    rotation: BodyRotation | None = Field(None, description="spatial: how the drawing shows it")
    center: Position | None = Field(None, description="centre of mass, where the body's origin is elsewhere")
    points: dict[Text, Position] = Field({}, description="named points")
    picture: PictureTable | None = Field(None, description="how pictures show it; else by its inertia or its points")


class GroundTable(Table):
    """Named points of the ground."""

    points: dict[Text, Position] = Field({}, description="by name, in world axes")


# -- joints ---------------------------------------------------------------------------------------------------------
class _Joint(Table):
    a: Place = Field(description="on the first body")
    b: Place = Field(description="on the second body")


class _Placed(_Joint):
    at: Position | None = Field(None, description="where the drawing shows the joint, instead of points of the bodies")


class _Axis(_Placed):
    axis: Direction | None = Field(None, description="in the axes of the first body (with at: of the drawing)")


class _Axes(_Axis):
    axis_b: Direction | None = Field(None, description="in the axes of the second body, where it differs")


class Fixed(_Placed):
    """Two frames welded together."""

    type: Literal["fixed"]


class Revolute(_Axes):
    """A hinge about `axis` (z by default). Coordinate `name.angle`."""

    type: Literal["revolute"]
    x: Axis | None = Field(None, description="spatial: where the angle is zero")


class Prismatic(_Axes):
    """A slide along `axis` (x by default in the plane, z in space). Coordinate `name.displacement`."""

    type: Literal["prismatic"]


class Cylindrical(_Axes):
    """Slides along and turns about `axis`; spatial. Coordinates `name.displacement` and `name.angle`."""

    type: Literal["cylindrical"]


class Universal(_Axis):
    """A Cardan joint: `axis` (first body) stays square to `second_axis` (second). `name.angle1`, `name.angle2`."""

    type: Literal["universal"]
    second_axis: Direction | None = Field(None, description="on the second body, x by default")


class Spherical(_Placed):
    """A ball joint: two points coincide; spatial."""

    type: Literal["spherical"]


class Planar(_Axes):
    """Plane on plane, square to `axis`; spatial. Coordinates `name.x`, `name.y` and `name.angle`."""

    type: Literal["planar"]


class Screw(_Axis):
    """A screw along `axis`; spatial. Coordinates `name.angle` and `name.displacement`."""

    type: Literal["screw"]
    lead: Length = Field(description="metres per turn")


class MasslessRod(_Joint):
    """A rigid massless rod: two points keep their distance."""

    type: Literal["massless rod"]
    length: Length = Field(description="distance of the two points")


class PointOnLine(_Axis):
    """A point of the second body stays on a line of the first along `axis`. Coordinate `name.displacement`."""

    type: Literal["point on line"]


class PinInSlot(_Axis):
    """A pin of the second body slides in a straight slot of the first along `axis` (x by default); planar."""

    type: Literal["pin in slot"]


class PointOnPlane(_Axis):
    """A point of the second body stays on a plane of the first, square to `axis`; spatial."""

    type: Literal["point on plane"]


class PointOnCurve(_Joint):
    """A point of the second body stays on a curve of the first. Coordinate `name.parameter`."""

    type: Literal["point on curve"]
    curve: list[Law] = Field(min_length=2, max_length=3, description="coordinates as expressions of s")
    start: Number = Field(0.0, description="first guess of s")


class RollingWheel(_Joint):
    """A thin disc (the second body) rolls without slip on a plane of the first; in the plane, on a line."""

    type: Literal["rolling wheel"]
    radius: Length = Field(description="of the wheel")
    axis: Direction | None = Field(None, description="axle in the wheel's axes, y by default")
    normal: Direction | None = Field(None, description="of the plane, in the first body's axes")


class RollingSphere(_Joint):
    """A sphere (the second body) rolls without slip on a plane of the first; spatial."""

    type: Literal["rolling sphere"]
    radius: Length = Field(description="of the sphere")
    normal: Direction | None = Field(None, description="of the plane, in the first body's axes")


class RollingDiscs(_Joint):
    """A disc (the second body) rolls without slip on another; planar."""

    type: Literal["rolling discs"]
    radius: Length = Field(description="of the first disc")
    second_radius: Length = Field(description="of the second disc")
    inside: bool = Field(False, description="the second rolls inside the ring of the first")


AnyJoint = Annotated[
    Fixed | Revolute | Prismatic | Cylindrical | Universal | Spherical | Planar | Screw | MasslessRod | PointOnLine
    | PinInSlot | PointOnPlane | PointOnCurve | RollingWheel | RollingSphere | RollingDiscs,
    Field(discriminator="type"),
]  # fmt: skip


class Gear(Table):
    """Two joint coordinates in a fixed ratio: second = ratio · first + offset."""

    type: Literal["gear"]
    first: Text = Field(description="a joint, or its coordinate (`U.angle1`)")
    second: Text = Field(description="a joint, or its coordinate")
    ratio: Value = Field(description="change of the second per change of the first")
    offset: Value = Field(0.0, description="of the second where the first is zero")


class RackAndPinion(Table):
    """A turning and a sliding joint coupled: displacement = radius · angle + offset."""

    type: Literal["rack and pinion"]
    pinion: Text = Field(description="the turning joint")
    rack: Text = Field(description="the sliding joint")
    radius: Length = Field(description="of the pinion")
    offset: Length = Field(0.0, description="displacement at angle zero")


AnyCoupler = Annotated[Gear | RackAndPinion, Field(discriminator="type")]


class DriverTable(Table):
    """Prescribed motion of a coordinate."""

    coordinate: Text = Field(
        description="such as `A.angle`, or `crank.x` of a body; `plate.rotation` or `plate.pose` of a body in space"
    )
    motion: OneOrMore = Field(
        description="a number or an expression of t; of a `rotation` three of a rotation vector or four of a "
        "quaternion, of a `pose` x, y, z before them"
    )


class ConstraintTable(Table):
    """An expression of the state that stays zero."""

    residual: OneOrMore = Field(description="one expression or several")
    level: Literal["position", "velocity", "acceleration"] = Field(
        "position", description="what the expression holds: positions, speeds or accelerations"
    )


class VariableTable(Table):
    """An extra coordinate without mass, for constraints."""

    start: Number = Field(0.0, description="first guess")


# -- the rest -------------------------------------------------------------------------------------------------------
class IncludeTable(Table):
    """Another model file, its names preceded by the name of this table and a dot."""

    file: Text = Field(description="relative to this file")
    ground: Text = Field("ground", description="the body of this file that the other file calls ground")
    parameters: dict[Text, Value] = Field({}, description="values for its parameters and constants")


class StartTable(Table):
    """Where the motion starts, as `da.assemble` takes it."""

    position: dict[Text, Value] = Field({}, description="values that joint or body coordinates must have, by name")
    velocity: dict[Text, Value] = Field({}, description="values that their rates must have, by name")
    guess: dict[Text, Value] = Field({}, description="decides which way loops are closed")
    internal: dict[Text, Value] = Field({}, description="motor currents and lags")
    t: Time = Field(0.0, description="time at the start")


class SimulateTable(Table):
    """Defaults of a simulation."""

    until: Time | None = Field(None, description="end of the run")
    every: Time | None = Field(None, description="time between samples of the record")
    method: MethodTable | None = Field(None, description="of integration; chosen when left out")
    inputs: dict[Text, Law] = Field({}, description="input channels as expressions of t")


class Model(Table):
    """A machine."""

    schema_: Text | None = Field(
        None, alias="$schema", exclude=True, description="where an editor finds the schema (JSON files)"
    )
    name: Annotated[str, Field(max_length=200)] = Field("", description="of the machine")
    description: Annotated[str, Field(max_length=20_000)] = Field("", description="in words, for readers and reports")
    planar: bool = Field(False, description="motion in the x-y plane")
    gravity: Gravity | None = Field(None, description="9.81 m/s^2 downwards when left out")
    constants: dict[Text, Value] = Field({}, description="numbers by name, for use in the file")
    parameters: dict[Text, Value] = Field({}, description="numbers by name that eqs.replace(...) can change later")
    include: dict[Text, IncludeTable] = Field({}, max_length=64, description="other model files, by name")
    ground: GroundTable = Field(
        default_factory=lambda: GroundTable(points={}), description="named points of the ground"
    )
    bodies: dict[Text, BodyTable] = Field({}, max_length=MAX_BODIES, description="rigid bodies, by name")
    joints: dict[Text, AnyJoint] = Field(
        {}, max_length=MAX_PARTS, description="what holds bodies together, by name; each has a type"
    )
    couplers: dict[Text, AnyCoupler] = Field(
        {}, max_length=MAX_COUPLERS, description="gears and racks, by name; each has a type"
    )
    drivers: dict[Text, DriverTable] = Field({}, max_length=MAX_COUPLERS, description="prescribed motions, by name")
    constraints: dict[Text, ConstraintTable] = Field(
        {}, max_length=MAX_COUPLERS, description="expressions that stay zero, by name"
    )
    variables: dict[Text, VariableTable] = Field({}, max_length=MAX_COUPLERS, description="extra coordinates, by name")
    forces: dict[Text, AnyForce] = Field(
        {}, max_length=MAX_PARTS, description="springs, dampers, actuators, contacts, by name; each has a type"
    )
    sensors: dict[Text, Sensor] = Field(
        {}, max_length=MAX_PARTS, description="what is measured, by name; each has a type"
    )
    start: StartTable = Field(
        default_factory=lambda: StartTable.model_validate({}), description="where the motion starts"
    )
    simulate: SimulateTable = Field(
        default_factory=lambda: SimulateTable.model_validate({}), description="defaults of a simulation"
    )
