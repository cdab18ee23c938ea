"""Observer gain of a known model from its Markov parameters (spec 000, 51, 53; trap T-14).

    Yᵒ_k = C A^{k-1} G,   P_p = [C; C A; ...; C A^{p-1}],   G = P_p⁺ [Yᵒ_1; ...; Yᵒ_p],   K = -G

With long data and a long observer K is the gain of the steady Kalman predictor, x⁺ = A x + B u + K (y - ŷ).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import DataError
from dalembert.identify.observer_markov import ObserverMarkov
from dalembert.linear.checks import FloatArray
from dalembert.linear.state_space import StateSpace


def observability(A: FloatArray, C: FloatArray, count: int) -> FloatArray:
    """[C; C A; ...; C A^{count-1}], (count ny, nx)."""
    rows = [C]
    for _ in range(count - 1):
        rows.append(rows[-1] @ A)
    return np.vstack(rows)


def gain_from_markov(A: FloatArray, C: FloatArray, markov: FloatArray) -> FloatArray:
    """K = -G (nx, ny) from Yᵒ_1 ... Yᵒ_p, (p, ny, ny)."""
    P = observability(A, C, len(markov))
    return np.asarray(-np.linalg.lstsq(P, markov.reshape(-1, markov.shape[2]), rcond=None)[0])


def observer_gain(system: StateSpace, markov: ObserverMarkov | ArrayLike) -> FloatArray:
    """K of the innovation form x⁺ = A x + B u + K e of a known model (spec 000, 53).

    Parameters
    ----------
    system : StateSpace, sampled
    markov : ObserverMarkov, or (p, ny, ny) array of Yᵒ_1 ... Yᵒ_p

    Returns
    -------
    (nx, ny); spec 000 writes G = -K.
    """
    if system.dt is None:
        raise DataError("an observer gain from Markov parameters needs a sampled system; use to_discrete(dt).")
    values = markov.gain(markov.order) if isinstance(markov, ObserverMarkov) else np.asarray(markov, dtype=np.float64)
    if values.ndim != 3 or values.shape[1:] != (system.ny, system.ny) or not np.isfinite(values).all():
        raise DataError(f"gain Markov parameters have shape {values.shape}; expected (p, {system.ny}, {system.ny}).")
    return gain_from_markov(system.A, system.C, values)


def fitted_gain(
    system: StateSpace, observer: ObserverMarkov, given: FloatArray | None
) -> tuple[FloatArray | None, str]:
    """The gain and a note on it; None where the observer would not be stable."""
    K = observer_gain(system, observer) if given is None else given
    radius = float(np.abs(np.linalg.eigvals(system.A - K @ system.C)).max())
    if not radius < 1.0:
        return None, f"the observer gain would make an unstable observer (largest |z| = {radius:.4g}) and is left out"
    how = "fitted to the gain's Markov parameters" if given is None else "realized together with the model"
    return K, f"observer gain {how}; slowest observer pole |z| = {radius:.4g}"
