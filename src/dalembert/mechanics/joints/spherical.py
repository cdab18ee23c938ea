"""Ball joint: d = 0."""

from __future__ import annotations

from dalembert.expressions import Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides, coincide
from dalembert.mechanics.joints.motion import JointMotion, ball


def rows(s: Sides) -> list[Expr]:
    return [s.d]


JOINT_EQUATIONS.register(
    "spherical", JointEquations(rows, relative=coincide, balls=(0, 1), motion=JointMotion(ball, ball=True))
)
