"""Linear-quadratic Gaussian regulators: an optimal gain on the estimate of a Kalman filter (Athans 1971).

What the two do together is told in `output_feedback`. Over a finite horizon K(k) runs backwards from Q_T and L(k)
forwards from the covariance P0 of the first estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy.linalg

from dalembert.control.plant import Weight, chosen_inputs, chosen_outputs, cross_weight, plant, weight
from dalembert.control.state_feedback.lqr import finite_horizon, lqr
from dalembert.control.state_feedback.observer import LinearObserver, kalman_gain, noise_covariance, sampled_noise
from dalembert.control.state_feedback.output_feedback import OutputFeedback
from dalembert.control.state_feedback.schedule import Schedule
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.linear import StateSpace


def lqg(
    system: Any,
    *,
    Q: Weight | None = None,
    R: Weight = 1.0,
    N: Any = None,
    Qy: Weight | None = None,
    Qn: Weight,
    Rn: Weight,
    Nn: Any = None,
    inputs: str | Iterable[str] | None = None,
    known: str | Iterable[str] | None = None,
    outputs: str | Iterable[str] | None = None,
    dt: float | None = None,
    cost: str = "sum",
    noise: str = "sample",
    form: str = "predictor",
    horizon: float | None = None,
    Q_T: Weight | None = None,
    P0: Weight | None = None,
    degree: float = 0.0,
    integral: str | Iterable[str] | Mapping[str, float] | None = None,
    tracking: str | Iterable[str] | None = None,
    limits: Mapping[str, Any] | None = None,
) -> OutputFeedback:
    """Output feedback by an optimal regulator on the estimate of a Kalman filter.

    Parameters
    ----------
    Q, R, N, Qy, dt, cost, degree, integral, tracking, limits : as of :func:`lqr`
    Qn, Rn, Nn, outputs, noise : as of :func:`kalman_gain`
    inputs : inputs the law drives; all that are not known when left out.
    known : inputs that are measured and told to the filter, but not driven.
    form : "predictor" or "current"
        Of a sampled law: u(k) from the samples up to k - 1, or up to k.
    horizon, Q_T, P0 : finite horizon [s], weight of its end, covariance of the first estimate
        Without P0 the filter is steady.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> cart = StateSpace([[0, 1], [0, 0]], [0, 1], [[1, 0]], inputs="push", outputs="position")
    >>> design = lqg(cart, Q=1.0, R=1.0, Qn={"push": 1.0}, Rn=1.0)
    >>> design.L.round(6).ravel().tolist()
    [1.414214, 1.0]
    >>> design.closed_loop().is_stable
    True
    """
    model = plant(system, what="lqg")
    told = () if known is None else chosen_inputs(model, known)
    drives = chosen_inputs(model, inputs if inputs is not None else [n for n in model.inputs if n not in told])
    both = [name for name in drives if name in told]
    if both:
        raise DataError(f"{', '.join(both)} cannot be both driven and known.")
    feedback = lqr(
        model, Q=Q, R=R, N=N, Qy=Qy, inputs=drives, dt=dt, cost=cost, horizon=horizon, Q_T=Q_T, degree=degree,
        integral=integral, tracking=tracking, limits=limits,
    )  # fmt: skip
    observer = kalman_gain(model, Qn=Qn, Rn=Rn, Nn=Nn, outputs=outputs, inputs=(*drives, *told), dt=dt, noise=noise,
                           form=form)  # fmt: skip
    if P0 is None:
        return OutputFeedback(feedback, observer)
    if horizon is None:
        raise DataError("P0 starts a filter that changes with time: give horizon= as well, or leave it out.")
    start = weight("P0", P0, model.states, "state")
    schedule = _filter_schedule(model, observer, start, Qn, Rn, Nn, dt, noise, horizon)
    return OutputFeedback(feedback, observer, filter_schedule=schedule)


def _filter_schedule(
    model: StateSpace, observer: LinearObserver, P0: FloatArray, Qn: Weight, Rn: Weight, Nn: Any, dt: float | None,
    noise: str, horizon: float,
) -> Schedule:  # fmt: skip
    """L(k) (or M(k)) forwards from P0: the dual of a finite-horizon regulator, read the other way round."""
    read = chosen_outputs(model, observer.outputs)
    N = cross_weight("Nn", Nn, model.nx, len(read), "one row per state, one column per output")
    R = weight("Rn", Rn, read, "output", positive=True, complete=True)
    sampled, Q, R, N = sampled_noise(model, noise_covariance(model, Qn), R, N, dt, noise)
    C = sampled.C[[sampled.outputs.index(name) for name in read]]
    forwards, covariances = finite_horizon(sampled.A.T, C.T, Q, R, N, P0, horizon, sampled.dt)
    if observer.form != "current":
        return forwards.reversed()
    P = covariances[:0:-1]
    gains = np.array([scipy.linalg.solve(R + C @ each @ C.T, C @ each, assume_a="pos").T for each in P])
    return Schedule(forwards.times, gains)
