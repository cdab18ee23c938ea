"""A flexible body on a tree, carried by any of its nodes.

The frame of its link is the floating frame. A node b moves on it by η with axes E(η) = exp(θ~) and place p(η), so that

    node on the body       R = E ,  p = u₀ + d(η) ,      ω = T(θ) ∂θ/∂η η̇ ,  ṗ = ∂d/∂η η̇ .

A joint on a moving node carries the body by the inverse of this motion: joint, then body, both massless or not, each a
link; joints on other moving nodes stand on links without mass (`link_inertia`). All of them have the speeds η̇.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.bodies.attachment import Attachment
from dalembert.mechanics.bodies.floating import FloatingBody
from dalembert.mechanics.joints.motion import RelativeMotion, move, reverse
from dalembert.mechanics.poses import Twist
from dalembert.mechanics.rotations import exponential, turn_matrix, turn_rate
from dalembert.mechanics.tree.link_inertia import FloatingInertia
from dalembert.mechanics.tree.links import Link
from dalembert.model import Body, BodyFrame

if TYPE_CHECKING:
    from dalembert.mechanics.forces.force_equations import ForceBuilder
    from dalembert.mechanics.tree.producer import JointCoordinates

SX = ca.SX


class FlexibleLink(FloatingBody):
    """A flexible body on a tree in the equations.

    joint_link : the link of the joint that carries it, where the body is not free; its axes are those of the joint.
    """

    def __init__(
        self, host: JointCoordinates, body: Body, joint_link: Link, frame: BodyFrame | None, eta: Expr, rate: Expr,
        modes: range,
    ) -> None:  # fmt: skip
        assert body.flexible is not None
        self.host, self.body, self.data, self.eta, self.rate, self.modes = host, body, body.flexible, eta, rate, modes
        self.joint_link = joint_link
        self._nodes: dict[str, Link] = {}
        self.link = joint_link if frame is None else self._hang(frame)
        super().__init__(host, body, self.link.pose, self._twist(), eta, rate, modes)
        self.columns = list(dict.fromkeys((*self.link.all_columns, *modes)))

    def _hang(self, frame: BodyFrame) -> Link:
        """The link of the body, on that of the joint at one of its nodes."""
        host, space = self.host, self.host.space
        name = self.body.node_at(frame.coordinates)
        motion = self.node_motion(name)
        columns = self.modes if motion.S.nnz() or motion.P.nnz() else range(0)
        if columns:
            motion = reverse(space, motion, self.eta, self.rate)
        else:
            none = SX(0, 1)
            motion = reverse(space, move(space, 0, p=motion.p), none, none)
        axes, none = ca.sparsify(host.frame_axes(frame).T), SX(space.dim, 1)
        w = self.rate if columns else SX(0, 1)
        return Link(space, self.body.name, self.joint_link, columns, w, motion, axes, none, SX.eye(space.dim), none)

    def node_motion(self, name: str) -> RelativeMotion:
        """Of a node against the frame of the body."""
        space, eta, rate = self.host.space, self.eta, self.rate
        moved, P, curved = self._displacement(name)
        theta, H, turned = self._rotation(name)
        motion = move(space, self.data.modes, p=SX(ca.DM(self.data.node(name).place[: space.dim])) + moved, P=P)
        parts = {"P_bias": curved}
        if H.nnz() and space.planar:
            c, s = ca.cos(theta), ca.sin(theta)
            parts |= {"R": ca.blockcat([[c, -s], [s, c]]), "S": H, "S_bias": turned, "angle": theta}
        elif H.nnz():
            S = ca.sparsify(turn_rate(theta) @ H)
            parts |= {"R": turn_matrix(theta), "quaternion": exponential(theta)}
            parts |= {"S": S, "S_bias": ca.jtimes(S @ rate, eta, rate)}
        return RelativeMotion(**(motion.__dict__ | parts))

    def _twist(self) -> Twist:
        velocity = self.link.velocity
        return Twist(self.link.pose.R @ velocity.v, velocity.w)

    # -- as a body of a tree ------------------------------------------------------------------------------------------
    @cached_property
    def _inertia(self) -> FloatingInertia:
        host, body = self.host, self.body
        factors = (SX(host.number(body.stiffness)), SX(host.number(body.damping)))
        gravity = host.vector(host.m.gravity)
        return FloatingInertia(host.space, self.data, list(self.modes), self.eta, self.rate, *factors, gravity)

    def node_link(self, name: str) -> Link:
        """A link without mass that moves with a node; the link of the body where no mode moves the node."""
        if name not in self._nodes:
            motion, space = self.node_motion(name), self.host.space
            if not motion.S.nnz() and not motion.P.nnz():
                return self.link
            one, none = SX.eye(space.dim), SX(space.dim, 1)
            self._nodes[name] = Link(
                space, f"{self.body.name}.{name}", self.link, self.modes, self.rate, motion, one, none, one, none
            )
        return self._nodes[name]

    def carry(self, frame: BodyFrame) -> tuple[Link, Expr, Expr]:
        """The link that carries a joint on this frame, with axes and place of the frame in it."""
        name = self.body.node_at(frame.coordinates)
        link, dim = self.node_link(name), self.host.space.dim
        place = SX(ca.DM(self.data.node(name).place[:dim])) if link is self.link else SX(dim, 1)
        return link, self.host.frame_axes(frame), place

    @cached_property
    def euler_parameters(self) -> Expr:
        return SX(0, 1) if self.host.space.planar else ca.densify(self.link.quaternion)

    @cached_property
    def bias(self) -> Expr:
        """Derivative of the twist of the frame at v̇ = 0."""
        return self.accelerate(self.link.bias)

    def accelerate(self, motion: Twist) -> Expr:
        """Derivative of the twist of the frame at this acceleration of the link."""
        return ca.vertcat(self.link.pose.R @ motion.v, motion.w)

    def inertia(self) -> FloatingInertia:
        return self._inertia

    # -- places on it -------------------------------------------------------------------------------------------------
    @cached_property
    def _speeds(self) -> Expr:
        """Twist of the frame and rates of the modes = this matrix times the speeds `columns`."""
        link, space = self.link, self.host.space
        turns = link.world_turns if space.planar else self.pose.R.T @ link.world_turns
        found = SX(space.nv + len(self.modes), len(self.columns))
        found[: space.nv, : len(link.all_columns)] = ca.vertcat(link.move_point(self.pose.r), turns)
        for k, column in enumerate(self.modes):
            found[space.nv + k, self.columns.index(column)] = 1
        return ca.sparsify(found)

    def attach_node(self, name: str) -> Attachment:
        side, nv = super().attach_node(name), self.host.space.nv
        B = side.B
        assert B is not None
        return replace(side, B=ca.sparsify(B @ self._speeds), bias=B[:, :nv] @ self.bias + side.bias)

    def _attach_frame(self) -> Attachment:
        B = self._speeds[: self.host.space.nv, :]
        return replace(super()._attach_frame(), columns=self.columns, B=B, bias=self.bias)

    def add_potential(self, forces: ForceBuilder, gravity: Expr) -> None:
        """Of its weight."""
        weight = self.data.mass * self.pose.r + self.pose.R @ self._inertia.weight_moment[0]
        forces.potential = forces.potential - ca.dot(gravity, weight)
