"""Errors about one state seen from another: what filters on a manifold need beside ⊞ and ⊟."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.estimate.engine.recursion import Expressions, slope_of_difference
from dalembert.estimate.models.process import Process
from dalembert.expressions import Array, Expr, Kernel

if TYPE_CHECKING:
    from dalembert.estimate.engine.filter import Filter

SX, MX = ca.SX, ca.MX


def is_present(values: Any, largest: float = 1.0, rounding: float = 1e-6) -> Any:
    """Which singular values of a projector are not 0: they are 1 and more, and exact derivatives leave 1e-13."""
    return values > rounding * largest


def linearize_outputs_away(model: Expressions, x: Expr, e: Expr, u: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
    """g(x ⊞ e) and its slope with respect to e, at an e that is not zero."""
    if model.process.flat:
        return model.linearize_outputs(x + e, u, p, t)
    function = model._function("sensing_away", lambda kind: _make_outputs_away(model, kind))
    return function(x, e, u, model.select_own(p), t)  # type: ignore[no-any-return]


def _make_outputs_away(model: Expressions, kind: object) -> ca.Function:
    m = model.process
    x, e, u, p, t, _ = model._symbols(kind)
    y = m.functions["outputs"](m.retract(x, e, p, t), u, p, t)
    return ca.Function("sensing_away", [x, e, u, p, t], [y, ca.densify(ca.jacobian(y, e))], {"cse": kind is SX})


def transform_covariance(model: Expressions, P: Expr, x: Expr, shift: Expr, x1: Expr, p: Expr, t: Expr) -> Expr:
    """P of errors about x, for errors about x₁ = x ⊞ shift: J P Jᵀ with J = ∂/∂e [(x ⊞ e) ⊟ x₁] at the shift."""
    J = slope_of_shift(model, x, shift, x1, p, t)
    return P if J is None else J @ P @ J.T


def slope_of_shift(model: Expressions, x: Expr, shift: Expr, x1: Expr, p: Expr, t: Expr) -> Expr:
    """J, or None where it is the identity: errors in independent coordinates or of a flat process."""
    if model.process.flat:
        return None
    function = model._function("shift", lambda kind: _shift(model, kind))
    return None if _is_identity(function) else function(x, shift, x1, model.select_own(p), t)


def _is_identity(function: ca.Function) -> bool:
    if any(function.jac_sparsity(0, k).nnz() for k in range(function.n_in())):
        return False
    value = np.array(function(*[0.5] * function.n_in()))
    return bool((value == np.eye(len(value))).all())


def _shift(model: Expressions, kind: Any) -> ca.Function:
    m = model.process
    x, e, _, p, t, _ = model._symbols(kind)
    x1 = kind.sym("x1", m.nx)
    if "slope" in m.functions:
        J = slope_of_difference(m, x1, p, t) @ m.functions["slope"](x1, x, p, t)
        return ca.Function("shift", [x, e, x1, p, t], [ca.densify(J)])
    d = m.difference(m.retract(x, e, p, t), x1, p, t)
    return ca.Function("shift", [x, e, x1, p, t], [ca.densify(ca.jacobian(d, e))], {"cse": kind is SX})


def drift(model: Expressions, x: Expr, u: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
    """ė at x itself (ne,) and its slope A (ne, ne): exact."""
    return model._function("drift", lambda kind: _drift(model, kind))(x, u, model.select_own(p), t)  # type: ignore[no-any-return]


def _drift(model: Expressions, kind: Any) -> ca.Function:
    m = model.process
    x, e, u, p, t, _ = model._symbols(kind)
    if m.flat:
        rate = m.functions["rate"](x, u, p, t)
        slope = ca.jacobian(rate, x)
    else:
        rate, slope = _in_errors(m, kind, x, e, u, p, t, kind.zeros(m.nx))
    return ca.Function("drift", [x, u, p, t], [ca.densify(rate), ca.densify(slope)], {"cse": kind is SX})


def _in_errors(m: Process, kind: Any, x: Expr, e: Expr, u: Expr, p: Expr, t: Expr, moving: Expr) -> tuple[Expr, Expr]:
    """ė and A about x, which itself moves with the rate `moving`."""
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
    return function(x, u, moving, model.select_own(p), t)


def _moving_slope(model: Expressions, kind: Any) -> ca.Function:
    x, e, u, p, t, _ = model._symbols(kind)
    moving = kind.sym("moving", model.process.nx)
    _, slope = _in_errors(model.process, kind, x, e, u, p, t, moving)
    return ca.Function("moving", [x, u, moving, p, t], [ca.densify(slope)], {"cse": kind is SX})


def error_slopes(model: Expressions, x: Expr, u: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
    """A (ne, ne) and B (ne, nu) of errors about a state that moves with its own rate: exact."""
    return model._function("error_slopes", lambda kind: _error_slopes(model, kind))(x, u, model.select_own(p), t)  # type: ignore[no-any-return]


def _error_slopes(model: Expressions, kind: Any) -> ca.Function:
    m = model.process
    x, e, u, p, t, _ = model._symbols(kind)
    if m.flat:
        rate = m.functions["rate"](x, u, p, t)
        A, B = ca.jacobian(rate, x), ca.jacobian(rate, u)
    else:
        later = kind.sym("later", m.nu)  # the estimate moves with the input that is known, errors with the true one
        moving = m.functions["rate"](x, u, p, t)
        _, A = _in_errors(m, kind, x, e, u, p, t, moving)
        rate, _ = _in_errors(m, kind, x, e, later, p, t, moving)
        (B,) = ca.substitute([ca.jacobian(rate, later)], [later], [u])
    # products with A leave out its zeros: rates of positions are speeds
    slopes = [ca.sparsify(slope) for slope in (A, B)] if kind is SX else [A, B]
    return ca.Function("error_slopes", [x, u, p, t], slopes, {"cse": kind is SX})


def error_rates(m: Process) -> Kernel:
    """(x, u, p, t) -> A (ne, ne) of ė = A e, C (ny, ne) and ∂(x ⊞ e)/∂e (nx, ne), about a state at rest."""
    x, u, e, p, t = (MX.sym(*s) for s in (("x", m.nx), ("u", m.nu), ("e", m.ne), ("p", len(m.parameters)), ("t", 1)))
    _, A = _in_errors(m, MX, x, e, u, p, t, MX.zeros(m.nx))
    there = m.retract(x, e, p, t)
    slopes = [ca.jacobian(value, e) for value in (m.functions["outputs"](there, u, p, t), there)]
    values = [A, *ca.substitute(slopes, [e], [MX.zeros(m.ne)])]
    return Kernel(ca.Function("error_rates", [x, u, p, t], [ca.densify(value) for value in values]), range(3))


def shares_of_errors(filter_: Filter, states: Array, times: Array) -> Array | None:
    """(N, d, ne): what of an error the joints let pass, in d directions of their own; None where that is all of it.

    A projection has more errors than freedoms: T = ∂/∂e [(x ⊞ e) ⊟ x] is a projector of rank d, and T P Tᵀ singular.
    With an orthonormal basis B of its range, Bᵀ T e are d numbers with a covariance of full rank.
    """
    model = filter_.process
    if model.flat:
        return None
    kernel = filter_.cache("shares of errors", lambda: projector(model))
    T = kernel(states[0], model.p, times[0])[0].reshape(1, model.ne, model.ne)
    if not is_present(np.abs(T[0] - np.eye(model.ne)).max()):
        return None
    if len(states) > 1:
        T = kernel.many(states, model.p, times[:, None])[0].reshape(-1, model.ne, model.ne)
    U, values, _ = np.linalg.svd(T)
    rank = int(np.count_nonzero(is_present(values[0])))
    return np.asarray(U[:, :, :rank].transpose(0, 2, 1) @ T)


def projector(model: Process) -> Kernel:
    """(x, p, t) -> T = ∂/∂e [(x ⊞ e) ⊟ x] (ne, ne) of a process on a manifold."""
    x, e = MX.sym("x", model.nx), MX.sym("e", model.ne)
    p, t = MX.sym("p", len(model.parameters)), MX.sym("t")
    slope = ca.jacobian(model.difference(model.retract(x, e, p, t), x, p, t), e)
    (here,) = ca.substitute([slope], [e], [MX.zeros(model.ne)])
    return Kernel(ca.Function("shares", [x, p, t], [ca.densify(here)]))
