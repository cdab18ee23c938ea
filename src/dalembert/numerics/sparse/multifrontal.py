"""Multifrontal Cholesky factor of a sparse symmetric positive definite matrix, in dense blocks.

Block by block, children first, the front of block i (its own unknowns 1, the later unknowns 2 they touch) is
assembled from the matrix and the updates its children left, and its own part is eliminated (Duff and Reid 1983):

    F = [F11 F21ᵀ; F21 F22],   F11 = L11 L11ᵀ,   L21 = F21 L11⁻ᵀ,   update = F22 - L21 L21ᵀ

All arithmetic is dense BLAS 3, so a solid costs seconds where a column-by-column factor costs half a minute, and only
one triangle is kept. Needs a positive definite matrix; the caller has another method for the others.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsyrk, dtrsm
from scipy.linalg.lapack import dpotrf

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.numerics.sparse.nested_dissection import Tree

Block = tuple[FloatArray, FloatArray | None]
Front = tuple[FloatArray, FloatArray, FloatArray]


class NotPositive(ArithmeticError):
    """A pivot is not positive: the matrix is not positive definite. ``unknown`` is its row."""

    def __init__(self, unknown: int) -> None:
        super().__init__(f"row {unknown} has no positive pivot")
        self.unknown = unknown


class Cholesky:
    """``P A Pᵀ = L Lᵀ`` with the order and blocks of a dissection tree.

    Parameters
    ----------
    matrix
        (n, n) sparse symmetric positive definite; its lower triangle (in the new order) is read.
    tree
        From :func:`dalembert.numerics.sparse.nested_dissection.dissect` of the same pattern.

    Attributes
    ----------
    pivots : (n,) squares of the diagonal of L, in the order of the matrix.
    """

    def __init__(self, matrix: object, tree: Tree) -> None:
        self._tree = tree
        self._blocks = _eliminate(matrix, tree)
        self.pivots = np.empty(len(tree.order))
        self.pivots[tree.order] = np.concatenate([np.diagonal(block[0]) ** 2 for block in self._blocks])

    def solve(self, right: FloatArray) -> FloatArray:
        """``A⁻¹ right`` for right-hand sides (n,) or (n, k)."""
        tree = self._tree
        x = np.ascontiguousarray(right[tree.order].reshape(len(tree.order), -1), dtype=np.float64)
        for i, (lower, below) in enumerate(self._blocks):
            own = slice(tree.starts[i], tree.starts[i + 1])
            # Rows of x are C-ordered, so its transpose is what BLAS reads without a copy: xᵀ := xᵀ L⁻ᵀ.
            x[own] = dtrsm(1.0, lower, x[own].T, side=1, lower=1, trans_a=1).T
            if below is not None:
                x[tree.borders[i]] -= below @ x[own]
        for i in range(len(self._blocks) - 1, -1, -1):
            lower, below = self._blocks[i]
            own = slice(tree.starts[i], tree.starts[i + 1])
            if below is not None:
                x[own] -= below.T @ x[tree.borders[i]]
            x[own] = dtrsm(1.0, lower, x[own].T, side=1, lower=1).T
        out = np.empty_like(x)
        out[tree.order] = x
        return out.reshape(right.shape)


def _eliminate(matrix: object, tree: Tree) -> list[Block]:
    """Blocks ``(L11, L21 or None)`` of the factor."""
    entries = sp.tril(sp.csc_array(matrix)[tree.order][:, tree.order], format="csc")
    place = np.empty(len(tree.order), dtype=np.intp)
    pool = _Pool()
    updates: list[list[tuple[int, FloatArray]]] = [[] for _ in tree.parents]
    blocks: list[Block] = []
    for i, border in enumerate(tree.borders):
        begin, end = tree.starts[i], tree.starts[i + 1]
        own = end - begin
        place[begin:end] = np.arange(own)
        place[border] = np.arange(own, own + len(border))
        front = (np.zeros((own, own), order="F"), np.zeros((len(border), own), order="F"), pool.take(len(border)))
        _insert(front, place, entries, begin, end)
        for child, update in updates[i]:
            _extend_add(front, place[tree.borders[child]], update)
            pool.give(update)
        updates[i] = []
        lower, info = dpotrf(front[0], lower=1, clean=1, overwrite_a=1)
        if info:
            raise NotPositive(int(tree.order[begin + info - 1]))
        if not len(border):
            blocks.append((lower, None))
            continue
        below = dtrsm(1.0, lower, front[1], side=1, lower=1, trans_a=1, overwrite_b=1)
        blocks.append((lower, below))
        rest = dsyrk(-1.0, below, beta=1.0, c=front[2], lower=1, overwrite_c=1)
        updates[tree.parents[i]].append((i, rest))
    return blocks


def _insert(front: Front, place: IntArray, entries: Any, begin: int, end: int) -> None:
    """Put the matrix entries of columns ``begin:end`` into a front."""
    lower, below, _ = front
    first, last = entries.indptr[begin], entries.indptr[end]
    rows = place[entries.indices[first:last]]
    columns = np.repeat(np.arange(end - begin), np.diff(entries.indptr[begin : end + 1]))
    values = entries.data[first:last]
    inside = rows < end - begin
    lower[rows[inside], columns[inside]] = values[inside]
    below[rows[~inside] - (end - begin), columns[~inside]] = values[~inside]


def _extend_add(front: Front, rows: IntArray, update: FloatArray) -> None:
    """Add the lower triangle of a child's update at ascending ``rows`` of its parent's front."""
    lower, below, rest = front
    own = len(lower)
    inside = int(np.searchsorted(rows, own))
    # Ascending rows come in few unbroken runs (the unknowns of a separator): whole slices, no index arrays.
    cuts = np.flatnonzero(np.diff(rows) != 1) + 1
    edges = np.unique(np.concatenate([[0, inside, len(rows)], cuts]))
    if len(edges) > 1 + len(rows) // 6:
        a, b = rows[:inside], rows[inside:] - own
        lower.T[np.ix_(a, a)] += update[:inside, :inside].T
        below.T[np.ix_(a, b)] += update[inside:, :inside].T
        rest.T[np.ix_(b, b)] += update[inside:, inside:].T
        return
    spans = list(itertools.pairwise(edges.tolist()))
    for k, (left, right) in enumerate(spans):
        c0, c1 = rows[left], rows[left] + right - left
        for top, bottom in spans[k:]:
            r0, r1 = rows[top], rows[top] + bottom - top
            piece = update[top:bottom, left:right]
            if c0 >= own:
                rest[r0 - own : r1 - own, c0 - own : c1 - own] += piece
            elif r0 >= own:
                below[r0 - own : r1 - own, c0:c1] += piece
            else:
                lower[r0:r1, c0:c1] += piece


class _Pool:
    """Square work arrays that are used again: new memory costs more than the sums done in it."""

    def __init__(self) -> None:
        self._free: list[FloatArray] = []

    def take(self, size: int) -> FloatArray:
        """A (size, size) Fortran-ordered array of zeros."""
        need = size * size
        fits = [k for k, buffer in enumerate(self._free) if len(buffer) >= need]
        if fits:
            buffer = self._free.pop(min(fits, key=lambda k: len(self._free[k])))
        else:
            if self._free:
                self._free.pop()  # too small: let it go rather than hoard
            buffer = np.empty(need)
        square = buffer[:need].reshape((size, size), order="F")
        square[:] = 0.0
        return square

    def give(self, square: FloatArray) -> None:
        """Hand an array of :meth:`take` back."""
        buffer = square.base if square.base is not None else square
        if buffer is not None and buffer.ndim == 1:
            self._free.append(buffer)
