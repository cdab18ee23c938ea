"""Wheel on a plane: the rim touches the plane, and its material point there does not slip.

The height of the centre above the plane is the radius times the sine of the angle between axle and normal.
"""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides


def rows(s: Sides) -> list[Expr]:
    if s.planar:
        return [ca.dot(s.E[:, 1], s.d) - s.numbers[0]]
    lean = ca.dot(s.E[:, 2], s.G[:, 2])
    return [ca.dot(s.E[:, 2], s.d) - s.numbers[0] * ca.sqrt(1 - lean**2)]


def slip(s: Sides) -> list[Expr]:
    center = s.b.r + s.b.R @ s.place_b
    if s.planar:
        return [ca.dot(s.E[:, 0], s.slip(center + s.numbers[0] * -s.E[:, 1]))]
    normal, axle = s.E[:, 2], s.G[:, 2]
    lean = ca.dot(normal, axle)
    down = -(normal - lean * axle) / ca.sqrt(1 - lean**2)
    velocity = s.slip(center + s.numbers[0] * down)
    return [ca.dot(s.E[:, 0], velocity), ca.dot(s.E[:, 1], velocity)]


JOINT_EQUATIONS.register("rolling wheel", JointEquations(rows, slip))
