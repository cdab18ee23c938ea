"""Sphere on a plane: e₃·d = radius, and its material point at the contact does not slip."""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides


def rows(s: Sides) -> list[Expr]:
    return [ca.dot(s.E[:, 2], s.d) - s.numbers[0]]


def slip(s: Sides) -> list[Expr]:
    velocity = s.slip(s.b.r + s.b.R @ s.place_b + s.numbers[0] * -s.E[:, 2])
    return [ca.dot(s.E[:, 0], velocity), ca.dot(s.E[:, 1], velocity)]


JOINT_EQUATIONS.register("rolling sphere", JointEquations(rows, slip))
