"""The constrained solve inside the graph: accelerations, multipliers and projections.

    H = A M⁻¹ Aᵀ ,   D = diag H ,   S = (H + ε D)⁻¹ by sparse LDL ,   H⁻¹ r = Σ_j (ε S D)^j S r ,  j = 0 … k

(The same as scaling the rows so that diag H = 1 and adding ε 1; an LDL without pivoting does not care for scale. The
sum is iterative refinement against H: the residual r - H x₀ is ε D x₀, so no product with H is needed.)
The regularisation keeps redundant rows and singular poses well posed, with multipliers of minimum norm; the refinements
remove its error wherever H is not singular: a singular value σ of the scaled H is missed by (ε/(σ+ε))^(k+1).
Starting from the multipliers of the stage before would spare refinements but winds up where rows are inconsistent, as
they are, slightly, near a dead point; so every solve starts from zero.
Where the mass matrix is singular (spec 000-14) M and f become M + α AᵀA and f + α Aᵀb, which changes neither
accelerations nor multipliers, and the quasi-definite KKT matrix is factored instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import EquationsOfMotion, Symbols
from dalembert.errors import ModelError

SX = ca.SX
EPSILON = 1e-8
EMPTY = 1e-16  # share of the trace of H that an all-zero row gets, to stay factorable
REFINEMENTS = 3
FRICTION_PASSES = 8
TINY = 1e-60


@dataclass(frozen=True)
class Baumgarte:
    """φ̈ + 2 b₁ b₂ φ̇ + b₂² φ = 0 and ċ + b₃ c = 0 instead of φ̈ = 0 and ċ = 0 (spec 002-G6)."""

    b1: float = 1.0
    b2: float = 1.0
    b3: float = 1.0


def mass_is_singular(eqs: EquationsOfMotion) -> bool:
    """Whether M, at the drawing's pose and the present parameters, lacks rank (spec 000-14)."""

    def find() -> bool:
        (M,) = eqs.kernel("inertia")(np.array(eqs.guess[0]), eqs.p, 0.0)
        values = np.linalg.eigvalsh(M) if M.size and np.count_nonzero(M - np.diag(np.diag(M))) else np.sort(np.diag(M))
        return bool(values.size) and bool(values[0] <= 1e-14 * max(values[-1], 1e-300))

    if eqs.nv > 400:  # large models: look at the blocks' diagonal only
        (M,) = eqs.kernel("inertia")(np.array(eqs.guess[0]), eqs.p, 0.0)
        return bool(np.diag(M).min() <= 0)
    return find()


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
                raise ModelError("a body has no mass (or inertia) and no joint holds it.")
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
        matrix = ca.sparsify(ca.vertcat(ca.horzcat(self.M, self.A.T), ca.horzcat(self.A, SX(rows, rows))))
        self._shift = ca.vertcat(SX.zeros(self.nv), (-EPSILON / self.alpha) * SX.ones(rows))
        self._ldl = ca.ldl(matrix + ca.diag(ca.sparsify(self._shift)))

    def _solve(self, right: Any, refinements: int) -> Any:
        D, LT, order = self._ldl
        term = ca.ldl_solve(right, D, LT, order)
        x = term
        for _ in range(refinements):
            term = ca.ldl_solve(self._shift * term, D, LT, order)
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
        return self._solve(right, refinements)[0 : self.nv]


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
        block = ca.inv(ca.densify(M[index, index])) if len(index) > 1 else 1 / M[index[0], index[0]]
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
    order, starts = sparsity.scc()
    return len(starts) - 1, order, starts


def depends_on_reactions(eqs: EquationsOfMotion) -> bool:
    return len(eqs.rows) > 0 and eqs.functions["forces"].jac_sparsity(0, 6).nnz() > 0


def forward_expressions(
    eqs: EquationsOfMotion, s: Symbols, *, baumgarte: Baumgarte | None = None
) -> tuple[Any, Any, Any, Any, Any]:
    """(v̇, λ, ż, power, last change of λ) as expressions of the symbols; ``s.lam`` is where λ starts."""
    F = eqs.functions
    A, b = F["rows"](s.q, s.v, s.z, s.u, s.p, s.t)
    M = F["inertia"](s.q, s.p, s.t)
    if baumgarte is not None and len(eqs.rows):
        b = b + stabilisation(eqs, s, baumgarte)
    factor = Factor(M, A, singular_mass=mass_is_singular(eqs))
    passes = FRICTION_PASSES if depends_on_reactions(eqs) else 0
    lam_in = s.lam
    change = SX(0)
    previous: tuple[Any, Any] | None = None
    for _ in range(passes):
        # Anderson mixing of depth one: the secant step of the fixed point λ = solve(f(λ))
        _, lam_out = factor.accelerations(F["forces"](s.q, s.v, s.z, s.u, s.p, s.t, lam_in), b)
        residual = lam_out - lam_in
        change = ca.norm_inf(residual)
        following = lam_out
        if previous is not None:
            old_out, old_residual = previous
            step = residual - old_residual
            theta = ca.dot(step, residual) / (ca.dot(step, step) + 1e-300)
            theta = ca.fmax(ca.fmin(theta, 5), -5)
            following = lam_out - theta * (lam_out - old_out)
        previous = (lam_out, residual)
        lam_in = following
    f = F["forces"](s.q, s.v, s.z, s.u, s.p, s.t, lam_in)
    a, lam = factor.accelerations(f, b)
    if passes:
        change = ca.norm_inf(lam - lam_in) / (1 + ca.norm_inf(lam))
    zdot = F["internal"](s.q, s.v, s.z, s.u, s.p, s.t, lam)
    power = F["power"](s.q, s.v, s.z, s.u, s.p, s.t, lam)
    return a, lam, zdot, power, change


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


def forward_function(eqs: EquationsOfMotion, baumgarte: Baumgarte | None = None) -> ca.Function:
    """(q,v,z,u,p,t,λ₀) -> q̇, v̇, ż, power, λ, change."""

    def make() -> ca.Function:
        s = eqs.symbols()
        a, lam, zdot, power, change = forward_expressions(eqs, s, baumgarte=baumgarte)
        N, n = eqs.functions["kinematics"](s.q, s.p, s.t)
        inputs = [s.q, s.v, s.z, s.u, s.p, s.t, s.lam]
        outputs = [N @ s.v + n, a, zdot, power, lam, change]
        return ca.Function("forward", inputs, [ca.densify(x) for x in outputs], {"cse": eqs.nv < 600})

    return eqs.cached(("forward function", baumgarte), make)  # type: ignore[no-any-return]


def projection_function(eqs: EquationsOfMotion, iterations: int = 1) -> ca.Function:
    """(q,v,p,t) -> q, v on the constraints and with unit Euler parameters.

    One factorization at the given pose serves `iterations` position corrections and one velocity correction: the pose
    moves by no more than an integration error, so the factor stays as good as new, and what one correction leaves (the
    square of that error) the next step removes.
    """

    def make() -> ca.Function:
        s = eqs.symbols()
        F = eqs.functions
        q, v = normalised(eqs, s.q), s.v
        if len(eqs.rows):
            zero_z, zero_u = SX.zeros(eqs.nz), SX.zeros(eqs.nu)
            A, _ = F["rows"](q, v, zero_z, zero_u, s.p, s.t)
            M = F["inertia"](q, s.p, s.t)
            singular = mass_is_singular(eqs)
            upper, rated = eqs.holonomic_rows, eqs.rate_rows
            all_rows = list(range(len(eqs.rows)))
            factor = None
            if upper:
                factor = Factor(M, A if upper == all_rows else A[upper, :], singular_mass=singular)
                for _ in range(iterations):
                    N, _ = F["kinematics"](q, s.p, s.t)
                    q = normalised(eqs, q + N @ factor.correction(F["position"](q, s.p, s.t)))
            if rated:
                if upper != rated or factor is None:
                    factor = Factor(M, A if rated == all_rows else A[rated, :], singular_mass=singular)
                v = v + factor.correction(F["rates"](q, v, s.p, s.t))
        return ca.Function("project", [s.q, s.v, s.p, s.t], [ca.densify(q), ca.densify(v)], {"cse": eqs.nv < 600})

    return eqs.cached(("projection function", iterations), make)  # type: ignore[no-any-return]


def normalised(eqs: EquationsOfMotion, q: Any) -> Any:
    """q with every set of Euler parameters brought back to unit length."""
    if not eqs.rotations:
        return q
    parts = []
    last = 0
    for start in eqs.rotations:
        p = q[start : start + 4]
        parts += [q[last:start], p / ca.sqrt(ca.dot(p, p))]
        last = start + 4
    parts.append(q[last:])
    return ca.vertcat(*parts)
