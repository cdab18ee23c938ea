"""Accelerations of a tree by articulated bodies: M⁻¹ x in a number of operations linear in the number of joints.

A link and everything beyond it, with its outer joints free to follow, resists an acceleration (α, a) of the link's
origin with the articulated inertia (Featherstone 2008, ch. 7)

    n = A α + B a + n₀ ,      f = Bᵀ α + C a + f₀ .

With T = [S; Q] of the joint, U = I T, D = Tᵀ U and u = x - Tᵀ (n₀, f₀) the joint hands on I - U D⁻¹ Uᵀ and
(n₀, f₀) + U D⁻¹ u. Moved by d to the parent's origin, with X y = d × y: A + B Xᵀ + X Bᵀ + X C Xᵀ, B + X C, C.
Velocities do not occur: their forces are part of x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.poses import Space
from dalembert.mechanics.rotations import skew
from dalembert.mechanics.tree.links import Link
from dalembert.mechanics.tree.mass import LinkInertia

SX = ca.SX
LARGEST_INVERSE = 3  # freedoms of a joint whose D is inverted by minors; a free body's is factored


@dataclass
class Resistance:
    """Articulated inertia and the force at rest, of one link in its own axes."""

    A: Expr
    B: Expr
    C: Expr
    n: Expr
    f: Expr


def cross_matrix(space: Space, d: Expr) -> Expr:
    """X with X y = d × y: a row in the plane."""
    return ca.sparsify(ca.horzcat(-d[1], d[0]) if space.planar else skew(d))


def divide(D: Expr) -> Callable[[Expr], Expr]:
    """From y to D⁻¹ y for the small symmetric matrix of a joint."""
    if D.shape[0] == 1:
        return lambda y: y / D
    if D.shape[0] <= LARGEST_INVERSE:
        inverse = ca.inv(ca.densify(D))
        return lambda y: inverse @ y
    factor = ca.ldl(D)
    return lambda y: ca.ldl_solve(ca.densify(y), *factor)


def solve_mass(links: Sequence[Link], inertias: Sequence[LinkInertia], x: Expr) -> dict[int, Expr]:
    """M⁻¹ x of the links' speeds, by column."""
    own: dict[int, Resistance] = {}
    for link, inertia in zip(links, inertias, strict=True):
        space = link.space
        own[id(link)] = Resistance(
            SX(inertia.about_origin), cross_matrix(space, inertia.moment), inertia.mass * SX.eye(space.dim),
            SX(space.turns, 1), SX(space.dim, 1),
        )  # fmt: skip
    joints: dict[int, tuple[Expr, Expr, Callable[[Expr], Expr], Expr]] = {}
    for link in reversed(links):
        space, at = link.space, own[id(link)]
        A, B, C, n, f = at.A, at.B, at.C, at.n, at.f
        if link.columns:
            U = ca.sparsify(A @ link.S + B @ link.Q)
            W = ca.sparsify(B.T @ link.S + C @ link.Q)
            solve = divide(ca.sparsify(link.S.T @ U + link.Q.T @ W))
            u = x[list(link.columns)] - link.S.T @ n - link.Q.T @ f
            joints[id(link)] = (U, W, solve, u)
            if link.parent is not None:
                turned, moved, effort = solve(U.T), solve(W.T), solve(u)
                A, B, C = _symmetric(A - U @ turned), B - U @ moved, _symmetric(C - W @ moved)
                n, f = n + U @ effort, f + W @ effort
        if link.parent is not None:
            R, X = link.R, cross_matrix(space, link.d)
            above = own[id(link.parent)]
            if space.planar:
                B, C, f = B @ R.T, R @ C @ R.T, R @ f
            else:
                A, B, C, n, f = _symmetric(R @ A @ R.T), R @ B @ R.T, R @ C @ R.T, R @ n, R @ f
            C = _symmetric(C)
            shifted = X @ C
            above.A = above.A + _symmetric(A + B @ X.T + X @ B.T + shifted @ X.T)
            above.B, above.C = above.B + B + shifted, above.C + C
            above.n, above.f = above.n + n + X @ f, above.f + f
    result: dict[int, Expr] = {}
    motion: dict[int, tuple[Expr, Expr]] = {}
    for link in links:
        space = link.space
        alpha, a = SX(space.turns, 1), SX(space.dim, 1)
        if link.parent is not None:
            alpha, a = motion[id(link.parent)]
            a = link.R.T @ (a + cross_matrix(space, link.d).T @ alpha)
            alpha = alpha if space.planar else link.R.T @ alpha
        if link.columns:
            U, W, solve, u = joints[id(link)]
            rates = solve(u - U.T @ alpha - W.T @ a)
            result |= {column: rates[k] for k, column in enumerate(link.columns)}
            alpha, a = alpha + link.S @ rates, a + link.Q @ rates
        motion[id(link)] = (alpha, a)
    return result


def _symmetric(J: Expr) -> Expr:
    return J if J.shape == (1, 1) else ca.sparsify(ca.triu2symm(ca.triu(J)))
