"""Models of continuous filters: those with the rate of their state.

ẋ = f(x, u, t) ,   y = g(x, u, t) ;      in errors about a state x₀ of a manifold (x = x₀ ⊞ e)

ė = d/ds [ (x₀ ⊞ e + s f(x₀ ⊞ e)) ⊟ x₀ ] = f₀ + A e + ... ,    A = ∂ė/∂e
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Call
from dalembert.equations import Channels
from dalembert.estimate.engine.recursion import Expressions
from dalembert.estimate.models.process import (
    Names,
    Process,
    find_places,
    has_channels,
    machine_names,
    operating_point,
    process,
)
from dalembert.estimate.models.runge_kutta import step_function
from dalembert.expressions import Expr
from dalembert.linear import SecondOrder, StateSpace
from dalembert.numerics.runge_kutta import CLASSIC

SX = ca.SX


@singledispatch
def continuous_process(model: object, *, outputs: Names = None, inputs: Names = None, **options: Any) -> Process:
    """The model of a continuous filter: `process` of a model that has a rate, linear ones as they are."""
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


def drift(model: Expressions, x: Expr, u: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
    """ė at x itself (ne,) and its slope A (ne, ne): exact."""
    return model._function("drift", lambda kind: _drift(model, kind))(x, u, model.own(p), t)  # type: ignore[no-any-return]


def _drift(model: Expressions, kind: Any) -> ca.Function:
    m = model.process
    x, e, u, p, t, _ = model._symbols(kind)
    if m.flat:
        rate = m.functions["rate"](x, u, p, t)
        slope = ca.jacobian(rate, x)
    else:
        rate, slope = _in_errors(model, kind, x, e, u, p, t, kind.zeros(m.nx))
    return ca.Function("drift", [x, u, p, t], [ca.densify(rate), ca.densify(slope)], {"cse": kind is SX})


def _in_errors(
    model: Expressions, kind: Any, x: Expr, e: Expr, u: Expr, p: Expr, t: Expr, moving: Expr
) -> tuple[Expr, Expr]:
    """ė and A about x, which itself moves with the rate `moving`."""
    m = model.process
    s = kind.sym("s")
    there = m.retract(x, e, p, t)
    later = m.difference(there + s * m.functions["rate"](there, u, p, t), x + s * moving, p, t + s)
    none = [kind.zeros(m.ne), kind(0)]
    rate = ca.substitute(ca.jacobian(later, s), s, 0)
    slope = ca.jacobian(rate, e)
    rate, slope = ca.substitute([rate, slope], [e, s], none)
    return rate, slope


def moving_slope(model: Expressions, x: Expr, u: Expr, moving: Expr, p: Expr, t: Expr) -> Expr:
    """A of errors about an estimate that moves with the rate ẋ̂ (nx,): with the turn of the space of errors."""
    if model.process.flat:
        return drift(model, x, u, p, t)[1]
    function = model._function("moving slope", lambda kind: _moving_slope(model, kind))
    return function(x, u, moving, model.own(p), t)


def _moving_slope(model: Expressions, kind: Any) -> ca.Function:
    x, e, u, p, t, _ = model._symbols(kind)
    moving = kind.sym("moving", model.process.nx)
    _, slope = _in_errors(model, kind, x, e, u, p, t, moving)
    return ca.Function("moving", [x, u, moving, p, t], [ca.densify(slope)], {"cse": kind is SX})


def push_state(model: Expressions, x: Expr, e: Expr, p: Expr, t: Expr) -> Expr:
    """(nx,) rate of x while an error grows at the rate e: ∂(x ⊞ e)/∂e e."""
    if model.process.flat:
        return e
    return model._function("pushed", lambda kind: _push(model, kind))(x, e, model.own(p), t)


def _push(model: Expressions, kind: Any) -> ca.Function:
    m = model.process
    x, e, _, p, t, _ = model._symbols(kind)
    small = kind.sym("small", m.ne)
    along = ca.jtimes(m.retract(x, small, p, t), small, e)
    return ca.Function("pushed", [x, e, p, t], [ca.densify(ca.substitute(along, small, kind.zeros(m.ne)))])
