"""The model file as pydantic models: what may stand where. `model_schema` makes the JSON Schema of it.

Numbers are SI; a text in place of a number is a quantity with a unit or an expression (see `arithmetic`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from dalembert.files.models.json_schema import model_schema as model_schema
from dalembert.files.models.kinds import (
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
from dalembert.files.models.schema_forces import AnyForce, Sensor
from dalembert.files.models.values import Law, Table, Text, either, matrix, quantities, quantity

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

    mass: Mass
    position: Position


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

    axis: Axis
    angle: Angle


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

    points: dict[Text, Position] = Field({})


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
    type: Literal["fixed"]


class Revolute(_Axes):
    type: Literal["revolute"]
    x: Axis | None = Field(None, description="spatial: where the angle is zero")


class Prismatic(_Axes):
    type: Literal["prismatic"]


class Cylindrical(_Axes):
    type: Literal["cylindrical"]


class Universal(_Axis):
    type: Literal["universal"]
    second_axis: Direction | None = Field(None, description="on the second body, x by default")


class Spherical(_Placed):
    type: Literal["spherical"]


class Planar(_Axes):
    type: Literal["planar"]


class Screw(_Axis):
    type: Literal["screw"]
    lead: Length = Field(description="metres per turn")


class Rod(_Joint):
    type: Literal["rod"]
    length: Length


class PointOnLine(_Axis):
    type: Literal["point on line"]


class PinInSlot(_Axis):
    type: Literal["pin in slot"]


class PointOnPlane(_Axis):
    type: Literal["point on plane"]


class PointOnCurve(_Joint):
    type: Literal["point on curve"]
    curve: list[Law] = Field(min_length=2, max_length=3, description="coordinates as expressions of s")
    start: Number = Field(0.0, description="first guess of s")


class RollingWheel(_Joint):
    type: Literal["rolling wheel"]
    radius: Length
    axis: Direction | None = Field(None, description="axle in the wheel's axes, y by default")
    normal: Direction | None = Field(None, description="of the plane, in the first body's axes")


class RollingSphere(_Joint):
    type: Literal["rolling sphere"]
    radius: Length
    normal: Direction | None = Field(None, description="of the plane, in the first body's axes")


class RollingDiscs(_Joint):
    type: Literal["rolling discs"]
    radius: Length
    second_radius: Length
    inside: bool = False


AnyJoint = Annotated[
    Fixed | Revolute | Prismatic | Cylindrical | Universal | Spherical | Planar | Screw | Rod | PointOnLine | PinInSlot
    | PointOnPlane | PointOnCurve | RollingWheel | RollingSphere | RollingDiscs,
    Field(discriminator="type"),
]  # fmt: skip


class Gear(Table):
    type: Literal["gear"]
    first: Text
    second: Text
    ratio: Value
    offset: Value = 0.0


class RackAndPinion(Table):
    type: Literal["rack and pinion"]
    pinion: Text
    rack: Text
    radius: Length
    offset: Length = 0.0


AnyCoupler = Annotated[Gear | RackAndPinion, Field(discriminator="type")]


class DriverTable(Table):
    """Prescribed motion of a coordinate."""

    coordinate: Text
    motion: Law = Field(description="a number or an expression of t")


class ConstraintTable(Table):
    """An expression of the state that stays zero."""

    residual: OneOrMore
    level: Literal["position", "velocity", "acceleration"] = "position"


class VariableTable(Table):
    """An extra coordinate without mass, for constraints."""

    start: Number = 0.0


# -- the rest -------------------------------------------------------------------------------------------------------
class IncludeTable(Table):
    """Another model file, its names preceded by the name of this table and a dot."""

    file: Text = Field(description="relative to this file")
    ground: Text = Field("ground", description="the body of this file that the other file calls ground")
    parameters: dict[Text, Value] = Field({}, description="values for its parameters and constants")


class StartTable(Table):
    """Where the motion starts, as `da.assemble` takes it."""

    position: dict[Text, Value] = Field({})
    velocity: dict[Text, Value] = Field({})
    guess: dict[Text, Value] = Field({}, description="decides which way loops are closed")
    internal: dict[Text, Value] = Field({}, description="motor currents and lags")
    t: Time = 0.0


class MethodTable(Table):
    """A method of integration."""

    type: Literal["RK4", "DormandPrince", "Rosenbrock", "GeneralizedAlpha", "Sundials"]
    step: Time | None = None
    order: int | None = None
    rtol: Number | None = None
    atol: Number | None = None
    rho: Number | None = None
    first_step: Time | None = None
    max_step: Time | None = None
    index: int | None = None
    solver: Literal["cvodes", "idas"] | None = None
    max_steps: int | None = None


class SimulateTable(Table):
    """Defaults of a simulation."""

    until: Time | None = None
    every: Time | None = None
    method: MethodTable | None = None
    inputs: dict[Text, Law] = Field({}, description="input channels as expressions of t")


class Model(Table):
    """A machine."""

    schema_: Text | None = Field(None, alias="$schema", exclude=True)
    name: Annotated[str, Field(max_length=200)] = ""
    description: Annotated[str, Field(max_length=20_000)] = ""
    planar: bool = Field(False, description="motion in the x-y plane")
    gravity: Gravity | None = Field(None, description="9.81 m/s^2 downwards when left out")
    constants: dict[Text, Value] = Field({}, description="numbers by name, for use in the file")
    parameters: dict[Text, Value] = Field({}, description="numbers by name that eqs.replace(...) can change later")
    include: dict[Text, IncludeTable] = Field({}, max_length=64)
    ground: GroundTable = Field(default_factory=lambda: GroundTable(points={}))
    bodies: dict[Text, BodyTable] = Field({}, max_length=MAX_BODIES)
    joints: dict[Text, AnyJoint] = Field({}, max_length=MAX_PARTS)
    couplers: dict[Text, AnyCoupler] = Field({}, max_length=MAX_COUPLERS)
    drivers: dict[Text, DriverTable] = Field({}, max_length=MAX_COUPLERS)
    constraints: dict[Text, ConstraintTable] = Field({}, max_length=MAX_COUPLERS)
    variables: dict[Text, VariableTable] = Field({}, max_length=MAX_COUPLERS)
    forces: dict[Text, AnyForce] = Field({}, max_length=MAX_PARTS)
    sensors: dict[Text, Sensor] = Field({}, max_length=MAX_PARTS)
    start: StartTable = Field(default_factory=lambda: StartTable.model_validate({}))
    simulate: SimulateTable = Field(default_factory=lambda: SimulateTable.model_validate({}))
