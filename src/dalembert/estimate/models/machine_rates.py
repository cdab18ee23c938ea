"""Rates of a machine that are cheap to differentiate: a filter needs ∂x₁/∂x at every sample.

Differentiating a factorization costs several times the factorization. So it is made at a pose q̃ that equals q within
2⁻⁴⁰ but has no derivative, and the accelerations ã, λ̃ found there are corrected once with the equations at q itself:

    M δa - Aᵀ δλ = -(M ã - f - Aᵀ λ̃) ,   A δa = -(A ã - b) ,      a = ã + δa ,  λ = λ̃ + δλ .

The right-hand sides are 1e-12 or less, so the values are those of `constrained.solve`; their derivatives are all that
is left to differentiate, and with the factor held they give ∂a, ∂λ of the implicit function, exact (as in
`da.linearize`). What closes the joints at the end of a step, M δ = Aᵀ μ and A δ = -(φ or rates) with the factor of its
last stage, is treated the same way. Stages are not steered onto the rows as in `da.simulate`, where 1e-9 m next to a
dead point count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from dalembert.equations import EquationsOfMotion, Symbols
from dalembert.expressions import Expr
from dalembert.solve.constrained.constraint_factor import ConstraintFactor
from dalembert.solve.constrained.solve import (
    Evaluation,
    build_function,
    depends_on_reactions,
    normalise,
    projection_function,
    refinements,
)
from dalembert.solve.constrained.structure import massless_directions

SX = ca.SX
GRAIN = 2.0**40  # above 8192 doubles are coarser than 1/GRAIN and stay unchanged


def still(x: Expr) -> Expr:
    """The same numbers, within 2⁻⁴⁰, without a derivative."""
    return ca.floor(x * GRAIN) * (1 / GRAIN)


def without_derivatives(s: Symbols) -> Symbols:
    return replace(s, q=still(s.q), v=still(s.v), z=still(s.z), u=still(s.u))


def factor_at(eqs: EquationsOfMotion, rows: Expr, q: Expr, p: Expr, t: Expr) -> ConstraintFactor:
    """Factor of rows (and the mass) at a pose."""
    M = eqs.functions["inertia"](q, p, t)
    return ConstraintFactor(M, ca.sparsify(rows), massless=massless_directions(eqs))


@dataclass(frozen=True)
class FactoredRows:
    """Rows and mass at a pose, and their factor at the pose without derivative."""

    A: Any
    M: Any
    factor: ConstraintFactor

    def correction(self, residual: Expr) -> Expr:
        """δ with M δ = Aᵀ μ and A δ = -residual."""
        change, mu = self.factor.accelerations(SX.zeros(self.M.shape[0]), -still(residual), 0)
        correction, _ = self.factor.accelerations(self.A.T @ mu - self.M @ change, -residual - self.A @ change, 0)
        return change + correction


def rates(eqs: EquationsOfMotion, s: Symbols) -> tuple[list[Any], FactoredRows]:
    """[q̇, v̇, ż, λ], and the factors of the constraints there."""
    F = eqs.functions
    at = Evaluation(eqs, without_derivatives(s))
    refined = 1 if refinements(eqs) == 2 else 3  # slopes to (ε/σ)², where rows are redundant or nearly so to (ε/σ)⁴
    a, lam = at.factor.accelerations(at.forces(s.lam * 0), at.b, refined)
    M = F["inertia"](s.q, s.p, s.t)
    A, b = F["rows"](s.q, s.v, s.z, s.u, s.p, s.t)
    effort = F["forces"](s.q, s.v, s.z, s.u, s.p, s.t, lam) + A.T @ lam - M @ a
    da, dlam = at.factor.accelerations(effort, b - A @ a, refined)
    lam = lam + dlam
    zdot = F["internal"](s.q, s.v, s.z, s.u, s.p, s.t, lam)
    N, n = F["kinematics"](s.q, s.p, s.t)
    return [N @ s.v + n, a + da, zdot, lam], FactoredRows(A, M, at.factor)


def rates_function(eqs: EquationsOfMotion) -> ca.Function:
    """(q,v,z,u,p,t,λ₀) -> q̇, v̇, ż, λ. Where forces depend on λ it is found by Newton's method."""
    if depends_on_reactions(eqs):
        from dalembert.identify.machine.friction_rates import (
            rates_function as with_friction,  # loads all of identification
        )

        return with_friction(eqs)

    def make() -> ca.Function:
        s = eqs.symbols()
        values, _ = rates(eqs, s)
        return build_function("rates", [s.q, s.v, s.z, s.u, s.p, s.t, s.lam], values)

    return eqs.cache("rates of a filter", make)


def landing_function(eqs: EquationsOfMotion) -> ca.Function:
    """The last stage of an explicit step and the projection: what `solve.constrained.solve.closing_function` does.

    (q,v,z,λ of the last stage; q,v,z of the step without it; weight of it; u,p,t at the end of the step) -> q, v, z.
    """

    def make() -> ca.Function:
        s = eqs.symbols()
        base = [SX.sym("q0", eqs.nq), SX.sym("v0", eqs.nv), SX.sym("z0", eqs.nz)]
        weight = SX.sym("weight")
        last, held = rates(eqs, s)
        q, v, z = (y + weight * k for y, k in zip(base, last[:3], strict=True))
        q, v = _onto(eqs, replace(s, q=q, v=v, z=z), held)
        return build_function("landing", [s.q, s.v, s.z, s.lam, *base, weight, s.u, s.p, s.t], [q, v, z])

    return eqs.cache("landing of a filter", make)


def projecting_function(eqs: EquationsOfMotion) -> ca.Function:
    """(q,v,p,t) -> q, v on the joints."""
    if depends_on_reactions(eqs):
        return projection_function(eqs)

    def make() -> ca.Function:
        s = eqs.symbols()
        resting = replace(s, z=SX.zeros(eqs.nz), u=SX.zeros(eqs.nu))
        A, _ = eqs.functions["rows"](s.q, s.v, resting.z, resting.u, s.p, s.t)
        held = FactoredRows(
            A, eqs.functions["inertia"](s.q, s.p, s.t), Evaluation(eqs, without_derivatives(resting)).factor
        )
        q, v = _onto(eqs, resting, held)
        return build_function("project", [s.q, s.v, s.p, s.t], [q, v])

    return eqs.cache("projection of a filter", make)


def _onto(eqs: EquationsOfMotion, s: Symbols, held: FactoredRows) -> tuple[Expr, Expr]:
    """q and v on the joints, with the factors of the constraints at a pose an integration error away."""
    q, v = normalise(eqs, s.q), s.v
    if eqs.holonomic_rows:
        gap = SX.zeros(len(eqs.rows))
        gap[eqs.holonomic_rows] = eqs.functions["position"](q, s.p, s.t)
        N, _ = eqs.functions["kinematics"](q, s.p, s.t)
        q = normalise(eqs, q + N @ held.correction(gap))
    if eqs.rate_rows:
        slip = SX.zeros(len(eqs.rows))
        slip[eqs.rate_rows] = eqs.functions["rates"](q, v, s.p, s.t)
        v = v + held.correction(slip)
    return q, v
