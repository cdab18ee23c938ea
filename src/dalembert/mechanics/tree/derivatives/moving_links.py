"""Links that move, in an order in which subtrees are contiguous, with second moments instead of inertias.

Second moments Σ = Σ m r rᵀ turn with the axes of a body as its inertia does, J = tr Σ 1 - Σ, and give the momenta of
`inverse_dynamics_derivatives` without further sums. A body that remains on a fixed joint (`fixed_links`) adds its
moments to those of the link that carries it: h + m' c ,  Σ + R Σ' Rᵀ + m' c cᵀ.
Speeds are numbered link by link, parents first and every subtree in one piece: `speeds` has their columns in the
machine. A mechanism in the plane is one in space whose bodies turn about z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.expressions import Expr
from dalembert.mechanics.tree.fixed_links import without_rounding_errors
from dalembert.mechanics.tree.link_inertia import BodyInertia, LinkInertia
from dalembert.mechanics.tree.links import Link

SX = ca.SX


@dataclass(frozen=True, eq=False)
class MovingLink:
    """A link with freedoms.  parent : number of the link that carries it; -1 for the ground.

    E, offset : pose of the joint's frame on the parent, in its axes.
    mass; first, second : moments about `centre`, a place on the link, in axes of the link.
    idle : inertia that keeps the speed of an idle spin and has no gyroscopic torque.
    """

    link: Link
    parent: int
    E: Expr
    offset: Expr
    mass: Expr
    centre: Expr
    first: Expr
    second: Expr
    idle: Expr


@dataclass
class _Held:
    """A `MovingLink` while it is built, with the bodies that are fixed to it.  above : its parent link."""

    link: Link
    above: _Held | None
    E: Expr
    offset: Expr
    mass: Expr
    centre: Expr
    first: Expr
    second: Expr
    idle: Expr

    def add(self, axes: Expr, place: Expr, body: BodyMoments) -> None:
        """Another body, with its axes and its origin on this link."""
        self.shift(-self.centre)  # about the origin, where moments add up
        self.second = self.second + axes @ body.second @ axes.T
        self.idle = self.idle + axes @ body.idle @ axes.T
        c = place + axes @ body.centre
        self.mass, self.first = self.mass + body.mass, self.first + body.mass * c
        self.second = self.second + body.mass * (c @ c.T)

    def shift(self, d: Expr) -> None:
        """To moments about a point further by d: h - m d,  Σ - d hᵀ - h dᵀ + m d dᵀ."""
        across = d @ self.first.T
        self.second = without_rounding_errors(self.second - across - across.T + self.mass * (d @ d.T))
        self.first, self.centre = (
            without_rounding_errors(self.first - self.mass * d),
            without_rounding_errors(self.centre + d),
        )


@dataclass(frozen=True)
class BodyMoments:
    """Of a body: mass, place of its centre of mass, second moments about it, idle inertia."""

    mass: Expr
    centre: Expr
    second: Expr
    idle: Expr


@dataclass(frozen=True, eq=False)
class MovingTree:
    """All moving links of a tree, every subtree in one piece."""

    links: Sequence[MovingLink]

    @cached_property
    def speeds(self) -> list[int]:
        """Column in the machine of every speed."""
        return [column for link in self.links for column in link.link.columns]

    @cached_property
    def first_speed(self) -> list[int]:
        """Number of the first speed of every link, and the number of all."""
        return [0, *accumulate(len(link.link.columns) for link in self.links)]

    @cached_property
    def link_of(self) -> list[int]:
        """Link of every speed."""
        return [k for k, one in enumerate(self.links) for _ in one.link.columns]

    @cached_property
    def end(self) -> list[int]:
        """Number after the last speed of the subtree of every link."""
        last = list(self.first_speed[1:])
        for k in reversed(range(len(self.links))):
            if self.links[k].parent >= 0:
                last[self.links[k].parent] = max(last[self.links[k].parent], last[k])
        return last

    @cached_property
    def paths(self) -> list[list[int]]:
        """Speeds from the root to every speed, itself the last; those of a link follow each other."""
        paths: list[list[int]] = []
        for k, own in enumerate(self.links):
            first, stop = self.first_speed[k : k + 2]
            before = paths[self.first_speed[own.parent + 1] - 1] if own.parent >= 0 else []
            paths += [[*before, *range(first, j + 1)] for j in range(first, stop)]
        return paths

    @cached_property
    def depth(self) -> list[int]:
        """Number of speeds before every speed on its way."""
        return [len(path) - 1 for path in self.paths]

    @cached_property
    def runs(self) -> list[list[tuple[int, int]]]:
        """Speeds of all links on the way from the root to every link, without its own: first and end of each run."""
        runs: list[list[tuple[int, int]]] = []
        for link in self.links:
            if link.parent < 0:
                runs.append([])
                continue
            first, stop = self.first_speed[link.parent : link.parent + 2]
            before = list(runs[link.parent])
            if before and before[-1][1] == first:
                first = before.pop()[0]
            runs.append([*before, (first, stop)])
        return runs


def in_space(x: Expr, planar: bool) -> Expr:
    """A vector, a matrix of columns or a rotation of the plane in space; a turn (one row) is one about z."""
    if not planar:
        return x
    rows, columns = x.shape
    if rows == 1:
        return ca.vertcat(SX(2, columns), x)
    return ca.vertcat(x, SX(1, columns))


def turn_in_space(R: Expr, planar: bool) -> Expr:
    """A rotation of the plane as one about z."""
    return ca.diagcat(R, SX(1)) if planar else R


def gather_moving_links(links: Sequence[Link], inertias: Sequence[BodyInertia]) -> MovingTree:
    """Fixed links become part of their parent link; those on the ground do not move."""
    held: list[_Held] = []
    carrier: dict[int, tuple[_Held | None, Expr, Expr]] = {}  # of a link, with the pose on it
    none: tuple[None, Expr, Expr] = (None, SX.eye(3), SX(3, 1))
    for link, inertia in zip(links, inertias, strict=True):
        planar = link.space.planar
        above, axes, place = carrier[id(link.parent)] if link.parent is not None else none
        if not isinstance(inertia, LinkInertia):
            problem = f"derivatives of dynamics need rigid bodies; {link.name!r} has speeds of its own."
            raise ModelError("not-supported", problem, where={"body": link.name})
        body = _moments(link, inertia)
        if link.columns:
            E = without_rounding_errors(axes @ turn_in_space(link.E, planar))
            offset = without_rounding_errors(place + axes @ in_space(link.offset, planar))
            own = _Held(link, above, E, offset, body.mass, body.centre, SX(3, 1), body.second, body.idle)
            held.append(own)
            carrier[id(link)] = (own, SX.eye(3), SX(3, 1))
            continue
        place = without_rounding_errors(place + axes @ in_space(link.d, planar))
        axes = without_rounding_errors(axes @ turn_in_space(link.R, planar))
        carrier[id(link)] = (above, axes, place)
        if above is not None and not (body.mass.is_zero() and body.second.is_zero() and body.idle.is_zero()):
            above.add(axes, place, body)
    return MovingTree(_in_one_piece(held))


def _moments(link: Link, inertia: LinkInertia) -> BodyMoments:
    if link.space.planar:  # all second moments with the right sum give the right rotation about z
        half = SX(inertia.inertia) / 2
        return BodyMoments(inertia.mass, in_space(link.centre, True), ca.diagcat(half, half, SX(1, 1)), SX(3, 3))
    J = inertia.gyroscopic
    second = without_rounding_errors(ca.trace(J) / 2 * SX.eye(3) - J)
    return BodyMoments(inertia.mass, link.centre, second, without_rounding_errors(inertia.inertia - J))


def _in_one_piece(held: Sequence[_Held]) -> list[MovingLink]:
    """Order of the links, depth first: the descendants of a link follow it."""
    carried: dict[int, list[_Held]] = {}
    for one in held:
        carried.setdefault(id(one.above), []).append(one)
    made: list[MovingLink] = []
    waiting = [(one, -1) for one in reversed(carried.get(id(None), []))]
    while waiting:
        one, number = waiting.pop()
        waiting += [(next_one, len(made)) for next_one in reversed(carried.get(id(one), []))]
        made.append(
            MovingLink(one.link, number, one.E, one.offset, one.mass, one.centre, one.first, one.second, one.idle)
        )
    return made
