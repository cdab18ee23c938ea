"""Optimal motion from a given state, open loop, by its two-point boundary value problem (Bryson and Ho 1975).

    continuous   x′ = A x + B u ,        -λ′ = Q x + N u + Aᵀ λ ,                 u = -R⁻¹ (Bᵀ λ + Nᵀ x)
    sampled      x(k+1) = A x + B u ,     λ(k) = Q x + N u + Aᵀ λ(k+1) ,           u = -R⁻¹ (Bᵀ λ(k+1) + Nᵀ x)

with x(0) given and, of every state, either its end x(T) given or λ(T) = Q_T x(T). Over an interval states and adjoints
are related by a triple (A, G, H) of `dalembert.numerics.doubling`; that of the whole horizon gives n equations for
λ(T), and those before and after an instant, (A₁, G₁, H₁) and (A₂, G₂, H₂), give the state and the adjoint there:

    (I + G₁ H₂) x = A₁ x(0) - G₁ A₂ᵀ λ(T) ,    λ = H₂ x + A₂ᵀ λ(T) .

No growing motion of the Hamiltonian is ever formed, so horizons may be long. The cost is x(0)ᵀ λ(0) - x(T)ᵀ λ(T) plus
that of the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import numpy as np

from dalembert.control.plant import (
    Cost,
    CrossWeight,
    Driven,
    Horizon,
    InputWeight,
    Plant,
    SampleTime,
    StateWeight,
    reference_values,
    state_values,
)
from dalembert.control.state_feedback.lqr import horizon_steps, pose_problem, without_cross_term
from dalembert.control.state_feedback.observer import first_estimate
from dalembert.control.state_feedback.state_feedback import units_of
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked, count, mapping, number
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.core.text import list_names
from dalembert.estimate.models.process import machine_names
from dalembert.linear import StateSpace
from dalembert.numerics import doubling
from dalembert.record import Record

Steps = Annotated[int, count(1, 1_000_000), "intervals of the record of a continuous system, exact at any number"]
End = Annotated[
    Mapping[str, float] | None, mapping("state", number), "states prescribed at the end; others are free, with Q_T"
]


@checked
def plan_motion(
    system: Plant,
    start: object,
    *,
    horizon: Horizon,
    end: End = None,
    Q: StateWeight | None = None,
    R: InputWeight = 1.0,
    N: CrossWeight | None = None,
    Q_T: StateWeight | None = None,
    inputs: Driven = None,
    dt: SampleTime | None = None,
    cost: Cost = "sum",
    steps: Steps = 200,
) -> Record:
    """Inputs and motion of least quadratic cost from a given state, over a finite time, open loop.

    The motion is that of :func:`lqr` with the same horizon; in addition states can be brought to given values at its
    end. Without feedback, model errors are not corrected: track the result, or use ``lqr``.

    Parameters
    ----------
    start : {state: value} or (nx,)
        State at the beginning; states left out are at the operating point.
    Q, R, N, Q_T, inputs, dt, cost : as of :func:`lqr`
        ``Q`` may be left out: then only effort is weighted. They weigh deviations from the operating point.

    Returns
    -------
    Record
        Driven inputs, states, outputs, and adjoints ``adjoint.<state>`` (half the gradient of the cost-to-go);
        ``statistics["cost"]``. A sampled input is held until the next time; its last value is repeated at T.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> cart = StateSpace([[0, 1], [0, 0]], [0, 1], states=["position", "speed"], inputs="push")
    >>> plan = plan_motion(cart, {"position": 0.0}, horizon=1.0, end={"position": 1.0, "speed": 0.0}, steps=4)
    >>> plan["push"].round(9).tolist(), round(plan.statistics["cost"], 9)
    ([6.0, 3.0, 0.0, -3.0, -6.0], 12.0)
    """
    drives, T = tuple(inputs or ()), horizon
    model, Q_, R_, N_ = pose_problem(system, drives, Q, R, N, None, dt, cost)
    intervals = steps if model.dt is None else horizon_steps(T, model.dt)
    B = model.B[:, [model.inputs.index(name) for name in drives]]
    A_, G, H, RB, RN = without_cross_term(model.A, B, Q_, R_, N_)
    interval = (A_, G, H) if model.dt is not None else doubling.interval(A_, G, H, T / intervals)
    at_end = np.zeros_like(H) if Q_T is None else Q_T
    names = machine_names(model)
    reference = reference_values(model, model.states)
    x0 = first_estimate(model, start, reference) - reference
    ends = state_values("end", model, end or {})
    rows, wanted = list(ends), np.array([value - reference[row] for row, value in ends.items()])
    spans = _compose_intervals(interval, intervals)
    last = _last_adjoint(spans[-1], at_end, x0, rows, wanted, names)
    x, adjoint = _evaluate_motion(spans, x0, last)
    if model.dt is None:
        u = -(adjoint @ RB.T + x @ RN.T)
    else:
        u = -(adjoint[1:] @ RB.T + x[:-1] @ RN.T)
        u = np.vstack([u, u[-1:]])
    total = float(x0 @ adjoint[0] - x[-1] @ (adjoint[-1] - at_end @ x[-1]))
    return _record(model, names, drives, reference, np.linspace(0.0, T, intervals + 1), x, u, adjoint, total)


def _compose_intervals(interval: doubling.Triple, count: int) -> list[doubling.Triple]:
    """Triples over 0, 1, ... ``count`` intervals: equal ones, so the first k and the last k have the same triple."""
    n = len(interval[0])
    spans: list[doubling.Triple] = [(np.eye(n), np.zeros((n, n)), np.zeros((n, n)))]
    for _ in range(count):
        spans.append(doubling.join(spans[-1], interval))
    return spans


def _last_adjoint(
    horizon: doubling.Triple, at_end: FloatArray, x0: FloatArray, rows: list[int], wanted: FloatArray,
    names: tuple[str, ...], singular: float = 1e-12,
) -> FloatArray:  # fmt: skip
    """λ(T) from x(T) = A x₀ - G λ(T): Q_T x(T) of the free states, x(T) as prescribed of the others.

    singular : reciprocal condition below which a prescribed state is out of reach: 1e4 roundings.
    """
    A, G, _ = horizon
    arrived = A @ x0
    matrix, right = np.eye(len(A)) + at_end @ G, at_end @ arrived
    matrix[rows], right[rows] = -G[rows], wanted - arrived[rows]
    down = np.maximum(np.abs(matrix).max(axis=1), np.finfo(float).tiny)
    across = np.maximum(np.abs(matrix / down[:, None]).max(axis=0), np.finfo(float).tiny)
    balanced = matrix / down[:, None] / across
    values = np.linalg.svd(balanced, compute_uv=False)
    if rows and values[-1] <= singular * values[0]:
        raise DataError(
            "not-reachable",
            f"the inputs cannot bring {list_names([names[i] for i in rows], {})} to given values within the horizon, "
            "at least not independently.",
            Advice(
                "Prescribe fewer states, take a longer horizon, or drive more inputs ({} lists the modes they reach).",
                Call("da.control.controllability"),
            ),
        )
    return np.asarray(np.linalg.solve(balanced, right / down) / across)


def _evaluate_motion(spans: list[doubling.Triple], x0: FloatArray, last: FloatArray) -> tuple[FloatArray, FloatArray]:
    """States and adjoints (instants, n)."""
    n = len(x0)
    x, adjoint = np.empty((len(spans), n)), np.empty((len(spans), n))
    for k, ((A1, G1, _), (A2, _, H2)) in enumerate(zip(spans, reversed(spans), strict=True)):
        pulled = A2.T @ last
        x[k] = np.linalg.solve(np.eye(n) + G1 @ H2, A1 @ x0 - G1 @ pulled)
        adjoint[k] = H2 @ x[k] + pulled
    return x, adjoint


def _record(
    model: StateSpace, names: tuple[str, ...], drives: tuple[str, ...], reference: FloatArray, time: FloatArray,
    x: FloatArray, u: FloatArray, adjoint: FloatArray, total: float,
) -> Record:  # fmt: skip
    columns = [model.inputs.index(name) for name in drives]
    y = x @ model.C.T + u @ model.D[:, columns].T + reference_values(model, model.outputs)
    rows = [k for k, name in enumerate(model.outputs) if name not in names and name not in drives]
    outputs = tuple(model.outputs[k] for k in rows)
    data = np.hstack([u + reference_values(model, drives), x + reference, y[:, rows], adjoint])
    every = (*drives, *names, *outputs, *(f"adjoint.{name}" for name in names))
    units = [*units_of(model, drives), *units_of(model, model.states), *units_of(model, outputs), *[""] * len(names)]
    return Record(
        time, data, every, units, statistics={"cost": total}, provenance={"made by": "da.control.plan_motion"}
    )
