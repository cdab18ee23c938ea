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

import casadi as ca
import numpy as np

from dalembert.expressions import Expr
from dalembert.mechanics.joints.motion import RelativeMotion
from dalembert.mechanics.poses import Pose, Space, Twist
from dalembert.mechanics.tree.spatial import FrameChange, spin
from dalembert.model.orientation import quaternion_from_matrix

SX = ca.SX


@dataclass(frozen=True, eq=False)
class Link:
    """One body of a tree.

    name : of the body.  parent : the link that carries it; None for the ground.
    columns : its own speeds, w their values.
    E, offset : constant pose of the joint's frame on the parent, in the parent's link.
    far, place : axes and place of the joint's frame on the body, in body axes: the link's axes and origin.
    near_angle, far_angle : of both frames on their bodies, in the plane, with all their turns.
    """

    space: Space
    name: str
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
    def change(self) -> FrameChange:
        """From the frame of the parent to that of the link."""
        return FrameChange(self.space, self.R, self.d)

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
        turn, slide = self.S @ self.w, self.Q @ self.w
        if self.parent is None:
            return Twist(slide, turn)
        carried = self.change.twist_in(self.parent.velocity)
        return Twist(carried.v + slide, carried.w + turn)

    def accelerate(self, above: Twist, rates: Expr | None) -> Twist:
        """a and α from those of the parent and the derivatives of the link's own speeds (None: zero)."""
        space, motion = self.space, self.motion
        turn, slide = self.S @ self.w, self.Q @ self.w
        w_above = self.parent.velocity.w if self.parent else SX(space.turns, 1)
        carried = self.change.turn_in(w_above)
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

    # -- motion by every speed on the way to the root, one column each, world axes ------------------------------------
    @cached_property
    def _path_columns(self) -> list[int]:
        return [k for link in self.path for k in link.columns]

    @cached_property
    def all_columns(self) -> list[int]:
        """Each once, although several links may have the same speeds."""
        return list(dict.fromkeys(self._path_columns))

    @cached_property
    def _sum(self) -> Expr:
        """Matrix that adds up columns of the same speed; None where every speed occurs once."""
        path, columns = self._path_columns, self.all_columns
        if len(path) == len(columns):
            return None
        places = [columns.index(k) for k in path]
        return SX.triplet(list(range(len(path))), places, SX.ones(len(path)), len(path), len(columns))

    def _add_up(self, columns: Expr) -> Expr:
        return ca.sparsify(columns if self._sum is None else columns @ self._sum)

    def _along(self, name: str, own: Expr) -> Expr:
        before = [getattr(self.parent, name)] if self.parent else []
        return ca.sparsify(ca.horzcat(*before, own))

    @cached_property
    def world_turns(self) -> Expr:
        return self._add_up(self._world_turns)

    @cached_property
    def _world_turns(self) -> Expr:
        return self._along("_world_turns", self.S if self.space.planar else self.pose.R @ self.S)

    @cached_property
    def _world_slides(self) -> Expr:
        return self._along("_world_slides", self.pose.R @ self.Q)

    @cached_property
    def _origins(self) -> Expr:
        """Origins of the links that turn."""
        return self._along("_origins", ca.repmat(self.pose.r, 1, len(self.columns)))

    def move_point(self, r: Expr) -> Expr:
        """Velocity of the point of the link that is at r."""
        count = len(self._path_columns)
        if not count:
            return SX(self.space.dim, 0)
        w, arm = ca.vertsplit(self._world_turns), ca.vertsplit(ca.repmat(r, 1, count) - self._origins)
        if self.space.planar:
            moved = [-w[0] * arm[1], w[0] * arm[0]]
        else:
            moved = [w[i] * arm[j] - w[j] * arm[i] for i, j in ((1, 2), (2, 0), (0, 1))]
        return self._add_up(self._world_slides + ca.vertcat(*moved))

    @cached_property
    def quaternion(self) -> Expr:
        """Euler parameters of the link's axes in the world."""
        above = self.parent.quaternion if self.parent else SX(ca.DM([1.0, 0.0, 0.0, 0.0]))
        turned = right_product(euler_parameters_of(self.E)) @ above
        return ca.sparsify(right_product(self.motion.quaternion) @ turned)


def right_product(p: Expr) -> Expr:
    """Matrix with right_product(p) r = r p, the product of quaternions."""
    entries = ca.vertcat(p, -p)[[0, 1, 2, 3, 5, 0, 7, 2, 6, 3, 0, 5, 7, 6, 1, 0]]
    return ca.sparsify(SX(ca.reshape(entries, 4, 4)))


def euler_parameters_of(R: Expr) -> Expr:
    """Of a constant rotation; of one with parameters by the square roots of its trace."""
    if R.is_constant():
        return SX(ca.DM(list(quaternion_from_matrix(np.array(ca.DM(ca.densify(R)))))))
    w = 0.5 * ca.sqrt(1 + ca.trace(R))
    return ca.vertcat(w, (R[2, 1] - R[1, 2]) / (4 * w), (R[0, 2] - R[2, 0]) / (4 * w), (R[1, 0] - R[0, 1]) / (4 * w))


def accelerate_links(links: Sequence[Link], rates: Expr | None = None, gravity: Expr | None = None) -> dict[int, Twist]:
    """Accelerations of links (by id) at these derivatives of the speeds (None: zero); of the ground -gravity."""
    found: dict[int, Twist] = {}
    for link in links:
        space = link.space
        rest = Twist(SX(space.dim, 1) if gravity is None else -gravity, SX(space.turns, 1))
        own = None if rates is None or not link.columns else rates[list(link.columns)]
        found[id(link)] = link.accelerate(found[id(link.parent)] if link.parent else rest, own)
    return found
