"""Momentum of a tree about its centre of mass, in world axes (Orin, Goswami and Lee 2013).

The momentum of everything beyond a joint, moved by a unit of its speed, makes a column of the centroidal momentum
matrix A: (linear momentum, angular momentum about the centre of mass) = A v. The velocity of the centre of mass is the
linear part over the mass. Bodies that no speed moves (welded to the ground) do not count. Elastic speeds of a flexible
body have the momentum of their coupling besides.
"""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.tree.link_inertia import BodyInertia
from dalembert.mechanics.tree.link_tree import LinkTree, tree_function
from dalembert.mechanics.tree.links import Link
from dalembert.mechanics.tree.spatial import FrameChange, Wrench
from dalembert.mechanics.tree.world_columns import composite_inertias, world_links

SX = ca.SX


@tree_function("total_mass", "p t")
def build_total_mass(tree: LinkTree) -> list[Expr]:
    """Of all links."""
    return [_mass(tree)]


@tree_function("center_of_mass", "q p t")
def build_center_of_mass(tree: LinkTree) -> list[Expr]:
    """World coordinates."""
    return [_center(tree)]


@tree_function("center_of_mass_jacobian", "q p t", matrix=True)
def build_center_of_mass_jacobian(tree: LinkTree) -> list[Expr]:
    """(dim, nv)."""
    return [centroidal_momentum_matrix(tree)[: tree.space.dim, :] / _mass(tree)]


@tree_function("centroidal_momentum_matrix", "q p t", matrix=True)
def build_centroidal_momentum_matrix(tree: LinkTree) -> list[Expr]:
    """A (dim + turns, nv)."""
    return [centroidal_momentum_matrix(tree)]


@tree_function("centroidal_momentum", "q v p t")
def build_centroidal_momentum(tree: LinkTree) -> list[Expr]:
    """A v by the twists of the bodies, (dim + turns,)."""
    space, center = tree.space, _center(tree)
    found = Wrench(SX(space.dim, 1), SX(space.turns, 1))
    for link, own in _select_moving(tree):
        momentum = own.spatial.momentum(space, link.velocity)
        if own.columns:
            rates = tree.v[list(own.columns)]
            momentum = momentum + Wrench(own.coupling.f @ rates, own.coupling.n @ rates)
        found = found + FrameChange(space, link.pose.R, link.pose.r - center).wrench_out(momentum)
    return [ca.vertcat(found.f, found.n)]


@tree_function("centroidal_momentum_matrix_rate", "q v p t", matrix=True)
def build_centroidal_momentum_matrix_rate(tree: LinkTree) -> list[Expr]:
    """Ȧ (dim + turns, nv)."""
    return [tree.rate(centroidal_momentum_matrix(tree))]


def _select_moving(tree: LinkTree) -> list[tuple[Link, BodyInertia]]:
    pairs = zip(tree.links, tree.inertias, strict=True)
    return [(link, own) for link, own in pairs if link.all_columns or own.columns]


def _mass(tree: LinkTree) -> Expr:
    return sum((own.spatial.mass for _, own in _select_moving(tree)), SX(0))


def _center(tree: LinkTree) -> Expr:
    sums = (own.spatial.mass * link.pose.r + link.pose.R @ own.weight_moment[0] for link, own in _select_moving(tree))
    return sum(sums, SX(tree.space.dim, 1)) / _mass(tree)


def centroidal_momentum_matrix(tree: LinkTree) -> Expr:
    space, links, center = tree.space, world_links(tree), _center(tree)
    found = SX(space.dim + space.turns, tree.nv)
    for one, inertia in zip(links, composite_inertias(links), strict=True):
        arm = one.link.path[0].pose.r - center
        elastic = one.change.wrench_out(one.body.coupling)
        for columns, momentum in ((one.link.columns, inertia.momentum(space, one.own)), (one.body.columns, elastic)):
            for k, column in enumerate(columns):
                f = momentum.f[:, k]
                found[:, column] += ca.vertcat(f, momentum.n[:, k] + space.turn_about(arm, f))
    return ca.sparsify(found)
