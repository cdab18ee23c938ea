"""Newton's iteration inside a step, which ends when it has converged.

    J(x₀) dₖ = -r(xₖ) ,   xₖ₊₁ = xₖ + dₖ ,   θ = |dₖ| / |dₖ₋₁|

The remaining error after a correction is estimated as |dₖ| θ / (1-θ) (Hairer and Wanner 1996, section IV.8). The
iteration ends where this is below the tolerance; where that does not come, J is taken once more, at the last x.

Expressions have no loop whose length depends on data. Here every correction is a function that calls the next one in a
switch, so that the interpreter and native code evaluate the corrections that are needed, and no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import EquationsOfMotion

MX = ca.MX
SX = ca.SX
JACOBIANS = 2  # at most
CORRECTIONS = 4  # with each, at most


@dataclass(frozen=True)
class NewtonTolerance:
    """Accepted error of the iteration in a step, and limits of its estimate."""

    # Speeds, relative to 1 + |v|: ten thousand steps together stay below 1e-8.
    speed: float = 1e-12
    # Speeds in the last correction, relative to 1 + |v|, up to which a step counts as converged: further corrections
    # would change less.
    accepted: float = 1e-8
    # Multipliers, relative to 1 + |λ|: a hundredth of the tolerance of a run for friction that depends on them.
    multiplier: float = 1e-8
    # Rounding of positions in the joint rows, relative to 1 + |q|: 1 to 10 in runs of the library's machines.
    rounding: float = 16 * float(np.finfo(float).eps)
    # Rate of convergence: the next change is trusted to be smaller by at most three digits. Before two changes are
    # known, and where they hardly decrease, the error is taken to be as large as the change.
    fastest: float = 1e-3
    slowest: float = 0.5


TOLERANCE = NewtonTolerance()


def newton_limits(eqs: EquationsOfMotion, *, positions: bool) -> ca.Function:
    """(q, v, p, t, h) -> rounding and tolerance of (ż, v̇) in a step, and the mass that makes forces of them.

    positions : whether joint rows are positions over h², which round coarsely; other rows round below the tolerance.
    """
    s, h = eqs.symbols(), SX.sym("h")
    rounding = TOLERANCE.rounding * (1 + _largest(s.q)) / h**2 if positions else 0
    tolerance = TOLERANCE.speed * (1 + _largest(s.v)) / h
    M = eqs.functions["inertia"](s.q, s.p, s.t) if eqs.rows else SX(0, 0)  # without multipliers nothing is a force
    largest = ca.mmax(ca.diag(M)) if M.nnz() else 0  # of all entries: M is positive
    limits = ca.vertcat(rounding, tolerance, largest)
    return ca.Function("limits", [s.q, s.v, s.p, s.t, h], [ca.densify(limits)])


def newton_iteration(
    residual: ca.Function, factor: ca.Function, solve: ca.Function, leading: int, corrections: int = CORRECTIONS
) -> ca.Function:
    """(x, base of the step, limits) -> x after the last correction, largest change of (ż, v̇) in it.

    x : unknowns, `leading` of them (ż, v̇), then multipliers.  residual, factor : of x and the base.
    solve : of the factors and the right-hand side.  corrections : with each Jacobian, at most.
    """
    base = [MX.sym(residual.name_in(i), residual.size1_in(i)) for i in range(1, residual.n_in())]
    x, factors = MX.sym("x", residual.size1_in(0)), MX.sym("factors", solve.size1_in(0))
    size, change, limits = MX.sym("size"), MX.sym("change"), MX.sym("limits", 3)
    arguments = [x, factors, size, change, limits, *base]
    judge = _judge(x.shape[0], leading)
    stop = ca.Function("stop", arguments, [x, change])
    following = stop  # from the last correction to the first
    for _ in range(JACOBIANS):
        if following is not stop:
            again = following(x, factor(x, *base), 0, change, limits, *base)
            following = ca.Function("linearise", arguments, again)
        for _ in range(corrections):
            after, new_size, new_change, settled = judge(x, solve(factors, -residual(x, *base)), size, limits)
            choice = ca.Function.if_else("choice", stop, following)
            results = choice(settled, after, factors, new_size, new_change, limits, *base)
            following = ca.Function("correct", arguments, results)
    results = following(x, factor(x, *base), 0, 0, limits, *base)
    return ca.Function("newton", [x, *base, limits], results)


def _judge(count: int, leading: int) -> ca.Function:
    """(x, change, size before, limits) -> x after, size, largest change of (ż, v̇), whether the iteration ends.

    size : of the change beyond rounding, in units of the tolerance.
    """
    x, change = SX.sym("x", count), SX.sym("change", count)
    before, limits = SX.sym("before"), SX.sym("limits", 3)
    rounding, tolerance, mass = ca.vertsplit(limits)
    after = x + change
    moved, force = _largest(change[:leading]), _largest(change[leading:])
    allowed = TOLERANCE.multiplier * (1 + _largest(after[leading:])) + mass * tolerance
    size = ca.fmax((moved - rounding) / tolerance, (force - mass * rounding) / allowed)
    rate = ca.fmax(ca.fmin(size / before, TOLERANCE.slowest), TOLERANCE.fastest)
    settled = size * rate <= 1 - rate
    return ca.Function("judge", [x, change, before, limits], [after, size, moved, settled])


def _largest(x: Any) -> Any:
    """Largest absolute value; 0 of an empty column."""
    return ca.norm_inf(x) if x.shape[0] else SX(0)
