"""States of a machine on its joints: how a small error moves one, and how two of them differ.

A pose q changes in the tangent space, q ⊞ ξ: q + N ξ, and p ⊗ exp(ξ_ω) for Euler parameters. On the joints an error is

    independent   (s, w): d coordinates and as many speeds as the rows leave. x ⊞ e is the state next to x with
                      φ(q) = 0 ,  s(q) = s₀ + e_s ;     rates(q, v) = 0 ,  w(q, v) = w₀ + e_w ,
                  by Newton's method with [A_h; S] and [A; S_w], as `solve.constrained` factors them;
    projection    (ξ, δv): all tangent coordinates. x ⊞ e is (q ⊞ ξ, v + δv) brought back onto the rows by the smallest
                  change in the mass metric. Its derivative is the projector, so covariances stay in the tangent space.

The slopes at e = 0 need no iteration (A_h X = 0, S X = 1; A W = 0, S_w W = 1; rates and w constant along V):

    ∂q/∂e_s = N X ,   ∂v/∂e_s = V ,   ∂v/∂e_w = W .
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

import casadi as ca
import numpy as np

from dalembert.equations import Channels, EquationsOfMotion, State
from dalembert.errors import ModelError
from dalembert.mechanics.rotations import exponential, multiply, rate_matrix, rotation
from dalembert.solve.chart import Chart
from dalembert.solve.constrained import Factor, closed, mass_is_singular
from dalembert.solve.tangent import (
    Candidate,
    Point,
    accelerations,
    choose,
    measure_candidate,
    split,
    turn_candidates,
    turn_columns,
)

SX = ca.SX
REFINEMENTS = 2
LIVELY = 0.3  # share of a coordinate's gradient in the motions that the joints allow
SPEED_PASSES = 3  # of rows that are not linear in the speeds


class Manifold(Protocol):
    """What a process of a machine needs of its states; all arguments and results are expressions (SX)."""

    @property
    def positions(self) -> Channels: ...

    @property
    def speeds(self) -> Channels: ...

    def retract(self, q: Any, v: Any, e_s: Any, e_w: Any, p: Any, t: Any) -> tuple[Any, Any]: ...

    def difference(self, q: Any, v: Any, q0: Any, v0: Any, p: Any, t: Any) -> tuple[Any, Any]: ...

    def tangent(self, q: Any, v: Any, p: Any, t: Any) -> tuple[Any, Any, Any]:
        """∂q/∂e_s (nq, ns), ∂v/∂e_s (nv, ns), ∂v/∂e_w (nv, nw) at e = 0."""
        ...


# ---- poses in the tangent space


def turned(p: Any) -> Any:
    """Rotation vector of unit Euler parameters, the shorter way round; smooth through zero."""
    sign = ca.if_else(p[0] < 0, -1, 1)
    w, x = sign * p[0], sign * p[1:4]
    square = ca.dot(x, x)
    small = square < 1e-8
    size = ca.sqrt(ca.if_else(small, 1, square))
    return ca.if_else(small, (2 - 2 / 3 * square / (w * w)) / w, 2 * ca.atan2(size, w) / size) * x


@lru_cache(maxsize=1)
def turn_function() -> ca.Function:
    """(p, p₀) -> rotation vector θ in body axes with p = p₀ ⊗ exp θ, and ∂θ/∂ξ for p ⊗ exp ξ (3, 3)."""
    p, p0 = SX.sym("p", 4), SX.sym("p0", 4)
    theta = turned(multiply(ca.vertcat(p0[0], -p0[1:4]), p))
    return ca.Function("turn", [p, p0], [theta, ca.densify(ca.jacobian(theta, p) @ rate_matrix(p))], {"cse": True})


def counters(eqs: EquationsOfMotion) -> list[tuple[int, int]]:
    """(coordinate, measure) of every angle in space that has a counter of its turns."""
    names = [(k, name) for k, name in enumerate(eqs.coordinates.names) if name.endswith(".turned")]
    return [(k, eqs.measures.index[name.removesuffix(".turned")]) for k, name in names]


def settled(eqs: EquationsOfMotion, q: Any, p: Any, t: Any) -> Any:
    """q whose counters of turns hold the angles themselves: what moves a pose leaves them off by a little."""
    pairs = counters(eqs)
    if not pairs:
        return q
    value = eqs.functions["measures"](q, SX.zeros(eqs.nv), p, t)[0]
    q = SX(q)
    for coordinate, measure in pairs:
        q[coordinate] = value[measure]
    return q


def shifted(eqs: EquationsOfMotion, q: Any, xi: Any, p: Any, t: Any) -> Any:
    """q ⊞ ξ."""
    N, _ = eqs.functions["kinematics"](q, p, t)
    moved = SX(q + N @ xi)
    for _, start, columns in turn_columns(eqs):
        moved[start : start + 4] = multiply(q[start : start + 4], exponential(xi[list(columns)]))
    return moved


def apart(eqs: EquationsOfMotion, q: Any, q0: Any, p: Any, t: Any) -> Any:
    """ξ with q = q₀ ⊞ ξ."""
    turns = turn_columns(eqs)
    plain = [k for k in range(eqs.nv) if not any(k in columns for *_, columns in turns)]
    leave = {start + i for _, start, _ in turns for i in range(4)} | {k for k, _ in counters(eqs)}
    rows = [k for k in range(eqs.nq) if k not in leave]
    xi = SX.zeros(eqs.nv)
    N = eqs.functions["kinematics"](q0, p, t)[0][rows, plain]
    change = q[rows] - q0[rows]
    if plain:
        identity = N.sparsity().is_diag() and bool(ca.Function("N", [q0, p, t], [N])(0, 0, 0).is_eye())
        xi[plain] = change if identity else ca.solve(ca.densify(N.T @ N), N.T @ change)
    for _, start, columns in turns:
        xi[list(columns)] = turn_function()(q[start : start + 4], q0[start : start + 4])[0]
    return xi


# ---- all tangent coordinates


@dataclass(frozen=True, eq=False)
class Tangent:
    """Errors in all tangent coordinates; after each move the state is projected onto the joints (if there are any)."""

    eqs: EquationsOfMotion
    iterations: int

    @property
    def positions(self) -> Channels:
        eqs = self.eqs
        names, units = [""] * eqs.nv, [""] * eqs.nv
        sparsity = eqs.functions["kinematics"].sparsity_out(0)
        skip = {k for k, _ in counters(eqs)}
        for row, column in zip(sparsity.row(), sparsity.get_col(), strict=True):
            if row not in skip and not names[column]:
                names[column], units[column] = eqs.coordinates.names[row], eqs.coordinates.units[row]
        for body, _, columns in turn_columns(eqs):
            for axis, k in zip("xyz", columns, strict=True):
                names[k], units[k] = f"{body}.r{axis}", "rad"
        return Channels(names, units)

    @property
    def speeds(self) -> Channels:
        return self.eqs.speeds

    def retract(self, q: Any, v: Any, e_s: Any, e_w: Any, p: Any, t: Any) -> tuple[Any, Any]:
        eqs = self.eqs
        moved, v = shifted(eqs, q, e_s, p, t), v + e_w
        if eqs.rows:
            none = SX.zeros(eqs.nz), SX.zeros(eqs.nu)
            for _ in range((self.iterations + 1) // 2):  # two corrections per factor
                moved = closed(eqs, replace(eqs.symbols(), q=moved, v=v, p=p, t=t), None, 2)
            for _ in range(1 if _linear(eqs) else SPEED_PASSES):
                A, _ = eqs.functions["rows"](moved, v, *none, p, t)
                slip = SX.zeros(len(eqs.rows))
                slip[eqs.rate_rows] = eqs.functions["rates"](moved, v, p, t)
                v = v + _factor(eqs, moved, A, p, t).correction(slip, REFINEMENTS)
        return settled(eqs, moved, p, t), v

    def difference(self, q: Any, v: Any, q0: Any, v0: Any, p: Any, t: Any) -> tuple[Any, Any]:
        return apart(self.eqs, q, q0, p, t), v - v0

    def tangent(self, q: Any, v: Any, p: Any, t: Any) -> tuple[Any, Any, Any]:
        eqs = self.eqs
        N, _ = eqs.functions["kinematics"](q, p, t)
        eye = SX.eye(eqs.nv)
        if not eqs.rows:
            return N, SX(eqs.nv, eqs.nv), eye
        A, _ = eqs.functions["rows"](q, v, SX.zeros(eqs.nz), SX.zeros(eqs.nu), p, t)
        factor = _factor(eqs, q, A, p, t)
        held = SX(len(eqs.rows), eqs.nv)
        held[eqs.holonomic_rows, :] = A[eqs.holonomic_rows, :]
        X = eye + _columns(factor, held)
        slip = SX(len(eqs.rows), eqs.nv)
        slip[eqs.rate_rows, :] = _along(eqs.functions["rates"], (q, v, p, t), N @ X)
        held[eqs.rate_rows, :] = A[eqs.rate_rows, :]
        return N @ X, _columns(factor, slip), eye + _columns(factor, held)


# ---- independent coordinates


@dataclass(frozen=True, eq=False)
class Independent:
    """Errors in independent coordinates s and speeds w, chosen by a `Chart`."""

    eqs: EquationsOfMotion
    chosen: tuple[Candidate, ...]
    moving: tuple[Candidate, ...]
    iterations: int

    @property
    def positions(self) -> Channels:
        return Channels([c.name for c in self.chosen], [c.unit for c in self.chosen])

    @property
    def speeds(self) -> Channels:
        names = [self._speed(c) for c in self.moving]
        return Channels([n for n, _ in names], [u for _, u in names])

    def _speed(self, c: Candidate) -> tuple[str, str]:
        if c.kind == "body turn":
            k = c.columns[c.index]
            return self.eqs.speeds.names[k], self.eqs.speeds.units[k]
        return (f"{c.name}.speed", "rad/s") if c.kind == "world turn" else (c.rate_name, c.rate_unit)

    def _values(self, q: Any, q0: Any, p: Any, t: Any) -> tuple[Any, Any]:
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
            theta, slope = turn_function()(q[c.start : c.start + 4], q0[c.start : c.start + 4])
            if c.kind == "world turn":
                R = rotation(q0[c.start : c.start + 4])
                theta, slope = R @ theta, R @ slope
            values.append(theta[c.index])
            row = SX(1, eqs.nv)
            row[0, list(c.columns)] = slope[c.index, :]
            rows.append(row)
        return _stack(values), _stack(rows, eqs.nv)

    def _speeds(self, q: Any, v: Any, p: Any, t: Any) -> tuple[Any, Any]:
        """w(q, v) and its rows."""
        eqs = self.eqs
        _, rate, S, _ = eqs.functions["measures"](q, v, p, t)
        values, rows = [], []
        for c in self.moving:
            if c.kind == "measure":
                values.append(rate[c.index])
                rows.append(S[c.index, :])
                continue
            row = SX(1, eqs.nv)
            if c.kind == "world turn":
                row[0, list(c.columns)] = rotation(q[c.start : c.start + 4])[c.index, :]
            else:
                row[0, c.index if c.kind == "speed" else c.columns[c.index]] = 1
            values.append(row @ v)
            rows.append(row)
        return _stack(values), _stack(rows, eqs.nv)

    def _rows(self, q: Any, v: Any, p: Any, t: Any) -> Any:
        return self.eqs.functions["rows"](q, v, SX.zeros(self.eqs.nz), SX.zeros(self.eqs.nu), p, t)[0]

    def retract(self, q: Any, v: Any, e_s: Any, e_w: Any, p: Any, t: Any) -> tuple[Any, Any]:
        eqs, F = self.eqs, self.eqs.functions
        w0, _ = self._speeds(q, v, p, t)
        q0 = q
        for _ in range(self.iterations):
            value, S = self._values(q, q0, p, t)
            A = self._rows(q, SX.zeros(eqs.nv), p, t)[eqs.holonomic_rows, :]
            factor = _factor(eqs, q, ca.vertcat(A, S), p, t)
            gap = ca.vertcat(F["position"](q, p, t), value - e_s)
            q = settled(eqs, shifted(eqs, q, factor.correction(gap), p, t), p, t)
        for _ in range(1 if _linear(eqs) else SPEED_PASSES):
            w, S = self._speeds(q, v, p, t)
            A = self._rows(q, v, p, t)[eqs.rate_rows, :]
            factor = _factor(eqs, q, ca.vertcat(A, S), p, t)
            v = v + factor.correction(ca.vertcat(F["rates"](q, v, p, t), w - w0 - e_w), REFINEMENTS)
        return q, v

    def difference(self, q: Any, v: Any, q0: Any, v0: Any, p: Any, t: Any) -> tuple[Any, Any]:
        return self._values(q, q0, p, t)[0], self._speeds(q, v, p, t)[0] - self._speeds(q0, v0, p, t)[0]

    def tangent(self, q: Any, v: Any, p: Any, t: Any) -> tuple[Any, Any, Any]:
        eqs = self.eqs
        ns, nw = len(self.chosen), len(self.moving)
        N, _ = eqs.functions["kinematics"](q, p, t)
        rows = self._rows(q, v, p, t)
        S, Sw = self._values(q, q, p, t)[1], self._speeds(q, v, p, t)[1]
        A = rows[eqs.holonomic_rows, :]
        X = _columns(_factor(eqs, q, ca.vertcat(A, S), p, t), ca.vertcat(SX(A.shape[0], ns), -SX.eye(ns)))
        A = rows[eqs.rate_rows, :]
        factor = _factor(eqs, q, ca.vertcat(A, Sw), p, t)
        W = _columns(factor, ca.vertcat(SX(A.shape[0], nw), -SX.eye(nw)))
        s = eqs.symbols()
        w = ca.vertcat(eqs.functions["rates"](s.q, s.v, s.p, s.t), self._speeds(s.q, s.v, s.p, s.t)[0])
        both = ca.Function("rates", [s.q, s.v, s.p, s.t], [w])
        return N @ X, _columns(factor, _along(both, (q, v, p, t), N @ X)), W


def independent(eqs: EquationsOfMotion, at: State, named: list[str] | None, iterations: int) -> Independent:
    """The chart of `da.linearize` at a state, kept for all others; coordinates that hardly move there come last."""
    point = accelerations(eqs, Point(at.q, at.v, at.z, np.zeros(eqs.nu), at.t, np.zeros(eqs.nv), at.lam))
    chart = Chart(eqs, point, named, world=False)
    if named is None and chart.positions:
        chart = Chart(eqs, point, _lively(eqs, chart), world=False)
    if any(c.kind == "speed" for c in chart.positions):
        raise ModelError(f"no coordinates of {eqs.name!r} have names a filter could use; say closing='projection'.")
    return Independent(eqs, tuple(chart.positions), tuple(chart.speeds), iterations)


def _lively(eqs: EquationsOfMotion, chart: Chart) -> list[str]:
    """Independent coordinates that take a good part in the motions of the joints: joints first, then bodies.

    The height of a nearly upright wheel would do at this state, but not at the next one.
    """
    T, x = chart.T, chart.x
    Z = split(T.A[eqs.holonomic_rows])[4]
    measures = [measure_candidate(eqs, k) for k in range(len(eqs.measures))]
    joints = [measures[k] for k in eqs.recorded_measures]
    groups = [joints, [c for c in measures if c not in joints], *turn_candidates(eqs, x.v, world=False)]

    def share(c: Candidate) -> float:
        row = c.rows(T, x)[0]
        return float(np.linalg.norm(row @ Z)) / max(float(np.linalg.norm(row)), 1e-300)

    lively = [[c for c in group if share(c) >= LIVELY] for group in groups]
    return [c.name for c in choose(Z, [*lively, *groups], T, x)]


# ---- pieces


def _linear(eqs: EquationsOfMotion) -> bool:
    """Whether the rows of the joints do not depend on the speeds."""
    return bool(eqs.functions["rows"].jac_sparsity(0, 1).nnz() == 0)


def _stack(parts: list[Any], width: int = 1) -> Any:
    return ca.vertcat(*parts) if parts else SX(0, width)


def _factor(eqs: EquationsOfMotion, q: Any, rows: Any, p: Any, t: Any) -> Factor:
    return Factor(eqs.functions["inertia"](q, p, t), ca.sparsify(rows), singular_mass=mass_is_singular(eqs))


def _columns(factor: Factor, right: Any) -> Any:
    """The correction for every column of a right-hand side."""
    columns = [factor.correction(ca.densify(right[:, k]), REFINEMENTS) for k in range(right.shape[1])]
    return ca.horzcat(*columns) if columns else SX(factor.nv, 0)


def _along(function: ca.Function, at: tuple[Any, ...], dq: Any) -> Any:
    """∂ function/∂q dq, one column per direction."""
    symbols = [SX.sym(function.name_in(i), function.size1_in(i)) for i in range(function.n_in())]
    directions = SX.sym("dq", dq.shape[0], dq.shape[1])
    if dq.shape[1] == 0:
        return SX(function.size1_out(0), 0)
    slope = ca.jtimes(function(*symbols), symbols[0], directions)
    return ca.Function("slope", [*symbols, directions], [slope])(*at, dq)
