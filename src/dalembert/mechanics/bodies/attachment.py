"""A frame on a body, for joints, forces, sensors and curves.

The carrier is the frame whose motion is known: that of a rigid body, or a node of a flexible one. Its twist τ = (v, ω)
(v in world axes, ω in its own axes) is linear in some speeds of the machine, τ = B v, τ̇ = B v̇ + bias. A place at a
fixed distance l from the carrier's origin follows as that of a rigid body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.poses import Pose, Space, Twist

SX = ca.SX


@dataclass(frozen=True)
class Attachment:
    """A place on a body.

    pose, twist : of its carrier.  place : (dim,) from the carrier's origin, in its axes.
    columns : speeds that move the carrier; empty for the ground.
    B, bias : τ = B v[columns], τ̇ = B v̇[columns] + bias; None where B is the unit matrix and the bias zero.
    euler_parameters : of the carrier in space; empty in the plane.
    """

    space: Space
    pose: Pose
    twist: Twist
    place: Expr
    columns: Sequence[int]
    euler_parameters: Expr
    B: Expr | None = None
    bias: Expr | None = None

    @property
    def arm(self) -> Expr:
        """From the carrier's origin to the place, world axes."""
        return self.pose.R @ self.place

    @property
    def position(self) -> Expr:
        return self.pose.r + self.arm

    @property
    def velocity(self) -> Expr:
        return self.velocity_at(self.place)

    def velocity_at(self, local: Expr) -> Expr:
        """Velocity of the point of the carrier at these coordinates, world axes."""
        return self.twist.v + self.space.turn_velocity(self.pose, self.twist.w, local)

    def velocity_of(self, point: Expr) -> Expr:
        """Velocity of the point of the carrier that is at this place of the world now."""
        return self.velocity_at(self.pose.R.T @ (point - self.pose.r))

    def angular_velocity(self) -> Expr:
        """World axes; a scalar in the plane."""
        return self.twist.w if self.space.planar else self.pose.R @ self.twist.w

    def acceleration(self, a: Expr) -> Expr:
        """Of the place, world axes, at accelerations a of the machine's speeds."""
        space = self.space
        if not self.columns:
            return SX.zeros(space.dim)
        own = a[list(self.columns)]
        change = own if self.B is None else self.B @ own + self.bias
        turning = space.spin(self.pose.R, self.twist.w)
        turned = space.spin(self.pose.R, change[space.dim : space.nv])
        return change[: space.dim] + turned @ self.place + space.spin(turning, self.twist.w) @ self.place

    def by_speeds(self, rows: Expr) -> tuple[Sequence[int], Expr]:
        """Rows linear in the carrier's twist as rows of the machine's speeds: (columns, block)."""
        return self.columns, rows if self.B is None else ca.sparsify(rows @ self.B)

    def drift(self, rows: Expr) -> Expr:
        """Contribution of the bias of the twist to d/dt(rows τ)."""
        return 0 if self.bias is None else rows @ self.bias

    def generalize(self, wrench: Expr) -> Expr:
        """Generalized forces on `columns` of a force (world axes) and a torque (carrier's axes) at its origin."""
        return wrench if self.B is None else self.B.T @ wrench
