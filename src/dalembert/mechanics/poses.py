"""Poses and twists of bodies in the plane and in space, and derivatives along a motion.

A body has q = (r, θ), v = (ṙ, θ̇) in the plane and q = (r, p), v = (ṙ, ω_body) in space; r is its centre of mass.
Joint and force formulas are written once in terms of r and R; δR = R skew(δθ) is the only rule of differentiation.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.rotations import rate_matrix, rotation, skew

SX = ca.SX


@dataclass(frozen=True)
class Pose:
    """Position r, rotation R, and the turning angle (planar; a zero in space)."""

    r: Expr
    R: Expr
    angle: Expr


@dataclass(frozen=True)
class Twist:
    """Velocity of the centre of mass (world axes) and angular velocity (body axes; a scalar in the plane)."""

    v: Expr
    w: Expr


@dataclass(frozen=True)
class Space:
    """The plane or space: sizes and the formulas that differ."""

    planar: bool

    @property
    def dim(self) -> int:
        return 2 if self.planar else 3

    @property
    def turns(self) -> int:
        return 1 if self.planar else 3

    @property
    def nq(self) -> int:
        return 3 if self.planar else 7

    @property
    def nv(self) -> int:
        return 3 if self.planar else 6

    @property
    def coordinates(self) -> tuple[tuple[str, str], ...]:
        if self.planar:
            return (("x", "m"), ("y", "m"), ("angle", "rad"))
        return (("x", "m"), ("y", "m"), ("z", "m"), ("e0", ""), ("e1", ""), ("e2", ""), ("e3", ""))

    @property
    def speeds(self) -> tuple[tuple[str, str], ...]:
        if self.planar:
            return (("vx", "m/s"), ("vy", "m/s"), ("rate", "rad/s"))
        turn = (("wx", "rad/s"), ("wy", "rad/s"), ("wz", "rad/s"))
        return (("vx", "m/s"), ("vy", "m/s"), ("vz", "m/s"), *turn)

    def pose(self, q: Expr) -> Pose:
        if self.planar:
            c, s = ca.cos(q[2]), ca.sin(q[2])
            return Pose(q[0:2], ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c)), q[2])
        return Pose(q[0:3], rotation(q[3:7]), SX(0))

    def poses_of(self, bodies: list[Expr]) -> list[Pose]:
        """The poses of many bodies, their rotations in one call."""
        if not bodies:
            return []
        q = SX.sym("q", self.nq)
        rotations = ca.Function("rotation", [q], [self.pose(q).R]).map(len(bodies))(ca.horzcat(*bodies))
        zero = SX(0)
        return [
            Pose(own[: self.dim], R, own[2] if self.planar else zero)
            for own, R in zip(bodies, ca.horzsplit(rotations, self.dim), strict=True)
        ]

    def twist(self, v: Expr) -> Twist:
        return Twist(v[0 : self.dim], v[self.dim : self.nv])

    def ground_pose(self) -> Pose:
        return Pose(SX.zeros(self.dim), SX.eye(self.dim), SX(0))

    def ground_twist(self) -> Twist:
        return Twist(SX.zeros(self.dim), SX.zeros(self.turns))

    def rate_matrix(self, q: Expr) -> Expr:
        """N(q) of one body: q̇ = N v."""
        if self.planar:
            return SX.eye(3)
        return ca.diagcat(SX.eye(3), rate_matrix(q[3:7]))

    def spin(self, R: Expr, w: Expr) -> Expr:
        """Ṙ for the angular velocity w."""
        if self.planar:
            return w * ca.horzcat(R[:, 1], -R[:, 0])
        return R @ skew(w)

    def turn_about(self, arm: Expr, force: Expr) -> Expr:
        """Moment of a force (both in world axes): scalar in the plane, vector in space."""
        if self.planar:
            return arm[0] * force[1] - arm[1] * force[0]
        return ca.cross(arm, force)

    def turn_velocity(self, pose: Pose, w: Expr, local: Expr) -> Expr:
        """Velocity of a body-fixed vector due to the body's turning, world axes."""
        return self.spin(pose.R, w) @ local

    def along(self, expression: Expr, moving: list[tuple[Pose, Twist]]) -> Expr:
        """Directional derivative of an expression of poses (with symbols r, R, angle) along twists."""
        total = SX.zeros(expression.shape)
        for pose, twist in moving:
            total = total + ca.jtimes(expression, pose.r, twist.v)
            total = total + ca.jtimes(expression, ca.vec(pose.R), ca.vec(self.spin(pose.R, twist.w)))
            if self.planar:
                total = total + ca.jtimes(expression, pose.angle, twist.w)
        return total

    def gradient(self, expression: Expr, pose: Pose) -> Expr:
        """Derivative of an expression of a pose by the body's speeds v (rows x nv)."""
        shift = ca.jacobian(expression, pose.r)
        by_rotation = ca.jacobian(expression, ca.vec(pose.R))
        columns = []
        for k in range(self.turns):
            unit = SX(1) if self.planar else SX(ca.DM([1.0 if i == k else 0.0 for i in range(3)]))
            column = by_rotation @ ca.vec(self.spin(pose.R, unit))
            if self.planar:
                column = column + ca.jacobian(expression, pose.angle)
            columns.append(column)
        return ca.horzcat(shift, *columns)

    def pose_symbols(self, name: str) -> Pose:
        R = SX.sym(name + "R", self.dim, self.dim)
        return Pose(SX.sym(name + "r", self.dim), R, SX.sym(name + "angle"))

    def twist_symbols(self, name: str) -> Twist:
        return Twist(SX.sym(name + "v", self.dim), SX.sym(name + "w", self.turns))
