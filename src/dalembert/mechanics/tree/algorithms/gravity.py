"""Efforts that keep a tree at rest against gravity, from the weight of everything beyond each joint.

With mass m and first moment h of a link and all beyond it, f = -m g and n = h × (-g) in the axes of the link, and
-(∂h/∂η)ᵀ g on elastic coordinates.
"""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.tree.algorithms.inverse_dynamics import add_efforts
from dalembert.mechanics.tree.link_tree import LinkTree, tree_function

SX = ca.SX


@tree_function("gravity", "q p t")
def build_gravity(tree: LinkTree) -> list[Expr]:
    """g (nv,) with M v̇ + C v + g = τ."""
    upwards: dict[int, Expr] = {}
    for link in tree.links:
        upwards[id(link)] = ca.sparsify(link.R.T @ (upwards[id(link.parent)] if link.parent else -tree.gravity))
    found: dict[int, Expr] = {}
    mass, moment = {}, {}
    for link, inertia in zip(tree.links, tree.inertias, strict=True):
        moment[id(link)], along = inertia.weight_moment
        mass[id(link)] = inertia.spatial.mass
        add_efforts(found, inertia.columns, along.T @ upwards[id(link)])
    for link in reversed(tree.links):
        m, h, up = mass[id(link)], moment[id(link)], upwards[id(link)]
        add_efforts(found, link.columns, link.S.T @ tree.space.turn_about(h, up) + link.Q.T @ (m * up))
        if link.parent is not None:
            mass[id(link.parent)] += m
            moment[id(link.parent)] += link.R @ h + m * link.d
    return [tree.spread(found)]
