"""Inverse dynamics of a tree by the recursive Newton-Euler algorithm (Luh, Walker and Paul 1980; Featherstone 2008).

Outwards: accelerations of the links, gravity as an acceleration of the ground. Inwards: force and torque that each
joint carries, and their part along its freedoms:

    F = m (a + α × c + ω × (ω × c)) ,     N = I α + ω × I₀ ω + c × F ,
    f_λ += R f ,     n_λ += R n + d × R f ,         τ = Sᵀ n + Qᵀ f
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.poses import Twist
from dalembert.mechanics.tree.links import Link, spin
from dalembert.mechanics.tree.mass import LinkInertia

SX = ca.SX


def inverse_dynamics(
    links: Sequence[Link], inertias: Sequence[LinkInertia], gravity: Expr, rates: Expr | None = None
) -> dict[int, Expr]:
    """Generalized force on every speed (by its column) for derivatives of the speeds; zero when left out."""
    found: dict[int, Twist] = {}
    carried: dict[int, list[Expr]] = {}
    for link, inertia in zip(links, inertias, strict=True):
        space = link.space
        above = found[id(link.parent)] if link.parent else Twist(-gravity, SX(space.turns, 1))
        own = None if rates is None or not link.columns else rates[list(link.columns)]
        found[id(link)] = motion = link.accelerate(above, own)
        w, c = link.velocity.w, link.centre
        F = inertia.mass * (motion.v + spin(space, motion.w, c) + spin(space, w, spin(space, w, c)))
        N = inertia.inertia @ motion.w + space.turn_about(c, F)
        if not space.planar:
            N = N + ca.cross(w, inertia.gyroscopic @ w)
        carried[id(link)] = [F, N]
    result: dict[int, Expr] = {}
    for link in reversed(links):
        space = link.space
        f, n = carried[id(link)]
        effort = link.S.T @ n + link.Q.T @ f
        result |= {column: effort[k] for k, column in enumerate(link.columns)}
        if link.parent is not None:
            below = carried[id(link.parent)]
            f = link.R @ f
            below[0] = below[0] + f
            below[1] = below[1] + (n if space.planar else link.R @ n) + space.turn_about(link.d, f)
    return result
