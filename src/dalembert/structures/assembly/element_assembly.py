"""Element matrices into sparse global ones: point by point, not number by number.

    A = Σₑ Lₑᵀ Aₑ Lₑ,   Lₑ Boolean

Each element matrix is cut into square blocks, one per pair of points. Which blocks go to which pair is a sparse
matrix of ones, so that all sums are one product; equal elements share their blocks and are computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from dalembert.core.arrays import FloatArray, IntArray


class Blocks(NamedTuple):
    """Square blocks: number ``which`` (m,) of ``values`` (b, d, d) goes to the points ``rows``, ``columns`` (m,)."""

    rows: IntArray
    columns: IntArray
    which: IntArray
    values: FloatArray


def blocks(points: IntArray, matrices: FloatArray, same: IntArray | None = None) -> Blocks:
    """Blocks of element matrices (b, k·d, k·d) on the points (ne, k) of each element.

    ``same`` (ne,) is the number of the matrix of each element; one each when left out.
    """
    ne, k = points.shape
    d = matrices.shape[1] // k
    cut = matrices.reshape(-1, k, d, k, d).transpose(0, 1, 3, 2, 4).reshape(-1, d, d)
    own = np.arange(ne) if same is None else same
    which = (own[:, None] * k * k + np.arange(k * k)).ravel()
    return Blocks(np.repeat(points, k, axis=1).ravel(), np.tile(points, (1, k)).ravel(), which, cut)


def assemble(count: int, size: int, parts: Sequence[Blocks]) -> sp.csc_array:
    """Sum of blocks on ``count`` points with ``size`` coordinates each; symmetric, so csr and csc are the same."""
    parts = [part for part in parts if len(part.rows)]
    N = count * size
    if not parts:
        return sp.csc_array((N, N))
    starts = np.cumsum([0] + [len(part.values) for part in parts])
    which = np.concatenate([part.which + start for part, start in zip(parts, starts)])
    values = np.concatenate([part.values.reshape(-1, size * size) for part in parts])
    key = np.concatenate([part.rows * count + part.columns for part in parts])
    place, pair = np.unique(key, return_inverse=True)
    gather = sp.csr_array((np.ones(len(pair)), (pair, which)), shape=(len(place), len(values)))
    summed = (gather @ values).reshape(-1, size, size)
    first = np.searchsorted(place // count, np.arange(count + 1))
    matrix = sp.bsr_array((summed, place % count, first), shape=(N, N)).tocsr()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return sp.csc_array((matrix.data, matrix.indices, matrix.indptr), shape=(N, N))


def classes(rows: FloatArray) -> tuple[IntArray, IntArray]:
    """Equal rows of an array (ne, k): places of one of each (b,), and which of them every row is (ne,).

    Rows are distinguished by a random projection and then compared in full: a frame of a few kinds of member has
    few different element matrices, however many members it has.
    """
    key = rows @ np.random.default_rng(1).standard_normal(rows.shape[1])
    _, first, same = np.unique(key, return_index=True, return_inverse=True)
    if len(first) < len(rows) and np.array_equal(rows[first][same], rows):
        return first, same
    return np.arange(len(rows)), np.arange(len(rows))


def coordinates(points: IntArray, size: int) -> IntArray:
    """(ne, k·size) places of the coordinates of each element in a vector, from its points (ne, k)."""
    places: IntArray = (points[:, :, None] * size + np.arange(size)).reshape(len(points), -1)
    return places


def congruent(transform: FloatArray, matrices: FloatArray) -> FloatArray:
    """``Tₑᵀ Aₑ Tₑ`` for every element; transform (ne, 12, k)."""
    product: FloatArray = np.matmul(transform.transpose(0, 2, 1), np.matmul(matrices, transform))
    return product
