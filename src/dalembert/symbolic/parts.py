"""Parts of a system in symbols: bodies, forces, torques, constraint rows and orientations, as expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

SX = ca.SX


@dataclass(frozen=True, eq=False)
class SystemBody:
    """A rigid body or, without orientation, a particle.

    position : (3,) of the mass centre, world axes.  rotation : (3, 3) body to world, or None.
    velocity, omega : (3,) of the mass centre in world axes, and ω in body axes; of rates or speeds.
    given : whether they were given, and not derived from place and orientation.
    """

    name: str
    mass: Any
    inertia: Any
    position: Any
    velocity: Any
    rotation: Any = None
    omega: Any = None
    given: bool = False


@dataclass(frozen=True, eq=False)
class SystemForce:
    """A force (3,) in world axes at a point with the given velocity, on a body where it is known."""

    name: str
    vector: Any
    velocity: Any
    body: str = ""
    place: Any = None


@dataclass(frozen=True, eq=False)
class SystemTorque:
    """A torque (3,) on a body, in its own axes; on ``other`` the opposite one."""

    name: str
    vector: Any
    body: str
    other: str = ""


@dataclass(frozen=True, eq=False)
class Constraint:
    """A scalar that is zero on every motion, and its level."""

    name: str
    expression: Any
    level: str
    number: int = 0
    unit_norm: tuple[int, int] | None = None  # of Euler parameters: their first coordinate and first speed


@dataclass(frozen=True, eq=False)
class Orientation:
    """A rotation matrix (3, 3), body to world, with its angular velocity (3,) in body axes."""

    matrix: Any
    omega: Any


def derivative_name(name: str, order: int) -> str:
    """The symbol of a time derivative of a coordinate."""
    return name + ("", ".rate", ".acceleration")[order] if order < 3 else f"{name}.derivative{order}"


def rotation_about(axis: str, angle: Any) -> Any:
    """Rotation matrix about one axis."""
    c, s = ca.cos(angle), ca.sin(angle)
    place = "xyz".index(axis)
    first, two = (place + 1) % 3, (place + 2) % 3
    R = SX(3, 3)
    R[place, place] = 1
    R[first, first], R[first, two], R[two, first], R[two, two] = c, -s, s, c
    return R
