"""Slide that also turns: e₁·d = e₂·d = 0, e₁·g₃ = e₂·g₃ = 0."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.expressions import Array, Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides, transform


def rows(s: Sides) -> list[Expr]:
    return [*s.across(), *s.square()]


def coordinates(s: Sides) -> list[Expr]:
    return [s.along(), s.angle()]


def relative(values: Sequence[float], planar: bool) -> Array:
    return transform(planar, angle=values[1], shift=(0.0, 0.0, values[0]))


JOINT_EQUATIONS.register("cylindrical", JointEquations(rows, coordinates=coordinates, relative=relative, axial=True))
