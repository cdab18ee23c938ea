"""Plane on plane: e₃·d = 0, e₁·g₃ = e₂·g₃ = 0; no rows in the plane."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dalembert.expressions import Array, Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides, transform
from dalembert.mechanics.joints.motion import JointMotion, RelativeMotion, half_turn, move, turn_z
from dalembert.mechanics.poses import Space

SX = ca.SX


def rows(s: Sides) -> list[Expr]:
    return [] if s.planar else [ca.dot(s.E[:, 2], s.d), *s.square()]


def coordinates(s: Sides) -> list[Expr]:
    return [*s.across(), s.angle()]


def relative(values: Sequence[float], planar: bool) -> Array:
    return transform(planar, angle=values[2], shift=values[:2])


def motion(space: Space, s: Expr, w: Expr, numbers: Expr) -> RelativeMotion:
    plane = ca.DM.eye(3)[: space.dim, :] @ ca.diag(ca.sparsify(ca.DM([1.0, 1.0, 0.0])))
    S = ca.horzcat(SX(space.turns, 2), SX(1) if space.planar else SX(ca.DM([0.0, 0.0, 1.0])))
    p = ca.sparsify(SX(plane)) @ s
    return move(space, 3, R=turn_z(space, s[2]), p=p, S=S, P=plane, quaternion=half_turn(s[2]), angle=s[2])


JOINT_EQUATIONS.register(
    "planar", JointEquations(rows, coordinates=coordinates, relative=relative, axial=True, motion=JointMotion(motion))
)
