"""The continuous extended Kalman filter: nonlinear model, continuous sensors (Simon 2006, ch. 13).

    x̂̇ = f(x̂, u) + K (y - g(x̂, u)) ,   K = P Cᵀ R⁻¹ ,   Ṗ = A P + P Aᵀ - P Cᵀ R⁻¹ C P + Q ,   A = ∂f/∂x, C = ∂g/∂x at x̂

with intensities Q and R, state and covariance integrated together. u is a known signal: a controller that computes it
from x̂ is not differentiated. Over a sample, inputs are held and innovations run straight from the one end to the other:

    1. about x̂, the linear filter goes half the interval, exactly (`riccati_element`): x̂ₘ;
    2. about x̂ₘ, f and g are linearised, and the linear filter goes the whole interval, exactly.

This is of order two, on linear models the Kalman-Bucy filter itself, and stable however small R is, because
no stiff term is left to a difference formula. On a manifold both work in the errors about x̂ and x̂ₘ.

A sample y was read while some inputs acted, an interval is run under others: an accelerometer jumps with them. So it is
y - g(x̂, u at the reading) that is interpolated, which does not jump.

In errors about a state x₀ of a manifold (x = x₀ ⊞ e) the rate is

    ė = d/ds [ (x₀ ⊞ e + s f(x₀ ⊞ e)) ⊟ x₀ ] = f₀ + A e + ... ,    A = ∂ė/∂e .
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import positive_number, real_number
from dalembert.core.errors import ConvergenceError, DataError, ModelError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import Channels
from dalembert.estimate.algebra.covariance_factors import factor, solve_positive
from dalembert.estimate.algebra.matrices import pack, pack_numbers, triangle, unpack
from dalembert.estimate.algebra.steady_gain import hidden_modes
from dalembert.estimate.engine.estimate import Estimate
from dalembert.estimate.engine.filter import Filter, deviation_names, no_steady_covariance
from dalembert.estimate.engine.filter_kinds import FILTERS, FilterKind
from dalembert.estimate.engine.recursion import Expressions, keep_measured
from dalembert.estimate.engine.tangent import drift, moving_slope, slope_of_shift, transform_covariance
from dalembert.estimate.filters.extended_kalman import ExtendedKalman
from dalembert.estimate.filters.riccati_element import sweep
from dalembert.estimate.models.process import (
    InitialState,
    Names,
    Process,
    Variances,
    find_places,
    has_channels,
    machine_names,
    operating_point,
    process,
)
from dalembert.estimate.models.runge_kutta import SUBSTEPS, step_function
from dalembert.expressions import Array, Expr, Kernel
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.transforms.riccati import care
from dalembert.loop.interfaces import ObserverStep
from dalembert.numerics.runge_kutta import CLASSIC
from dalembert.record import Record

SX, MX = ca.SX, ca.MX


class ExtendedKalmanBucy(Filter):
    """Continuous extended Kalman filter; on a linear model it is the Kalman-Bucy filter.

    Sensors are continuous: a row counts over an interval where it was measured at both ends, else it is left out there,
    exactly. For sampled sensors see `ExtendedKalman`, with ``continuous=True`` for the same Q.

    Parameters
    ----------
    model : a continuous StateSpace or SecondOrder, equations of motion, a `Model`, or a `Process` with a rate.
    outputs, inputs, start : see `Filter`.
    Q, R : intensities of the noise of states and outputs [variance · s], in any form of `Filter`; R positive definite.
    P0 : initial covariance; None: the steady covariance of the model linearised at its initial state.
    dt : sampling interval [s] for a stepper, or in a loop; records may have any, also uneven ones.
    substeps : parts of an interval, each of which is linearised in its middle.
    options : handed to `process`.

    Examples
    --------
    >>> import numpy as np, dalembert as da
    >>> model = da.estimate.UserModel(lambda x, u: [x[1], -9.81 * da.sin(x[0])], lambda x: [x[0]],
    ...                           states=["angle", "speed"], outputs=["encoder"])
    >>> ekf = ExtendedKalmanBucy(model, Q=1e-6, R=1e-6, P0=0.1)
    >>> time = np.linspace(0, 0.5, 51)
    >>> estimate = ekf.run(da.Record(time, 0.1 * np.cos(np.sqrt(9.81) * time)[:, None], ["encoder"]))
    >>> round(float(estimate["speed"][-1]), 2)
    -0.31
    """

    continuous = True
    needs_interval = False
    branches = True  # intervals are doubled as often as they need it

    def __init__(
        self, model: object, *, Q: Variances = None, R: Variances = None, outputs: Names = None, inputs: Names = None,
        input_noise: Variances = None, dt: float | None = None, start: InitialState = None, P0: Variances = None,
        substeps: int = 1, **options: Any,
    ) -> None:  # fmt: skip
        if input_noise is not None:
            raise DataError(
                "conflicting-arguments",
                "the variance of held inputs has no meaning beside a continuous Q.",
                Advice("Leave {} out and add its share to Q.", Argument("input_noise")),
            )
        if dt is not None:
            positive_number("dt", dt)
        SUBSTEPS("substeps", substeps)
        process_ = continuous_process(model, outputs=outputs, inputs=inputs, **options)
        super().__init__(process_, Q=Q, R=R, dt=dt, start=start, P0=P0)
        constant = self.noise.R.constant()
        if constant is not None:
            scale = np.sqrt(np.diag(constant))
            if not scale.all() or np.linalg.eigvalsh(constant / np.outer(scale, scale))[0] <= 0:
                problem = "R must be positive definite: a sensor without noise would make the gain infinite."
                raise DataError("not-positive-definite", problem)
        self._check_errors()
        self.substeps = substeps
        self._given: dict[str, Any] = {
            "Q": Q,
            "R": R,
            "dt": dt,
            "start": start,
            "P0": P0,
            "substeps": substeps,
        }
        self._own = (model, {"outputs": outputs, "inputs": inputs, **options})
        m = self.process
        self.carried = m.nx + triangle(m.ne)
        self.state_size = self.carried + 2 * m.ny + 2 * m.nu + 2

    def __repr__(self) -> str:
        return f"ExtendedKalmanBucy(substeps {self.substeps}; {self.process!r})"

    def _check_errors(self, redundant: float = 0.1) -> None:
        """Whether errors are as many as the machine has freedoms: (x ⊞ e) ⊟ x is e, not its projection.

        redundant : change of a projector from the identity: 1 where errors are redundant, rounding elsewhere.
        """
        x, none = ca.DM(self.start), ca.DM.zeros(self.process.ne)
        J = slope_of_shift(self.model, x, none, x, ca.DM(self.model.numbers), ca.DM(0))
        if J is not None and np.abs(np.array(J) - np.eye(self.process.ne)).max() > redundant:
            raise ModelError(
                "not-supported",
                f"the errors of {self.process.name!r} are more than its degrees of freedom.",
                Advice("A continuous filter needs independent ones: use {}.", Argument("closing", "independent")),
            )

    # -- filter state: x, P; y, its measured mask; inputs at that reading; inputs since; interval, whether it passed --
    def begin(self, x0: Array, P0: Array) -> Array:
        signals = np.zeros(self.state_size - self.carried)
        signals[-2] = 1.0 if self.dt is None else self.dt
        return np.concatenate([x0, pack_numbers(P0), signals])

    def initial_filter_state(
        self, start: InitialState, P0: Variances, dt: float | None, u: Array | None = None, t: float = 0.0
    ) -> Array:
        m = super().initial_filter_state(start, P0, dt, u, t)
        if dt is not None:
            m[-2] = dt  # for the noise of the first sample
        return m

    def covariance(self, m: Expr) -> Expr:
        return unpack(m[self.process.nx : self.carried], self.process.ne)

    def predict(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        return ca.vertcat(m[: self.carried + 2 * self.process.ny + self.process.nu], u, dt, 1)

    def correct(self, m: Expr, u: Expr, y: Expr, measured: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        model = self.process
        sizes = [model.nx, triangle(model.ne), model.ny, model.ny, model.nu, model.nu, 1, 1]
        x, entries, y0, measured0, u0, held, dt, passed = ca.vertsplit(m, np.cumsum([0, *sizes]).tolist())
        going = self.cache("interval", self._interval)
        x, entries = going(passed, x, entries, held, u0, y0, u, y, measured * measured0, p, t - dt, dt)
        P = unpack(entries, model.ne)
        expected, C = self.model.linearize_outputs(x, u, p, t)
        e = self.model.innovation(y, expected, measured)
        S = self.model.R(x, u, p, t) / dt + C @ P @ C.T
        return ca.vertcat(x, entries, y, measured, u, held, dt, 0), e, S

    def _interval(self) -> ca.Function:
        """(passed, x, P, u held, u and y at the start, u and y at the end, seen, p, t, Δt) -> x, P at the end."""
        m = self.process
        sizes = {"x": m.nx, "P": triangle(m.ne), "held": m.nu, "u0": m.nu, "y0": m.ny, "u1": m.nu, "y1": m.ny,
                 "seen": m.ny, "p": len(self.model.numbers), "t": 1, "dt": 1}  # fmt: skip
        s = {name: MX.sym(name, size) for name, size in sizes.items()}
        h = s["dt"] / self.substeps
        x, P = s["x"], unpack(s["P"], m.ne)
        for k in range(self.substeps):
            x, P = self._substep(x, P, s, k / self.substeps, (k + 1) / self.substeps, s["t"] + k * h, h)
        arguments = list(s.values())
        go = ca.Function("go", arguments, [ca.densify(x), ca.densify(pack(P))])
        stay = ca.Function("stay", arguments, [s["x"], s["P"]])
        return ca.Function.if_else("interval", go, stay)

    def _substep(self, x: Expr, P: Expr, s: dict[str, Any], a: float, b: float, t: Expr, h: Expr) -> tuple[Expr, Expr]:
        model, p, held = self.model, s["p"], s["held"]
        middle = t + h / 2
        none = MX.zeros(self.process.ne)
        shift, _ = sweep(none, P, self._linear(x, s, a, (a + b) / 2, t, h / 2), h / 2)
        about = self._move(x, shift, held, p, t, middle)
        begin = model.difference(x, about, p, middle)
        P = transform_covariance(model, P, x, none, about, p, middle)
        shift, P = sweep(begin, P, self._linear(about, s, a, b, middle, h), h)
        after = self._move(about, shift, held, p, middle, t + h)
        return after, transform_covariance(model, P, about, shift, after, p, t + h)

    def _linear(self, x: Expr, s: dict[str, Any], a: float, b: float, t: Expr, h: Expr) -> tuple[Any, ...]:
        """A, Q, Cᵀ R⁻¹ C, f, and r, s with Cᵀ R⁻¹ (y - g(x)) = r + s τ over a part of h seconds: what `sweep` takes.

        a, b : where the part begins and ends in the interval, 0 to 1.
        """
        model, p, held, seen = self.model, s["p"], s["held"], s["seen"]
        f, A = drift(model, x, held, p, t)
        expected, C = model.linearize_outputs(x, held, p, t)
        g0, g1 = (expected, expected)
        if self.process.functions["outputs"].jac_sparsity(0, 1).nnz():
            g0, g1 = (model.outputs(x, s[u], p, t) for u in ("u0", "u1"))
        first = model.innovation(s["y0"], g0, seen)
        change = model.innovation(s["y1"] - s["y0"], g1 - g0, seen)
        CR = self._weight(C, model.R(x, held, p, t), seen)
        return A, model.Q(x, held, p, t, h), CR @ C, f, CR @ (first + a * change), CR @ (change * ((b - a) / h))

    def _weight(self, C: Expr, R: Expr, seen: Expr) -> Expr:
        """Cᵀ R⁻¹ of the rows that are seen."""
        return solve_positive(factor(keep_measured(R, seen)), ca.diag(seen) @ C).T

    def _move(self, x: Expr, e: Expr, u: Expr, p: Expr, t: Expr, later: Expr) -> Expr:
        """x ⊞ e at a later time."""
        model = self.model
        after = model.retract(x, e, p, later)
        if not self._has_fixed_parts():
            return after
        ahead = model.step(x, u, p, t, later - t)
        return model.retract(ahead, model.difference(after, ahead, p, later), p, later)

    def _has_fixed_parts(self) -> bool:
        """Whether x has parts that no error moves, or that go with the time: reactions, drivers."""
        if self.process.flat:
            return False
        retract = self.process.functions["retract"]
        moved = set(retract.jac_sparsity(0, 1).row())
        return len(moved) < self.process.nx or bool(retract.jac_sparsity(0, 3).nnz())

    def cross(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        discrete = Advice("Smooth the estimate of {} instead.", Call("filter.discrete", Argument("dt")))
        raise ModelError("not-supported", "a continuous filter has no smoother.", discrete)

    # -- use ---------------------------------------------------------------------------------------------------------
    def run(
        self, record: Record, *, start: InitialState = None, P0: Variances = None, progress: object = None
    ) -> Estimate:
        """Estimate along a record, evenly sampled or not; innovations are taken as linear between the samples.

        A NaN is a sample that was not taken: that row is left out of the intervals on both sides of it.
        """
        if isinstance(record, Record):
            for name in self.process.outputs.names:
                if name in record.names and len(record) > 1:
                    finite = np.isfinite(record[name])
                    if finite.any() and not (finite[1:] & finite[:-1]).any():
                        raise DataError(
                            "gap-in-record",
                            f"output {name!r} is never measured at two successive samples; a continuous filter "
                            "interpolates between samples.",
                            Advice("Use {}, which takes samples one by one.", Call("filter.discrete", Argument("dt"))),
                            where={"channel": name},
                        )
        return super().run(record, start=start, P0=P0, progress=progress)

    def discrete(self, dt: float, **keywords: Any) -> ExtendedKalman:
        """The filter of samples it is the limit of: the same Q between them, R / dt for each (continuous-discrete)."""
        R = self.noise.R.constant()
        if R is None:
            sampled = Call("da.estimate.ExtendedKalman", Argument("continuous", True), Argument("R"))
            raise DataError("not-supported", "R depends on the state.", Advice("Make {} with R / dt.", sampled))
        positive_number("dt", dt)
        arguments = {name: value for name, value in self._given.items() if name not in ("R", "dt")}
        return ExtendedKalman(self.process, continuous=True, R=R / dt, dt=dt, **{**arguments, **keywords})

    def in_deviations(self) -> Any:
        model, options = self._own
        named = self.process.reported.names == self.process.carried.names
        if not self.process.flat or (self.process.about is None and named) or "deviations" in options:
            return self
        if self._given["start"] is not None and self.process.about is not None:
            problem = "the initial state of a filter at an operating point does not fit the linear model."
            raise DataError("conflicting-arguments", problem, Advice("Leave {} out.", Argument("start")))
        return ExtendedKalmanBucy(model, **self._given, **options, deviations=True)

    def steady_covariance(self, x: Array, u: Array, t: float, dt: float | None) -> Array:
        """Limit of the covariance of the model linearised at a state (CARE)."""
        A, C, Q, R = self._numbers_at(x, u, real_number("t", t))
        names = self.process.errors.names
        hidden = hidden_modes(A, C, names, continuous=True)
        if hidden:
            raise no_steady_covariance("; ".join(hidden))
        try:
            return np.asarray(care(A.T, C.T, Q, R).X)
        except (ConvergenceError, DataError, np.linalg.LinAlgError) as error:
            unmoved = hidden_modes(A.T, Q, names, "no noise moves", continuous=True)
            raise no_steady_covariance("; ".join(unmoved) or str(error).rstrip(".")) from error

    def _numbers_at(self, x: Array, u: Array, t: float) -> list[Array]:
        """A, C, Q, R at a state."""
        m, p = self.process, self.model.numbers
        X, U, T, p_ = MX.sym("x", m.nx), MX.sym("u", m.nu), MX.sym("t"), MX.sym("p", len(p))
        _, A = drift(self.model, X, U, p_, T)
        _, C = self.model.linearize_outputs(X, U, p_, T)
        out = [A, C, self.model.Q(X, U, p_, T, 0), self.model.R(X, U, p_, T)]
        kernel = Kernel(ca.Function("linear", [X, U, p_, T], [ca.densify(v) for v in out]))
        shapes = [(m.ne, m.ne), (m.ny, m.ne), (m.ne, m.ne), (m.ny, m.ny)]
        return [value.reshape(shape) for value, shape in zip(kernel(x, u, p, t), shapes, strict=True)]

    # -- in a loop ---------------------------------------------------------------------------------------------------
    def observer_step(self, dt: float | None = None) -> ObserverStep:
        """For ``da.simulate(..., observer=)``: sampled every `dt` seconds, or without any interval continuous.

        Continuous, state and covariance are integrated with the machine; where that is stiff take ``da.Rosenbrock()``.
        """
        if self.step_size(dt) is not None:
            return super().observer_step(dt)
        m, shown = self.process, self.process.reported if len(self.process.reported) else self.process.carried
        start = self.initial_filter_state(None, None, None)[: self.carried]
        names = [*m.carried.names, *(f"covariance{k}" for k in range(triangle(m.ne)))]
        return ObserverStep(
            type(self).__name__, m.outputs.names, m.inputs.names,
            Channels([*shown.names, *deviation_names(self._spread_names())], [*shown.units, *m.errors.units]),
            self._rates(), None, Channels(names, [*m.carried.units, *[""] * triangle(m.ne)]),
            tuple(float(v) for v in start), tuple(float(v) for v in self.model.numbers),
        )  # fmt: skip

    def _rates(self, steering: float = 100.0) -> ca.Function:
        """(x and P, u, y, p, t) -> their rates, the estimate with its deviations.

        steering : [1/s], rate at which residuals of the joints are closed in a continuous loop.
        """
        m, model = self.process, self.model
        state, u, y = MX.sym("m", self.carried), MX.sym("u", m.nu), MX.sym("y", m.ny)
        p, t = MX.sym("p", len(model.numbers)), MX.sym("t")
        x, P = state[: m.nx], unpack(state[m.nx :], m.ne)
        expected, C = model.linearize_outputs(x, u, p, t)
        measured = ca.DM.ones(m.ny)
        CR = self._weight(C, model.R(x, u, p, t), measured)
        moving = m.functions["rate"](x, u, model.select_own(p), t)
        moving = moving + push_state(model, x, P @ CR @ model.innovation(y, expected, measured), p, t)
        A = moving_slope(model, x, u, moving, p, t)
        if not m.flat:
            moving = moving + steering * (model.step(x, u, p, t, 0) - x)
        rate = A @ P + P @ A.T - P @ (CR @ C) @ P + model.Q(x, u, p, t, 0)
        shown = ca.vertcat(ca.vec(model.report(x, u, p, t)), ca.sqrt(ca.fmax(ca.diag(P), 0)))
        out = [ca.densify(ca.vertcat(moving, pack(rate))), ca.densify(shown)]
        return ca.Function("watch", [state, u, y, p, t], out)

    def _spread_names(self) -> tuple[str, ...]:
        m = self.process
        linear = m.flat and len(m.reported) == m.ne
        return m.reported.names if linear else m.errors.names

    def _with_deviations(self, w: ObserverStep) -> ObserverStep:
        shown = super()._with_deviations(w)
        deviations = deviation_names(self._spread_names())
        names = [*shown.gives.names[: -len(deviations)], *deviations]
        return ObserverStep(**{**vars(shown), "gives": Channels(names, shown.gives.units)})


@singledispatch
def continuous_process(model: object, *, outputs: Names = None, inputs: Names = None, **options: Any) -> Process:
    """The model of a continuous filter: `process` of a model that has a rate, linear ones unchanged."""
    return with_rate(process(model, outputs=outputs, inputs=inputs, **options))


@continuous_process.register
def with_rate(model: Process, *, outputs: Names = None, inputs: Names = None, **options: Any) -> Process:
    if outputs is not None or inputs is not None or options:
        raise has_channels()
    if "rate" not in model.functions:
        raise ModelError(
            "not-supported",
            f"{model.name!r} has steps only, not the rate of its state; a continuous filter needs a continuous model.",
            Advice("Use {}.", Call("da.estimate.ExtendedKalman")),
        )
    return model


@continuous_process.register
def _(model: SecondOrder, **keywords: Any) -> Process:
    return continuous_process(model.state_space(), **keywords)


@continuous_process.register
def _(model: StateSpace, *, outputs: Names = None, inputs: Names = None, deviations: bool = False) -> Process:
    """ẋ = A (x - x₀) + B (u - u₀), y = y₀ + C (x - x₀) + D (u - u₀), about the operating point of `da.linearize`."""
    if model.dt is not None:
        problem = f"the model is sampled every {model.dt:g} s; a continuous filter needs a continuous one."
        raise DataError("not-supported", problem)
    rows, columns = find_places(outputs, model.outputs, "output"), find_places(inputs, model.inputs, "input")
    names, drives = [model.outputs[k] for k in rows], [model.inputs[k] for k in columns]
    about = None if deviations else operating_point(model, names, drives)
    x0, u0, y0 = (np.zeros(model.nx), np.zeros(len(drives)), np.zeros(len(names))) if about is None else about
    x, u, p, t = SX.sym("x", model.nx), SX.sym("u", len(drives)), SX.sym("p", 0), SX.sym("t")
    A, B, C, D = (ca.sparsify(M) for M in (model.A, model.B[:, columns], model.C[rows], model.D[np.ix_(rows, columns)]))
    rate = ca.Function("rate", [x, u, p, t], [ca.densify(A @ (x - x0) + B @ (u - u0))])
    read = ca.Function("outputs", [x, u, p, t], [ca.densify(y0 + C @ (x - x0) + D @ (u - u0))])
    units = [model.units.get(name, "") for name in model.states]
    states = Channels(model.states, units)
    return Process(
        "linear model", states, states,
        Channels(drives, [model.units.get(name, "") for name in drives]),
        Channels(names, [model.units.get(name, "") for name in names]),
        {"rate": rate, "outputs": read, "step": step_function(rate, CLASSIC)}, x0,
        reported=states if deviations else Channels(machine_names(model), units), wrapped=(False,) * len(names),
        about=about, source=model,
    )  # fmt: skip


def push_state(model: Expressions, x: Expr, e: Expr, p: Expr, t: Expr) -> Expr:
    """(nx,) rate of x while an error grows at the rate e: ∂(x ⊞ e)/∂e e."""
    if model.process.flat:
        return e
    return model._function("pushed", lambda kind: _push(model, kind))(x, e, model.select_own(p), t)


def _push(model: Expressions, kind: Any) -> ca.Function:
    m = model.process
    x, e, _, p, t, _ = model._symbols(kind)
    small = kind.sym("small", m.ne)
    along = ca.jtimes(m.retract(x, small, p, t), small, e)
    return ca.Function("pushed", [x, e, p, t], [ca.densify(ca.substitute(along, small, kind.zeros(m.ne)))])


FILTERS.register("extended-kalman-bucy", FilterKind(ExtendedKalmanBucy, "continuous extended Kalman filter"))
