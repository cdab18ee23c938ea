"""Linear models about an equilibrium or a steady motion (spec 003, C-26; idea of 002-G7).

With independent coordinates s, independent speeds w and internal states z, every small motion that respects the joints is

    δξ = X δs ,   δv = V δs + W δw      (A_h X = 0,  S X = 1;   A W = 0,  S W = 1;   δ(rates) = 0,  δw = 0 along V)

and the linearized equations M δa - (f_λ + Aᵀ) δλ = -δR₁ , A δa = -δR₂ give δa and δλ exactly, without differentiating
a factorization. Where nothing rolls and there are no internal states the same is written as a second-order system by
projection on W: M̄ = Wᵀ M W, K̄ = Wᵀ (∂R₁/∂ξ X + ∂R₁/∂v V + M P), with P the accelerations that go with δs at s̈ = 0.
Deviations are meant throughout: the constant term vanishes only at an equilibrium (spec 003, trap 4), and the result is
the Jacobian, not the coefficients A(x) frozen at a point, unless that is asked for (trap 5).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import EquationsOfMotion, State
from dalembert.errors import ModelError, unknown_name
from dalembert.expressions import Array, Kernel
from dalembert.linear import SecondOrder, StateSpace
from dalembert.solve.assemble import check_start
from dalembert.solve.constrained import forward_function, projection_function
from dalembert.solve.equilibrium import equilibrium
from dalembert.solve.inputs import read_inputs
from dalembert.solve.tangent import (
    Candidate,
    Point,
    Saddle,
    Terms,
    accelerations,
    choose,
    measure_candidate,
    speed_candidate,
    split,
    terms,
    turn_candidates,
)

AT_REST = 1e-7  # accelerations that pass for none, relative to those the forces would give without the joints
STEADY = 1e-6  # relative change of the matrices along a steady motion that passes for none: far above the error of
#                the short reference run (some 1e-10), far below any true periodic term
IGNORABLE = 1e-9  # influence of a coordinate, relative to the largest entry, that passes for none


def linearize(
    eqs: EquationsOfMotion,
    at: State | None = None,
    *,
    inputs: Mapping[str, Any] | None = None,
    outputs: str | Iterable[str] | None = None,
    coordinates: str | Iterable[str] | None = None,
    anywhere: bool = False,
) -> SecondOrder | StateSpace:
    """Linear model of small motions about an equilibrium or a steady motion; exact derivatives.

    Parameters
    ----------
    at : an equilibrium or a state of steady motion, from `da.equilibrium`; found when left out.
    inputs : values of the input channels there (zero when left out). All inputs stay inputs of the linear model.
    outputs : sensors (``"imu"`` stands for all its axes), coordinates or rates to have as outputs; all sensors when
        left out, the coordinates themselves where there are none.
    coordinates : names of the independent coordinates: joint coordinates, body coordinates (``"crank.x"``) or small
        turns of a body from its reference pose about its own axes (``"disc.rx"``, ``.ry``, ``.rz``) or about the
        world's (``"disc.rX"``, ...). Chosen when left out: joint coordinates first. Coordinates that are left out
        of the list must have no influence (cyclic); their rates stay among the states.
    anywhere : accept a state that is not an equilibrium. The model then describes deviations from the motion through
        that state, near that instant only; ``provenance["drift"]`` holds the accelerations there.

    Returns
    -------
    SecondOrder where all constraints are holonomic and there are no internal states, else StateSpace. Values are
    deviations from the reference.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True, gravity=(0, -10))
    >>> bob = m.add_body("bob", mass=1.0)
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), bob.at(0, 2.5))
    >>> da.linearize(da.equations(m)).modes().frequencies.round(9).tolist()
    [2.0]
    """
    u = read_inputs(eqs, inputs).values(eqs, np.array([0.0 if at is None else at.t]))[0]
    if at is None:
        at = equilibrium(eqs, inputs=inputs)
    elif not isinstance(at, State):
        raise ModelError(f"at must be a State, from da.equilibrium or da.assemble; got {type(at).__name__}.")
    elif at.eqs.coordinates.names != eqs.coordinates.names:
        raise ModelError(f"at belongs to equations {at.eqs.name!r}, not to {eqs.name!r}.")
    check_start(eqs, at)
    named = None if coordinates is None else [coordinates] if isinstance(coordinates, str) else list(coordinates)
    wanted = _wanted_outputs(eqs, outputs)
    x = accelerations(eqs, Point(at.q, at.v, at.z, u, at.t, np.zeros(eqs.nv), at.lam))
    moving = bool(np.abs(at.v).max(initial=0.0) > 0.0)
    later = _later(eqs, x) if moving and not anywhere else None
    problem: ModelError | None = None
    for world in (False, True) if moving and eqs.rotations else (False,):
        chart = _Chart(eqs, x, named, world=world)
        drift = chart.drift(strict=not anywhere)
        first = _first_order(eqs, x, chart, wanted)
        if later is None:
            break
        problem = _changes(eqs, chart, first, _first_order(eqs, later, chart.moved(later), wanted))
        if problem is None:
            break
    if problem is not None:
        raise problem
    what = "steady motion" if moving else "equilibrium"
    provenance: dict[str, Any] = {"made by": "da.linearize", "about": what if not anywhere else "a state"}
    if anywhere:
        provenance["drift"] = drift
    return _result(eqs, chart, first, provenance)


# --- independent coordinates and the tangent space --------------------------------------------------------------------


class _Chart:
    """Independent coordinates s and speeds w at one instant, and the tangent X, V, W that goes with them."""

    def __init__(
        self,
        eqs: EquationsOfMotion,
        x: Point,
        named: list[str] | None,
        *,
        world: bool,
        fixed: tuple[list[Candidate], list[Candidate]] | None = None,
    ) -> None:
        self.eqs, self.x = eqs, x
        self.T = T = terms(eqs, x)
        rated = eqs.rate_rows
        Z_position = split(T.A[eqs.holonomic_rows])[4]
        Z_speed = split(T.A[rated])[4]
        self.second_order = eqs.is_holonomic and eqs.nz == 0
        if fixed is None:
            self._check_regular()
            self.positions, self.speeds = self._select(named, Z_position, Z_speed, world)
        else:
            self.positions, self.speeds = fixed
        given = [c for c in self.positions if named is None or c.name in self._full(named)]
        self.kept = given
        # positions: [A_h; S] X = [0; 1]
        S = self._rows(self.positions, 0)
        self.X = _solve_rows(T.A[eqs.holonomic_rows], S, np.zeros((len(eqs.holonomic_rows), len(S))), np.eye(len(S)))
        # speeds: [A; S] W = [0; 1],  [A; S] V = -[∂rates/∂ξ; ∂ṡ/∂ξ] X
        Sw = self._rows(self.speeds, 0)
        A = T.A[rated]
        self.W = _solve_rows(A, Sw, np.zeros((len(rated), len(Sw))), np.eye(len(Sw)))
        self.V = _solve_rows(A, Sw, -T.rates_x @ self.X, -self._rows(self.speeds, 1) @ self.X)

    def _full(self, named: list[str]) -> list[str]:
        return [self.eqs.full_name(name) for name in named]

    def _rows(self, candidates: list[Candidate], which: int) -> Array:
        nv = self.eqs.nv
        return np.array([c.rows(self.T, self.x)[which] for c in candidates], dtype=float).reshape(len(candidates), nv)

    def moved(self, x: Point) -> _Chart:
        chart = _Chart(self.eqs, x, None, world=False, fixed=(self.positions, self.speeds))
        chart.kept = self.kept
        return chart

    def _select(
        self, named: list[str] | None, Z: Array, Zw: Array, world: bool
    ) -> tuple[list[Candidate], list[Candidate]]:
        eqs, T, x = self.eqs, self.T, self.x
        turns = turn_candidates(eqs, x.v, world=world)
        both = [c for group in (*turns, *turn_candidates(eqs, x.v, world=not world)) for c in group]
        measures = [measure_candidate(eqs, k) for k in range(len(eqs.measures))]
        known = {c.name: c for c in (*both, *measures)}
        joints = [measures[k] for k in eqs.recorded_measures]
        automatic = [joints, measures, *turns]
        if named is None:
            positions = choose(Z, automatic, T, x)
        else:
            for name in self._full(named):
                if name not in known:
                    raise ModelError(f"coordinates: {unknown_name('coordinate', name, known, f'equations {eqs.name!r}')}")
            mine = [known[name] for name in dict.fromkeys(self._full(named))]
            found = choose(Z, [[c] for c in mine], T, x)
            for c in mine:
                if c not in found:
                    others = ", ".join(o.name for o in found) or "none"
                    raise ModelError(
                        f"coordinates: {c.name!r} is not independent of the others ({others}) in {eqs.name!r}, "
                        f"which has {Z.shape[1]} degrees of freedom. Leave it out."
                    )
            positions = choose(Z, [*[[c] for c in mine], *automatic], T, x)
        if len(positions) < Z.shape[1]:
            raise ModelError(f"found only {len(positions)} of {Z.shape[1]} independent coordinates of {eqs.name!r}.")
        if self.second_order and (named is None or len(positions) == len(set(self._full(named)))):
            return positions, positions
        self.second_order = False
        rates = [c for c in positions if c.kind == "measure"]
        free = [speed_candidate(eqs, k) for k in range(eqs.nv)]
        turning = [free[k] for group in turns for k in group[0].columns]
        speeds = choose(Zw, [rates, joints, measures, turning, free], T, x)
        if len(speeds) < Zw.shape[1]:
            raise ModelError(f"found only {len(speeds)} of {Zw.shape[1]} independent speeds of {eqs.name!r}.")
        return positions, speeds

    def _check_regular(self) -> None:
        """Redundant rows must stay redundant nearby: yᵀA = 0 must not be broken to first order along the motion."""
        eqs, x = self.eqs, self.x
        A = self.T.A[eqs.holonomic_rows]
        lengths, *_, Z, left = split(A)
        if left.shape[1] == 0 or Z.shape[1] == 0:
            return
        y = np.zeros(len(eqs.rows))
        y[eqs.holonomic_rows] = (left @ np.cos(np.arange(1.0, left.shape[1] + 1))) / lengths
        zero = np.zeros(eqs.nv)
        at_rest = Point(x.q, zero, x.z, x.u, x.t, zero, y)
        none = Point(x.q, zero, x.z, x.u, x.t, zero, np.zeros(len(eqs.rows)))
        curvature = Z.T @ (terms(eqs, at_rest).R1_x - terms(eqs, none).R1_x) @ Z
        if self.T.f_lam.any():
            return
        size = float(np.abs(y).max()) * max(1.0, float(np.abs(A).max()))
        if float(np.abs(curvature).max()) > 1e-6 * size:
            raise ModelError(
                f"the pose of {eqs.name!r} is singular (its joints allow more motions here than next to it, as at a dead "
                "point): there is no linear model. Linearize at another pose."
            )

    def drift(self, *, strict: bool) -> dict[str, float]:
        """Accelerations of the independent coordinates at the reference, zero at an equilibrium."""
        eqs, T, x = self.eqs, self.T, self.x
        drift = {c.rate_name: c.rows(T, x)[5] for c in self.speeds}
        drift.update({name: float(value) for name, value in zip(eqs.internal.names, T.g, strict=True)})
        if not strict:
            return drift
        scale = _force_scale(eqs, T, x, self.W)
        worst = max(drift, key=lambda name: abs(drift[name]), default=None)
        if worst is not None and abs(drift[worst]) > AT_REST * scale:
            raise ModelError(
                f"at is neither an equilibrium nor a steady motion of {eqs.name!r}: {worst!r} changes by "
                f"{drift[worst]:.3g} per second. Find one with da.equilibrium(eqs, start=at), or say anywhere=True "
                "for deviations from the motion through this state."
            )
        return drift


def _force_scale(eqs: EquationsOfMotion, T: Terms, x: Point, W: Array) -> float:
    """Accelerations that single forces would give: what rounding is measured by."""
    mass = W.T @ T.M @ W
    if mass.size == 0:
        return 1.0
    efforts = np.abs(W.T) @ (np.abs(T.f) + np.abs(T.A.T) @ np.abs(x.lam) + np.abs(T.M @ x.a))
    spread = np.abs(np.linalg.inv(mass)) @ efforts
    return 1.0 + float(spread.max(initial=0.0)) + float(np.abs(T.g).max(initial=0.0))


def _solve_rows(A: Array, S: Array, right_a: Array, right_s: Array) -> Array:
    """Y with A Y = right_a (perhaps redundant, consistent) and S Y = right_s."""
    matrix = np.vstack((A, S))
    right = np.vstack((right_a, right_s))
    lengths = np.sqrt((matrix * matrix).sum(axis=1))
    lengths[lengths == 0.0] = 1.0
    return np.asarray(np.linalg.lstsq(matrix / lengths[:, None], right / lengths[:, None], rcond=1e-11)[0])


# --- matrices ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _FirstOrder:
    """ẋ = A x + B u, y = C x + D u with x = (s, w, z); acc and lam: δa and δλ by (x, u)."""

    A: Array
    B: Array
    C: Array
    D: Array
    acc: Array
    lam: Array
    outputs: tuple[str, ...]
    units: dict[str, str]


def _first_order(eqs: EquationsOfMotion, x: Point, chart: _Chart, wanted: list[tuple[str, int]]) -> _FirstOrder:
    T = chart.T
    ns, nw, nz, nu = len(chart.positions), len(chart.speeds), eqs.nz, eqs.nu
    count = ns + nw + nz + nu
    dx, dv = np.zeros((eqs.nv, count)), np.zeros((eqs.nv, count))
    dz, du = np.zeros((nz, count)), np.zeros((nu, count))
    dx[:, :ns] = chart.X
    dv[:, :ns], dv[:, ns : ns + nw] = chart.V, chart.W
    dz[:, ns + nw : ns + nw + nz] = np.eye(nz)
    du[:, ns + nw + nz :] = np.eye(nu)
    r1 = T.R1_x @ dx + T.R1_v @ dv + T.R1_z @ dz + T.R1_u @ du
    r2 = T.R2_x @ dx + T.R2_v @ dv + T.R2_z @ dz + T.R2_u @ du
    da, dlam = Saddle(T.M, T.A, T.f_lam).solve(-r1, -r2)
    s_rate = chart._rows(chart.positions, 1) @ dx + chart._rows(chart.positions, 0) @ dv
    w_rate = chart._rows(chart.speeds, 2) @ dx + chart._rows(chart.speeds, 3) @ dv + chart._rows(chart.speeds, 0) @ da
    z_rate = T.g_x @ dx + T.g_v @ dv + T.g_z @ dz + T.g_u @ du + T.g_lam @ dlam
    rates = np.vstack((s_rate, w_rate, z_rate))
    names, units, dy = _output_rows(eqs, x, wanted, T, (dx, dv, da, dlam, dz, du))
    nx = ns + nw + nz
    return _FirstOrder(rates[:, :nx], rates[:, nx:], dy[:, :nx], dy[:, nx:], da, dlam, names, units)


def _wanted_outputs(eqs: EquationsOfMotion, outputs: str | Iterable[str] | None) -> list[tuple[str, int]]:
    """(kind, index) of every output: "sensor", "measure", "rate"."""
    if outputs is None:
        return [("sensor", k) for k in range(eqs.ny)]
    wanted: list[tuple[str, int]] = []
    for given in [outputs] if isinstance(outputs, str) else outputs:
        name = eqs.full_name(given)
        axes = [k for k, n in enumerate(eqs.outputs.names) if n == given or n.startswith(f"{given}.")]
        if axes:
            wanted += [("sensor", k) for k in axes]
        elif name in eqs.measures.index:
            wanted.append(("measure", eqs.measures.index[name]))
        elif name in eqs.measure_rates.index:
            wanted.append(("rate", eqs.measure_rates.index[name]))
        else:
            known = (*eqs.outputs.names, *eqs.measures.names, *eqs.measure_rates.names)
            raise ModelError(f"outputs: {unknown_name('sensor or coordinate', given, known, f'equations {eqs.name!r}')}")
    return list(dict.fromkeys(wanted))


def _output_rows(
    eqs: EquationsOfMotion, x: Point, wanted: list[tuple[str, int]], T: Terms, change: tuple[Array, ...]
) -> tuple[tuple[str, ...], dict[str, str], Array]:
    dx, dv, da, dlam, dz, du = change
    names: list[str] = []
    units: dict[str, str] = {}
    rows: list[Array] = []
    sensors = np.zeros((0, dx.shape[1]))
    if any(kind == "sensor" for kind, _ in wanted):
        kernel = eqs.cached("output derivatives", lambda: _output_kernel(eqs))
        parts = kernel(x.q, x.v, x.a, x.lam, x.z, x.u, eqs.p, x.t)
        sizes = (eqs.nv, eqs.nv, eqs.nv, len(eqs.rows), eqs.nz, eqs.nu)
        sensors = sum(
            (part.reshape(eqs.ny, size) @ d for part, size, d in zip(parts, sizes, (dx, dv, da, dlam, dz, du), strict=True)),
            np.zeros((eqs.ny, dx.shape[1])),
        )
    for kind, k in wanted:
        if kind == "sensor":
            name, unit, row = eqs.outputs.names[k], eqs.outputs.units[k], sensors[k]
        elif kind == "measure":
            name, unit, row = eqs.measures.names[k], eqs.measures.units[k], T.S[k] @ dx
        else:
            name, unit = eqs.measure_rates.names[k], eqs.measure_rates.units[k]
            row = T.s_rate_x[k] @ dx + T.S[k] @ dv
        if not np.all(np.isfinite(row)):
            raise ModelError(f"output {name!r} has no derivative at this state; leave it out with outputs=[...].")
        names.append(name)
        units[name] = unit
        rows.append(row)
    return tuple(names), units, np.array(rows, dtype=float).reshape(len(rows), dx.shape[1])


def _output_kernel(eqs: EquationsOfMotion) -> Kernel:
    s = eqs.symbols()
    y = eqs.functions["outputs"](s.q, s.v, s.a, s.lam, s.z, s.u, s.p, s.t)
    N, _ = eqs.functions["kinematics"](s.q, s.p, s.t)
    parts = [ca.jacobian(y, s.q) @ N] + [ca.jacobian(y, w) for w in (s.v, s.a, s.lam, s.z, s.u)]
    function = ca.Function("output_derivatives", [s.q, s.v, s.a, s.lam, s.z, s.u, s.p, s.t], parts)
    return Kernel(function, native=function)


def _result(
    eqs: EquationsOfMotion, chart: _Chart, first: _FirstOrder, provenance: dict[str, Any]
) -> SecondOrder | StateSpace:
    units = {name: unit for name, unit in first.units.items() if unit}
    ns, nw = len(chart.positions), len(chart.speeds)
    if chart.second_order:
        M, C, K, B = _second_order(eqs, chart, first)
        outputs: dict[str, Any] = {}
        if first.outputs:
            outputs = {
                "Y_position": first.C[:, :ns], "Y_velocity": first.C[:, ns:], "D": first.D, "outputs": first.outputs
            }  # fmt: skip
        units = {**{c.name: c.unit for c in chart.positions if c.unit}, **units}
        return SecondOrder.from_full(
            M, C, K, B=B, coordinates=[c.name for c in chart.positions], inputs=eqs.inputs.names,
            units=units, provenance=provenance, **outputs,
        )  # fmt: skip
    keep = list(range(ns + nw + eqs.nz))
    for k, c in enumerate(chart.positions):
        if c not in chart.kept:
            column = np.concatenate((np.delete(first.A[:, k], k), first.C[:, k]))
            size = float(np.abs(first.A).max(initial=0.0)) + float(np.abs(first.C).max(initial=0.0))
            if float(np.abs(column).max(initial=0.0)) > IGNORABLE * size:
                raise ModelError(
                    f"coordinates: {c.name!r} is an independent coordinate of {eqs.name!r} too, and the motion depends "
                    "on it. Add it to coordinates."
                )
            keep.remove(k)
    states = [*[c.name for c in chart.positions], *[c.rate_name for c in chart.speeds], *eqs.internal.names]
    state_units = [*[c.unit for c in chart.positions], *[c.rate_unit for c in chart.speeds], *eqs.internal.units]
    units = {**{states[k]: state_units[k] for k in keep if state_units[k]}, **units}
    return StateSpace(
        first.A[np.ix_(keep, keep)], first.B[keep], first.C[:, keep] if first.outputs else None,
        first.D if first.outputs else None, states=[states[k] for k in keep], inputs=eqs.inputs.names,
        outputs=first.outputs or None, units=units, provenance=provenance,
    )  # fmt: skip


def _second_order(eqs: EquationsOfMotion, chart: _Chart, first: _FirstOrder) -> tuple[Array, Array, Array, Array]:
    """M̄, C̄, K̄, B̄ by projection; where forces depend on reactions, from the first-order form."""
    T, W, ns = chart.T, chart.W, len(chart.positions)
    M = W.T @ T.M @ W
    M = 0.5 * (M + M.T)
    if T.f_lam.any():
        return M, -M @ first.A[ns:, ns:], -M @ first.A[ns:, :ns], M @ first.B[ns:]
    S_x, S_v = chart._rows(chart.speeds, 2), chart._rows(chart.speeds, 3)
    S = chart._rows(chart.speeds, 0)
    X, V = chart.X, chart.V
    P = _solve_rows(T.A, S, -(T.R2_x @ X + T.R2_v @ V), -(S_x @ X + S_v @ V))
    P_w = _solve_rows(T.A, S, -T.R2_v @ W, -S_v @ W)
    K = W.T @ (T.R1_x @ X + T.R1_v @ V + T.M @ P)
    C = W.T @ (T.R1_v @ W + T.M @ P_w)
    return M, C, K, -W.T @ T.R1_u


# --- steady motion ----------------------------------------------------------------------------------------------------


def _later(eqs: EquationsOfMotion, x: Point) -> Point:
    """The same motion a little later: Runge-Kutta over about a third of a radian of the fastest rate."""
    N, _ = eqs.kernel("kinematics")(x.q, eqs.p, x.t)
    fastest = float(np.abs(x.v).max(initial=0.0))
    steps = 32
    h = 0.37 / fastest / steps
    forward = eqs.cached("forward kernel of linearize", lambda: Kernel(forward_function(eqs)))
    project = eqs.cached("projection kernel of linearize", lambda: Kernel(projection_function(eqs)))
    q, v, z, t, lam = np.array(x.q), np.array(x.v), np.array(x.z), x.t, x.lam

    def slope(q: Array, v: Array, z: Array, t: float) -> tuple[Array, Array, Array]:
        nonlocal lam
        dq, dv, dz, _, lam, _ = forward(q, v, z, x.u, eqs.p, t, lam)
        return dq, dv, dz

    for _ in range(steps):
        k1 = slope(q, v, z, t)
        k2 = slope(*(y + h / 2 * k for y, k in zip((q, v, z), k1, strict=True)), t + h / 2)
        k3 = slope(*(y + h / 2 * k for y, k in zip((q, v, z), k2, strict=True)), t + h / 2)
        k4 = slope(*(y + h * k for y, k in zip((q, v, z), k3, strict=True)), t + h)
        q, v, z = (
            y + h / 6 * (a + 2 * b + 2 * c + d) for y, a, b, c, d in zip((q, v, z), k1, k2, k3, k4, strict=True)
        )
        t += h
        q, v = project(q, v, eqs.p, t)
    return accelerations(eqs, Point(q, v, z, x.u, t, np.zeros(eqs.nv), lam))


def _changes(eqs: EquationsOfMotion, chart: _Chart, now: _FirstOrder, then: _FirstOrder) -> ModelError | None:
    """An error if the matrices are not constant along the motion."""
    if not np.all(np.isfinite(then.A)):
        return ModelError(f"the motion of {eqs.name!r} cannot be continued from this state.")
    states = [c.name for c in chart.positions] + [c.rate_name for c in chart.speeds] + list(eqs.internal.names)
    dropped = [k for k, c in enumerate(chart.positions) if c not in chart.kept]
    change = np.abs(then.A - now.A)
    change[dropped] = 0.0
    change[:, dropped] = 0.0
    size = max(float(np.abs(now.A).max(initial=0.0)), 1e-300)
    if float(change.max(initial=0.0)) <= STEADY * size:
        moved = np.abs(np.hstack((then.C - now.C, then.D - now.D)))
        size = float(np.abs(now.C).max(initial=0.0)) + float(np.abs(now.D).max(initial=0.0)) + 1e-300
        if float(moved.max(initial=0.0)) <= STEADY * size:
            return None
        output = now.outputs[int(np.argmax(moved.max(axis=1)))]
        return ModelError(
            f"the output {output!r} of {eqs.name!r} does not stay the same function of the deviations along the motion. "
            "Leave it out with outputs=[...]."
        )
    cyclic = [
        k for k, c in enumerate(chart.positions)
        if c in chart.kept and float(np.abs(np.delete(now.A[:, k], k)).max(initial=0.0)) <= IGNORABLE * size
    ]  # fmt: skip
    drop = [k for k in cyclic if float(change[k].max()) > STEADY * size]
    rest = change.copy()
    rest[drop] = 0.0
    if float(rest.max(initial=0.0)) <= STEADY * size:
        names = ", ".join(repr(states[k]) for k in drop)
        keep = [c.name for k, c in enumerate(chart.positions) if k not in drop and c in chart.kept]
        return ModelError(
            f"the rates of {names} change along the motion of {eqs.name!r}, but nothing depends on these coordinates. "
            f"Drop them: coordinates={keep}."
        )
    worst = int(np.argmax(rest.max(axis=0)))
    return ModelError(
        f"the motion of {eqs.name!r} is not steady in these coordinates: the influence of {states[worst]!r} changes along "
        f"it (by {rest[:, worst].max():.2g} within a third of a radian). Choose coordinates=[...] that do without "
        f"{states[worst]!r}, for example angles of joints in place of turns of a spinning body."
    )
