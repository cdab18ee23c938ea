"""Ball joint: d = 0."""

from __future__ import annotations

from dalembert.expressions import Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides, coincide


def rows(s: Sides) -> list[Expr]:
    return [s.d]


JOINT_EQUATIONS.register("spherical", JointEquations(rows, relative=coincide, balls=(0, 1)))
