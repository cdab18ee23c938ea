"""Efforts on the speeds by forces and moments at places on bodies: Jᵀ (f, n), by a recursion from leaves to root."""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.tree.algorithms.forward_kinematics import place_in_world
from dalembert.mechanics.tree.algorithms.inverse_dynamics import pass_down
from dalembert.mechanics.tree.link_tree import WRENCH, LinkTree, tree_function
from dalembert.mechanics.tree.spatial import FrameChange, Wrench

SX = ca.SX


@tree_function("wrench_efforts", "q wrench p t")
def build_wrench_efforts(tree: LinkTree, *places: Any) -> list[Expr]:
    """Sum over places of forces and moments about them, both in world axes."""
    space, given = tree.space, tree.symbol(WRENCH, len(places))
    carried = {id(link): Wrench(SX(space.dim, 1), SX(space.turns, 1)) for link in tree.links}
    for k, place in enumerate(places):
        frame = tree.frame(place)
        if frame.link is None:
            continue
        world, own = place_in_world(tree, frame), given[space.nv * k : space.nv * (k + 1)]
        turned = FrameChange(space, world.R, world.r)
        local = Wrench(world.R.T @ own[: space.dim], turned.turn_in(own[space.dim :]))
        on_link = FrameChange(space, frame.axes, frame.place).wrench_out(local)
        carried[id(frame.link)] = carried[id(frame.link)] + on_link
    return [tree.spread(pass_down(tree.links, carried, {}))]
