"""Observer gain of a known model from its Markov parameters (Juang, Phan, Horta and Longman 1993).

    Yᵒ_k = C A^{k-1} G,   P_p = [C; C A; ...; C A^{p-1}],   G = P_p⁺ [Yᵒ_1; ...; Yᵒ_p],   K = -G

With long data and a long observer K is the gain of the steady Kalman predictor, x⁺ = A x + B u + K (y - ŷ).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from dalembert.core.arrays import FloatArray
from dalembert.core.declare import instance
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.identify.model.playback import free_motion
from dalembert.identify.realization.okid import ObserverMarkov
from dalembert.identify.records.checks import require_finite
from dalembert.linear.state_space import StateSpace


def gain_from_markov(A: FloatArray, C: FloatArray, markov: FloatArray) -> FloatArray:
    """K = -G (nx, ny) from Yᵒ_1 ... Yᵒ_p, (p, ny, ny)."""
    P = free_motion(A, C, len(markov)).reshape(-1, len(A))
    return np.asarray(-np.linalg.lstsq(P, markov.reshape(-1, markov.shape[2]), rcond=None)[0])


def observer_gain_from_markov(system: StateSpace, markov: ObserverMarkov | ArrayLike) -> FloatArray:
    """K of the innovation form x⁺ = A x + B u + K e of a known model.

    Parameters
    ----------
    system : StateSpace, sampled
    markov : ObserverMarkov, or (p, ny, ny) array of Yᵒ_1 ... Yᵒ_p

    Returns
    -------
    (nx, ny); the OKID literature writes G = -K.
    """
    instance(StateSpace)("system", system)
    if system.dt is None:
        raise DataError(
            "not-supported",
            "an observer gain from Markov parameters needs a sampled system.",
            Advice("Use {}.", Call("system.to_discrete", Argument("dt"))),
        )
    values = markov.gain(markov.order) if isinstance(markov, ObserverMarkov) else np.asarray(markov, dtype=np.float64)
    if values.ndim != 3 or values.shape[1:] != (system.ny, system.ny):
        raise DataError(
            "wrong-shape", f"gain Markov parameters have shape {values.shape}; expected (p, {system.ny}, {system.ny})."
        )
    require_finite(values, "some gain Markov parameters are not finite.")
    return gain_from_markov(system.A, system.C, values)


def find_stable_gain(
    system: StateSpace, observer: ObserverMarkov, given: FloatArray | None
) -> tuple[FloatArray | None, FloatArray, str]:
    """The gain, the covariance of its innovation and a note; no gain where no stable observer has it.

    A gain fitted to a model of lower order than the observer may make A - K C unstable. The Riccati equation with
    Q = K Σ Kᵀ, S = K Σ, R = Σ then gives the stable gain with the same spectrum of noise (P = 0 gives the unstable).
    """
    K = observer_gain_from_markov(system, observer) if given is None else given
    A, C, S = system.A, system.C, observer.residual
    radius = _radius(A - K @ C)
    how = "fitted to the gain's Markov parameters" if given is None else "realized together with the model"
    if radius < 1.0:
        return K, S, f"observer gain {how}; slowest observer pole |z| = {radius:.4g}"
    try:
        with np.errstate(invalid="ignore"):  # trial models may overflow
            P = scipy.linalg.solve_discrete_are(A.T, C.T, K @ S @ K.T, S, s=K @ S)
        larger = C @ P @ C.T + S
        stable = np.linalg.solve(larger.T, (A @ P @ C.T + K @ S).T).T
    except (scipy.linalg.LinAlgError, ValueError):
        stable, larger = None, S
    if stable is None or not _radius(A - stable @ C) < 1.0:
        return None, S, f"the observer gain would make an unstable observer (|z| = {radius:.4g}) and is left out"
    largest = _radius(A - stable @ C)
    text = f"observer gain {how}, turned into the stable one with the same noise spectrum (|z| {radius:.4g}"
    return stable, 0.5 * (larger + larger.T), f"{text} to {largest:.4g})"


def _radius(A: FloatArray) -> float:
    return float(np.abs(np.linalg.eigvals(A)).max(initial=0.0))
