"""Motion of the second frame of a joint against the first, as a function of the joint's own coordinates.

With coordinates s and speeds w (ṡ = N w) frame b has in frame a

    axes R(s) ,  place p(s) ,      ṗ = P w  (axes of a) ,    ω = S w  (axes of b) ,
    p̈ = P ẇ + P_bias ,    ω̇ = S ẇ + S_bias  (components in b) .

A kind with a motion can join a body to a tree in joint coordinates (Featherstone 2008, ch. 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.poses import Space
from dalembert.mechanics.rotations import conjugate, rate_matrix, rotation, skew

SX = ca.SX


@dataclass(frozen=True)
class RelativeMotion:
    """Frame b against frame a at one value of the coordinates.

    R is also known by its quaternion in space, by its angle in the plane.
    """

    R: Expr
    p: Expr
    S: Expr
    P: Expr
    S_bias: Expr
    P_bias: Expr
    quaternion: Expr
    N: Expr
    angle: Expr


@dataclass(frozen=True)
class JointMotion:
    """The motion that a kind of joint allows.

    make : from the space, its coordinates, its speeds and the numbers of the joint.
    own : which coordinates of the declaration are coordinates of the tree; all of them when None.
    ball : its coordinates are Euler parameters, its speeds ω of the second frame against the first.
    """

    make: Callable[[Space, Expr, Expr, Expr], RelativeMotion]
    own: Sequence[int] | None = None
    ball: bool = False


def turn_z(space: Space, angle: Expr) -> Expr:
    """Rotation about z, sparse."""
    c, s = ca.cos(angle), ca.sin(angle)
    R = SX.eye(space.dim)
    R[0, 0], R[0, 1], R[1, 0], R[1, 1] = c, -s, s, c
    return ca.sparsify(R)


def half_turn(angle: Expr) -> Expr:
    """Euler parameters of a turn about z."""
    return ca.vertcat(ca.cos(angle / 2), 0, 0, ca.sin(angle / 2))


def move(
    space: Space, count: int, *, R: Expr = None, p: Expr = None, S: Expr = None, P: Expr = None, S_bias: Expr = None,
    quaternion: Expr = None, N: Expr = None, angle: Expr = None,
) -> RelativeMotion:  # fmt: skip
    """A motion with zeros in the parts that are left out."""
    none = SX(ca.DM([1.0, 0.0, 0.0, 0.0]))
    return RelativeMotion(
        SX.eye(space.dim) if R is None else R,
        SX(space.dim, 1) if p is None else p,
        SX(space.turns, count) if S is None else ca.sparsify(SX(S)),
        SX(space.dim, count) if P is None else ca.sparsify(SX(P)),
        SX(space.turns, 1) if S_bias is None else S_bias,
        SX(space.dim, 1),
        none if quaternion is None else quaternion,
        SX.eye(count) if N is None else N,
        SX(0) if angle is None else angle,
    )


def weld(space: Space, s: Expr, w: Expr, numbers: Expr) -> RelativeMotion:
    """No motion at all."""
    return move(space, 0)


def free(space: Space, s: Expr, w: Expr) -> RelativeMotion:
    """A body in absolute coordinates against the world: s = (r, orientation), w = (ṙ, ω in body axes)."""
    P = ca.horzcat(SX.eye(space.dim), SX(space.dim, space.turns))
    S = ca.horzcat(SX(space.turns, space.dim), SX.eye(space.turns))
    pose, N = space.pose(s), space.rate_matrix(s)
    return move(
        space, space.nv, R=pose.R, p=pose.r, S=S, P=P, N=N, angle=pose.angle,
        quaternion=None if space.planar else s[space.dim :],
    )  # fmt: skip


def ball(space: Space, s: Expr, w: Expr, numbers: Expr) -> RelativeMotion:
    """Euler parameters."""
    return move(space, 3, R=rotation(s), S=SX.eye(3), quaternion=s, N=rate_matrix(s))


def reverse(space: Space, motion: RelativeMotion, s: Expr, w: Expr) -> RelativeMotion:
    """The motion of frame a against frame b.

    R' = Rᵀ, p' = -Rᵀ p, S' = -R S, P' w = ω × Rᵀ p - Rᵀ P w; the bias of S' is -R S_bias, since ω × ω = 0.
    """
    R, S = motion.R, motion.S
    place = R.T @ motion.p
    across = ca.vertcat(-place[1], place[0]) if space.planar else -skew(place)  # ω × place = across ω
    P = ca.sparsify(across @ S - R.T @ motion.P)
    rate = P @ w
    back = -S if space.planar else -(R @ S)
    bias = -motion.S_bias if space.planar else -(R @ motion.S_bias)
    return replace(
        motion,
        R=R.T,
        p=-place,
        S=ca.sparsify(back),
        P=P,
        S_bias=bias,
        P_bias=ca.sparsify(ca.jtimes(rate, s, motion.N @ w)) if s.shape[0] else SX(space.dim, 1),
        quaternion=conjugate(motion.quaternion),
        angle=-motion.angle,
    )
