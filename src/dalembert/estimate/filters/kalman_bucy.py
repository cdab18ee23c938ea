"""The Kalman-Bucy filter: continuous model, continuous sensors (Kalman and Bucy 1961).

    x̂̇ = A x̂ + B u + K (y - C x̂ - D u) ,   K = P Cᵀ R⁻¹ ,   Ṗ = A P + P Aᵀ - P Cᵀ R⁻¹ C P + Q ,   P(0) = P₀

Q and R are intensities: a step Δt adds about Q Δt, and a sample that averages over Δt has about R / Δt. Over a record
the filter is exact for inputs held and sensors linear between the samples, however stiff. Sensors that read inputs at
once jump with them: it is y - D u that is linear, u being what acted while y was read.

The two equations are the sweep x = x̂ + P λ of the linear equations

    ẋ = A x + Q λ + B u ,    λ̇ = Cᵀ R⁻¹ C x - Aᵀ λ + Cᵀ R⁻¹ (D u - y) ,

whose exponential gives, for u constant and y linear over an interval, an element (Ψ, N, J, b, η) with

    W = P (I + J P)⁻¹ ,   x̂₁ = Ψ (x̂₀ + W (η - J x̂₀)) + b ,   P₁ = Ψ W Ψᵀ + N .

The exponential itself overflows over a long interval of a stiff equation (rates of 1e7 per second occur), so
it is taken of a short one and the element is doubled; J and N are positive semidefinite throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg

from dalembert.core.arguments import one_of
from dalembert.core.errors import ConvergenceError, DataError, ModelError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import Channels
from dalembert.estimate.algebra.covariance_factors import factor, solve_positive
from dalembert.estimate.algebra.matrices import pack, pack_numbers, triangle, unpack
from dalembert.estimate.algebra.noise import covariance
from dalembert.estimate.algebra.steady_gain import SteadyGain, hidden_modes
from dalembert.estimate.engine.estimate import Estimate
from dalembert.estimate.engine.filter import Filter, deviation_names
from dalembert.estimate.engine.filter_kinds import FILTERS, FilterKind
from dalembert.estimate.filters.kalman import Kalman
from dalembert.estimate.models.process import (
    InitialState,
    Names,
    Process,
    Variances,
    find_places,
    operating_point,
    process,
)
from dalembert.expressions import Array, Expr
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.transforms.riccati import care
from dalembert.loop.interfaces import ObserverStep
from dalembert.record import Record

FORMS = ("covariance", "steady")


class KalmanBucy:
    """Kalman-Bucy filter of a continuous `StateSpace` or `SecondOrder`.

    Parameters
    ----------
    Q, R : intensities of the noise of states and outputs, in the forms of `Kalman` but functions; R positive definite.
    form : "covariance" (P follows the Riccati equation from P0) or "steady" (its limit).
    start, P0 : initial state and covariance; None: the operating point, and the steady covariance.
    deviations : whether inputs, outputs and estimate are deviations from the operating point of a linearized machine.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> drift = StateSpace([[0.0]], C=[[1.0]], outputs="seen")
    >>> KalmanBucy(drift, Q=4.0, R=1.0).steady.M.tolist()
    [[2.0]]
    """

    def __init__(
        self, model: object, *, Q: Variances, R: Variances, outputs: Names = None, inputs: Names = None,
        form: str = "covariance", start: InitialState = None, P0: Variances = None, deviations: bool = False,
    ) -> None:  # fmt: skip
        if isinstance(model, SecondOrder):
            model = model.state_space()
        if not isinstance(model, StateSpace):
            nonlinear = Advice("For other models use {}.", Call("da.estimate.ExtendedKalmanBucy"))
            raise ModelError("wrong-type", f"this filter takes a linear model, got {type(model).__name__}.", nonlinear)
        if model.dt is not None:
            problem = f"this filter takes a continuous model; this one is sampled every {model.dt:g} s."
            raise DataError("not-supported", problem, Advice("Use {}.", Call("da.estimate.Kalman")))
        one_of("form", form, FORMS)
        rows, columns = find_places(outputs, model.outputs, "output"), find_places(inputs, model.inputs, "input")
        self.A, self.B = model.A, model.B[:, columns]
        self.C, self.D = model.C[rows], model.D[np.ix_(rows, columns)]
        self.inputs, self.outputs = tuple(model.inputs[k] for k in columns), tuple(model.outputs[k] for k in rows)
        self.model, self.form, self.start, self.deviations = model, form, start, deviations
        self.about = None if deviations else operating_point(model, list(self.outputs), list(self.inputs))
        self.Q = covariance("Q", Q, model.states, "state")
        self.R = covariance("R", R, self.outputs, "output")
        if len(self.R) and np.linalg.eigvalsh(self.R)[0] <= 0:
            problem = "R must be positive definite: a sensor without noise would make the gain infinite."
            raise DataError("not-positive-definite", problem)
        self.P0 = None if P0 is None else covariance("P0", P0, model.states, "state")
        self._sampled: dict[float, SampledKalmanBucy] = {}

    @property
    def steady(self) -> SteadyGain:
        """Limits of gain and covariance (CARE); `DataError` where there are none."""
        hidden = hidden_modes(self.A, self.C, self.model.states, continuous=True)
        if hidden:
            problem = f"the filter has no steady gain: {'; '.join(hidden)}."
            raise DataError("no-steady-filter", problem, Advice("Add a sensor that shows it, or leave it out."))
        try:
            solution = care(self.A.T, self.C.T, self.Q, self.R)
        except ConvergenceError as error:
            unmoved = hidden_modes(self.A.T, self.Q, self.model.states, "no noise moves", continuous=True)
            why = "; ".join(unmoved) or str(error).rstrip(".")
            more = [Advice("Give it a variance in Q.")] if unmoved else []
            raise DataError("no-steady-filter", f"the filter has no steady gain: {why}.", *more) from error
        K = solution.K.T
        poles = np.linalg.eigvals(self.A - K @ self.C)
        return SteadyGain(K, K, solution.X, solution.X, self.R, poles, solution.residual, self.model.states, True)

    def first_covariance(self) -> Array:
        return self.P0 if self.P0 is not None else self.steady.P

    def covariances(self, times: object) -> Array:
        """(N, nx, nx) P at these times [s], the first being P0; exact."""
        t = np.asarray(times, dtype=float).reshape(-1)
        if len(t) == 0 or not np.isfinite(t).all() or (np.diff(t) <= 0).any():
            raise DataError("not-increasing", "times must be finite and increase.")
        P = self.first_covariance()
        result = [P]
        elements: dict[float, Any] = {}
        for step in np.diff(t):
            key = float(np.round(step, 15))
            if key not in elements:
                elements[key] = interval(self.A, self.B, self.C, self.Q, self.R, float(step))
            result.append(elements[key].after(result[-1]))
        return np.array(result)

    def sample(self, dt: float) -> SampledKalmanBucy:
        """The same filter over samples every `dt` seconds: a `Filter` like any other."""
        if dt not in self._sampled:
            self._sampled[dt] = SampledKalmanBucy(self, dt)
        return self._sampled[dt]

    def discrete(self, dt: float, **keywords: Any) -> Kalman:
        """The discrete filter it is the limit of: Q integrated over dt (Van Loan), R / dt."""
        n = len(self.A)
        H = np.zeros((2 * n, 2 * n))
        H[:n, :n], H[:n, n:], H[n:, n:] = -self.A, self.Q, self.A.T
        flow = scipy.linalg.expm(H * dt)
        F = flow[n:, n:].T
        Qd = F @ flow[:n, n:]
        arguments: dict[str, Any] = {"P0": self.P0, "start": self.start, **keywords}
        return Kalman(
            self.model, outputs=list(self.outputs), inputs=list(self.inputs), Q=(Qd + Qd.T) / 2, R=self.R / dt, dt=dt,
            deviations=self.deviations, **arguments,
        )  # fmt: skip

    def in_deviations(self) -> KalmanBucy:
        """The filter for the linear model itself, in deviations from the operating point."""
        if self.start is not None and self.about is not None:
            problem = "the initial state of a filter at an operating point does not fit the linear model."
            raise DataError("conflicting-arguments", problem, Advice("Leave {} out.", Argument("start")))
        return KalmanBucy(
            self.model, Q=self.Q, R=self.R, outputs=list(self.outputs), inputs=list(self.inputs), form=self.form,
            start=self.start, P0=self.P0, deviations=True,
        )  # fmt: skip

    def run(
        self, record: Record, *, start: InitialState = None, P0: Variances = None, progress: object = None
    ) -> Estimate:
        """Estimate along an evenly sampled record without gaps; sensors are taken as linear between the samples."""
        if not isinstance(record, Record):
            raise DataError("wrong-type", f"a filter runs over a record, got {type(record).__name__}.")
        measured_names = [name for name in self.outputs if name in record.names]
        if measured_names and np.isnan(record[measured_names]).any():
            raise DataError(
                "gap-in-record",
                "a continuous filter needs records without gaps; this one has missing samples (NaN).",
                Advice("Use {}, which leaves samples out exactly.", Call("filter.discrete", Argument("dt"))),
            )
        return self.sample(record.sample_time).run(record, start=start, P0=P0, progress=progress)

    def stepper(self, dt: float | None = None, **keywords: Any) -> Expr:
        """The filter sample by sample, every `dt` seconds."""
        if dt is None:
            give = Advice("Give {}, the sampling interval [s].", Argument("dt"))
            raise DataError("missing-argument", "a stepper needs a sampling interval.", give)
        return self.sample(dt).stepper(dt, **keywords)

    def observer_step(self, dt: float | None = None) -> ObserverStep:
        """For ``da.simulate(..., observer=)``: continuous, or sampled every `dt` seconds."""
        if dt is not None:
            return self.sample(dt).observer_step(dt)
        n = len(self.A)
        steady = self.form == "steady"
        m = ca.SX.sym("m", n if steady else n + triangle(n))
        u, y = ca.SX.sym("u", len(self.inputs)), ca.SX.sym("y", len(self.outputs))
        p, t = ca.SX.sym("p", 0), ca.SX.sym("t")
        sampled = self.sample(1.0)
        x0, u0, y0 = sampled.about
        x, du, dy = m[:n] - x0, u - u0, y - y0
        CR = np.linalg.solve(self.R, self.C).T
        P = ca.DM(self.steady.P) if steady else unpack(m[n:], n)
        A, B, C, D = (ca.sparsify(v) for v in (self.A, self.B, self.C, self.D))
        rate = A @ x + B @ du + P @ (ca.DM(CR) @ (dy - C @ x - D @ du))
        if not steady:
            rate = ca.vertcat(rate, pack(A @ P + P @ A.T - P @ ca.DM(CR @ self.C) @ P + ca.DM(self.Q)))
        shown, spread = sampled.process.reported, ca.sqrt(ca.fmax(ca.diag(P), 0))
        first = sampled.start if steady else np.concatenate([sampled.start, pack_numbers(self.first_covariance())])
        states = sampled.process.carried
        more = [] if steady else [f"covariance{k}" for k in range(triangle(n))]
        return ObserverStep(
            "KalmanBucy", self.outputs, self.inputs,
            Channels([*shown.names, *deviation_names(shown.names)], [*shown.units, *shown.units]),
            ca.Function("watch", [m, u, y, p, t], [ca.densify(rate), ca.densify(ca.vertcat(m[:n], spread))]), None,
            Channels([*states.names, *more], [*states.units, *[""] * len(more)]), tuple(float(v) for v in first),
        )  # fmt: skip


class SampledKalmanBucy(Filter):
    """A Kalman-Bucy filter over samples; filter state: x, P, the last y - D u, held inputs, whether time has passed."""

    def __init__(self, bucy: KalmanBucy, dt: float) -> None:
        process_: Process = process(
            bucy.model, outputs=list(bucy.outputs), inputs=list(bucy.inputs), dt=dt, deviations=bucy.deviations
        )
        super().__init__(process_, Q=bucy.Q, R=bucy.R, start=bucy.start, P0=bucy.P0)
        self.bucy = bucy
        element = interval(bucy.A, bucy.B, bucy.C, bucy.Q, bucy.R, dt)
        nu, ny = process_.nu, process_.ny
        ends = np.zeros((nu + 2 * ny, nu + 2 * ny))  # (u, y₀, slope) of (u, y₀, y₁)
        ends[: nu + ny, : nu + ny] = np.eye(nu + ny)
        ends[nu + ny :, nu : nu + ny], ends[nu + ny :, nu + ny :] = -np.eye(ny) / dt, np.eye(ny) / dt
        self.Psi, self.N, self.J = element.Psi, element.N, element.J
        self.b, self.eta = element.b @ ends, element.eta @ ends
        self.P: Array | None = bucy.steady.P if bucy.form == "steady" else None
        self.S = bucy.R / dt
        none = np.zeros(process_.nx), np.zeros(nu), np.zeros(ny)
        self.about = none if process_.about is None else process_.about
        self.carried = process_.nx + (0 if self.P is not None else triangle(process_.nx))
        self.state_size = self.carried + ny + nu + 1

    def steady_covariance(self, x: Array, u: Array, t: float, dt: float | None) -> Array:
        return self.bucy.steady.P

    def begin(self, x0: Array, P0: Array) -> Array:
        P = np.empty(0) if self.P is not None else pack_numbers(P0)
        return np.concatenate([x0, P, np.zeros(self.state_size - self.carried)])

    def covariance(self, m: Expr) -> Expr:
        n = self.process.nx
        return ca.MX(ca.DM(self.P)) if self.P is not None else unpack(m[n : self.carried], n)

    def predict(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        return ca.vertcat(m[: self.carried + self.process.ny], u, 1)

    def correct(self, m: Expr, u: Expr, y: Expr, measured: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        n, ny = self.process.nx, self.process.ny
        x0, u0, y0 = self.about
        x, P, passed = m[:n] - x0, self.covariance(m), m[-1]
        signal = y - y0 - ca.DM(self.bucy.D) @ (u - u0)
        held = ca.vertcat(m[self.carried + ny : -1] - u0, m[self.carried : self.carried + ny], signal)
        L = ca.densify(factor(P))
        inner = ca.DM.eye(n) + L.T @ ca.DM(self.J) @ L
        W = L @ solve_positive(factor(inner), L.T)
        moved = ca.DM(self.Psi) @ (x + W @ (ca.DM(self.eta) @ held - ca.DM(self.J) @ x)) + ca.DM(self.b) @ held
        x = ca.if_else(passed, moved, x) + x0
        parts = [x]
        if self.P is None:
            after = ca.DM(self.Psi) @ W @ ca.DM(self.Psi).T + ca.DM(self.N)
            P = ca.if_else(passed, after, P)
            parts.append(pack(P))
        C = ca.DM(self.process.matrices[2])  # type: ignore[index]
        e = self.model.innovation(y, self.model.outputs(x, u, p, t), measured)
        S = ca.DM(self.S) + C @ P @ C.T
        return ca.vertcat(*parts, signal, ca.MX.zeros(self.process.nu + 1)), e, S

    def cross(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        discrete = Advice("Smooth the estimate of {} instead.", Call("filter.discrete", Argument("dt")))
        raise ModelError("not-supported", "a continuous filter has no smoother.", discrete)


FILTERS.register("kalman-bucy", FilterKind(KalmanBucy, "continuous Kalman filter of a linear model"))


@dataclass(frozen=True, eq=False)
class Element:
    """Effect of an interval on x̂ and P; b and η are matrices on (u, y at its start, slope of y)."""

    Psi: Array
    N: Array
    J: Array
    b: Array
    eta: Array

    def after(self, P: Array) -> Array:
        """P at the end of the interval."""
        W = np.linalg.solve(np.eye(len(P)) + P @ self.J, P)
        P1 = self.Psi @ W @ self.Psi.T + self.N
        return np.asarray((P1 + P1.T) / 2, dtype=float)

    def join(self, other: Element, start: Array) -> Element:
        """This interval and the next; `start` maps the signals at the beginning of this one to its end."""
        I = np.eye(len(self.N))  # noqa: E741
        inner = np.linalg.solve(
            I + self.N @ other.J, np.hstack([self.Psi, self.N, self.b + self.N @ other.eta @ start])
        )
        n = len(I)
        turned = np.linalg.solve(
            I + other.J @ self.N, np.hstack([other.J @ self.Psi, other.eta @ start - other.J @ self.b])
        )
        N = other.Psi @ inner[:, n : 2 * n] @ other.Psi.T + other.N
        J = self.Psi.T @ turned[:, :n] + self.J
        return Element(
            other.Psi @ inner[:, :n], (N + N.T) / 2, (J + J.T) / 2,
            other.Psi @ inner[:, 2 * n :] + other.b @ start, self.Psi.T @ turned[:, n:] + self.eta,
        )  # fmt: skip


def interval(A: Array, B: Array, C: Array, Q: Array, R: Array, dt: float, short: float = 0.25) -> Element:
    """Element of an interval of `dt` seconds. A : (n, n), B : (n, nu), C : (ny, n); Q, R intensities.

    short : norm of the Hamiltonian matrix times the shortest interval.
    """
    n, nu, ny = len(A), B.shape[1], len(C)
    CR = np.linalg.solve(R, C).T
    hamiltonian = np.block([[A, Q], [CR @ C, -A.T]])
    ns = nu + 2 * ny
    generator = np.zeros((2 * n + ns, 2 * n + ns))
    generator[: 2 * n, : 2 * n] = hamiltonian
    generator[:n, 2 * n : 2 * n + nu] = B
    generator[n : 2 * n, 2 * n + nu : 2 * n + nu + ny] = -CR
    generator[2 * n + nu : 2 * n + nu + ny, 2 * n + nu + ny :] = np.eye(ny)
    # x and λ may be of any size against each other: balance before measuring
    balanced = scipy.linalg.matrix_balance(hamiltonian, permute=False)[0]
    doublings = max(0, int(np.ceil(np.log2(max(float(np.linalg.norm(balanced, 1)) * dt / short, 1e-300)))))
    h = dt / 2**doublings
    flow = scipy.linalg.expm(generator * h)
    F11, F12, F21, F22 = flow[:n, :n], flow[:n, n : 2 * n], flow[n : 2 * n, :n], flow[n : 2 * n, n : 2 * n]
    g1, g2 = flow[:n, 2 * n :], flow[n : 2 * n, 2 * n :]
    J, g = np.split(np.linalg.solve(F22, np.hstack([F21, g2])), [n], axis=1)
    N = np.linalg.solve(F22.T, F12.T).T
    element = Element(F11 - N @ F21, (N + N.T) / 2, (J + J.T) / 2, g1 - N @ g2, -g)
    for _ in range(doublings):
        start = np.eye(ns)
        start[nu : nu + ny, nu + ny :] = h * np.eye(ny)
        element = element.join(element, start)
        h *= 2
    return element
