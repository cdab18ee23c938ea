"""Slide that also turns: e₁·d = e₂·d = 0, e₁·g₃ = e₂·g₃ = 0."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dalembert.expressions import Array, Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides, transform
from dalembert.mechanics.joints.motion import JointMotion, RelativeMotion, half_turn, move, turn_z
from dalembert.mechanics.poses import Space

SX = ca.SX


def rows(s: Sides) -> list[Expr]:
    return [*s.across(), *s.square()]


def coordinates(s: Sides) -> list[Expr]:
    return [s.along(), s.angle()]


def relative(values: Sequence[float], planar: bool) -> Array:
    return transform(planar, angle=values[1], shift=(0.0, 0.0, values[0]))


def motion(space: Space, s: Expr, w: Expr, numbers: Expr) -> RelativeMotion:
    z = SX(ca.DM([0.0, 0.0, 1.0]))
    none = SX(3, 1)
    return move(
        space, 2, R=turn_z(space, s[1]), p=ca.sparsify(z * s[0]), S=ca.horzcat(none, z), P=ca.horzcat(z, none),
        quaternion=half_turn(s[1]),
    )  # fmt: skip


JOINT_EQUATIONS.register(
    "cylindrical",
    JointEquations(rows, coordinates=coordinates, relative=relative, axial=True, motion=JointMotion(motion)),
)
