"""Screw: the rows of a cylindrical joint, and (lead/2π) angle(2π e₃·d/lead - angle) = 0.

The difference of angles is brought into (-π, π], so that the row is right over many turns.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dalembert.expressions import Array, Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides, transform
from dalembert.mechanics.joints.motion import JointMotion, RelativeMotion, half_turn, move, turn_z
from dalembert.mechanics.poses import Space

SX = ca.SX


def rows(s: Sides) -> list[Expr]:
    E, G, lead = s.E, s.G, s.numbers[0]
    turn = wrap(2 * ca.pi * ca.dot(E[:, 2], s.d) / lead, ca.dot(E[:, 1], G[:, 0]), ca.dot(E[:, 0], G[:, 0]))
    return [*s.across(), *s.square(), lead / (2 * ca.pi) * turn]


def wrap(alpha: Expr, sine: Expr, cosine: Expr) -> Expr:
    """The angle α - θ brought into (-π, π], from α and sine, cosine of θ."""
    c, s = ca.cos(alpha), ca.sin(alpha)
    return ca.atan2(s * cosine - c * sine, c * cosine + s * sine)


def coordinates(s: Sides) -> list[Expr]:
    return [s.angle(), s.along()]


def relative(values: Sequence[float], planar: bool) -> Array:
    return transform(planar, angle=values[0], shift=(0.0, 0.0, values[1]))


def motion(space: Space, s: Expr, w: Expr, numbers: Expr) -> RelativeMotion:
    z, pitch = SX(ca.DM([0.0, 0.0, 1.0])), numbers[0] / (2 * ca.pi)
    return move(space, 1, R=turn_z(space, s[0]), p=z * (pitch * s[0]), S=z, P=z * pitch, quaternion=half_turn(s[0]))


JOINT_EQUATIONS.register(
    "screw",
    JointEquations(rows, coordinates=coordinates, relative=relative, axial=True, motion=JointMotion(motion, own=(0,))),
)
