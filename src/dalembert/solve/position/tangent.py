"""Exact derivatives of the equations at one state, and the choice of independent coordinates there.

Changes of position are taken in the tangent space, δq = N δξ, so Euler parameters need no rows of their own. With the
accelerations a and multipliers λ of the state,

    R₁ = M a - f - Aᵀ λ ,   R₂ = A a - b ,   ṡ = S v + … ,   s̈ = S a + bias ,

and `Terms` holds their derivatives. A small turn δθ of a body away from its (perhaps turning) reference pose, in body
axes or in world axes, serves as a coordinate where nothing has a name (R₀ the reference's rotation, ω its rate):

    body axes   s = δθ ,     ṡ = δω - ω × δθ ,   s̈ = δα - α × δθ - ω × ṡ
    world axes  s = R₀ δθ ,  ṡ = R₀ δω ,         s̈ = R₀ (δα + ω × δω)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import real_number, take_names
from dalembert.core.errors import ConvergenceError, ModelError, require_name, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel
from dalembert.model.orientation import entries
from dalembert.numerics import ties
from dalembert.solve.constrained.matrices import NO_MASS
from dalembert.solve.constrained.solve import build_function

# Singular value of rows of unit length, relative to the largest, up to which they depend on each other: joints are
# closed to 1e-12, which moves the rows by as much, and a thousand rows add up.
RANK = 1e-9
LIGHT = 1e-6  # root of an inertia over the largest one, up to which a speed counts as one without
CLEAR, POSSIBLE = 1e-2, 1e-7  # least independent part of a coordinate beside those chosen before: at first, and at last


@dataclass(frozen=True)
class Terms:
    """Values and derivatives at one state; suffix x: by ξ, v: by v, z: by z, u: by u, lam: by λ."""

    M: Array
    A: Array
    f: Array
    f_lam: Array
    R1: Array
    R1_x: Array
    R1_v: Array
    R1_z: Array
    R1_u: Array
    R2: Array
    R2_x: Array
    R2_v: Array
    R2_z: Array
    R2_u: Array
    phi: Array
    rates: Array
    rates_x: Array
    s: Array
    s_rate: Array
    s_rate_x: Array
    S: Array
    s_acc: Array
    s_acc_x: Array
    s_acc_v: Array
    g: Array
    g_x: Array
    g_v: Array
    g_z: Array
    g_u: Array
    g_lam: Array


@dataclass(frozen=True)
class Instant:
    """All the numbers of one instant."""

    q: Array
    v: Array
    z: Array
    u: Array
    t: float
    a: Array
    lam: Array


def terms(eqs: EquationsOfMotion, x: Instant) -> Terms:
    """Derivatives of everything at one instant (dense)."""
    kernel = eqs.cache("tangent terms", lambda: _terms_kernel(eqs))
    values = kernel(x.q, x.v, x.z, x.u, eqs.p, x.t, x.a, x.lam)
    shaped = [value.reshape(shape) for value, shape in zip(values, eqs.cache("tangent shapes", list), strict=True)]
    return Terms(*shaped)


def terms_together(eqs: EquationsOfMotion, points: Sequence[Instant], p: Array) -> list[Terms]:
    """`terms` at many instants, each with parameters of its own.  p : (n, parameters)."""
    kernel = eqs.cache("tangent terms", lambda: _terms_kernel(eqs))
    q, v, z, u, a, lam = (np.stack([getattr(x, part) for x in points]) for part in ("q", "v", "z", "u", "a", "lam"))
    values = kernel.many(q, v, z, u, p, np.array([[x.t] for x in points]), a, lam)
    shapes = eqs.cache("tangent shapes", list)
    return [Terms(*[v[k].reshape(shape) for v, shape in zip(values, shapes, strict=True)]) for k in range(len(points))]


def _terms_kernel(eqs: EquationsOfMotion) -> Kernel:
    s = eqs.symbols()
    F = eqs.functions
    jac = ca.jacobian
    N, _ = F["kinematics"](s.q, s.p, s.t)
    M = F["inertia"](s.q, s.p, s.t)
    A, b = F["rows"](s.q, s.v, s.z, s.u, s.p, s.t)
    f = F["forces"](s.q, s.v, s.z, s.u, s.p, s.t, s.lam)
    R1 = M @ s.a - f - A.T @ s.lam
    R2 = A @ s.a - b
    phi = F["position"](s.q, s.p, s.t)
    rates = F["rates"](s.q, s.v, s.p, s.t)
    value, rate, S, bias = F["measures"](s.q, s.v, s.p, s.t)
    acc = S @ s.a + bias
    g = F["internal"](s.q, s.v, s.z, s.u, s.p, s.t, s.lam)

    def by_x(expression: object) -> Any:
        return jac(expression, s.q) @ N

    outputs = [M, A, f, jac(f, s.lam)]
    outputs += [R1, by_x(R1), jac(R1, s.v), jac(R1, s.z), jac(R1, s.u)]
    outputs += [R2, by_x(R2), jac(R2, s.v), jac(R2, s.z), jac(R2, s.u)]
    outputs += [phi, rates, by_x(rates), value, rate, by_x(rate), S, acc, by_x(acc), jac(acc, s.v)]
    outputs += [g, by_x(g), jac(g, s.v), jac(g, s.z), jac(g, s.u), jac(g, s.lam)]
    vectors = {2, 4, 9, 14, 15, 17, 18, 21, 24}
    shapes = eqs.cache("tangent shapes", list)
    for k, x in enumerate(outputs):
        shapes.append((x.shape[0],) if k in vectors else x.shape)
    inputs = [s.q, s.v, s.z, s.u, s.p, s.t, s.a, s.lam]
    function = build_function("tangent", inputs, outputs, sparse=True)
    return Kernel(function)


class Saddle:
    """M a - (f_λ + Aᵀ) λ = r₁ ,  A a = r₂: solved in the range and the null space of A, λ of minimum norm.

    Speeds are in units of 1/√M_kk: beside an inertia of 1e-10 kg m² the rounding of forces of 1 kN would turn a part.
    """

    def __init__(self, M: Array, A: Array, f_lam: Array | None = None) -> None:
        self.nv = M.shape[0]
        size = np.sqrt(np.abs(M.diagonal()))
        self.unit = 1.0 / np.maximum(size, LIGHT * size.max(initial=0.0) or 1.0)
        self.M = M = M * np.outer(self.unit, self.unit)
        self.lengths, self.U, self.sigma, self.V, self.Z, self.left = split(A * self.unit)
        back = self.U / self.lengths[:, None]  # λ = back l, Aᵀ λ = V σ l
        basis = np.hstack((self.Z, self.V))
        right = self.V * self.sigma
        if f_lam is not None and f_lam.any():
            right = right + self.unit[:, None] * (f_lam @ back)
        matrix = basis.T @ np.hstack((M @ self.Z, -right))
        if (
            self.nv
            and np.linalg.matrix_rank(self.Z.T @ M @ self.Z, tol=NO_MASS * max(float(np.abs(M).max()), 1e-300))
            < (self.Z.shape[1])
        ):
            raise ModelError(
                "massless-body", "a body has no mass (or inertia) in a direction in which no joint holds it."
            )
        self._matrix, self._basis, self._back = matrix, basis, back

    def solve(self, r1: Array, r2: Array) -> tuple[Array, Array]:
        """(a, λ), for vectors or for matrices of columns."""
        scaled = (r2.T / self.lengths).T
        along = self.V @ ((self.U.T @ scaled).T / self.sigma).T
        y = np.linalg.solve(self._matrix, self._basis.T @ ((r1.T * self.unit).T - self.M @ along)) if self.nv else r1
        k = self.Z.shape[1]
        return ((along + self.Z @ y[:k]).T * self.unit).T, self._back @ y[k:]


def split(A: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Row lengths, and of A with rows of unit length: U, σ, V of its range, its null space, its left null space."""
    rows, nv = A.shape
    lengths = np.sqrt((A * A).sum(axis=1))
    lengths = np.maximum(lengths, RANK * lengths.max(initial=0.0))  # a row that only rounding keeps from zero is none
    lengths[lengths == 0.0] = 1.0
    if rows == 0 or nv == 0:
        return lengths, np.zeros((rows, 0)), np.zeros(0), np.zeros((nv, 0)), np.eye(nv), np.eye(rows)
    U, sigma, Vt = np.linalg.svd(A / lengths[:, None])
    rank = int(np.count_nonzero(sigma > RANK * sigma[0])) if sigma.size else 0
    return lengths, U[:, :rank], sigma[:rank], Vt[:rank].T, Vt[rank:].T, U[:, rank:]


def accelerations(eqs: EquationsOfMotion, x: Instant, iterations: int = 50, settled: float = 1e-12) -> Instant:
    """The same instant with its accelerations and multipliers, to rounding (friction by Newton's method on λ).

    iterations : it converges in five where the friction does not jam.
    settled : last change, of the largest reaction: 4500 roundings.
    """
    zero = np.zeros(eqs.nv)
    lam = x.lam
    for _ in range(iterations):
        here = Instant(x.q, x.v, x.z, x.u, x.t, zero, lam)
        T = terms(eqs, here)
        saddle = Saddle(T.M, T.A, T.f_lam)
        a, new = saddle.solve(T.f - T.f_lam @ lam, -T.R2)
        change = float(np.abs(new - lam).max(initial=0.0))
        if not T.f_lam.any() or change <= settled * (1e-300 + float(np.abs(new).max(initial=0.0))):
            return Instant(x.q, x.v, x.z, x.u, x.t, a, new)
        lam = new
    raise ConvergenceError(
        "friction-unsettled",
        f"friction forces and reactions of {eqs.name!r} do not agree at this state (change {change:.2e}).",
    )


def require_mapping(given: object, what: str) -> Mapping[str, Any]:
    """An argument with values by the name of a coordinate, empty where it is left out."""
    if given is not None and not isinstance(given, Mapping):
        raise ModelError(
            "wrong-type",
            f"{what} must name coordinates; got {given!r}.",
            Advice("Such as {}.", Argument(what, {"A.angle": 0.5})),
        )
    return given or {}


def named_values(eqs: EquationsOfMotion, given: Mapping[str, float] | None, what: str) -> dict[str, float]:
    """Values of named coordinates, checked, under their full names."""
    result = {}
    for name, value in require_mapping(given, what).items():
        full = eqs.full_name(name) if isinstance(name, str) else repr(name)
        if full not in eqs.measures.index:
            raise ModelError(
                "unknown-name",
                f"{what}: {unknown_name('coordinate', name, eqs.measures.names, f'equations {eqs.name!r}')}",
            )
        result[full] = real_number(f"{what}: {name!r}", value, ModelError)
    return result


def speed_numbers(eqs: EquationsOfMotion, names: Iterable[str]) -> list[int]:
    """Places of named speeds in v."""
    numbers = []
    for name in take_names("speed", names):
        require_name("speed", name, eqs.speeds.names, f"equations {eqs.name!r}", error=ModelError)
        numbers.append(eqs.speeds.index[name])
    return numbers


# --- coordinates ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A quantity that may serve as an independent coordinate or speed.

    kind "measure" (index of the measure), "speed" (column of v), "body turn" or "world turn" (axis 0 to 2 of the body
    whose Euler parameters start at q[start] and whose angular velocity stands in `columns`; of a body that joints carry
    `columns` are empty: `start` and `turns` are the first of its measures).
    """

    kind: str
    index: int
    name: str
    rate_name: str
    unit: str = ""
    rate_unit: str = ""
    columns: tuple[int, ...] = ()
    start: int = 0
    turns: int = 0
    owner: str = ""  # the body or joint that it belongs to

    def rows(self, T: Terms, x: Instant) -> tuple[Array, Array, Array, Array, float, float]:
        """S, ∂ṡ/∂ξ, ∂s̈/∂ξ, ∂s̈/∂v (∂ṡ/∂v = ∂s̈/∂a = S), ṡ and s̈."""
        k, nv = self.index, T.M.shape[0]
        if self.kind == "measure":
            return T.S[k], T.s_rate_x[k], T.s_acc_x[k], T.s_acc_v[k], float(T.s_rate[k]), float(T.s_acc[k])
        S, rate_x, acc_x, acc_v = (np.zeros(nv) for _ in range(4))
        if self.kind == "speed":
            S[k] = 1.0
            return S, rate_x, acc_x, acc_v, float(x.v[k]), float(x.a[k])
        columns = list(self.columns)
        if not columns:
            return self._carried_rows(T)
        omega, alpha = x.v[columns], x.a[columns]
        if self.kind == "body turn":
            S[columns[k]] = 1.0
            rate_x[columns] = -_cross(omega)[k]
            # -α × δθ - ω × (δω - ω × δθ)
            acc_x[columns] = (-_cross(alpha) + _cross(omega) @ _cross(omega))[k]
            acc_v[columns] = -_cross(omega)[k]
            return S, rate_x, acc_x, acc_v, 0.0, float(alpha[k])
        p = x.q[self.start : self.start + 4]
        R = np.array(entries(p / np.linalg.norm(p)))
        S[columns] = R[k]
        acc_v[columns] = (R @ _cross(omega))[k]
        return S, rate_x, acc_x, acc_v, 0.0, float(R[k] @ alpha)

    def _carried_rows(self, T: Terms) -> tuple[Array, Array, Array, Array, float, float]:
        """The same of a body that joints carry: δω = W δv + ω_ξ δξ, δα = W δa + α_v δv + α_ξ δξ."""
        k, own = self.index, slice(self.turns, self.turns + 3)
        W, omega_x, alpha_x, alpha_v = T.S[own], T.s_rate_x[own], T.s_acc_x[own], T.s_acc_v[own]
        alpha, across = T.s_acc[own], _cross(T.s_rate[own])
        if self.kind == "body turn":
            rate_x = omega_x - across @ W
            acc_x = alpha_x - _cross(alpha) @ W - across @ rate_x
            return W[k], rate_x[k], acc_x[k], (alpha_v - across @ W)[k], 0.0, float(alpha[k])
        R = np.array(entries(T.s[self.start : self.start + 4]))[k]
        acc_x, acc_v = R @ (alpha_x + across @ omega_x), R @ (alpha_v + across @ W)
        return R @ W, R @ omega_x, acc_x, acc_v, 0.0, float(R @ alpha)


def _cross(w: Array) -> Array:
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def measure_candidate(eqs: EquationsOfMotion, k: int) -> Candidate:
    return Candidate(
        "measure",
        k,
        eqs.measures.names[k],
        eqs.measure_rates.names[k],
        eqs.measures.units[k],
        eqs.measure_rates.units[k],
        owner=eqs.measures.owners[k],
    )


def speed_candidate(eqs: EquationsOfMotion, k: int) -> Candidate:
    name = eqs.speeds.names[k]
    return Candidate("speed", k, name, name, "", eqs.speeds.units[k], owner=eqs.speeds.owners[k])


def turn_candidates(eqs: EquationsOfMotion, x: Instant, *, world: bool) -> list[list[Candidate]]:
    """Small turns of every body, slowest spinning body first: body axes rx, ry, rz or world axes rX, rY, rZ."""
    axes, kind = ("XYZ", "world turn") if world else ("xyz", "body turn")
    found: list[tuple[str, Array, tuple[int, ...], int, int]] = [
        (block.owner, x.v[list(block.columns)], block.columns, block.coordinate, 0) for block in eqs.quaternions
    ]
    if eqs.carried_orientations:
        rates = eqs.kernel("measures")(x.q, x.v, eqs.p, x.t)[1]
        found += [
            (one.owner, rates[one.turns : one.turns + 3], (), one.parameters, one.turns)
            for one in eqs.carried_orientations
        ]
    # in the order of the bodies, whether joints carry them or not; joints with an orientation come last
    places = {owner: k for k, owner in reversed(list(enumerate(eqs.measures.owners)))}
    joints = {joint.name for joint in eqs.joints}
    found.sort(key=lambda one: (one[0] in joints, places.get(one[0], 0)))
    found.sort(key=lambda one: round(float(np.linalg.norm(one[1])), 9))
    return [
        [
            Candidate(kind, i, f"{owner}.r{a}", f"{owner}.r{a}.rate", "rad", "rad/s", columns, start, turns, owner)
            for i, a in enumerate(axes)
        ]
        for owner, _, columns, start, turns in found
    ]


def unit_changes(eqs: EquationsOfMotion, mass: Array, stiffness: Array | float = 0.0) -> Array:
    """Changes of the coordinates that compare with each other: 1 m, 1 rad, and of elastic coordinates as much as takes
    the work of moving the body 1 m in 1 s.

    mass, stiffness : diagonals of M and K.  An elastic coordinate has no natural unit, and beside a stiffness of 1e12 a
    unit of it is no small motion: compared by numbers, it would pass for the motion of the whole machine.
    """
    changes = np.ones(eqs.nv)
    elastic, work = set(eqs.elastic_speeds.values()), mass + np.abs(stiffness)
    body, heaviest = "", 0.0
    for k, (owner, unit) in enumerate(zip(eqs.speeds.owners, eqs.speeds.units, strict=True)):
        if k in elastic:  # they follow the motion of their body
            if work[k] > 0.0:
                changes[k] = np.sqrt((heaviest or float(mass[k])) / work[k])
        elif unit == "m/s":
            body, heaviest = owner, max(heaviest if owner == body else 0.0, float(mass[k]))
    return changes


def choose(
    Z: Array,
    groups: Sequence[Sequence[Candidate]],
    T: Terms,
    x: Instant,
    changes: Array | float = 1.0,
    first: Sequence[Candidate] = (),
) -> list[Candidate]:
    """As many candidates as Z has columns, independent on it: earlier groups first, the clearest of a group first.

    Z : motions in units of `changes`.  first : candidates that are taken in any case.
    """
    chosen = list(first)
    for needed in (CLEAR, POSSIBLE):
        for group in groups:
            rest = [c for c in group if c not in chosen]
            if not rest or len(chosen) == Z.shape[1]:
                continue
            stacked = (np.array([c.rows(T, x)[0] for c in chosen]).reshape(-1, len(Z)) * changes) @ Z
            basis = np.linalg.qr(stacked.T)[0]
            rows = np.array([c.rows(T, x)[0] for c in rest]) * changes
            lengths = np.sqrt((rows * rows).sum(axis=1))
            lengths[lengths == 0.0] = 1.0
            seen = (rows / lengths[:, None]) @ Z
            seen = seen - (seen @ basis) @ basis.T
            seen = seen - (seen @ basis) @ basis.T
            sizes, order = ties.pivot_columns(seen.T)
            for k, size in enumerate(sizes):
                if size <= needed or len(chosen) == Z.shape[1]:
                    break
                chosen.append(rest[order[k]])
    ranked = list(dict.fromkeys((*first, *(c for group in groups for c in group))))
    return sorted(chosen, key=ranked.index)
