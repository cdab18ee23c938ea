"""The constrained solve inside the graph: accelerations, multipliers and projections of equations.

Every solve goes through the factor of `constraint_factor`. Starting from the multipliers of the stage before would
spare refinements but winds up where rows are inconsistent, as they are, slightly, near a dead point; so every solve
starts from zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError
from dalembert.equations import EquationsOfMotion, Symbols
from dalembert.solve.constrained.constraint_factor import REFINEMENTS, ConstraintFactor
from dalembert.solve.constrained.structure import (
    CLEAR_RANK,
    independent_rows,
    massless_directions,
    rows_of_cut_joints,
)

SX = ca.SX
FRICTION_PASSES = 8
LARGE = 600  # speeds, up to which the equations at a state share their common expressions
SHARING = 10_000  # operations, up to which common expressions are searched for: 0.1 s for at most a tenth of them
PROBED = 400  # speeds, up to which the condition of the rows is looked at before a run: five dense solutions, 0.1 s
TINY = 1e-60  # keeps the scale of an empty row finite


@dataclass(frozen=True)
class Baumgarte:
    """φ̈ + 2 b₁ b₂ φ̇ + b₂² φ = 0 and ċ + b₃ c = 0 instead of φ̈ = 0 and ċ = 0 (Baumgarte 1972).

    penalty : None solves for the multipliers. A number, 1e4 to 1e8, takes this multiple of the left-hand sides above
        for the forces of the joints instead, λ = -α (φ̈ + 2 b₁ b₂ φ̇ + b₂² φ), α being the number times the largest
        mass: nothing to solve for, joints that give by about 1/penalty (Bayo, García de Jalón and Serna, 1988).
    """

    b1: float = 1.0
    b2: float = 1.0
    b3: float = 1.0
    penalty: float | None = None

    def __post_init__(self) -> None:
        if self.penalty is not None and not 0 < self.penalty < float("inf"):
            raise DataError("not-positive", f"penalty must be a positive number, got {self.penalty!r}.")


class PenaltyFactor:
    """(M + Aᵀ α A) v̇ = f + Aᵀ α b , λ = α (b - A v̇), with α = penalty max M / |row|²."""

    def __init__(self, M: Any, A: Any, penalty: float) -> None:
        self.A = A
        self.weight = ca.densify(penalty * ca.mmax(M) / (ca.sum2(A * A) + TINY))
        self._ldl = ca.ldl(ca.sparsify(M + A.T @ ca.diag(self.weight) @ A))

    def accelerations(self, f: Any, b: Any, refinements: int | None = None) -> tuple[Any, Any]:
        a = ca.ldl_solve(f + self.A.T @ (self.weight * b), *self._ldl)
        return a, self.weight * (b - self.A @ a)


def factor_rows(eqs: EquationsOfMotion, q: Any, p: Any, t: Any, A: Any) -> ConstraintFactor:
    """The factor of the rows of the equations at a pose."""
    M = eqs.functions["inertia"](q, p, t)
    sure = independent_rows(eqs)
    return ConstraintFactor(M, A, massless=massless_directions(eqs), sure=sure, groups=rows_of_cut_joints(eqs))


def depends_on_reactions(eqs: EquationsOfMotion) -> bool:
    return len(eqs.rows) > 0 and eqs.functions["forces"].jac_sparsity(0, 6).nnz() > 0


class Evaluation:
    """Everything at one state (expressions): rows, one factorization, forces, and from them the accelerations.

    same_pose : an evaluation at the same pose, whose factor serves here too.
    """

    def __init__(
        self,
        eqs: EquationsOfMotion,
        s: Symbols,
        *,
        baumgarte: Baumgarte | None = None,
        same_pose: Evaluation | None = None,
    ) -> None:
        self.eqs, self.s, self._baumgarte, self._same_pose = eqs, s, baumgarte, same_pose
        self._at = state_function(eqs)(*_arguments(s))
        self.A, self.b, self._f, self.qdot = self._at[:4]
        if baumgarte is not None and len(eqs.rows):
            self.b = self.b + stabilisation(eqs, s, baumgarte)

    @cached_property
    def factor(self) -> Any:
        """Made where it is needed: that of a tree of n bodies has n³/6 operations, its recursion some 100 n."""
        eqs, s = self.eqs, self.s
        if self._same_pose is not None:
            return self._same_pose.factor
        if self._baumgarte is not None and self._baumgarte.penalty is not None and len(eqs.rows):
            return PenaltyFactor(eqs.functions["inertia"](s.q, s.p, s.t), self.A, self._baumgarte.penalty)
        return factor_rows(eqs, s.q, s.p, s.t, self.A)

    def forces(self, lam: object) -> Any:
        if not depends_on_reactions(self.eqs):
            return self._f
        return self.eqs.functions["forces"](*replace(self.s, lam=lam).arguments("forces"))

    def solve(self) -> tuple[Any, Any, Any, Any, Any]:
        """(v̇, λ, ż, power, last change of λ); ``s.lam`` is where λ starts when forces depend on it."""
        eqs, s = self.eqs, self.s
        k = refinements(eqs)
        lam = s.lam
        change = SX(0)
        passes = FRICTION_PASSES if depends_on_reactions(eqs) else 0
        previous: tuple[Any, Any] | None = None
        for _ in range(passes):
            # Anderson mixing of depth one: the secant step of the fixed point λ = solve(f(λ))
            _, found = self.factor.accelerations(self.forces(lam), self.b, k)
            residual = found - lam
            following = found
            if previous is not None:
                old, old_residual = previous
                step = residual - old_residual
                theta = ca.dot(step, residual) / (ca.dot(step, step) + 1e-300)
                following = found - ca.fmax(ca.fmin(theta, 5), -5) * (found - old)
            previous = (found, residual)
            lam = following
        if not eqs.rows and "mass_solve" in eqs.functions:
            a, last = eqs.functions["mass_solve"](s.q, s.p, s.t, self.forces(lam)), lam
        else:
            a, last = self.factor.accelerations(self.forces(lam), self.b, k)
        if passes:
            change = ca.norm_inf(last - lam) / (1 + ca.norm_inf(last))
        *_, zdot, power = self._at
        if any(eqs.functions[name].jac_sparsity(0, 6).nnz() for name in ("internal", "power")):
            *_, zdot, power = state_function(eqs)(*_arguments(replace(s, lam=last)))
        return a, last, zdot, power, change


def state_function(eqs: EquationsOfMotion) -> ca.Function:
    """(q,v,z,u,p,t,λ) -> A, b, f, q̇, ż, power, with common expressions evaluated once."""

    def make() -> ca.Function:
        s, F = eqs.symbols(), eqs.functions
        A, b = F["rows"](*s.arguments("rows"))
        N, n = F["kinematics"](*s.arguments("kinematics"))
        f, zdot, power = (F[name](*s.arguments(name)) for name in ("forces", "internal", "power"))
        results = [A, *(ca.densify(x) for x in (b, f, N @ s.v + n, zdot, power))]
        return ca.Function("state", _arguments(s), results, {"cse": eqs.nv < LARGE})

    return eqs.cache("state function", make)


def forward_expressions(
    eqs: EquationsOfMotion, s: Symbols, *, baumgarte: Baumgarte | None = None
) -> tuple[Any, Any, Any, Any, Any]:
    """(v̇, λ, ż, power, last change of λ) as expressions of the symbols; ``s.lam`` is where λ starts."""
    return Evaluation(eqs, s, baumgarte=baumgarte).solve()


def refinements(eqs: EquationsOfMotion) -> int:
    """Two refinements, or three where the rows are redundant or badly conditioned around the drawing's pose.

    None where all rows are independent at every pose: they are not regularised.

    With a smallest singular value σ of the scaled H the regularisation is felt by (ε/σ)^(k+1): two keep it below 1e-9
    down to σ = 1e-5, three down to 2e-6; a machine with σ > 1e-3 around its drawing is given two.
    """

    def count() -> int:
        if len(independent_rows(eqs)) == len(eqs.rows):
            return 0
        if eqs.nv > PROBED:
            return REFINEMENTS
        massless = massless_directions(eqs)
        random = np.random.default_rng(0)
        for spread in (0.1, 0.3, 0.3, 1.0, 1.0):
            q = eqs.sample_pose(random, spread)
            A, _ = eqs.kernel("rows")(q, np.zeros(eqs.nv), np.zeros(eqs.nz), np.zeros(eqs.nu), eqs.p, 0.0)
            (M,) = eqs.kernel("inertia")(q, eqs.p, 0.0)
            A, M = A.reshape(-1, eqs.nv), M.reshape(eqs.nv, eqs.nv)  # one column is a vector
            if massless is not None:
                E = massless.matrix(eqs.nv).full()
                M = M + E @ np.diag(massless.inertia) @ E.T
            H = A @ np.linalg.solve(M, A.T)
            size = np.diag(H).copy()
            for group in map(list, rows_of_cut_joints(eqs)):
                size[group] = size[group].sum()
            scale = 1 / np.sqrt(np.maximum(size, TINY))
            if not np.isfinite(H).all() or np.linalg.eigvalsh(scale[:, None] * H * scale)[0] < CLEAR_RANK:
                return REFINEMENTS
        return 2

    return int(eqs.cache("refinements", count))


def stabilisation(eqs: EquationsOfMotion, s: Symbols, baumgarte: Baumgarte) -> Any:
    """What Baumgarte adds to the right-hand side b of A v̇ = b."""
    phi = eqs.functions["position"](s.q, s.p, s.t)
    rates = eqs.functions["rates"](s.q, s.v, s.p, s.t)
    entries = []
    position = rate = 0
    for row in eqs.rows:
        if row.level == "holonomic":
            entries.append(-2 * baumgarte.b1 * baumgarte.b2 * rates[rate] - baumgarte.b2**2 * phi[position])
            position += 1
            rate += 1
        elif row.level == "velocity":
            entries.append(-baumgarte.b3 * rates[rate])
            rate += 1
        else:
            entries.append(SX(0))
    return ca.vertcat(*entries)


def derivative(eqs: EquationsOfMotion, s: Symbols) -> tuple[list[Any], Evaluation, Any]:
    """[q̇, v̇, ż, power, λ, change] of the equations continued off the joints, the evaluation at s, and P v.

    The speeds are brought onto the rows first: q̇ = N P v, v̇ = a(q, P v). On the joints nothing changes, so every method
    keeps its order; at the stages of a step, which lie off the joints, the multipliers stay bounded. Near a dead point
    this is what counts: Runge-Kutta 4 at 1 ms takes 40 four-bars in a row through it to 5e-9 m instead of 6e-6 m.
    """
    at = Evaluation(eqs, s)
    s = replace(s, v=steer_speeds(eqs, at, s.v))
    final = Evaluation(eqs, s, same_pose=at)
    a, lam, zdot, power, change = final.solve()
    return [final.qdot, a, zdot, power, lam, change], at, s.v


def forward_function(eqs: EquationsOfMotion, baumgarte: Baumgarte | None = None) -> ca.Function:
    """(q,v,z,u,p,t,λ₀) -> q̇, v̇, ż, power, λ, change; with Baumgarte's feedback instead of steered speeds if given."""

    def make() -> ca.Function:
        s = eqs.symbols()
        if baumgarte is None:
            stage = stage_function(eqs)
            if stage is not None:
                arguments = stage.function.mx_in()
                return ca.Function("forward", arguments, stage.function.call(arguments)[:6])
            rates = derivative(eqs, s)[0]
        else:
            at = Evaluation(eqs, s, baumgarte=baumgarte)
            a, lam, zdot, power, change = at.solve()
            rates = [at.qdot, a, zdot, power, lam, change]
        return build_function("forward", _arguments(s), rates)

    return eqs.cache(("forward function", baumgarte), make)


@dataclass(frozen=True)
class StageFunctions:
    """The derivative of a large machine as one function that all stages of a step call, and what closes its joints.

    function : (q,v,z,u,p,t,λ₀) -> q̇, v̇, ż, power, λ, change, v on the rows, numbers of the factor.
    close : (q,v,p,t, numbers of the factor) -> q with its joints closed.
    """

    function: ca.Function
    close: ca.Function


def stage_function(eqs: EquationsOfMotion) -> StageFunctions | None:
    """None for a machine whose whole step is cheaper as flat code, with common expressions found."""

    def make() -> StageFunctions | None:
        if not eqs.rows:
            return None
        s = eqs.symbols()
        rates, at, v = derivative(eqs, s)
        outputs = [ca.densify(x) for x in (*rates, v, at.factor.numbers())]
        function = ca.Function("stage", _arguments(s), outputs)
        if function.n_instructions() <= SHARING:
            return None
        numbers = SX.sym("factor", outputs[-1].shape[0])
        q = close_joints(eqs, s, at.factor.with_numbers(numbers))
        return StageFunctions(function, ca.Function("close", [s.q, s.v, s.p, s.t, numbers], [ca.densify(q)]))

    stage: StageFunctions | None = eqs.cache("stage function", make)
    return stage


def closing_function(eqs: EquationsOfMotion) -> ca.Function:
    """The last stage of an explicit step, the projection, and the derivative at the new state, in one.

    (q,v,z,λ of the last stage; q,v,z,work of the step without it; weight of it; u,p,t at the end of the step)
    -> q̇,v̇,ż,power of the last stage; q,v,z,work of the step; v̇,ż,power,λ,change there.
    The factor of the last stage, an integration error away, closes the joints; the factor of the closed pose serves
    speeds and accelerations. So a projected step costs one factorization more than its stages, none for the next.
    """

    def make() -> ca.Function:
        stage = stage_function(eqs)
        if stage is not None:
            return _closing_by_stages(eqs, stage)
        s = eqs.symbols()
        base = [SX.sym("q0", eqs.nq), SX.sym("v0", eqs.nv), SX.sym("z0", eqs.nz), SX.sym("work0")]
        weight = SX.sym("weight")
        (*last, lam, _), before, _ = derivative(eqs, s)
        q, v, z, work = (y + weight * k for y, k in zip(base, last, strict=True))
        rough = replace(s, q=q, v=v, z=z, lam=lam)
        q = close_joints(eqs, rough, before.factor if eqs.rows else None)
        at = Evaluation(eqs, replace(rough, q=q))
        v = steer_speeds(eqs, at, v)
        final = Evaluation(eqs, replace(rough, q=q, v=v), same_pose=at)
        a1, lam1, zdot1, power1, change = final.solve()
        inputs = [s.q, s.v, s.z, s.lam, *base, weight, s.u, s.p, s.t]
        outputs = [*last, q, v, z, work, a1, zdot1, power1, lam1, change]
        return build_function("closing", inputs, outputs)

    return eqs.cache("closing function", make)


def _closing_by_stages(eqs: EquationsOfMotion, stage: StageFunctions) -> ca.Function:
    """The same in calls of the stage that the whole step has in common."""
    sizes = {"q": eqs.nq, "v": eqs.nv, "z": eqs.nz, "lam": len(eqs.rows)}
    q, v, z, lam = (ca.MX.sym(name, size) for name, size in sizes.items())
    base = [ca.MX.sym("q0", eqs.nq), ca.MX.sym("v0", eqs.nv), ca.MX.sym("z0", eqs.nz), ca.MX.sym("work0")]
    weight, u, p, t = (ca.MX.sym(n, k) for n, k in (("weight", 1), ("u", eqs.nu), ("p", len(eqs.parameters)), ("t", 1)))
    *last, lam0, _, _, numbers = stage.function(q, v, z, u, p, t, lam)
    rough_q, rough_v, z1, work = (y + weight * k for y, k in zip(base, last, strict=True))
    q1 = stage.close(rough_q, rough_v, p, t, numbers)
    _, a1, zdot1, power1, lam1, change, v1, _ = stage.function(q1, rough_v, z1, u, p, t, lam0)
    outputs = [*last, q1, v1, z1, work, a1, zdot1, power1, lam1, change]
    return ca.Function("closing", [q, v, z, lam, *base, weight, u, p, t], outputs)


def projection_function(eqs: EquationsOfMotion, iterations: int = 1) -> ca.Function:
    """(q,v,p,t) -> q, v on the constraints and with unit Euler parameters."""

    def make() -> ca.Function:
        s = eqs.symbols()
        q, v = project_state(eqs, s, iterations)
        return build_function("project", [s.q, s.v, s.p, s.t], [q, v])

    return eqs.cache(("projection function", iterations), make)


def project_state(eqs: EquationsOfMotion, s: Symbols, iterations: int = 1) -> tuple[Any, Any]:
    """q and v on the constraints, by the smallest change in the mass metric."""
    q = close_joints(eqs, s, None, iterations)
    at = Evaluation(eqs, replace(s, q=q, z=SX.zeros(eqs.nz), u=SX.zeros(eqs.nu)))
    return q, steer_speeds(eqs, at, s.v)


def close_joints(eqs: EquationsOfMotion, s: Symbols, factor: ConstraintFactor | None, iterations: int = 1) -> Any:
    """q with its joints closed; `factor` may be that of a pose an integration error away.

    The correction keeps to the rows of velocity and acceleration level too: it rolls, it does not slip.
    """
    q = normalise(eqs, s.q)
    if not eqs.holonomic_rows:
        return q
    if factor is None:
        A, _ = eqs.functions["rows"](q, s.v, SX.zeros(eqs.nz), SX.zeros(eqs.nu), s.p, s.t)
        factor = factor_rows(eqs, q, s.p, s.t, A)
    for _ in range(iterations):
        N, _ = eqs.functions["kinematics"](q, s.p, s.t)
        gap = SX.zeros(len(eqs.rows))
        gap[eqs.holonomic_rows] = eqs.functions["position"](q, s.p, s.t)
        q = normalise(eqs, q + N @ factor.correction(gap))
    return q


def steer_speeds(eqs: EquationsOfMotion, at: Evaluation, v: object) -> Any:
    """v with the residuals at velocity level removed."""
    if not eqs.rate_rows:
        return v
    return v + at.factor.correction(slip_of_rows(eqs, at, v))


def slip_of_rows(eqs: EquationsOfMotion, at: Evaluation, v: Any) -> Any:
    """The residual of every row at velocity level; zero for rows of acceleration level.

    Holonomic rows are affine in v: φ̇ = A v + φ_t.
    """
    rates = eqs.functions["rates"]
    if eqs.is_holonomic:
        return at.A @ v + rates(at.s.q, SX.zeros(eqs.nv), at.s.p, at.s.t)
    slip = SX.zeros(len(eqs.rows))
    slip[eqs.rate_rows] = rates(at.s.q, v, at.s.p, at.s.t)
    return slip


def _arguments(s: Symbols) -> list[Any]:
    return [s.q, s.v, s.z, s.u, s.p, s.t, s.lam]


def build_function(name: str, inputs: list[Any], outputs: list[Any], *, sparse: bool = False) -> ca.Function:
    """A function of dense results; common expressions are searched where this saves time."""
    results = outputs if sparse else [ca.densify(x) for x in outputs]
    function = ca.Function(name, inputs, results)
    return function if function.n_instructions() > SHARING else ca.Function(name, inputs, results, {"cse": True})


def normalise(eqs: EquationsOfMotion, q: Any) -> Any:
    """q with every set of Euler parameters brought back to unit length."""
    if not eqs.quaternions:
        return q
    parts = []
    last = 0
    for block in eqs.quaternions:
        p = q[block.part]
        parts += [q[last : block.coordinate], p / ca.sqrt(ca.dot(p, p))]
        last = block.part.stop
    parts.append(q[last:])
    return ca.vertcat(*parts)
