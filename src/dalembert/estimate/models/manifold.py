"""States of a machine on its joints: how a small error moves one, and how two of them differ.

A pose q changes in the tangent space, q ⊞ ξ: q + N ξ, and p ⊗ exp(ξ_ω) for Euler parameters. On the joints an error is

    independent   (s, w): d coordinates and as many speeds as the rows leave. x ⊞ e is the state next to x with
                      φ(q) = 0 ,  s(q) = s₀ + e_s ;     rates(q, v) = 0 ,  w(q, v) = w₀ + e_w ,
                  by Newton's method with [A_h; S] and [A; S_w], as `solve.constrained.solve` factors them;
    projection    (ξ, δv): all tangent coordinates. x ⊞ e is (q ⊞ ξ, v + δv) brought back onto the rows by the smallest
                  change in the mass metric. Its derivative is the projector, so covariances stay in the tangent space.

The slopes at e = 0 need no iteration (A_h X = 0, S X = 1; A W = 0, S_w W = 1; rates and w constant along V):

    ∂q/∂e_s = N X ,   ∂v/∂e_s = V ,   ∂v/∂e_w = W .
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.equations import Channels, EquationsOfMotion, State
from dalembert.estimate.models.coordinates import choose_coordinates
from dalembert.estimate.models.machine_rates import factor_at, still
from dalembert.expressions import Array, Expr
from dalembert.mechanics.rotations import conjugate, exponential, logarithm, multiply, rate_matrix, rotation
from dalembert.solve.position.chart import Chart
from dalembert.solve.position.tangent import Candidate, Instant, accelerations

SX = ca.SX
REFINEMENTS = 2  # redundant rows leave 3e-8 without one, 1e-15 after the first; the second leaves rounding
SPEED_PASSES = 2  # the second for the slope, and for rows that are not linear in the speeds


class Manifold(Protocol):
    """Operations on the states of a machine; all arguments and results are expressions (SX)."""

    @property
    def positions(self) -> Channels: ...

    @property
    def speeds(self) -> Channels: ...

    def retract(self, q: Expr, v: Expr, e_s: Expr, e_w: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]: ...

    def difference(self, q: Expr, v: Expr, q0: Expr, v0: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]: ...

    def move(self, q: Expr, v: Expr, e_s: Expr, e_w: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
        """ξ and δv of a small error, to first order: N ξ and δv are ∂(q, v)/∂e e."""
        ...


# ---- poses in the tangent space


@lru_cache(maxsize=1)
def turn_function() -> ca.Function:
    """(p, p₀) -> rotation vector θ in body axes with p = p₀ ⊗ exp θ, and ∂θ/∂ξ for p ⊗ exp ξ (3, 3)."""
    p, p0 = SX.sym("p", 4), SX.sym("p0", 4)
    theta = logarithm(multiply(conjugate(p0), p))
    return ca.Function("turn", [p, p0], [theta, ca.densify(ca.jacobian(theta, p) @ rate_matrix(p))], {"cse": True})


def update_turn_counters(eqs: EquationsOfMotion, q: Expr, p: Expr, t: Expr, share: Expr = 1) -> Expr:
    """q with counters of turns equal to the angles: a move of the pose leaves a small difference."""
    if not eqs.counters:
        return q
    value = eqs.functions["measures"](q, SX.zeros(eqs.nv), p, t)[0]
    q = SX(q)
    for c in eqs.counters:
        q[c.coordinate] = q[c.coordinate] + share * (value[c.measure] - q[c.coordinate])
    return q


def shift_pose(eqs: EquationsOfMotion, q: Expr, xi: Expr, p: Expr, t: Expr) -> Expr:
    """q ⊞ ξ."""
    N, _ = eqs.functions["kinematics"](q, p, t)
    moved = SX(q + N @ xi)
    for block in eqs.quaternions:
        moved[block.part] = multiply(q[block.part], exponential(xi[list(block.columns)]))
    return moved


def pose_difference(eqs: EquationsOfMotion, q: Expr, q0: Expr, p: Expr, t: Expr) -> Expr:
    """ξ with q = q₀ ⊞ ξ."""
    plain = [k for k in range(eqs.nv) if not any(k in block.columns for block in eqs.quaternions)]
    leave = {block.coordinate + i for block in eqs.quaternions for i in range(4)}
    leave |= {counter.coordinate for counter in eqs.counters}
    rows = [k for k in range(eqs.nq) if k not in leave]
    xi = SX.zeros(eqs.nv)
    N = eqs.functions["kinematics"](q0, p, t)[0][rows, plain]
    change = q[rows] - q0[rows]
    if plain:
        identity = N.sparsity().is_diag() and bool(ca.Function("N", [q0, p, t], [N])(0, 0, 0).is_eye())
        xi[plain] = change if identity else ca.solve(ca.densify(N.T @ N), N.T @ change)
    for block in eqs.quaternions:
        xi[list(block.columns)] = turn_function()(q[block.part], q0[block.part])[0]
    return xi


# ---- all tangent coordinates


@dataclass(frozen=True, eq=False)
class Tangent:
    """Errors in all tangent coordinates; after each move the state is projected onto the joints (if there are any)."""

    eqs: EquationsOfMotion
    newton_steps: int

    @property
    def positions(self) -> Channels:
        eqs = self.eqs
        names, units = [""] * eqs.nv, [""] * eqs.nv
        sparsity = eqs.functions["kinematics"].sparsity_out(0)
        skip = {counter.coordinate for counter in eqs.counters}
        for row, column in zip(sparsity.row(), sparsity.get_col(), strict=True):
            if row not in skip and not names[column]:
                names[column], units[column] = eqs.coordinates.names[row], eqs.coordinates.units[row]
        for block in eqs.quaternions:
            for axis, k in zip("xyz", block.columns, strict=True):
                names[k], units[k] = f"{block.owner}.r{axis}", "rad"
        return Channels(names, units)

    @property
    def speeds(self) -> Channels:
        return self.eqs.speeds

    def retract(self, q: Expr, v: Expr, e_s: Expr, e_w: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
        eqs = self.eqs
        xi, dv = self.move(q, v, e_s, e_w, p, t)
        q, v = shift_pose(eqs, q, xi, p, t), v + dv
        if not eqs.rows:
            return update_turn_counters(eqs, q, p, t), v
        going = is_going(e_s, e_w)
        for _ in range(self.newton_steps):
            gap = SX.zeros(len(eqs.rows))
            gap[eqs.holonomic_rows] = eqs.functions["position"](q, p, t)
            factor = factor_at(eqs, _rows(eqs, still(q), still(v), p, t), still(q), p, t)
            q = shift_pose(eqs, q, going * factor.correction(gap), p, t)
        slip = SX.zeros(len(eqs.rows))
        for _ in range(SPEED_PASSES):
            slip[eqs.rate_rows] = eqs.functions["rates"](q, v, p, t)
            factor = factor_at(eqs, _rows(eqs, still(q), still(v) if not _linear(eqs) else v * 0, p, t), still(q), p, t)
            v = v + going * factor.correction(slip)
        return update_turn_counters(eqs, q, p, t, going), v

    def difference(self, q: Expr, v: Expr, q0: Expr, v0: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
        return pose_difference(self.eqs, q, q0, p, t), v - v0

    def move(self, q: Expr, v: Expr, e_s: Expr, e_w: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
        eqs = self.eqs
        if not eqs.rows:
            return e_s, e_w
        A = _rows(eqs, q, v, p, t)
        factor = factor_at(eqs, A, q, p, t)
        gap = SX.zeros(len(eqs.rows))
        gap[eqs.holonomic_rows] = A[eqs.holonomic_rows, :] @ e_s
        xi = e_s + factor.correction(gap, REFINEMENTS)
        slip = SX.zeros(len(eqs.rows))
        slip[eqs.rate_rows] = _along(eqs, eqs.functions["rates"], (q, v, p, t), xi) + A[eqs.rate_rows, :] @ e_w
        return xi, e_w + factor.correction(slip, REFINEMENTS)


# ---- independent coordinates


@dataclass(frozen=True, eq=False)
class Independent:
    """Errors in independent coordinates s and speeds w, chosen by a `Chart`."""

    eqs: EquationsOfMotion
    chosen: tuple[Candidate, ...]
    moving: tuple[Candidate, ...]
    newton_steps: int

    @property
    def positions(self) -> Channels:
        return Channels([c.name for c in self.chosen], [c.unit for c in self.chosen])

    @property
    def speeds(self) -> Channels:
        names = [self._speed(c) for c in self.moving]
        return Channels([n for n, _ in names], [u for _, u in names])

    def _speed(self, c: Candidate) -> tuple[str, str]:
        if c.kind == "body turn":
            channels, k = (
                (self.eqs.speeds, c.columns[c.index]) if c.columns else (self.eqs.measure_rates, c.turns + c.index)
            )
            return channels.names[k], channels.units[k]
        return (f"{c.name}.speed", "rad/s") if c.kind == "world turn" else (c.rate_name, c.rate_unit)

    def _values(self, q: Expr, q0: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
        """s(q) - s(q₀) and its rows S."""
        eqs = self.eqs
        still = SX.zeros(eqs.nv)
        value, _, S, _ = eqs.functions["measures"](q, still, p, t)
        before = eqs.functions["measures"](q0, still, p, t)[0]
        values, rows = [], []
        for c in self.chosen:
            if c.kind == "measure":
                values.append(value[c.index] - before[c.index])
                rows.append(S[c.index, :])
                continue
            now, then = (x[c.start : c.start + 4] for x in ((q, q0) if c.columns else (value, before)))
            theta, slope = turn_function()(now, then)
            if c.kind == "world turn":
                R = rotation(then)
                theta, slope = R @ theta, R @ slope
            values.append(theta[c.index])
            rows.append(slope[c.index, :] @ self._turns(c, S))
        return _stack(values), _stack(rows, eqs.nv)

    def _speeds(self, q: Expr, v: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
        """w(q, v) and its rows."""
        eqs = self.eqs
        value, rate, S, _ = eqs.functions["measures"](q, v, p, t)
        values, rows = [], []
        for c in self.moving:
            if c.kind == "measure":
                values.append(rate[c.index])
                rows.append(S[c.index, :])
                continue
            if c.kind == "speed":
                row = SX(1, eqs.nv)
                row[0, c.index] = 1
            else:
                turned = (
                    rotation((q if c.columns else value)[c.start : c.start + 4])
                    if c.kind == "world turn"
                    else SX.eye(3)
                )
                row = turned[c.index, :] @ self._turns(c, S)
            values.append(row @ v)
            rows.append(row)
        return _stack(values), _stack(rows, eqs.nv)

    def _turns(self, c: Candidate, S: Expr) -> Expr:
        """ω of the body of a turn by the speeds: entries of v, or rates of the measures of a body that joints carry."""
        if not c.columns:
            return S[c.turns : c.turns + 3, :]
        rows = SX(3, self.eqs.nv)
        rows[:, list(c.columns)] = SX.eye(3)
        return rows

    def retract(self, q: Expr, v: Expr, e_s: Expr, e_w: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
        q0, v0, w0 = q, v, self._speeds(q, v, p, t)[0]
        q, v, going = self._first(q, v, e_s, e_w, p, t)
        for _ in range(self.newton_steps):
            q = self._next_pose(q, v, q0, e_s, going, p, t)
        for _ in range(SPEED_PASSES):
            v = self._next_speeds(q, v, w0, e_w, going, p, t)
        return self._last(q, v, q0, v0, e_s, e_w, going, p, t)

    def retract_in_parts(self, symbols: dict[str, Any]) -> tuple[Any, Any]:
        """The same in calls of one function for each kind of step, which is compiled once: for large machines."""
        s, copies = symbols, {name: SX.sym(name, x.shape[0]) for name, x in symbols.items()}
        q, v, q0, v0, e_s, e_w, p, t = (copies[name] for name in ("q", "v", "q0", "v0", "e_s", "e_w", "p", "t"))
        w0, going = SX.sym("w0", len(self.moving)), SX.sym("going")

        def part(name: str, inputs: list[Any], outputs: tuple[Any, ...]) -> ca.Function:
            return ca.Function(name, inputs, [ca.densify(x) for x in outputs])

        speeds = self._speeds(q, v, p, t)[0]
        begin = part("begin", [q, v, e_s, e_w, p, t], (*self._first(q, v, e_s, e_w, p, t), speeds))
        pose = [q, v, q0, e_s, going, p, t]
        speed = [q, v, w0, e_w, going, p, t]
        end = [q, v, q0, v0, e_s, e_w, going, p, t]
        next_pose = part("next_pose", pose, (self._next_pose(*pose),))
        next_speeds = part("next_speeds", speed, (self._next_speeds(*speed),))
        last = part("last", end, self._last(*end))
        q1, v1, moving, w = begin(s["q"], s["v"], s["e_s"], s["e_w"], s["p"], s["t"])
        for _ in range(self.newton_steps):
            q1 = next_pose(q1, v1, s["q"], s["e_s"], moving, s["p"], s["t"])
        for _ in range(SPEED_PASSES):
            v1 = next_speeds(q1, v1, w, s["e_w"], moving, s["p"], s["t"])
        return last(q1, v1, s["q"], s["v"], s["e_s"], s["e_w"], moving, s["p"], s["t"])  # type: ignore[no-any-return]

    def _first(self, q: Expr, v: Expr, e_s: Expr, e_w: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        """A move along the tangent, and whether there is a move at all."""
        xi, dv = self.move(q, v, e_s, e_w, p, t)
        return shift_pose(self.eqs, q, xi, p, t), v + dv, is_going(e_s, e_w)

    def _next_pose(self, q: Expr, v: Expr, q0: Expr, e_s: Expr, going: Expr, p: Expr, t: Expr) -> Expr:
        """A Newton step to the pose with closed joints and s = s₀ + e_s."""
        eqs = self.eqs
        q = update_turn_counters(eqs, q, p, t, going)
        gap = ca.vertcat(eqs.functions["position"](q, p, t), self._values(q, q0, p, t)[0] - e_s)
        S = self._values(still(q), q0, p, t)[1]
        A = _rows(eqs, still(q), still(v), p, t)[eqs.holonomic_rows, :]
        factor = factor_at(eqs, ca.vertcat(A, S), still(q), p, t)
        return shift_pose(eqs, q, going * factor.correction(gap), p, t)

    def _next_speeds(self, q: Expr, v: Expr, w0: Expr, e_w: Expr, going: Expr, p: Expr, t: Expr) -> Expr:
        """A Newton step to the speeds on the rows with w = w₀ + e_w."""
        eqs = self.eqs
        S = self._speeds(still(q), still(v), p, t)[1]
        A = _rows(eqs, still(q), still(v) if not _linear(eqs) else v * 0, p, t)[eqs.rate_rows, :]
        factor = factor_at(eqs, ca.vertcat(A, S), still(q), p, t)
        slip = ca.vertcat(eqs.functions["rates"](q, v, p, t), self._speeds(q, v, p, t)[0] - w0 - e_w)
        return v + going * factor.correction(slip)

    def _last(
        self, q: Expr, v: Expr, q0: Expr, v0: Expr, e_s: Expr, e_w: Expr, going: Expr, p: Expr, t: Expr
    ) -> tuple[Expr, Expr]:
        return self._write_entries((q0, v0), (update_turn_counters(self.eqs, q, p, t, going), v), e_s, e_w)

    def _write_entries(self, start: tuple[Any, Any], moved: tuple[Any, Any], e_s: Expr, e_w: Expr) -> tuple[Expr, Expr]:
        """The moved state, with entries of q and v that the error alone decides written so.

        Newton's method has brought them there but for rounding; in this form x ⊞ e ⊟ x₁ is seen to be e + constant.
        """
        result = []
        for shares, before, after, e in zip(self._shares(), start, moved, (e_s, e_w), strict=True):
            after = SX(after)
            for place, share in shares.items():
                after[place] = before[place] + ca.sparsify(ca.DM(share)).T @ e
            result.append(after)
        return result[0], result[1]

    def _shares(self) -> tuple[dict[int, Array], dict[int, Array]]:
        """Entries of q and of v that change with the error alone, however the joints are: by which share of it.

        Coordinates such as angles between bodies in the plane are sums of entries; each determines one of the remaining
        entries.
        """
        s = self.eqs.symbols()
        value, rate, _, _ = self.eqs.functions["measures"](s.q, s.v, s.p, s.t)
        arguments = ca.vertcat(s.q, s.v, s.p, s.t)
        factors: tuple[dict[int, Array], dict[int, Array]] = ({}, {})
        kinds = zip((value, rate), (0, self.eqs.nq), (self.chosen, self.moving), factors, strict=True)
        for expressions, first, candidates, shares in kinds:
            rows = {}
            for k, c in enumerate(candidates):
                slope = ca.jacobian(expressions[c.index], arguments) if c.kind == "measure" else SX(0, 0)
                if slope.nnz() and slope.is_constant():
                    places = [j - first for j in slope.sparsity().get_col()]
                    rows[k] = dict(zip(places, map(float, slope.nonzeros()), strict=True))
            while rows:
                ready = [k for k, row in rows.items() if sum(j not in shares for j in row) == 1]
                if not ready:
                    break
                row = rows.pop(ready[0])
                (place,) = (j for j in row if j not in shares)
                share = np.eye(len(candidates))[ready[0]] - sum(c * shares[j] for j, c in row.items() if j != place)
                shares[place] = np.asarray(share / row[place])
        return factors

    def difference(self, q: Expr, v: Expr, q0: Expr, v0: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
        return self._values(q, q0, p, t)[0], self._speeds(q, v, p, t)[0] - self._speeds(q0, v0, p, t)[0]

    def move(self, q: Expr, v: Expr, e_s: Expr, e_w: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
        pose, speeds = self._responses(q, v, q, p, t)
        xi = pose(e_s)
        return xi, speeds(xi, e_w)

    def slopes(self, q: Expr, v: Expr, q0: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
        """∂q/∂e (nq, ne) and ∂v/∂e (nv, ne) of x₀ ⊞ e, at the e that makes it (q, v)."""
        eqs, ns, nw = self.eqs, len(self.chosen), len(self.moving)
        pose, speeds = self._responses(q, v, q0, p, t)
        N, _ = eqs.functions["kinematics"](q, p, t)
        poses = [pose(SX.eye(ns)[:, k]) for k in range(ns)]
        changes = [speeds(xi, SX(nw, 1)) for xi in poses] + [speeds(None, SX.eye(nw)[:, k]) for k in range(nw)]
        slopes = [ca.horzcat(*(N @ xi for xi in poses), SX(eqs.nq, nw)), ca.horzcat(*changes)]
        for slope, shares, first, count in zip(slopes, self._shares(), (0, ns), (ns, nw), strict=True):
            for place, share in shares.items():  # as `_write_entries` has it
                slope[place, :] = SX(1, ns + nw)
                slope[place, first : first + count] = ca.sparsify(ca.DM(share)).T
        return slopes[0], slopes[1]

    def _responses(self, q: Expr, v: Expr, q0: Expr, p: Expr, t: Expr) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """e_s -> ξ and (ξ or None for zero, e_w) -> δv of a small error about (q₀, ·), each with its factor."""
        eqs = self.eqs
        rows = _rows(eqs, q, v, p, t)
        A, S = rows[eqs.holonomic_rows, :], self._values(q, q0, p, t)[1]
        holding = factor_at(eqs, ca.vertcat(A, S), q, p, t)
        s = eqs.symbols()
        rates = ca.vertcat(eqs.functions["rates"](s.q, s.v, s.p, s.t), self._speeds(s.q, s.v, s.p, s.t)[0])
        both = ca.Function("rates", [s.q, s.v, s.p, s.t], [rates])
        A_w, S_w = rows[eqs.rate_rows, :], self._speeds(q, v, p, t)[1]
        steering = factor_at(eqs, ca.vertcat(A_w, S_w), q, p, t)

        def pose(e_s: Expr) -> Expr:
            return holding.correction(ca.vertcat(SX.zeros(A.shape[0]), -e_s), REFINEMENTS)

        def speeds(xi: Expr, e_w: Expr) -> Expr:
            wanted = ca.vertcat(SX.zeros(A_w.shape[0]), -e_w)
            if xi is not None:
                wanted = _along(eqs, both, (q, v, p, t), xi) + wanted
            return steering.correction(wanted, REFINEMENTS)

        return pose, speeds


def independent(eqs: EquationsOfMotion, at: State, named: list[str] | None, newton_steps: int) -> Independent:
    """The chart of `da.linearize` at a state, kept for all others; coordinates that last where none are named."""
    point = accelerations(eqs, Instant(at.q, at.v, at.z, np.zeros(eqs.nu), at.t, np.zeros(eqs.nv), at.lam))
    chart = Chart(eqs, point, named, world=False)
    if named is None and chart.positions:
        chart = Chart(eqs, point, choose_coordinates(eqs, chart), world=False)
    if any(c.kind == "speed" for c in chart.positions):
        problem = f"{eqs.name!r} has no independent coordinates with names."
        raise ModelError("not-supported", problem, Advice("Use {}.", Argument("closing", "projection")))
    return Independent(eqs, tuple(chart.positions), tuple(chart.speeds), newton_steps)


# ---- pieces


def _linear(eqs: EquationsOfMotion) -> bool:
    """Whether the rows of the joints do not depend on the speeds."""
    return bool(eqs.functions["rows"].jac_sparsity(0, 1).nnz() == 0)


def _stack(parts: list[Any], width: int = 1) -> Any:
    return ca.vertcat(*parts) if parts else SX(0, width)


def _rows(eqs: EquationsOfMotion, q: Expr, v: Expr, p: Expr, t: Expr) -> Expr:
    return eqs.functions["rows"](q, v, SX.zeros(eqs.nz), SX.zeros(eqs.nu), p, t)[0]


def _along(eqs: EquationsOfMotion, function: ca.Function, at: tuple[Any, ...], xi: Expr) -> Expr:
    """Change of a function (q, v, p, t) with the pose, along N ξ."""
    symbols = [SX.sym(function.name_in(i), function.size1_in(i)) for i in range(4)]
    direction = SX.sym("dq", eqs.nq)
    slope = ca.Function("slope", [*symbols, direction], [ca.jtimes(function(*symbols), symbols[0], direction)])
    return slope(*at, eqs.functions["kinematics"](at[0], at[2], at[3])[0] @ xi)


def is_going(e_s: Expr, e_w: Expr) -> Expr:
    """1, and 0 where the error is zero: there a move is nothing but its slope, and all else folds away."""
    return ca.sumsqr(ca.vertcat(e_s, e_w)) > 0
