"""Parts of a body in the recursions over links: inertia, forces of its motion, and its own speeds.

The momentum of a body with m speeds η̇ of its own (elastic ones) is (6 + m) linear forms of its link's twist and η̇:

    f = m v + ω × h + F η̇ ,     n = J ω + h × v + N η̇ ,     e = Fᵀ v + Nᵀ ω + H η̇ .

m, h and J may depend on η, and forces of the motion then have further terms, which the body writes. A joint on a frame
that moves on the body is carried by a link without mass (`without_mass`), whose motion against the body's link is that
of the frame and whose columns are η̇: several links may have the same columns, whose contributions add up.
A rigid body has no such speeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.poses import Pose, Space, Twist
from dalembert.mechanics.tree.spatial import SpatialInertia, Wrench, spin

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
