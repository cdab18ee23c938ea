"""Friction that depends on reactions: λ = Λ(f(λ)), Λ being a solve of M v̇ = f + Aᵀλ, A v̇ = b.

Newton's method on λ; the derivative of Λ(f(λ)) is Λ applied to the columns of ∂f/∂λ. The graph of a run has iterations
of its own, which are repeated until λ no longer changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.core.errors import ConvergenceError, ModelError
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array, Kernel
from dalembert.solve.constrained.solve import Baumgarte, forward_function

Solve = Callable[[Array, Array], tuple[Array, Array]]


@dataclass(frozen=True)
class ConstrainedSystem:
    """The matrices of a state."""

    M: Array
    A: Array
    b: Array
    u: Array


def forces_at(eqs: EquationsOfMotion, state: State, u: Array, lam: Array) -> Array:
    (f,) = eqs.kernel("forces")(state.q, state.v, state.z, u, eqs.p, state.t, lam)
    if not np.isfinite(f).all():
        name = eqs.speeds.names[int(np.argmin(np.isfinite(f)))]
        raise ModelError("not-finite", f"the forces on {name!r} are not finite at t = {state.t:g} s.")
    return f


def force_slopes(eqs: EquationsOfMotion, state: State, u: Array, lam: Array) -> Array:
    """∂f/∂λ (nv, rows), exact."""

    def make() -> Kernel:
        s = eqs.symbols()
        f = eqs.functions["forces"](s.q, s.v, s.z, s.u, s.p, s.t, s.lam)
        slopes = ca.densify(ca.jacobian(f, s.lam))
        return Kernel(ca.Function("force_slopes", [s.q, s.v, s.z, s.u, s.p, s.t, s.lam], [slopes]))

    kernel = eqs.cache("force slopes", make)
    (slopes,) = kernel(state.q, state.v, state.z, u, eqs.p, state.t, lam)
    return np.reshape(slopes, (eqs.nv, len(eqs.rows)))


def solve_with_friction(
    eqs: EquationsOfMotion,
    state: State,
    system: ConstrainedSystem,
    solve: Solve,
    friction: bool,
    given: Array,
    iterations: int = 50,
    tolerance: float = 1e-12,
) -> tuple[Array, Array, float]:
    """(v̇, multipliers of all rows, last change); `system` may hold more rows than the equations do.

    iterations : newton steps: it converges in five where the friction does not jam.
    tolerance : change that ends them: 4500 roundings.
    """
    count, extra = len(state.lam), len(system.b) - len(state.lam)
    lam = np.concatenate((state.lam, np.zeros(extra)))
    acceleration, found = solve(forces_at(eqs, state, system.u, lam[:count]) + given, system.b)
    if not friction:
        return acceleration, found, 0.0
    zero = np.zeros_like(system.b)
    change = np.inf
    for _ in range(iterations):
        change = float(np.abs(found - lam).max()) / (1.0 + float(np.abs(found).max()))
        if change <= tolerance:
            return acceleration, found, change
        slopes = np.hstack((force_slopes(eqs, state, system.u, lam[:count]), np.zeros((eqs.nv, extra))))
        answer = np.zeros((len(lam), len(lam)))
        for k in np.flatnonzero(np.abs(slopes).max(axis=0) > 0):
            answer[:, k] = solve(slopes[:, k], zero)[1]
        step = np.asarray(np.linalg.lstsq(np.eye(len(lam)) - answer, found - lam, rcond=None)[0])
        before = float(np.abs(found - lam).max())
        lam, acceleration, found = _shorten_step(eqs, state, system, solve, lam, step, before, given)
    raise ConvergenceError(
        "friction-unsettled",
        f"friction and reactions of {eqs.name!r} did not settle in {iterations} iterations (last change "
        f"{change:.1e} of the reactions). The joint may be jamming: lower the friction coefficient.",
    )


def _shorten_step(
    eqs: EquationsOfMotion,
    state: State,
    system: ConstrainedSystem,
    solve: Solve,
    lam: Array,
    step: Array,
    before: float,
    given: Array,
    shortest: float = 1e-3,
) -> tuple[Array, Array, Array]:
    """The Newton step, halved while it makes things worse (reactions enter through their size, which has a kink).

    shortest : part of a Newton step, halved ten times, that is taken even where it makes things worse.
    """
    length = 1.0
    while True:
        trial = lam + length * step
        acceleration, found = solve(forces_at(eqs, state, system.u, trial[: len(state.lam)]) + given, system.b)
        if float(np.abs(found - trial).max()) <= before or length < shortest:
            return trial, acceleration, found
        length /= 2


def solve_by_graph(
    eqs: EquationsOfMotion,
    state: State,
    u: Array,
    friction: bool,
    stabilise: Baumgarte | None,
    passes: int = 12,
    standing: float = 1e-14,
    unsettled: float = 1e-9,
) -> tuple[Array, Array, float]:
    """The run's own solve, repeated from its own result until it converges, as in the steps of a run.

    passes : warm starts of the graph's own solve, from zero multipliers.
    standing : change that ends them.
    unsettled : change after them that is an error: forces are known to nine digits below it.
    """
    key = ("forward kernel", stabilise)
    kernel = eqs.cache(key, lambda: Kernel(forward_function(eqs, stabilise)))
    lam = np.array(state.lam)
    change = 0.0
    for _ in range(passes):
        _, acceleration, _, _, after, last = kernel(state.q, state.v, state.z, u, eqs.p, state.t, lam)
        moved = float(np.abs(after - lam).max(initial=0.0))
        lam, change = after, float(np.reshape(last, -1)[0])
        if moved <= standing * (1.0 + float(np.abs(lam).max(initial=0.0))):
            break
    if friction and change > unsettled:
        raise ConvergenceError(
            "friction-unsettled",
            f"friction and reactions of {eqs.name!r} did not settle (last change {change:.1e} of the reactions). "
            "The joint may be jamming: lower the friction coefficient.",
        )
    return acceleration, lam, change
