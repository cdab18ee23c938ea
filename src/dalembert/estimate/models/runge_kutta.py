"""Runge-Kutta steps of any tableau as expressions.

    x_k = x_{k-1} + Δt Σ b_i κ_i ,    κ_i = f(x_{k-1} + Δt Σ a_ij κ_j, u_{k-1}, t_{k-1} + c_i Δt)

with u held over the step. Stages that depend on themselves or on later ones are solved together by Newton's method,
with a limit of iterations; a step whose stages do not close gives NaN, which a filter reports with its time, never a
quiet wrong number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.declare import count
from dalembert.expressions import Array, Expr
from dalembert.numerics.runge_kutta import Tableau

SX, MX = ca.SX, ca.MX
SUBSTEPS = count(1, 1000)  # of one interval: all are in one expression


def step_function(rate: ca.Function, method: Tableau, substeps: int = 1) -> ca.Function:
    """(x, u, p, t, Δt) -> x after Δt under constant u; rate : (x, u, p, t) -> ẋ."""
    kind = SX if method.explicit else MX
    x, u, p = (kind.sym(name, rate.size1_in(k)) for k, name in enumerate("xup"))
    t, dt = kind.sym("t"), kind.sym("dt")
    h = dt / substeps
    single = None if method.explicit else implicit_function(rate, method)
    after, now = x, t
    for _ in range(substeps):
        after = _explicit(rate, method, after, u, p, now, h) if single is None else single(after, u, p, now, h)
        now = now + h
    return ca.Function("step", [x, u, p, t, dt], [ca.densify(after)])


def _explicit(rate: ca.Function, method: Tableau, x: Expr, u: Expr, p: Expr, t: Expr, h: Expr) -> Expr:
    stages: list[Any] = []
    for row, node in zip(method.matrix, method.nodes, strict=True):
        stages.append(rate(x + h * _combine(row, stages) if row.any() else x, u, p, t + node * h))
    return x + h * _combine(np.array(method.weights), stages)


def _combine(weights: Array, stages: Sequence[Any]) -> Any:
    """Σ w_i κ_i; stages of equal weight are added first."""
    total: Any = 0
    for weight in dict.fromkeys(float(w) for w in weights):
        if weight:
            same = [k for w, k in zip(weights, stages, strict=False) if w == weight]
            total = total + weight * sum(same[1:], same[0])
    return total


def implicit_function(rate: ca.Function, method: Tableau) -> ca.Function:
    """One step whose implicit stages are closed by Newton's method; NaN where they are not within the limit."""
    n, stages, leading = rate.size1_in(0), len(method.weights), method.leading
    x, u, p, t, h = (SX.sym(name, size) for name, size in zip("xupth", _sizes(rate), strict=True))
    unknown = SX.sym("k", n * (stages - leading))
    rates: list[Any] = []
    for row, node in zip(method.matrix[:leading], method.nodes, strict=False):
        rates.append(rate(x + h * _combine(row, rates) if row.any() else x, u, p, t + node * h))
    all_stages = [*rates, *ca.vertsplit(unknown, n)]
    residual = [
        k - rate(x + h * _combine(row, all_stages), u, p, t + node * h)
        for row, node, k in zip(method.matrix[leading:], method.nodes[leading:], all_stages[leading:], strict=True)
    ]
    r = ca.densify(ca.vertcat(*residual))
    equations = ca.Function("stages", [unknown, x, u, p, t, h], [r])
    options = {"max_iter": method.iterations, "abstol": 0.1 * method.tolerance, "error_on_fail": False}
    solver = ca.rootfinder("closing", "fast_newton", equations, options)
    ending = ca.Function("ending", [unknown, x, u, p, t, h], [x + h * _combine(np.array(method.weights), all_stages)])
    X = [MX.sym(name, size) for name, size in zip("xupth", _sizes(rate), strict=True)]
    solution = solver(np.zeros(unknown.shape[0]), *X)  # from rest: the rate at x would throw stiff stages far away
    gap = ca.norm_inf(equations(solution, *X)) / (1 + ca.norm_inf(solution))
    after = ending(solution, *X) + ca.if_else(gap <= method.tolerance, 0, np.nan)
    return ca.Function("implicit", X, [after], ["x", "u", "p", "t", "h"], ["after"])


def _sizes(rate: ca.Function) -> list[int]:
    return [rate.size1_in(k) for k in range(4)] + [1]
