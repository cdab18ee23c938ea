"""Ibrahim's time-domain method (ITD) with double least squares.

Φ₁, Φ₂ are the decays and the decays one sample later, stacked with delays; A Φ₁ = Φ₂ is solved by the mean of two least
squares, ½ [Φ₂ Φ₁ᵀ (Φ₁ Φ₁ᵀ)⁻¹ + Φ₂ Φ₂ᵀ (Φ₁ Φ₂ᵀ)⁻¹], whose damping biases cancel to first order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.identify.model.identified import Identified
from dalembert.identify.realization.decays import Decays, choose_order, choose_window, decays_of, name_modes
from dalembert.identify.realization.hankel import decompose, hankel
from dalembert.identify.records.reporting import report_findings
from dalembert.record import Record


@report_findings
def ibrahim(
    decays: Decays | Record | Sequence[Record], *, order: int | None = None, outputs: str | Iterable[str] | None = None,
    rows: int | None = None,
) -> Identified:  # fmt: skip
    """Modes from free decays or correlations by Ibrahim's time-domain method with double least squares.

    Parameters
    ----------
    decays : Decays, or records of free decays
    order : int, optional
        Number of states; at the last clear gap of the singular values when left out.
    outputs : names, for records
    rows : int, optional
        Delayed copies of the outputs that are stacked.
    """
    source, findings = decays_of(decays, outputs)
    a, b = choose_window(source, rows, None)
    U, s, _ = decompose(hankel(source.values, a, b))
    n, why, more = choose_order(s, order)
    basis = U[:, :n]
    now, later = basis.T @ hankel(source.values, a, b), basis.T @ hankel(source.values, a, b, 1)
    A = double_least_squares(now, later)
    notes = [why, f"singular values of {a} delayed copies; two least squares averaged"]
    C = basis[: len(source.outputs)]
    return name_modes(source, A, C, s, "Ibrahim's method", notes, [*findings, *more])


def double_least_squares(now: FloatArray, later: FloatArray) -> FloatArray:
    """A of A now = later, the mean of two estimates whose noise biases are opposite; now, later : (n, columns)."""
    cross = later @ now.T
    first = np.linalg.solve(now @ now.T, cross.T).T
    second = np.linalg.solve(cross, later @ later.T).T  # Φ₂Φ₂ᵀ (Φ₁Φ₂ᵀ)⁻¹, transposed
    return np.asarray(0.5 * (first + second))
