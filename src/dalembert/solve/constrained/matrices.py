"""Constrained dynamics on plain matrices: M v̇ = f + Aᵀλ (+ C), A v̇ = b, with the rank decided from data.

    M (n, n) symmetric, f (n,), A (m, n), b (m,).  Rows may be dependent, M may be singular where rank [M; A] = n.

The methods stand in `methods/`, one file each; this file has the ranks, scales and complements that they share.

Here b is on the right and λ pushes (Orsino 2016 writes A v̇ + b = 0, and λ in eq. 3.95 there pulls).
Inconsistent rows are met in least squares (all but the plain KKT system): the length of a row is its weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from dalembert.core.arrays import FloatArray as Array
from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice
from dalembert.numerics import ties

RANK_TOLERANCE = 1e-10  # singular values below this share of the largest count as zero
SINGULAR_MASS = 1e-12  # smallest eigenvalue of M with unit diagonal that still counts as mass
NO_MASS = 1e-14  # eigenvalue of a block of M, as a share of its largest entry, that counts as zero
NO_ROW = 1e-14  # length of a row, as a share of the longest, below which it is rounding: 45 units of it
INVOLVED = 1e-6  # share of the largest component of a null vector from which a coordinate is named
NEGATIVE = "the mass matrix has a negative direction: masses and inertias must not be negative."


def pseudo_inverse(A: Array, tolerance: float = RANK_TOLERANCE) -> Array:
    """Moore-Penrose inverse; singular values below `tolerance` times the largest count as zero."""
    return np.asarray(np.linalg.pinv(A, rcond=tolerance)) if A.size else np.zeros(A.T.shape)


def rank_of(values: NDArray[Any], tolerance: float = RANK_TOLERANCE) -> int:
    """Rank from singular values, relative to the largest."""
    return int(np.count_nonzero(values > tolerance * values.max())) if values.size and values.max() > 0 else 0


def scales(M: Array, A: Array) -> tuple[Array, Array]:
    """(d, r): with v = d·y and rows times r, M has a unit diagonal where there is mass and rows have unit length."""
    diagonal = np.diag(M).copy()
    largest = diagonal.max(initial=0.0) or 1.0
    diagonal[diagonal <= NO_MASS * largest] = largest
    d = 1.0 / np.sqrt(diagonal)
    lengths = np.linalg.norm(A * d, axis=1)
    lengths = np.maximum(lengths, NO_ROW * lengths.max(initial=0.0))
    return d, 1.0 / np.where(lengths > 0, lengths, 1.0)


def is_singular(M: Array) -> bool:
    """Whether M lacks rank, judged with unit diagonal so that units do not matter."""
    if not len(M):
        return False
    diagonal = np.diag(M)
    if diagonal.min() <= NO_MASS * diagonal.max():
        return True
    d = 1.0 / np.sqrt(diagonal)
    return bool(np.linalg.eigvalsh(M * np.outer(d, d))[0] < SINGULAR_MASS)


def realizability(
    M: Array, A: Array, names: Sequence[str] | None = None, *, tolerance: float = RANK_TOLERANCE
) -> float:
    """Smallest singular value of [M; A] (scaled); ModelError naming the coordinates when it is zero."""
    n = M.shape[0]
    if n == 0:
        return 1.0
    d, r = scales(M, A)
    stack = np.vstack((M * np.outer(d, d), (A * d) * r[:, None]))
    _, values, directions = np.linalg.svd(stack, full_matrices=True)
    rank = rank_of(values, tolerance)
    if rank == n:
        return float(values[-1] / values[0])
    free = directions[rank:].T * d[:, None]
    weight = np.linalg.norm(free, axis=1)
    culprits = [k for k in range(n) if weight[k] > INVOLVED * weight.max()]
    raise ModelError(
        "massless-body",
        f"{n - rank} direction{'s' if n - rank > 1 else ''} of motion without mass or inertia, held by no constraint: "
        f"{_labels(culprits, names)} (rank [M; A] = {rank} of {n}).",
        Advice("Give the body mass and inertia, or a joint that holds it."),
        evidence={"rank": rank, "size": n},
    )


def _labels(numbers: Sequence[int], names: Sequence[str] | None) -> str:
    return ", ".join(repr(names[k]) if names is not None else f"number {k}" for k in numbers) or "none"


def multipliers(A: Array, lam: Array, tolerance: float = RANK_TOLERANCE) -> Array:
    """A A⁺ λ: the multipliers of minimum norm among all that push alike."""
    result: Array = A @ (pseudo_inverse(A, tolerance) @ lam)
    return result


def independent_columns(A: Array, tolerance: float = RANK_TOLERANCE) -> tuple[list[int], list[int]]:
    """(independent, dependent) speeds by QR with pivoting, so that A_dep is far from singular."""
    if not A.size:
        return list(range(A.shape[1])), []
    sizes, order = ties.pivot_columns(A)
    rank = rank_of(sizes, tolerance)
    return sorted(int(k) for k in order[rank:]), sorted(int(k) for k in order[:rank])


def independent_rows(A: Array, tolerance: float = RANK_TOLERANCE) -> tuple[list[int], list[int]]:
    """(rows kept, rows that repeat them) by QR of Aᵀ with pivoting."""
    others, kept = independent_columns(A.T, tolerance)
    return kept, others


def complement(
    A: Array,
    method: str = "svd",
    *,
    independent: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    tolerance: float = RANK_TOLERANCE,
) -> Array:
    """S (n, n - rank A) with A S = 0.

    method : "svd" or "qr" for orthonormal columns; "partition" for S_ind = 1, S_dep = -A_dep⁻¹ A_ind, with the
        `independent` speeds given or found by QR with pivoting.
    """
    n = A.shape[1]
    if method == "svd":
        if not A.size:
            return np.eye(n)
        _, values, Vt = np.linalg.svd(A, full_matrices=True)
        return np.asarray(Vt[rank_of(values, tolerance) :].T)
    if method == "qr":
        if not A.size:
            return np.eye(n)
        Q, R = qr(A.T, pivoting=True)[0:2]
        return np.asarray(Q[:, rank_of(np.abs(np.diag(R)), tolerance) :])
    if method != "partition":
        raise ModelError("unknown-choice", f"basis: {unknown_name('basis', method, ('svd', 'qr', 'partition'))}")
    found, dependent = independent_columns(A, tolerance)
    if independent is not None:
        chosen = list(dict.fromkeys(independent))
        if len(chosen) != len(found):
            raise ModelError(
                "dependent-coordinates",
                f"{len(found)} independent speeds are needed, got {len(chosen)}: {_labels(chosen, names)}.",
            )
        found, dependent = chosen, [k for k in range(n) if k not in set(chosen)]
    kept, _ = independent_rows(A, tolerance)
    S = np.zeros((n, len(found)))
    S[found, range(len(found))] = 1.0
    if dependent:
        A_dep = A[np.ix_(kept, dependent)]
        if rank_of(np.linalg.svd(A_dep, compute_uv=False), tolerance) < len(dependent):
            raise ModelError(
                "dependent-coordinates",
                f"the speeds {_labels(found, names)} do not decide all others in this pose; choose others or leave the "
                "choice out.",
            )
        S[dependent] = -np.linalg.solve(A_dep, A[np.ix_(kept, found)])
    return S


def left_null_space(A: Array, tolerance: float = RANK_TOLERANCE) -> Array:
    """Z (m, k), orthonormal, Zᵀ A = 0: what multipliers can change without moving anything."""
    m = A.shape[0]
    if not A.size:
        return np.eye(m)
    U, values, _ = np.linalg.svd(A, full_matrices=True)
    return np.asarray(U[:, rank_of(values, tolerance) :])
