"""The recursion that a filter supplies, and the native code made of it.

The filter state m is one column: the state x first, then its covariance in the form of the filter. One sample is

    m⁻ = predict(m, u_{k-1}, p, t_{k-1}, Δt) ,    (m, e, S) = correct(m⁻, u_k, y_k, measured_k, p, t_k)

with innovation e and its covariance S. The very first sample has Δt = 0: it is corrected only. A row with measured = 0
is left out of the correction exactly. A run over a record is a native loop, in blocks of a few hundred samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import Channels
from dalembert.estimate.algebra.covariance_factors import EPSILON, factor, solve_left
from dalembert.estimate.algebra.noise import NoiseVariances
from dalembert.estimate.models.process import Process
from dalembert.expressions import Array, Expr, Kernel, count_work
from dalembert.loop.interfaces import ObserverStep

MX, SX = ca.MX, ca.SX


def blocks(N: int, size: int = 256) -> Iterator[slice]:
    """Samples between two checks of the results."""
    for first in range(0, N, size):
        yield slice(first, min(first + size, N))


class Recursion(ABC):
    """The expressions that a filter supplies, its own part. ``p`` is the whole column of numbers, split by ``model``.

    state_size : length of the filter state m; its first nx entries are the state x.
    """

    model: Expressions
    state_size: int

    @abstractmethod
    def begin(self, x0: Array, P0: Array) -> Array:
        """Filter state of a state and its covariance: numbers."""

    @abstractmethod
    def predict(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        """Filter state after Δt, from the time t on, under constant u."""

    @abstractmethod
    def correct(self, m: Expr, u: Expr, y: Expr, measured: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        """Filter state after the sample y, innovation e (ny,), its covariance S (ny, ny) as if all rows were measured.

        A recursion with an attribute ``factored = True`` gives the lower factor of S instead, with the rows that were
        not measured replaced by those of the identity.
        """

    @abstractmethod
    def covariance(self, m: Expr) -> Expr:
        """(ne, ne) of the state's error."""

    @abstractmethod
    def cross(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        """(ne, ne) covariance of the error at t with that at t + Δt, for a smoother."""


class Expressions:
    """A process and its noise as expressions of the filter's own column of numbers p.

    Every method takes dense columns of `MX` (or `SX`, or numbers) and returns the same.
    """

    def __init__(self, process: Process, noise: NoiseVariances) -> None:
        self.process, self.noise = process, noise
        self._made: dict[str, ca.Function] = {}

    def with_noise(self, noise: NoiseVariances) -> Expressions:
        """The same expressions with other numbers of the noise."""
        changed = Expressions(self.process, noise)
        changed._made = self._made
        return changed

    @property
    def numbers(self) -> Array:
        """Values of p: parameters of the process, then the numbers of the noise."""
        return np.concatenate([self.process.p, self.noise.values])

    def step(self, x: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Any:
        return self.process.functions["step"](x, u, self.select_own(p), t, dt)

    def outputs(self, x: Expr, u: Expr, p: Expr, t: Expr) -> Expr:
        return self.process.functions["outputs"](x, u, self.select_own(p), t)

    def retract(self, x: Expr, e: Expr, p: Expr, t: Expr) -> Expr:
        return self.process.retract(x, e, self.select_own(p), t)

    def difference(self, x: Expr, x0: Expr, p: Expr, t: Expr) -> Expr:
        return self.process.difference(x, x0, self.select_own(p), t)

    def select_own(self, p: Expr) -> Expr:
        """Parameters of the process alone."""
        return p[: len(self.process.parameters)]

    def transition(self, x: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> tuple[Expr, Expr, Expr]:
        """x after the step, F = ∂f/∂x (ne, ne) in errors, G = ∂f/∂u (ne, nu): exact.

        G is None where the inputs have no noise: it is not needed then, and costs a sixth of the step of a machine.
        """
        if self.noise.inputs is None:
            return *self._function("passage", self._make_passage, steps=True)(x, u, self.select_own(p), t, dt), None
        made = self._function("transition", self._make_transition, steps=True)
        return made(x, u, self.select_own(p), t, dt)  # type: ignore[no-any-return]

    def linearize_outputs(self, x: Expr, u: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
        """y, H = ∂g/∂x (ny, ne) in errors: exact."""
        return self._function("sensing", self._make_linear_outputs)(x, u, self.select_own(p), t)  # type: ignore[no-any-return]

    def Q(self, x: Expr, u: Expr, p: Expr, t: Expr, dt: Expr, G: Expr = None) -> Expr:
        """(ne, ne) covariance that the step from (x, u, t) adds, with that of the inputs.

        G : ∂f/∂u at the same place, where the caller has it already.
        """
        parameters, q, _, w = self.noise.split(p)
        total = self.noise.Q.matrix(q, x, u, parameters, t, dt)
        if self.noise.inputs is None:
            return total
        G = self.transition(x, u, p, t, dt)[2] if G is None else G
        return total + G @ self.noise.inputs.matrix(w, x, u, parameters, t, dt) @ G.T

    def Q_factor(self, x: Expr, u: Expr, p: Expr, t: Expr, dt: Expr, G: Expr = None) -> Expr:
        """(ne, ne or ne + nu) matrix B with B Bᵀ = Q."""
        parameters, q, _, w = self.noise.split(p)
        factor = self.noise.Q.factor(q, x, u, parameters, t, dt)
        if self.noise.inputs is None:
            return factor
        G = self.transition(x, u, p, t, dt)[2] if G is None else G
        return ca.horzcat(factor, G @ self.noise.inputs.factor(w, x, u, parameters, t, dt))

    def R(self, x: Expr, u: Expr, p: Expr, t: Expr) -> Expr:
        """(ny, ny) covariance of a sample."""
        parameters, _, r, _ = self.noise.split(p)
        return self.noise.R.matrix(r, x, u, parameters, t, 0.0)

    def R_factor(self, x: Expr, u: Expr, p: Expr, t: Expr) -> Expr:
        """(ny, ny) lower triangular, times its transpose R."""
        parameters, _, r, _ = self.noise.split(p)
        return self.noise.R.factor(r, x, u, parameters, t, 0.0)

    def innovation(self, y: Expr, expected: Expr, measured: Expr) -> Expr:
        """y - ŷ, angles in (-π, π], zero where there was no sample."""
        e = y - expected
        if any(self.process.wrapped):
            e = ca.if_else(
                ca.DM([float(w) for w in self.process.wrapped]), e - 2 * ca.pi * ca.ceil((e - ca.pi) / (2 * ca.pi)), e
            )
        return ca.if_else(measured, e, 0)

    def report(self, x: Expr, u: Expr, p: Expr, t: Expr) -> Expr:
        function = self.process.functions.get("report")
        return x if function is None else function(x, u, self.select_own(p), t)

    def report_slope(self, x: Expr, u: Expr, p: Expr, t: Expr) -> Expr:
        """∂report/∂e (nr, ne), or None where the report is the (flat) state itself."""
        if self.process.flat and "report" not in self.process.functions:
            return None
        return self._function("report_slope", self._make_report_slope)(x, u, self.select_own(p), t)

    def _function(
        self, name: str, make: Callable[[Any], ca.Function], *, steps: bool = False, most: int = 40_000
    ) -> ca.Function:
        """A function made of those of the process: flat where these are, since zeros of slopes cost nothing then.

        steps : whether the step is one of them.  most : instructions of the largest, as in `flatten`.
        """
        if name not in self._made:
            parts = [f for key, f in self.process.functions.items() if steps or key not in ("step", "step_slopes")]
            flat = all(f.is_a("SXFunction") and (steps or f.n_instructions() <= most) for f in parts)
            self._made[name] = make(SX if flat else MX)
        return self._made[name]

    def _symbols(self, kind: Any) -> tuple[Any, ...]:
        m = self.process
        return (
            kind.sym("x", m.nx), kind.sym("e", m.ne), kind.sym("u", m.nu), kind.sym("p", len(m.parameters)),
            kind.sym("t"), kind.sym("dt"),
        )  # fmt: skip

    def _make_passage(self, kind: object) -> ca.Function:
        return self._make_transition(kind, driven=False)

    def _make_transition(self, kind: Any, driven: bool = True) -> ca.Function:
        m = self.process
        x, e, u, p, t, dt = self._symbols(kind)
        after = m.functions["step"](x, u, p, t, dt)
        if m.flat:
            F, G = ca.jacobian(after, x), ca.jacobian(after, u) if driven else None
        elif "step_slopes" in m.functions and not driven:
            after, change = m.functions["step_slopes"](x, m.functions["slope"](x, x, p, t), u, p, t, dt)
            F = slope_of_difference(m, after, p, t + dt) @ change
        else:
            u1 = kind.sym("u1", m.nu)
            moved = m.functions["step"](m.retract(x, e, p, t), u1, p, t, dt)
            d = m.difference(moved, after, p, t + dt)
            F = ca.substitute([ca.jacobian(d, e)], [e, u1], [kind.zeros(m.ne), u])[0]
            G = ca.substitute([ca.jacobian(d, u1)], [e, u1], [kind.zeros(m.ne), u])[0] if driven else None
        outputs = [after, ca.densify(F), *([ca.densify(G)] if driven else [])]
        name = "transition" if driven else "passage"
        return ca.Function(name, [x, u, p, t, dt], outputs, {"cse": kind is SX})

    def _make_linear_outputs(self, kind: object) -> ca.Function:
        m = self.process
        x, e, u, p, t, _ = self._symbols(kind)
        y = m.functions["outputs"](x, u, p, t)
        H = self._slope(kind, "outputs", x, e, u, p, t)
        return ca.Function("sensing", [x, u, p, t], [y, ca.densify(H)], {"cse": kind is SX})

    def _make_report_slope(self, kind: object) -> ca.Function:
        x, e, u, p, t, _ = self._symbols(kind)
        slope = self._slope(kind, "report", x, e, u, p, t)
        return ca.Function("report_slope", [x, u, p, t], [ca.sparsify(slope) if kind is SX else slope])

    def _slope(self, kind: Any, name: str, x: Expr, e: Expr, u: Expr, p: Expr, t: Expr) -> Expr:
        """∂(function of x ⊞ e)/∂e at e = 0."""
        m = self.process

        def value(at: Expr) -> Expr:
            return m.functions[name](at, u, p, t) if name in m.functions else at

        if m.flat:
            return ca.jacobian(value(x), x)
        if "slope" in m.functions:
            return ca.jacobian(value(x), x) @ m.functions["slope"](x, x, p, t)
        return ca.substitute(ca.jacobian(value(m.retract(x, e, p, t)), e), e, kind.zeros(m.ne))


def slope_of_difference(model: Process, x: Expr, p: Expr, t: Expr) -> Expr:
    """∂(x ⊟ x₀)/∂x where both are the same."""
    at, about = (MX.sym(name, model.nx) for name in ("x", "x0"))
    P, T = MX.sym("p", len(model.parameters)), MX.sym("t")
    slope = ca.jacobian(model.difference(at, about, P, T), at)
    return ca.Function("difference_slope", [at, about, P, T], [slope])(x, x, p, t)


def keep_measured(S: Expr, measured: Expr) -> Expr:
    """S with the rows and columns that were not measured replaced by those of the identity.

    With the innovation zero there, and those rows of H zero, the result is exactly that of the smaller problem.
    """
    mask = ca.diag(measured)
    return mask @ S @ mask + ca.diag(1 - measured)


@dataclass(frozen=True)
class ResultColumns:
    """Place of each result of a sample in its column."""

    filter_state: slice
    report: slice
    variance: slice
    innovation: slice
    spread: slice
    nis: int
    logdet: int
    size: int


def result_columns(state_size: int, nr: int, ny: int) -> ResultColumns:
    edges = np.cumsum([0, state_size, nr, nr, ny, ny]).tolist()
    m, report, variance, innovation, spread = (slice(a, b) for a, b in pairwise(edges))
    return ResultColumns(m, report, variance, innovation, spread, edges[-1], edges[-1] + 1, edges[-1] + 2)


def tick_function(recursion: Recursion) -> ca.Function:
    """(m, u before, u now, y, measured, p, t, Δt) -> m, report, its variance, e, √diag S, NIS, ln det S."""
    model = recursion.model
    m = model.process
    nr = len(m.reported) or m.nx
    M, u0, u1 = MX.sym("m", recursion.state_size), MX.sym("u0", m.nu), MX.sym("u1", m.nu)
    y, measured, p = MX.sym("y", m.ny), MX.sym("measured", m.ny), MX.sym("p", len(model.numbers))
    t, dt = MX.sym("t"), MX.sym("dt")
    going = ca.if_else(dt > 0, recursion.predict(M, u0, p, t - dt, dt), M)
    after, e, S = recursion.correct(going, u1, y, measured, p, t)
    x, P = after[: m.nx], recursion.covariance(after)
    slope = model.report_slope(x, u1, p, t)
    variance = ca.diag(P) if slope is None else ca.sum2((slope @ P) * slope)
    factored = getattr(recursion, "factored", False)
    L = S if factored else factor(keep_measured(S, measured))
    white = solve_left(L, ca.if_else(measured, e, 0))
    spread, pivots = ca.sqrt(ca.sum2(S**2) if factored else ca.diag(S)), ca.diag(L)
    if factored:  # what rounding leaves of a zero pivot counts as zero, as in `factor`
        pivots = pivots * (pivots > 4 * m.ny * EPSILON * spread)
    results = [after, ca.reshape(model.report(x, u1, p, t), nr, 1), variance, e, spread, ca.sumsqr(white),
            2 * ca.sum1(ca.log(pivots))]  # fmt: skip
    return ca.Function(
        "tick", [M, u0, u1, y, measured, p, t, dt], [ca.densify(v) for v in results],
        ["m", "u0", "u1", "y", "measured", "p", "t", "dt"],
        ["m1", "report", "variance", "e", "spread", "nis", "logdet"],
    )  # fmt: skip


def sample_function(recursion: Recursion) -> ca.Function:
    """`tick_function`, flat where that is small; a filter with branches keeps them, since flat code takes them all."""
    tick = tick_function(recursion)
    return tick if getattr(recursion, "branches", False) else flatten(tick)


def flatten(step: ca.Function, most: int = 40_000) -> ca.Function:
    """The step as one flat expression where that is small: structural zeros and common parts cost nothing then.

    most : instructions; larger ones take seconds to make, and their code leaves the cache.
    """
    if count_work(step).executed > 4 * most:  # sharing common parts does not bring it below the limit
        return step
    try:
        flat = step.expand()
    except RuntimeError:  # something in it has no scalar form
        return step
    if flat.n_instructions() > most:
        return step
    symbols = flat.sx_in()
    names = [[f(i) for i in range(n)] for f, n in ((step.name_in, step.n_in()), (step.name_out, step.n_out()))]
    outputs = [ca.densify(v) for v in flat.call(symbols)]
    return ca.Function(step.name(), symbols, outputs, *names, {"cse": True})


def row_function(tick: ca.Function) -> ca.Function:
    """The same sample of a filter with all that a record gives in one column: (m, data, p) -> results."""
    sizes = [tick.size1_in(i) for i in range(1, 8) if i != 5]
    m, p, d = MX.sym("m", tick.size1_in(0)), MX.sym("p", tick.size1_in(5)), MX.sym("d", sum(sizes))
    u0, u1, y, measured, t, dt = ca.vertsplit(d, np.cumsum([0, *sizes]).tolist())
    return ca.Function("sample", [m, d, p], tick.call([m, u0, u1, y, measured, p, t, dt]))


class FilterCode:
    """Kernels of one filter: a sample by its parts, a sample of a record; built once, used by every run."""

    def __init__(self, recursion: Recursion) -> None:
        m = recursion.model.process
        self.reported = m.reported if len(m.reported) else m.carried
        self.columns = result_columns(recursion.state_size, len(self.reported), m.ny)
        self.function = sample_function(recursion)

    @cached_property
    def tick(self) -> Kernel:
        return Kernel(self.function)

    @cached_property
    def sample(self) -> Kernel:
        return Kernel(row_function(self.function))

    def samples(self, m: Array, data: Array, p: Array, rows: Array | None = None) -> Array:
        """Results of all samples, one per row.

        data : (k, nd) rows of u before, u now, y, measured, t, Δt.  rows : where the results go, see `Kernel.run`.
        """
        return self.sample.run(len(data), m, data, p, rows=rows)


def measured_columns(recursion: Recursion) -> slice:
    """Place of `measured` in a row of data."""
    m = recursion.model.process
    first = 2 * m.nu + m.ny
    return slice(first, first + m.ny)


def observer_step(recursion: Recursion, start: Array, dt: float, name: str) -> ObserverStep:
    """The filter as `da.simulate` takes it; its estimate has the quantities of the process."""
    m = recursion.model.process
    tick = sample_function(recursion)
    symbols = tick.mx_in() if not tick.is_a("SXFunction") else tick.sx_in()
    results = tick.call(symbols)
    function = ca.Function("watch", symbols, results[:2])
    names = [*m.carried.names, *(f"covariance{k}" for k in range(recursion.state_size - m.nx))]
    return ObserverStep(
        name, m.outputs.names, m.inputs.names, m.reported if len(m.reported) else m.carried, function, dt,
        Channels(names, [*m.carried.units, *[""] * (recursion.state_size - m.nx)]), tuple(float(v) for v in start),
        tuple(float(v) for v in recursion.model.numbers),
    )  # fmt: skip
