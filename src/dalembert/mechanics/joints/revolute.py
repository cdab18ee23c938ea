"""Hinge: d = 0, e₁·g₃ = e₂·g₃ = 0; in the plane d = 0."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dalembert.expressions import Array, Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides, transform
from dalembert.mechanics.joints.motion import JointMotion, RelativeMotion, half_turn, move, turn_z
from dalembert.mechanics.poses import Space

SX = ca.SX


def rows(s: Sides) -> list[Expr]:
    return [s.d] if s.planar else [s.d, *s.square()]


def coordinates(s: Sides) -> list[Expr]:
    return [s.angle()]


def relative(values: Sequence[float], planar: bool) -> Array:
    return transform(planar, angle=values[0])


def motion(space: Space, s: Expr, w: Expr, numbers: Expr) -> RelativeMotion:
    S = SX(1) if space.planar else SX(ca.DM([0.0, 0.0, 1.0]))
    return move(space, 1, R=turn_z(space, s[0]), S=S, quaternion=half_turn(s[0]), angle=s[0])


JOINT_EQUATIONS.register(
    "revolute",
    JointEquations(
        rows, coordinates=coordinates, relative=relative, hinge=True, axial=True, motion=JointMotion(motion)
    ),
)
