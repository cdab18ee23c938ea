"""Generalized-α on a Lie group (Arnold and Brüls 2007), index 3 and index 2.

    q₁ = q ∘ exp(h v + h² ((½-β) α + β α₁)) ,   v₁ = v + h ((1-γ) α + γ α₁)
    (1-αm) α₁ + αm α = (1-αf) v̇₁ + αf v̇
    M v̇₁ = f + Aᵀλ₁ ,   φ(q₁) / (β' h²) = 0   (index 2: φ̇ / (γ' h) = 0, then the positions are projected)

with β' = β (1-αf)/(1-αm), γ' likewise: with v̇₁ and λ₁ as unknowns and rows scaled so, the Jacobian keeps its size
as h → 0. Internal states use the first-order scheme of the same spectral radius.

Newton's iteration (`newton`) takes the Jacobian at the start of the step, exact but for the rotation of a step, of
which it takes the first three terms. The last change is stored with the state. A step that does not converge is made
in two halves.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from dalembert.core.arguments import positive_number, real_number
from dalembert.core.errors import DataError
from dalembert.equations import HOLONOMIC, VELOCITY, EquationsOfMotion, Symbols
from dalembert.expressions import Array, Expr
from dalembert.solve.constrained.block_elimination import BlockElimination
from dalembert.solve.constrained.elimination import Elimination, SymmetricElimination, joint_row_weight
from dalembert.solve.constrained.solve import LARGE, normalise, projection_function
from dalembert.solve.constrained.structure import massless_directions
from dalembert.solve.integrate.column import Column
from dalembert.solve.integrate.explicit_step import CONTROL
from dalembert.solve.integrate.inputs import Inputs
from dalembert.solve.integrate.method import OneStep, integrator, option
from dalembert.solve.integrate.newton import CORRECTIONS, TOLERANCE, newton_iteration, newton_limits

MX = ca.MX
SX = ca.SX
SHORT = 1e-2  # share of the step below which rows are kept at acceleration level: φ / h² would be rounding only
TANGENT_CORRECTIONS = 12  # at most, with a tangent that gains a digit or more each time; 3 or 4 are usual
# A step whose iteration does not converge is made in two halves, these again, down to a 64th: a motion may be so fast
# for some steps that the accelerations of the one before are no guess of its own, and no Jacobian helps: with steps of
# 1 ms a closed loop of 20 beams stops at 1.33 s with the exact one too. It divides 15 of 1600 steps.
HALVINGS = 6


@integrator
@dataclass(frozen=True)
class GeneralizedAlpha(OneStep):
    """Generalized-α in Lie-group form: implicit, second order, damped at high frequencies.

    Momentum of bodies in free flight is kept to second order of the step, not exactly (`Rosenbrock`: to its tolerance).

    step : fixed step [s].
    rho : spectral radius at infinite frequency, 0 (fast motions end in one step) to 1 (none is damped).
    index : 3 keeps the joints closed at position level; 2 keeps them at velocity level and projects the positions.
    """

    iterates: ClassVar[bool] = True

    step: float = field(metadata=option("fixed step", "s"))
    rho: float = field(
        default=0.8, metadata=option("spectral radius: 0 (fast motions end in one step) to 1 (none is damped)")
    )
    index: int = field(default=3, metadata=option("joints closed at position (3) or velocity level (2)"))

    def __post_init__(self) -> None:
        positive_number("step", self.step)
        if not 0 <= real_number("rho", self.rho) <= 1:
            raise DataError(
                "out-of-range", f"rho must lie between 0 and 1, got {self.rho!r}.", where={"argument": "rho"}
            )
        if self.index not in (2, 3):
            raise DataError("unknown-choice", f"index must be 2 or 3, got {self.index!r}.", where={"argument": "index"})

    def initial_step(self, span: float) -> float:
        return float(self.step)

    def structure(self) -> Hashable:
        return self.index

    def numbers(self, *, controlled: bool = True) -> Array:
        return np.array([self.rho, 0.0, 0.0, 0.0])

    def stepper(self, eqs: EquationsOfMotion, inputs: Inputs, events: ca.Function | None = None) -> AlphaStepper:
        return AlphaStepper(eqs, self.index, inputs, events)


def coefficients(rho: Any) -> tuple[Any, Any, Any, Any]:
    """αm, αf, β, γ of the second-order equations."""
    alpha_m, alpha_f = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
    gamma = 0.5 + alpha_f - alpha_m
    return alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma


def first_order(rho: Any) -> tuple[Any, Any, Any]:
    """αm, αf, γ of the first-order equations (internal states)."""
    alpha_m, alpha_f = (3 * rho - 1) / (2 * (rho + 1)), rho / (rho + 1)
    return alpha_m, alpha_f, 0.5 + alpha_f - alpha_m


def move(eqs: EquationsOfMotion, q: Any, xi: Any, p: Any, t: Any, h: Any) -> Any:
    """q after the tangent increment ξ: Euler parameters by the exponential map, the rest along q̇."""
    N, n = eqs.functions["kinematics"](q, p, t)
    change = N @ xi
    Nm, nm = eqs.functions["kinematics"](q + 0.5 * (change + h * n), p, t + h / 2)
    result = ca.densify(q + Nm @ xi + h * nm)
    return _turn(eqs, q, change, result)


def shared_move(eqs: EquationsOfMotion, q: Any, xi: Any, p: Any, t: Any, h: Any) -> Any:
    """`move` by matrix expressions: flat but for counters of turns, whose rates need the nodes of bodies."""
    s, x, length = eqs.symbols(), SX.sym("xi", eqs.nv), SX.sym("h")
    counters = [counter.coordinate for counter in eqs.counters]
    N, n = eqs.functions["kinematics"](s.q, s.p, s.t)
    change = ca.densify(N @ x)
    change[counters] = 0
    middle = s.q + 0.5 * (change + length * n)
    Nm, nm = eqs.functions["kinematics"](middle, s.p, s.t + length / 2)
    result = ca.densify(s.q + Nm @ x + length * nm)
    result[counters] = s.q[counters]
    ends = ca.Function("move", [s.q, x, s.p, s.t, length], [middle, _turn(eqs, s.q, change, result)], {"cse": True})
    middle, result = ends(q, xi, p, t, h)
    if counters:
        N, n = eqs.functions["kinematics"](middle, p, t + h / 2)
        result[counters] += N[counters, :] @ xi + h * n[counters]
    return result


def _turn(eqs: EquationsOfMotion, q: Any, change: Any, result: Any) -> Any:
    """`result` with every rotation by the exponential map."""
    result = SX(result)
    for block in eqs.quaternions:
        rows = list(range(block.part.start, block.part.stop))
        turn = change[rows]
        angle = ca.sqrt(ca.dot(turn, turn) + 1e-40)  # half the angle; exact to rounding also for no turn at all
        result[rows] = ca.cos(angle) * q[rows] + ca.sin(angle) / angle * turn
    return normalise(eqs, result)


def uses_tangent(eqs: EquationsOfMotion) -> bool:
    """Whether the producer's tangent takes the place of the Jacobian.

    What it leaves out, forces of the motion and the turning of joint rows, is smaller than M by h² times squares of
    angular velocities and accelerations over lengths. The iteration corrects it, with a tenth of the operations.
    """
    return "tangent" in eqs.functions and eqs.nz == 0 and massless_directions(eqs) is None


def shares_bodies(eqs: EquationsOfMotion) -> bool:
    """Whether the equations call functions that their bodies share, and the steps do so too."""
    return uses_tangent(eqs) and "matrices" in eqs.functions


class AlphaStepper:
    """Builds the step; the method's own states are the accelerations α and their counterpart for z."""

    def __init__(self, eqs: EquationsOfMotion, index: int, inputs: Inputs, events: ca.Function | None) -> None:
        self.eqs, self.index = eqs, index
        self.column = Column(eqs, inputs, events, own=eqs.nv + eqs.nz)
        self.layout = self.column.layout
        key = ("generalized alpha functions", index)
        make = self._shared_functions if shares_bodies(eqs) else self._functions
        self.place, self.residual, self.factor, self.solve = eqs.cache(key, make)
        self.known = self._make_known_function()
        self.limits = newton_limits(eqs, positions=index == 3 and bool(eqs.holonomic_rows))
        corrections = TANGENT_CORRECTIONS if uses_tangent(eqs) else CORRECTIONS
        self.newton = newton_iteration(self.residual, self.factor, self.solve, eqs.nz + eqs.nv, corrections)

    def start(self) -> ca.Function:
        return self.column.start(lambda a, zdot: ca.vertcat(a, zdot))

    def _make_known_function(self) -> ca.Function:
        """ξ, v₁, z₁, and α₁ with its counterpart for z, without their multiples of the unknowns; these multiples."""
        eqs = self.eqs
        s = eqs.symbols()
        zdot, own, h, rho = SX.sym("zdot", eqs.nz), SX.sym("own", eqs.nv + eqs.nz), SX.sym("h"), SX.sym("rho")
        alpha_m, alpha_f, beta, gamma = coefficients(rho)
        zm_m, zm_f, zm_g = first_order(rho)
        am, zm = own[: eqs.nv, :], own[eqs.nv :, :]
        am1 = (alpha_f * s.a - alpha_m * am) / (1 - alpha_m)
        zm1 = (zm_f * zdot - zm_m * zm) / (1 - zm_m)
        xi = h * s.v + h**2 * ((0.5 - beta) * am + beta * am1)
        v1 = s.v + h * ((1 - gamma) * am + gamma * am1)
        z1 = s.z + h * ((1 - zm_g) * zm + zm_g * zm1)
        share, zshare = (1 - alpha_f) / (1 - alpha_m), (1 - zm_f) / (1 - zm_m)
        multiples = ca.vertcat(beta * share * h**2, gamma * share * h, zm_g * zshare * h, share, zshare)
        results = [xi, v1, z1, ca.vertcat(am1, zm1), multiples]
        return ca.Function("known", [s.v, s.z, s.a, zdot, own, h, rho], results)

    def _functions(self) -> tuple[ca.Function, ca.Function, ca.Function, ca.Function]:
        """Where the unknowns lead, the residual, factors of its Jacobian, solution with them."""
        eqs = self.eqs
        s = eqs.symbols()  # s.lam and s.a are the unknowns at the end of the step
        y, h, short, multiples = SX.sym("y", eqs.nz), SX.sym("h"), SX.sym("short"), SX.sym("multiples", 5)
        xi0, v0, z0 = SX.sym("xi", eqs.nv), SX.sym("v", eqs.nv), SX.sym("z", eqs.nz)  # without the unknowns
        own0 = SX.sym("own", eqs.nv + eqs.nz)
        h2, h1, hz, share, zshare = ca.vertsplit(multiples)
        own = own0 + ca.vertcat(share * s.a, zshare * y)
        xi, v1, z1 = xi0 + h2 * s.a, v0 + h1 * s.a, z0 + hz * y
        q1 = move(eqs, s.q, xi, s.p, s.t, h)
        at = (s.u, s.p, s.t + h, h2, h1)
        internal, balance, level, plain, A, weight = self._rows(q1, v1, z1, y, s.a, s.lam, *at)
        gap = ca.if_else(short, plain, level) if len(eqs.rows) else level
        residual = ca.vertcat(internal, balance + weight @ gap, gap)
        elimination: Elimination | SymmetricElimination
        if uses_tangent(eqs):
            K, D = eqs.functions["tangent"](q1, v1, z1, s.u, s.p, s.t + h)
            E = eqs.functions["inertia"](q1, s.p, s.t + h) + h1 * (D + D.T) / 2 + h2 * (K + K.T) / 2
            turns, elimination = SX(0, 1), SymmetricElimination(E, A)
        else:
            turns, elimination = self._differentiate(s, xi, q1, v1, z1, y, A, weight, at, hz, h, short)
        unknown = ca.vertcat(y, s.a, s.lam)
        base = [s.q, xi0, v0, z0, own0, multiples, s.u, s.p, s.t, h, short]
        X = SX.sym("unknown", unknown.shape[0])
        results = (q1, v1, z1, own, residual, ca.vertcat(turns, elimination.values()))
        *places, residual, factors = [ca.densify(ca.substitute(e, unknown, X)) for e in results]
        cse = {"cse": eqs.nv < LARGE}
        return (
            ca.Function("place", [X, *base], places, cse),
            ca.Function("residual", [X, *base], [residual], cse),
            ca.Function("factor", [X, *base], [factors], cse),
            self._solver(elimination, turns.shape[0]),
        )

    def _shared_functions(self) -> tuple[ca.Function, ca.Function, ca.Function, ca.Function]:
        """The same in calls of the functions of the equations, which share those of their bodies."""
        eqs, F = self.eqs, self.eqs.functions
        nv, nl = eqs.nv, len(eqs.rows)
        sizes = {"unknown": nv + nl, "q": eqs.nq, "xi": nv, "v": nv, "z": 0, "own": nv, "multiples": 5, "u": eqs.nu,
                 "p": len(eqs.parameters), "t": 1, "h": 1, "short": 1}  # fmt: skip
        X, *base = (MX.sym(name, size) for name, size in sizes.items())
        q, xi, v, z, own, multiples, u, p, t, h, short = base
        a, lam = X[:nv, :], X[nv:, :]
        h2, h1, _, share, _ = ca.vertsplit(multiples)
        q1, v1, t1 = shared_move(eqs, q, xi + h2 * a, p, t, h), v + h1 * a, t + h
        place = ca.Function("place", [X, *base], [ca.densify(x) for x in (q1, v1, z, own + share * a)])
        q1, v1, _, _ = place(X, *base)
        balance, phi, rates, plain = F["balance"](q1, v1, a, lam, z, u, p, t1)
        level = self._levels()(phi, rates, plain, h2, h1)
        gap = ca.if_else(short, plain, level) if nl else level
        residual = ca.Function("residual", [X, *base], [ca.densify(ca.vertcat(balance, gap))])
        (M, A), (K, D) = (F[name](q1, v1, z, u, p, t1) for name in ("matrices", "tangent"))
        E = M + h1 * (D + D.T) / 2 + h2 * (K + K.T) / 2
        elimination = BlockElimination(E.sparsity(), A.sparsity())
        factors = elimination.factor(E.nz[:], A.nz[:])
        factor = ca.Function("factor", [X, *base], [factors])
        return place, residual, factor, elimination.solve

    def _levels(self) -> ca.Function:
        """(φ, rates, A v̇ - b, h², h) -> joint rows at the level that they are kept at."""
        eqs = self.eqs
        phi, rates = SX.sym("phi", len(eqs.holonomic_rows)), SX.sym("rates", len(eqs.rate_rows))
        plain, h2, h1 = SX.sym("plain", len(eqs.rows)), SX.sym("h2"), SX.sym("h1")
        return ca.Function("levels", [phi, rates, plain, h2, h1], [self._choose_level(phi, rates, plain, h2, h1)])

    def _differentiate(
        self, s: Symbols, xi: Any, q1: Any, v1: Any, z1: Any, y: Any, A: Any, weight: Any, at: tuple[Any, ...],
        hz: Any, h: Any, short: Any,
    ) -> tuple[Any, Elimination]:  # fmt: skip
        """The Jacobian along w, the changes of the end of the step in axes that are turned with it; and these turns."""
        eqs, h2, h1 = self.eqs, at[3], at[4]
        dy, w, dlam = SX.sym("dy", eqs.nz), SX.sym("w", eqs.nv), SX.sym("dlam", len(eqs.rows))
        turns = self._turns(xi)
        da = self._turn_back(turns, w)
        dq = h2 * self._change(s, xi, q1, h, w, da)
        moved = self._rows(q1 + dq, v1 + h1 * da, z1 + hz * dy, y + dy, s.a + da, s.lam + dlam, *at)
        changes = ca.vertcat(dy, w, dlam)
        by_change = ca.substitute(ca.jacobian(ca.vertcat(*moved[:3]), changes), changes, 0)
        inner, outer = ca.vertsplit(by_change, [0, eqs.nz + eqs.nv, by_change.shape[0]])
        outer = short * ca.horzcat(SX(len(eqs.rows), eqs.nz), A, SX(len(eqs.rows), len(eqs.rows))) + (1 - short) * outer
        inner = inner + ca.vertcat(SX(eqs.nz, len(eqs.rows)), weight) @ outer
        return turns, Elimination(ca.vertcat(inner, outer), eqs.nz + eqs.nv)  # the iteration itself refines

    def _rows(
        self, q: Any, v: Any, z: Any, y: Any, a: Any, lam: Any, u: Any, p: Any, t: Any, h2: Any, h1: Any
    ) -> tuple[Any, Any, Any, Any, Any, Any]:
        """Internal states, balance of forces, joint rows at their level and at that of acceleration; A; a weight.

        The balance gets joint rows times the weight where M is singular: the same solution, a regular block.
        """
        eqs, F = self.eqs, self.eqs.functions
        A, b = F["rows"](q, v, z, u, p, t)
        M = F["inertia"](q, p, t)
        if "balance" in F:
            balance, phi, rates, plain = F["balance"](q, v, a, lam, z, u, p, t)
        else:
            balance = M @ a - F["forces"](q, v, z, u, p, t, lam) - A.T @ lam
            phi, rates, plain = F["position"](q, p, t), F["rates"](q, v, p, t), A @ a - b
        internal = y - F["internal"](q, v, z, u, p, t, lam)
        gaps = self._choose_level(phi, rates, plain, h2, h1)
        return internal, balance, gaps, plain, A, joint_row_weight(eqs, M, A)

    # -- rotations in the Jacobian -----------------------------------------------------------------------------------
    # With q₁ = q ∘ exp(ξ) a change of ξ turns the end of the step by T(ξ) dξ. In w = T da the joint rows keep the
    # pattern of A; da = T⁻¹ w = w + ½ ξ×w + (1/12 + |ξ|²/720 + ...) ξ×(ξ×w) (Iserles and others 2000).
    def _turns(self, xi: Any) -> Any:
        """Rotation vectors of the step; none where joints are kept at velocity level, whose rows have A of the ends."""
        if self.index == 2:
            return SX(0, 1)
        return ca.vertcat(*[xi[block.speed : block.speed + 3] for block in self.eqs.quaternions], SX(0, 1))

    def _turn_back(self, turns: Any, w: Any) -> Any:
        result = SX(w)
        for k, block in zip(range(0, turns.shape[0], 3), self.eqs.quaternions, strict=False):
            part = slice(block.speed, block.speed + 3)
            once = ca.cross(turns[k : k + 3], w[part])
            result[part] = w[part] + once / 2 + ca.cross(turns[k : k + 3], once) / 12
        return result

    def _change(self, s: Any, xi: Any, q1: Any, h: Any, w: Any, da: Any) -> Any:
        """Change of q₁ with ξ, by AD; of Euler parameters in the axes of the end."""
        eqs = self.eqs
        symbol = SX.sym("xi", eqs.nv)
        change = ca.densify(ca.jtimes(move(eqs, s.q, symbol, s.p, s.t, h), symbol, da))
        along = eqs.functions["kinematics"](q1, s.p, s.t + h)[0] @ w
        for block in eqs.quaternions:
            change[block.part] = along[block.part]
        return ca.substitute(change, symbol, xi)

    def _solver(self, elimination: Elimination | SymmetricElimination, turns: int) -> ca.Function:
        """(factors, right-hand side) -> change of the unknowns."""
        eqs, solve = self.eqs, elimination.solver()
        factors, right = SX.sym("factors", turns + solve.size1_in(0)), SX.sym("right", solve.size1_in(1))
        dy, w, dlam = ca.vertsplit(solve(factors[turns:], right), [0, eqs.nz, eqs.nz + eqs.nv, right.shape[0]])
        return ca.Function("solve", [factors, right], [ca.vertcat(dy, self._turn_back(factors[:turns], w), dlam)])

    def _choose_level(self, phi: Any, rates: Any, plain: Any, h2: Any, h1: Any) -> Any:
        """The joint rows at the level they are kept at, in units of acceleration."""
        entries: list[Any] = []
        position = rate = 0
        for k, row in enumerate(self.eqs.rows):
            if row.level == HOLONOMIC and self.index == 3:
                entries.append(phi[position] / h2)
            elif row.level in (HOLONOMIC, VELOCITY):
                entries.append(rates[rate] / h1)
            else:
                entries.append(plain[k])
            position += row.level == HOLONOMIC
            rate += row.level in (HOLONOMIC, VELOCITY)
        return ca.vertcat(*entries) if entries else SX.zeros(0, 1)

    def step(self) -> ca.Function:
        """One step; where its iteration does not converge, its halves, and so on. A run that has failed stays where
        it is: its error is raised after the block of steps, whose rest would be work for nothing."""
        x, h = MX.sym("x", self.layout.size), MX.sym("h")
        inside = [x, *self.column.arguments(x)[1:], h]
        single = ca.Function("single", inside, self._step(x, h))
        keep = ca.Function("keep", inside, [x])
        following = ca.Function("smallest", inside, single.call(inside)[:1])
        tried = MX.sym("tried", self.layout.size)
        as_tried = ca.Function("as_tried", [tried, *inside], [tried])
        for _ in range(HALVINGS):
            half = following(*inside[:-1], h / 2)
            halves = ca.Function("halves", [tried, *inside], [following(half, *inside[1:-1], h / 2)])
            found, converged = single(*inside)
            choice = ca.Function.if_else("choice", as_tried, halves)
            following = ca.Function("attempt", inside, [choice(converged, found, *inside)])
        parts = self.layout.split(x)
        room = ca.fmax(self.column.end - parts["t"], 0)
        length = ca.if_else(parts["h"] * (1 + CONTROL.stretch) >= room, room, parts["h"])
        choice = ca.Function.if_else("go", following, keep)
        moving = ca.logic_and(length > 0, parts["change"] <= TOLERANCE.accepted)
        return ca.Function("step", inside[:-1], [choice(moving, *inside[:-1], length)])

    def _step(self, x0: Expr, h: Expr) -> list[Expr]:
        """The column after a step of length h, and whether its iteration has converged."""
        eqs, column = self.eqs, self.column
        x = self.layout.split(x0)
        rho = column.numbers[0]
        t1 = x["t"] + h
        u1 = column.inputs_at(t1)
        known = self.known(x["v"], x["z"], x["a"], x["zdot"], x["own"], h, rho)
        base = (x["q"], *known, u1, column.p, x["t"], h, h < SHORT * x["h"])
        unknown = ca.vertcat(x["zdot"], x["a"], x["lam"])
        limits = self.limits(x["q"], x["v"], column.p, x["t"], h)
        unknown, change = self.newton(unknown, *base, limits)
        q1, v1, z1, own = self.place(unknown, *base)
        zdot, a, lam = ca.vertsplit(unknown, [0, eqs.nz, eqs.nz + eqs.nv, unknown.shape[0]])
        last = h * change / (1 + ca.norm_inf(v1))
        if self.index == 2:
            q1, v1 = projection_function(eqs)(q1, v1, column.p, t1)
        power = eqs.functions["power"](q1, v1, z1, u1, column.p, t1, lam)
        changed = self.layout.join(
            t=t1,
            h=x["h"],
            q=q1,
            v=v1,
            z=z1,
            work=x["work"] + h / 2 * (x["power"] + power),
            a=a,
            zdot=zdot,
            power=power,
            lam=lam,
            size=x["size"],
            accepted=x["accepted"] + 1,
            rejected=x["rejected"],
            change=ca.fmax(x["change"], last),
            events=column.event_values(t1, q1, v1, z1, a, lam),
            own=own,
        )
        finite = ca.sumsqr(unknown) < np.inf  # a largest value leaves out what is no number
        return [ca.densify(changed), ca.logic_and(last <= TOLERANCE.accepted, finite)]
