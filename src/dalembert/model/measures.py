"""What can be measured on a machine; used by sensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dalembert.model.bodies import Body, Frame, Point


@dataclass(frozen=True)
class Measure:
    """A quantity to be measured: its kind, where, and how."""

    kind: str
    target: Any = None
    axes: str = "world"
    function: Callable[[Any], Any] | None = None
    unit: str = ""
    to: Any = None


def angle(joint: str) -> Measure:
    """Angle of a joint (``"A"`` or ``"U.angle1"``) or of a planar body [rad]."""
    return Measure("coordinate", joint, unit="rad")


def rate(joint: str) -> Measure:
    """Time derivative of a joint's angle [rad/s]."""
    return Measure("coordinate rate", joint, unit="rad/s")


def displacement(joint: str) -> Measure:
    """Displacement of a sliding joint [m]."""
    return Measure("coordinate", joint, unit="m")


def speed(joint: str) -> Measure:
    """Time derivative of a joint's displacement [m/s]."""
    return Measure("coordinate rate", joint, unit="m/s")


def joint_acceleration(joint: str) -> Measure:
    """Second time derivative of a joint coordinate."""
    return Measure("coordinate acceleration", joint)


def position(point: Point) -> Measure:
    """Position of a point in world axes [m]."""
    return Measure("position", point, unit="m")


def velocity(point: Point) -> Measure:
    """Velocity of a point in world axes [m/s]."""
    return Measure("velocity", point, unit="m/s")


def acceleration(point: Point) -> Measure:
    """Acceleration of a point in world axes [m/s²]."""
    return Measure("acceleration", point, unit="m/s^2")


def accelerometer(place: Point | Frame) -> Measure:
    """What a strapped-down accelerometer reads: acceleration minus gravity, in body (or frame) axes [m/s²]."""
    return Measure("accelerometer", place, axes="body", unit="m/s^2")


def gyroscope(body: Body | Frame) -> Measure:
    """Angular velocity in body (or frame) axes [rad/s]."""
    return Measure("gyroscope", body, axes="body", unit="rad/s")


def distance(a: Point, b: Point) -> Measure:
    """Distance between two points [m]."""
    return Measure("distance", a, unit="m", to=b)


def reaction(joint: str, *, axes: str = "world") -> Measure:
    """Force and torque of a joint on its second body, at the joint; axes ``"world"`` or ``"joint"`` [N, N m]."""
    return Measure("reaction", joint, axes=axes)


def spring_force(spring: str) -> Measure:
    """Tension of a spring or damper [N], or torque of a rotational one [N m]."""
    return Measure("spring force", spring, unit="N")


def energy() -> Measure:
    """Kinetic plus potential energy [J]."""
    return Measure("energy", unit="J")


def expression(function: Callable[[Any], Any], unit: str = "") -> Measure:
    """Any expression of the state: ``da.expression(lambda s: s["A.angle"] ** 2, "rad^2")``."""
    return Measure("expression", function=function, unit=unit)
