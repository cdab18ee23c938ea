"""Hinge: d = 0, e₁·g₃ = e₂·g₃ = 0; in the plane d = 0."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.expressions import Array, Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides, transform


def rows(s: Sides) -> list[Expr]:
    return [s.d] if s.planar else [s.d, *s.square()]


def coordinates(s: Sides) -> list[Expr]:
    return [s.angle()]


def relative(values: Sequence[float], planar: bool) -> Array:
    return transform(planar, angle=values[0])


JOINT_EQUATIONS.register(
    "revolute", JointEquations(rows, coordinates=coordinates, relative=relative, hinge=True, axial=True)
)
