"""Inertia of a flexible body on its link, whose frame is the floating frame of the body.

With a, α of the frame and the matrices of `bodies.floating`, all in the axes of the frame,

    f = m a + α × h + F η̈ - h_t ,     n = J α + h × a + N η̈ - h_r ,     e = Fᵀ a + Nᵀ α + H η̈ - h_η .

Gravity is an acceleration of the ground. Where geometric stiffening moves the centre of mass in second order, its
weight does the work of a moment h_w(η) that is not the h of the inertia; the difference acts in addition:

    n + (h_w - h) × u ,      e + (∂h_w/∂η - F)ᵀ u ,       u = -g in the axes of the link .
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.bodies.floating import FloatingTerms, constant
from dalembert.mechanics.poses import Space, Twist
from dalembert.mechanics.tree.link_inertia import MovingFrame
from dalembert.mechanics.tree.spatial import SpatialInertia, Wrench
from dalembert.model.flexible import FlexibleBodyData

SX = ca.SX


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
