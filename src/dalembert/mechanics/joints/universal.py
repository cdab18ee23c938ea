"""Cardan joint: d = 0, e₃·g₃ = 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from dalembert.expressions import Array, Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides, transform
from dalembert.mechanics.joints.motion import JointMotion, RelativeMotion, half_turn, move, turn_z
from dalembert.mechanics.poses import Space
from dalembert.mechanics.rotations import multiply
from dalembert.model import BodyFrame
from dalembert.model.bodies import axes_from
from dalembert.model.joints import Joint

SX = ca.SX
_PARALLEL = 1e-6  # sine of the angle between the two axes below which a drawing does not show where zero is


def rows(s: Sides) -> list[Expr]:
    return [s.d, ca.dot(s.E[:, 2], s.G[:, 2])]


def coordinates(s: Sides) -> list[Expr]:
    """The arm g₃ of the cross turns about e₃ from e₁; the second body turns about g₃, from g₂ along e₃."""
    E, G = s.E, s.G
    return [
        ca.atan2(ca.dot(E[:, 1], G[:, 2]), ca.dot(E[:, 0], G[:, 2])),
        ca.atan2(ca.dot(G[:, 0], E[:, 2]), ca.dot(G[:, 1], E[:, 2])),
    ]


def relative(values: Sequence[float], planar: bool) -> Array:
    """z of the second frame square to z of the first, at the angles zero."""
    T = transform(planar)
    T[:3, :3] = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    return T


def frames(joint: Joint) -> tuple[BodyFrame, BodyFrame]:
    """Frames turned so that both angles are zero in the drawing."""
    sides = (joint.a, joint.b)
    turns: list[Expr] = [np.array(side.body.rotation) for side in sides]
    first, second = (turn @ np.array(side.axes)[:, 2] for turn, side in zip(turns, sides, strict=True))
    across = np.cross(first, second)
    if np.linalg.norm(across) < _PARALLEL:  # the drawing does not show it: zero is that of the frames as given
        return sides
    # x of the first frame along the second axis, y of the second frame along the first
    a, b = (
        replace(side, axes=axes_from([row[2] for row in side.axes], turn.T @ x))
        for side, turn, x in zip(sides, turns, (second, across), strict=True)
    )
    return a, b


def motion(space: Space, s: Expr, w: Expr, numbers: Expr) -> RelativeMotion:
    """A turn about e₃, the pose at zero, a turn about g₃."""
    square = SX(ca.sparsify(ca.DM(relative((), planar=False)[:3, :3])))
    c, n = ca.cos(s[1]), ca.sin(s[1])
    S = ca.vertcat(ca.horzcat(n, 0), ca.horzcat(c, 0), ca.horzcat(0, 1))
    product = w[0] * w[1]
    quaternion = multiply(multiply(half_turn(s[0]), SX(ca.DM([0.5, 0.5, 0.5, 0.5]))), half_turn(s[1]))
    return move(
        space, 2, R=turn_z(space, s[0]) @ square @ turn_z(space, s[1]), S=S,
        S_bias=ca.vertcat(c * product, -n * product, 0), quaternion=quaternion,
    )  # fmt: skip


JOINT_EQUATIONS.register(
    "universal",
    JointEquations(rows, coordinates=coordinates, relative=relative, frames=frames, motion=JointMotion(motion)),
)
