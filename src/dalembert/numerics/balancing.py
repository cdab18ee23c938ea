"""Scales, powers of two, that give the rows and columns of a matrix like size."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray


def balance_matrix(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """s⁻¹ A s with rows and columns of like size, and the scales s (n,), powers of two."""
    if not len(A):
        return A, np.ones(0)
    # scipy.linalg.matrix_balance casts the scales to integers on its way, and warns where they are beyond 2⁶³
    (gebal,) = scipy.linalg.get_lapack_funcs(("gebal",), (A,))
    balanced, _, _, scale, _ = gebal(A, scale=1, permute=0)
    return balanced, scale


def balance_system(
    A: FloatArray, B: FloatArray, C: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """s⁻¹ A s, s⁻¹ B, C s with rows and columns of like size, and the scales s (n,), powers of two."""
    n = len(A)
    if n == 0:
        return A, B, C, np.ones(0)
    frame = np.zeros((n + 1, n + 1))
    frame[:n, :n] = np.abs(A)
    frame[:n, n] = np.abs(B).sum(axis=1)
    frame[n, :n] = np.abs(C).sum(axis=0)
    both = balance_matrix(frame)[1]
    scale = both[:n] / both[n]
    return A * scale / scale[:, None], B / scale[:, None], C * scale, scale
