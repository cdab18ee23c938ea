"""A rigid body: q = (r, orientation) of its centre of mass, v = (ṙ, ω), ω in body axes.

Its mass block is constant; in space its rotation adds the torque -ω × I ω.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.bodies.attachment import Attachment
from dalembert.mechanics.poses import Pose, Twist
from dalembert.model import Body
from dalembert.model.bodies import Place

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute
    from dalembert.mechanics.forces.force_equations import ForceBuilder

SX = ca.SX
NO_INERTIA = 1e-12  # an inertia about an axis below this share of the trace is zero


class RigidBody:
    """A rigid body in the equations.  columns : its speeds.  massless : an axis without inertia and torque about it."""

    def __init__(self, host: Absolute, body: Body, pose: Pose, twist: Twist, massless: Expr | None = None) -> None:
        self.host, self.body, self.pose, self.twist = host, body, pose, twist
        self.columns: list[int] = list(host.rigid_columns(body))
        self._massless = massless

    def attach(self, place: Place) -> Attachment:
        host = self.host
        local = SX.zeros(host.space.dim) if isinstance(place, Body) else host.place(place)
        return Attachment(host.space, self.pose, self.twist, local, self.columns, host.euler_parameters(self.body))

    def mass_block(self) -> Expr:
        """Of `columns`."""
        space, number = self.host.space, self.host.number
        moving = number(self.body.mass) * SX.eye(space.dim)
        if space.planar:
            return ca.diagcat(moving, SX(number(self.body.inertia)))
        inertia = self.inertia()
        if self._massless is not None:  # any inertia makes an idle spin keep its speed
            e = self._massless
            size = ca.trace(inertia)
            any_size = ca.if_else(size > 0, size, 1.0)
            lacking = ca.dot(e, inertia @ e) <= NO_INERTIA * size  # a changed parameter may give it an inertia
            inertia = inertia + ca.if_else(lacking, any_size, 0.0) * (e @ e.T)
        return ca.diagcat(moving, inertia)

    def inertia(self) -> Expr:
        """As the model gives it, body axes."""
        rows = [ca.horzcat(*[self.host.number(c) for c in row]) for row in self.body.inertia]
        return SX(ca.vertcat(*rows))

    def add_weight(self, forces: ForceBuilder, gravity: Expr) -> None:
        weight = self.host.number(self.body.mass) * gravity
        forces.add(self.columns[: self.host.space.dim], weight, has_potential=True)
        forces.potential = forces.potential - ca.dot(weight, self.pose.r)

    def add_own_forces(self, forces: ForceBuilder) -> None:
        """The gyroscopic torque, which does no work."""
        if not self.host.space.planar:
            torque = -ca.cross(self.twist.w, self.inertia() @ self.twist.w)
            forces.add(self.columns[3:], torque, has_potential=True)


class Ground:
    """The frame that does not move."""

    columns: tuple[int, ...] = ()

    def __init__(self, host: Absolute) -> None:
        self.host, self.pose, self.twist = host, host.space.ground_pose(), host.space.ground_twist()

    def attach(self, place: Place) -> Attachment:
        host = self.host
        local = SX.zeros(host.space.dim) if isinstance(place, Body) else host.place(place)
        return Attachment(host.space, self.pose, self.twist, local, (), SX(ca.DM([1.0, 0.0, 0.0, 0.0])))
