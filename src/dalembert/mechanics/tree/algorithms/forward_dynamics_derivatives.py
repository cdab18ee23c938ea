"""Derivatives of forward dynamics of a tree, by those of inverse dynamics (Carpentier and Mansard 2018).

τ(q, v, v̇(q, v, τ)) = τ for all q, v and τ. Therefore, at the accelerations that τ gives,

    ∂v̇/∂ξ = -M⁻¹ ∂τ/∂ξ ,      ∂v̇/∂v = -M⁻¹ ∂τ/∂v ,       ∂v̇/∂τ = M⁻¹ ,        v̇ = M⁻¹ (τ - h) .

M is factored once, in the order of the tree (`tree_factor`).
"""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.tree.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.mechanics.tree.algorithms.inverse_dynamics_derivatives import (
    LINEAR_MODELS,
    compose,
    differentiate,
    scalars_or_vectors,
)
from dalembert.mechanics.tree.derivatives.columns import Columns
from dalembert.mechanics.tree.derivatives.moving_links import MovingTree
from dalembert.mechanics.tree.derivatives.pair_products import order_speeds
from dalembert.mechanics.tree.derivatives.tree_factor import factor_mass
from dalembert.mechanics.tree.derivatives.world_motion import Symbols, at_symbols, rotors_at, turn_inertias, world_at
from dalembert.mechanics.tree.link_tree import LinkTree, tree_function


@tree_function("forward_dynamics_derivatives", "q v tau p t", matrix=True, instead=LINEAR_MODELS)
def build_forward_dynamics_derivatives(tree: LinkTree) -> list[Expr] | ca.Function:
    """∂v̇/∂ξ with dq = N dξ, ∂v̇/∂v and ∂v̇/∂τ = M⁻¹, (nv, nv) each."""
    return scalars_or_vectors(tree, "q v tau p t", derivatives_at)


def derivatives_at(tree: LinkTree, moving: MovingTree, at: Symbols) -> list[Expr]:
    world = world_at(tree, moving, at)
    links = turn_inertias(world)
    body = compose(moving, world, links)
    S = Columns.of(world.S)
    factor = factor_mass(moving, S.parts, body.momentum(S).parts, rotors_at(tree, moving, at))
    bias = inverse_dynamics(*tree.moving, tree.gravity)
    own = [ca.vertcat(*(bias[k] for k in moving.speeds))]
    rest = at["tau"][moving.speeds] - at_symbols(tree, "bias", own, at)[0][: len(moving.speeds)]
    found = differentiate(moving, world, links, body, factor.solve(rest))
    size = len(moving.speeds)
    unit = -ca.DM.eye(size)
    unit = ca.MX(ca.densify(unit)) if isinstance(rest, ca.MX) else ca.SX(unit)
    sides = ca.horzcat(found.differentiate_by_position(), found.differentiate_by_speed(), unit)
    solved = ca.horzsplit(factor.solve(sides, -1), size)
    others: list[list[tuple[int, Expr]]] = [[], [], [(k, 1 / x) for k, x in tree.others]]
    return [order_speeds(moving, tree.nv, x, y) for x, y in zip(solved, others, strict=True)]
