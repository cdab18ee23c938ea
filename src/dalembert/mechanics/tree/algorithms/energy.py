"""Kinetic energy of the links from their twists, ½ m v_c² + ½ ωᵀ I ω; potential energy of weights and deformations."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.tree.link_inertia import BodyInertia
from dalembert.mechanics.tree.link_tree import LinkTree, tree_function
from dalembert.mechanics.tree.links import Link

SX = ca.SX


@tree_function("energy", "q v p t")
def build_energy(tree: LinkTree) -> list[Expr]:
    """Kinetic and potential energy."""
    kinetic = tree_energy(tree.links, tree.inertias) + sum(
        0.5 * x * tree.v[k] ** 2 for k, x in (*tree.others, *tree.rotors.items())
    )
    kinetic = kinetic + sum(gear.kinetic_energy(tree.v) for gear in tree.gears)
    stored = sum((inertia.stored_energy for inertia in tree.inertias), SX(0))
    stored = stored + sum(0.5 * gear.stiffness * gear.stretch**2 for gear in tree.gears)
    return [kinetic, potential_energy(tree.links, tree.inertias, tree.gravity) + stored]


def tree_energy(links: Sequence[Link], inertias: Sequence[BodyInertia]) -> Expr:
    """Kinetic energy."""
    return sum((inertia.kinetic_energy(link) for link, inertia in zip(links, inertias, strict=True)), SX(0))


def potential_energy(links: Sequence[Link], inertias: Sequence[BodyInertia], gravity: Expr) -> Expr:
    """Of the weights; zero with every centre of mass at the origin of the world."""
    weights = (
        ca.dot(gravity, inertia.spatial.mass * link.pose.r + link.pose.R @ inertia.weight_moment[0])
        for link, inertia in zip(links, inertias, strict=True)
    )
    return -sum(weights, SX(0))
