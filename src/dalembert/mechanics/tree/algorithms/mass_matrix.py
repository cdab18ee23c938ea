"""Mass matrix of a tree by composite rigid bodies (Walker and Orin 1982; Featherstone 2008, ch. 6).

A link and all links beyond it, moved as one body by the joint of the link, have with mass m, first moment h = m c and
inertia J about the link's origin

    f = m v + ω × h ,      n = J ω + h × v ,        M_ij = S_jᵀ n + Q_jᵀ f     at every joint j on the way to the root
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.poses import Twist
from dalembert.mechanics.tree.link_inertia import BodyInertia
from dalembert.mechanics.tree.link_tree import LinkTree, tree_function
from dalembert.mechanics.tree.links import Link
from dalembert.mechanics.tree.spatial import Wrench

SX = ca.SX
Blocks = list[tuple[list[int], list[int], Expr]]  # rows, columns, values


@tree_function("mass_matrix", "q p t", matrix=True)
def build_mass_matrix(tree: LinkTree) -> list[Expr]:
    """M (nv, nv)."""
    blocks = mass_blocks(*tree.moving)
    alone = [([k], [k], x) for k, x in (*tree.others, *tree.rotors.items())]
    return [scatter(blocks + alone + [gear.block for gear in tree.gears], tree.nv)]


def scatter(blocks: Blocks, size: int) -> Expr:
    """The square matrix with these blocks; entries given several times add up."""
    entries: dict[tuple[int, int], Expr] = {}
    for where, across, block in blocks:
        block = ca.sparsify(SX(block))
        for i, j, x in zip(*block.sparsity().get_triplet(), block.nonzeros(), strict=True):
            key = (where[i], across[j])
            entries[key] = entries[key] + x if key in entries else x
    rows, columns = zip(*entries, strict=True) if entries else ((), ())
    return SX.triplet(rows, columns, ca.vertcat(*entries.values()) if entries else SX(0, 1), size, size)


def mass_blocks(links: Sequence[Link], inertias: Sequence[BodyInertia]) -> Blocks:
    """Entries of the mass matrix.

    Momenta of all speeds beyond a link are moved to its origin together, side by side.
    """
    composite = {id(link): inertia.spatial for link, inertia in zip(links, inertias, strict=True)}
    beyond: dict[int, list[tuple[list[int], Wrench]]] = {id(link): [] for link in links}
    blocks: Blocks = []
    for link, inertia in zip(links, inertias, strict=True):
        if inertia.columns:
            beyond[id(link)].append((list(inertia.columns), inertia.coupling))
            blocks.append((list(inertia.columns), list(inertia.columns), inertia.own))
    for link in reversed(links):
        own, parts = list(link.columns), beyond[id(link)]
        if own:
            momentum = composite[id(link)].momentum(link.space, Twist(link.Q, link.S))
            parts.append((own, momentum))
        if link.parent is not None:
            above = id(link.parent)
            composite[above] = composite[above] + link.change.inertia_out(composite[id(link)])
        if not parts:
            continue
        columns = [k for where, _ in parts for k in where]
        wrench = Wrench(*(ca.horzcat(*(getattr(x, key) for _, x in parts)) for key in ("f", "n")))
        if own:
            block = ca.sparsify(link.S.T @ wrench.n + link.Q.T @ wrench.f)
            others = len(columns) - len(own)
            blocks += [(own, columns, block), (columns[:others], own, block[:, :others].T)]
        if link.parent is not None:
            beyond[id(link.parent)].append((columns, link.change.wrench_out(wrench)))
    return blocks
