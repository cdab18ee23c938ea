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
