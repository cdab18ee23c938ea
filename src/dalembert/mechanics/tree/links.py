"""Links of a tree: one frame for each body, placed where its joint is, and how it moves with its parent.

The frame of a link has the axes and the origin of the joint's frame on it, so that a hinge turns about one of its axes
and constant turns between joints, mostly by right angles, cost little. Of link i with parent λ:

    R_i = E R(s)   axes of i in λ ,     d_i = offset + E p(s)   origin of i in λ ,     Q = R(s)ᵀ P

Velocities and accelerations are those of the link's origin, in its own axes:

    ω_i = R_iᵀ ω_λ + S w ,          v_i = R_iᵀ (v_λ + ω_λ × d) + Q w ,
    α_i = R_iᵀ α_λ + S ẇ + ω' × S w + S_bias ,       ω' = R_iᵀ ω_λ ,
    a_i = R_iᵀ (a_λ + α_λ × d + ω_λ × (ω_λ × d)) + Q ẇ + 2 ω' × Q w + R(s)ᵀ P_bias
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.expressions import Expr
from dalembert.mechanics.bodies.attachment import Attachment
from dalembert.mechanics.bodies.rigid import RigidBody
from dalembert.mechanics.joints.motion import RelativeMotion
from dalembert.mechanics.poses import Pose, Space, Twist
from dalembert.mechanics.rotations import multiply
from dalembert.model import Body
from dalembert.model.bodies import Place
from dalembert.model.orientation import quaternion_from_matrix

if TYPE_CHECKING:
    from dalembert.mechanics.forces.force_equations import ForceBuilder
    from dalembert.mechanics.tree.producer import JointCoordinates

SX = ca.SX


def spin(space: Space, w: Expr, x: Expr) -> Expr:
    """ω × x; ω is a scalar in the plane."""
    return ca.vertcat(-w * x[1], w * x[0]) if space.planar else ca.cross(w, x)


@dataclass(frozen=True, eq=False)
class Link:
    """One body of a tree.

    parent : the link that carries it; None for the ground.  columns : its own speeds, w their values.
    E, offset : constant pose of the joint's frame on the parent, in the parent's link.
    far, place : axes and place of the joint's frame on the body, in body axes: the link's axes and origin.
    near_angle, far_angle : of both frames on their bodies, in the plane, with all their turns.
    """

    space: Space
    body: Body
    parent: Link | None
    columns: Sequence[int]
    w: Expr
    motion: RelativeMotion
    E: Expr
    offset: Expr
    far: Expr
    place: Expr
    near_angle: Expr = 0.0
    far_angle: Expr = 0.0

    @cached_property
    def R(self) -> Expr:
        """Axes of the link in those of its parent."""
        return ca.sparsify(self.E @ self.motion.R)

    @cached_property
    def d(self) -> Expr:
        """Origin of the link in its parent."""
        return self.offset + self.E @ self.motion.p

    @cached_property
    def S(self) -> Expr:
        """ω = S w of the joint, axes of the link."""
        return self.motion.S

    @cached_property
    def Q(self) -> Expr:
        """Velocity of the joint, axes of the link."""
        return ca.sparsify(self.motion.R.T @ self.motion.P)

    @cached_property
    def path(self) -> list[Link]:
        """Links from the root to this one."""
        return [*(self.parent.path if self.parent else []), self]

    @cached_property
    def pose(self) -> Pose:
        """Of the link in the world."""
        above = self.parent.pose if self.parent else self.space.ground_pose()
        before = self.parent.far_angle if self.parent else 0.0
        turned = above.angle - before + self.near_angle + self.motion.angle if self.space.planar else SX(0)
        return Pose(above.r + above.R @ self.d, above.R @ self.R, turned)

    @cached_property
    def velocity(self) -> Twist:
        """v and ω of the link, in its own axes."""
        space, turn, slide = self.space, self.S @ self.w, self.Q @ self.w
        if self.parent is None:
            return Twist(slide, turn)
        above = self.parent.velocity
        v = self.R.T @ (above.v + spin(space, above.w, self.d)) + slide
        return Twist(v, (above.w if space.planar else self.R.T @ above.w) + turn)

    def accelerate(self, above: Twist, rates: Expr | None) -> Twist:
        """a and α from those of the parent and the derivatives of the link's own speeds (None: zero)."""
        space, motion = self.space, self.motion
        turn, slide = self.S @ self.w, self.Q @ self.w
        w_above = self.parent.velocity.w if self.parent else SX(space.turns, 1)
        carried = w_above if space.planar else self.R.T @ w_above
        a = self.R.T @ (above.v + spin(space, above.w, self.d) + spin(space, w_above, spin(space, w_above, self.d)))
        a = a + 2 * spin(space, carried, slide) + motion.R.T @ motion.P_bias
        alpha = above.w if space.planar else self.R.T @ above.w + ca.cross(carried, turn)
        alpha = alpha + motion.S_bias
        if rates is not None:
            a, alpha = a + self.Q @ rates, alpha + self.S @ rates
        return Twist(a, alpha)

    @cached_property
    def bias(self) -> Twist:
        """a and α at v̇ = 0."""
        still = Twist(SX(self.space.dim, 1), SX(self.space.turns, 1))
        return self.accelerate(self.parent.bias if self.parent else still, None)

    @cached_property
    def centre(self) -> Expr:
        """Centre of mass from the link's origin, axes of the link."""
        return ca.sparsify(-(self.far.T @ self.place))

    def turn_inertia(self, inertia: Expr) -> Expr:
        """An inertia of the body (body axes) in axes of the link."""
        return inertia if self.space.planar else ca.sparsify(self.far.T @ inertia @ self.far)

    @cached_property
    def quaternion(self) -> Expr:
        """Euler parameters of the link's axes in the world."""
        above = self.parent.quaternion if self.parent else SX(ca.DM([1.0, 0.0, 0.0, 0.0]))
        fixed = _euler_parameters(self.E)
        return multiply(multiply(above, fixed), self.motion.quaternion)


def _euler_parameters(R: Expr) -> Expr:
    """Of a constant rotation; of one with parameters by the square roots of its trace."""
    if R.is_constant():
        return SX(ca.DM(list(quaternion_from_matrix(np.array(ca.DM(ca.densify(R)))))))
    w = 0.5 * ca.sqrt(1 + ca.trace(R))
    return ca.vertcat(w, (R[2, 1] - R[1, 2]) / (4 * w), (R[0, 2] - R[2, 0]) / (4 * w), (R[1, 0] - R[0, 1]) / (4 * w))


class LinkBody:
    """What a rigid body on a tree brings: its frame has the centre of mass as origin, as in absolute coordinates."""

    def __init__(self, host: JointCoordinates, link: Link, massless: Expr | None) -> None:
        self.host, self.link, self.body = host, link, link.body
        self.rigid = RigidBody(host, link.body, self.pose, self.twist, massless)
        self.columns = [k for one in link.path for k in one.columns]

    @cached_property
    def pose(self) -> Pose:
        link, space = self.link, self.link.space
        R = ca.sparsify(link.pose.R @ link.far.T)
        angle = link.pose.angle - link.far_angle if space.planar else SX(0)
        return Pose(link.pose.r + link.pose.R @ link.centre, R, angle)

    @cached_property
    def twist(self) -> Twist:
        link, space = self.link, self.link.space
        v = link.pose.R @ (link.velocity.v + spin(space, link.velocity.w, link.centre))
        return Twist(v, link.velocity.w if space.planar else link.far @ link.velocity.w)

    @cached_property
    def B(self) -> Expr:
        """Twist of the body = B v[columns]."""
        space, blocks = self.link.space, []
        for link in self.link.path:
            if not link.columns:
                continue
            slide, turn = link.pose.R @ link.Q, link.S if space.planar else link.pose.R @ link.S
            arm = self.pose.r - link.pose.r
            moved = [slide[:, k] + spin(space, turn[:, k], arm) for k in range(len(link.columns))]
            own = turn if space.planar else self.pose.R.T @ turn
            blocks.append(ca.vertcat(ca.horzcat(*moved), own))
        return ca.sparsify(ca.horzcat(*blocks)) if blocks else SX(space.nv, 0)

    @cached_property
    def bias(self) -> Expr:
        """Derivative of the twist at v̇ = 0."""
        link, space = self.link, self.link.space
        w, a, alpha, c = link.velocity.w, link.bias.v, link.bias.w, link.centre
        moved = link.pose.R @ (a + spin(space, alpha, c) + spin(space, w, spin(space, w, c)))
        return ca.vertcat(moved, alpha if space.planar else link.far @ alpha)

    @cached_property
    def euler_parameters(self) -> Expr:
        return (
            SX(0, 1) if self.link.space.planar else multiply(self.link.quaternion, _euler_parameters(self.link.far.T))
        )

    def attach(self, place: Place) -> Attachment:
        host = self.host
        local = SX.zeros(host.space.dim) if isinstance(place, Body) else host.place(place)
        return Attachment(
            host.space, self.pose, self.twist, local, self.columns, self.euler_parameters, self.B, self.bias
        )

    def add_potential(self, forces: ForceBuilder, gravity: Expr) -> None:
        weight = self.host.number(self.body.mass) * gravity
        forces.potential = forces.potential - ca.dot(weight, self.pose.r)
