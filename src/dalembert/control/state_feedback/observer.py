"""Observers of a linear model, and their gain by poles (Luenberger) (Kwakernaak and Sivan 1972).

continuous   x̂′ = A x̂ + B u + L (y - C x̂ - D u)                              error: A - L C
sampled      x̂(k+1) = A x̂(k) + B u(k) + L (y(k) - C x̂(k) - D u(k))             predictor; error: A - L C
             x̂(k|k) = x̂(k) + M (y(k) - C x̂(k) - D u(k)),  L = A M              with the present sample ("current")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Annotated

import casadi as ca
import numpy as np

from dalembert.control.plant import (
    Names,
    Plant,
    SampleTime,
    Sensors,
    is_singular,
    reference_values,
    remove_reference,
    replace_fields,
    sample,
    state_values,
)
from dalembert.control.state_feedback.place import Placing, Poles, pair_poles, place_gain
from dalembert.control.state_feedback.schedule import Schedule
from dalembert.control.state_feedback.state_feedback import units_of
from dalembert.core.arrays import FloatArray, assign
from dalembert.core.declare import checked, names, one_of, vector
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.core.results import derived, result
from dalembert.core.tables import align_columns, display_latex, matrix_latex
from dalembert.core.text import list_names
from dalembert.equations import Channels
from dalembert.estimate.models.process import machine_names
from dalembert.linear import Roots, StateSpace
from dalembert.loop.interfaces import ObserverStep
from dalembert.numerics.sample_times import is_same_time

KnownInputs = Annotated[Names, names("input", "inputs"), "inputs that it reads"]
Form = Annotated[str, one_of("current", "predictor"), "sampled estimate with or without the present sample"]


@result
class LinearObserver:
    """Gains of an observer; fits ``da.simulate(eqs, observer=...)``.

    Attributes
    ----------
    L : (nx, ny)
        Gain of the predictor (sampled), of the observer (continuous).
    M : (nx, ny), optional
        Gain of the filter, sampled only: x̂(k|k) = x̂(k) + M (y - ŷ).
    outputs, inputs : names of the outputs and inputs it reads.
    covariance : (nx, nx), optional
        P of the error, before the present sample.
    schedule : Schedule, optional
        L (predictor, continuous) or M (current) over a finite horizon.
    poles : Roots
        Of the error.
    form : "predictor" or "current"
        Estimate without or with the present sample. Continuous: "continuous".
    """

    L: FloatArray
    system: StateSpace
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    _: KW_ONLY
    method: str
    form: str = "current"
    M: FloatArray | None = None
    covariance: FloatArray | None = None
    residual: float | None = None
    schedule: Schedule | None = None
    poles: Roots = derived()

    def __post_init__(self) -> None:
        rows = [self.system.outputs.index(name) for name in self.outputs]
        poles = np.linalg.eigvals(self.system.A - self.L @ self.system.C[rows])
        assign(
            self, L=np.array(self.L), form="continuous" if self.dt is None else self.form,
            poles=Roots(poles, self.dt, "pole", {"made by": self.method}),
        )  # fmt: skip

    @property
    def dt(self) -> float | None:
        """Sample time [s]; None where continuous."""
        return self.system.dt

    @property
    def matrices(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """A, B, C, D with the columns of the inputs and the rows of the outputs it reads."""
        rows = [self.system.outputs.index(name) for name in self.outputs]
        columns = [self.system.inputs.index(name) for name in self.inputs]
        return self.system.A, self.system.B[:, columns], self.system.C[rows], self.system.D[np.ix_(rows, columns)]

    def observer_step(self, dt: float | None = None, *, at: object = None, start: object = None) -> ObserverStep:
        """The observer as ``da.simulate`` takes it.

        dt : must be the observer's own.  at : operating point, as for ``StateFeedback.law``.
        start : {state: value} or (nx,): first estimate; the operating point where left out.
        """
        if dt is not None and (self.dt is None or not is_same_time(dt, self.dt, dt)):
            made = "acts continuously" if self.dt is None else f"is made for dt = {self.dt:g} s"
            raise DataError(
                "sample-time-mismatch", f"this observer {made}, not for dt = {dt:g} s; design it for that interval."
            )
        return _observer_step(self, at, start)

    def in_deviations(self) -> LinearObserver:
        """The same design for the linear model itself, which describes deviations from the operating point only."""
        return replace_fields(self, system=remove_reference(self.system))  # type: ignore[no-any-return]

    def table(self) -> str:
        """Gains by name and poles of the error."""
        time = "continuous" if self.dt is None else f"every {self.dt:g} s, {self.form} form"
        head = f"observer by {self.method}; {time}"
        if self.residual is not None:
            head += f"; relative residual {self.residual:.1e}"
        rows = [
            [name, *(f"{value:.6g}" for value in row)] for name, row in zip(self.system.states, self.L, strict=True)
        ]
        body = align_columns(["L", *self.outputs], rows)
        return "\n".join(line.rstrip() for line in f"{head}\n{body}\nerror\n{self.poles.table()}".split("\n"))

    def _repr_latex_(self) -> str:
        return display_latex([matrix_latex("L", self.L)])

    def __repr__(self) -> str:
        return f"LinearObserver: {self.table()}"


@checked
def observer_gain(
    system: Plant,
    poles: Poles,
    *,
    outputs: Sensors = None,
    inputs: KnownInputs = None,
    dt: SampleTime | None = None,
    method: Placing = "robust",
    form: Form = "current",
) -> LinearObserver:
    """Luenberger observer whose error has the given poles: the dual of :func:`place`.

    Parameters
    ----------
    poles : as of :func:`place`
        λ [rad/s]; with ``dt`` (or a sampled system) see there.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> cart = StateSpace([[0, 1], [0, 0]], [0, 1], [[1, 0]], outputs="position")
    >>> observer_gain(cart, [-2, -3]).L.round(9).tolist()
    [[5.0], [6.0]]
    """
    model, read = sample(system, dt), tuple(outputs or ())
    C = model.C[[model.outputs.index(name) for name in read]]
    wanted = pair_poles(poles, model.nx, model.dt if system.dt is None else None)
    L = place_gain(model.A.T, C.T, wanted, method, model.dt, model.states, f"seen by {list_names(read, {})}").T
    M = None
    if model.dt is not None and form == "current":
        M = _filter_gain(model, L)
    return LinearObserver(L, model, read, tuple(inputs or ()), method=f"poles ({method})", form=form, M=M)


def _filter_gain(model: StateSpace, L: FloatArray) -> FloatArray:
    """M with A M = L."""
    if is_singular(model.A):
        raise DataError(
            "singular-matrix",
            "A cannot be inverted, so no current form with these poles exists.",
            Advice("Choose {}.", Argument("form", "predictor")),
        )
    return np.asarray(np.linalg.solve(model.A, L))


def _observer_step(observer: LinearObserver, at: object, start: object) -> ObserverStep:
    system = observer.system
    names = machine_names(system)
    n, ny, nu = system.nx, len(observer.outputs), len(observer.inputs)
    A, B, C, D = (ca.DM(value) for value in observer.matrices)
    x0, u0 = reference_values(system, system.states, at), reference_values(system, observer.inputs, at)
    y0 = reference_values(system, observer.outputs, at)
    first = first_estimate(system, start, x0)
    units = units_of(system, system.states)
    sym = ca.MX.sym
    x, before, u, y = sym("x", n), sym("before", nu), sym("u", nu), sym("y", ny)
    measured, p, t, step = sym("measured", ny), sym("p", 0), sym("t"), sym("dt")
    memory = [f"{name}.estimate" for name in names]
    if observer.dt is None:
        e = y - y0 - C @ (x - x0) - D @ (u - u0)
        rate = A @ (x - x0) + B @ (u - u0) + ca.DM(observer.L) @ e
        function = ca.Function("observer", [x, u, y, p, t], [ca.densify(rate), x])
        return ObserverStep("observer", observer.outputs, observer.inputs, Channels(names, units), function, None,
                        Channels(memory, units), tuple(first))  # fmt: skip
    past = sym("past", ny)  # the last innovation of a predictor; none is kept in the current form
    predictor = observer.form == "predictor"
    m = ca.vertcat(x, past) if predictor else x
    on = A @ (x - x0) + B @ (before - u0) + (ca.DM(observer.L) @ past if predictor else 0.0) + x0
    now = ca.if_else(step > 0, on, x)  # at the first sample no time has passed
    e = measured * (y - y0 - C @ (now - x0) - D @ (u - u0))
    if predictor:
        after, estimate = ca.vertcat(now, e), now
    else:
        gain = observer.M if observer.M is not None else _filter_gain(system, observer.L)
        after = estimate = now + ca.DM(gain) @ e
    function = ca.Function(
        "observer", [m, before, u, y, measured, p, t, step], [ca.densify(after), ca.densify(estimate)]
    )
    innovations = [f"{name}.innovation" for name in observer.outputs] if predictor else []
    return ObserverStep(
        "observer", observer.outputs, observer.inputs, Channels(names, units), function, observer.dt,
        Channels([*memory, *innovations], [*units, *units_of(system, observer.outputs if predictor else ())]),
        (*first, *(0.0,) * len(innovations)),
    )  # fmt: skip


def first_estimate(system: StateSpace, start: object, x0: FloatArray) -> FloatArray:
    """(nx,) from a mapping of names, an array, or nothing (the operating point)."""
    if start is None:
        return x0
    if isinstance(start, Mapping):
        values = x0.copy()
        for place, value in state_values("start", system, start).items():
            values[place] = value
        return values
    first: FloatArray = vector("states")("start", np.ravel(np.asarray(start)), states=system.states)
    return first
