"""Constrained dynamics on plain matrices: M v̇ = f + Aᵀλ (+ C), A v̇ = b, with the rank decided from data.

    M (n, n) symmetric, f (n,), A (m, n), b (m,).  Rows may be dependent, M may be singular where rank [M; A] = n.

Udwadia-Kalaba (Udwadia and Kalaba 1992), with M = L Lᵀ and Ac = A L⁻ᵀ:
    a = M⁻¹ f ,  e = b - A a ,  H = (A M⁻¹ Aᵀ)⁺ ,  λ = H e ,  a_c = M⁻¹ Aᵀ H e = L⁻ᵀ Ac⁺ e ,  v̇ = a + a_c .
Singular mass: M + α² A⁺A and f + α² A⁺b in place of M and f, which adds α² A⁺ (A v̇ - b) = 0.
Null space (Maggi): A S = 0 , A c = b , Sᵀ M S z = Sᵀ (f - M c) , v̇ = S z + c .
Augmented Lagrangian (Bayo, García de Jalón and Serna 1988):
    (M + α AᵀA) v̇ = f + Aᵀ(α b + λ) , λ ← λ + α (b - A v̇) ; its first pass is the penalty.

Here b is on the right and λ pushes (Orsino 2016 writes A v̇ + b = 0, and λ in eq. 3.95 there pulls).
Inconsistent rows are met in least squares (all but the plain KKT system): the length of a row is its weight.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, lu_factor, lu_solve, qr, solve_triangular

from dalembert.core.arrays import FloatArray as Array
from dalembert.core.errors import ConvergenceError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.numerics import ties

RANK_TOLERANCE = 1e-10  # singular values below this share of the largest count as zero
SINGULAR_MASS = 1e-12  # smallest eigenvalue of M with unit diagonal that still counts as mass
NO_MASS = 1e-14  # eigenvalue of a block of M, as a share of its largest entry, that counts as zero
NO_ROW = 1e-14  # length of a row, as a share of the longest, below which it is rounding: 45 units of it
INVOLVED = 1e-6  # share of the largest component of a null vector from which a coordinate is named
PENALTY = 1e7  # of the augmented Lagrangian, in units where M has a unit diagonal and rows have unit length
PENALTY_ITERATIONS = 60
PENALTY_TOLERANCE = 1e-11  # last change of v̇ and λ, relative
NEGATIVE = "the mass matrix has a negative direction: masses and inertias must not be negative."


@dataclass(frozen=True)
class Constrained:
    """v̇ = a + a_c, multipliers λ of minimum norm, constraint force Q_c, violation e of the free motion, rank of A."""

    acceleration: Array
    free: Array
    correction: Array
    lam: Array
    force: Array
    violation: Array
    rank: int


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


# -- Udwadia-Kalaba ---------------------------------------------------------------------------------------------------


def heavier(
    M: Array, f: Array, A: Array, b: Array, alpha: float = 1.0, tolerance: float = RANK_TOLERANCE
) -> tuple[Array, Array]:
    """M + α² A⁺A and f + α² A⁺b: the same v̇ and λ, and no longer singular."""
    inverse = pseudo_inverse(A, tolerance)
    return M + alpha**2 * (inverse @ A), f + alpha**2 * (inverse @ b)


def udwadia_kalaba(
    M: Array,
    f: Array,
    A: Array,
    b: Array,
    *,
    alpha: float = 1.0,
    tolerance: float = RANK_TOLERANCE,
) -> Constrained:
    """The fundamental equations (Udwadia and Kalaba 1992).

    alpha : share of A⁺A added to a singular mass matrix; the result does not depend on it.
    """
    if is_singular(M):
        M, f = heavier(M, f, A, b, alpha=alpha, tolerance=tolerance)
    try:
        L = cholesky(M, lower=True)
    except np.linalg.LinAlgError:
        realizability(M, A, tolerance=tolerance)
        raise ModelError("not-positive-definite", NEGATIVE) from None
    free = solve_triangular(L, solve_triangular(L, f, lower=True), lower=True, trans="T")
    violation = b - A @ free
    Ac = solve_triangular(L, A.T, lower=True).T
    U, values, Vt = np.linalg.svd(Ac, full_matrices=False)
    rank = rank_of(values, tolerance)
    U, values, Vt = U[:, :rank], values[:rank], Vt[:rank]
    inner = Vt.T @ ((U.T @ violation) / values)  # Ac⁺ e
    lam = U @ ((U.T @ violation) / values**2)  # H e
    correction = solve_triangular(L, inner, lower=True, trans="T")
    return Constrained(free + correction, free, correction, lam, A.T @ lam, violation, rank)


def udwadia_phohomsiri(
    M: Array, f: Array, A: Array, b: Array, *, tolerance: float = RANK_TOLERANCE
) -> tuple[Array, Array]:
    """(v̇, λ) with v̇ = [(1 - A⁺A) M; A]⁺ [f; b], for a mass matrix of any rank (Udwadia and Phohomsiri 2006)."""
    inverse = pseudo_inverse(A, tolerance)
    stack = np.vstack(((np.eye(M.shape[0]) - inverse @ A) @ M, A))
    acceleration: Array = pseudo_inverse(stack, tolerance) @ np.concatenate((f, b))
    return acceleration, inverse.T @ (M @ acceleration - f)


def multipliers(A: Array, lam: Array, tolerance: float = RANK_TOLERANCE) -> Array:
    """A A⁺ λ: the multipliers of minimum norm among all that push alike."""
    result: Array = A @ (pseudo_inverse(A, tolerance) @ lam)
    return result


# -- multipliers, null space, penalty ---------------------------------------------------------------------------------


def kkt(M: Array, f: Array, A: Array, b: Array, *, tolerance: float = RANK_TOLERANCE) -> tuple[Array, Array]:
    """(v̇, λ) of [[M, -Aᵀ], [A, 0]] (v̇; λ) = (f; b).

    Solved by LU with one refinement; by least squares where rows are dependent.
    """
    n, m = M.shape[0], A.shape[0]
    d, r = scales(M, A)
    As = (A * d) * r[:, None]
    K = np.block([[M * np.outer(d, d), -As.T], [As, np.zeros((m, m))]])
    right = np.concatenate((f * d, b * r))
    values = np.linalg.svd(As, compute_uv=False)
    if rank_of(values, tolerance) == m and n >= m:
        factor = lu_factor(K)
        x = lu_solve(factor, right)
        x += lu_solve(factor, right - K @ x)
        return d * x[:n], r * x[n:]
    x = np.linalg.lstsq(K, right, rcond=tolerance)[0]
    return d * x[:n], multipliers(A, r * x[n:], tolerance=tolerance)


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


def null_space(
    M: Array,
    f: Array,
    A: Array,
    b: Array,
    *,
    method: str = "svd",
    independent: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    tolerance: float = RANK_TOLERANCE,
) -> tuple[Array, Array]:
    """(v̇, λ) by Maggi's equations: motion on the null space of A, then the reactions."""
    inverse = pseudo_inverse(A, tolerance)
    particular = inverse @ b
    S = complement(A, method, independent=independent, names=names, tolerance=tolerance)
    inner = S.T @ M @ S
    acceleration = particular
    if S.shape[1]:
        acceleration = particular + S @ np.linalg.solve(inner, S.T @ (f - M @ particular))
    lam: Array = inverse.T @ (M @ acceleration - f)
    return acceleration, lam


def project_accelerations(M: Array, f: Array, A: Array, b: Array, *, tolerance: float = RANK_TOLERANCE) -> Array:
    """v̇ of the stacked system [SᵀM; A] v̇ = [Sᵀf; b]."""
    S = complement(A, tolerance=tolerance)
    return np.asarray(np.linalg.lstsq(np.vstack((S.T @ M, A)), np.concatenate((S.T @ f, b)), rcond=None)[0])


def augmented_lagrangian(
    M: Array,
    f: Array,
    A: Array,
    b: Array,
    *,
    penalty: float = PENALTY,
    tolerance: float = PENALTY_TOLERANCE,
    iterations: int = PENALTY_ITERATIONS,
) -> tuple[Array, Array]:
    """(v̇, λ) by penalty and multiplier updates, to convergence.

    Written in corrections of v̇ and λ, so that a large penalty costs no digits. ConvergenceError when the last change
    stays above `tolerance`; that happens near a singular pose, where the other methods decide the rank.
    """
    change = np.inf
    for acceleration, lam, change in itertools.islice(_passes(M, f, A, b, penalty), iterations):
        if change <= tolerance:
            return acceleration, multipliers(A, lam)
    raise ConvergenceError(
        "no-convergence",
        f"the augmented Lagrangian did not settle in {iterations} iterations (last change {change:.1e}, "
        f"wanted {tolerance:.0e}). The pose is near singular.",
        Advice("Use {}, or a larger penalty.", Argument("method", "udwadia_kalaba")),
    )


def penalise(M: Array, f: Array, A: Array, b: Array, *, penalty: float = PENALTY) -> tuple[Array, Array]:
    """(v̇, λ) by the penalty alone: (M + α AᵀA) v̇ = f + α Aᵀb , λ = α (b - A v̇); rows are met up to about 1/α."""
    acceleration, lam, _ = next(_passes(M, f, A, b, penalty))
    return acceleration, multipliers(A, lam)


def _passes(M: Array, f: Array, A: Array, b: Array, penalty: float) -> Iterator[tuple[Array, Array, float]]:
    """(v̇, λ, last change) of every pass of the augmented Lagrangian."""
    d, r = scales(M, A)
    Ms, As = M * np.outer(d, d), (A * d) * r[:, None]
    fs, bs = f * d, b * r
    try:
        factor = cholesky(Ms + penalty * (As.T @ As), lower=True)
    except np.linalg.LinAlgError:
        realizability(M, A)
        raise ModelError("not-positive-definite", NEGATIVE) from None
    y, mu = np.zeros(len(d)), np.zeros(len(r))
    while True:
        gap = bs - As @ y
        right = fs + As.T @ (mu + penalty * gap) - Ms @ y
        step = solve_triangular(factor, solve_triangular(factor, right, lower=True), lower=True, trans="T")
        push = penalty * (gap - As @ step)
        y, mu = y + step, mu + push
        size = max(_largest(y), _largest(Ms @ y), _largest(fs))
        yield d * y, r * mu, max(_largest(step), _largest(As.T @ push)) / (size or 1.0)


def _largest(x: Any) -> float:
    return float(np.abs(x).max(initial=0.0))


def left_null_space(A: Array, tolerance: float = RANK_TOLERANCE) -> Array:
    """Z (m, k), orthonormal, Zᵀ A = 0: what multipliers can change without moving anything."""
    m = A.shape[0]
    if not A.size:
        return np.eye(m)
    U, values, _ = np.linalg.svd(A, full_matrices=True)
    return np.asarray(U[:, rank_of(values, tolerance) :])
