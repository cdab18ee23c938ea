"""Slide: e₁·d = e₂·d = 0, e₁·g₃ = e₂·g₃ = 0, e₁·g₂ = 0; in the plane e₂·d = 0 and no angle."""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides, nearest_turn, slide
from dalembert.mechanics.joints.motion import JointMotion, RelativeMotion, move
from dalembert.mechanics.poses import Space

SX = ca.SX


def rows(s: Sides) -> list[Expr]:
    if s.planar:
        return [ca.dot(s.E[:, 1], s.d), nearest_turn(s.angle())]
    return [*s.across(), *s.square(), ca.dot(s.E[:, 0], s.G[:, 1])]


def coordinates(s: Sides) -> list[Expr]:
    return [s.along()]


def motion(space: Space, s: Expr, w: Expr, numbers: Expr) -> RelativeMotion:
    P = SX(ca.DM([1.0, 0.0] if space.planar else [0.0, 0.0, 1.0]))
    return move(space, 1, p=ca.sparsify(P * s[0]), P=P)


JOINT_EQUATIONS.register(
    "prismatic", JointEquations(rows, coordinates=coordinates, relative=slide, rigid=True, motion=JointMotion(motion))
)
