"""The motion of a system in one set of speeds v: everything that formalisms differentiate.

    q̇ = N(q,t) v + n(q,t) ,   A = [∂φ̇/∂v ; ∂c/∂v ; ∂h/∂v̇] ,   b = [-dφ̇/dt ; -dc/dt ; -h]  at v̇ = 0
    ṙ = J v + r₀ ,   r̈ = J v̇ + γ ,      ω = J_ω v + ω₀ ,   ω̇ = J_ω v̇ + γ_ω
    Q = Σ Jᵀ F + Σ J_ωᵀ τ + Nᵀ (Q_q - ∂V/∂q) - ∂D/∂v

The speeds are the rates of the coordinates (`in_rates`), the declared quasi-velocities (`in_speeds`), or an independent
subset of either, the others eliminated by the constraint rows (`eliminate`): with v = (v_i, v_d) and rows
C_i v_i + C_d v_d + c₀ = 0, v_d = -C_d⁻¹ (C_i v_i + c₀).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arrays import AnyArray as Array
from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Call
from dalembert.equations import ACCELERATION, HOLONOMIC, Row
from dalembert.expressions import Expr
from dalembert.mechanics.rotations import rate_matrix
from dalembert.numerics.gauss_newton import close_rows
from dalembert.symbolic.block_solve import solve_square
from dalembert.symbolic.parts import Constraint
from dalembert.symbolic.system import System
from dalembert.symbolic.text.read import require_affine

SX = ca.SX
SAMPLES = 4  # random points at which a rank is decided


def rank_at(values: Array, rank: float = 1e-9) -> int:
    """Numerical rank of a matrix at a pose: singular values above this share of its largest entry."""
    return int(np.linalg.matrix_rank(values, rank * max(float(np.abs(values).max(initial=0.0)), 1e-300)))


def vanishes(value: Array, size: float = 1.0, zero: float = 1e-9) -> bool:
    """Whether values at random points are zero, relative to a size: the sum of their own terms."""
    return bool(np.abs(value).max(initial=0.0) <= zero * size)


@dataclass(frozen=True)
class BodyMotion:
    """Velocity and acceleration of a body: J (3, nv), and the remainder at v̇ = 0."""

    name: str
    mass: Any
    inertia: Any
    velocity: Any
    J: Any
    gamma: Any
    omega: Any
    J_omega: Any
    gamma_omega: Any


@dataclass(frozen=True, eq=False)
class SystemMotion:
    """A system in one set of speeds.

    v, names : symbols of the speeds.  vdot : symbols of their derivatives.  N, n : of q̇ = N v + n.
    constraints : rows that remain; the choice of speeds fulfils the ``eliminated`` ones.
    replaced : symbols of velocities that expressions may contain, and their expressions in v.
    of_rates : v as an expression of (q, q̇, t).
    """

    system: System
    names: tuple[str, ...]
    v: Any
    vdot: Any
    N: Any
    n: Any
    constraints: tuple[Constraint, ...]
    eliminated: tuple[Constraint, ...]
    replaced: tuple[Any, Any]
    of_rates: Any
    independent: tuple[str, ...] = ()

    @property
    def nv(self) -> int:
        return int(self.v.shape[0])

    # -- velocities ------------------------------------------------------------------------------------------------
    @cached_property
    def qdot(self) -> Any:
        return self.N @ self.v + self.n

    def velocity(self, expression: Expr) -> Any:
        """An expression of (q, q̇, u, t) in the speeds v."""
        symbols, values = self.replaced
        return ca.substitute(SX(expression), symbols, values) if symbols.numel() else SX(expression)

    def rate(self, expression: Expr) -> Any:
        """Time derivative of an expression of (q, v, t) at v̇ = 0."""
        s = self.system
        value = SX(expression)
        if not value.numel():
            return value
        shape = value.shape
        flat = ca.vec(ca.densify(value))
        return ca.reshape(ca.jtimes(flat, s.q, self.qdot) + ca.jacobian(flat, s.t), *shape)

    def acceleration(self, expression: Expr) -> Any:
        """An expression of (q, q̇, u, q̈, u̇, t) in v and v̇."""
        s = self.system
        value = SX(expression)
        speeds = ca.vertcat(SX(0, 1), *(s.symbols[f"{name}.rate"] for name in s.definitions))
        highest = ca.vertcat(s.accelerations, speeds)
        if ca.depends_on(value, highest):
            turned = [self.total_rate(self.qdot), self.total_rate(self.velocity(s.speeds))]
            value = ca.substitute(value, highest, ca.vertcat(SX(0, 1), *turned))
        return self.velocity(value)

    def total_rate(self, expression: Expr) -> Any:
        """Time derivative of a column of (q, v, t), with v̇."""
        value = SX(expression)
        return self.rate(value) + ca.jtimes(value, self.v, self.vdot) if value.numel() else value

    # -- bodies and forces -------------------------------------------------------------------------------------------
    @cached_property
    def bodies(self) -> list[BodyMotion]:
        bodies = []
        for body in self.system.bodies.values():
            velocity = self.velocity(body.velocity)
            omega = SX(3, 1) if body.omega is None else self.velocity(body.omega)
            moving = (velocity, ca.jacobian(velocity, self.v), self.rate(velocity))
            turning = (omega, ca.jacobian(omega, self.v), self.rate(omega))
            bodies.append(BodyMotion(body.name, body.mass, body.inertia, *moving, *turning))
        return bodies

    @cached_property
    def kinetic(self) -> Any:
        """T(q, v, t)."""
        total = sum((self.velocity(energy) for energy in self.system.kinetic.values()), SX(0))
        for body in self.bodies:
            total = total + 0.5 * body.mass * ca.dot(body.velocity, body.velocity)
            if self.system.bodies[body.name].rotation is not None:
                total = total + 0.5 * ca.dot(body.omega, body.inertia @ body.omega)
        return total

    @cached_property
    def potential(self) -> Any:
        """V(q, t), gravity included."""
        g = ca.vertcat(*self.system.gravity)
        total = sum(self.system.potential.values(), SX(0))
        for body in self.system.bodies.values():
            total = total - body.mass * ca.dot(g, body.position)
        return total

    @cached_property
    def applied(self) -> Any:
        """Generalized forces of everything that has no potential, (nv,) of (q, v, inputs, t)."""
        s = self.system
        total = SX.zeros(self.nv)
        for force in s.forces.values():
            total = total + self._partial(force.velocity).T @ self.velocity(force.vector)
        for torque in s.torques.values():
            driven = s.bodies[torque.body]
            total = total + self._partial(driven.omega).T @ self.velocity(torque.vector)
            if torque.other:
                reacting = s.bodies[torque.other]
                turned = reacting.rotation.T @ driven.rotation @ torque.vector
                total = total - self._partial(reacting.omega).T @ self.velocity(turned)
        along = SX.zeros(len(s.coordinate_names))
        for name, value in s.generalized.values():
            along[s.coordinate_names.index(name)] += self.velocity(value)
        total = total + self.N.T @ along
        if s.dissipation:
            total = total - ca.gradient(sum(map(self.velocity, s.dissipation.values()), SX(0)), self.v)
        return ca.densify(total)

    @cached_property
    def conservative(self) -> Any:
        """Generalized forces of the potential, -Nᵀ ∂V/∂q."""
        return -self.N.T @ ca.gradient(self.potential, self.system.q)

    @property
    def force(self) -> Any:
        """All applied generalized forces."""
        return self.applied + self.conservative

    def _partial(self, velocity: Expr) -> Any:
        return ca.jacobian(self.velocity(velocity), self.v)

    # -- constraints -------------------------------------------------------------------------------------------------
    @cached_property
    def rows(self) -> tuple[Row, ...]:
        return tuple(Row(row.name, row.level, row.number) for row in self.ordered)

    @property
    def ordered(self) -> list[Constraint]:
        """The remaining rows, in the order of λ."""
        levels = (HOLONOMIC, "velocity", ACCELERATION)
        return sorted(self.constraints, key=lambda one: levels.index(one.level))

    @cached_property
    def rates_of_rows(self) -> Any:
        """φ̇ and c of the rows that have a residual at velocity level, of (q, v, t)."""
        return ca.vertcat(SX(0, 1), *(self.rate_of_row(row) for row in self.ordered if row.level != ACCELERATION))

    def shown_row(self, row: Constraint) -> Any:
        """The expression of a row that is zero on the motion, at its own level."""
        if row.level == ACCELERATION:
            return self.acceleration(row.expression)
        return row.expression if row.level == HOLONOMIC else self.velocity(row.expression)

    def rate_of_row(self, row: Constraint) -> Any:
        return self.rate(row.expression) if row.level == HOLONOMIC else self.velocity(row.expression)

    @cached_property
    def A(self) -> Any:
        return self._rows[0]

    @cached_property
    def b(self) -> Any:
        return self._rows[1]

    @cached_property
    def _rows(self) -> tuple[Any, Any]:
        A, b = ca.jacobian(self.rates_of_rows, self.v), -self.rate(self.rates_of_rows)
        for row in self.ordered:
            if row.level == ACCELERATION:
                value = self.acceleration(row.expression)
                D = require_affine(value, self.vdot, f"row {row.name!r}", "the accelerations", row=row.name)
                A = ca.vertcat(A, D)
                b = ca.vertcat(b, -ca.substitute(value, self.vdot, SX.zeros(self.nv)))
        return ca.vertcat(SX(0, self.nv), A), ca.vertcat(SX(0, 1), b)

    # -- numbers -----------------------------------------------------------------------------------------------------
    def sample(self, expressions: Sequence[Any], count: int = SAMPLES) -> list[list[Any]]:
        """Values of expressions of (q, v, inputs, p, t) at random points, on the holonomic rows where possible.

        Parameters without a value are random too.
        """
        s = self.system
        f = ca.Function("sample", [s.q, self.v, s.u, s.p, s.t], [ca.densify(SX(value)) for value in expressions])
        random = np.random.default_rng(20)
        samples = []
        for _ in range(count):
            p = [random.uniform(0.5, 1.5) if x is None else x for x in s.parameter_values.values()]
            q = self._pose(random.uniform(0.2, 0.9, s.q.shape[0]), p, 0.3)
            values = f.call([q, random.normal(size=self.nv), random.normal(size=s.u.shape[0]), p, 0.3])
            samples.append([np.array(value) for value in values])
        return samples

    @cached_property
    def _residuals(self) -> ca.Function | None:
        """(q, p, t) -> residuals of all holonomic rows, and their derivatives by q."""
        s = self.system
        rows = [row.expression for row in (*self.constraints, *self.eliminated) if row.level == HOLONOMIC]
        phi = ca.vertcat(SX(0, 1), *rows)
        return ca.Function("phi", [s.q, s.p, s.t], [phi, ca.jacobian(phi, s.q)]) if rows else None

    def _pose(self, away: Any, p: Any, t: float) -> Any:
        """A random pose near the drawn one, closed by Gauss-Newton; a nearer one where this does not close."""
        drawn = np.array([self.system.drawn[name] for name in self.system.coordinate_names])
        if self._residuals is None:
            return drawn + away
        for share in (1.0, 0.3, 0.05):
            closed = self._close(drawn + share * away, p, t)
            if closed is not None:
                return closed
        return drawn + away

    def _close(self, q: Any, p: Any, t: float) -> Any:
        def rows(q: Any) -> tuple[Any, Any]:
            assert self._residuals is not None
            phi, J = (np.array(matrix) for matrix in self._residuals(q, p, t))
            return phi[:, 0], J

        # half a unit [m or rad] in a step stays on one way of closing a loop; a redundant row has no slope of its own;
        # the last change is some thousand roundings
        closed, is_closed = close_rows(rows, q, rank=1e-9, settled=1e-12, most=50, longest=0.5)
        return closed if is_closed else None


def in_rates(system: System) -> SystemMotion:
    """The motion in the rates of the coordinates, v = q̇."""
    _require_coordinates(system)
    count = len(system.coordinate_names)
    speeds = ca.vertcat(SX(0, 1), *system.definitions.values())
    rates = system.rates
    return SystemMotion(
        system, tuple(f"{name}.rate" for name in system.coordinate_names), rates, system.accelerations,
        SX.eye(count), SX.zeros(count), tuple(system.constraints), (), (system.speeds, speeds), rates,
    )  # fmt: skip


def in_speeds(system: System) -> SystemMotion:
    """The motion in the declared speeds, q̇ = N u + n; in the rates where none are declared.

    As many speeds as coordinates give all rows as they are; as many as freedoms give none: the rows are eliminated.
    Euler parameters have one speed less than coordinates and a row of unit norm, which their speeds fulfil.
    """
    _require_coordinates(system)
    if not system.definitions:
        return in_rates(system)
    rates = in_rates(system)
    names, definitions = declared_speeds(system)
    plain = names[len(system.definitions) :]
    count, freedom = len(system.coordinate_names), len(names)
    rows = tuple(row for row in rates.ordered if row.level != ACCELERATION)
    norms = tuple(row for row in rows if row.unit_norm is not None)
    if freedom > count:
        extra = list(system.definitions)[count - len(plain) :]
        raise ModelError(
            "wrong-shape", f"system {system.name!r} has {count} coordinates and {freedom} speeds; {', '.join(extra)} "
            "cannot be independent of the others.", where={"speeds": extra},
        )  # fmt: skip
    if freedom + len(norms) == count:
        eliminated = norms
    elif freedom + len(rows) == count:
        eliminated = rows
    else:
        raise ModelError(
            "wrong-shape",
            f"system {system.name!r} has {count} coordinates, {len(rows)} constraint rows and {freedom} speeds; "
            f"expected {count - len(norms)} speeds, or {count - len(rows)} independent ones.",
            Advice("Declare speeds with {}.", Call("s.speed")), where={"speeds": list(system.definitions)},
            evidence={"coordinates": count, "rows": len(rows), "speeds": freedom},
        )  # fmt: skip
    _refuse_nonlinear(rates, eliminated)
    residuals = ca.vertcat(SX(0, 1), *(rates.rate_of_row(row) for row in eliminated))
    P, y0 = _affine(ca.vertcat(definitions, residuals), system.rates)
    require_independent(system, rates, P, names, eliminated)
    speeds = ca.vertcat(*(system.symbols[name] for name in names))
    qdot = _solve_rates(system, P, ca.vertcat(speeds, SX.zeros(count - freedom)) - y0, norms)
    N, n = _affine(qdot, speeds)
    remaining = tuple(row for row in system.constraints if row not in eliminated)
    derivatives = ca.vertcat(*(system.symbols[name_derivative(name)] for name in names))
    others = [k for k, name in enumerate(rates.names) if name not in plain]
    replaced = (system.rates[others], (N @ speeds + n)[others])
    return SystemMotion(
        system, names, speeds, derivatives, N, n, remaining, eliminated, replaced, definitions,
        names if eliminated != norms else (),
    )  # fmt: skip


def declared_speeds(system: System) -> tuple[tuple[str, ...], Any]:
    """Names and definitions of the declared speeds, and of the rates that are in none of them."""
    covered = {symbol.name() for definition in system.definitions.values() for symbol in ca.vertsplit(system.rates)
               if ca.depends_on(definition, symbol)}  # fmt: skip
    plain = [name for name in in_rates(system).names if name not in covered]
    definitions = ca.vertcat(*system.definitions.values(), *(system.symbols[name] for name in plain))
    return (*system.definitions, *plain), definitions


def with_rows(system: System) -> SystemMotion:
    """The motion in the declared speeds where they leave all rows as they are; else in the rates."""
    if len(system.definitions):
        motion = in_speeds(system)
        if all(row.unit_norm is not None for row in motion.eliminated):
            return motion
    return in_rates(system)


def name_derivative(name: str) -> str:
    """The symbol of the derivative of a speed, which may be the rate of a coordinate."""
    return name.removesuffix(".rate") + ".acceleration" if name.endswith(".rate") else f"{name}.rate"


def _solve_rates(system: System, P: Expr, right: Expr, norms: Sequence[Constraint]) -> Any:
    """q̇ of P q̇ = right; of Euler parameters ½ Gᵀ ω, which is the solution for parameters of unit norm."""
    inside: list[int] = []
    lines: list[int] = []
    qdot = SX.zeros(P.shape[1])
    for k, norm in enumerate(norms):
        assert norm.unit_norm is not None
        first, speed = norm.unit_norm
        inside += range(first, first + 4)
        lines += [*range(speed, speed + 3), P.shape[0] - len(norms) + k]
        qdot[first : first + 4] = rate_matrix(system.q[first : first + 4]) @ right[speed : speed + 3]
    others = [k for k in range(P.shape[1]) if k not in inside]
    rest = [k for k in range(P.shape[0]) if k not in lines]
    if P[rest, inside].nnz() or P[lines, others].nnz():
        return solve_square(P, right)
    if others:
        qdot[others] = solve_square(P[rest, others], right[rest])
    return qdot


def eliminate(motion: SystemMotion, independent: Sequence[str] | None = None) -> SystemMotion:
    """The motion in independent speeds alone, the others given by the constraint rows.

    independent : their names; where left out, those that make the rows best conditioned at a random point.
    """
    if not motion.constraints:
        if independent is not None and set(independent) != set(motion.names):
            _refuse_names(independent, motion, motion.nv)
        return motion
    for row in motion.constraints:
        if row.level == ACCELERATION:
            raise ModelError(
                "wrong-level", f"row {row.name!r} is at acceleration level; it cannot be eliminated from the speeds.",
                Advice("Use {}.", Call("da.symbolic.lagrange_multipliers"), Call("da.symbolic.udwadia_kalaba")),
                where={"row": row.name},
            )  # fmt: skip
    rows = tuple(motion.ordered)
    _refuse_nonlinear(motion, rows)
    C, c0 = _affine(motion.rates_of_rows, motion.v)
    independent = choose_independent(motion, C, independent)
    inside = [motion.names.index(name) for name in independent]
    outside = [k for k in range(motion.nv) if k not in inside]
    v, vdot = motion.v[inside], motion.vdot[inside]
    dependent = solve_square(C[:, outside], -(C[:, inside] @ v + c0))
    speeds = SX.zeros(motion.nv)
    speeds[inside], speeds[outside] = v, dependent
    W, w0 = _affine(speeds, v)
    symbols, values = motion.replaced
    values = ca.substitute(values, motion.v[outside], dependent) if symbols.numel() else values
    replaced = (ca.vertcat(symbols, motion.v[outside]), ca.vertcat(values, dependent))
    return SystemMotion(
        motion.system, independent, v, vdot, ca.sparsify(motion.N @ W), motion.N @ w0 + motion.n, (),
        (*motion.eliminated, *rows), replaced, motion.of_rates[inside], independent,
    )  # fmt: skip


def choose_independent(motion: SystemMotion, C: Expr, independent: Sequence[str] | None) -> tuple[str, ...]:
    """Names of independent speeds, the given ones if any, such that rows C v + ... = 0 determine the others."""
    rows = tuple(motion.ordered)
    if independent is None:
        independent = _choose(motion, C, rows)
    else:
        _refuse_names(independent, motion, motion.nv - len(rows))
    outside = [k for k, name in enumerate(motion.names) if name not in independent]
    scaled = [values / (np.abs(values).max(initial=0.0) or 1.0) for (values,) in motion.sample([C])]
    if any(rank_at(values[:, outside]) < len(rows) for values in scaled):
        raise ModelError(
            "rank-deficient", f"the constraint rows do not give {', '.join(motion.names[k] for k in outside)} from "
            f"{', '.join(independent)}.", where={"speeds": list(independent)},
        )  # fmt: skip
    return tuple(independent)


def _affine(value: Expr, symbols: Expr) -> tuple[Any, Any]:
    """Matrix and constant of an affine expression."""
    return ca.sparsify(ca.jacobian(value, symbols)), ca.densify(
        ca.substitute(value, symbols, SX.zeros(symbols.shape[0]))
    )


def is_affine(motion: SystemMotion, row: Constraint) -> bool:
    """Whether a row is affine in the speeds."""
    return not ca.depends_on(ca.jacobian(motion.rate_of_row(row), motion.v), motion.v)


def _refuse_nonlinear(motion: SystemMotion, rows: Sequence[Constraint]) -> None:
    for row in rows:
        if not is_affine(motion, row):
            raise ModelError(
                "not-affine", f"row {row.name!r} is not affine in the speeds: it cannot be eliminated from them.",
                Advice("Use {}.", Call("da.symbolic.gibbs_appell"), Call("da.symbolic.lagrange_multipliers")),
                where={"row": row.name},
            )  # fmt: skip


def _require_coordinates(system: System) -> None:
    if not system.coordinate_names:
        raise ModelError("no-coordinate", f"system {system.name!r} has no coordinates.")


def require_independent(
    system: System, rates: SystemMotion, Y: Any, speeds: Sequence[str], eliminated: Sequence[Constraint]
) -> None:
    """Check at random points that the definitions of speeds (and rows) determine the rates."""
    if max(rank_at(values) for (values,) in rates.sample([Y])) == Y.shape[0]:
        return
    (values,) = rates.sample([Y], 1)[0]
    names = [*speeds, *(f"constraint {row.name!r}" for row in eliminated)]
    independent: list[int] = []
    for k in range(len(values)):
        if rank_at(values[[*independent, k]] / np.abs(values).max()) == len(independent) + 1:
            independent.append(k)
    extra = [names[k] for k in range(len(names)) if k not in independent]
    raise ModelError(
        "rank-deficient", f"the speeds of system {system.name!r} are not independent: {', '.join(extra)} depends on "
        "the others (checked at random points).", where={"speeds": extra},
    )  # fmt: skip


def _choose(motion: SystemMotion, C: Expr, rows: Sequence[Constraint]) -> tuple[str, ...]:
    from scipy.linalg import qr

    values = motion.sample([C], 1)[0][0]
    _, R, order = qr(values, pivoting=True, mode="economic")
    diagonal = np.abs(np.diag(R))
    if len(rows) > motion.nv or rank_at(np.diag(diagonal)) < len(rows):
        raise ModelError(
            "rank-deficient", "constraint rows depend on each other (checked at random points); the speeds cannot be "
            "divided into independent and dependent ones.", Advice("Use {}.", Call("da.symbolic.udwadia_kalaba")),
            where={"rows": [row.name for row in rows]},
        )  # fmt: skip
    return tuple(motion.names[k] for k in sorted(order[len(rows) :]))


def _refuse_names(independent: Sequence[str], motion: SystemMotion, freedom: int) -> None:
    for name in independent:
        require_name("speed", name, motion.names, "the independent ones", error=ModelError)
    if len(set(independent)) != freedom:
        kind = "few" if len(set(independent)) < freedom else "many"
        raise ModelError(
            "wrong-shape", f"too {kind} independent speeds: {', '.join(independent)}; {motion.nv} speeds and "
            f"{len(motion.constraints)} rows leave {freedom}.", where={"speeds": list(independent)},
            evidence={"freedom": freedom, "given": len(set(independent))},
        )  # fmt: skip
