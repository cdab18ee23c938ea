"""Hamilton's canonical equations (Goldstein, Poole and Safko 2002, ch. 8).

    p = ∂L/∂q̇ = M q̇ + a ,   H = pᵀ q̇ - L ,   q̇ = ∂H/∂p ,   ṗ = -∂H/∂q + Q + φ_qᵀ λ

The momenta are the speeds of these equations: q̇ = M⁻¹ (p - a), and M⁻¹ ṗ = M⁻¹ (-∂H/∂q + Q) + (φ_q M⁻¹)ᵀ λ has the
form of all others with mass matrix M⁻¹ = ∂²H/∂p².
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.core.arrays import AnyArray as Array
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.equations import HOLONOMIC
from dalembert.symbolic.block_solve import solve_mass
from dalembert.symbolic.derivation import Derivation, Step, Values, least_squares, quadratic_mass
from dalembert.symbolic.motion import SystemMotion, in_rates, rank_at
from dalembert.symbolic.system import System

SX = ca.SX


def hamilton(system: System) -> Derivation:
    """Canonical equations in coordinates and momenta; holonomic rows have multipliers."""
    for row in system.constraints:
        if row.level != HOLONOMIC:
            raise ModelError(
                "not-supported", f"row {row.name!r} of system {system.name!r} is not holonomic; canonical equations "
                "need rows of coordinates alone.",
                Advice("Use {}.", Call("da.symbolic.maggi"), Call("da.symbolic.lagrange_multipliers")),
                where={"row": row.name},
            )  # fmt: skip
    rates = in_rates(system)
    mass = quadratic_mass(rates, "Hamilton's method")
    for (value,) in rates.sample([mass], 2):
        if rank_at(value) < rates.nv:
            raise ModelError(
                "singular-matrix", f"the momenta of system {system.name!r} do not give its rates: the mass matrix is "
                "singular (checked at random points).",
                Advice("Use {}.", Call("da.symbolic.lagrange_multipliers"), Call("da.symbolic.udwadia_kalaba")),
            )  # fmt: skip
    names = tuple(f"{name}.momentum" for name in system.coordinate_names)
    p = ca.vertcat(*map(SX.sym, names))
    offset = ca.substitute(ca.gradient(rates.kinetic, rates.v), rates.v, SX.zeros(rates.nv))
    N = solve_mass(mass, SX.eye(rates.nv))
    qdot = solve_mass(mass, p - offset)
    drift = -solve_mass(mass, offset)  # of q̇ = N p + rest, without momenta
    motion = SystemMotion(
        system, names, p, ca.vertcat(*(SX.sym(f"{name}.rate") for name in names)), N, drift,
        rates.constraints, (), (ca.vertcat(system.rates, system.speeds),
                                ca.vertcat(qdot, ca.substitute(rates.velocity(system.speeds), rates.v, qdot))),
        ca.gradient(rates.kinetic, rates.v),
    )  # fmt: skip
    # T = ½ q̇ᵀ M q̇ + offset · q̇ + T₀, so that H = ½ (p - offset) · q̇ - T₀ + V; ∂H/∂q at p is -∂L/∂q at q̇
    still = ca.substitute(rates.kinetic, rates.v, SX.zeros(rates.nv))
    H = ca.dot(p - offset, qdot) / 2 - still + rates.potential
    change = ca.substitute(rates.applied + ca.gradient(rates.kinetic - rates.potential, system.q), rates.v, qdot)
    steps = [
        Step("Momenta", "Momenta as functions of the rates.", "p = \\frac{\\partial L}{\\partial \\dot{q}}",
             (("p", ca.gradient(rates.kinetic, rates.v)),)),
        Step("Rates", "The momenta solved for the rates.", terms=(("\\dot{q}", qdot),)),
        Step("Hamilton's function", "Energy in coordinates and momenta.", "H = p^{T} \\dot{q} - L", (("H", H),)),
        Step("Canonical equations", "First-order equations of coordinates and momenta.",
             "\\dot{q} = \\frac{\\partial H}{\\partial p}, \\qquad \\dot{p} = -\\frac{\\partial H}{\\partial q} + Q"
             + (" + A_{q}^{T} \\lambda" if rates.constraints else ""), (("\\dot{p}", change),)),
    ]  # fmt: skip
    rows = ca.substitute(rates.A, rates.v, qdot)
    extra = {"change": change, "C": rows}
    return Derivation("Hamilton's equations", motion, N, ca.densify(N @ change), tuple(steps), extra, solve_canonical)


def solve_canonical(values: Values) -> tuple[Array, Array]:
    """ṗ and λ from the canonical equations and the rows at acceleration level."""
    change, C, A, b = values["change"], values["C"], values["A"], values["b"]
    if not len(b):
        return change, np.zeros(0)
    lam = least_squares(A @ C.T, b - A @ change)
    return change + C.T @ lam, lam
