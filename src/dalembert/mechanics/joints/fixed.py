"""Weld: d = 0, e₁·g₃ = e₂·g₃ = 0, e₁·g₂ = 0; in the plane d = 0 and no angle."""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides, coincide, nearest_turn
from dalembert.mechanics.joints.motion import JointMotion, weld


def rows(s: Sides) -> list[Expr]:
    if s.planar:
        return [s.d, nearest_turn(s.angle())]
    return [s.d, *s.square(), ca.dot(s.E[:, 0], s.G[:, 1])]


JOINT_EQUATIONS.register("fixed", JointEquations(rows, relative=coincide, rigid=True, motion=JointMotion(weld)))
