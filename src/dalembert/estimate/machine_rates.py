"""Rates of a machine that are cheap to differentiate: a filter needs ∂x₁/∂x at every sample.

Differentiating a factorization costs several times the factorization. So it is made at a pose q̃ that equals q within
2⁻⁴⁰ but has no derivative, and the accelerations ã, λ̃ found there are corrected once with the equations at q itself:

    M δa - Aᵀ δλ = -(M ã - f - Aᵀ λ̃) ,   A δa = -(A ã - b) ,      a = ã + δa ,  λ = λ̃ + δλ .

The right-hand sides are 1e-12 or less, so the values are those of `solve.constrained`; their derivatives are all that
is left to differentiate, and with the factor held they give ∂a, ∂λ of the implicit function, exact (as in
`da.linearize`). A step ends with one correction of pose and speeds, M δ = Aᵀ μ and A δ = -(φ or rates), by the factor
of its last stage: what is corrected, and with it all that the derivative of that factor could add, is an error of the
step. Stages are not steered onto the rows as in `da.simulate`, where 1e-9 m next to a dead point count.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca

from dalembert.equations import EquationsOfMotion, Symbols
from dalembert.solve.constrained import (
    Evaluation,
    Factor,
    closed,
    depends_on_reactions,
    mass_is_singular,
    projection_function,
)

SX = ca.SX
GRAIN = 2.0**40  # above 8192 doubles are coarser than 1/GRAIN and stay as they are
REFINED = 1  # the correction is a refinement too


def still(x: Any) -> Any:
    """The same numbers, within 2⁻⁴⁰, without a derivative."""
    return ca.floor(x * GRAIN) * (1 / GRAIN)


def stilled(s: Symbols) -> Symbols:
    return replace(s, q=still(s.q), v=still(s.v), z=still(s.z), u=still(s.u))


def factor_at(eqs: EquationsOfMotion, rows: Any, q: Any, p: Any, t: Any) -> Factor:
    """Factor of rows (and the mass) at a pose."""
    return Factor(eqs.functions["inertia"](q, p, t), ca.sparsify(rows), singular_mass=mass_is_singular(eqs))


def rates(eqs: EquationsOfMotion, s: Symbols) -> tuple[list[Any], Factor]:
    """[q̇, v̇, ż, λ], and the factor used."""
    F = eqs.functions
    at = Evaluation(eqs, stilled(s))
    a, lam = at.factor.accelerations(at.forces(s.lam * 0), at.b, 0)
    A, b = F["rows"](s.q, s.v, s.z, s.u, s.p, s.t)
    effort = F["inertia"](s.q, s.p, s.t) @ a - F["forces"](s.q, s.v, s.z, s.u, s.p, s.t, lam) - A.T @ lam
    da, dlam = at.factor.accelerations(-effort, b - A @ a, REFINED)
    lam = lam + dlam
    zdot = F["internal"](s.q, s.v, s.z, s.u, s.p, s.t, lam)
    N, n = F["kinematics"](s.q, s.p, s.t)
    return [N @ s.v + n, a + da, zdot, lam], at.factor


def rates_function(eqs: EquationsOfMotion) -> ca.Function:
    """(q,v,z,u,p,t,λ₀) -> q̇, v̇, ż, λ. Where forces depend on λ it is found by Newton's method."""
    if depends_on_reactions(eqs):
        from dalembert.identify.friction_rates import rates_function as with_friction  # loads all of identification

        return with_friction(eqs)

    def make() -> ca.Function:
        s = eqs.symbols()
        values, _ = rates(eqs, s)
        return _function(eqs, "rates", [s.q, s.v, s.z, s.u, s.p, s.t, s.lam], values)

    return eqs.cached("rates of a filter", make)


def landing_function(eqs: EquationsOfMotion) -> ca.Function:
    """The last stage of an explicit step and the projection: what `solve.constrained.closing_function` does.

    (q,v,z,λ of the last stage; q,v,z of the step without it; weight of it; u,p,t at the end of the step) -> q, v, z.
    """

    def make() -> ca.Function:
        s = eqs.symbols()
        base = [SX.sym("q0", eqs.nq), SX.sym("v0", eqs.nv), SX.sym("z0", eqs.nz)]
        weight = SX.sym("weight")
        last, factor = rates(eqs, s)
        q, v, z = (y + weight * k for y, k in zip(base, last[:3], strict=True))
        q, v = _onto(eqs, replace(s, q=q, v=v, z=z), factor)
        return _function(eqs, "landing", [s.q, s.v, s.z, s.lam, *base, weight, s.u, s.p, s.t], [q, v, z])

    return eqs.cached("landing of a filter", make)


def projecting_function(eqs: EquationsOfMotion) -> ca.Function:
    """(q,v,p,t) -> q, v on the joints."""
    if depends_on_reactions(eqs):
        return projection_function(eqs)

    def make() -> ca.Function:
        s = eqs.symbols()
        resting = replace(s, z=SX.zeros(eqs.nz), u=SX.zeros(eqs.nu))
        q, v = _onto(eqs, resting, Evaluation(eqs, stilled(resting)).factor)
        return _function(eqs, "project", [s.q, s.v, s.p, s.t], [q, v])

    return eqs.cached("projection of a filter", make)


def _onto(eqs: EquationsOfMotion, s: Symbols, factor: Factor) -> tuple[Any, Any]:
    """q and v on the joints; `factor` is that of a pose an integration error away."""
    q = closed(eqs, s, factor)
    if not eqs.rate_rows:
        return q, s.v
    slip = SX.zeros(len(eqs.rows))
    slip[eqs.rate_rows] = eqs.functions["rates"](q, s.v, s.p, s.t)
    return q, s.v + factor.correction(slip)


def _function(eqs: EquationsOfMotion, name: str, inputs: list[Any], outputs: list[Any]) -> ca.Function:
    return ca.Function(name, inputs, [ca.densify(x) for x in outputs], {"cse": eqs.nv < 600})
