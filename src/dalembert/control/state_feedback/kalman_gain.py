"""The gain of an observer by noise: a Kalman filter, steady or over a finite horizon (Kwakernaak and Sivan 1972).

For noise of covariance Q on the states and R on the outputs (sampled: per sample; continuous: intensities), E w vᵀ = N:

    L = (A P Cᵀ + N) (R + C P Cᵀ)⁻¹ ,  M = P Cᵀ (R + C P Cᵀ)⁻¹        continuous: L = (P Cᵀ + N) R⁻¹

with P from the Riccati equation of (Aᵀ, Cᵀ).
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import scipy.linalg

from dalembert.control.judge.reach import require_detectable
from dalembert.control.plant import (
    Horizon,
    Noise,
    OutputNoise,
    Plant,
    SampleTime,
    Sensors,
    StateWeight,
    factor_weight,
    sample,
)
from dalembert.control.state_feedback.lqr import finite_horizon, solve_riccati
from dalembert.control.state_feedback.observer import Form, KnownInputs, LinearObserver
from dalembert.control.state_feedback.schedule import Schedule
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked, matrix, one_of, requires
from dalembert.core.errors import DataError
from dalembert.core.text import list_names
from dalembert.linear import StateSpace

NoiseCross = Annotated[Any, matrix("states", "read", vector="either"), "E w vᵀ of the noise of states and outputs"]
Sampling = Annotated[str, one_of("sample", "intensity"), "noise of every sample, or of continuous time"]
_FINITE = "a filter over a finite horizon needs the covariance of the first estimate, and the horizon"


@checked(requires("P0", "horizon", why=_FINITE), requires("horizon", "P0", why=_FINITE))
def kalman_gain(
    system: Plant,
    *,
    Q: Noise,
    R: OutputNoise,
    N: NoiseCross | None = None,
    outputs: Sensors = None,
    inputs: KnownInputs = None,
    dt: SampleTime | None = None,
    noise: Sampling = "sample",
    form: Form = "current",
    horizon: Horizon | None = None,
    P0: StateWeight | None = None,
) -> LinearObserver:
    """Steady Kalman filter of a linear model, or its gains over a finite horizon.

    Parameters
    ----------
    Q : covariance of the noise on the states
        A number, a diagonal, a matrix, a mapping of state names, or a mapping of input names: noise that enters as
        those inputs do. Variances, not standard deviations.
    noise : "sample" or "intensity"
        With ``dt``: Q is added and R read at every sample; or both are intensities of continuous white noise,
        converted exactly (R / dt). A continuous filter always takes intensities.
    horizon, P0 : finite horizon [s] and covariance of the first estimate
        Both or none; with them the gains change with time (``schedule``).

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> walk = StateSpace(1.0, C=1.0, dt=1.0)
    >>> kalman_gain(walk, Q=1.0, R=1.0).M.round(6).tolist()
    [[0.618034]]
    """
    read = tuple(outputs or ())
    cross = np.zeros((system.nx, len(read))) if N is None else N
    model, Qw, Rv, Nwv = sample_noise(system, Q, R, cross, dt, noise)
    C = model.C[[model.outputs.index(name) for name in read]]
    found = solve_riccati(lambda: check_noise(model, read, C, Qw, Rv, Nwv), model.A.T, C.T, Qw, Rv, Nwv, model.dt)
    schedule = None
    if horizon is not None and P0 is not None:
        schedule = _schedule(model, C, Qw, Rv, Nwv, P0, horizon, current=model.dt is not None and form == "current")
    M = None if model.dt is None else _correction_gain(found.X, C, Rv)
    return LinearObserver(found.K.T, model, read, tuple(inputs or ()), method="noise (steady Kalman)", form=form, M=M,
                          covariance=found.X, residual=found.residual, schedule=schedule)  # fmt: skip


def _correction_gain(P: FloatArray, C: FloatArray, R: FloatArray) -> FloatArray:
    """M = P Cᵀ (R + C P Cᵀ)⁻¹."""
    gain: FloatArray = scipy.linalg.solve(R + C @ P @ C.T, C @ P, assume_a="pos").T
    return gain


def _schedule(
    model: StateSpace, C: FloatArray, Q: FloatArray, R: FloatArray, N: FloatArray, P0: FloatArray, horizon: float,
    *, current: bool,
) -> Schedule:  # fmt: skip
    """L(k) (or M(k)) forwards from P0: the dual of a finite-horizon regulator, in the opposite direction of time."""
    forwards, covariances = finite_horizon(model.A.T, C.T, Q, R, N, P0, horizon, model.dt)
    if not current:
        return forwards.reverse()
    return Schedule(forwards.times, np.array([_correction_gain(P, C, R) for P in covariances[:0:-1]]))


def sample_noise(
    model: StateSpace, Q: FloatArray, R: FloatArray, N: FloatArray, dt: float | None, noise: str
) -> tuple[StateSpace, FloatArray, FloatArray, FloatArray]:
    """Model and covariances per sample; intensities are converted exactly (Van Loan 1978)."""
    sampled = sample(model, dt)
    if dt is None or model.dt is not None or noise == "sample":
        return sampled, Q, R, N
    if N.any():
        raise DataError(
            "not-supported",
            "N of continuous intensities has no sampled counterpart here; leave it out or sample first.",
        )
    n = model.nx
    E = scipy.linalg.expm(np.block([[-model.A, Q], [np.zeros((n, n)), model.A.T]]) * dt)
    Q_ = E[n:, n:].T @ E[:n, n:]
    return sampled, 0.5 * (Q_ + Q_.T), R / dt, N


def check_noise(
    model: StateSpace, read: tuple[str, ...], C: FloatArray, Q: FloatArray, R: FloatArray, N: FloatArray
) -> None:
    """A sensor must show every mode that does not decay; noise must excite those on the stability boundary."""
    require_detectable(
        model.A, C, model.dt, model.states, what=f"is not seen by {list_names(read, {})}", border=False,
        advice="Add a sensor that shows it, some damping, or leave it out of the model (system.minimal()).",
    )  # fmt: skip
    RN = scipy.linalg.solve(R, N.T, assume_a="pos")
    require_detectable(
        (model.A - (C.T @ RN).T).T, factor_weight(Q - N @ RN), model.dt, model.states,
        what="is moved by no noise", advice="Give its states some variance in Q.",
    )  # fmt: skip
