"""A process from a user's own functions.

    ẋ = f(x, u, t) ,   y = g(x, u, t)
    x_k = f(x_{k-1}, u_{k-1}, t_{k-1}) ,   y_k = g(x_k, u_k, t_k)

The first is made discrete by a Runge-Kutta tableau of any kind, with u held over the step (`tableau`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import take_names
from dalembert.core.declare import mapping, number, vector
from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.equations import Channels
from dalembert.estimate.models.process import Names, Process, find_places, process
from dalembert.estimate.models.runge_kutta import SUBSTEPS, step_function
from dalembert.expressions import Array, call_user
from dalembert.numerics.runge_kutta import Tableau, find_tableau

SX = ca.SX
ARGUMENTS = ("x", "u", "t", "p")
OPTIONS = (
    "outputs", "inputs", "Q", "R", "input_noise", "dt", "start", "P0", "iterations", "continuous",
    "substeps", "points", "square_root", "redraw",
)  # fmt: skip


class UserModel:
    """A model of the user's own functions, for any filter.

    Parameters
    ----------
    f : f(x, u), f(x, u, t) or f(x, u, t, p): the rate of x, or with ``continuous=False`` the next x.
    g : g(x), g(x, u), g(x, u, t) or g(x, u, t, p): the outputs. Both are called once with symbolic columns and return a
        list of expressions (``da.sin``, ``da.where``, ... instead of math and numpy functions) or a column.
    states, inputs, outputs : names, or a mapping name -> unit.
    parameters : mapping name -> value; p in f and g, in this order.
    method : "rk4", "heun", "euler", "midpoint", "implicit-euler", "implicit-midpoint", "implicit-trapezoidal" or a
        tableau with nodes, rows and weights.  substeps : steps of the method in one interval.
    angles : outputs whose residual is taken in (-π, π].
    start : initial x; zeros when left out.
    dt : interval a discrete f is made for; None: any.

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = UserModel(lambda x, u: [x[1], -9.81 * da.sin(x[0]) + u[0]], lambda x: [x[0]],
    ...                  states=["angle", "speed"], inputs=["torque"], outputs=["encoder"])
    >>> process(pendulum)
    Process('model': nonlinear, 2 states, 1 inputs, outputs encoder)
    """

    def __init__(
        self, f: Callable[..., Any], g: Callable[..., Any], *, states: object, outputs: object, inputs: object = (),
        parameters: Mapping[str, float] | None = None, continuous: bool = True, method: str | Tableau = "rk4",
        substeps: int = 1, angles: Sequence[str] = (), start: object = None, dt: float | None = None,
        name: str = "model",
    ) -> None:  # fmt: skip
        self.name, self.continuous, self.dt = name, bool(continuous), dt
        self.states, self.inputs, self.outputs = (
            _channels(names, kind) for names, kind in ((states, "state"), (inputs, "input"), (outputs, "output"))
        )
        if not len(self.states) or not len(self.outputs):
            raise ModelError("empty", "a model for a filter needs at least one state and one output.")
        self.parameters = mapping("parameter", number)("parameters", parameters)
        self.method = find_tableau(method)
        self.substeps = SUBSTEPS("substeps", substeps)
        self.angles = frozenset(take_names("output", angles))
        find_places(tuple(self.angles), self.outputs.names, "output")
        self.start = _start(start, self.states)
        self.rate = self._call(f, "f", ("x", "u"), len(self.states))
        self.reading = self._call(g, "g", ("x",), len(self.outputs))

    def _call(self, function: Callable[..., Any], label: str, least: tuple[str, ...], size: int) -> ca.Function:
        """(x, u, p, t) -> column, of a user's function called once."""
        symbols = {
            "x": SX.sym("x", len(self.states)), "u": SX.sym("u", len(self.inputs)),
            "t": SX.sym("t"), "p": SX.sym("p", len(self.parameters)),
        }  # fmt: skip
        wanted = _arguments(function, label, least)
        what = f"the function {label} of {self.name!r}"
        try:
            value = call_user(function, what, *[symbols[name] for name in wanted])
        except ModelError as error:
            if "out of bounds" in str(error.__cause__):
                sizes = ", ".join(f"{name} has {symbols[name].numel()}" for name in wanted if name != "t")
                raise ModelError("out-of-range", f"{what} reads an entry that does not exist: {sizes}.") from error
            raise
        column = _column(value, label, size)
        return ca.Function(label, [symbols[name] for name in ("x", "u", "p", "t")], [ca.densify(column)])

    def __repr__(self) -> str:
        kind = "continuous" if self.continuous else "discrete"
        return (
            f"UserModel({self.name!r}: {kind}, states {', '.join(self.states.names)}; inputs "
            f"{', '.join(self.inputs.names) or 'none'}; outputs {', '.join(self.outputs.names)})"
        )


@process.register
def _(
    model: UserModel, *, outputs: Names = None, inputs: Names = None, dt: float | None = None, **options: Any
) -> Process:
    for option in options:
        raise ModelError(
            "unknown-name", unknown_name("option", option, OPTIONS, f"a filter of the model {model.name!r}")
        )
    rows, columns = (
        find_places(outputs, model.outputs.names, "output"),
        find_places(inputs, model.inputs.names, "input"),
    )
    n = len(model.states)
    x, u = SX.sym("x", n), SX.sym("u", len(columns))
    p, t, Δ = SX.sym("p", len(model.parameters)), SX.sym("t"), SX.sym("dt")
    whole = SX.zeros(len(model.inputs))  # unknown inputs are zero
    for k, column in enumerate(columns):
        whole[column] = u[k]
    rate = ca.Function("rate", [x, u, p, t], [model.rate(x, whole, p, t)])
    functions = {
        **({"rate": rate} if model.continuous else {}),
        "outputs": ca.Function("outputs", [x, u, p, t], [model.reading(x, whole, p, t)[rows]]),
        "step": step_function(rate, model.method, model.substeps)
        if model.continuous
        else ca.Function("step", [x, u, p, t, Δ], [rate(x, u, p, t)]),
    }
    return Process(
        model.name, model.states, model.states,
        Channels([model.inputs.names[k] for k in columns], [model.inputs.units[k] for k in columns]),
        Channels([model.outputs.names[k] for k in rows], [model.outputs.units[k] for k in rows]),
        functions, model.start, parameters=Channels(model.parameters, [""] * len(model.parameters)),
        parameter_values=tuple(model.parameters.values()), reported=model.states,
        wrapped=tuple(model.outputs.names[k] in model.angles for k in rows), dt=None if model.continuous else model.dt,
        source=model,
    )  # fmt: skip


# --- reading of the arguments -----------------------------------------------------------------------------------------


def _channels(given: Any, kind: str) -> Channels:
    if isinstance(given, Mapping):
        names, units = list(given), [str(unit) for unit in given.values()]
    else:
        names = list(take_names(kind, given))
        units = [""] * len(names)
    for name in names:
        if not isinstance(name, str) or not name:
            raise ModelError("bad-name", f"the name of every {kind} must be a text, got {name!r}.")
    if len(set(names)) < len(names):
        raise ModelError("taken-name", f"two {kind}s have the same name: {', '.join(names)}.")
    return Channels(names, units)


def _start(given: object, states: Channels) -> Array:
    x = np.zeros(len(states)) if given is None else vector("n")("start", given)
    if x.shape != (len(states),):
        problem = f"start must be {len(states)} finite numbers ({', '.join(states.names)}), got {given!r}."
        raise DataError("wrong-shape", problem)
    return x


def _arguments(function: Callable[..., Any], label: str, least: tuple[str, ...]) -> tuple[str, ...]:
    """The leading ones of (x, u, t, p) that the function takes."""
    if not callable(function):
        raise ModelError("wrong-type", f"{label} must be a function of {', '.join(ARGUMENTS)}, got {function!r}.")
    try:
        parameters_ = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return least
    plain = [a for a in parameters_ if a.kind in (a.POSITIONAL_ONLY, a.POSITIONAL_OR_KEYWORD) and a.default is a.empty]
    if any(a.kind is a.VAR_POSITIONAL for a in parameters_):
        return ARGUMENTS
    if not len(least) <= len(plain) <= len(ARGUMENTS):
        problem = f"{label} takes {len(plain)} arguments; expected the first {len(least)} to 4 of x, u, t, p."
        raise ModelError("wrong-shape", problem)
    return ARGUMENTS[: len(plain)]


def _column(value: object, label: str, size: int) -> Any:
    if isinstance(value, (list, tuple)):
        value = ca.vertcat(*[SX(entry) for entry in value])
    try:
        column = SX(value)
    except (NotImplementedError, TypeError):
        problem = f"{label} must return a list of {size} expressions, got {type(value).__name__}."
        raise ModelError("wrong-type", problem) from None
    if column.shape == (1, size):
        column = column.T
    if column.shape != (size, 1):
        problem = f"{label} returns {column.shape[0]} x {column.shape[1]} values; expected {size}."
        raise ModelError("wrong-shape", problem)
    return column
