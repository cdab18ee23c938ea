"""Equations in minimum coordinates: constraints are eliminated, the result is an ordinary differential equation.

With independent coordinates s and independent speeds w, K = [A; S] of the joint rows and the rows of s (or w),

    q(s):  [φ(q); s(q) - s] = 0 ,   v = W w + c ,   v̇ = W ẇ + γ ,
    K W = [0; 1] ,   K c = [-∂φ/∂t; -∂s/∂t] ,   K γ = [b; -bias] ,
    Wᵀ M W ẇ = Wᵀ (f - M γ) ,   Aᵀ λ = M v̇ - f  (reactions, afterwards)

(García de Jalón and Bayo 1994, ch. 5). The pose q(s) is found
inside the graph: from a pose nearby, the seed, along a straight line in s, one Newton step for each of equal parts. A
step much longer than the one before is not trusted: the pose becomes NaN and the run stops. The seed is carried along
with the motion, so that a crank may turn as often as it likes; where the seed is does not change the result.

About an equilibrium s₀ with a linear model M, C, G, K, H, B of small motions x = s - s₀ the same reads

    M ẍ + (C + G) ẋ + (K + H) x + f₂(x, ẋ, u) = B (u - u₀) ,       f₂ the exact remainder of the linear model ,

and with x = Φ η: Φᵀ M Φ η̈ + ... + f̄₂(η, η̇, u) = Φᵀ B (u - u₀). Where the mass is constant f̄₂ = Φᵀ f₂(Φ η, Φ η̇); where
it is not, the full equations are projected, so that a conservative machine stays conservative with few modes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import ACCELERATION, ARGUMENTS, Channels, EquationsOfMotion, Placement, State
from dalembert.mechanics import equations as equations
from dalembert.solve.constrained import matrices
from dalembert.solve.constrained.elimination import solve_rows_of_joints
from dalembert.solve.constrained.solve import depends_on_reactions, normalise
from dalembert.solve.position.assemble import assemble, state_or_rest
from dalembert.solve.position.chart import Chart
from dalembert.solve.position.tangent import RANK, Instant, accelerations

if TYPE_CHECKING:
    from dalembert.linear import Modes, SecondOrder

SX = ca.SX
GROWTH = 2.0  # largest ratio of two steps in a row along the path: equal parts of a smooth path have nearly equal steps
CONTRACTION = 0.5  # largest ratio of two Newton steps in a row that still shows convergence to the pose next door
CLOSED = 1e-9  # largest gap of a joint [m] and last Newton step [m, rad] of a pose that counts as found
SAME_MASS = 1e-6  # relative difference of the linear model's mass matrix and that of its given pose


@equations.register(EquationsOfMotion)
def minimum_coordinates(
    eqs: EquationsOfMotion,
    *,
    coordinates: str | Iterable[str] | None = None,
    at: State | None = None,
    about: SecondOrder | None = None,
    modes: int | Modes | None = None,
    path: int = 8,
) -> EquationsOfMotion:
    """The same machine in minimum coordinates, or in modal coordinates of its linear model; no constraint rows left.

    Parameters
    ----------
    coordinates : names of the independent coordinates (joint or body coordinates); chosen when left out.
    at : pose to start from, which decides how loops are closed; the assembled drawing, or the reference of `about`,
        when left out.
    about : linear model from ``da.linearize(eqs)`` about an equilibrium. The mass matrix is then the constant one of
        the linear model, and ``result.kernel("remainder")(state.q, state.v, u, result.p, t)`` gives f₂ of
        M ẍ + (C + G) ẋ + (K + H) x + f₂ = B (u - u₀), with x the deviation of the coordinates.
    modes : number of modes of (M, K), or real `Modes`, of `about`: coordinates are ``mode1``, ``mode2``, ...
    path : parts of the way from a known pose to the next. Eight carry a crank by some 2 rad, far more than a step of a
        run; `da.assemble` farther from `at` needs more.

    Returns
    -------
    EquationsOfMotion whose sensors, measures and energies are those of the machine. Reactions are left to
    ``da.reaction`` sensors. A dead point of the chosen coordinates stops a run: choose others.
    """
    _refuse(eqs, about, modes, path)
    if about is not None:
        coordinates = about.coordinates if coordinates is None else coordinates
        at = _reference_pose(eqs, about) if at is None else at
    at = state_or_rest(eqs, at)
    rest = Instant(at.q, np.zeros(eqs.nv), at.z, np.zeros(eqs.nu), at.t, np.zeros(eqs.nv), at.lam)
    named = [coordinates] if isinstance(coordinates, str) else None if coordinates is None else list(coordinates)
    chart = Chart(eqs, accelerations(eqs, rest), named, world=False)
    if any(c.kind != "measure" for c in chart.positions) or chart.kept != chart.positions:
        names = ", ".join(c.name for c in chart.positions)
        raise ModelError(
            "dependent-coordinates",
            f"minimum coordinates of {eqs.name!r} must be joint or body coordinates that decide the whole pose; "
            f"{names} would be needed.",
        )
    if about is None:
        return _Reduction(eqs, at, chart, path).equations(None, None)
    if tuple(c.name for c in chart.positions) != about.coordinates:
        raise ModelError(
            "wrong-owner", f"about: its coordinates {', '.join(about.coordinates)} are not those of {eqs.name!r}."
        )
    M = chart.W.T @ chart.T.M @ chart.W
    if float(np.abs(M - _dense(about.M)).max()) > SAME_MASS * float(np.abs(M).max()):
        raise ModelError(
            "wrong-owner",
            f"about: the linear model belongs to another pose of {eqs.name!r}.",
            Advice("Give that pose: {}.", Argument("at")),
        )
    if isinstance(modes, int):
        from dalembert.linear.responses.modal import undamped_modes

        modes = undamped_modes(about, modes)
    return _Reduction(eqs, at, chart, path).equations(about, modes)


def _refuse(eqs: EquationsOfMotion, about: SecondOrder | None, modes: int | Modes | None, path: int) -> None:
    if any(row.level == ACCELERATION for row in eqs.rows):
        raise ModelError(
            "wrong-level", f"{eqs.name!r} has constraints at acceleration level: they leave no minimum coordinates."
        )
    if eqs.functions["rows"].jac_sparsity(0, 1).nnz():
        raise ModelError(
            "not-linear", f"{eqs.name!r} has constraints that are not linear in the speeds: none can be eliminated."
        )
    if depends_on_reactions(eqs) or any(joint.measure >= 0 and joint.speed is None for joint in eqs.dry):
        raise ModelError(
            "not-supported",
            f"friction in {eqs.name!r} depends on reactions, or sticks and slips: elimination leaves neither. Simulate "
            "the full equations.",
        )
    if modes is not None or about is not None:
        _refuse_linear(about, modes)
    if not (isinstance(path, int) and path > 0):
        raise DataError("not-a-count", f"path must be a positive whole number, got {path!r}.")


def _refuse_linear(about: SecondOrder | None, modes: int | Modes | None) -> None:
    from dalembert.linear import Modes, SecondOrder  # only here: equations of a mechanism load no linear systems
    from dalembert.linear.second_order import OperatingPoint

    if modes is not None and about is None:
        raise ModelError(
            "missing-argument",
            "modes need the linear model they belong to.",
            Advice("Give it: {}.", Argument("about", Call("da.linearize"))),
        )
    if about is not None and (not isinstance(about, SecondOrder) or "reference" not in about.provenance):
        raise ModelError("wrong-type", "about must be a SecondOrder.", Advice("Make it with {}.", Call("da.linearize")))
    if about is not None and about.about is not OperatingPoint.EQUILIBRIUM:
        raise ModelError("not-at-rest", "about must be a linear model about an equilibrium.")
    if isinstance(modes, Modes) and (about is None or modes.coordinates != about.coordinates):
        raise ModelError("wrong-owner", "modes belong to other coordinates than about does.")
    if isinstance(modes, Modes) and np.iscomplexobj(modes.shapes):
        raise ModelError(
            "not-supported",
            "modes are complex.",
            Advice(
                "Give a number of modes, or modes of {}.",
                Call("lin.replace", Argument("C"), Argument("G"), Argument("H")),
            ),
        )


def _reference_pose(eqs: EquationsOfMotion, about: SecondOrder) -> State:
    reference = about.provenance["reference"]
    missing = [name for name in about.coordinates if name not in reference]
    if missing:
        raise ModelError(
            "unknown-name",
            f"about: {missing[0]!r} is not a joint or body coordinate.",
            Advice("Linearize with {}.", Argument("coordinates")),
        )
    return assemble(eqs, {name: reference[name] for name in about.coordinates})


def _dense(matrix: object) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


@dataclass(frozen=True)
class _Motion:
    """Everything at (s, w): pose, speeds, W, c, γ, K of the speeds, and Wᵀ M W, Wᵀ (f - M γ)."""

    q: Any
    v: Any
    W: Any
    c: Any
    gamma: Any
    K: Any
    M: Any
    f: Any
    mass: Any
    force: Any


class _Reduction:
    """Expressions of a machine in the independent coordinates of a chart."""

    def __init__(self, eqs: EquationsOfMotion, at: State, chart: Chart, path: int) -> None:
        self.eqs, self.at, self.path = eqs, at, path
        self.positions, self.speeds = chart.positions, chart.speeds
        self.s0 = np.array([at[c.name] for c in self.positions])
        A = chart.T.A
        upper = eqs.holonomic_rows
        self.rows_p = [upper[k] for k in matrices.independent_rows(A[upper], RANK)[0]]
        self.rows_v = [eqs.rate_rows[k] for k in matrices.independent_rows(A[eqs.rate_rows], RANK)[0]]

    # -- pose and motion --------------------------------------------------------------------------------------------
    def pose(self, s: object, seed: object, p: object, t: object) -> Any:
        """q(s), or NaN where the path to it from the seed is not safe."""
        eqs, F = self.eqs, self.eqs.functions
        zero = SX.zeros(eqs.nv)
        chosen = [c.index for c in self.positions]
        phi_rows = [eqs.holonomic_rows.index(k) for k in self.rows_p]
        z, u = SX.zeros(eqs.nz), SX.zeros(eqs.nu)

        def step(q: object, target: object) -> tuple[Any, Any]:
            A, _ = F["rows"](q, zero, z, u, p, t)
            value, _, S, _ = F["measures"](q, zero, p, t)
            N, _ = F["kinematics"](q, p, t)
            phi = F["position"](q, p, t)[phi_rows]
            K = ca.vertcat(A[self.rows_p, :], S[chosen, :])
            change = solve_rows_of_joints(K, ca.vertcat(-phi, target - value[chosen]))
            return normalise(eqs, q + N @ change), ca.norm_inf(change)

        q, safe, before = normalise(eqs, seed), SX(1), ca.inf
        begin = F["measures"](q, zero, p, t)[0][chosen]
        for k in range(self.path):
            q, size = step(q, begin + (s - begin) * ((k + 1) / self.path))
            safe, before = ca.logic_and(safe, size <= GROWTH * before + CLOSED), size
        for _ in range(3):
            q, last = step(q, s)
            safe, before = ca.logic_and(safe, last <= CONTRACTION * before + CLOSED), last
        gap = F["position"](q, p, t)
        closed = ca.norm_inf(gap) <= CLOSED if gap.shape[0] else SX(1)
        found = ca.logic_and(ca.logic_and(safe, closed), last <= CLOSED)
        return ca.if_else(found, q, SX.nan(eqs.nq, 1))

    def motion(self, s: object, seed: object, w: object, z: object, u: object, p: object, t: object) -> _Motion:
        eqs, F = self.eqs, self.eqs.functions
        q = self.pose(s, seed, p, t)
        zero = SX.zeros(eqs.nv)
        A, _ = F["rows"](q, zero, SX.zeros(eqs.nz), SX.zeros(eqs.nu), p, t)
        _, rate, S, _ = F["measures"](q, zero, p, t)
        Sw, drift = self._speed_rows(S, rate)
        K = ca.vertcat(A[self.rows_v, :], Sw)
        slip = F["rates"](q, zero, p, t)[[eqs.rate_rows.index(k) for k in self.rows_v]]
        m, n = len(self.rows_v), len(self.speeds)
        solved = solve_rows_of_joints(K, ca.horzcat(ca.vertcat(SX(m, n), SX.eye(n)), ca.vertcat(-slip, -drift)))
        W, c = solved[:, :n], solved[:, n]
        v = W @ w + c
        _, b = F["rows"](q, v, z, u, p, t)
        bias = self._speed_rows(S, F["measures"](q, v, p, t)[3])[1]
        gamma = solve_rows_of_joints(K, ca.vertcat(b[self.rows_v], -bias))
        M = F["inertia"](q, p, t)
        f = F["forces"](q, v, z, u, p, t, SX.zeros(len(eqs.rows)))
        return _Motion(q, v, W, c, gamma, K, M, f, W.T @ M @ W, W.T @ (f - M @ gamma))

    def _speed_rows(self, S: Any, values: Any) -> tuple[Any, Any]:
        """Rows of the independent speeds, and what goes with them (nothing, for a speed of the machine itself)."""
        own = SX.eye(self.eqs.nv)
        rows = [S[c.index, :] if c.kind == "measure" else own[c.index, :] for c in self.speeds]
        rest = [values[c.index] if c.kind == "measure" else SX(0) for c in self.speeds]
        return ca.vertcat(*rows), ca.vertcat(*rest)

    def loads(self, at: _Motion, w_dot: object) -> tuple[Any, Any]:
        """(v̇, λ) for accelerations ẇ of the independent speeds."""
        a = at.W @ w_dot + at.gamma
        lam = SX.zeros(len(self.eqs.rows))
        if self.rows_v:
            lam[self.rows_v] = solve_rows_of_joints(at.K.T, at.M @ a - at.f)[: len(self.rows_v)]
        return a, lam

    # -- equations --------------------------------------------------------------------------------------------------
    def equations(self, about: SecondOrder | None, modes: Modes | None) -> EquationsOfMotion:
        eqs, F = self.eqs, self.eqs.functions
        T = np.eye(len(self.positions)) if modes is None else np.asarray(modes.shapes, dtype=float)
        own = SX.eye(len(self.speeds)) if modes is None else SX(ca.DM(T))  # w = own @ (speeds of the result)
        nq, nv = T.shape[1], own.shape[1]
        sym = SX.sym
        x, y, z, u = sym("q", nq), sym("v", nv), sym("z", eqs.nz), sym("u", eqs.nu)
        seed = sym("seed", eqs.nq)
        p, t, lam, a = sym("p", len(eqs.parameters)), sym("t"), sym("lam", 0), sym("a", nv)
        s = x if modes is None else self.s0 + T @ x
        at = self.motion(s, seed, own @ y, z, u, p, t)
        mass, force = own.T @ at.mass @ own, own.T @ at.force
        own_acceleration = ca.solve(mass, force)
        v_dot, reaction = self.loads(at, own @ a)
        _, own_reaction = self.loads(at, own @ own_acceleration)
        value, rate, S, bias = F["measures"](at.q, at.v, p, t)
        S_own, bias = S @ at.W @ own, S @ at.gamma + bias
        chosen = [c.index for c in self.positions]
        made: dict[str, list[Any]] = {}
        N, n = F["kinematics"](at.q, p, t)
        if modes is None:
            still = F["measures"](at.q, SX.zeros(eqs.nv), p, t)[1][chosen]
            ahead, drift = S[chosen, :] @ at.W, S[chosen, :] @ at.c + still
        else:
            ahead, drift = SX.eye(nq), SX.zeros(nq)
            value, rate = ca.vertcat(value, x), ca.vertcat(rate, y)
            S_own, bias = ca.vertcat(S_own, SX.eye(nq)), ca.vertcat(bias, SX.zeros(nq))
        # without its zeros: filters name errors after the coordinates that a speed moves
        made["kinematics"] = [ca.sparsify(ca.vertcat(ahead, N @ at.W @ own)), ca.vertcat(drift, N @ at.c + n)]
        made["inertia"], made["forces"] = [mass], [force]
        if about is not None:
            linear = about if modes is None else about.modal(modes=modes)
            M, C, K, B = (ca.DM(_dense(m)) for m in (linear.M, linear.C_full, linear.K_full, linear.B))
            u0 = [about.provenance["reference"][name] for name in eqs.inputs.names]
            deviation = x - self.s0 if modes is None else x
            made["inertia"], made["forces"] = [SX(M)], [M @ own_acceleration]
            push = B @ (u - ca.DM(u0)) if eqs.nu else SX.zeros(nv)
            made["remainder"] = [push - C @ y - K @ deviation - M @ own_acceleration]
        made["position"] = made["rates"] = made["reactions"] = [SX(0, 1)]
        made["rows"] = [SX(0, nv), SX(0, 1)]
        made["internal"] = [F["internal"](at.q, at.v, z, u, p, t, own_reaction)]
        made["outputs"] = [F["outputs"](at.q, at.v, v_dot, reaction, z, u, p, t)]
        made["energy"] = list(F["energy"](at.q, at.v, z, p, t))
        made["power"] = [F["power"](at.q, at.v, z, u, p, t, own_reaction)]
        made["measures"] = [value, rate, S_own, bias]
        made["joint_axes"] = [SX(3, 0)]
        symbols = {"q": ca.vertcat(x, seed), "v": y, "z": z, "u": u, "p": p, "t": t, "lam": lam, "a": a}
        functions = {
            name: ca.Function(name, [symbols[k] for k in ARGUMENTS[name].split()], parts, {"cse": True})
            for name, parts in made.items()
        }
        return self._name_equations(functions, modes, nq)

    def _name_equations(self, functions: dict[str, ca.Function], modes: Modes | None, nq: int) -> EquationsOfMotion:
        eqs = self.eqs
        measures, rates = eqs.measures, eqs.measure_rates
        seeds = [
            (f"{name}.seed", unit) for name, unit in zip(eqs.coordinates.names, eqs.coordinates.units, strict=True)
        ]
        if modes is None:
            coordinates = _channels([*((c.name, c.unit) for c in self.positions), *seeds])
            speeds = _channels([(c.rate_name, c.rate_unit) for c in self.speeds])
            start = (*self.s0, *self.at.q)
        else:
            own = [(f"mode{k + 1}", "") for k in range(nq)]
            coordinates, speeds = _channels([*own, *seeds]), _channels([(f"{name}.rate", "1/s") for name, _ in own])
            start = (*np.zeros(nq), *self.at.q)
            measures = Channels((*measures.names, *coordinates.names[:nq]), (*measures.units, *coordinates.units[:nq]),
                                (*measures.owners, *coordinates.owners[:nq]))  # fmt: skip
            rates = Channels((*rates.names, *speeds.names), (*rates.units, *speeds.units))
        return EquationsOfMotion(
            name=eqs.name, coordinates=coordinates, speeds=speeds, internal=eqs.internal, inputs=eqs.inputs,
            parameters=eqs.parameters, parameter_values=eqs.parameter_values, measures=measures, measure_rates=rates,
            outputs=eqs.outputs, rows=(), joints=(), functions=functions,
            placement=Placement(tuple(map(float, start)), tuple(map(float, eqs.state().z))), shorthands=eqs.shorthands,
            recorded_measures=tuple(range(len(measures))), scene=None if eqs.quaternions else eqs.scene,
            resting_inputs=eqs.resting_inputs, unrecorded=eqs.unrecorded | {name for name, _ in seeds},
            elastic=() if modes is not None else tuple(name for name in eqs.elastic if name in coordinates.index),
        )  # fmt: skip


def _channels(pairs: list[tuple[str, str]]) -> Channels:
    return Channels([name for name, _ in pairs], [unit for _, unit in pairs])
