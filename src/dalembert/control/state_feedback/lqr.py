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
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
import scipy.linalg

from dalembert.control.judge.reach import does_not_decay, require_detectable, require_stabilizable
from dalembert.control.plant import (
    Cost,
    CrossWeight,
    Driven,
    Followed,
    Horizon,
    InputWeight,
    Names,
    OutputWeight,
    Plant,
    SampleTime,
    StateWeight,
    factor_weight,
    sample,
)
from dalembert.control.state_feedback.schedule import Schedule
from dalembert.control.state_feedback.state_feedback import Limits, StateFeedback, with_integrals
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import (
    ArgumentKind,
    Scope,
    checked,
    either,
    excludes,
    mapping,
    names,
    not_negative,
    positive,
    requires,
)
from dalembert.core.errors import ConvergenceError, DataError
from dalembert.core.findings import Advice, Argument
from dalembert.linear import StateSpace
from dalembert.linear.transforms.riccati import RiccatiSolution, care, dare
from dalembert.numerics import doubling
from dalembert.numerics.sample_times import count_multiple


def _read_integral(name: str, value: Any, scope: Scope) -> dict[str, float]:
    if isinstance(value, Mapping):
        weights: dict[str, float] = mapping("output", positive, "outputs").read(name, value, scope)
        return weights
    return dict.fromkeys(names("output", "outputs", left_out="none").read(name, value, scope), 1.0)


IntegralWeights = Annotated[
    Names | Mapping[str, float],
    ArgumentKind("names of outputs, or a mapping of them to positive weights", _read_integral, ("outputs",)),
    "outputs whose integrated error is brought to zero",
]
Degree = Annotated[float, not_negative, "α [1/s]: all poles of the closed loop left of -α"]


@checked(
    either("Q", "Qy", why="neither states nor outputs have a weight"),
    requires("Q_T", "horizon", why="Q_T weighs the end of a horizon"),
    excludes("horizon", "degree", "integral", why="a degree of stability and integral action need an infinite horizon"),
)
def lqr(
    system: Plant,
    *,
    Q: StateWeight | None = None,
    R: InputWeight = 1.0,
    N: CrossWeight | None = None,
    Qy: OutputWeight | None = None,
    inputs: Driven = None,
    dt: SampleTime | None = None,
    cost: Cost = "sum",
    horizon: Horizon | None = None,
    Q_T: StateWeight | None = None,
    degree: Degree = 0.0,
    integral: IntegralWeights = None,
    tracking: Followed = None,
    limits: Limits = None,
) -> StateFeedback:
    """State feedback that minimises a quadratic cost.

    Parameters
    ----------
    system : StateSpace, SecondOrder, or result of ``da.linearize``
    Q, R : weights of the states and of the driven inputs
        A number, a diagonal, a matrix, or a mapping of names to diagonal entries (states left out weigh nothing).
    cost : "sum" or "integral"
        With ``dt``: weights of every sample, or of continuous time (then converted exactly to the samples).
    horizon : float, optional
        T [s]; infinite when left out. ``Q_T`` weighs the state at its end (zero when left out). After it the last gain
        stays.
    tracking : outputs, optional
        Outputs with a reference, reached by feedforward from the static map.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> cart = StateSpace([[0, 1], [0, 0]], [0, 1], states=["position", "speed"], inputs="push")
    >>> lqr(cart, Q={"position": 1.0, "speed": 1.0}, R=1.0).K.round(6).tolist()
    [[1.0, 1.732051]]
    """
    drives = tuple(inputs or ())
    weights: dict[str, float] = dict(integral or {})  # type: ignore[arg-type]
    model, Q_, R_, N_ = pose_problem(system, drives, Q, R, N, Qy, dt, cost)
    integrals = tuple(weights)
    A, B = with_integrals(model, drives, integrals)
    Q_ = scipy.linalg.block_diag(Q_, np.diag(list(weights.values()))) if integrals else Q_
    N_ = np.vstack([N_, np.zeros((len(integrals), len(drives)))])
    fields: dict[str, Any] = {"integral": integrals, "tracking": tuple(tracking or ()), "limits": limits or {}}
    n = model.nx
    if horizon is not None:
        end = np.zeros((n, n)) if Q_T is None else Q_T
        schedule, costs = finite_horizon(A, B, Q_, R_, N_, end, horizon, model.dt)
        return StateFeedback(schedule.gains[0], model, drives, method="LQR over a finite horizon", cost=costs[0],
                             schedule=schedule, **fields)  # fmt: skip
    grown = _shift_poles(A, B, model.dt, degree)

    def why() -> None:
        _check(model, drives, integrals, A, B, Q_, R_, N_, degree)

    found = solve_riccati(why, *grown, Q_, R_, N_, model.dt)
    return StateFeedback(found.K[:, :n], model, drives, method="LQR", cost=found.X, residual=found.residual,
                         K_integral=found.K[:, n:], **fields)  # fmt: skip


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
    model: StateSpace, drives: tuple[str, ...], Q: FloatArray | None, R: FloatArray, N: FloatArray | None,
    Qy: FloatArray | None, dt: float | None, cost: str,
) -> tuple[StateSpace, FloatArray, FloatArray, FloatArray]:  # fmt: skip
    """The model, sampled with ``dt``; Q, R and N of its cost."""
    n, m = model.nx, len(drives)
    Q_ = np.zeros((n, n)) if Q is None else Q
    N_ = np.zeros((n, m)) if N is None else N
    R_ = R
    if Qy is not None:
        D = model.D[:, [model.inputs.index(name) for name in drives]]
        Q_ = Q_ + model.C.T @ Qy @ model.C
        R_ = R_ + D.T @ Qy @ D
        N_ = N_ + model.C.T @ Qy @ D
    if N_.any():
        _require_cost(Q_, R_, N_)
    if dt is not None and cost == "integral" and model.dt is None:
        Q_, R_, N_ = sample_cost(model, drives, Q_, R_, N_, dt)
    return sample(model, dt), Q_, R_, N_


def _require_cost(Q: FloatArray, R: FloatArray, N: FloatArray, indefinite: float = 1e-10) -> None:
    """Refuse a cross term that makes the cost ``indefinite``: an eigenvalue, of the largest, beyond rounding."""
    values = np.linalg.eigvalsh(np.block([[Q, N], [N.T, R]]))
    if values[0] < -indefinite * abs(values[-1]):
        raise DataError(
            "not-positive-definite",
            f"the cost is indefinite: [[Q, N], [Nᵀ, R]] has the eigenvalue {values[0]:.3g}. Make the cross term N "
            "smaller, or Q and R larger.",
        )


def _shift_poles(
    A: FloatArray, B: FloatArray, dt: float | None, degree: float, most: float = 100.0
) -> tuple[FloatArray, FloatArray]:
    """The shifted system, which is stable where this one has the degree of stability α.

    most : α Δt of a sampled system; poles within e^{-100} = 4e-44 are at zero for any arithmetic.
    """
    if dt is None:
        return A + degree * np.eye(len(A)), B
    problem = f"a degree of {degree:g} 1/s asks for decay by e^-{degree * dt:.3g} in a sample of {dt:g} s."
    DataError.when(degree * dt > most, "out-of-range", problem, where={"argument": "degree"})
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
    if dt is None:
        return _continuous_horizon(A, B, Q, R, N, end, horizon)
    count = horizon_steps(horizon, dt)
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


def horizon_steps(T: float, dt: float, most: int = 1_000_000) -> int:
    """Number of samples of a horizon [s]; ``most`` take a minute."""
    count = count_multiple(T, dt)
    if count is None:
        raise DataError(
            "not-a-count",
            f"horizon = {T:g} s is no whole number of samples of {dt:g} s; take {max(round(T / dt), 1) * dt:g} s.",
        )
    if count > most:
        raise _too_long(T, f"has {count:g} samples of {dt:g} s, more than {most}")
    return count


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
    A: FloatArray,
    B: FloatArray,
    Q: FloatArray,
    R: FloatArray,
    N: FloatArray,
    end: FloatArray,
    T: float,
    first: int = 8,  # equal intervals that the horizon is first cut into; they are halved where the gain needs it
    error: float = 1e-6,  # of the cubic in the middle of an interval, of the largest gain: below model errors
    longest: float = 1e15,  # of the horizon, in shortest times of the loop: its end is then lost in rounding
    halvings: int = 30,  # limit for a gain with a jump: 8 · 2³⁰ intervals resolve 1e-10 of the horizon
) -> tuple[Schedule, FloatArray]:
    """From the end backwards, by exact steps that are halved until a cubic meets the gain in their middle."""
    A_, G, Q_, RB, RN = without_cross_term(A, B, Q, R, N)
    rate = float(np.linalg.norm(A_) + np.sqrt(np.linalg.norm(G) * np.linalg.norm(Q_)))
    if T * rate > longest:
        raise _too_long(T, f"is more than {longest:g} times as long as the shortest time of the loop")
    triples: dict[int, doubling.Triple] = {}

    def back(X: FloatArray, level: int) -> FloatArray:
        if level not in triples:
            triples[level] = doubling.interval(A_, G, Q_, T / first / 2.0**level)
        return doubling.back(triples[level], X)

    def gain(X: FloatArray) -> tuple[FloatArray, FloatArray]:
        AX = A_.T @ X
        return RB @ X + RN, -RB @ (AX + AX.T - X @ G @ X + Q_)

    nodes = [(0.0, end, *gain(end))]  # time before the end, X, K and its rate
    largest = float(np.abs(nodes[0][2]).max())
    levels = [0] * first  # of the steps still to be made, the next one last
    while levels:
        level = levels.pop()
        before, X, K1, slope1 = nodes[-1]
        h = T / first / 2.0**level
        middle = back(X, level + 1)
        start = back(middle, level + 1)
        K0, slope0 = gain(start)
        largest = max(largest, float(np.abs(K0).max()))
        cubic = 0.5 * (K0 + K1) + 0.125 * h * (slope0 - slope1)
        if level < halvings and np.abs(cubic - gain(middle)[0]).max() > error * largest:
            levels += [level + 1, level + 1]
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
