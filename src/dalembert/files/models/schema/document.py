"""The model file as pydantic models: keys, and the values they take. `make_schema` makes the JSON Schema of it.

Numbers are SI; a text in place of a number is a quantity with a unit or an expression (see `arithmetic`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model

from dalembert.files.models.schema.kinds import (
    Angle,
    Axis,
    Density,
    Edges,
    Gravity,
    Length,
    Mass,
    Number,
    OneOrMore,
    Position,
    Pressure,
    RadiusLength,
    Target,
    Time,
    Value,
)
from dalembert.files.models.schema.methods import MethodTable
from dalembert.files.models.schema.options import any_of, kind_table
from dalembert.files.models.schema.values import FileTable, Law, Text, either, matrix, quantities, quantity
from dalembert.files.models.text import limits
from dalembert.model.actuators import ACTUATORS
from dalembert.model.couplings import COUPLERS
from dalembert.model.forces import FORCES
from dalembert.model.joints import JOINTS
from dalembert.model.sensors import SENSORS

if TYPE_CHECKING:
    Inertia = Any
    BodyRotation = Any
    Lengths = Any


# -- bodies ---------------------------------------------------------------------------------------------------------
class ShapeTable(FileTable):
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


class ColorTable(FileTable):
    """Triangles of one colour."""

    first: int = Field(ge=0, description="number of the first triangle, counted from zero")
    count: int = Field(ge=1, description="number of triangles")
    color: Annotated[str, Field(pattern="^#[0-9a-f]{6}$")] = Field(description="such as `#ff8000`")


class PictureTable(FileTable):
    """A triangle mesh by which pictures show a body."""

    mesh: Text = Field(description="an STL file beside this one, in the coordinates of the body")
    scale: Length | None = Field(None, description="one unit of the mesh, '1 mm' by default")
    colors: list[ColorTable] = Field([], max_length=limits.LIST, description="colours of its triangles")


class RotationTable(FileTable):
    """A turn about an axis."""

    axis: Axis = Field(description="of any length")
    angle: Angle = Field(description="about it, right-handed")


Ending = Literal["free", "clamped", "supported", "guided"]


class GaugeTable(FileTable):
    """A gauge on a beam, which sensors of the types strain and curvature read."""

    x: Length = Field(description="along the beam, from its start")
    y: Length = Field(0.0, description="from the middle of the section")
    z: Length = Field(0.0, description="from the middle of the section")
    quantity: Literal["strain", "curvature"] = Field("strain", description="what it measures")
    about: Literal["y", "z"] = Field("z", description="axis of a curvature")


class BeamTable(FileTable):
    """An elastic beam (Euler-Bernoulli) along x of its body, from the origin on; round, or of a rectangular section."""

    length: Length = Field(description="along x")
    radius: Length | None = Field(None, description="of a round section")
    height: Length | None = Field(None, description="of a rectangular section, along y")
    width: Length | None = Field(None, description="of a rectangular section, along z")
    material: Text | None = Field(None, description="one of the library, such as steel; or give E and density")
    E: Pressure | None = Field(None, description="Young's modulus")
    density: Density | None = Field(None, description="of the material")
    poisson: Number | None = Field(None, description="Poisson's ratio, 0.3 when left out")
    modes: int = Field(4, ge=1, le=200, description="number of vibration modes")
    ends: Annotated[list[Ending], Field(min_length=2, max_length=2)] | None = Field(
        None,
        description="how the start and the end are held in its modes, which bend along y; when left out, its frame is "
        "a mean axis, and static shapes of both ends are added to modes held there",
    )
    end_mass: Mass | None = Field(None, description="mass point at a free end, part of its modes")
    pieces: int | None = Field(
        None,
        ge=1,
        le=200,
        description="number of welded pieces that it is cut into, so that it may bend far; each is a body with these "
        "modes (1 in the plane, 2 in space when left out), called by the name of the beam and a number",
    )
    elements: int = Field(20, ge=1, le=2000, description="finite elements along the beam, where ends are left out")
    nodes: dict[Text, Length] = Field({}, description="places along x where parts can be attached, besides start, end")
    gauges: dict[Text, GaugeTable] = Field({}, description="gauges by name")
    damping: Number | None = Field(None, description="damping ratio of all modes")
    stiffening: bool | None = Field(
        None,
        description="geometric stiffness by the motion and by loads at the nodes; when left out, with up to 16 modes",
    )


if not TYPE_CHECKING:
    Inertia = either(
        ("number", quantity("inertia")),
        ("vector", quantities("inertia", 3)),
        ("matrix", matrix("inertia")),
        ("table", InertiaTable),
        hint="a number, three principal values, a 3x3 matrix or a shape such as {rod = 0.2}",
    )
    Lengths = quantities("length", 1, 2, 3)
    BodyRotation = either(
        ("vector", quantities("number", 4)),
        ("matrix", matrix("number")),
        ("table", RotationTable),
        hint="a quaternion (scalar first), a 3x3 matrix or {axis, angle}",
    )


class CollisionTable(FileTable):
    """A shape by which a body touches the ground (`add_ground`)."""

    type: Literal["sphere", "capsule", "cylinder", "box", "plane"] = Field(
        description="its kind; a plane of the ground"
    )
    size: Lengths = Field(description="radius; radius and length; three edges")
    position: Position = Field([0.0, 0.0, 0.0], description="of its centre, in the body")
    rotation: BodyRotation | None = Field(None, description="of its axes, in the body")


class BodyTable(FileTable):
    """A body: rigid, with a mass and an inertia; or flexible, by a data file or as a beam."""

    mass: Mass | None = Field(None, description="needed unless a composite or a mesh with a density gives it")
    inertia: Inertia = Field(0.0, description="about the centre of mass")
    position: Position | None = Field(None, description="of the centre of mass, where the drawing shows it")
    angle: Angle | None = Field(None, description="planar: how the drawing shows it")
    rotation: BodyRotation | None = Field(None, description="spatial: how the drawing shows it")
    center: Position | None = Field(None, description="centre of mass, where the body's origin is elsewhere")
    points: dict[Text, Position] = Field({}, description="named points")
    picture: PictureTable | None = Field(None, description="how pictures show it; else by its inertia or its points")
    shapes: list[CollisionTable] = Field([], max_length=limits.LIST, description="by which it touches the ground")
    as_given: bool = Field(False, description="take the inertia as it is, also where no body can have it")
    flexible: Text | None = Field(
        None, description="data file of a flexible body beside this one (.npz, .SID_FEM, .toml); its nodes are points"
    )
    beam: BeamTable | None = Field(None, description="a flexible body that is a beam; its nodes are points")
    stiffness: Number | None = Field(None, description="of a flexible body: factor of its stiffness, 1 when left out")
    damping: Number | None = Field(None, description="of a flexible body: factor of its damping, 1 when left out")


class GroundTable(FileTable):
    """Named points of the ground, and the picture of its parts."""

    points: dict[Text, Position] = Field({}, description="by name, in world axes")
    picture: PictureTable | None = Field(None, description="parts on the ground, in pictures of this file")
    shapes: list[CollisionTable] = Field([], max_length=limits.LIST, description="planes that robots stand on")


# -- joints and what prescribes motion ------------------------------------------------------------------------------
class DriverTable(FileTable):
    """Prescribed motion of a coordinate."""

    coordinate: Text = Field(
        description="such as `A.angle`, or `crank.x` of a body; `plate.rotation` or `plate.pose` of a body in space"
    )
    motion: OneOrMore | None = Field(
        None,
        description="a number or an expression of t; of a `rotation` three of a rotation vector or four of a "
        "quaternion, of a `pose` x, y, z before them",
    )
    input: Text = Field("", description="instead of a motion: input that is the acceleration of the coordinate")


class ConstraintTable(FileTable):
    """An expression of the state that stays zero."""

    residual: OneOrMore = Field(description="one expression or several")
    level: Literal["position", "velocity", "acceleration"] = Field(
        "position", description="level of the expression: of positions, speeds or accelerations"
    )


class VariableTable(FileTable):
    """An extra coordinate without mass, for constraints."""

    start: Number = Field(0.0, description="first guess")


# -- the rest -------------------------------------------------------------------------------------------------------
class IncludeTable(FileTable):
    """Another model file, its names preceded by the name of this table and a dot."""

    file: Text = Field(description="relative to this file")
    ground: Text = Field("ground", description="the body of this file that the other file calls ground")
    parameters: dict[Text, Value] = Field({}, description="values for its parameters and constants")


class StartTable(FileTable):
    """Where the motion starts, as `da.assemble` takes it."""

    position: dict[Text, Target] = Field(
        {}, description="values that joint or body coordinates must have, by name; of `plate.rotation` a quaternion"
    )
    velocity: dict[Text, Value] = Field({}, description="values that their rates must have, by name")
    guess: dict[Text, Value] = Field({}, description="decides which way loops are closed")
    internal: dict[Text, Value] = Field({}, description="motor currents and lags")
    t: Time = Field(0.0, description="time at the start")


class NamedStartTable(FileTable):
    """An initial state by name, such as the home pose of a robot (`--start home`), with its inputs."""

    position: dict[Text, Target] = Field({}, description="as in `start`")
    velocity: dict[Text, Value] = Field({}, description="as in `start`")
    inputs: dict[Text, Value] = Field({}, description="values of inputs")


class SimulateTable(FileTable):
    """Defaults of a simulation."""

    until: Time | None = Field(None, description="end of the run")
    every: Time | None = Field(None, description="time between samples of the record")
    method: MethodTable | None = Field(None, description="of integration; chosen when left out")
    inputs: dict[Text, Law] = Field({}, description="input channels as expressions of t")


class Model(FileTable):
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
        default_factory=lambda: GroundTable(points={}, picture=None, shapes=[]),
        description="named points of the ground",
    )
    bodies: dict[Text, BodyTable] = Field({}, max_length=limits.BODIES, description="bodies, by name")
    joints: dict[Text, Any] = Field({})  # see `model_type`
    couplers: dict[Text, Any] = Field({})
    drivers: dict[Text, DriverTable] = Field({}, max_length=limits.COUPLERS, description="prescribed motions, by name")
    constraints: dict[Text, ConstraintTable] = Field(
        {}, max_length=limits.COUPLERS, description="expressions that stay zero, by name"
    )
    variables: dict[Text, VariableTable] = Field(
        {}, max_length=limits.COUPLERS, description="extra coordinates, by name"
    )
    forces: dict[Text, Any] = Field({})
    sensors: dict[Text, Any] = Field({})
    start: StartTable = Field(
        default_factory=lambda: StartTable.model_validate({}), description="where the motion starts"
    )
    starts: dict[Text, NamedStartTable] = Field({}, max_length=limits.LIST, description="initial states, by name")
    loops: list[Text] = Field([], max_length=limits.PARTS, description="joints at which joint coordinates cut loops")
    simulate: SimulateTable = Field(
        default_factory=lambda: SimulateTable.model_validate({}), description="defaults of a simulation"
    )


_made: list[tuple[Any, type[Model]]] = []  # of the kinds that were registered at the last call


def model_type() -> type[Model]:
    """The model of a file, with the tables of all registered kinds."""
    kinds = tuple(dict(registry) for registry in (JOINTS, COUPLERS, FORCES, ACTUATORS, SENSORS))
    if not _made or _made[0][0] != kinds:
        sections = {
            "joints": (any_of(kind_table(name, kind.doc, kind.keys) for name, kind in JOINTS.items()),
                       limits.PARTS, "joints between bodies, by name; each has a type"),
            "couplers": (any_of(kind_table(name, kind.doc, kind.keys) for name, kind in COUPLERS.items()),
                         limits.COUPLERS, "gears and racks, by name; each has a type"),
            "forces": (any_of(kind_table(name, kind.summary(), kind.options()) for name, kind in FORCES.items()),
                       limits.PARTS, "springs, dampers, actuators, contacts, by name; each has a type"),
            "sensors": (any_of(kind_table(name, kind.summary(), kind.options(), "Sensor")
                               for name, kind in SENSORS.items()),
                        limits.PARTS, "measured quantities, by name; each has a type"),
        }  # fmt: skip
        fields: Any = {
            name: (dict[Text, tables], Field({}, max_length=most, description=meaning))  # type: ignore[valid-type]
            for name, (tables, most, meaning) in sections.items()
        }
        model = create_model("Model", __base__=Model, __doc__=Model.__doc__, **fields)
        _made[:] = [(kinds, model)]
    return _made[0][1]
