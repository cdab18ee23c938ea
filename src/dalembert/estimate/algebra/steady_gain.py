"""The steady gain of a filter of a constant model.

    P⁻ = A (P⁻ - P⁻ Cᵀ S⁻¹ C P⁻) Aᵀ + Q ,   S = C P⁻ Cᵀ + R          (discrete Riccati equation on Aᵀ, Cᵀ)
    K = P⁻ Cᵀ S⁻¹  (filter) ,   L = A K  (predictor) ,   P = P⁻ - K S Kᵀ

A mode λ with |λ| ≥ 1 that no output shows, rank [A - λ I ; C] < n (Popov, Belevitch, Hautus), has no steady variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from dalembert.core.errors import ConvergenceError, DataError
from dalembert.core.findings import Advice
from dalembert.core.tables import align_columns
from dalembert.expressions import Array
from dalembert.linear.transforms.riccati import dare
from dalembert.numerics import ties


def is_certain(lowest: float, n: int, rounding: float = 64 * 2.0**-52) -> bool:
    """Whether S is singular, from its lowest eigenvalue (or singular value of its factor) scaled to variances of 1.

    A sum of n products has a rounding of n ε at most; the factor 64 is for the recursion that made S.
    """
    return bool(lowest <= rounding * n)


def has_share(shape: Array, largest: float | None = None, share: float = 0.1) -> Array:
    """Which components of a null vector name it: a smaller one has less than 1 % of its variance."""
    size = np.abs(shape)
    return np.asarray(size > share * (size.max() if largest is None else largest))


@dataclass(frozen=True, eq=False)
class SteadyGain:
    """Limits of gains and covariances of a filter.

    M : (nx, ny) filter gain.  L : (nx, ny) predictor gain.  P, P_before : (nx, nx) covariance after and before a
    sample.  S : (ny, ny) of the innovations.  poles : of the error, eigenvalues of A - L C.
    residual : of the Riccati equation, relative to P_before.
    """

    M: Array
    L: Array
    P: Array
    P_before: Array
    S: Array
    poles: Any
    residual: float
    states: tuple[str, ...]
    continuous: bool = False

    def table(self) -> str:
        rows = [
            [name, *(f"{v:.6g}" for v in row), f"{np.sqrt(self.P[i, i]):.4g}"]
            for i, (name, row) in enumerate(zip(self.states, self.L, strict=True))
        ]
        head = ["state", *(f"L[:, {j}]" for j in range(self.L.shape[1])), "deviation"]
        return align_columns(head, rows)

    def __repr__(self) -> str:
        slowest = self.poles.real.max(initial=-np.inf) if self.continuous else np.abs(self.poles).max(initial=0.0)
        return (
            f"SteadyGain: slowest pole {slowest:.6g}{' 1/s' if self.continuous else ''}, Riccati residual "
            f"{self.residual:.1e}\n"
            f"{self.table()}"
        )


def steady_gain(A: Array, C: Array, Q: Array, R: Array, states: tuple[str, ...]) -> SteadyGain:
    """Steady gains of x' = A x + w, y = C x + v; `DataError` where there are none."""
    hidden = hidden_modes(A, C, states)
    if hidden:
        problem = f"the filter has no steady gain: {'; '.join(hidden)}."
        raise DataError("no-steady-filter", problem, Advice("Add a sensor that shows it, or leave the mode out."))
    try:
        P = dare(A.T, C.T, Q, R).X.copy()
    except (ConvergenceError, np.linalg.LinAlgError, ValueError) as error:
        unmoved = hidden_modes(A.T, Q, states, "no noise moves")
        why, advice = "; ".join(unmoved) or str(error).rstrip("."), "Check Q and R."
        if unmoved:
            advice = "Give it a variance in Q."
        elif np.linalg.matrix_rank(R, hermitian=True) < len(R):
            why = "R is singular, and outputs without noise of their own repeat each other"
            advice = "Give each a variance in R."
        raise DataError("no-steady-filter", f"the filter has no steady gain: {why}.", Advice(advice)) from error
    S = C @ P @ C.T + R
    scale = np.sqrt(np.maximum(S.diagonal(), 0.0))
    if (scale <= 0).any() or is_certain(np.linalg.eigvalsh(S / np.outer(scale, scale))[0], len(S)):
        problem = "the steady filter is certain of a reading before it is taken (S is singular)."
        raise DataError("singular-innovation", problem, Advice("Give every output a variance in R."))
    K: Array = np.asarray(np.linalg.solve(S, C @ P).T, dtype=float)
    after = P - K @ S @ K.T
    for matrix in (after, P):  # a variance of zero may have come out below it
        np.fill_diagonal(matrix, np.maximum(matrix.diagonal(), 0.0))
    residual = np.abs(A @ after @ A.T + Q - P).max() / max(np.abs(P).max(), 1e-300)
    poles = np.linalg.eigvals(A - A @ K @ C)
    return SteadyGain(K, A @ K, (after + after.T) / 2, P, (S + S.T) / 2, poles, float(residual), states)


def hidden_modes(
    A: Array,
    C: Array,
    states: tuple[str, ...],
    words: str = "no output shows",
    *,
    continuous: bool = False,
    singular: float = 1e-9,  # smallest singular value of the balanced [A - λ I ; C], relative: rounding leaves 1e-13
    edge: float = 1e-9,  # distance from the unit circle (or the imaginary axis) that counts as on it
) -> list[str]:
    """Modes that do not decay and that the outputs do not show, in words."""
    balanced, (scale, _) = scipy.linalg.matrix_balance(A, permute=False, separate=True)
    size = max(float(np.linalg.norm(balanced, 2)), 1e-300)
    rows = C * scale
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(length > 0, length, 1.0) * size  # neither units nor gains of sensors may decide
    hidden: list[str] = []
    for s in _clusters(np.linalg.eigvals(A)):
        lives = s.real >= -edge * size if continuous else abs(s) >= 1 - edge
        if not lives or s.imag < 0:
            continue
        _, sigma, Vh = np.linalg.svd(np.vstack([balanced - s * np.eye(len(A)), rows]))
        if sigma[-1] > singular * size:
            continue
        shape = np.abs(Vh[-1])
        most = [states[i] for i in ties.largest_first(shape) if has_share(shape)[i]][:4]
        where = f"{s.real:.4g}{s.imag:+.4g}i" if s.imag else f"{s.real:.4g}"
        hidden.append(f"{words} the mode with eigenvalue {where} (mostly {', '.join(most)})")
    return hidden


def _clusters(values: Any, split: float = 1e-5) -> list[complex]:
    """Eigenvalues, those that rounding may have split replaced by their mean (which it hardly moves).

    split : distance of such eigenvalues; a triple one splits by ε^(1/3).
    """
    single, means = list(values), []
    while single:
        first = single[0]
        near = [v for v in single if abs(v - first) <= split * (1 + abs(first))]
        single = [v for v in single if abs(v - first) > split * (1 + abs(first))]
        mean = complex(np.mean(near))
        means.append(mean.real + 0j if abs(mean.imag) <= split * (1 + abs(mean)) else mean)
    return means
