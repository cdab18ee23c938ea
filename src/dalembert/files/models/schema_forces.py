"""Forces and sensors of the model file as pydantic models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from dalembert.files.models.kinds import (
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
from dalembert.files.models.values import Law, Table, Text, either

if TYPE_CHECKING:
    ForceLaw = Any


class TableLaw(Table):
    """Piecewise linear force of the extension."""

    table: list[Pair] = Field(min_length=2, max_length=1000, description="pairs of extension and force")


if not TYPE_CHECKING:
    ForceLaw = either(("number", Law), ("table", TableLaw), hint="an expression or {table = [[x, force], ...]}")


class Spring(Table):
    type: Literal["spring"]
    a: Place | None = None
    b: Place | None = None
    joint: Text | None = Field(None, description="a joint coordinate, instead of two points")
    stiffness: Value = 0.0
    damping: Value = 0.0
    free_length: Length | None = None
    free: Value | None = None
    preload: Value = 0.0
    law: ForceLaw | None = Field(None, description="force as an expression of extension and speed")


class Damper(Table):
    type: Literal["damper"]
    a: Place | None = None
    b: Place | None = None
    joint: Text | None = None
    damping: Value


class Bushing(Table):
    type: Literal["bushing"]
    a: Place
    b: Place
    stiffness: Stiffnesses = 0.0
    damping: Dampings = 0.0
    rotational_stiffness: RotationalStiffnesses = 0.0
    rotational_damping: RotationalDampings = 0.0


class Force(Table):
    type: Literal["force"]
    point: Place
    force: list[Law] = Field(min_length=2, max_length=3, description="the force, or with an input its direction")
    input: Text | None = None
    axes: Literal["world", "body"] = "world"


class Torque(Table):
    type: Literal["torque"]
    body: Text | None = None
    joint: Text | None = Field(None, description="a joint coordinate, instead of a body")
    torque: OneOrMore | None = None
    input: Text | None = None
    axes: Literal["world", "body"] = "world"


class Friction(Table):
    type: Literal["friction"]
    joint: Text
    viscous: Value = 0.0
    coulomb: Number = 0.0
    radius: Length | None = None
    speed: Value = 1e-3
    preload: Effort = 0.0


class Stop(Table):
    type: Literal["stop"]
    joint: Text
    lower: Value | None = None
    upper: Value | None = None
    stiffness: Value
    damping: Value = 0.0


class Contact(Table):
    type: Literal["contact"]
    plane: Place
    point: Place
    normal: Direction | None = None
    radius: Length = 0.0
    stiffness: Value
    damping: DampingPerSpeed = 0.0
    exponent: Number = 1.0
    friction: Number = 0.0
    speed: Speed = 1e-3


class IdealTable(Table):
    type: Literal["ideal"]
    gain: Value = 1.0


class LagTable(Table):
    type: Literal["first-order lag"]
    time_constant: Time
    gain: Value = 1.0


class MotorTable(Table):
    type: Literal["dc motor"]
    torque_constant: TorqueConstant
    resistance: Resistance
    inductance: Inductance = 0.0
    back_emf: TorqueConstant | None = None
    gear_ratio: Value = 1.0
    rotor_inertia: MomentOfInertia = 0.0
    rotor_damping: RotationalDamping = 0.0


class Actuator(Table):
    type: Literal["actuator"]
    joint: Text
    input: Text
    model: Annotated[IdealTable | LagTable | MotorTable, Field(discriminator="type")] | None = None


AnyForce = Annotated[
    Spring | Damper | Bushing | Force | Torque | Friction | Stop | Contact | Actuator, Field(discriminator="type")
]


# -- sensors --------------------------------------------------------------------------------------------------------
class CoordinateSensor(Table):
    type: Literal["angle", "rate", "displacement", "speed", "joint acceleration"]
    joint: Text


class PointSensor(Table):
    type: Literal["position", "velocity", "acceleration", "accelerometer", "gyroscope"]
    point: Place


class DistanceSensor(Table):
    type: Literal["distance"]
    a: Place
    b: Place


class ReactionSensor(Table):
    type: Literal["reaction"]
    joint: Text
    axes: Literal["world", "joint"] = "world"


class SpringSensor(Table):
    type: Literal["spring force"]
    spring: Text


class EnergySensor(Table):
    type: Literal["energy"]


class ExpressionSensor(Table):
    type: Literal["expression"]
    expression: Law
    unit: Annotated[str, Field(max_length=40)] = ""


Sensor = Annotated[
    CoordinateSensor | PointSensor | DistanceSensor | ReactionSensor | SpringSensor | EnergySensor | ExpressionSensor,
    Field(discriminator="type"),
]
