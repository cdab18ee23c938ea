"""Equations from derivatives of the kinetic energy: Nielsen's form (order 1), Tzénoff's (order 2) and higher ones.

    ∂T⁽ᵏ⁾/∂w⁽ᵏ⁻¹⁾ = k d/dt ∂T/∂w + Nᵀ ∂T/∂q ,      w = P q̇ + y₀ ,   q̇ = N w + n ,   T⁽ᵏ⁾ = dᵏT/dtᵏ
    1/k (∂T⁽ᵏ⁾/∂w⁽ᵏ⁻¹⁾ - Nᵀ ∂T/∂q) + Nᵀ (dP/dt - ∂w/∂q)ᵀ ∂T/∂w - Nᵀ ∂T/∂q = Nᵀ Q

In the rates, w = q̇, the middle term vanishes and order 1 is ∂Ṫ/∂q̇ - 2 ∂T/∂q = Q (Nielsen 1935).
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.symbolic.derivation import Derivation, Step, quadratic_mass
from dalembert.symbolic.formalisms.boltzmann_hamel import coupling, relax
from dalembert.symbolic.formalisms.elimination import elimination_step, with_reactions
from dalembert.symbolic.motion import SystemMotion, eliminate, in_speeds
from dalembert.symbolic.system import System

SX = ca.SX
HIGHEST = 8  # order: the derivative grows with every one


def nielsen(system: System, *, order: int = 1) -> Derivation:
    """Equations of motion from the time derivative of the kinetic energy of the given order."""
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= HIGHEST:
        raise ModelError("not-a-count", f"order must be a whole number from 1 to {HIGHEST}, got {order!r:.40}.")
    free = eliminate(in_speeds(system))
    lifted, P, y0 = relax(free)
    quadratic_mass(lifted, "Nielsen's form")
    T = lifted.kinetic
    slope = lifted.N.T @ ca.gradient(T, system.q)
    changed = derivative_of_energy(lifted, order)
    inertia = (changed - slope) / order + coupling(lifted, P, y0) - slope
    count, rows = free.nv, lifted.v[free.nv :]
    projected = (inertia - lifted.force)[:count]
    if rows.numel():
        still = ca.vertcat(rows, lifted.vdot[count:])
        projected = ca.substitute(projected, still, SX.zeros(still.numel()))
    M = ca.jacobian(projected, free.vdot)
    f = -ca.substitute(projected, free.vdot, SX.zeros(count))
    shown = {1: "\\dot{T}", 2: "\\ddot{T}"}.get(order, f"T^{{({order})}}")
    steps = [
        *elimination_step(free),
        Step("Kinetic energy", "In all quasi-velocities.", terms=(("T", T),)),
        Step("Derivative of the energy", f"Of order {order}, by derivatives of the speeds of order {order - 1}.",
             f"\\frac{{1}}{{{order}}} \\left( \\frac{{\\partial {shown}}}{{\\partial w^{{({order - 1})}}}} - N^{{T}} "
             "\\frac{\\partial T}{\\partial q} \\right) = \\frac{d}{dt} \\frac{\\partial T}{\\partial w}"),
    ]  # fmt: skip
    return with_reactions(Derivation("Nielsen's form", free, M, ca.densify(f), tuple(steps)))


def derivative_of_energy(motion: SystemMotion, order: int) -> Any:
    """∂T⁽ᵏ⁾/∂w⁽ᵏ⁻¹⁾ of (q, w, ẇ, t)."""
    s = motion.system
    levels = [motion.v, motion.vdot, *(SX.sym(f"w{k}", motion.nv) for k in range(2, order + 1))]
    value = motion.kinetic
    for _ in range(order):
        moving = ca.vertcat(s.q, *levels[:-1])
        change = ca.vertcat(motion.qdot, *levels[1:])
        value = ca.jtimes(value, moving, change) + ca.jacobian(value, s.t)
    return ca.gradient(value, levels[order - 1])
