"""Massless rod: (d·d - L²)/2L = 0, so that its multiplier is the force of the rod."""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides


def rows(s: Sides) -> list[Expr]:
    length = s.numbers[0]
    return [(ca.dot(s.d, s.d) - length**2) / (2 * length)]


JOINT_EQUATIONS.register("massless rod", JointEquations(rows, balls=(0, 1)))
