"""Forces and sensors of the model file as pydantic models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from dalembert.files.models.schema.kinds import (
    DampingPerSpeed,
    Dampings,
    Direction,
    Effort,
    Inductance,
    Length,
    MomentOfInertia,
    Number,
    OneOrMore,
    Pair,
    Place,
    Resistance,
    RotationalDamping,
    RotationalDampings,
    RotationalStiffnesses,
    Speed,
    Stiffnesses,
    Time,
    TorqueConstant,
    Value,
)
from dalembert.files.models.schema.values import Law, Table, Text, either

if TYPE_CHECKING:
    ForceLaw = Any


class TableLaw(Table):
    """Piecewise linear force of the extension."""

    table: list[Pair] = Field(min_length=2, max_length=1000, description="pairs of extension and force")


if not TYPE_CHECKING:
    ForceLaw = either(("number", Law), ("table", TableLaw), hint="an expression or {table = [[x, force], ...]}")


class Spring(Table):
    """A spring with damping between two points, or along a joint coordinate."""

    type: Literal["spring"]
    a: Place | None = Field(None, description="first point")
    b: Place | None = Field(None, description="second point")
    joint: Text | None = Field(None, description="a joint coordinate, instead of two points")
    stiffness: Value = Field(0.0, description="N/m, or N m/rad along an angle")
    damping: Value = Field(0.0, description="N s/m, or N m s/rad along an angle")
    free_length: Length | None = Field(None, description="distance of the points without load, 0 when left out")
    free: Value | None = Field(None, description="coordinate of the joint without load, 0 when left out")
    preload: Value = Field(0.0, description="tension at the free length")
    law: ForceLaw | None = Field(None, description="force as an expression of extension and speed")


class Damper(Table):
    """A viscous damper between two points, or along a joint coordinate."""

    type: Literal["damper"]
    a: Place | None = Field(None, description="first point")
    b: Place | None = Field(None, description="second point")
    joint: Text | None = Field(None, description="a joint coordinate, instead of two points")
    damping: Value = Field(description="N s/m, or N m s/rad along an angle")


class Bushing(Table):
    """An elastic joint: springs and dampers along and about the axes of the first frame, below half a turn."""

    type: Literal["bushing"]
    a: Place = Field(description="frame on the first body")
    b: Place = Field(description="frame on the second body")
    stiffness: Stiffnesses = Field(0.0, description="along the axes")
    damping: Dampings = Field(0.0, description="along the axes")
    rotational_stiffness: RotationalStiffnesses = Field(0.0, description="about the axes")
    rotational_damping: RotationalDampings = Field(0.0, description="about the axes")


class Force(Table):
    """A force on a point: given, an expression, or an input channel along a direction."""

    type: Literal["force"]
    point: Place = Field(description="where it acts")
    force: list[Law] = Field(min_length=2, max_length=3, description="the force, or with an input its direction")
    input: Text | None = Field(None, description="name of an input channel that scales it")
    axes: Literal["world", "body"] = Field("world", description="axes of the force")


class Torque(Table):
    """A torque on a body: given, an expression, or an input channel along a direction."""

    type: Literal["torque"]
    body: Text = Field(description="on which it acts")
    torque: OneOrMore | None = Field(
        None, description="given, an expression, or with an input its direction; three in space"
    )
    input: Text | None = Field(None, description="name of an input channel that scales it")
    axes: Literal["world", "body"] = Field("world", description="axes of the torque")


class Friction(Table):
    """Friction of a revolute, prismatic or cylindrical joint: exact stick and slip, or regularised by `speed`."""

    type: Literal["friction"]
    joint: Text = Field(description="name of the joint")
    viscous: Value = Field(0.0, description="effort per speed: N s/m, or N m s/rad of a hinge")
    coulomb: Number = Field(0.0, description="coefficient of the reaction square to the motion")
    radius: Length | None = Field(None, description="of the pin of a hinge, times which the reaction acts")
    static: Number | None = Field(None, description="coefficient at rest, where it differs from coulomb")
    speed: Value | None = Field(None, description="regularises the law as ṡ / √(ṡ² + speed²); nothing sticks then")
    preload: Effort = Field(0.0, description="force added to the reaction")


class Stop(Table):
    """Compliant limits of a joint coordinate: stiffness times depth, with damping while closing."""

    type: Literal["stop"]
    joint: Text = Field(description="a joint coordinate")
    lower: Value | None = Field(None, description="limit: m, or rad of an angle")
    upper: Value | None = Field(None, description="limit: m, or rad of an angle")
    stiffness: Value = Field(description="beyond a limit: N/m, or N m/rad of an angle")
    damping: Value = Field(0.0, description="while closing: N s/m, or N m s/rad of an angle")


class Contact(Table):
    """One-sided contact of a point or a sphere with a plane: stiffness · depth^exponent · (1 + damping · speed)."""

    type: Literal["contact"]
    plane: Place = Field(description="a point of the plane")
    point: Place = Field(description="of the other body")
    normal: Direction | None = Field(
        None, description="of the plane in its body's axes; y by default in the plane, z in space"
    )
    radius: Length = Field(0.0, description="of a sphere about the point")
    stiffness: Value = Field(description="force per depth^exponent: N/m where the exponent is 1")
    damping: DampingPerSpeed = Field(0.0, description="per speed of closing")
    exponent: Number = Field(1.0, description="of the depth; 1.5 for Hertz")
    friction: Number = Field(0.0, description="Coulomb coefficient")
    speed: Speed = Field(1e-3, description="below which friction fades (regularisation)")


class LagTable(Table):
    """The effort follows the input with a lag, T F' + F = gain u."""

    type: Literal["first-order lag"]
    time_constant: Time = Field(description="T of the lag")
    gain: Value = Field(1.0, description="effort per input")


class MotorTable(Table):
    """A DC motor behind a gear; the input is its voltage, the current an internal state."""

    type: Literal["dc motor"]
    torque_constant: TorqueConstant = Field(description="torque per current")
    resistance: Resistance = Field(description="of the armature")
    inductance: Inductance = Field(0.0, description="of the armature; 0: no internal state")
    back_emf: TorqueConstant | None = Field(
        None, description="voltage per speed; equal to the torque constant when left out"
    )
    gear_ratio: Value = Field(1.0, description="turns of the rotor per turn of the joint")
    rotor_inertia: MomentOfInertia = Field(0.0, description="before the gear")
    rotor_damping: RotationalDamping = Field(0.0, description="before the gear")


class Actuator(Table):
    """Drives a joint: torque about a hinge, force along a slide, on the second body and opposite on the first."""

    type: Literal["actuator"]
    joint: Text = Field(description="a joint, or one of its coordinates")
    input: Text | None = Field(None, description="name of an input channel: the effort, or what drives the model")
    effort: Law | None = Field(None, description="given, an expression, or with an input the effort per input")
    model: Annotated[LagTable | MotorTable, Field(discriminator="type")] | None = Field(
        None, description="between input and effort"
    )


AnyForce = Annotated[
    Spring | Damper | Bushing | Force | Torque | Friction | Stop | Contact | Actuator, Field(discriminator="type")
]


# -- sensors --------------------------------------------------------------------------------------------------------
class CoordinateSensor(Table):
    """A joint coordinate, or its first or second time derivative."""

    type: Literal["angle", "rate", "displacement", "speed", "joint acceleration"]
    joint: Text = Field(description="a joint, or one of its coordinates (`U.angle1`)")


class PointSensor(Table):
    """Position, velocity or acceleration of a point in world axes; accelerometer and gyroscope in body axes."""

    type: Literal["position", "velocity", "acceleration", "accelerometer", "gyroscope"]
    point: Place = Field(description="where it sits")


class OrientationSensor(Table):
    """Orientation of a body in space: rotation vector or Tait-Bryan angles [rad], or quaternion."""

    type: Literal["orientation"]
    body: Place = Field(description="a body, or a frame of it")
    form: Literal["rotation vector", "tait-bryan", "quaternion"] = Field(
        "rotation vector", description="`rx, ry, rz`; `roll, pitch, yaw`; or `e0` to `e3`"
    )


class DistanceSensor(Table):
    """Distance between two points [m]."""

    type: Literal["distance"]
    a: Place = Field(description="first point")
    b: Place = Field(description="second point")


class ReactionSensor(Table):
    """Force [N] and torque [N m] of a joint on its second body, at the joint."""

    type: Literal["reaction"]
    joint: Text = Field(description="name of the joint")
    axes: Literal["world", "joint"] = Field("world", description="axes of force and torque")


class SpringSensor(Table):
    """Tension of a spring or damper; effort of a stop or friction; normal force of a contact [N or N m]."""

    type: Literal["spring force"]
    spring: Text = Field(description="name of the force")


class EnergySensor(Table):
    """Kinetic plus potential energy [J]."""

    type: Literal["energy"]


class ExpressionSensor(Table):
    """Any expression of the state."""

    type: Literal["expression"]
    expression: Law = Field(description="an expression of coordinates by name, parameters and t")
    unit: Annotated[str, Field(max_length=40)] = Field("", description="of its value")


Sensor = Annotated[
    CoordinateSensor
    | PointSensor
    | OrientationSensor
    | DistanceSensor
    | ReactionSensor
    | SpringSensor
    | EnergySensor
    | ExpressionSensor,
    Field(discriminator="type"),
]
