"""Mass matrix of a tree by composite rigid bodies (Walker and Orin 1982; Featherstone 2008, ch. 6).

A link and all links beyond it, moved as one body by the joint of the link, have with mass m, first moment h = m c and
inertia J about the link's origin

    f = m v + ω × h ,      n = J ω + h × v ,        M_ij = S_jᵀ n + Q_jᵀ f     at every joint j on the way to the root
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.poses import Space
from dalembert.mechanics.tree.links import Link, LinkBody, spin

SX = ca.SX


@dataclass(frozen=True)
class LinkInertia:
    """Mass, first moment and inertia of a link, in its axes: about the centre of mass, and about its origin.

    gyroscopic : the inertia without what an idle spin gets so that it keeps its speed.
    """

    mass: Expr
    moment: Expr
    inertia: Expr
    gyroscopic: Expr
    about_origin: Expr


def parallel(space: Space, a: Expr, b: Expr) -> Expr:
    """a·b 1 - a bᵀ, the part of an inertia that goes with two distances; a·b in the plane."""
    return ca.dot(a, b) if space.planar else ca.dot(a, b) * SX.eye(3) - a @ b.T


def link_inertia(body: LinkBody) -> LinkInertia:
    link, space = body.link, body.link.space
    mass = SX(body.host.number(body.body.mass))
    block = body.rigid.mass_block()[space.dim :, space.dim :]
    inertia = link.turn_inertia(block)
    plain = inertia if space.planar else link.turn_inertia(body.rigid.inertia())
    c = link.centre
    return LinkInertia(mass, mass * c, inertia, plain, ca.sparsify(inertia + mass * parallel(space, c, c)))


def mass_blocks(links: Sequence[Link], inertias: Sequence[LinkInertia]) -> list[tuple[list[int], list[int], Expr]]:
    """Entries of the mass matrix: (rows, columns, block)."""
    composite = {id(k): [i.mass, i.moment, i.about_origin] for k, i in zip(links, inertias, strict=True)}
    blocks: list[tuple[list[int], list[int], Expr]] = []
    for link in reversed(links):
        space = link.space
        m, h, J = composite[id(link)]
        columns = list(link.columns)
        if columns:
            f, n = _momenta(link, m, h, J)
            at: Link = link
            while True:
                if at.columns:
                    block = ca.sparsify(at.S.T @ n + at.Q.T @ f)
                    blocks.append((list(at.columns), columns, block))
                    if at is not link:
                        blocks.append((columns, list(at.columns), block.T))
                if at.parent is None:
                    break
                f, n = at.R @ f, n if space.planar else at.R @ n
                n = n + _moments(space, at.d, f)
                at = at.parent
        if link.parent is not None:
            # J about the parent's origin: J + (d h' + h' d) + m d d, with h' = R h
            above, d = composite[id(link.parent)], link.d
            h = link.R @ h
            J = J if space.planar else _symmetric(link.R @ J @ link.R.T)
            J = J + parallel(space, d, h) + parallel(space, h, d) + m * parallel(space, d, d)
            composite[id(link.parent)] = [above[0] + m, above[1] + h + m * d, above[2] + ca.sparsify(J)]
    return blocks


def _momenta(link: Link, m: Expr, h: Expr, J: Expr) -> tuple[Expr, Expr]:
    """Linear and angular momentum of the composite body for a unit of each of the link's speeds."""
    space = link.space
    f, n = [], []
    for k in range(len(link.columns)):
        turn, slide = link.S[:, k], link.Q[:, k]
        f.append(m * slide + spin(space, turn, h))
        n.append(J @ turn + space.turn_about(h, slide))
    return ca.sparsify(ca.horzcat(*f)), ca.sparsify(ca.horzcat(*n))


def _moments(space: Space, d: Expr, f: Expr) -> Expr:
    return ca.horzcat(*(space.turn_about(d, f[:, k]) for k in range(f.shape[1])))


def _symmetric(J: Expr) -> Expr:
    return ca.triu2symm(ca.triu(J))
