"""What can be measured on a machine; used by sensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dalembert.model.bodies import Body, Frame, Point

_PLACED = ("position", "velocity", "acceleration", "accelerometer", "gyroscope", "distance", "orientation")
FORMS = {  # of an orientation: the names of its components
    "rotation vector": ("rx", "ry", "rz"),
    "tait-bryan": ("roll", "pitch", "yaw"),
    "quaternion": ("e0", "e1", "e2", "e3"),
}


@dataclass(frozen=True)
class Measure:
    """A quantity to be measured: its kind, where, and how."""

    kind: str
    target: Any = None
    axes: str = "world"
    function: Callable[[Any], Any] | None = None
    unit: str = ""
    to: Any = None

    def problem(self) -> str:
        """What is wrong with its arguments by themselves; nothing when they are of the right type."""
        if self.kind == "expression":
            return "" if callable(self.function) else f"expected a function of the state, got {self.function!r}."
        if self.kind in _PLACED:
            for place in (self.target, self.to) if self.kind == "distance" else (self.target,):
                if not isinstance(place, (Point, Frame, Body)):
                    expected = "a body" if self.kind in ("gyroscope", "orientation") else "a point (body.at(...))"
                    return f"{self.kind} needs {expected}, got {place!r}."
            if self.kind == "orientation":
                if self.bodies()[0].planar:
                    return "a planar body has an angle, not an orientation; use da.angle('body.angle')."
                if self.axes not in FORMS:
                    return f"form must be {', '.join(map(repr, FORMS))}, not {self.axes!r}."
        elif self.kind != "energy" and not isinstance(self.target, str):
            return f"{self.kind} needs a name such as 'A', got {self.target!r}."
        return ""

    def bodies(self) -> list[Body]:
        """The bodies it refers to."""
        places = [p for p in (self.target, self.to) if isinstance(p, (Point, Frame, Body))]
        return [p if isinstance(p, Body) else p.body for p in places]


def _name(joint: Any) -> Any:
    """Joints and springs may be given themselves instead of their name."""
    return joint if isinstance(joint, (Body, Point, Frame)) else getattr(joint, "name", joint)


def angle(joint: str) -> Measure:
    """Angle of a joint (``"A"`` or ``"U.angle1"``) or of a planar body [rad]."""
    return Measure("coordinate", _name(joint), unit="rad")


def rate(joint: str) -> Measure:
    """Time derivative of a joint's angle [rad/s]."""
    return Measure("coordinate rate", _name(joint), unit="rad/s")


def displacement(joint: str) -> Measure:
    """Displacement of a sliding joint [m]."""
    return Measure("coordinate", _name(joint), unit="m")


def speed(joint: str) -> Measure:
    """Time derivative of a joint's displacement [m/s]."""
    return Measure("coordinate rate", _name(joint), unit="m/s")


def joint_acceleration(joint: str) -> Measure:
    """Second time derivative of a joint coordinate."""
    return Measure("coordinate acceleration", _name(joint))


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


def orientation(body: Body | Frame, form: str = "rotation vector") -> Measure:
    """Orientation in space: ``"rotation vector"`` rx, ry, rz [rad]; ``"tait-bryan"`` roll, pitch, yaw [rad];
    ``"quaternion"`` e0 to e3. The length of the rotation vector, between 0 and 2π, is continuous along a run.
    """
    return Measure("orientation", body, axes=form, unit="" if form == "quaternion" else "rad")


def distance(a: Point, b: Point) -> Measure:
    """Distance between two points [m]."""
    return Measure("distance", a, unit="m", to=b)


def reaction(joint: str, *, axes: str = "world") -> Measure:
    """Force and torque of a joint on its second body, at the joint; axes ``"world"`` or ``"joint"`` [N, N m]."""
    return Measure("reaction", _name(joint), axes=axes)


def spring_force(spring: str) -> Measure:
    """Tension of a spring or damper [N], or torque of a rotational one [N m].

    Also the effort of a stop or of friction along its coordinate, and the normal force of a contact.
    """
    return Measure("spring force", _name(spring), unit="N")


def energy() -> Measure:
    """Kinetic plus potential energy [J]."""
    return Measure("energy", unit="J")


def expression(function: Callable[[Any], Any], unit: str = "") -> Measure:
    """Any expression of the state: ``da.expression(lambda s: s["A.angle"] ** 2, "rad^2")``."""
    return Measure("expression", function=function, unit=unit)
