"""A rigid body on a link of a tree: its inertia, and its places for joints, forces and sensors."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.bodies.attachment import Attachment
from dalembert.mechanics.bodies.rigid import RigidBody
from dalembert.mechanics.poses import Pose, Twist
from dalembert.mechanics.tree.link_inertia import LinkInertia
from dalembert.mechanics.tree.links import Link, euler_parameters_of, right_product
from dalembert.mechanics.tree.spatial import parallel, spin
from dalembert.model import Body, BodyFrame
from dalembert.model.bodies import Place

if TYPE_CHECKING:
    from dalembert.mechanics.forces.force_equations import ForceBuilder
    from dalembert.mechanics.tree.producer import JointCoordinates

SX = ca.SX


class LinkBody:
    """A rigid body on a tree in the equations: its frame has its origin at the centre of mass."""

    def __init__(self, host: JointCoordinates, link: Link, body: Body, massless: Expr | None) -> None:
        self.host, self.link, self.body = host, link, body
        self.rigid = RigidBody(host, body, self.pose, self.twist, massless)
        self.joint_link, self.columns = link, link.all_columns

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
        link, space = self.link, self.link.space
        turns = link.world_turns
        own = turns if space.planar else self.pose.R.T @ turns
        return ca.sparsify(ca.vertcat(link.move_point(self.pose.r), own))

    @cached_property
    def bias(self) -> Expr:
        """Derivative of the twist at v̇ = 0."""
        return self.accelerate(self.link.bias)

    def accelerate(self, motion: Twist) -> Expr:
        """Derivative of the twist at this acceleration of the link."""
        link, space = self.link, self.link.space
        w, a, alpha, c = link.velocity.w, motion.v, motion.w, link.centre
        moved = link.pose.R @ (a + spin(space, alpha, c) + spin(space, w, spin(space, w, c)))
        return ca.vertcat(moved, alpha if space.planar else link.far @ alpha)

    @cached_property
    def euler_parameters(self) -> Expr:
        if self.link.space.planar:
            return SX(0, 1)
        return ca.densify(right_product(euler_parameters_of(self.link.far.T)) @ self.link.quaternion)

    def carry(self, frame: BodyFrame) -> tuple[Link, Expr, Expr]:
        """The link that carries a joint on this frame, with axes and place of the frame in it.

        Frames of a rigid body are on its own link; a flexible body makes links without mass for frames that move on it.
        """
        link, host = self.link, self.host
        return link, link.far.T @ host.frame_axes(frame), link.far.T @ (host.place(frame) - link.place)

    def inertia(self) -> LinkInertia:
        link, space, c = self.link, self.link.space, self.link.centre
        mass = SX(self.host.number(self.body.mass))
        inertia = link.turn_inertia(self.rigid.mass_block()[space.dim :, space.dim :])
        plain = inertia if space.planar else link.turn_inertia(self.rigid.inertia())
        return LinkInertia(mass, mass * c, inertia, plain, ca.sparsify(inertia + mass * parallel(space, c, c)))

    def attach(self, place: Place) -> Attachment:
        host = self.host
        local = SX.zeros(host.space.dim) if isinstance(place, Body) else host.place(place)
        return Attachment(
            host.space, self.pose, self.twist, local, self.columns, self.euler_parameters, self.B, self.bias
        )

    def add_potential(self, forces: ForceBuilder, gravity: Expr) -> None:
        weight = self.host.number(self.body.mass) * gravity
        forces.potential = forces.potential - ca.dot(weight, self.pose.r)
