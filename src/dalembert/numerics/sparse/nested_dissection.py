"""Nested dissection: an order of elimination in which a sparse symmetric matrix fills in little.

The graph of the matrix (unknowns that always appear together, such as the directions of one point, are one
vertex) is cut into two halves by a small separator; the halves are cut again, down to small leaves. Whatever
is eliminated in one half never touches the other, so a separator comes after both of its halves:

    order(G) = order(left), order(right), separator

On a solid of n points the factor then holds O(n^(4/3)) numbers instead of O(n^(5/3)) for a band order
(George 1973; Lipton, Rose and Tarjan 1979).

A cut needs no coordinates: distances from a few far-apart vertices place the graph in space, averaging over
neighbours makes that picture smooth, and the directions of least stretch (a Ritz step on the graph Laplacian) are the
candidates to cut across. The separator is the smallest vertex cover of the edges cut (König's theorem).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, connected_components, maximum_bipartite_matching

from dalembert.core.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Tree:
    """Elimination tree whose vertices are dense blocks of unknowns.

    Blocks are numbered so that children precede parents. ``order`` (n,) lists all unknowns block by block;
    block ``i`` owns positions ``starts[i]:starts[i + 1]`` of it, touches the later positions ``borders[i]``, and
    stands below ``parents[i]`` (-1: a root).
    """

    order: IntArray
    starts: IntArray
    parents: IntArray
    borders: tuple[IntArray, ...]

    @property
    def entries(self) -> int:
        """How many numbers the dense blocks of the factor hold."""
        own = np.diff(self.starts)
        return int(own @ (own + np.array([len(border) for border in self.borders], dtype=np.int64)))


class _Piece(NamedTuple):
    """Vertices still to be cut, the block above them, their picture and how many cuts it has served."""

    vertices: IntArray
    parent: int
    place: FloatArray | None
    age: int


def dissect(matrix: object, leaf: int = 96) -> Tree:
    """Cut the graph of a sparse symmetric matrix into the tree of its nested dissection.

    Parameters
    ----------
    matrix
        (n, n) sparse; only its pattern is read, made symmetric.
    leaf
        Pieces of at most this many unknowns are not cut further.
    """
    graph, group = _merge_twins(matrix)
    weights = np.bincount(group).astype(np.intp)
    blocks, parents = _cut(graph, weights, leaf)
    vertices = np.concatenate(_sort_blocks(graph, blocks))
    vertex_starts = np.concatenate([[0], np.cumsum([len(block) for block in blocks])]).astype(np.intp)
    borders = _vertex_borders(graph[vertices][:, vertices].tocsr(), vertex_starts, parents)
    members = np.argsort(group, kind="stable")
    first = np.concatenate([[0], np.cumsum(weights)]).astype(np.intp)
    ordered = weights[vertices]
    starts = np.concatenate([[0], np.cumsum(ordered)]).astype(np.intp)
    return Tree(
        order=members[_runs(first[vertices], ordered)],
        starts=starts[vertex_starts],
        parents=parents,
        borders=tuple(_runs(starts[border], ordered[border]) for border in borders),
    )


def _runs(starts: IntArray, lengths: IntArray) -> IntArray:
    """``start, start + 1, ...`` for every start, joined."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.repeat(starts - (ends - lengths), lengths) + np.arange(total), dtype=np.intp)


def _merge_twins(matrix: Any) -> tuple[Any, IntArray]:
    """Graph without loops in which unknowns with equal rows of the pattern are one vertex; vertex of every unknown.

    Rows are compared by a random fingerprint; two rows confused by chance would make a coarser graph, not a wrong one.
    """
    n = matrix.shape[0]
    csr = sp.csr_array(matrix)
    pattern = sp.csr_array((np.ones(csr.nnz), csr.indices, csr.indptr), shape=(n, n))
    pattern = (pattern + pattern.T + sp.eye_array(n)).tocsr()
    pattern.data[:] = 1.0
    fingerprint = pattern @ np.random.default_rng(1).random(n)
    keys = np.round(fingerprint / np.diff(pattern.indptr), 11)
    _, group = np.unique(keys, return_inverse=True)
    gather = sp.csr_array((np.ones(n), (group, np.arange(n))))
    graph = (gather @ pattern @ gather.T).tocoo()
    off = graph.row != graph.col
    ones = np.ones(int(off.sum()))
    return sp.csr_array((ones, (graph.row[off], graph.col[off])), shape=graph.shape), group.astype(np.intp)


def _cut(graph: Any, weights: IntArray, leaf: int, cuts: int = 3) -> tuple[list[IntArray], IntArray]:
    """Blocks of vertices, children first, and the parent of every block.

    cuts : in a row that use the same picture.
    """
    blocks: list[IntArray] = []
    parents: list[int] = []
    waiting = [_Piece(np.arange(graph.shape[0], dtype=np.intp), -1, None, 0)]
    while waiting:
        vertices, parent, place, age = waiting.pop()
        part = graph[vertices][:, vertices].tocsr()
        if len(vertices) > 2 and weights[vertices].sum() > leaf:
            count, label = connected_components(part, directed=False)
            if count > 1:
                large, small = _pieces(vertices, label, weights, leaf)
                waiting += [_Piece(piece, parent, None, 0) for piece in large]
                blocks += small
                parents += [parent] * len(small)
                continue
            if place is None or age >= cuts:
                place, age = _picture(part), 0
            side, separator = _bisect(part, weights[vertices], place)
            left, right = side & ~separator, ~side & ~separator
            if left.any() and right.any():
                waiting += [_Piece(vertices[half], len(blocks), place[half], age + 1) for half in (left, right)]
                vertices = vertices[separator]
        blocks.append(vertices)
        parents.append(parent)
    last = len(blocks) - 1
    return blocks[::-1], np.array([-1 if parent < 0 else last - parent for parent in parents[::-1]], dtype=np.intp)


def _sort_blocks(graph: Any, blocks: list[IntArray]) -> list[IntArray]:
    """Blocks sorted inside by their first neighbour below, so that what a child touches lies together."""
    position = np.full(graph.shape[0], graph.shape[0], dtype=np.intp)
    done, placed = [], 0
    for block in blocks:
        rows = graph[block]
        filled = np.flatnonzero(np.diff(rows.indptr))
        first = np.full(len(block), graph.shape[0], dtype=np.intp)
        if len(filled):
            first[filled] = np.minimum.reduceat(position[rows.indices], rows.indptr[filled])
        done.append(block[np.argsort(first, kind="stable")])
        position[done[-1]] = np.arange(placed, placed + len(block))
        placed += len(block)
    return done


def _pieces(vertices: IntArray, label: IntArray, weights: IntArray, leaf: int) -> tuple[list[IntArray], list[IntArray]]:
    """Connected components above the size of a leaf, and the small ones gathered into leaves.

    Ten thousand separate springs are a hundred leaves, not ten thousand.
    """
    size = np.bincount(label, weights=weights[vertices])
    small = size <= leaf
    gathered = np.cumsum(np.where(small, size, 0.0)) // leaf
    key = np.where(small, -1.0 - gathered, np.arange(len(size)))[label]
    rank = np.argsort(key, kind="stable")
    edges = np.flatnonzero(np.diff(key[rank])) + 1
    pieces = np.split(vertices[rank], edges)
    is_small = key[rank][np.concatenate([[0], edges])] < 0.0
    return [p for p, s in zip(pieces, is_small, strict=True) if not s], [
        p for p, s in zip(pieces, is_small, strict=True) if s
    ]


def _bisect(graph: Any, weights: IntArray, place: FloatArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Sides (m,) and separator (m,) of the best cut across a picture (m, 3) into two halves of equal weight."""
    tails = np.repeat(np.arange(len(weights)), np.diff(graph.indptr))

    def halves(direction: FloatArray) -> tuple[int, NDArray[np.bool_]]:
        rank = np.argsort(place @ direction, kind="stable")
        carried = np.cumsum(weights[rank])
        side = np.zeros(len(weights), dtype=bool)
        side[rank[: np.searchsorted(carried, carried[-1] / 2)]] = True
        return int(np.count_nonzero(side[tails] != side[graph.indices])), side

    # A cube stretches equally in all directions, so the axes of the picture are arbitrary: look around them.
    tried = [(*halves(direction), direction) for direction in _compass(place.shape[1])]
    cut, side, direction = min(tried, key=lambda trial: trial[0])
    for step in (0.3, 0.15) if not is_small(len(weights)) else ():
        for turn in np.eye(place.shape[1]):
            for sign in (step, -step):
                trial_cut, trial_side = halves(direction + sign * turn)
                if trial_cut < cut:
                    cut, side, direction = trial_cut, trial_side, direction + sign * turn
    return side, _cover(graph, side)


def is_small(vertices: int, small: int = 300) -> bool:
    """Whether a rough cut of so many vertices is as good."""
    return vertices <= small


def _compass(dimensions: int) -> FloatArray:
    """Unit vectors along the axes, then the diagonals: 1, 4 or 13 of them."""
    grid = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=dimensions)))
    half = grid[[bool(row.any()) and row[np.flatnonzero(row)[0]] > 0 for row in grid]]
    lengths = np.count_nonzero(half, axis=1)
    rank = np.argsort(lengths, kind="stable")
    return np.asarray(half[rank] / np.sqrt(lengths[rank])[:, None])


def _picture(graph: Any, landmarks: int = 6, rounds: int = 30, directions: int = 3) -> FloatArray:
    """Smooth coordinates (m, up to 3) of the vertices, the direction of least stretch first.

    rounds : of averaging over neighbours. On cubes of hexahedra more landmarks or rounds change the fill by less than
    3 %.
    """
    m = graph.shape[0]
    distance = distances(graph, 0)
    nearest = np.full(m, np.iinfo(np.intp).max)
    columns: list[FloatArray] = []
    for _ in range(min(landmarks, m - 1)):
        distance = distances(graph, int(np.argmax(distance if not columns else nearest)))
        columns.append(distance.astype(float))
        nearest = np.minimum(nearest, distance)
    place = np.stack(columns, axis=1)
    degree = np.diff(graph.indptr) + 1.0
    average = (sp.diags_array(1.0 / degree) @ (graph + sp.eye_array(m))).tocsr()
    for _ in range(rounds // 4 if is_small(m) else rounds):
        place = average @ place
    place -= degree @ place / degree.sum()
    root = np.sqrt(degree)[:, None]
    basis = np.linalg.qr(place * root)[0] / root
    stretch = basis.T @ (degree[:, None] * (basis - average @ basis))
    size, turn = np.linalg.eigh(0.5 * (stretch + stretch.T))
    kept = min(directions, len(size))
    # A body of length l has a stretch of about (π/l)²: the root makes the picture as long as the body.
    return np.asarray(basis @ turn[:, :kept] / np.sqrt(np.maximum(size[:kept], 1e-12 * size[-1])))


def distances(graph: Any, source: int) -> IntArray:
    """Steps from ``source`` to every vertex of a connected graph.

    Depth in the breadth-first tree, by doubling the stride upwards.
    """
    _, above = breadth_first_order(graph, source)
    above[source] = source
    depth = np.ones(graph.shape[0], dtype=np.intp)
    depth[source] = 0
    while (step := depth[above]).any():
        depth += step
        above = above[above]
    return depth


def _cover(graph: Any, side: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Fewest vertices that touch every edge between the sides (König: from a maximum matching)."""
    a, b = np.flatnonzero(side), np.flatnonzero(~side)
    edges = graph[a][:, b].tocsr()
    match = maximum_bipartite_matching(edges, perm_type="column")
    partner = np.full(len(b), -1)
    matched = np.flatnonzero(match >= 0)
    partner[match[matched]] = matched
    seen_a, seen_b = (match < 0) & (np.diff(edges.indptr) > 0), np.zeros(len(b), dtype=bool)
    front = np.flatnonzero(seen_a)
    while len(front):
        reached = np.unique(edges[front].indices)
        reached = reached[~seen_b[reached]]
        seen_b[reached] = True
        front = partner[reached]
        front = front[front >= 0]
        front = front[~seen_a[front]]
        seen_a[front] = True
    cover = np.zeros(len(side), dtype=bool)
    cover[a[(match >= 0) & ~seen_a]] = True
    cover[b[seen_b]] = True
    return cover


def _vertex_borders(graph: Any, starts: IntArray, parents: IntArray) -> list[IntArray]:
    """Later vertices every block touches once the blocks below it are gone."""
    count = len(parents)
    inherited: list[list[IntArray]] = [[] for _ in range(count)]
    borders: list[IntArray] = []
    for i in range(count):
        direct = graph.indices[graph.indptr[starts[i]] : graph.indptr[starts[i + 1]]]
        touched = np.concatenate([direct, *inherited[i]]).astype(np.intp)
        border = np.unique(touched[touched >= starts[i + 1]])
        inherited[i] = []
        if parents[i] >= 0:
            inherited[parents[i]].append(border)
        borders.append(border)
    return borders
