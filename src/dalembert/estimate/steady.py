"""The gain a filter of a constant model settles to.

    P⁻ = A (P⁻ - P⁻ Cᵀ S⁻¹ C P⁻) Aᵀ + Q ,   S = C P⁻ Cᵀ + R          (discrete Riccati equation on Aᵀ, Cᵀ)
    K = P⁻ Cᵀ S⁻¹  (filter) ,   L = A K  (predictor, the K of spec 000-71) ,   P = P⁻ - K S Kᵀ

What the outputs do not show: λ with rank [A - λ I ; C] < n and |λ| ≥ 1 (Popov, Belevitch, Hautus) has no settled
variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ConvergenceError, DataError
from dalembert.expressions import Array
from dalembert.linear.riccati import dare
from dalembert.linear.tables import aligned

HIDDEN = 1e-9  # smallest singular value of [A - λ I ; C], relative
EDGE = 1e-9  # distance from the unit circle that counts as on it


@dataclass(frozen=True, eq=False)
class Steady:
    """Settled gains and covariances of a filter.

    K : (nx, ny) filter gain.  L : (nx, ny) predictor gain.  P, P_before : (nx, nx) covariance after and before a
    sample.  S : (ny, ny) of the innovations.  poles : of the error, eigenvalues of A - L C.
    residual : of the Riccati equation, relative to P_before.
    """

    K: Array
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
        return aligned(head, rows)

    def __repr__(self) -> str:
        slowest = self.poles.real.max(initial=-np.inf) if self.continuous else np.abs(self.poles).max(initial=0.0)
        return (
            f"Steady: slowest pole {slowest:.6g}{' 1/s' if self.continuous else ''}, Riccati residual "
            f"{self.residual:.1e}\n"
            f"{self.table()}"
        )


def steady_gain(A: Array, C: Array, Q: Array, R: Array, states: tuple[str, ...]) -> Steady:
    """Settled gains of x' = A x + w, y = C x + v; `DataError` where there are none."""
    hidden = hidden_modes(A, C, states)
    if hidden:
        raise DataError(
            f"no settled filter: {'; '.join(hidden)}. Add a sensor that shows it, or leave it out of the model."
        )
    try:
        P = dare(A.T, C.T, Q, R).X
    except (ConvergenceError, np.linalg.LinAlgError, ValueError) as error:
        unmoved = hidden_modes(A.T, Q, states, "no noise moves")
        why = f": {'; '.join(unmoved)}. Give Q of it" if unmoved else f" ({error}). Check Q and R"
        raise DataError(f"no settled filter{why}.") from error
    S = C @ P @ C.T + R
    K: Array = np.asarray(np.linalg.solve(S, C @ P).T, dtype=float)
    after = P - K @ S @ K.T
    residual = np.abs(A @ after @ A.T + Q - P).max() / max(np.abs(P).max(), 1e-300)
    poles = np.linalg.eigvals(A - A @ K @ C)
    return Steady(K, A @ K, (after + after.T) / 2, P, (S + S.T) / 2, poles, float(residual), states)


def hidden_modes(
    A: Array, C: Array, states: tuple[str, ...], words: str = "no output shows", *, continuous: bool = False
) -> list[str]:
    """Modes that do not die out and that the outputs do not show, in words."""
    values = np.linalg.eigvals(A)
    found: list[str] = []
    seen: list[complex] = []
    size = max(float(np.linalg.norm(A, 2)), float(np.linalg.norm(C, 2)), 1e-300)
    for s in values:
        lives = s.real >= -EDGE * max(1.0, float(np.abs(values).max())) if continuous else abs(s) >= 1 - EDGE
        if not lives or s.imag < 0 or any(abs(s - other) < 1e-6 * (1 + abs(s)) for other in seen):
            continue
        seen.append(s)
        _, smallest, right = np.linalg.svd(np.vstack([A - s * np.eye(len(A)), C]))
        if smallest[-1] > HIDDEN * size:
            continue
        shape = np.abs(right[-1])
        most = [states[i] for i in np.argsort(-shape) if shape[i] > 0.3 * shape.max()][:4]
        where = f"{s.real:.4g}{s.imag:+.4g}i" if s.imag else f"{s.real:.4g}"
        found.append(f"{words} the mode with eigenvalue {where} (mostly {', '.join(most)})")
    return found
