"""Point on a plane: e₃·d = 0."""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides


def rows(s: Sides) -> list[Expr]:
    return [ca.dot(s.E[:, 2], s.d)]


JOINT_EQUATIONS.register("point on plane", JointEquations(rows, balls=(1,)))
