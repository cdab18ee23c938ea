"""Static shapes B(q) of the slaves of a linkage in the graph, with as much of the elimination in numbers as there is.

Slaves of one link alone, in the axes of the link, are eliminated once and for all:

    K̂ = K_bb - K_bl K_ll⁻¹ K_lb ,   u_l = -K_ll⁻¹ K_lb u_b

over its boundary b of masters and nodes shared with other links. At every pose the K̂ of all links, turned into the
world, leave a small system for the shared slaves.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.linkages.motion import LinkagePose
from dalembert.linkages.reduction.interior_basis import PoseMatrices

SX: Any = ca.SX


def static_shapes(pose: LinkagePose, matrices: PoseMatrices, G: Any) -> Any:
    """B (s, m) at the pose."""
    linkage = matrices.linkage
    if linkage.elastic.guides or linkage.dependent:
        G_link = pose.to_links(G)
        K = ca.sparsify(G_link.T @ pose.matrix("K") @ G_link)
        return -_solve(K[matrices.slaves, matrices.slaves], K[matrices.slaves, matrices.masters])
    place = {column: k for k, column in enumerate(linkage.free)}
    entries = [place.get(column, -1) for column in linkage.elastic.columns]
    K = SX(matrices.n, matrices.n)
    parts, first = [], 0
    for link, axes in zip(linkage.links, pose.axes, strict=True):
        own = entries[first : first + 3 * len(link.points)]
        first += len(own)
        inner = _inner(own, entries, set(matrices.masters))
        outer = [k for k in range(len(own)) if k not in inner]
        turn = _turning(own, matrices.n, axes)
        follow = np.zeros((len(inner), len(outer)))
        if inner:
            follow[:] = -np.linalg.solve(link.K[np.ix_(inner, inner)], link.K[np.ix_(inner, outer)])
            parts.append((inner, follow, turn, outer))
        condensed = link.K[np.ix_(outer, outer)] + link.K[np.ix_(outer, inner)] @ follow
        K += turn[outer, :].T @ ca.sparsify(SX(ca.DM(condensed))) @ turn[outer, :]
    within = {k for inner, _, turn, _ in parts for k in turn[inner, :].sparsity().get_col()}
    shared = [k for k in matrices.slaves if k not in within]
    U = SX(matrices.n, len(matrices.masters))
    for k, row in enumerate(matrices.masters):
        U[row, k] = 1.0
    if shared:
        U[shared, :] = -_solve(ca.sparsify(K[shared, shared]), K[shared, matrices.masters])
    B = SX(U)
    for inner, follow, turn, outer in parts:
        B += turn[inner, :].T @ (ca.DM(follow) @ (turn[outer, :] @ U))
    return B[matrices.slaves, :]


def _inner(own: list[int], entries: list[int], masters: set[int]) -> list[int]:
    """Displacements of a link that are slaves and its alone; translations of a node go together."""

    def alone(k: int) -> bool:
        return own[k] >= 0 and own[k] not in masters and entries.count(own[k]) == 1

    inner: list[int] = []
    for node in range(0, len(own), 3):
        inner += [node, node + 1] if alone(node) and alone(node + 1) else []
        inner += [node + 2] if alone(node + 2) else []
    return inner


def _turning(own: list[int], count: int, axes: tuple[Any, Any]) -> Any:
    """(3n, count) displacements of a link in its axes from the free ones."""
    c, s = axes
    turn = SX(len(own), count)
    for k, entry in enumerate(own):
        way = k % 3
        if entry < 0:
            continue
        if way == 2:
            turn[k, entry] = 1.0
        else:
            turn[k - way, entry], turn[k - way + 1, entry] = (c, -s) if way == 0 else (s, c)
    return turn


def _solve(K: Any, right: Any) -> Any:
    """K⁻¹ right by a sparse factor of a symmetric matrix, in the graph."""
    D, L, order = ca.ldl(K)
    return ca.ldl_solve(right, D, L, order)
