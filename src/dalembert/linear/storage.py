"""Matrices of a second-order system, dense or sparse, checked and ready to be frozen.

A system is sparse when its M or K is a SciPy sparse matrix: then every matrix of it is a canonical
``scipy.sparse.csc_array`` of doubles; else every one is a NumPy array. Nothing here makes a sparse
n x n matrix dense.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from dalembert.core.arguments import fit, matrix
from dalembert.core.arguments import square as square_matrix
from dalembert.core.arrays import FloatArray, Matrix
from dalembert.core.errors import DataError


def is_sparse(*values: Any) -> bool:
    """Whether any of the values is a SciPy sparse matrix."""
    return any(scipy.sparse.issparse(value) for value in values)


def store(
    symbol: str, value: Any, rows: int | None, columns: int | None, why: str, *, sparse: bool, vector: str = ""
) -> Matrix:
    """Finite, real copy of ``value`` with the given shape, in the storage of the system."""
    if not sparse:
        return matrix(symbol, value, rows, columns, why, vector=vector)
    if not scipy.sparse.issparse(value):
        return scipy.sparse.csc_array(matrix(symbol, value, rows, columns, why, vector=vector))
    if np.iscomplexobj(value):
        raise DataError("wrong-type", f"{symbol} must be real, got complex numbers.")
    if value.ndim == 1 and vector:
        value = value.reshape((-1, 1) if vector == "column" else (1, -1))
    fit(symbol, value.shape, rows, columns, why)
    array = scipy.sparse.csc_array(value, dtype=np.float64, copy=True)
    array.sum_duplicates()  # canonical: sorted, every place once
    if not np.isfinite(array.data).all():
        k = int(np.argmin(np.isfinite(array.data)))
        i, j = array.indices[k], int(np.searchsorted(array.indptr, k, side="right")) - 1
        raise DataError("not-finite", f"{symbol}[{i}, {j}] is {array.data[k]}; every entry must be finite.")
    return array


def square(symbol: str, value: Any) -> int:
    """Size of the matrix that sets the size of all others; at least 1."""
    if not scipy.sparse.issparse(value):
        return len(square_matrix(symbol, value))
    if value.ndim != 2 or value.shape[0] != value.shape[1] or value.shape[0] == 0:
        raise DataError("wrong-shape", f"{symbol} has shape {value.shape}; it must be square and not empty.")
    return int(value.shape[0])


def zeros(rows: int, columns: int, *, sparse: bool) -> Matrix:
    """Zero matrix in the storage of the system."""
    return scipy.sparse.csc_array((rows, columns)) if sparse else np.zeros((rows, columns))


def identity(n: int, *, sparse: bool) -> Matrix:
    """Unit matrix in the storage of the system."""
    return scipy.sparse.eye_array(n, format="csc") if sparse else np.eye(n)


# Asymmetry, relative to the largest entry, up to which a matrix is made exactly symmetric (or skew): matrices in files
# with ten digits leave 5e-10; a mistake in one entry leaves its share of the largest, and the error names it.
def is_symmetric(array: Matrix, turned: Matrix, asymmetry: float = 1e-9) -> bool:
    """Whether a matrix is its transpose (its negative, where skew), up to rounding."""
    return bool(abs(array - turned).max() <= asymmetry * abs(array).max())


def is_large(n: int, most: int = 5000) -> bool:
    """Whether a dense n x n matrix is refused: 5000 x 5000 doubles are 200 MB."""
    return n > most


def signed_part(symbol: str, value: object, names: Sequence[str], sign: int, *, sparse: bool) -> Matrix:
    """Exactly symmetric (sign +1) or skew (-1) copy, or an error naming the worst pair of coordinates."""
    n = len(names)
    if value is None:
        return zeros(n, n, sparse=sparse)
    array = store(symbol, value, n, n, "the size of M", sparse=sparse)
    turned = array.T.tocsc() if sparse else array.T
    if sparse and _same_pattern(array, turned) and np.array_equal(array.data, sign * turned.data):
        return array  # exact already, as most assemblies make it: no further copies
    if not is_symmetric(array, sign * turned):
        i, j = _largest(abs(array - sign * turned))
        kind = "symmetric" if sign > 0 else "skew-symmetric"
        raise DataError(
            "not-symmetric",
            f"{symbol} is not {kind}: {symbol}[{names[i]}, {names[j]}] = {array[i, j]:.6g} but "
            f"{symbol}[{names[j]}, {names[i]}] = {array[j, i]:.6g}. SecondOrder.from_full splits full matrices.",
        )
    result = 0.5 * (array + sign * turned)
    return result.tocsc() if sparse else result


def split(full: Matrix, rounding: float = 1e-12) -> tuple[Matrix, Matrix]:
    """Symmetric and skew part; the latter exactly 0 where it is rounding, relative to the largest entry.

    Sums of some thousand products leave 1e3 ε; keeping it would exclude the exact symmetric solvers.
    """
    symmetric, skew = 0.5 * (full + full.T), 0.5 * (full - full.T)
    if abs(skew).max() <= rounding * abs(full).max():
        skew = 0.0 * skew
    return symmetric, skew


def nonzero(array: Matrix) -> bool:
    """Whether any entry is not 0."""
    return bool(np.any(array.data if scipy.sparse.issparse(array) else array))


def dense(array: Matrix) -> FloatArray:
    """The matrix as a NumPy array."""
    return np.asarray(array.toarray() if scipy.sparse.issparse(array) else array)


def _same_pattern(a: Any, b: Any) -> bool:
    return np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)


def _largest(odd: Matrix) -> tuple[int, int]:
    if scipy.sparse.issparse(odd):
        entries = odd.tocoo()
        k = int(np.argmax(entries.data))
        pair = sorted((int(entries.coords[0][k]), int(entries.coords[1][k])))
    else:
        pair = [int(index) for index in np.unravel_index(int(np.argmax(odd)), odd.shape)]
    return pair[0], pair[1]
