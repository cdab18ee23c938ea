"""Steady motion: constant rates of some coordinates, all others at rest (a top, a governor, a rolling disc).

Unknowns ξ, v, a, λ, z and the rates to be found; one Gauss-Newton iteration with exact derivatives on

    φ = 0 ,  rates = 0 ,  M a - f - Aᵀλ = 0 ,  A a = b ,  ẇ = 0 ,  w = given (or free) ,  g = 0 ,  held coordinates

where w are independent speeds, the named ones first. Directions that nothing decides (cyclic coordinates) stay where
they started: every step is the shortest one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.core.arguments import real_number
from dalembert.core.errors import AssemblyError, ConvergenceError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array
from dalembert.numerics.least_squares import DampedStep, Damping, minimise
from dalembert.numerics.runge_kutta import CLASSIC, combine
from dalembert.solve.position.assemble import assemble, normalised_numbers
from dalembert.solve.position.balance import ROUNDING, find_unsteady
from dalembert.solve.position.chart import AT_REST, solve_rows
from dalembert.solve.position.tangent import (
    Candidate,
    Instant,
    Terms,
    accelerations,
    choose,
    measure_candidate,
    named_values,
    speed_candidate,
    split,
    terms,
    unit_changes,
)

ACCEPTED = 1e-8  # residual of a steady motion where no step lowers it any more: √ε
MOVING = 1e-9  # speed from which on a state moves [m/s or rad/s]
RANK = 1e-11  # singular value, of the largest, that is zero in a least-squares step


def steady_motion(
    eqs: EquationsOfMotion,
    *,
    start: State | None,
    guess: Mapping[str, float] | None,
    u: Array,
    hold: Mapping[str, float],
    rates: Mapping[str, float | None],
    t: float,
    restarts: int = 8,
    restarted: int = 120,
    farther: float = 0.15,
) -> State:
    """A state of steady motion; see `equilibrium`.

    restarts : further initial poses: one of the 150 needs them all.
    restarted : speeds; a larger machine has one initial pose: least squares of 120 take 0.04 s.
    farther : spread of initial poses [rad], times their number; ten times less loses two of the 150.
    """
    asked = [
        (_rate(eqs, name), None if value is None else real_number(f"rates: {name!r}", value, ModelError))
        for name, value in rates.items()
    ]
    speeds_guess = {
        name: real_number(f"guess: {name!r}", value, ModelError)
        for name, value in (guess or {}).items()
        if eqs.full_name(str(name)) not in eqs.measures.index
    }
    positions = named_values(eqs, {n: v for n, v in (guess or {}).items() if n not in speeds_guess}, "guess")
    first = _pose(eqs, start, positions, hold, t)
    values = np.array([_first_rate(c, value, speeds_guess, start) for c, value in asked])
    _check_guess(eqs, speeds_guess, asked)
    problem = _Steady(eqs, u, hold, [c for c, _ in asked], [value is None for _, value in asked], values, t)
    best: _Try | None = None
    random = np.random.default_rng(0)
    for k in range(restarts + 1 if eqs.nv <= restarted else 1):
        q = np.array(first.q)
        if k:
            T0 = terms(eqs, problem.point(q, np.zeros(eqs.nv), np.array(first.z), np.zeros(len(eqs.rows))))
            Z = split(T0.A[eqs.holonomic_rows])[4]
            q = problem.move(q, Z @ random.normal(size=Z.shape[1]) * farther * k)
        found = problem.solve(q, np.array(first.z))
        if found is not None and (best is None or found.error < best.error):
            best = found
        if best is not None and best.error <= ACCEPTED:
            break
    if best is None or best.error > ACCEPTED:
        raise problem.error(best)
    x = accelerations(eqs, best.x)
    if (unsteady := problem.find_unsteady(x, AT_REST)) is not None:
        raise problem.error(best, unsteady)
    problem.check_lasting(x)
    return eqs.state(x.q, x.v, x.z, t, lam=x.lam)


def _rate(eqs: EquationsOfMotion, name: str) -> Candidate:
    full = eqs.full_name(str(name))
    if full in eqs.measures.index:
        return measure_candidate(eqs, eqs.measures.index[full])
    if full in eqs.measure_rates.index:
        return measure_candidate(eqs, eqs.measure_rates.index[full])
    if full in eqs.speeds.index:
        return speed_candidate(eqs, eqs.speeds.index[full])
    known = (*eqs.measures.names, *eqs.speeds.names)
    raise ModelError(
        "unknown-name", f"rates: {unknown_name('coordinate or speed', name, known, f'equations {eqs.name!r}')}"
    )


def _first_rate(c: Candidate, value: float | None, guess: Mapping[str, float], start: State | None) -> float:
    if value is not None:
        return float(value)
    if c.rate_name in guess:
        return guess[c.rate_name]
    return start[c.rate_name] if start is not None else 0.0


def _check_guess(
    eqs: EquationsOfMotion, given: Mapping[str, float], asked: list[tuple[Candidate, float | None]]
) -> None:
    known = [c.rate_name for c, value in asked if value is None]
    for name in given:
        if name not in known:
            names = [*eqs.measures.names, *known]
            raise ModelError(
                "unknown-name",
                f"guess: {unknown_name('coordinate or free rate', name, names, f'equations {eqs.name!r}')}",
            )


def _pose(
    eqs: EquationsOfMotion, start: State | None, guess: Mapping[str, float], hold: Mapping[str, float], t: float
) -> State:
    if start is not None and not guess and not hold:
        return start
    try:
        return assemble(eqs, {**guess, **hold}, start=start, t=t)
    except AssemblyError:
        return assemble(eqs, hold, guess=guess, start=start, t=t)


@dataclass(frozen=True)
class _Try:
    x: Instant
    error: float
    worst: str
    by: float


class _Steady:
    def __init__(
        self,
        eqs: EquationsOfMotion,
        u: Array,
        hold: Mapping[str, float],
        named: list[Candidate],
        free: list[bool],
        values: Array,
        t: float,
    ) -> None:
        self.eqs, self.u, self.t = eqs, u, t
        self.held = [eqs.measures.index[name] for name in hold]
        self.held_values = np.array(list(hold.values()))
        self.named, self.free, self.values = named, free, values
        self.speeds: list[Candidate] = []
        self.unit = np.ones(eqs.nv)  # changes of coordinates and forces, shorter where a coordinate is stiff

    def point(self, q: Array, v: Array, z: Array, lam: Array, a: Array | None = None) -> Instant:
        return Instant(q, v, z, self.u, self.t, np.zeros(self.eqs.nv) if a is None else a, lam)

    def move(self, q: Array, change: Array) -> Array:
        (N, _) = self.eqs.kernel("kinematics")(q, self.eqs.p, self.t)
        return normalised_numbers(self.eqs, q + N.reshape(self.eqs.nq, self.eqs.nv) @ change)

    def choose_speeds(self, T: Terms, x: Instant) -> list[Candidate]:
        """Independent speeds: the named ones, then joints, bodies, angular velocities."""
        eqs = self.eqs
        changes = unit_changes(eqs, T.M.diagonal(), T.R1_x.diagonal())
        Z = split(T.A[eqs.rate_rows] * changes)[4]
        every = [measure_candidate(eqs, k) for k in range(len(eqs.measures))]
        measures, joints = ([every[k] for k in part] for part in (eqs.positions, eqs.recorded_measures))
        speeds = [speed_candidate(eqs, k) for k in range(eqs.nv)]
        turning = [[speeds[k] for k in block.columns] for block in eqs.quaternions]
        turning += [every[orientation.turns : orientation.turns + 3] for orientation in eqs.carried_orientations]
        mine = choose(Z, [[c] for c in self.named], T, x, changes)
        for c in self.named:
            if c not in mine:
                known = ", ".join(o.rate_name for o in mine) or "none: there is no freedom"
                raise ModelError(
                    "dependent-coordinates",
                    f"rates: {c.rate_name!r} cannot be chosen: it follows from the joints of {eqs.name!r} and the "
                    f"other rates ({known}).",
                )
        # a rolling wheel's place goes round: what turns is steady, what travels need not be
        travels = [c for c in measures if c.unit == "m" and c not in joints]
        others = [c for c in measures if c not in travels and c not in joints]
        return choose(Z, [joints, others, *turning, travels, speeds], T, x, changes, first=self.named)

    def rows(self, T: Terms, x: Instant, w: Array, scale: float) -> tuple[Array, Array, list[str]]:
        """Residual, its derivative by (ξ / unit, v, a, λ / scale, z, free rates), and the meaning of every row."""
        eqs = self.eqs
        nv, nl, nz = eqs.nv, len(eqs.rows), eqs.nz
        rows_s = [c.rows(T, x) for c in self.speeds]
        S, rate_x, acc_x, acc_v = (np.array([r[k] for r in rows_s]).reshape(-1, nv) for k in range(4))
        rate = np.array([r[4] for r in rows_s])
        acc = np.array([r[5] for r in rows_s])
        target = np.zeros(len(rows_s))
        target[: len(w)] = w
        gap = T.s[self.held] - self.held_values
        free = [k for k, is_free in enumerate(self.free) if is_free]
        by_free = np.zeros((len(rows_s), len(free)))
        for column, k in enumerate(free):
            by_free[k, column] = -1.0
        A_h, A_r = T.A[eqs.holonomic_rows], T.A[eqs.rate_rows]
        none = np.zeros

        def line(n: int, x_: Array, v: Array, a: Array, lam: Array, z: Array, f: Array | None = None) -> Array:
            return np.hstack((x_, v, a, lam, z, none((n, len(free))) if f is None else f))

        nh, nr, ns, ng = len(A_h), len(A_r), len(rows_s), len(gap)
        J = np.vstack(
            (
                line(nh, A_h, none((nh, nv)), none((nh, nv)), none((nh, nl)), none((nh, nz))),
                line(nr, T.rates_x, A_r, none((nr, nv)), none((nr, nl)), none((nr, nz))),
                line(nv, T.R1_x, T.R1_v, T.M, -(T.A.T + T.f_lam) * scale, T.R1_z) * (self.unit / scale)[:, None],
                line(nl, T.R2_x, T.R2_v, T.A, none((nl, nl)), T.R2_z),
                line(ns, rate_x, S, none((ns, nv)), none((ns, nl)), none((ns, nz)), by_free),
                line(ns, acc_x, acc_v, S, none((ns, nl)), none((ns, nz))),
                line(nz, T.g_x, T.g_v, none((nz, nv)), T.g_lam * scale, T.g_z),
                line(ng, T.S[self.held], none((ng, nv)), none((ng, nv)), none((ng, nl)), none((ng, nz))),
            )
        )
        J[:, :nv] *= self.unit
        residual = np.concatenate((T.phi, T.rates, T.R1 * self.unit / scale, T.R2, rate - target, acc, T.g, gap))
        names = [f"joint or constraint {eqs.rows[k].owner!r}" for k in (*eqs.holonomic_rows, *eqs.rate_rows)]
        names += [f"the balance along {n!r}" for n in eqs.speeds.names]
        names += [f"joint or constraint {row.owner!r}" for row in eqs.rows]
        names += [f"the rate {c.rate_name!r}" for c in self.speeds]
        names += [f"the constancy of {c.rate_name!r}" for c in self.speeds]
        names += [f"internal state {n!r}" for n in eqs.internal.names]
        names += [f"the held coordinate {eqs.measures.names[k]!r}" for k in self.held]
        return residual, J, names

    def solve(
        self, q: Array, z: Array, iterations: int = 80, first_damping: float = 1e-8, stuck: float = 1e6
    ) -> _Try | None:
        # iterations: steps from one initial pose: four tenths more than the longest of the 150.
        # first_damping: the first, where an undamped step fails; it grows and falls by 10.
        # stuck: damping that ends the search: steps are a millionth of the gradient's.
        eqs = self.eqs
        nv, nl = eqs.nv, len(eqs.rows)
        x = self.point(q, np.zeros(nv), z, np.zeros(nl))
        T = terms(eqs, x)
        self.speeds = self.choose_speeds(T, x)
        S = np.array([c.rows(T, x)[0] for c in self.speeds]).reshape(-1, nv)
        w = np.array(self.values)
        target = np.zeros(len(self.speeds))
        target[: len(w)] = w
        v = np.linalg.lstsq(np.vstack((T.A[eqs.rate_rows], S)), np.concatenate((-T.rates, target)), rcond=RANK)[0]
        x = accelerations(eqs, self.point(q, v, z, np.zeros(nl)))
        T = terms(eqs, x)
        # as at rest, 1 m/s² is no small acceleration: forces that are rounding do not set the scale
        parts = (T.M.diagonal(), T.f, T.M @ x.a)
        scale = max(float(np.abs(part).max(initial=0.0)) for part in parts) or 1.0
        # beside a stiffness of 1e12 all else would be rounding: a unit change does as much work in every coordinate
        self.unit = np.sqrt(scale / np.maximum(scale, np.abs(T.R1_x.diagonal())))
        problem = _Balance(self, scale)
        first = problem.at(x, w)
        if not np.isfinite(first.error):
            return None
        damping = Damping(first=0.0, restart=first_damping, dropped=first_damping, least=0.0, most=stuck)
        found = minimise(problem, first, damping, iterations, share=0.0).point
        worst = int(np.argmax(np.abs(found.residual)))
        return _Try(found.x, found.error, found.names[worst], float(found.residual[worst]))

    def find_unsteady(self, x: Instant, accepted: float, precision: float = ROUNDING) -> tuple[str, float] | None:
        """The speed that changes most beside the forces along it, and its change; None where all are constant."""
        T = terms(self.eqs, x)
        S, A = np.array([c.rows(T, x)[0] for c in self.speeds]).reshape(-1, self.eqs.nv), T.A[self.eqs.rate_rows]
        W = solve_rows(A, S, np.zeros((len(A), len(S))), np.eye(len(S)))
        return find_unsteady(self.eqs, T, x, self.speeds, W, accepted, precision)

    def check_lasting(self, x: Instant, lasting: float = 1e-6, reached: float = 1e-9) -> None:
        """A balance that holds at one instant only (a swinging pendulum at its lowest point) is no steady motion.

        lasting : unbalanced force a moment later, relative to those at play .
        reached : ... where a short run has come to that moment, with this error.
        """
        if not float(np.abs(x.v).max(initial=0.0)) > MOVING:
            return
        unsteady = self.find_unsteady(later(self.eqs, x), lasting, reached)
        if unsteady is not None:
            raise ConvergenceError(
                "no-solution",
                f"no steady motion of {self.eqs.name!r} found: the forces balance at one instant only, a moment later "
                f"{unsteady[0]!r} changes by {unsteady[1]:.3g} per second.",
                Advice("Give other rates, or a nearer {}.", Argument("guess")),
            )

    def size(self, x: Instant) -> float:
        return 1.0 + float(np.abs(x.v).max(initial=0.0)) + float(np.abs(x.a).max(initial=0.0))

    def error(self, best: _Try | None, unsteady: tuple[str, float] | None = None) -> ConvergenceError:
        asked = ", ".join(
            f"{c.rate_name} {'free' if is_free else f'= {value:g}'}"
            for c, is_free, value in zip(self.named, self.free, self.values, strict=True)
        )
        still = ", ".join(c.rate_name for c in self.speeds[len(self.named) :]) or "none"
        gap = "" if best is None else f" {best.worst} is missed by {abs(best.by):.2e} (relative or SI)."
        evidence = {}
        if unsteady is not None:
            gap = f" The nearest state is none: {unsteady[0]!r} changes by {unsteady[1]:.3g} per second."
            evidence = {"acceleration": unsteady[1]}
        return ConvergenceError(
            "no-solution",
            f"no steady motion of {self.eqs.name!r} with {asked} and at rest: {still}.{gap}",
            Advice("Give other rates, leave one free (None), or start nearer with {}.", Argument("guess")),
            evidence=evidence,
        )


def later(eqs: EquationsOfMotion, x: Instant, moment: float = 0.37, parts: int = 12) -> Instant:
    """The same motion a little later: Runge-Kutta over about a third of a radian of the fastest rate.

    Elastic coordinates keep their accelerations, as they do in a steady motion: vibrations, which these steps could not
    follow, stay out; where the motion is not steady, the accelerations at its end show it.

    moment : [m or rad] moved to the moment at which it must still be steady; no part of a whole turn.
    parts : steps of Runge-Kutta to that moment: 0.03 rad each, good to 1e-9.
    """
    elastic = list(eqs.elastic_speeds.values())
    h = moment / float(np.abs(x.v).max()) / parts
    y: tuple[Array, ...] = (np.array(x.q), np.array(x.v), np.array(x.z))
    lam, t = x.lam, x.t

    def slope(y: tuple[Array, ...], t: float) -> tuple[Array, ...]:
        nonlocal lam
        here = accelerations(eqs, Instant(y[0], y[1], y[2], x.u, t, np.zeros(eqs.nv), lam))
        lam = here.lam
        N, n = eqs.kernel("kinematics")(y[0], eqs.p, t)
        (g,) = eqs.kernel("internal")(*y, x.u, eqs.p, t, lam)
        a = np.array(here.a)
        a[elastic] = x.a[elastic]
        return N.reshape(eqs.nq, eqs.nv) @ y[1] + n, a, g

    for _ in range(parts):
        stages: list[tuple[Array, ...]] = []
        for node, row in zip(CLASSIC.nodes, CLASSIC.matrix, strict=True):
            trial = tuple(part + h * combine(row[: len(stages)], stages, i) for i, part in enumerate(y))
            stages.append(slope(trial, t + node * h))
        y = tuple(part + h * combine(CLASSIC.weights, stages, i) for i, part in enumerate(y))
        t += h
    q = normalised_numbers(eqs, y[0])
    closed = assemble(eqs, start=eqs.state(q, y[1], y[2], t, lam=lam), t=t)
    return accelerations(eqs, Instant(closed.q, closed.v, closed.z, x.u, t, np.zeros(eqs.nv), lam))


@dataclass(frozen=True)
class _Balanced:
    """An instant with its rates, the residual, its Jacobian and its rows by name; error: relative to its motion."""

    x: Instant
    w: Array
    residual: Array
    J: Array
    names: list[str]
    error: float


class _Balance:
    """Steady motion as a problem of `numerics.least_squares`: the shortest steps, of limited length."""

    def __init__(self, steady: _Steady, scale: float) -> None:
        self.steady, self.scale, self.damping = steady, scale, 0.0

    def at(self, x: Instant, w: Array) -> _Balanced:
        residual, J, names = self.steady.rows(terms(self.steady.eqs, x), x, w, self.scale)
        error = float(np.abs(residual).max(initial=0.0)) / self.steady.size(x)
        return _Balanced(x, w, residual, J, names, error)

    def value(self, point: _Balanced) -> float:
        return float(np.linalg.norm(point.residual))

    def step(self, point: _Balanced, damping: float, longest_change: float = 0.5) -> DampedStep:
        # longest_change: change of a coordinate in one step [m or rad]: 30° stay on one side of a dead point.
        self.damping = damping
        change = _shortest(point.J, point.residual, damping)
        longest = float(np.abs(self.steady.unit * change[: self.steady.eqs.nv]).max(initial=0.0))
        return DampedStep(change * min(1.0, longest_change / max(longest, 1e-300)), self.value(point))

    def evaluate(self, point: _Balanced, step: DampedStep) -> _Balanced:
        steady, eqs, x = self.steady, self.steady.eqs, point.x
        dx, dv, da, dlam, dz, dw = np.split(step.change, np.cumsum([eqs.nv] * 3 + [len(eqs.rows), eqs.nz]))
        w = point.w.copy()
        w[[k for k, is_free in enumerate(steady.free) if is_free]] += dw
        q, lam = steady.move(x.q, steady.unit * dx), x.lam + self.scale * dlam
        return self.at(steady.point(q, x.v + dv, x.z + dz, lam, x.a + da), w)

    def is_settled(self, before: _Balanced, after: _Balanced, step: DampedStep) -> bool:
        return False  # it ends where no step lowers the residual any more

    def is_rounding(self, point: _Balanced, trial: _Balanced | None, step: DampedStep) -> bool:
        return self.damping == 0.0 and point.error <= ACCEPTED


def _shortest(J: Array, residual: Array, damping: float) -> Array:
    if damping == 0.0:
        return np.asarray(-np.linalg.lstsq(J, residual, rcond=RANK)[0])
    stacked = np.vstack((J, np.sqrt(damping) * np.eye(J.shape[1])))
    return np.asarray(-np.linalg.lstsq(stacked, np.concatenate((residual, np.zeros(J.shape[1]))), rcond=None)[0])
