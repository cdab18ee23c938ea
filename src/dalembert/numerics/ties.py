"""Orders and choices among computed numbers that rounding cannot change.

Two numbers that differ by rounding only are a tie, and a tie goes to the first. Plain sorting, `argmax` and QR with
pivoting let the last bit decide, and with it the kernel of the BLAS that made the numbers: an equal machine then gives
other names, other signs or another order on another computer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray, IntArray


def ranks(values: object, size: float | None = None, alike: float = 1e-9, rounding: float = 1e-14) -> IntArray:
    """Rank of every value, ascending from 0; values alike share one. ``size`` : of the largest, for those near zero.

    alike : of two numbers: far above rounding, far below any difference that matters.
    rounding : of numbers near zero, relative to the largest: fifty roundings.
    """
    values = np.asarray(values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    finite = np.abs(values[np.isfinite(values)])
    floor = rounding * (float(finite.max(initial=0.0)) if size is None else size)
    with np.errstate(invalid="ignore"):
        steps = np.diff(ascending) > alike * np.abs(ascending[1:]) + floor
    result = np.zeros(len(values), dtype=np.intp)
    result[order[1:]] = np.cumsum(steps | np.isposinf(ascending[1:]) & ~np.isposinf(ascending[:-1]))
    return result


def largest_first(sizes: object) -> IntArray:
    """Order of descending size, ties in the order given.

    Examples
    --------
    >>> largest_first([0.5, 1.0, 3.0, 1.0 + 1e-15]).tolist()
    [2, 1, 3, 0]
    """
    return np.argsort(-ranks(sizes), kind="stable").astype(np.intp)


def by_modulus(s: object) -> IntArray:
    """Order of complex numbers: ascending in modulus, then in Im s, then descending in Re s: growth before decay."""
    s = np.asarray(s, dtype=np.complex128)
    size = float(np.abs(s[np.isfinite(s)]).max(initial=0.0))
    return np.lexsort((-ranks(s.real, size), ranks(s.imag, size), ranks(np.abs(s)))).astype(np.intp)


def is_largest(size: FloatArray, largest: object, equal: float = 1e-6) -> Any:
    """Which sizes, as of components of a shape, count as large as the largest."""
    return size >= (1.0 - equal) * np.asarray(largest)


def first_largest(values: object) -> Any:
    """Place of the largest \\|value\\|, of every column of a matrix; the first of those alike."""
    size = np.abs(np.asarray(values))
    return np.argmax(is_largest(size, size.max(axis=0, initial=0.0)), axis=0)


def pivot_columns(A: object, preference: float = 1e-4) -> tuple[FloatArray, IntArray]:
    """Sizes \\|R_kk\\| of QR with column pivoting (within 1e-4), and the order of the columns; of equal ones the first.

    Examples
    --------
    >>> pivot_columns(np.array([[1.0, 1.0 + 1e-15, 0.0], [0.0, 0.0, 0.5]]))[1].tolist()
    [0, 2, 1]

    preference : by which QR prefers the first column to the last; LAPACK compares lengths to 1e-8.
    """
    A = np.asarray(A, dtype=np.float64)
    count = A.shape[1]
    weights = 1.0 - preference * np.arange(count) / max(count, 1)
    R, order = scipy.linalg.qr(A * weights, mode="r", pivoting=True)[:2]
    return np.abs(np.diag(R)), order.astype(np.intp)
