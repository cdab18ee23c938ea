"""The Boltzmann-Hamel equations: Lagrange's equations in quasi-velocities (Neimark and Fufaev 1972, ch. 3).

    w = P q̇ + y₀ ,   q̇ = N w + n ,   T(q, w, t)
    d/dt ∂T/∂w + Nᵀ (dP/dt - ∂w/∂q)ᵀ ∂T/∂w - Nᵀ ∂T/∂q = Nᵀ Q

w are all quasi-velocities: the independent speeds, and the rows, whose values are zero. The middle term sums over all
of them before the rows are used; with the independent ones alone a knife edge would lose its coupling terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from dalembert.symbolic.block_solve import solve_square
from dalembert.symbolic.derivation import Derivation, Step, quadratic_mass
from dalembert.symbolic.formalisms.elimination import elimination_step, with_reactions
from dalembert.symbolic.motion import SystemMotion, eliminate, in_rates, in_speeds
from dalembert.symbolic.system import System

SX = ca.SX


def boltzmann_hamel(system: System) -> Derivation:
    """The Boltzmann-Hamel equations in the declared speeds, or in the rates where none are declared."""
    free = eliminate(in_speeds(system))
    lifted, P, y0 = relax(free)
    quadratic = quadratic_mass(lifted, "the Boltzmann-Hamel method")
    T, w = lifted.kinetic, lifted.v
    momenta = ca.gradient(T, w)
    middle = coupling(lifted, P, y0)
    f = lifted.force - lifted.rate(momenta) - middle + lifted.N.T @ ca.gradient(T, system.q)
    count = free.nv
    rows = w[count:]
    parts = [quadratic[:count, :count], f[:count], T, middle[:count]]
    if rows.numel():
        parts = [ca.substitute(SX(entry), rows, SX.zeros(rows.numel())) for entry in parts]
    M, f, T, middle = parts
    steps = [
        *elimination_step(free),
        Step("Kinetic energy", "In all quasi-velocities; those of rows are zero.", terms=(("T", T),)),
        Step("Coupling", "Quasi-velocities are not derivatives of coordinates; this term corrects for it.",
             "N^{T} \\left( \\dot{P} - \\frac{\\partial w}{\\partial q} \\right)^{T} \\frac{\\partial T}{\\partial w}",
             (("\\Gamma", middle),)),
        Step("Boltzmann-Hamel equations", "One equation per independent speed.",
             "\\frac{d}{dt}\\frac{\\partial T}{\\partial w} + \\Gamma - N^{T} \\frac{\\partial T}{\\partial q} = "
             "N^{T} Q"),
    ]  # fmt: skip
    derived = Derivation("the Boltzmann-Hamel equations", free, M, ca.densify(f), tuple(steps))
    return with_reactions(derived)


def coupling(whole: SystemMotion, P: Any, y0: Any) -> Any:
    """Nᵀ (dP/dt - ∂w/∂q)ᵀ ∂T/∂w."""
    s = whole.system
    slope = ca.jacobian(P @ s.rates + y0, s.q)
    turning = whole.rate(P) - ca.substitute(slope, s.rates, whole.qdot)
    return whole.N.T @ (turning.T @ ca.gradient(whole.kinetic, whole.v))


def relax(free: SystemMotion) -> tuple[SystemMotion, Any, Any]:
    """The motion in all quasi-velocities w = P q̇ + y₀: the speeds of ``free``, then the rows it eliminated."""
    system = free.system
    rates = in_rates(system)
    rows = [rates.rate_of_row(row) for row in free.eliminated]
    definitions = ca.vertcat(free.of_rates, *rows)
    P = ca.jacobian(definitions, system.rates)
    y0 = ca.densify(ca.substitute(definitions, system.rates, SX.zeros(rates.nv)))
    extra = [SX.sym(f"row {k + 1}") for k in range(len(rows))]
    w = ca.vertcat(free.v, *extra)
    wdot = ca.vertcat(free.vdot, *(SX.sym(f"row {k + 1}.rate") for k in range(len(rows))))
    qdot = solve_square(P, w - y0)
    N = ca.jacobian(qdot, w)
    names = (*free.names, *(row.name() for row in extra))
    symbols = ca.vertcat(system.rates, system.speeds)
    speeds = ca.substitute(rates.velocity(system.speeds), system.rates, qdot)
    symbols, values = _without(symbols, ca.vertcat(qdot, speeds), free.names)
    n = ca.densify(ca.substitute(qdot, w, SX.zeros(rates.nv)))
    return SystemMotion(system, names, w, wdot, N, n, (), (), (symbols, values), definitions), P, y0


def _without(symbols: Any, values: Any, names: Sequence[str]) -> tuple[Any, Any]:
    """Replacements of all symbols but those that are speeds themselves."""
    indices = [k for k, symbol in enumerate(ca.vertsplit(symbols)) if symbol.name() not in names]
    return symbols[indices], values[indices]
