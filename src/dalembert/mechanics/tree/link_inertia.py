"""Parts of a body in the recursions over links: inertia, forces of its motion, and its own speeds.

The momentum of a body with m speeds η̇ of its own (elastic ones) is (6 + m) linear forms of its link's twist and η̇:

    f = m v + ω × h + F η̇ ,     n = J ω + h × v + N η̇ ,     e = Fᵀ v + Nᵀ ω + H η̇ .

m, h and J may depend on η, and forces of the motion then have further terms, which the body writes. A joint on a frame
that moves on the body is carried by a link without mass (`without_mass`), whose motion against the body's link is that
of the frame and whose columns are η̇: several links may have the same columns, whose contributions add up.
A rigid body has no such speeds.

The frame of a flexible body is its floating frame. With a, α of the frame and the matrices of `bodies.floating`, all in
the axes of the frame,

    f = m a + α × h + F η̈ - h_t ,     n = J α + h × a + N η̈ - h_r ,     e = Fᵀ a + Nᵀ α + H η̈ - h_η .

Gravity is an acceleration of the ground. Where geometric stiffening moves the centre of mass in second order, its
weight does the work of a moment h_w(η) that is not the h of the inertia; the difference acts in addition:

    n + (h_w - h) × u ,      e + (∂h_w/∂η - F)ᵀ u ,       u = -g in the axes of the link .
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.bodies.floating import FloatingTerms, constant
from dalembert.mechanics.poses import Pose, Space, Twist
from dalembert.mechanics.tree.spatial import SpatialInertia, Wrench, spin
from dalembert.model.flexible import FlexibleBodyData

SX = ca.SX


class MovingFrame(Protocol):
    """The frame of a body as its inertia needs it: a link, or a body of the closed form.

    pose : in the world.  velocity : in axes of the frame.  centre : of mass, in the frame.
    """

    @property
    def space(self) -> Space: ...

    @property
    def pose(self) -> Pose: ...

    @property
    def velocity(self) -> Twist: ...

    @property
    def centre(self) -> Expr: ...


class BodyInertia(Protocol):
    """Inertia of a body on its link, in axes of the link.

    columns : speeds of the body itself.  coupling : (F, N), momentum of the link by them.  own : H, their own inertia.
    weight_moment : first moment on which the weight acts, and its derivatives by the body's own coordinates.
    resistance, stored_energy : elastic and damping efforts against `columns`, and the energy of the elastic ones.
    """

    @property
    def spatial(self) -> SpatialInertia: ...

    @property
    def weight_moment(self) -> tuple[Expr, Expr]: ...

    @property
    def resistance(self) -> Expr: ...

    @property
    def stored_energy(self) -> Expr: ...

    @property
    def columns(self) -> Sequence[int]: ...

    @property
    def coupling(self) -> Wrench: ...

    @property
    def own(self) -> Expr: ...

    def force(self, link: MovingFrame, motion: Twist, rates: Expr | None) -> tuple[Wrench, Expr]:
        """Wrench about the link's origin and efforts on `columns` at the acceleration of the link.

        rates : derivatives of all speeds (None: zero).
        """

    def kinetic_energy(self, link: MovingFrame) -> Expr: ...


@dataclass(frozen=True)
class LinkInertia:
    """Mass, first moment and inertia of a link, in its axes: about the centre of mass, and about its origin.

    gyroscopic : the inertia without the artificial inertia of an idle spin.
    """

    mass: Expr
    moment: Expr
    inertia: Expr
    gyroscopic: Expr
    about_origin: Expr

    @property
    def columns(self) -> Sequence[int]:
        return ()

    @property
    def coupling(self) -> Wrench:
        return Wrench(SX(self.moment.shape[0], 0), SX(self.inertia.shape[0], 0))

    @property
    def own(self) -> Expr:
        return SX(0, 0)

    @property
    def weight_moment(self) -> tuple[Expr, Expr]:
        return self.moment, SX(self.moment.shape[0], 0)

    @property
    def resistance(self) -> Expr:
        return SX(0, 1)

    @property
    def stored_energy(self) -> Expr:
        return SX(0)

    @property
    def spatial(self) -> SpatialInertia:
        """About the link's origin."""
        return SpatialInertia(self.mass, self.moment, self.about_origin)

    def kinetic_energy(self, link: MovingFrame) -> Expr:
        v = link.velocity.v + spin(link.space, link.velocity.w, link.centre)
        w = link.velocity.w
        return 0.5 * (self.mass * ca.dot(v, v) + ca.dot(w, self.inertia @ w))

    def force(self, link: MovingFrame, motion: Twist, rates: Expr | None = None) -> tuple[Wrench, Expr]:
        """F = m (a + α × c + ω × (ω × c)) , N = I α + ω × I₀ ω + c × F."""
        space, w, c = link.space, link.velocity.w, link.centre
        F = self.mass * (motion.v + spin(space, motion.w, c) + spin(space, w, spin(space, w, c)))
        N = self.inertia @ motion.w + space.turn_about(c, F)
        return Wrench(F, N if space.planar else N + ca.cross(w, self.gyroscopic @ w)), SX(0, 1)


def without_mass(space: Space) -> LinkInertia:
    """Of a link that only moves others."""
    turns = SX(space.turns, space.turns)
    return LinkInertia(SX(0), SX(space.dim, 1), turns, turns, turns)


@dataclass(frozen=True)
class FloatingInertia:
    """Of a body with elastic coordinates eta and their rates.

    columns : speeds of the elastic coordinates.  stiffness, damping : factors of the matrices of the data.
    gravity : world axes.
    """

    space: Space
    data: FlexibleBodyData
    columns: Sequence[int]
    eta: Expr
    rate: Expr
    stiffness: Expr
    damping: Expr
    gravity: Expr

    @cached_property
    def terms(self) -> FloatingTerms:
        return FloatingTerms(self.data, self.eta, self.rate, SX(3, 1))

    @property
    def _parts(self) -> list[int]:
        """Of the forces in space, those of the plane or all."""
        return [*((0, 1, 5) if self.space.planar else range(6)), *range(6, 6 + self.data.modes)]

    @cached_property
    def _block(self) -> Expr:
        return self.terms.mass_block(SX.eye(3))[self._parts, self._parts]

    @cached_property
    def spatial(self) -> SpatialInertia:
        J = self.terms.inertia
        moment = ca.sparsify(self.terms.first_moment[: self.space.dim])
        return SpatialInertia(SX(self.data.mass), moment, J[2, 2] if self.space.planar else ca.sparsify(J))

    @cached_property
    def coupling(self) -> Wrench:
        dim, nv = self.space.dim, self.space.nv
        return Wrench(self._block[:dim, nv:], self._block[dim:nv, nv:])

    @property
    def own(self) -> Expr:
        return self._block[self.space.nv :, self.space.nv :]

    @cached_property
    def weight_moment(self) -> tuple[Expr, Expr]:
        """First moment h_w of the weight, and its derivatives by the elastic coordinates."""
        dim, terms = self.space.dim, self.terms
        moment, along = terms.first_moment, terms.translation
        if terms.following is not None:
            moment, along = moment + 0.5 * (terms.following.bent @ self.eta), along + terms.following.bent
        return moment[:dim], along[:dim, :]

    @property
    def resistance(self) -> Expr:
        """K η + D η̇."""
        return self.stiffness * (constant(self.data.stiffness) @ self.eta) + self.damping * (
            constant(self.data.damping) @ self.rate
        )

    @property
    def stored_energy(self) -> Expr:
        return 0.5 * self.stiffness * ca.bilin(constant(self.data.stiffness), self.eta, self.eta)

    def force(self, link: MovingFrame, motion: Twist, rates: Expr | None = None) -> tuple[Wrench, Expr]:
        space, w = self.space, link.velocity.w
        F, N = self.coupling.f, self.coupling.n
        terms = self.terms.turning(ca.vertcat(SX(2, 1), w) if space.planar else w)
        own = terms.velocity_forces(SX.eye(3))[self._parts]
        wrench = self.spatial.momentum(space, motion)
        wrench = wrench + Wrench(-own[: space.dim], -own[space.dim : space.nv])
        efforts = F.T @ motion.v + N.T @ motion.w - own[space.nv :]
        if rates is not None:
            change = rates[list(self.columns)]
            wrench, efforts = wrench + Wrench(F @ change, N @ change), efforts + self.own @ change
        if terms.following is not None:
            upwards, (moment, along) = -link.pose.R.T @ self.gravity, self.weight_moment
            turned = space.turn_about(moment - self.spatial.moment, upwards)
            wrench, efforts = wrench + Wrench(SX(space.dim, 1), turned), efforts + (along - F).T @ upwards
        return wrench, efforts

    def kinetic_energy(self, link: MovingFrame) -> Expr:
        speeds = ca.vertcat(link.velocity.v, link.velocity.w, self.rate)
        return 0.5 * ca.bilin(self._block, speeds, speeds)
