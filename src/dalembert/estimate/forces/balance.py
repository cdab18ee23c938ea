"""Forces of a machine from its motion, in independent coordinates z.

Along the motions W that the joints allow, v = W ż + …, reactions do no work, and what is left of M v̇ = f + Aᵀλ is

    Wᵀ (M v̇ - f) = h(z, ż, z̈) - B₁(z) F₁ - B₂(z) F₂ = 0 ,

n equations for measured inputs F₁ and unknown ones F₂ that act linearly.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion, State
from dalembert.estimate.kinematic.relations import MachineRelations
from dalembert.solve.constrained.solve import depends_on_reactions

SX = ca.SX


class Balance:
    """h and B of a machine as expressions of the pose and of z, ż, z̈.

    at : a state whose way of closing the loops is kept; None: that of the drawing.
    """

    def __init__(self, eqs: EquationsOfMotion, independent: Sequence[str], at: State | None = None) -> None:
        if eqs.nz:
            raise ModelError(
                "not-supported",
                f"forces are found from the motion of bodies alone; {eqs.name!r} has internal states "
                f"({', '.join(eqs.internal.names[:3])}).",
                Advice("Use an ideal actuator, or {} of a filter on the machine.", Argument("unknown")),
            )
        if depends_on_reactions(eqs):
            raise ModelError(
                "not-supported",
                f"friction that depends on reactions makes forces of {eqs.name!r} implicit.",
                Advice("Leave it out, or estimate it with {} of a filter on the machine.", Argument("unknown")),
            )
        self.eqs = eqs
        self.relations = MachineRelations(eqs, independent, at)
        self.function, self.acting = eqs.cached(("force balance", self.relations.targets), self._make)

    @property
    def n(self) -> int:
        return len(self.relations.coordinates)

    def _make(self) -> tuple[ca.Function, ca.Function]:
        """(pose, ż, z̈, p, t) -> h (n,), B (n, nu);  (pose, p, t) -> B, and what its entries are sums of, all added."""
        eqs, n = self.eqs, self.n
        q, zd, zdd = SX.sym("q", eqs.nq), SX.sym("zd", n), SX.sym("zdd", n)
        p, t, u = SX.sym("p", len(eqs.parameters)), SX.sym("t"), SX.sym("u", eqs.nu)
        v, a = self.relations.closing.motion(q, zd, zdd, p, t)
        W = ca.jacobian(v, zd)
        M = eqs.functions["inertia"](q, p, t)
        f = eqs.functions["forces"](q, v, SX.zeros(0), u, p, t, SX.zeros(len(eqs.rows)))
        left = W.T @ (M @ a - f)
        B = -ca.jacobian(left, u)
        if eqs.nu and ca.depends_on(B, u):
            problem = f"an input of {eqs.name!r} does not act linearly, so the motion does not determine it."
            raise ModelError("not-linear", problem)
        h = ca.substitute(left, u, SX.zeros(eqs.nu))
        summed = ca.fabs(W).T @ ca.fabs(ca.jacobian(f, u))
        still = [ca.densify(ca.substitute(x, ca.vertcat(zd, zdd), SX.zeros(2 * n))) for x in (B, summed)]
        return (
            ca.Function("balance", [q, zd, zdd, p, t], [ca.densify(h), ca.densify(B)], {"cse": True}),
            ca.Function("acting", [q, p, t], still, {"cse": True}),
        )
