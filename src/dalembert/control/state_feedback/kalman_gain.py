"""The gain of an observer by noise: a Kalman filter, steady or over a finite horizon (Kwakernaak and Sivan 1972).

For noise of covariance Q on the states and R on the outputs (sampled: per sample; continuous: intensities), E w vᵀ = N:

    L = (A P Cᵀ + N) (R + C P Cᵀ)⁻¹ ,  M = P Cᵀ (R + C P Cᵀ)⁻¹        continuous: L = (P Cᵀ + N) R⁻¹

with P from the Riccati equation of (Aᵀ, Cᵀ).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import scipy.linalg

from dalembert.control.judge.reach import require_detectable
from dalembert.control.plant import (
    Weight,
    choose_outputs,
    cross_weight,
    factor_weight,
    plant,
    weight,
)
from dalembert.control.state_feedback.lqr import finite_horizon, solve_riccati
from dalembert.control.state_feedback.observer import (
    LinearObserver,
    choose_known_inputs,
    require_outputs,
)
from dalembert.control.state_feedback.schedule import Schedule
from dalembert.core.arguments import real_number
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.core.text import list_names
from dalembert.linear import StateSpace


def kalman_gain(
    system: object,
    *,
    Q: Weight,
    R: Weight,
    N: object = None,
    outputs: str | Iterable[str] | None = None,
    inputs: str | Iterable[str] | None = None,
    dt: float | None = None,
    noise: str = "sample",
    form: str = "current",
    horizon: float | None = None,
    P0: Weight | None = None,
) -> LinearObserver:
    """Steady Kalman filter of a linear model, or its gains over a finite horizon.

    Parameters
    ----------
    Q : covariance of the noise on the states
        A number, a diagonal, a matrix, a mapping of state names, or a mapping of input names: noise that enters as
        those inputs do. Variances, not standard deviations.
    R : covariance of the noise of the outputs, positive definite
    N : (nx, ny), optional
        E w vᵀ.
    dt : float, optional
        Sample a continuous system first.
    noise : "sample" or "intensity"
        With ``dt``: Q is added and R read at every sample; or both are intensities of continuous white noise,
        converted exactly (R / dt). A continuous filter always takes intensities.
    outputs, inputs, form : as of :func:`observer_gain`
    horizon, P0 : finite horizon [s] and covariance of the first estimate
        Both or none; with them the gains change with time (``schedule``).

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> walk = StateSpace(1.0, C=1.0, dt=1.0)
    >>> kalman_gain(walk, Q=1.0, R=1.0).M.round(6).tolist()
    [[0.618034]]
    """
    model = plant(system, what="kalman_gain")
    read, known = require_outputs(choose_outputs(model, outputs)), choose_known_inputs(model, inputs)
    Qw, Rv = noise_covariance(model, Q), weight("R", R, read, "output", positive=True, complete=True)
    Nwv = cross_weight("N", N, model.nx, len(read), "one row per state, one column per output")
    model, Qw, Rv, Nwv = sample_noise(model, Qw, Rv, Nwv, dt, noise)
    C = model.C[[model.outputs.index(name) for name in read]]
    found = solve_riccati(lambda: check_noise(model, read, C, Qw, Rv, Nwv), model.A.T, C.T, Qw, Rv, Nwv, model.dt)
    schedule = None
    if (P0 is None) != (horizon is None):
        raise DataError(
            "missing-argument",
            "a filter over a finite horizon needs the covariance of the first estimate, and the horizon.",
            Advice("Give both: {}.", Argument("P0")),
            Advice("The other is {}.", Argument("horizon")),
        )
    if P0 is not None and horizon is not None:
        start = weight("P0", P0, model.states, "state")
        schedule = _schedule(model, C, Qw, Rv, Nwv, start, horizon, current=model.dt is not None and form == "current")
    M = None if model.dt is None else _correction_gain(found.X, C, Rv)
    return LinearObserver(found.K.T, model, read, known, method="noise (steady Kalman)", form=form, M=M,
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


def noise_covariance(model: StateSpace, Q: Weight) -> FloatArray:
    """(nx, nx); a mapping of inputs gives B Q Bᵀ."""
    if isinstance(Q, Mapping) and Q and all(name in model.inputs and name not in model.states for name in Q):
        variances = np.diag(weight("Q", Q, model.inputs, "input"))
        entered: FloatArray = (model.B * variances) @ model.B.T
        return entered
    return weight("Q", Q, model.states, "state")


def sample_noise(
    model: StateSpace, Q: FloatArray, R: FloatArray, N: FloatArray, dt: float | None, noise: str
) -> tuple[StateSpace, FloatArray, FloatArray, FloatArray]:
    """Model and covariances per sample; intensities are converted exactly (Van Loan 1978)."""
    if noise not in ("sample", "intensity"):
        raise DataError(
            "unknown-choice", f"noise must be 'sample' (covariances per sample) or 'intensity', got {noise!r}."
        )
    if dt is None or model.dt is not None:
        return plant(model, dt=dt), Q, R, N
    step = real_number("dt", dt)
    sampled = plant(model, dt=step)
    if noise == "sample":
        return sampled, Q, R, N
    if N.any():
        raise DataError(
            "not-supported",
            "N of continuous intensities has no sampled counterpart here; leave it out or sample first.",
        )
    n = model.nx
    E = scipy.linalg.expm(np.block([[-model.A, Q], [np.zeros((n, n)), model.A.T]]) * step)
    Q_ = E[n:, n:].T @ E[:n, n:]
    return sampled, 0.5 * (Q_ + Q_.T), R / step, N


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
