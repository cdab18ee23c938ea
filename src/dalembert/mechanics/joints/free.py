"""Free motion: no rows; place of the second point in the first frame, Euler parameters of the second frame there."""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides
from dalembert.mechanics.joints.motion import JointMotion, RelativeMotion, free
from dalembert.mechanics.poses import Space


def rows(s: Sides) -> list[Expr]:
    return []


def coordinates(s: Sides) -> list[Expr]:
    return [ca.dot(s.E[:, k], s.d) for k in range(3)]


def motion(space: Space, s: Expr, w: Expr, numbers: Expr) -> RelativeMotion:
    return free(space, s, w)


JOINT_EQUATIONS.register("free", JointEquations(rows, coordinates=coordinates, motion=JointMotion(motion, ball=True)))
