"""Accelerations of a tree by articulated bodies: M⁻¹ (τ - h) in a number of operations linear in the number of joints.

A link and everything beyond it, with its outer joints free to follow, resists an acceleration (α, a) of the link's
origin with the articulated inertia (Featherstone 2008, ch. 7)

    n = A α + B a + n₀ ,      f = Bᵀ α + C a + f₀ .

With T = [S; Q] of the joint, U = I T, D = Tᵀ U and u = x - Tᵀ (n₀, f₀) the joint transmits I - U D⁻¹ Uᵀ and
(n₀, f₀) + U D⁻¹ u. Moved by d to the parent's origin, with X y = d × y: A + B Xᵀ + X Bᵀ + X C Xᵀ, B + X C, C.
Velocities do not occur: h(q, v) comes from the inverse dynamics at v̇ = 0 and is part of x. Velocities inside this
recursion would cost the product of the articulated inertia with their accelerations at every joint: chains of 7 and 50
hinges take 1358 and 14058 operations that way, 1282 and 13674 this way. Elastic speeds occur on several links of a
body, which are no articulated bodies: trees with flexible bodies factor M, as short ones do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.poses import Twist
from dalembert.mechanics.tree.algorithms.inverse_dynamics import inverse_dynamics, resist
from dalembert.mechanics.tree.algorithms.mass_matrix import build_mass_matrix
from dalembert.mechanics.tree.link_inertia import BodyInertia
from dalembert.mechanics.tree.link_tree import LinkTree, tree_function
from dalembert.mechanics.tree.links import Link
from dalembert.mechanics.tree.spatial import cross_matrix, symmetric

SX = ca.SX
# Fewest speeds for which articulated bodies need fewer operations than composite bodies and a factor of M: chains of
# 9, 10 and 12 hinges in space need 1156, 1354, 1736 against 1050, 1425, 2039.
SHORTER_THAN_FACTOR = 10
LARGEST_INVERSE = 3  # most freedoms of a joint whose D is inverted by minors; D of a free body is factored


@tree_function("forward_dynamics", "q v tau p t")
def build_forward_dynamics(tree: LinkTree) -> list[Expr]:
    """v̇ (nv,) under efforts τ."""
    bias = inverse_dynamics(*tree.moving, tree.gravity)
    rest = tree.tau - tree.spread(bias) - resist(tree)
    if tree.nv < SHORTER_THAN_FACTOR or tree.flexible or tree.gears:
        (M,) = build_mass_matrix(tree)
        return [solve_in_order(M, rest, tree.links, tree.inertias)]
    found = solve_mass(*tree.moving, rest, tree.rotors)
    found |= {k: tree.tau[k] / x for k, x in tree.others}
    return [tree.spread(found)]


def solve_in_order(M: Expr, x: Expr, links: Sequence[Link], inertias: Sequence[BodyInertia]) -> Expr:
    """M⁻¹ x with leaves first: the factor fills nothing in."""
    own = [k for link, inertia in zip(links, inertias, strict=True) for k in (*link.columns, *inertia.columns)]
    order = list(reversed(dict.fromkeys((*own, *range(x.shape[0])))))
    back = [order.index(k) for k in range(len(order))]
    return ca.ldl_solve(ca.densify(x[order]), *ca.ldl(M[order, order]))[back]


@dataclass
class Resistance:
    """Articulated inertia and the force at rest, of one link in its own axes."""

    A: Expr
    B: Expr
    C: Expr
    n: Expr
    f: Expr


def divide(D: Expr) -> Callable[[Expr], Expr]:
    """From y to D⁻¹ y for the small symmetric matrix of a joint."""
    if D.shape[0] == 1:
        return lambda y: y / D
    if D.shape[0] <= LARGEST_INVERSE:
        inverse = ca.inv(ca.densify(D))
        return lambda y: inverse @ y
    factor = ca.ldl(D)
    return lambda y: ca.ldl_solve(ca.densify(y), *factor)


def solve_mass(
    links: Sequence[Link], inertias: Sequence[BodyInertia], x: Expr, rotors: Mapping[int, Expr]
) -> dict[int, Expr]:
    """M⁻¹ x of the links' speeds, by column.  rotors : additional inertia of speeds, part of D."""
    own: dict[int, Resistance] = {}
    for link, inertia in zip(links, inertias, strict=True):
        space, spatial = link.space, inertia.spatial
        own[id(link)] = Resistance(
            SX(spatial.inertia), cross_matrix(space, spatial.moment), spatial.mass * SX.eye(space.dim),
            SX(space.turns, 1), SX(space.dim, 1),
        )  # fmt: skip
    joints: dict[int, tuple[Expr, Expr, Callable[[Expr], Expr], Expr]] = {}
    for link in reversed(links):
        space, at = link.space, own[id(link)]
        A, B, C, n, f = at.A, at.B, at.C, at.n, at.f
        if link.columns:
            U = ca.sparsify(A @ link.S + B @ link.Q)
            W = ca.sparsify(B.T @ link.S + C @ link.Q)
            D = link.S.T @ U + link.Q.T @ W
            for k, column in enumerate(link.columns):
                if column in rotors:
                    D[k, k] = D[k, k] + rotors[column]
            solve = divide(ca.sparsify(D))
            u = x[list(link.columns)] - link.S.T @ n - link.Q.T @ f
            joints[id(link)] = (U, W, solve, u)
            if link.parent is not None:
                turned, moved, effort = solve(U.T), solve(W.T), solve(u)
                A, B, C = symmetric(A - U @ turned), B - U @ moved, symmetric(C - W @ moved)
                n, f = n + U @ effort, f + W @ effort
        if link.parent is not None:
            R, X = link.R, cross_matrix(space, link.d)
            above = own[id(link.parent)]
            if space.planar:
                B, C, f = B @ R.T, R @ C @ R.T, R @ f
            else:
                A, B, C, n, f = symmetric(R @ A @ R.T), R @ B @ R.T, R @ C @ R.T, R @ n, R @ f
            C = symmetric(C)
            shifted = X @ C
            above.A = above.A + symmetric(A + B @ X.T + X @ B.T + shifted @ X.T)
            above.B, above.C = above.B + B + shifted, above.C + C
            above.n, above.f = above.n + n + X @ f, above.f + f
    result: dict[int, Expr] = {}
    motion: dict[int, Twist] = {}
    for link in links:
        space = link.space
        at_rest = Twist(SX(space.dim, 1), SX(space.turns, 1))
        found = at_rest if link.parent is None else link.change.twist_in(motion[id(link.parent)])
        if link.columns:
            U, W, solve, u = joints[id(link)]
            rates = solve(u - U.T @ found.w - W.T @ found.v)
            result |= {column: rates[k] for k, column in enumerate(link.columns)}
            found = Twist(found.v + link.Q @ rates, found.w + link.S @ rates)
        motion[id(link)] = found
    return result
