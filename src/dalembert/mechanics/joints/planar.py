"""Plane on plane: e₃·d = 0, e₁·g₃ = e₂·g₃ = 0."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dalembert.expressions import Array, Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides, transform


def rows(s: Sides) -> list[Expr]:
    return [ca.dot(s.E[:, 2], s.d), *s.square()]


def coordinates(s: Sides) -> list[Expr]:
    return [*s.across(), s.angle()]


def relative(values: Sequence[float], planar: bool) -> Array:
    return transform(planar, angle=values[2], shift=values[:2])


JOINT_EQUATIONS.register("planar", JointEquations(rows, coordinates=coordinates, relative=relative, axial=True))
