"""Coriolis matrix C(q, v) with Ṁ - 2 C skew-symmetric (Echeandia and Wensing 2021).

For one body with mass m, first moment h, inertia J, twist (u, ω) and linear momentum p = m u + ω × h, in fixed axes and
about a fixed point, the factor of its Coriolis forces with İ = B + Bᵀ is

    B = [0, -p×; 0, K] ,     K = ½ (ω× J - J ω× - (J ω)×) - h× u× .

With I and B of everything beyond joint j and a joint i on the way to the root

    C_ij = s_iᵀ (I ṡ_j + B s_j) ,      C_ji = s_jᵀ (I ṡ_i + B s_i) .
"""

from __future__ import annotations

import casadi as ca

from dalembert.core.findings import Advice, Call
from dalembert.expressions import Expr
from dalembert.mechanics.poses import Space, Twist
from dalembert.mechanics.rotations import skew
from dalembert.mechanics.tree.algorithms.mass_matrix import Blocks, scatter
from dalembert.mechanics.tree.link_tree import LinkTree, tree_function
from dalembert.mechanics.tree.spatial import SpatialInertia, cross_matrix
from dalembert.mechanics.tree.world_columns import composite_inertias, world_links

SX = ca.SX


BIAS = Advice("All efforts of a motion without accelerations come from {}.", Call("da.tree.inverse_dynamics"))


@tree_function("coriolis_matrix", "q v p t", matrix=True, instead=BIAS)
def build_coriolis_matrix(tree: LinkTree) -> list[Expr]:
    """C (nv, nv): M v̇ + C v + g = τ."""
    space, links = tree.space, world_links(tree)
    factors = {id(one): _factor(space, one.inertia, one.twist) for one in links}
    for one in reversed(links):
        if one.above is not None:
            mine, above = factors[id(one)], factors[id(one.above)]
            factors[id(one.above)] = (above[0] + mine[0], above[1] + mine[1])
    blocks: Blocks = []
    for one, inertia in zip(links, composite_inertias(links), strict=True):
        columns, path = list(one.link.columns), one.link.all_columns
        if not columns:
            continue
        p, K = factors[id(one)]
        P = cross_matrix(space, p)
        s, rate = one.own, inertia.momentum(space, one.own_rate)
        f, n = rate.f + P.T @ s.w, rate.n + K @ s.w  # ω × p = Pᵀ ω
        blocks.append((path, columns, one.path.v.T @ f + one.path.w.T @ n))
        if one.above is not None:
            momentum, turning = inertia.momentum(space, s), P @ s.v + K.T @ s.w
            moved, rates = one.above.path, one.above.path_rate
            block = momentum.f.T @ rates.v + momentum.n.T @ rates.w + turning.T @ moved.w
            blocks.append((columns, path[: -len(columns)], block))
    return [scatter(blocks, tree.nv)]


def _factor(space: Space, own: SpatialInertia, twist: Twist) -> tuple[Expr, Expr]:
    """p and K of one body."""
    momentum = own.momentum(space, twist).f
    if space.planar:
        return momentum, ca.dot(own.moment, twist.v)
    J, w = own.inertia, skew(twist.w)
    K = 0.5 * (w @ J - J @ w - skew(J @ twist.w)) - skew(own.moment) @ skew(twist.v)
    return momentum, ca.sparsify(K)
