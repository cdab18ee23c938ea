"""Slide: e₁·d = e₂·d = 0, e₁·g₃ = e₂·g₃ = 0, e₁·g₂ = 0; in the plane e₂·d = 0 and no angle."""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides, nearest_turn, slide


def rows(s: Sides) -> list[Expr]:
    if s.planar:
        return [ca.dot(s.E[:, 1], s.d), nearest_turn(s.angle())]
    return [*s.across(), *s.square(), ca.dot(s.E[:, 0], s.G[:, 1])]


def coordinates(s: Sides) -> list[Expr]:
    return [s.along()]


JOINT_EQUATIONS.register("prismatic", JointEquations(rows, coordinates=coordinates, relative=slide, rigid=True))
