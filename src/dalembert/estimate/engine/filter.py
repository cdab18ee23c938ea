"""The base class of filters: run over a record, step sample by sample, observe a machine inside ``da.simulate``."""

from __future__ import annotations

import copy
import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import casadi as ca
import numpy as np

from dalembert.core.arguments import positive_number, real_number
from dalembert.core.errors import DalembertError, DataError, ModelError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import Channels, State
from dalembert.estimate.algebra.matrices import pack, triangle, unpack_numbers
from dalembert.estimate.algebra.noise import NoiseVariances, state_covariance
from dalembert.estimate.algebra.steady_gain import hidden_modes
from dalembert.estimate.engine import recursion as engine
from dalembert.estimate.engine.sensed_inputs import read_inputs
from dalembert.estimate.engine.stepper import FilterStepper
from dalembert.estimate.models.process import InitialState, Names, Process, Variances, has_channels, process
from dalembert.expressions import Array, Expr, Kernel
from dalembert.linear.transforms.riccati import dare
from dalembert.loop.interfaces import ObserverStep
from dalembert.numerics.sample_times import written

if TYPE_CHECKING:
    from dalembert.estimate.engine.estimate import Estimate
    from dalembert.estimate.filters.converged_filter import ConvergedFilter
    from dalembert.record import Record


class Filter(engine.Recursion):
    """Base class of filters: a model, its noise and its initial state.

    ``run(record)`` estimates along a record, ``stepper()`` goes sample by sample, and as ``observer=`` of `da.simulate`
    it observes a machine. Subclasses supply the recursion (`recursion.Recursion`).

    Parameters
    ----------
    model : a StateSpace, SecondOrder, identified model, equations of motion, `Model`, `KinematicModel` or `Process`.
    outputs, inputs : names of the sensors that the filter reads and of the known inputs; None: all.
    Q : covariance that one step of dt adds to the state: a number (the same for all), a vector (the diagonal), a
        matrix, a mapping name -> variance (those left out are 0), or a function of a mapping of names to expressions
        that returns one of these. Variances, not standard deviations.
    R : covariance of one sample, in the same forms; a mapping must name every output. A sensor with variance 0 is
        taken as exact, which the information form cannot; a run stops where the filter is certain of a reading.
    input_noise : variances of the inputs, in the same forms: adds G R_u Gᵀ to Q, G = ∂f/∂u exact.
    dt : sampling interval [s], where the model needs one.
    start : initial x: numbers, or a mapping name -> value (of a machine: any of its coordinates, rates and
        internal states; its joints are closed around them), or a `State` of a machine; None: the model's own.
    P0 : initial covariance, in any form but a function; None: the steady one at the initial state.
    options : handed to `process`.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _describe(cls, Filter)

    state_size: int
    needs_interval = True  # of a loop
    explained = 0  # rows of a sample that determine unknown inputs and not the state

    def __init__(
        self, model: object, *, outputs: Names = None, inputs: Names = None, Q: Variances = None, R: Variances = None,
        input_noise: Variances = None, dt: float | None = None, start: InitialState = None, P0: Variances = None,
        **options: Any,
    ) -> None:  # fmt: skip
        if isinstance(model, Process):
            if outputs is not None or inputs is not None or options:
                raise has_channels()
            self.process = model
        else:
            self.process = process(model, outputs=outputs, inputs=inputs, dt=dt, **options)
        if not self.process.ny:
            raise ModelError("empty", f"{self.process.name!r} has no outputs: a filter has nothing to read.")
        self.dt = self.process.dt if dt is None else positive_number("dt", dt)
        self.noise = NoiseVariances(self.process, Q, R, input_noise)
        self.model = engine.Expressions(self.process, self.noise)
        self.start, self._start = self.read_start(start), start
        self.P0 = None if P0 is None else state_covariance("P0", P0, self.process)
        self._made: dict[str, Any] = {}

    def covariance_before(self, m: Expr) -> Expr:
        """(ne, ne) of the error before a sample, of the filter state that `predict` gave: an expression."""
        return self.covariance(m)

    # -- use ------------------------------------------------------------------------------------------------------
    @property
    def native(self) -> engine.FilterCode:
        """The kernels of a sample, built once."""
        code: engine.FilterCode = self.cache("code", lambda: engine.FilterCode(self))
        return code

    def cache(self, key: str, make: Callable[[], Any]) -> Any:
        """Something built from this filter's expressions, built once."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def converged_filter(self) -> ConvergedFilter | None:
        """The filter with a constant covariance, for runs where it no longer changes; None where there is none."""
        return None

    def with_numbers(self, Q: Array, R: Array, inputs: Array | None = None) -> Self:
        """The same filter with other numbers of its noise (`Covariance.values`): the same native code."""
        changed = copy.copy(self)
        changed.noise = self.noise.with_values(Q, R, inputs)
        changed.model = self.model.with_noise(changed.noise)
        return changed

    def covariances(self, filter_states: Array) -> Array:
        """(N, ne, ne) of (N, state_size)."""

        def make() -> Kernel:
            m = ca.MX.sym("m", self.state_size)
            return Kernel(ca.Function("covariance", [m], [ca.densify(pack(self.covariance(m)))]))

        kernel = self.cache("covariance", make)
        entries = kernel.many(filter_states)[0].reshape(len(filter_states), triangle(self.process.ne))
        return unpack_numbers(entries, self.process.ne)

    def run(
        self, record: Record, *, start: InitialState = None, P0: Variances = None, progress: object = None
    ) -> Estimate:
        """Estimate along a record: its channels are found by the names of the inputs and outputs.

        A NaN is a sample that was not taken: that row is left out of the correction, exactly. Inputs must be whole.
        start, P0 : other than those of the filter.
        """
        from dalembert.estimate.engine.run import run

        return run(self, record, start=start, P0=P0, progress=progress)

    def stepper(
        self, dt: float | None = None, *, start: InitialState = None, P0: Variances = None, t: float = 0.0
    ) -> FilterStepper:
        """The filter sample by sample."""
        step = self.step_size(dt)
        return FilterStepper(self, self.initial_filter_state(start, P0, step), step, t)

    def observer_step(self, dt: float | None = None) -> ObserverStep:
        """The filter as an expression with names, for ``da.simulate(..., observer=)``.

        Besides the estimate it gives the standard deviation of every state's error, ``<name>.deviation``.
        """
        step = self.step_size(dt)
        if step is None:
            raise DataError(
                "missing-argument",
                f"{type(self).__name__} needs a sampling interval.",
                Advice("Give {}, or in a loop one of the law or of the noise.", Argument("dt")),
            )
        plain = self._with_deviations(
            engine.observer_step(self, self.initial_filter_state(None, None, step), step, type(self).__name__)
        )
        return read_inputs(plain, self.process.current) if self.process.sensed else plain

    def _with_deviations(self, w: ObserverStep) -> ObserverStep:
        model = self.process
        names = model.errors.names if model.matrices is None else model.reported.names
        arguments = [ca.MX.sym(w.function.name_in(k), w.function.size1_in(k)) for k in range(w.function.n_in())]
        after, estimate = w.function(*arguments)
        spread = ca.sqrt(ca.fmax(ca.diag(self.covariance(after)), 0))
        return replace(
            w, function=ca.Function("watch", arguments, [after, ca.densify(ca.vertcat(estimate, spread))]),
            gives=Channels([*w.gives.names, *deviation_names(names)], [*w.gives.units, *model.errors.units]),
        )  # fmt: skip

    def in_deviations(self) -> Any:
        """The filter for the linear model itself, in deviations from the operating point."""
        named = self.process.matrices is None or self.process.reported.names == self.process.carried.names
        return self if self.process.about is None and named else InDeviations(self)

    # -- initial state --------------------------------------------------------------------------------------------
    def step_size(self, dt: float | None) -> float | None:
        """The given interval, if the model is made for it."""
        if dt is None:
            return self.dt
        positive_number("dt", dt)
        sample_time = self.process.dt
        if sample_time is not None and abs(dt - sample_time) > written(sample_time):
            raise DataError(
                "sample-time-mismatch",
                f"the model is made for steps of {sample_time:g} s, not {dt:g} s.",
                Advice("Make the filter with {}.", Argument("dt", dt)),
            )
        return float(dt)

    def read_start(self, start: InitialState) -> Array:
        """(nx,) of any form of a start."""
        model = self.process
        if start is None:
            return np.array(model.start, dtype=float)
        if model.placed is not None and isinstance(start, (Mapping, State)):
            x = model.placed(start)
        elif isinstance(start, Mapping):
            x = np.array(model.start, dtype=float)
            for name, value in start.items():
                require_name("state", name, model.carried.names, "the model", error=ModelError, argument="start")
                x[model.carried.index[name]] = value
        else:
            try:
                x = np.array(start, dtype=float).reshape(-1)
            except (TypeError, ValueError):
                problem = f"start must be {model.nx} numbers or a mapping of names to values, got {start!r}."
                raise DataError("wrong-type", problem) from None
        if x.shape != (model.nx,) or not np.isfinite(x).all():
            problem = f"start must be {model.nx} finite numbers ({', '.join(model.carried.names[:12])}), got {start!r}."
            raise DataError("wrong-shape", problem)
        return x

    def initial_filter_state(
        self, start: InitialState, P0: Variances, dt: float | None, u: Array | None = None, t: float = 0.0
    ) -> Array:
        """Initial filter state: of the start and P0 given here, or else of the filter's own."""
        real_number("t", t), dt is None or positive_number("dt", dt)
        x = self.start if start is None else self.read_start(start)
        if u is not None and (self._start if start is None else start) is None:
            x = x.copy()
            for place, column in self.process.held.items():
                x[place] = u[column]
        if P0 is not None:
            P = state_covariance("P0", P0, self.process)
        elif self.P0 is not None:
            P = self.P0
        else:
            P = self.steady_covariance(x, np.zeros(self.process.nu) if u is None else u, t, dt)
        return self.begin(x, P)

    def linearize(self, x: Array, u: Array, t: float, dt: float) -> tuple[Array, Array, Array, Array]:
        """F, H, Q, R at a state: numbers."""
        real_number("t", t), positive_number("dt", dt)
        m, p = self.process, self.model.numbers
        X, U, T, D = ca.MX.sym("x", m.nx), ca.MX.sym("u", m.nu), ca.MX.sym("t"), ca.MX.sym("dt")
        P = ca.MX.sym("p", len(p))
        _, F, G = self.model.transition(X, U, P, T, D)
        _, H = self.model.linearize_outputs(X, U, P, T)
        out = [ca.densify(v) for v in (F, H, self.model.Q(X, U, P, T, D, G), self.model.R(X, U, P, T))]
        kernel = Kernel(ca.Function("linearised", [X, U, P, T, D], out))
        F_, H_, Q_, R_ = kernel(x, u, p, t, dt)
        return F_.reshape(m.ne, m.ne), H_.reshape(m.ny, m.ne), Q_.reshape(m.ne, m.ne), R_.reshape(m.ny, m.ny)

    def steady_covariance(self, x: Array, u: Array, t: float, dt: float | None) -> Array:
        """Covariance before a sample, in the limit, of the model linearised at a state (DARE)."""
        if dt is None:
            raise DataError("missing-argument", "P0 is missing: the covariance of the initial state.", GIVE_P0)
        F, H, Q, R = self.linearize(x, u, t, dt)
        names = self.process.errors.names
        hidden = hidden_modes(F, H, names)  # the equation may still have a solution, out of rounding errors
        if hidden:
            raise no_steady_covariance("; ".join(hidden))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # few digits are enough
                P = dare(F.T, H.T, Q, R).X.copy()
        except (DalembertError, np.linalg.LinAlgError, ValueError) as error:
            unmoved = hidden_modes(F.T, Q, names, "no noise moves")
            raise no_steady_covariance("; ".join(unmoved) or str(error).rstrip(".")) from error
        np.fill_diagonal(P, np.maximum(P.diagonal(), 0.0))  # of a state that is exact up to rounding
        return P


GIVE_P0 = Advice("Give {}, variances by state name or a matrix.", Argument("P0"))


def no_steady_covariance(why: str) -> DataError:
    """P0 was left out, and the model has no steady covariance in its place."""
    problem = f"P0 is missing, and the model has no steady covariance at its initial state: {why}."
    return DataError("no-steady-filter", problem, GIVE_P0)


class InDeviations:
    """A filter of a linearized machine that observes the linear model: all values are deviations."""

    def __init__(self, filter_: Filter) -> None:
        self.filter, self.dt = filter_, filter_.dt

    def observer_step(self, dt: float | None = None) -> ObserverStep:
        w, process_ = self.filter.observer_step(dt), self.filter.process
        none = (np.zeros(process_.nx), np.zeros(process_.nu), np.zeros(process_.ny))
        x0, u0, y0 = (ca.DM(point) for point in process_.about or none)
        sizes = [w.function.size1_in(k) for k in range(w.function.n_in())]
        m, before, now, y, measured, p, t, step = (
            ca.MX.sym(name, size)
            for name, size in zip(("m", "u0", "u1", "y", "measured", "p", "t", "dt"), sizes, strict=True)
        )
        after, estimate = w.function(m, before + u0, now + u0, y + y0, measured, p, t, step)
        shown = estimate - ca.vertcat(x0, ca.DM.zeros(process_.ne))
        function = ca.Function("observer_step", [m, before, now, y, measured, p, t, step], [after, shown])
        names = process_.carried.names
        return replace(w, function=function, gives=Channels([*names, *deviation_names(names)], w.gives.units))


def deviation_names(names: Iterable[str]) -> list[str]:
    """Names of the standard deviations of an estimate."""
    return [f"{name}.deviation" for name in names]


# ---- the description that all filters share

SHARED = re.compile(r"^(?P<names>[\w, ]+) : see `Filter`\.?(?P<rest>.*)\n", re.MULTILINE)
ENTRY = re.compile(r"^(?P<names>\w+(?:, \w+)*) : (?P<text>.*\n(?:    .*\n)*)", re.MULTILINE)


def _describe(cls: type, base: type) -> None:
    """Write shared parameters into the docstring of a subclass, and its whole signature.

    A subclass names them in a line ``outputs, Q, R : see `Filter`.`` and passes them on as keywords; ``help(subclass)``
    then shows the text of the base class.
    """
    text = cls.__dict__.get("__doc__")
    if text and base.__doc__:
        parameters = inspect.cleandoc(base.__doc__).partition("----------\n")[2].partition("\n\n")[0] + "\n"
        entries = [(m["names"].split(", "), m["text"]) for m in ENTRY.finditer(parameters)]
        cls.__doc__ = SHARED.sub(
            lambda m: _write_entries(m["names"].split(", "), m["rest"], entries), inspect.cleandoc(text)
        )
    if "__init__" in cls.__dict__:
        cls.__signature__ = _signature(cls, base)  # type: ignore[attr-defined]


def _write_entries(names: list[str], rest: str, entries: list[tuple[list[str], str]]) -> str:
    lines = []
    for words, text in entries:
        shown = [name for name in words if name in names]
        if shown:
            lines.append(f"{', '.join(shown)} : {text}")
    return "".join(lines) + (f"    {rest.strip()}\n" if rest.strip() else "")


def _signature(cls: Any, base: Any) -> inspect.Signature:
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD:
        names = {p.name for p in parameters}
        passed = [p for p in inspect.signature(base.__init__).parameters.values() if p.name not in {"self", *names}]
        parameters = [*parameters[:-1], *passed] if parameters[-1].name == "keywords" else parameters
    return inspect.Signature(parameters)
