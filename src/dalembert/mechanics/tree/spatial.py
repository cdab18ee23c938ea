"""Twists, wrenches and inertias of links, and how they change with the frame (Featherstone 2008, ch. 2).

A twist is the velocity v of the point of a body at the origin of a frame and the angular velocity ω, a wrench the force
f and the moment n about that origin, both in the axes of the frame; either may have several columns. Of a frame with
axes R and origin d in another one:

    twist inwards    v' = Rᵀ (v + ω × d) ,   ω' = Rᵀ ω            wrench outwards   f = R f' ,   n = R n' + d × f
    power            f·v + n·ω  is the same in both
    along a motion   a twist fixed to a body changes by (ω × v' + v × ω', ω × ω'), a wrench by (ω × f, ω × n + v × f)
    inertia          f = m v + ω × h ,   n = J ω + h × v ;   outwards   h = R h' + m d ,   J = R J' Rᵀ + 2 d h' + m d d

with a b short for the symmetric part of a·b 1 - a bᵀ, in the axes outside. In the plane ω and n are scalars.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.poses import Space, Twist
from dalembert.mechanics.rotations import skew

SX = ca.SX


@dataclass(frozen=True)
class Wrench:
    """Force, and moment about the origin of a frame."""

    f: Expr
    n: Expr

    def __add__(self, other: Wrench) -> Wrench:
        return Wrench(self.f + other.f, self.n + other.n)


def spin(space: Space, w: Expr, x: Expr) -> Expr:
    """ω × x; ω is a scalar in the plane."""
    return ca.vertcat(-w * x[1], w * x[0]) if space.planar else ca.cross(w, x)


def cross_matrix(space: Space, d: Expr) -> Expr:
    """X with X f = d × f, a row in the plane; ω × d is Xᵀ ω."""
    return ca.sparsify(ca.horzcat(-d[1], d[0]) if space.planar else skew(d))


def spin_matrix(space: Space, w: Expr) -> Expr:
    """Ω with Ω x = ω × x."""
    return ca.sparsify(ca.vertcat(ca.horzcat(0, -w), ca.horzcat(w, 0)) if space.planar else skew(w))


def cross_twist(space: Space, moving: Twist, own: Twist) -> Twist:
    """Rates of twists that are fixed to a body with another one: (ω × v' + v × ω', ω × ω')."""
    W = spin_matrix(space, moving.w)
    turned = SX(*own.w.shape) if space.planar else W @ own.w
    return Twist(W @ own.v - cross_matrix(space, moving.v).T @ own.w, turned)


def cross_wrench(space: Space, moving: Twist, own: Wrench) -> Wrench:
    """Rates of wrenches that are fixed to a moving body: (ω × f, ω × n + v × f)."""
    W = spin_matrix(space, moving.w)
    turned = SX(*own.n.shape) if space.planar else W @ own.n
    return Wrench(W @ own.f, turned + cross_matrix(space, moving.v) @ own.f)


def parallel(space: Space, a: Expr, b: Expr) -> Expr:
    """a·b 1 - a bᵀ, the part of an inertia that is a product of two distances; a·b in the plane."""
    return ca.dot(a, b) if space.planar else ca.dot(a, b) * SX.eye(3) - a @ b.T


def symmetric(J: Expr) -> Expr:
    """The symmetric matrix with this upper triangle; no entry is computed twice."""
    return J if J.shape == (1, 1) else ca.sparsify(ca.triu2symm(ca.triu(J)))


@dataclass(frozen=True)
class SpatialInertia:
    """Mass, first moment h = m c and inertia J about the origin of a frame, in its axes."""

    mass: Expr
    moment: Expr
    inertia: Expr

    def __add__(self, other: SpatialInertia) -> SpatialInertia:
        return SpatialInertia(
            self.mass + other.mass, self.moment + other.moment, ca.sparsify(self.inertia + other.inertia)
        )

    def momentum(self, space: Space, twist: Twist) -> Wrench:
        """Linear momentum and angular momentum about the origin, of every column of the twist."""
        X = cross_matrix(space, self.moment)
        f = self.mass * twist.v + (X.T @ twist.w)
        return Wrench(ca.sparsify(f), ca.sparsify(self.inertia @ twist.w + X @ twist.v))


@dataclass(frozen=True)
class FrameChange:
    """From a frame to another one with axes R and origin d in it."""

    space: Space
    R: Expr
    d: Expr

    def turn_in(self, w: Expr) -> Expr:
        """A moment or an angular velocity in the axes of the frame inside."""
        return w if self.space.planar else self.R.T @ w

    def turn_out(self, w: Expr) -> Expr:
        return w if self.space.planar else self.R @ w

    def twist_in(self, twist: Twist) -> Twist:
        """Twists in the frame inside."""
        one = twist.w.shape[1] == 1
        moved = spin(self.space, twist.w, self.d) if one else cross_matrix(self.space, self.d).T @ twist.w
        return Twist(self.R.T @ (twist.v + moved), self.turn_in(twist.w))

    def twist_out(self, twist: Twist) -> Twist:
        """Twists of the frame inside in the frame outside: v = R v' + d × ω."""
        w = ca.sparsify(self.turn_out(twist.w))
        return Twist(ca.sparsify(self.R @ twist.v - cross_matrix(self.space, self.d).T @ w), w)

    def wrench_out(self, wrench: Wrench) -> Wrench:
        """Wrenches of the frame inside in the frame outside."""
        f = ca.sparsify(self.R @ wrench.f)
        moment = self.space.turn_about(self.d, f) if f.shape[1] == 1 else cross_matrix(self.space, self.d) @ f
        return Wrench(f, ca.sparsify(self.turn_out(wrench.n) + moment))

    def inertia_out(self, own: SpatialInertia) -> SpatialInertia:
        space, m, d, h = self.space, own.mass, self.d, self.R @ own.moment
        J = own.inertia if space.planar else symmetric(self.R @ own.inertia @ self.R.T)
        J = symmetric(J + parallel(space, d, h) + parallel(space, h, d) + m * parallel(space, d, d))
        return SpatialInertia(m, h + m * d, J)
