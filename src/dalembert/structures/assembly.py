"""Element matrices into sparse global ones: point by point, not number by number (spec 003, C-64).

    A = Σₑ Lₑᵀ Aₑ Lₑ,   Lₑ Boolean

Each element matrix is cut into square blocks, one per pair of points; the blocks of one pair are summed in a stable
order, so that the result is exactly symmetric when the element matrices are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dalembert.linear.checks import FloatArray

IntArray = NDArray[np.int64]
Blocks = tuple[IntArray, IntArray, FloatArray]  # rows (m,), columns (m,) of points, (m, d, d)


def blocks(points: IntArray, matrices: FloatArray) -> Blocks:
    """Blocks of element matrices (ne, k·d, k·d) on the points (ne, k) of each element."""
    ne, k = points.shape
    d = matrices.shape[1] // k
    cut = matrices.reshape(ne, k, d, k, d).transpose(0, 1, 3, 2, 4).reshape(ne * k * k, d, d)
    rows = np.repeat(points, k, axis=1).ravel()
    columns = np.tile(points, (1, k)).ravel()
    return rows, columns, cut


def assemble(count: int, size: int, parts: Sequence[Blocks]) -> sp.csc_array:
    """Sum of blocks on ``count`` points with ``size`` coordinates each; symmetric, so csr and csc are the same."""
    parts = [part for part in parts if len(part[0])]
    N = count * size
    if not parts:
        return sp.csc_array((N, N))
    rows, columns, values = (np.concatenate([part[i] for part in parts]) for i in range(3))
    key = rows * count + columns
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    summed = np.add.reduceat(values[order], first, axis=0)
    place = key[first]
    starts = np.searchsorted(place // count, np.arange(count + 1))
    matrix = sp.bsr_array((summed, place % count, starts), shape=(N, N)).tocsr()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return sp.csc_array((matrix.data, matrix.indices, matrix.indptr), shape=(N, N))


def congruent(transform: FloatArray | None, matrices: FloatArray) -> FloatArray:
    """``Tₑᵀ Aₑ Tₑ`` for every element, exactly symmetric; transform (ne, 12, 12) or None."""
    if transform is None:
        return matrices
    product = np.matmul(transform.transpose(0, 2, 1), np.matmul(matrices, transform))
    symmetric: FloatArray = 0.5 * (product + product.transpose(0, 2, 1))
    return symmetric
