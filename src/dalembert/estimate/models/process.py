"""The model that a filter takes.

    x_k = f(x_{k-1}, u_{k-1}, t_{k-1}, Δt) + w ,     y_k = g(x_k, u_k, t_k) + v

x may live on a manifold (closed loops, Euler parameters): then an error is a vector e of fewer entries, put on a state
by ``retract`` and read from two states by ``difference``,

    x = x₀ ⊞ e ,     e = x ⊟ x₀ ,

and covariances are those of e. A flat process has neither function: x₀ + e and x - x₀.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import take_names
from dalembert.core.errors import DataError, ModelError, require_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import Channels, State
from dalembert.expressions import Array, Expr
from dalembert.linear import SecondOrder, StateSpace
from dalembert.numerics.sample_times import is_same_time

Point = Callable[[StateSpace, list[str], list[str]], "tuple[Array, Array, Array] | None"]
Names = str | Iterable[str] | None  # of channels; None: all
Variances = (  # a covariance: a number, the diagonal, a matrix, variances by name, or a function of the state
    float | Sequence[float] | Sequence[Sequence[float]] | Array | Mapping[str, float] | Callable[..., object] | None
)
InitialState = Mapping[str, float] | Sequence[float] | Array | State | None  # None: that of the model
SX = ca.SX
ARGUMENTS = {
    "step": "x u p t dt", "rate": "x u p t", "outputs": "x u p t", "retract": "x e p t", "difference": "x x0 p t",
    "slope": "x x0 p t", "step_slopes": "x dx u p t dt", "report": "x u p t",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Process:
    """The model that a filter takes; made by :func:`process`.

    Attributes
    ----------
    errors : names and units of the errors e whose covariance a filter has, ne of them (flat process: the states).
    carried : names and units of x, nx of them.
    inputs, outputs : names and units of u and y.
    functions : CasADi functions of dense columns:
        step (x, u, p, t, Δt) -> x after Δt under constant u;  outputs (x, u, p, t) -> y;
        rate (x, u, p, t) -> ẋ, absent where the model has steps only;
        retract (x, e, p, t) -> x ⊞ e and difference (x, x₀, p, t) -> x ⊟ x₀, both absent for a flat process;
        slope (x, x₀, p, t) -> ∂(x₀ ⊞ e)/∂e (nx, ne) where that is x, and step_slopes (x, ∂x (nx, ne), u, p, t, Δt) ->
        the step and its change along ∂x, both absent where these are derivatives of the others, small enough to take;
        report (x, u, p, t) -> channels of the estimate, absent where these are x itself.
    reported : names and units of the channels of the estimate.
    wrapped : per output, whether it is an angle whose residual is taken in (-π, π].
    start : initial x, where none is given.
    placed : x of named values (or of a state of the machine), all else closed around them; None where x is free.
    dt : interval the model is made for; None where any will do.
    matrices : (A, B, C, D) where the process is linear with these matrices at its own dt, else None.
    about : (x₀, u₀, y₀) that a linear process counts deviations from, None where that is zero.
    sensed : the inputs are readings of sensors of the machine, not what drives it.
    current : the step to a sample takes the inputs of that sample, not those of the previous one.
    held : place of a state that holds an input of an earlier sample -> place of that input: exact, no noise of its own.
    advise : advice after the last states (k, nx) before a filter diverged; empty where there is none.
    """

    name: str
    errors: Channels
    carried: Channels
    inputs: Channels
    outputs: Channels
    functions: Mapping[str, ca.Function]
    start: Array
    parameters: Channels = field(default_factory=lambda: Channels((), ()))
    parameter_values: tuple[float, ...] = ()
    reported: Channels = field(default_factory=lambda: Channels((), ()))
    wrapped: tuple[bool, ...] = ()
    dt: float | None = None
    matrices: tuple[Array, Array, Array, Array] | None = None
    about: tuple[Array, Array, Array] | None = None
    source: Any = None
    placed: Callable[[Any], Array] | None = None
    sensed: bool = False
    current: bool = False
    advise: Callable[[Array], tuple[Advice, ...]] | None = None
    held: Mapping[int, int] = field(default_factory=dict)

    @property
    def nx(self) -> int:
        return len(self.carried)

    @property
    def ne(self) -> int:
        return len(self.errors)

    @property
    def nu(self) -> int:
        return len(self.inputs)

    @property
    def ny(self) -> int:
        return len(self.outputs)

    @property
    def flat(self) -> bool:
        return "retract" not in self.functions

    @property
    def p(self) -> Array:
        return np.array(self.parameter_values, dtype=float)

    def retract(self, x: Expr, e: Expr, p: Expr, t: Expr) -> Expr:
        return x + e if self.flat else self.functions["retract"](x, e, p, t)

    def difference(self, x: Expr, x0: Expr, p: Expr, t: Expr) -> Expr:
        return x - x0 if self.flat else self.functions["difference"](x, x0, p, t)

    def __repr__(self) -> str:
        what = "linear" if self.matrices is not None else "nonlinear"
        where = "" if self.flat else f" on a manifold of {self.ne} dimensions"
        return (
            f"Process({self.name!r}: {what}, {self.nx} states{where}, {self.nu} inputs, outputs "
            f"{', '.join(self.outputs.names)})"
        )


@singledispatch
def process(
    model: object, *, outputs: Names = None, inputs: Names = None, dt: float | None = None, **options: Any
) -> Process:
    """A model as a filter takes it: from a `StateSpace`, a `SecondOrder`, an `Identified`, `EquationsOfMotion`, a
    `UserModel` or a kinematic model.

    outputs : names of the sensors that the filter reads.  inputs : names of the known inputs.  None: all.
    dt : sampling interval [s] for which a continuous linear model is discretised exactly (zero-order hold).
    """
    if (identified := getattr(model, "identified", None)) is not None:  # of `identify.auto`, which need not be loaded
        return process(identified, outputs=outputs, inputs=inputs, dt=dt, **options)
    hints = [Advice("Give {} of it.", Call("da.equations"))] if type(model).__name__ == "Mechanism" else []
    hints += [Advice(f"Give its attribute {word!r}.") for word in ("system", "process") if hasattr(model, word)][:1]
    problem = "a filter needs a linear model, equations of motion, a user model or a kinematic model, got "
    raise ModelError("wrong-type", f"{problem}{type(model).__name__}.", *hints)


@process.register
def _(model: SecondOrder, **keywords: Any) -> Process:
    return process(model.state_space(), **keywords)


@process.register
def _(
    model: StateSpace, *, outputs: Names = None, inputs: Names = None, dt: float | None = None, deviations: bool = False
) -> Process:
    """A linear model. One of `da.linearize` has an operating point and takes readings of the sensors of the machine;
    with ``deviations=True`` its inputs, outputs and states are deviations from that point.
    """
    return linear_process(model, outputs, inputs, dt, None if deviations else operating_point, deviations=deviations)


def linear_process(
    model: StateSpace, outputs: Names, inputs: Names, dt: float | None, point: Point | None, *,
    deviations: bool = False, held: Mapping[int, int] | None = None,
) -> Process:  # fmt: skip
    """x⁺ = x₀ + A (x - x₀) + B (u - u₀), y = y₀ + C (x - x₀) + D (u - u₀).

    point : (model, names of the outputs, of the inputs) -> x₀, u₀, y₀, or None where all is zero.
    held : see `Process`.
    """
    if model.dt is None:
        if dt is None:
            give = Advice("Give {}, the sampling interval of the filter [s].", Argument("dt"))
            raise DataError("missing-argument", "a continuous model needs a sampling interval.", give)
        model = model.to_discrete(dt)
    elif dt is not None and not is_same_time(dt, model.dt, model.dt):
        problem = f"the model is sampled every {model.dt:g} s, the filter every {dt:g} s."
        raise DataError("sample-time-mismatch", problem, Advice("Convert the model with {}.", Call("model.resample")))
    rows = find_places(outputs, model.outputs, "output")
    columns = find_places(inputs, model.inputs, "input")
    A, B, C, D = model.A, model.B[:, columns], model.C[rows], model.D[np.ix_(rows, columns)]
    states = Channels(model.states, [model.units.get(name, "") for name in model.states])
    names, drives = [model.outputs[k] for k in rows], [model.inputs[k] for k in columns]
    about = None if point is None else point(model, names, drives)
    x0, u0, y0 = (np.zeros(model.nx), np.zeros(len(drives)), np.zeros(len(names))) if about is None else about
    x, u, p, t, Δ = SX.sym("x", model.nx), SX.sym("u", len(columns)), SX.sym("p", 0), SX.sym("t"), SX.sym("dt")
    away, extra = (x, u) if about is None else (x - x0, u - u0)
    after, read = ca.sparsify(A) @ away + ca.sparsify(B) @ extra, ca.sparsify(C) @ away + ca.sparsify(D) @ extra
    if about is not None:
        after, read = after + x0, read + y0
    functions = {
        "step": ca.Function("step", [x, u, p, t, Δ], [ca.densify(after)]),
        "outputs": ca.Function("outputs", [x, u, p, t], [ca.densify(read)]),
    }
    shown = states if deviations else Channels(machine_names(model), states.units)
    return Process(
        "linear model", states, states,
        Channels(drives, [model.units.get(name, "") for name in drives]),
        Channels(names, [model.units.get(name, "") for name in names]),
        functions, x0, reported=shown, wrapped=(False,) * len(names), dt=model.dt,
        matrices=(A, B, C, D), about=about, source=model, held=held or {},
    )  # fmt: skip


def has_channels() -> ModelError:
    """Inputs and outputs given beside a process, which has them."""
    leave = Advice("Leave {} out.", Argument("outputs"), Argument("inputs"))
    return ModelError("ineffective-argument", "a process has its inputs, outputs and options already.", leave)


def machine_names(model: StateSpace) -> tuple[str, ...]:
    """Names of the states in the machine: the rate of ``A.angle`` is ``A.rate`` there."""
    rates = model.provenance.get("rates", {})
    return tuple(
        rates.get(name.removesuffix(".rate"), name) if name.endswith(".rate") else name for name in model.states
    )


def operating_point(model: StateSpace, outputs: list[str], inputs: list[str]) -> tuple[Array, Array, Array] | None:
    """(x₀, u₀, y₀) of `da.linearize`, or None where all of it is zero."""
    reference = model.provenance.get("reference")
    if not reference:
        return None
    point = [np.array([float(reference.get(name, 0.0)) for name in names])
             for names in (machine_names(model), inputs, outputs)]  # fmt: skip
    return (point[0], point[1], point[2]) if any(column.any() for column in point) else None


def find_places(wanted: Names, known: tuple[str, ...], kind: str) -> list[int]:
    """Places of the wanted names, in the given order; all of them for None."""
    if wanted is None:
        return list(range(len(known)))
    names = take_names(kind, wanted)
    for name in names:
        require_name(kind, name, known, "the model", error=ModelError)
    if len(set(names)) < len(names):
        raise ModelError("duplicate", f"an {kind} is named twice: {', '.join(names)}.")
    return [known.index(name) for name in names]
