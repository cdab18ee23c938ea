"""The constrained solve inside the graph: accelerations, multipliers and projections.

    H = A M⁻¹ Aᵀ ,   D = diag H ,   S = (H + ε D)⁻¹ by sparse LDL ,   H⁻¹ r = Σ_j (ε S D)^j S r ,  j = 0 … k

(The same as scaling the rows so that diag H = 1 and adding ε 1; an LDL without pivoting does not care for scale. The
sum is iterative refinement against H: the residual r - H x₀ is ε D x₀, so no product with H is needed.)
The regularisation keeps redundant rows and singular poses well posed, with multipliers of minimum norm; the refinements
remove its error wherever H is not singular: a singular value σ of the scaled H is missed by (ε/(σ+ε))^(k+1).
Starting from the multipliers of the stage before would spare refinements but winds up where rows are inconsistent, as
they are, slightly, near a dead point; so every solve starts from zero.
Where the mass matrix is singular M and f become M + α AᵀA and f + α Aᵀb, which changes neither
accelerations nor multipliers, and the quasi-definite KKT matrix is factored instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError, ModelError
from dalembert.equations import EquationsOfMotion, Symbols

SX = ca.SX
EPSILON = 1e-8
EMPTY = 1e-16  # share of the trace of H that an all-zero row gets, to stay factorable
REFINEMENTS = 3
FRICTION_PASSES = 8
TINY = 1e-60


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


def mass_is_singular(eqs: EquationsOfMotion) -> bool:
    """Whether M, at the drawing's pose and the present parameters, lacks rank."""

    def find() -> bool:
        kernel = eqs.kernel("inertia")
        M = kernel.sparse(0, np.array(eqs.placement.q), eqs.p, 0.0)
        largest = float(abs(M).max()) if M.nnz else 0.0
        count, order, starts = _blocks(kernel.function.sparsity_out(0))
        for k in range(count):
            index = sorted(order[starts[k] : starts[k + 1]])
            block = M[index, :][:, index].toarray() if len(index) > 1 else np.array([[M[index[0], index[0]]]])
            if np.linalg.eigvalsh(block)[0] <= 1e-14 * max(float(np.abs(block).max()), 1e-8 * largest):
                return True
        return False

    return bool(eqs.cached("mass is singular", find))


class PenaltyFactor:
    """(M + Aᵀ α A) v̇ = f + Aᵀ α b , λ = α (b - A v̇), with α = penalty max M / |row|²."""

    def __init__(self, M: Any, A: Any, penalty: float) -> None:
        self.A = A
        self.weight = ca.densify(penalty * ca.mmax(M) / (ca.sum2(A * A) + TINY))
        self._ldl = ca.ldl(ca.sparsify(M + A.T @ ca.diag(self.weight) @ A))

    def accelerations(self, f: Any, b: Any, refinements: int | None = None) -> tuple[Any, Any]:
        a = ca.ldl_solve(f + self.A.T @ (self.weight * b), *self._ldl)
        return a, self.weight * (b - self.A @ a)


class Factor:
    """One factorization at one pose, used for accelerations and for projections."""

    def __init__(self, M: Any, A: Any, *, singular_mass: bool) -> None:
        self.A = A
        self.singular = singular_mass
        self.nv = M.shape[0]
        rows = A.shape[0]
        if not singular_mass:
            self._inverse = _block_inverse(M)
        if rows == 0:
            if singular_mass:
                raise ModelError("massless-body", "a body has no mass (or inertia) and no joint holds it.")
            return
        if not singular_mass:
            H = ca.triu(ca.sparsify(A @ (self._inverse @ A.T)))
            diagonal = ca.densify(ca.diag(H))
            self._shift = EPSILON * diagonal + EMPTY * ca.sum1(diagonal)
            self._ldl = ca.ldl(ca.triu2symm(H + ca.diag(self._shift)))
            return
        scale = 1 / ca.sqrt(ca.sum2(A * A) + TINY)  # rows of unit length: the weights of the added mass
        self.scale = ca.densify(scale)
        self.A = ca.sparsify(ca.diag(self.scale) @ A)
        self.alpha = ca.mmax(M) + TINY
        self.M = ca.sparsify(M + self.alpha * (self.A.T @ self.A))
        self._kkt = ca.sparsify(ca.vertcat(ca.horzcat(self.M, self.A.T), ca.horzcat(self.A, SX(rows, rows))))
        self._shift = ca.vertcat(SX.zeros(self.nv), (-EPSILON / self.alpha) * SX.ones(rows))
        self._ldl = ca.ldl(self._kkt + ca.diag(ca.sparsify(self._shift)))

    def _solve(self, right: object, refinements: int) -> Any:
        D, LT, order = self._ldl
        term = ca.ldl_solve(right, D, LT, order)
        x = term
        for _ in range(refinements):
            # an LDL of the KKT matrix loses digits in proportion to 1/ε, so it is refined against the matrix itself
            residual = right - self._kkt @ x if self.singular else self._shift * term
            term = ca.ldl_solve(residual, D, LT, order)
            x = x + term
        return x

    def accelerations(self, f: Any, b: Any, refinements: int | None = None) -> tuple[Any, Any]:
        """(v̇, λ) with M v̇ = f + Aᵀ λ and A v̇ = b."""
        refinements = REFINEMENTS if refinements is None else refinements
        if self.A.shape[0] == 0:
            return self._inverse @ f, SX.zeros(0, 1)
        if not self.singular:
            free = self._inverse @ f
            lam = self._solve(b - self.A @ free, refinements)
            return free + self._inverse @ (self.A.T @ lam), lam
        bs = self.scale * b
        right = ca.vertcat(f + self.alpha * (self.A.T @ bs), bs)
        x = self._solve(right, refinements)
        return x[0 : self.nv], -self.scale * x[self.nv :]

    def correction(self, residual: Any, refinements: int = 0) -> Any:
        """The smallest change of speeds (in the mass metric) with A δ = -residual."""
        if self.A.shape[0] == 0:
            return SX.zeros(self.nv)
        if not self.singular:
            return -(self._inverse @ (self.A.T @ self._solve(residual, refinements)))
        right = ca.vertcat(SX.zeros(self.nv), -self.scale * residual)
        return self._solve(right, max(refinements, 1))[0 : self.nv]


def _block_inverse(M: Any) -> Any:
    """Inverse of a block-diagonal matrix, block by block."""
    size = M.shape[0]
    if M.sparsity().is_diag():
        return ca.diag(1 / ca.diag(M))
    count, order, starts = _blocks(M.sparsity())
    result = SX(size, size)
    rows: list[int] = []
    columns: list[int] = []
    values: list[Any] = []
    for k in range(count):
        index = sorted(order[starts[k] : starts[k + 1]])
        block = ca.densify(ca.inv(ca.densify(M[index, index]))) if len(index) > 1 else 1 / M[index[0], index[0]]
        for i, row in enumerate(index):
            for j, column in enumerate(index):
                rows.append(row)
                columns.append(column)
                values.append(block[i, j])
    result = SX.triplet(rows, columns, ca.vertcat(*values), size, size)
    return ca.sparsify(result)


def _blocks(sparsity: Any) -> tuple[int, list[int], list[int]]:
    order: list[int]
    starts: list[int]
    _, order, starts = sparsity.scc()
    return len(starts) - 1, order, starts


def depends_on_reactions(eqs: EquationsOfMotion) -> bool:
    return len(eqs.rows) > 0 and eqs.functions["forces"].jac_sparsity(0, 6).nnz() > 0


class Evaluation:
    """Everything at one state (expressions): rows, one factorization, forces, and from them the accelerations."""

    def __init__(
        self,
        eqs: EquationsOfMotion,
        s: Symbols,
        *,
        baumgarte: Baumgarte | None = None,
        factor: Factor | None = None,
    ) -> None:
        self.eqs, self.s = eqs, s
        self.A, self.b = eqs.functions["rows"](s.q, s.v, s.z, s.u, s.p, s.t)
        if baumgarte is not None and len(eqs.rows):
            self.b = self.b + stabilisation(eqs, s, baumgarte)
        self.factor: Any = factor
        if factor is None:
            M = eqs.functions["inertia"](s.q, s.p, s.t)
            if baumgarte is not None and baumgarte.penalty is not None and len(eqs.rows):
                self.factor = PenaltyFactor(M, self.A, baumgarte.penalty)
            else:
                self.factor = Factor(M, self.A, singular_mass=mass_is_singular(eqs))

    def forces(self, lam: object) -> Any:
        s = self.s
        return self.eqs.functions["forces"](s.q, s.v, s.z, s.u, s.p, s.t, lam)

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
        a, last = self.factor.accelerations(self.forces(lam), self.b, k)
        if passes:
            change = ca.norm_inf(last - lam) / (1 + ca.norm_inf(last))
        zdot = eqs.functions["internal"](s.q, s.v, s.z, s.u, s.p, s.t, last)
        power = eqs.functions["power"](s.q, s.v, s.z, s.u, s.p, s.t, last)
        return a, last, zdot, power, change


def forward_expressions(
    eqs: EquationsOfMotion, s: Symbols, *, baumgarte: Baumgarte | None = None
) -> tuple[Any, Any, Any, Any, Any]:
    """(v̇, λ, ż, power, last change of λ) as expressions of the symbols; ``s.lam`` is where λ starts."""
    return Evaluation(eqs, s, baumgarte=baumgarte).solve()


def refinements(eqs: EquationsOfMotion) -> int:
    """Two refinements, or three where the rows are redundant or badly conditioned around the drawing's pose.

    With a smallest singular value σ of the scaled H the regularisation is felt by (ε/σ)^(k+1): two keep it below 1e-9
    down to σ = 1e-5, three down to 2e-6; a machine with σ > 1e-3 around its drawing is given two.
    """

    def count() -> int:
        if not eqs.rows or eqs.nv > 400 or mass_is_singular(eqs):
            return REFINEMENTS
        random = np.random.default_rng(0)
        for spread in (0.1, 0.3, 0.3, 1.0, 1.0):
            q = np.array(eqs.placement.q) + spread * random.normal(size=eqs.nq)
            A, _ = eqs.kernel("rows")(q, np.zeros(eqs.nv), np.zeros(eqs.nz), np.zeros(eqs.nu), eqs.p, 0.0)
            (M,) = eqs.kernel("inertia")(q, eqs.p, 0.0)
            H = A @ np.linalg.solve(M, A.T)
            scale = 1 / np.sqrt(np.maximum(np.diag(H), TINY))
            if not np.isfinite(H).all() or np.linalg.eigvalsh(scale[:, None] * H * scale)[0] < 1e-3:
                return REFINEMENTS
        return 2

    return int(eqs.cached("refinements", count))


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


def derivative(eqs: EquationsOfMotion, s: Symbols) -> tuple[list[Any], Factor]:
    """[q̇, v̇, ż, power, λ, change] of the equations continued off the joints, and the factor used.

    The speeds are brought onto the rows first: q̇ = N P v, v̇ = a(q, P v). On the joints nothing changes, so every method
    keeps its order; at the stages of a step, which lie off the joints, the multipliers stay bounded. Near a dead point
    this is what counts: Runge-Kutta 4 at 1 ms takes 40 four-bars in a row through it to 5e-9 m instead of 6e-6 m.
    """
    at = Evaluation(eqs, s)
    s = replace(s, v=steered(eqs, at, s.v))
    a, lam, zdot, power, change = Evaluation(eqs, s, factor=at.factor).solve()
    return [_rate(eqs, s), a, zdot, power, lam, change], at.factor


def forward_function(eqs: EquationsOfMotion, baumgarte: Baumgarte | None = None) -> ca.Function:
    """(q,v,z,u,p,t,λ₀) -> q̇, v̇, ż, power, λ, change; with Baumgarte's feedback instead of steered speeds if given."""

    def make() -> ca.Function:
        s = eqs.symbols()
        if baumgarte is None:
            rates, _ = derivative(eqs, s)
        else:
            a, lam, zdot, power, change = forward_expressions(eqs, s, baumgarte=baumgarte)
            rates = [_rate(eqs, s), a, zdot, power, lam, change]
        return _function(eqs, "forward", _arguments(s), rates)

    return eqs.cached(("forward function", baumgarte), make)


def closing_function(eqs: EquationsOfMotion) -> ca.Function:
    """The last stage of an explicit step, the projection, and the derivative at the new state, in one.

    (q,v,z,λ of the last stage; q,v,z,work of the step without it; weight of it; u,p,t at the end of the step)
    -> q̇,v̇,ż,power of the last stage; q,v,z,work of the step; v̇,ż,power,λ,change there.
    The factor of the last stage, an integration error away, closes the joints; the factor of the closed pose serves
    speeds and accelerations. So a projected step costs one factorization more than its stages, none for the next.
    """

    def make() -> ca.Function:
        s = eqs.symbols()
        base = [SX.sym("q0", eqs.nq), SX.sym("v0", eqs.nv), SX.sym("z0", eqs.nz), SX.sym("work0")]
        weight = SX.sym("weight")
        (*last, lam, _), factor = derivative(eqs, s)
        q, v, z, work = (y + weight * k for y, k in zip(base, last, strict=True))
        rough = replace(s, q=q, v=v, z=z, lam=lam)
        q = closed(eqs, rough, factor)
        at = Evaluation(eqs, replace(rough, q=q))
        v = steered(eqs, at, v)
        final = Evaluation(eqs, replace(rough, q=q, v=v), factor=at.factor)
        a1, lam1, zdot1, power1, change = final.solve()
        inputs = [s.q, s.v, s.z, s.lam, *base, weight, s.u, s.p, s.t]
        outputs = [*last, q, v, z, work, a1, zdot1, power1, lam1, change]
        return _function(eqs, "closing", inputs, outputs)

    return eqs.cached("closing function", make)


def projection_function(eqs: EquationsOfMotion, iterations: int = 1) -> ca.Function:
    """(q,v,p,t) -> q, v on the constraints and with unit Euler parameters."""

    def make() -> ca.Function:
        s = eqs.symbols()
        q, v = projected(eqs, s, iterations)
        return _function(eqs, "project", [s.q, s.v, s.p, s.t], [q, v])

    return eqs.cached(("projection function", iterations), make)


def projected(eqs: EquationsOfMotion, s: Symbols, iterations: int = 1) -> tuple[Any, Any]:
    """q and v on the constraints, by the smallest change in the mass metric."""
    q = closed(eqs, s, None, iterations)
    at = Evaluation(eqs, replace(s, q=q, z=SX.zeros(eqs.nz), u=SX.zeros(eqs.nu)))
    return q, steered(eqs, at, s.v)


def closed(eqs: EquationsOfMotion, s: Symbols, factor: Factor | None, iterations: int = 1) -> Any:
    """q with its joints closed; `factor` may be that of a pose an integration error away.

    The correction keeps to the rows of velocity and acceleration level too: it rolls, it does not slip.
    """
    q = normalised(eqs, s.q)
    if not eqs.holonomic_rows:
        return q
    if factor is None:
        A, _ = eqs.functions["rows"](q, s.v, SX.zeros(eqs.nz), SX.zeros(eqs.nu), s.p, s.t)
        factor = Factor(eqs.functions["inertia"](q, s.p, s.t), A, singular_mass=mass_is_singular(eqs))
    for _ in range(iterations):
        N, _ = eqs.functions["kinematics"](q, s.p, s.t)
        gap = SX.zeros(len(eqs.rows))
        gap[eqs.holonomic_rows] = eqs.functions["position"](q, s.p, s.t)
        q = normalised(eqs, q + N @ factor.correction(gap))
    return q


def steered(eqs: EquationsOfMotion, at: Evaluation, v: object) -> Any:
    """v with the residuals at velocity level removed."""
    if not eqs.rate_rows:
        return v
    slip = SX.zeros(len(eqs.rows))
    slip[eqs.rate_rows] = eqs.functions["rates"](at.s.q, v, at.s.p, at.s.t)
    return v + at.factor.correction(slip)


def _arguments(s: Symbols) -> list[Any]:
    return [s.q, s.v, s.z, s.u, s.p, s.t, s.lam]


def _rate(eqs: EquationsOfMotion, s: Symbols) -> Any:
    N, n = eqs.functions["kinematics"](s.q, s.p, s.t)
    return N @ s.v + n


def _function(eqs: EquationsOfMotion, name: str, inputs: list[Any], outputs: list[Any]) -> ca.Function:
    return ca.Function(name, inputs, [ca.densify(x) for x in outputs], {"cse": eqs.nv < 600})


def normalised(eqs: EquationsOfMotion, q: Any) -> Any:
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
