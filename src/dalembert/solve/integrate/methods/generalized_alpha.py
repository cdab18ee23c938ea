"""Generalized-α on a Lie group (Arnold and Brüls 2007), index 3 and index 2.

    q₁ = q ∘ exp(h v + h² ((½-β) α + β α₁)) ,   v₁ = v + h ((1-γ) α + γ α₁)
    (1-αm) α₁ + αm α = (1-αf) v̇₁ + αf v̇
    M v̇₁ = f + Aᵀλ₁ ,   φ(q₁) / (β' h²) = 0   (index 2: φ̇ / (γ' h) = 0, then the positions are projected)

with β' = β (1-αf)/(1-αm), γ' likewise: with v̇₁ and λ₁ as unknowns and rows scaled so, the Jacobian keeps its size
as h → 0. Internal states use the first-order scheme of the same spectral radius.

Newton's iteration takes the exact Jacobian at the start of the step and corrects until the error that is left,
estimated from the change s and the rate of convergence θ = s / s_before as s θ / (1-θ), is below the tolerance
(Hairer and Wanner 1996, section IV.8). Where that does not come, the Jacobian is taken once more. The last change is
stored with the state. Each correction is a function that calls the next one in a switch, so that the interpreter and
native code evaluate the corrections that are needed and no others.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from dalembert.core.arguments import positive_number, real_number
from dalembert.core.errors import DataError
from dalembert.equations import HOLONOMIC, VELOCITY, EquationsOfMotion
from dalembert.expressions import Array, Expr
from dalembert.solve.constrained.elimination import Elimination
from dalembert.solve.constrained.solve import TINY, normalised, projection_function
from dalembert.solve.constrained.structure import mass_is_singular
from dalembert.solve.integrate.column import Column
from dalembert.solve.integrate.inputs import Inputs
from dalembert.solve.integrate.method import OneStep, integrator, option

MX = ca.MX
SX = ca.SX
JACOBIANS = 2  # per step, at most
CORRECTIONS = 4  # with each, at most
STRETCH = 1e-6  # a last step that would leave less than this share of itself goes to the end
SHORT = 1e-2  # share of the step below which rows are kept at acceleration level: φ / h² would be rounding only
REFINEMENTS = 0  # the iteration itself refines


@dataclass(frozen=True)
class NewtonTolerance:
    """Error that the iteration may leave in a step, and how far its estimate is trusted."""

    # Speeds, relative to 1 + |v|: ten thousand steps stay below 1e-8, the largest change that a run accepts.
    speed: float = 1e-12
    # Multipliers, relative to 1 + |λ|: a hundredth of what a run asks of friction that depends on them.
    multiplier: float = 1e-8
    # Rounding of the positions in the joint rows, in units of |q|; seen as 1 to 10 in runs of the library's machines.
    rounding: float = 16 * float(np.finfo(float).eps)
    # Rate of convergence: two changes foretell a third by at most three digits; without two, or where they hardly
    # decrease, the error is taken for as large as the change.
    fastest: float = 1e-3
    slowest: float = 0.5


TOLERANCE = NewtonTolerance()


@integrator
@dataclass(frozen=True)
class GeneralizedAlpha(OneStep):
    """Generalized-α in Lie-group form: implicit, second order, damped at high frequencies.

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
    for block in eqs.quaternions:
        rows = list(range(block.part.start, block.part.stop))
        turn = change[rows]
        angle = ca.sqrt(ca.dot(turn, turn) + 1e-40)  # half the angle; exact to rounding also for no turn at all
        result[rows] = ca.cos(angle) * q[rows] + ca.sin(angle) / angle * turn
    return normalised(eqs, result)


def largest(x: Any) -> Any:
    """Largest absolute value; 0 of an empty column."""
    return ca.norm_inf(x) if x.shape[0] else SX(0)


class AlphaStepper:
    """Builds the step; the method's own states are the accelerations α and their counterpart for z."""

    def __init__(self, eqs: EquationsOfMotion, index: int, inputs: Inputs, events: ca.Function | None) -> None:
        self.eqs, self.index = eqs, index
        self.column = Column(eqs, inputs, events, own=eqs.nv + eqs.nz)
        self.layout = self.column.layout
        key = ("generalized alpha functions", index)
        self.place, self.residual, self.factor, self.solve = eqs.cached(key, self._functions)
        self.limits, self.newton = eqs.cached((*key, "iteration"), self._iteration)

    def start(self) -> ca.Function:
        return self.column.start(lambda a, zdot: ca.vertcat(a, zdot))

    def _functions(self) -> tuple[ca.Function, ca.Function, ca.Function, ca.Function]:
        """Where the unknowns lead, the residual, factors of its Jacobian, solution with them."""
        eqs = self.eqs
        F = eqs.functions
        s = eqs.symbols()  # at the start of the step; s.lam and s.a are the unknowns at its end
        y, zdot = SX.sym("y", eqs.nz), SX.sym("zdot", eqs.nz)
        own, a0 = SX.sym("own", eqs.nv + eqs.nz), SX.sym("a0", eqs.nv)
        h, rho, short = SX.sym("h"), SX.sym("rho"), SX.sym("short")
        alpha_m, alpha_f, beta, gamma = coefficients(rho)
        am, zm = own[: eqs.nv], own[eqs.nv :]
        am1 = ((1 - alpha_f) * s.a + alpha_f * a0 - alpha_m * am) / (1 - alpha_m)
        zm_m, zm_f, zm_g = first_order(rho)
        zm1 = ((1 - zm_f) * y + zm_f * zdot - zm_m * zm) / (1 - zm_m)
        t1 = s.t + h
        q1 = move(eqs, s.q, h * s.v + h**2 * ((0.5 - beta) * am + beta * am1), s.p, s.t, h)
        v1 = s.v + h * ((1 - gamma) * am + gamma * am1)
        z1 = s.z + h * ((1 - zm_g) * zm + zm_g * zm1)
        share = (1 - alpha_f) / (1 - alpha_m)
        at = [q1, v1, z1, s.u, s.p, t1]
        A, b = F["rows"](*at)
        M = F["inertia"](q1, s.p, t1)
        r = M @ s.a - F["forces"](*at, s.lam) - A.T @ s.lam
        gap = self._gaps(q1, v1, s.a, A, b, s.p, t1, beta * share * h**2, gamma * share * h)
        gap = ca.if_else(short, A @ s.a - b, gap) if len(eqs.rows) else gap
        if mass_is_singular(eqs):  # plus a multiple of the joint rows: the same solution, a regular block
            length = 1 / (ca.sum2(A * A) + TINY)
            r = r + ca.mmax(M) * (A.T @ (ca.densify(length) * gap))
        residual = ca.vertcat(y - F["internal"](*at, s.lam), r, gap)
        unknown = ca.vertcat(y, s.a, s.lam)
        base = [s.q, s.v, s.z, a0, zdot, own, s.u, s.p, s.t, h, rho, short]
        X = SX.sym("unknown", unknown.shape[0])
        names = [ca.substitute(e, unknown, X) for e in (residual, q1, v1, z1, ca.vertcat(am1, zm1))]
        elimination = Elimination(ca.jacobian(names[0], X), eqs.nz + eqs.nv)
        cse = {"cse": eqs.nv < 600}
        return (
            ca.Function("place", [X, *base], [ca.densify(e) for e in names[1:]], cse),
            ca.Function("residual", [X, *base], [ca.densify(names[0])], cse),
            ca.Function("factor", [X, *base], [elimination.values()], cse),
            elimination.solver(REFINEMENTS),
        )

    def _iteration(self) -> tuple[ca.Function, ca.Function]:
        """Rounding and tolerance of a step, and Newton's iteration.

        newton : (unknown, factors, size and change before, limits, base of the step) -> unknown, last change of (ż, v̇).
        """
        residual, factor, solve, judge = self.residual, self.factor, self.solve, self._judge()
        base = [MX.sym(residual.name_in(i), residual.size1_in(i)) for i in range(1, residual.n_in())]
        unknown, factors = MX.sym("unknown", residual.size1_in(0)), MX.sym("factors", solve.size1_in(0))
        size, change, limits = MX.sym("size"), MX.sym("change"), MX.sym("limits", 3)
        arguments = [unknown, factors, size, change, limits, *base]
        stop = ca.Function("stop", arguments, [unknown, change])
        following = stop
        for last in range(JACOBIANS, 0, -1):
            for _ in range(CORRECTIONS):
                found = judge(unknown, solve(factors, -residual(unknown, *base)), size, limits)
                results = found[0], found[2]
                if following is not stop:
                    choice = ca.Function.if_else("settled", stop, following)
                    results = choice(found[3], found[0], factors, found[1], found[2], limits, *base)
                following = ca.Function("correct", arguments, results)
            if last > 1:
                again = following(unknown, factor(unknown, *base), 0, change, limits, *base)
                following = ca.Function("linearise", arguments, again)
        return self._limits(), following

    def _limits(self) -> ca.Function:
        """Rounding and tolerance of (ż, v̇) in a step, and the mass that makes forces of them."""
        eqs = self.eqs
        s, h = eqs.symbols(), SX.sym("h")
        rounding = TOLERANCE.rounding * (1 + largest(s.q)) / h**2
        tolerance = TOLERANCE.speed * (1 + largest(s.v)) / h
        M = eqs.functions["inertia"](s.q, s.p, s.t)
        limits = ca.vertcat(rounding, tolerance, ca.mmax(M) if M.nnz() else 0)
        return ca.Function("limits", [s.q, s.v, s.p, s.t, h], [ca.densify(limits)])

    def _judge(self) -> ca.Function:
        """(unknown, change, size before, limits) -> unknown after, size, change of (ż, v̇), whether it is settled.

        size : of the change beyond rounding, in units of the tolerance.
        """
        eqs = self.eqs
        leading = eqs.nz + eqs.nv
        unknown, change = SX.sym("unknown", leading + len(eqs.rows)), SX.sym("change", leading + len(eqs.rows))
        before, limits = SX.sym("before"), SX.sym("limits", 3)
        rounding, tolerance, mass = ca.vertsplit(limits)
        after = unknown + change
        moved, force = largest(change[:leading]), largest(change[leading:])
        allowed = TOLERANCE.multiplier * (1 + largest(after[leading:])) + mass * tolerance
        size = ca.fmax((moved - rounding) / tolerance, (force - mass * rounding) / allowed)
        rate = ca.fmax(ca.fmin(size / before, TOLERANCE.slowest), TOLERANCE.fastest)
        settled = size * rate <= 1 - rate
        return ca.Function("judge", [unknown, change, before, limits], [after, size, moved, settled])

    def _gaps(self, q: Any, v: Any, a: Any, A: Any, b: Any, p: Any, t: Any, h2: Any, h1: Any) -> Any:
        """The joint rows at the level they are kept at, in units of acceleration."""
        eqs = self.eqs
        phi = eqs.functions["position"](q, p, t)
        rates = eqs.functions["rates"](q, v, p, t)
        entries: list[Any] = []
        position = rate = 0
        for k, row in enumerate(eqs.rows):
            if row.level == HOLONOMIC and self.index == 3:
                entries.append(phi[position] / h2)
            elif row.level in (HOLONOMIC, VELOCITY):
                entries.append(rates[rate] / h1)
            else:
                entries.append(A[k, :] @ a - b[k])
            position += row.level == HOLONOMIC
            rate += row.level in (HOLONOMIC, VELOCITY)
        return ca.vertcat(*entries) if entries else SX.zeros(0, 1)

    def step(self) -> ca.Function:
        x = MX.sym("x", self.layout.size)
        return ca.Function("step", self.column.arguments(x), [self._step(x)])

    def _step(self, x0: Expr) -> Expr:
        eqs, column = self.eqs, self.column
        x = self.layout.split(x0)
        rho = column.numbers[0]
        room = ca.fmax(column.end - x["t"], 0)
        h = ca.if_else(x["h"] * (1 + STRETCH) >= room, room, x["h"])
        moving = h > 0
        h = ca.if_else(moving, h, 1.0)
        t1 = x["t"] + h
        u1 = column.inputs_at(t1)
        base = (
            x["q"],
            x["v"],
            x["z"],
            x["a"],
            x["zdot"],
            x["own"],
            u1,
            column.p,
            x["t"],
            h,
            rho,
            h < SHORT * x["h"],
        )
        unknown = ca.vertcat(x["zdot"], x["a"], x["lam"])
        limits = self.limits(x["q"], x["v"], column.p, x["t"], h)
        unknown, change = self.newton(unknown, self.factor(unknown, *base), 0, 0, limits, *base)
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
        return ca.if_else(moving, changed, x0)
