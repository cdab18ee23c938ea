"""Efforts that keep a tree at rest against gravity, from the weight of everything beyond each joint.

With mass m and first moment h of a link and all beyond it, f = -m g and n = h × (-g) in the axes of the link.
"""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.tree.link_tree import LinkTree, tree_function

SX = ca.SX


@tree_function("gravity", "q p t")
def build_gravity(tree: LinkTree) -> list[Expr]:
    """g (nv,) with M v̇ + C v + g = τ."""
    upwards: dict[int, Expr] = {}
    for link in tree.links:
        upwards[id(link)] = ca.sparsify(link.R.T @ (upwards[id(link.parent)] if link.parent else -tree.gravity))
    mass = {id(link): inertia.mass for link, inertia in zip(tree.links, tree.inertias, strict=True)}
    moment = {id(link): inertia.moment for link, inertia in zip(tree.links, tree.inertias, strict=True)}
    found: dict[int, Expr] = {}
    for link in reversed(tree.links):
        m, h, up = mass[id(link)], moment[id(link)], upwards[id(link)]
        effort = link.S.T @ tree.space.turn_about(h, up) + link.Q.T @ (m * up)
        found |= {column: effort[k] for k, column in enumerate(link.columns)}
        if link.parent is not None:
            mass[id(link.parent)] += m
            moment[id(link.parent)] += link.R @ h + m * link.d
    return [tree.spread(found)]
