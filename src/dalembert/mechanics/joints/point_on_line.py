"""Point on a line: e₁·d = e₂·d = 0; in the plane e₂·d = 0."""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides, slide


def rows(s: Sides) -> list[Expr]:
    return [ca.dot(s.E[:, 1], s.d)] if s.planar else s.across()


def coordinates(s: Sides) -> list[Expr]:
    return [s.along()]


JOINT_EQUATIONS.register("point on line", JointEquations(rows, coordinates=coordinates, relative=slide, balls=(1,)))
