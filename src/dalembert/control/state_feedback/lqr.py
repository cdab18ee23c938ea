"""Linear-quadratic regulators (Anderson and Moore 1990).

continuous   J = ∫₀ᵀ (xᵀ Q x + uᵀ R u + 2 xᵀ N u) dt + x(T)ᵀ Q_T x(T)
sampled      J = Σ (xᵀ Q x + uᵀ R u + 2 xᵀ N u)     + x_Nᵀ Q_T x_N

(where a book halves the cost, the gains are the same). Infinite horizon: the algebraic Riccati equation. Finite:
its differential or difference form from X(T) = Q_T backwards, by doubling (`numerics.doubling`), never through
X⁻¹, which a singular Q_T does not have. Prescribed degree of stability α: the problem of A + α I (sampled: e^{α dt} A
and e^{α dt} B), whose closed loop has every pole left of -α. Integral action and references as in `state_feedback`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from dalembert.control.judge.reach import does_not_decay, require_detectable, require_stabilizable
from dalembert.control.plant import (
    THRESHOLDS,
    Weight,
    choose_inputs,
    choose_outputs,
    cross_weight,
    factor_weight,
    plant,
    weight,
)
from dalembert.control.state_feedback.schedule import Schedule
from dalembert.control.state_feedback.state_feedback import StateFeedback, with_integrals
from dalembert.core.arguments import real_number
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ConvergenceError, DataError
from dalembert.core.findings import Advice, Argument
from dalembert.linear import StateSpace
from dalembert.linear.transforms.riccati import RiccatiSolution, care, dare
from dalembert.numerics import doubling
from dalembert.numerics.sample_times import count_multiple


@dataclass(frozen=True)
class HorizonNodes:
    """Nodes of the gain over a continuous finite horizon."""

    first: int = 8  # equal intervals that it is first cut into; they are halved where the gain needs it
    error: float = 1e-6  # of the cubic in the middle of an interval, relative to the largest gain: below model errors
    longest: float = 1e15  # of the horizon, in shortest times of the loop: its end is then lost in rounding
    halvings: int = 30  # limit for a gain with a jump: 8 · 2³⁰ intervals resolve 1e-10 of the horizon


NODES = HorizonNodes()
MOST_STEPS = 1_000_000  # of a horizon in samples: a minute


def lqr(
    system: object,
    *,
    Q: Weight | None = None,
    R: Weight = 1.0,
    N: object = None,
    Qy: Weight | None = None,
    inputs: str | Iterable[str] | None = None,
    dt: float | None = None,
    cost: str = "sum",
    horizon: float | None = None,
    Q_T: Weight | None = None,
    degree: float = 0.0,
    integral: str | Iterable[str] | Mapping[str, float] | None = None,
    tracking: str | Iterable[str] | None = None,
    limits: Mapping[str, Any] | None = None,
) -> StateFeedback:
    """State feedback that minimises a quadratic cost.

    Parameters
    ----------
    system : StateSpace, SecondOrder, or result of ``da.linearize``
    Q, R : weights of the states and of the driven inputs
        A number, a diagonal, a matrix, or a mapping of names to diagonal entries (states left out weigh nothing).
    N : (nx, nu), optional
        Cross term, 2 xᵀ N u.
    Qy : weight of the outputs, optional
        Added to the others as yᵀ Qy y with y = C x + D u.
    inputs : names, optional
        The inputs the law drives; all when left out.
    dt : float, optional
        Sample a continuous system first (zero-order hold) and design for it.
    cost : "sum" or "integral"
        With ``dt``: weights of every sample, or of continuous time (then converted exactly to the samples).
    horizon : float, optional
        T [s]; infinite when left out. ``Q_T`` weighs the state at its end (zero when left out). After it the last gain
        stays.
    degree : float
        α [1/s]: all poles of the closed loop left of -α.
    integral : outputs, or mapping of outputs to weights, optional
        Outputs whose integrated error is brought to zero.
    tracking : outputs, optional
        Outputs with a reference, reached by feedforward from the static map.
    limits : {input: number or (low, high)}, optional
        The law stays within its limits and integrates no error that would drive it beyond them. In ``da.simulate``
        the limits of its actuators apply too.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> cart = StateSpace([[0, 1], [0, 0]], [0, 1], states=["position", "speed"], inputs="push")
    >>> lqr(cart, Q={"position": 1.0, "speed": 1.0}, R=1.0).K.round(6).tolist()
    [[1.0, 1.732051]]
    """
    model, drives, Q_, R_, N_ = pose_problem(system, inputs, Q, R, N, Qy, dt, cost, "lqr")
    integrals, Q_i = _integral(model, integral)
    followed = () if tracking is None else choose_outputs(model, tracking)
    A, B = with_integrals(model, drives, integrals)
    Q_ = scipy.linalg.block_diag(Q_, np.diag(Q_i)) if integrals else Q_
    N_ = np.vstack([N_, np.zeros((len(integrals), len(drives)))])
    rest: dict[str, Any] = {"integral": integrals, "tracking": followed, "limits": limits}
    n = model.nx
    if horizon is not None:
        if degree:
            raise DataError(
                "conflicting-arguments",
                "a degree of stability belongs to an infinite horizon: leave out degree or horizon.",
            )
        end = np.zeros((len(A), len(A)))
        if Q_T is not None:
            end[:n, :n] = weight("Q_T", Q_T, model.states, "state")
        if integrals:
            raise DataError("conflicting-arguments", "integral action needs an infinite horizon: leave out horizon.")
        schedule, costs = finite_horizon(A, B, Q_, R_, N_, end, horizon, model.dt)
        return StateFeedback(schedule.gains[0], model, drives, method="LQR over a finite horizon", cost=costs[0],
                             schedule=schedule, **rest)  # fmt: skip
    if Q_T is not None:
        raise DataError(
            "missing-argument",
            "Q_T weighs the end of a horizon.",
            Advice("Give {} as well.", Argument("horizon")),
        )
    grown = _shift_poles(A, B, model.dt, degree)

    def why() -> None:
        _check(model, drives, integrals, A, B, Q_, R_, N_, degree)

    found = solve_riccati(why, *grown, Q_, R_, N_, model.dt)
    return StateFeedback(found.K[:, :n], model, drives, method="LQR", cost=found.X, residual=found.residual,
                         K_integral=found.K[:, n:], **rest)  # fmt: skip


def solve_riccati(
    why: Callable[[], None], A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray, N: FloatArray, dt: float | None
) -> RiccatiSolution:
    """Solve the Riccati equation; without a stabilizing solution ``why`` raises the reason."""
    try:
        found = care(A, B, Q, R, N) if dt is None else dare(A, B, Q, R, N, dt=dt)
    except ConvergenceError:
        why()
        raise
    if does_not_decay(found.poles.values, dt).any():
        why()
    return found


def pose_problem(
    system: object, inputs: str | Iterable[str] | None, Q: object, R: object, N: object, Qy: object,
    dt: float | None, cost: str, what: str,
) -> tuple[StateSpace, tuple[str, ...], FloatArray, FloatArray, FloatArray]:  # fmt: skip
    """The model, sampled with ``dt``; the driven inputs; Q, R and N of their cost."""
    model = plant(system, what=what)
    drives = choose_inputs(model, inputs)
    Q_, R_, N_ = _weights(model, drives, Q, R, N, Qy)
    if cost not in ("sum", "integral"):
        raise DataError(
            "unknown-choice",
            f"cost must be 'sum' (weights of samples) or 'integral' (of continuous time), got {cost!r}.",
        )
    if dt is not None:
        if cost == "integral" and model.dt is None:
            Q_, R_, N_ = sample_cost(model, drives, Q_, R_, N_, real_number("dt", dt))
        model = plant(model, dt=dt, what=what)
    return model, drives, Q_, R_, N_


def _weights(
    model: StateSpace, drives: tuple[str, ...], Q: object, R: object, N: object, Qy: object
) -> tuple[FloatArray, FloatArray, FloatArray]:
    n, m = model.nx, len(drives)
    if Q is None and Qy is None:
        raise DataError(
            "missing-argument",
            "neither states nor outputs have a weight.",
            Advice("Give {}.", Argument("Q"), Argument("Qy")),
        )
    Q_ = np.zeros((n, n)) if Q is None else weight("Q", Q, model.states, "state")
    R_ = weight("R", R, drives, "input", positive=True, complete=True)
    N_ = cross_weight("N", N, n, m, "one row per state, one column per driven input")
    if Qy is not None:
        Qy_ = weight("Qy", Qy, model.outputs, "output")
        D = model.D[:, [model.inputs.index(name) for name in drives]]
        Q_ = Q_ + model.C.T @ Qy_ @ model.C
        R_ = R_ + D.T @ Qy_ @ D
        N_ = N_ + model.C.T @ Qy_ @ D
    if N_.any():
        whole = np.block([[Q_, N_], [N_.T, R_]])
        values = np.linalg.eigvalsh(whole)
        if values[0] < -THRESHOLDS.indefinite * abs(values[-1]):
            raise DataError(
                "not-positive-definite",
                f"the cost is indefinite: [[Q, N], [Nᵀ, R]] has the eigenvalue {values[0]:.3g}. Make the cross term N "
                "smaller, or Q and R larger.",
            )
    return Q_, R_, N_


def _integral(model: StateSpace, integral: Any) -> tuple[tuple[str, ...], FloatArray]:
    if integral is None:
        return (), np.zeros(0)
    names = choose_outputs(model, list(integral) if isinstance(integral, Mapping) else integral)
    weights = [real_number(f"the weight of the integral of {name!r}", integral[name]) for name in names] if isinstance(
        integral, Mapping) else [1.0] * len(names)  # fmt: skip
    if any(value <= 0.0 for value in weights):
        raise DataError("not-positive", f"weights of integrals must be positive, got {integral!r}.")
    return names, np.array(weights)


def _shift_poles(A: FloatArray, B: FloatArray, dt: float | None, degree: float) -> tuple[FloatArray, FloatArray]:
    """The shifted system, which is stable where this one has the degree of stability α."""
    degree = real_number("degree", degree)
    if degree < 0.0:
        raise DataError(
            "negative", f"degree is the rate [1/s] at which all motions must at least decay, from 0; got {degree:g}."
        )
    if dt is None:
        return A + degree * np.eye(len(A)), B
    return math.exp(degree * dt) * A, math.exp(degree * dt) * B


def _check(
    model: StateSpace, drives: tuple[str, ...], integrals: tuple[str, ...], A: FloatArray, B: FloatArray,
    Q: FloatArray, R: FloatArray, N: FloatArray, degree: float,
) -> None:  # fmt: skip
    """Every mode that does not decay by itself must be reached by an input and have a weight."""
    states = (*model.states, *(f"integral({name})" for name in integrals))
    require_stabilizable(A, B, model.dt, states, drives, degree)
    reduced = A - B @ scipy.linalg.solve(R, N.T, assume_a="pos")
    rest = Q - N @ scipy.linalg.solve(R, N.T, assume_a="pos")
    require_detectable(reduced, factor_weight(rest), model.dt, states, degree)


def finite_horizon(
    A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray, N: FloatArray, end: FloatArray, horizon: float,
    dt: float | None,
) -> tuple[Schedule, FloatArray]:  # fmt: skip
    """Gains over the horizon, and the costs-to-go X (k, n, n) that belong to them.

    A sampled horizon of N steps has N gains, at 0, dt, ..., (N - 1) dt, and N + 1 costs; a continuous one has nodes
    where the cubics between them need them.
    """
    T, count = horizon_steps(horizon, dt)
    if dt is None:
        return _continuous_horizon(A, B, Q, R, N, end, T)
    costs, gains = [end], []
    for _ in range(count):
        X_ = costs[-1]
        K = scipy.linalg.solve(R + B.T @ X_ @ B, B.T @ X_ @ A + N.T, assume_a="pos")
        # (A - B K)ᵀ X (A - B K) + ... : Joseph's form, symmetric and positive for any rounding of K
        closed = A - B @ K
        NK = N @ K
        X_ = closed.T @ X_ @ closed + Q - NK - NK.T + K.T @ R @ K
        costs.append(0.5 * (X_ + X_.T))
        gains.append(K)
    times: FloatArray = np.arange(count, dtype=np.float64) * dt
    return Schedule(times, np.array(gains[::-1])), np.array(costs[::-1])


def horizon_steps(horizon: float, dt: float | None) -> tuple[float, int]:
    """The horizon [s], checked, and its number of samples (0 of a continuous system)."""
    T = real_number("horizon", horizon)
    if T <= 0.0:
        raise DataError("not-positive", f"horizon is a time in seconds above 0, got {T:g}.")
    if dt is None:
        return T, 0
    count = count_multiple(T, dt)
    if count is None:
        raise DataError(
            "not-a-count",
            f"horizon = {T:g} s is no whole number of samples of {dt:g} s; take {max(round(T / dt), 1) * dt:g} s.",
        )
    if count > MOST_STEPS:
        raise _too_long(T, f"has {count:g} samples of {dt:g} s, more than {MOST_STEPS}")
    return T, count


def _too_long(T: float, why: str) -> DataError:
    advice = Advice("Without {} it is infinite.", Argument("horizon"))
    return DataError("out-of-range", f"horizon = {T:g} s {why}.", advice, where={"argument": "horizon"})


def without_cross_term(
    A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray, N: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """A, G = B R⁻¹ Bᵀ and Q of the same problem in u + R⁻¹ Nᵀ x, whose cost has no N; R⁻¹ Bᵀ and R⁻¹ Nᵀ."""
    inverse = scipy.linalg.solve(R, np.hstack([B.T, N.T]), assume_a="pos")
    RB, RN = inverse[:, : len(A)], inverse[:, len(A) :]
    return A - B @ RN, B @ RB, Q - N @ RN, RB, RN


def _continuous_horizon(
    A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray, N: FloatArray, end: FloatArray, T: float
) -> tuple[Schedule, FloatArray]:
    """From the end backwards, by exact steps that are halved until a cubic meets the gain in their middle."""
    A_, G, Q_, RB, RN = without_cross_term(A, B, Q, R, N)
    rate = float(np.linalg.norm(A_) + np.sqrt(np.linalg.norm(G) * np.linalg.norm(Q_)))
    if T * rate > NODES.longest:
        raise _too_long(T, f"is more than {NODES.longest:g} times as long as the shortest time of the loop")
    triples: dict[int, doubling.Triple] = {}

    def back(X: FloatArray, level: int) -> FloatArray:
        if level not in triples:
            triples[level] = doubling.interval(A_, G, Q_, T / NODES.first / 2.0**level)
        return doubling.back(triples[level], X)

    def gain(X: FloatArray) -> tuple[FloatArray, FloatArray]:
        AX = A_.T @ X
        return RB @ X + RN, -RB @ (AX + AX.T - X @ G @ X + Q_)

    nodes = [(0.0, end, *gain(end))]  # time before the end, X, K and its rate
    largest = float(np.abs(nodes[0][2]).max())
    left = [0] * NODES.first  # levels of the steps still to be made, the next one last
    while left:
        level = left.pop()
        before, X, K1, slope1 = nodes[-1]
        h = T / NODES.first / 2.0**level
        middle = back(X, level + 1)
        start = back(middle, level + 1)
        K0, slope0 = gain(start)
        largest = max(largest, float(np.abs(K0).max()))
        cubic = 0.5 * (K0 + K1) + 0.125 * h * (slope0 - slope1)
        if level < NODES.halvings and np.abs(cubic - gain(middle)[0]).max() > NODES.error * largest:
            left += [level + 1, level + 1]
        else:
            nodes.append((before + h, start, K0, slope0))
    back_times, costs, gains, slopes = (np.array(part[::-1]) for part in zip(*nodes, strict=True))
    return Schedule(T - back_times, gains, slopes), costs


def sample_cost(
    model: StateSpace, drives: tuple[str, ...], Q: FloatArray, R: FloatArray, N: FloatArray, dt: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Q, R, N of the sum that is ∫ (xᵀ Q x + uᵀ R u + 2 xᵀ N u) dt for inputs held over each sample (Van Loan 1978)."""
    n, m = model.nx, len(drives)
    B = model.B[:, [model.inputs.index(name) for name in drives]]
    F = np.block([[model.A, B], [np.zeros((m, n + m))]])
    W = np.block([[Q, N], [N.T, R]])
    E = scipy.linalg.expm(np.block([[-F.T, W], [np.zeros((n + m, n + m)), F]]) * dt)
    whole = E[n + m :, n + m :].T @ E[: n + m, n + m :]
    whole = 0.5 * (whole + whole.T)
    return whole[:n, :n], whole[n:, n:], whole[:n, n:]
