"""Inverse dynamics of a tree by the recursive Newton-Euler algorithm (Luh, Walker and Paul 1980; Featherstone 2008).

Outwards: accelerations of the links, gravity as an acceleration of the ground. Inwards: force and torque that each
joint carries, and their part along its freedoms: f_λ += R f , n_λ += R n + d × R f , τ = Sᵀ n + Qᵀ f.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.tree.link_inertia import BodyInertia
from dalembert.mechanics.tree.link_tree import LinkTree, tree_function
from dalembert.mechanics.tree.links import Link, accelerate_links
from dalembert.mechanics.tree.spatial import Wrench

SX = ca.SX


@tree_function("inverse_dynamics", "q v a p t")
def build_inverse_dynamics(tree: LinkTree) -> list[Expr]:
    """τ (nv,) with M v̇ + h = τ."""
    found = inverse_dynamics(*tree.moving, tree.gravity, tree.a)
    found |= {k: x * tree.a[k] for k, x in tree.others}
    found |= {k: found[k] + x * tree.a[k] for k, x in tree.rotors.items()}
    for gear in tree.gears:
        moved = gear.inertia * (tree.a[gear.joint] + tree.a[gear.speed])
        found |= {k: found[k] + moved for k in (gear.joint, gear.speed)}
    return [tree.spread(found) + resist(tree)]


def resist(tree: LinkTree) -> Expr:
    """Elastic and damping efforts of flexible bodies and gears on all speeds."""
    own = (zip(inertia.columns, ca.vertsplit(inertia.resistance), strict=True) for inertia in tree.inertias)
    found = dict(entry for body in own for entry in body)
    found |= {g.speed: g.stiffness * g.stretch + g.damping * tree.v[g.speed] for g in tree.gears}
    return tree.spread(found)


def inverse_dynamics(
    links: Sequence[Link], inertias: Sequence[BodyInertia], gravity: Expr, rates: Expr | None = None
) -> dict[int, Expr]:
    """Generalized force on every speed (by its column) for derivatives of the speeds; zero when left out."""
    motions = accelerate_links(links, rates, gravity)
    carried: dict[int, Wrench] = {}
    result: dict[int, Expr] = {}
    for link, inertia in zip(links, inertias, strict=True):
        carried[id(link)], efforts = inertia.force(link, motions[id(link)], rates)
        add_efforts(result, inertia.columns, efforts)
    return pass_down(links, carried, result)


def pass_down(links: Sequence[Link], carried: dict[int, Wrench], efforts: dict[int, Expr]) -> dict[int, Expr]:
    """Efforts on the speeds of links by wrenches on them (by id), added to others by their column."""
    for link in reversed(links):
        wrench = carried[id(link)]
        add_efforts(efforts, link.columns, link.S.T @ wrench.n + link.Q.T @ wrench.f)
        if link.parent is not None:
            carried[id(link.parent)] = carried[id(link.parent)] + link.change.wrench_out(wrench)
    return efforts


def add_efforts(total: dict[int, Expr], columns: Sequence[int], efforts: Expr) -> None:
    """Add efforts by their column: several links may have the same speeds."""
    for k, column in enumerate(columns):
        total[column] = total[column] + efforts[k] if column in total else efforts[k]
