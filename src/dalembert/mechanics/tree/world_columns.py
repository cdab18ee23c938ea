"""Motion of links by single speeds, and composite inertias, in world axes about one point: the origin of their root.

Columns s = (V, W) are twists of unit speeds; everything beyond a joint moves with its columns. In axes that stand still
their derivatives and that of an inertia are (Featherstone 2008, ch. 2)

    ṡ = twist × s + R (Q', S')        with Q', S' the change of the joint's columns in the axes of the link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from dalembert.mechanics.poses import Twist
from dalembert.mechanics.tree.link_inertia import BodyInertia
from dalembert.mechanics.tree.link_tree import LinkTree
from dalembert.mechanics.tree.links import Link
from dalembert.mechanics.tree.spatial import FrameChange, SpatialInertia, cross_twist


@dataclass(frozen=True, eq=False)
class WorldLink:
    """One link in world axes about the origin of its root.  above : the link that carries it."""

    tree: LinkTree
    link: Link
    body: BodyInertia
    above: WorldLink | None

    @cached_property
    def change(self) -> FrameChange:
        """From the point of reference to the link."""
        pose = self.link.pose
        return FrameChange(self.link.space, pose.R, ca.sparsify(pose.r - self.link.path[0].pose.r))

    @cached_property
    def own(self) -> Twist:
        """Columns of the link's own speeds."""
        return self.change.twist_out(Twist(self.link.Q, self.link.S))

    @cached_property
    def twist(self) -> Twist:
        return self.change.twist_out(self.link.velocity)

    @cached_property
    def own_rate(self) -> Twist:
        """Their derivatives in time."""
        link, tree = self.link, self.tree
        carried = cross_twist(link.space, self.twist, self.own)
        changed = self.change.twist_out(Twist(tree.rate(link.Q), tree.rate(link.S)))
        return Twist(ca.sparsify(carried.v + changed.v), ca.sparsify(carried.w + changed.w))

    @cached_property
    def path(self) -> Twist:
        """Columns of all speeds from the root to this link."""
        return self._along("path", self.own)

    @cached_property
    def path_rate(self) -> Twist:
        return self._along("path_rate", self.own_rate)

    def _along(self, name: str, own: Twist) -> Twist:
        if self.above is None:
            return own
        before: Twist = getattr(self.above, name)
        return Twist(ca.horzcat(before.v, own.v), ca.horzcat(before.w, own.w))

    @cached_property
    def inertia(self) -> SpatialInertia:
        """Of the body."""
        return self.change.inertia_out(self.body.spatial)


def world_links(tree: LinkTree) -> list[WorldLink]:
    """All links, parents first."""
    found: dict[int, WorldLink] = {}
    for link, inertia in zip(tree.links, tree.inertias, strict=True):
        above = None if link.parent is None else found[id(link.parent)]
        found[id(link)] = WorldLink(tree, link, inertia, above)
    return list(found.values())


def composite_inertias(links: Sequence[WorldLink]) -> list[SpatialInertia]:
    """Of every link with all links beyond it."""
    found = {id(one): one.inertia for one in links}
    for one in reversed(links):
        if one.above is not None:
            found[id(one.above)] = found[id(one.above)] + found[id(one)]
    return [found[id(one)] for one in links]
