"""Rates of a machine whose forces depend on reactions, so that they can be differentiated.

`da.simulate` solves λ = Φ(λ) by secants, whose derivative is not that of the solution. Here Newton's method continues
from multipliers near the solution, λ ← λ + (1 - Φ′)⁻¹ (Φ(λ) - λ): after one pass its derivative is exactly that of the
implicit function. Only multipliers that forces depend on (those of joints with friction) enter the solve.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from dalembert.equations import EquationsOfMotion
from dalembert.solve.constrained.solve import (
    Evaluation,
    depends_on_reactions,
    forward_function,
    refinements,
    steer_speeds,
)

SX = ca.SX
PASSES = 3


def rates_function(eqs: EquationsOfMotion) -> ca.Function:
    """(q,v,z,u,p,t,λ₀) -> q̇, v̇, ż, λ."""

    def make(large: int = 600) -> ca.Function:  # speeds from which common terms take longer to find than to compute
        if not depends_on_reactions(eqs):
            plain = forward_function(eqs)
            symbols = plain.sx_in()
            qdot, a, zdot, _, lam, _ = plain(*symbols)
            return ca.Function("rates", symbols, [qdot, a, zdot, lam], {"cse": eqs.nv < large})
        s = eqs.symbols()
        at = Evaluation(eqs, s)
        s = replace(s, v=steer_speeds(eqs, at, s.v))
        here = Evaluation(eqs, s, same_pose=at)
        count = refinements(eqs)
        felt = sorted(set(eqs.functions["forces"].jac_sparsity(0, 6).get_col()))
        guess = SX.sym("guess", len(eqs.rows))
        _, accelerations = here.factor.accelerations(here.forces(guess), here.b, count)
        gradient = ca.jacobian(accelerations[felt], guess)[:, felt]
        arguments = [s_ for s_ in ca.symvar(ca.vertcat(accelerations, ca.vec(gradient))) if s_.name()[:5] != "guess"]
        newton = ca.Function("newton", [guess, *arguments], [accelerations, ca.densify(gradient)])
        lam = s.lam
        for _ in range(PASSES):
            value, slope = newton(lam, *arguments)
            change = ca.solve(SX.eye(len(felt)) - slope, value[felt] - lam[felt])
            lam = SX(lam)
            lam[felt] = lam[felt] + change
        a, lam = here.factor.accelerations(here.forces(lam), here.b, count)
        zdot = eqs.functions["internal"](s.q, s.v, s.z, s.u, s.p, s.t, lam)
        N, n = eqs.functions["kinematics"](s.q, s.p, s.t)
        inputs = [at.s.q, at.s.v, at.s.z, at.s.u, at.s.p, at.s.t, at.s.lam]
        return ca.Function("rates", inputs, [ca.densify(x) for x in (N @ s.v + n, a, zdot, lam)], {"cse": True})

    return eqs.cache("differentiable rates", make)
