"""Linear models about an equilibrium or a steady motion.

With independent coordinates s, independent speeds w and internal states z, every small motion the joints allow is

    δξ = X δs ,   δv = V δs + W δw      (A_h X = 0,  S X = 1;   A W = 0,  S W = 1;   δ(rates) = 0,  δw = 0 along V)

and the linearized equations M δa - (f_λ + Aᵀ) δλ = -δR₁ , A δa = -δR₂ give δa and δλ exactly, without differentiating
a factorization. Where nothing rolls and there are no internal states the same is written as a second-order system by
projection on W: M̄ = Wᵀ M W, K̄ = Wᵀ (∂R₁/∂ξ X + ∂R₁/∂v V + M P), with P the accelerations that go with δs at s̈ = 0.
Deviations are meant throughout: the constant term vanishes only at an equilibrium, and the result is
the Jacobian, not the coefficients A(x) frozen at a point, unless that is asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError, ModelWarning, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array, Kernel
from dalembert.linear import SecondOrder, StateSpace
from dalembert.solve.integrate.inputs import read_inputs
from dalembert.solve.integrate.stick_slip import fix_modes
from dalembert.solve.position.assemble import assemble, check_start
from dalembert.solve.position.chart import Chart, solve_rows
from dalembert.solve.position.tangent import Instant, Saddle, Terms, accelerations, split
from dalembert.solve.rest.equilibrium import equilibrium
from dalembert.solve.rest.steady_motion import later


@dataclass(frozen=True)
class LinearizationLimits:
    """When an entry of a linear model passes for zero or for constant."""

    moving: float = 1e-9  # m/s or rad/s, below it a state is at rest
    steady: float = 1e-6  # relative change of the matrices along a steady motion that passes for none: far above the
    #                       error of the short reference run (some 1e-10), far below any true periodic term
    rounding: float = 1e-12  # of a sum, relative to the sum of its terms' sizes
    ignorable: float = 1e-9  # influence of a coordinate, relative to the largest entry
    nodes: int = 16  # of the mean of frozen coefficients; exact for polynomials of degree 31


LIMITS = LinearizationLimits()


def linearize(
    eqs: EquationsOfMotion,
    at: State | None = None,
    *,
    inputs: Mapping[str, Any] | None = None,
    outputs: str | Iterable[str] | None = None,
    coordinates: str | Iterable[str] | None = None,
    anywhere: bool = False,
    frozen: bool = False,
    friction: bool = True,
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
    frozen : state-dependent coefficients instead of the Jacobian: A(x), C(x) with ẋ = A(x) (x - x₀) exactly, x₀ the
        equilibrium the machine would sink to, frozen at the state `at` (any state). Deviations are from x₀.
    friction : with exact dry friction, a coordinate that sticks is held (it is no coordinate of the linear model), one
        that slides has its constant effort; False leaves Coulomb friction out of the model. A regularised law has its
        slope, which acts as viscous damping. A `ModelWarning` and ``provenance["friction"]`` say what was done.

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
    require_equations(eqs)
    if at is None:
        at = equilibrium(eqs, inputs=inputs)
    elif not isinstance(at, State):
        raise ModelError(
            "wrong-type",
            f"at must be a State, got {type(at).__name__}.",
            Advice("Make one with {}.", Call("da.equilibrium"), Call("da.assemble")),
        )
    elif at.eqs.coordinates.names != eqs.coordinates.names:
        raise ModelError("wrong-owner", f"at belongs to equations {at.eqs.name!r}, not to {eqs.name!r}.")
    check_start(eqs, at)
    u = read_inputs(eqs, inputs).values(eqs, np.array([at.t]))[0]
    eqs, at, notes = _without_dry_friction(eqs, at, u, friction)
    named = None if coordinates is None else [coordinates] if isinstance(coordinates, str) else list(coordinates)
    wanted = _wanted_outputs(eqs, outputs)
    x = accelerations(eqs, Instant(at.q, at.v, at.z, u, at.t, np.zeros(eqs.nv), at.lam))
    if frozen:
        return _freeze(eqs, x, equilibrium(eqs, start=eqs.state(at.q, None, at.z, at.t), inputs=inputs), named, wanted)
    moving = bool(np.abs(at.v).max(initial=0.0) > LIMITS.moving)
    then: Instant | None = None
    problem: ModelError | None = None
    for world in (False, True) if moving and eqs.quaternions else (False,):
        chart = Chart(eqs, x, named, world=world)
        if not chart.positions and not chart.speeds and not eqs.nz:
            raise ModelError(
                "no-freedom",
                f"nothing in {eqs.name!r} is free to move: its joints{' and drivers' if eqs.drivers else ''} decide "
                "the whole motion, so there are no small motions to linearize.",
                Advice("Use {}.", Call("da.kinematics"), Call("da.simulate")),
                *[Advice("Or leave out a driver.")] * bool(eqs.drivers),
            )
        drift = chart.drift(strict=not anywhere)
        first = _first_order(eqs, x, chart, wanted)
        if anywhere or not moving:
            break
        then = later(eqs, x) if then is None else then
        problem = _changes(eqs, chart, first, _first_order(eqs, then, chart.moved(then), wanted))
        if problem is None:
            break
    if problem is not None:
        raise problem
    what = "steady motion" if moving else "equilibrium"
    provenance: dict[str, Any] = {"made by": "da.linearize", "about": what if not anywhere else "a state"}
    if anywhere:
        provenance["drift"] = drift
    if notes:
        provenance["friction"] = notes
    provenance |= _reference(eqs, at, x, chart, first.outputs)
    return _result(eqs, chart, first, provenance)


def _without_dry_friction(
    eqs: EquationsOfMotion, at: State, u: Array, friction: bool
) -> tuple[EquationsOfMotion, State, dict[str, str]]:
    """Equations that can be differentiated at a state, the state, and by coordinate or contact what friction does."""
    notes: dict[str, str] = {}
    near = fix_modes(eqs, at, u, without=not friction)
    for d in (d for d in eqs.dry if d.speed is None):
        mode = near.sliding.get(d.coordinate)
        if mode is None:
            notes[d.coordinate] = f"Coulomb friction {d.name!r} is left out"
        elif mode == 0:
            share = near.share[d.coordinate]
            notes[d.coordinate] = f"held by friction {d.name!r} ({share:.1%} of its limit)"
        else:
            way = "forward" if mode > 0 else "backward"
            notes[d.coordinate] = f"slides {way}, friction {d.name!r} keeps its direction"
    inside = [d for d in eqs.dry if d.measure >= 0]
    if inside and any(d.speed is not None for d in eqs.dry):
        rate, _, limit = eqs.kernel("friction")(at.q, at.v, eqs.p, at.t, at.lam)
    for d in (d for d in eqs.dry if d.speed is not None):
        slope = ""
        if d.measure >= 0:
            assert d.speed is not None
            k = inside.index(d)
            value = float(limit[k]) * d.speed**2 / (float(rate[k]) ** 2 + d.speed**2) ** 1.5
            slope = f" of {value:.4g} {d.unit} s/{'rad' if d.unit == 'N m' else 'm'}"
        notes[d.coordinate or d.name] = f"regularised friction {d.name!r} (speed={d.speed:g}) acts as damping{slope}"
    if near.sliding or any(d.speed is not None for d in eqs.dry):
        text = "; ".join(f"{name}: {note}" for name, note in notes.items())
        held = any(mode == 0 for mode in near.sliding.values())
        advice = [Advice("Use {} to leave Coulomb friction out.", Argument("friction", False))] * held
        warnings.warn(ModelWarning("linear-friction", f"linear model of {eqs.name!r}: {text}.", *advice), stacklevel=3)
    if 0.0 in near.sliding.values() and not eqs.nz:
        A = near.eqs.kernel("rows").sparse(0, at.q, at.v, at.z, u, near.eqs.p, at.t).toarray()
        if split(A)[4].shape[1] == 0:
            raise ModelError(
                "no-freedom",
                f"friction holds every freedom of {eqs.name!r}, so nothing is left to linearize.",
                Advice("Use {} to leave it out.", Argument("friction", False)),
                Advice("A friction with a speed is smooth and can be linearized."),
            )
    return near.eqs, near.state, notes


def _reference(eqs: EquationsOfMotion, at: State, x: Instant, chart: Chart, outputs: tuple[str, ...]) -> dict[str, Any]:
    """What the deviations count from, by name, and what the machine calls the rates of the coordinates."""
    values: dict[str, float] = {}
    for c in (*chart.positions, *chart.speeds):
        if c.kind == "measure":
            values |= {c.name: at[c.name], c.rate_name: at[c.rate_name]}
        elif c.kind == "speed":
            values[c.name] = at[c.name]
    values |= {name: float(value) for name, value in zip(eqs.internal.names, x.z, strict=True)}
    values |= {name: float(value) for name, value in zip(eqs.inputs.names, x.u, strict=True)}
    if eqs.ny:
        y = np.ravel(eqs.kernel("outputs")(x.q, x.v, x.a, x.lam, x.z, x.u, eqs.p, x.t)[0])
        sensors = dict(zip(eqs.outputs.names, map(float, y), strict=True))
        values |= {name: value for name, value in sensors.items() if name in outputs}
    rates = {c.name: c.rate_name for c in chart.positions if c.kind == "measure"}
    return {"reference": values, "rates": rates}


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


def _first_order(eqs: EquationsOfMotion, x: Instant, chart: Chart, wanted: list[tuple[str, int]]) -> _FirstOrder:
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
    s_rate = chart.rows(chart.positions, 1) @ dx + chart.rows(chart.positions, 0) @ dv
    w_rate = chart.rows(chart.speeds, 2) @ dx + chart.rows(chart.speeds, 3) @ dv + chart.rows(chart.speeds, 0) @ da
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
            raise ModelError(
                "unknown-name",
                f"outputs: {unknown_name('sensor or coordinate', given, known, f'equations {eqs.name!r}')}",
            )
    return list(dict.fromkeys(wanted))


def _output_rows(
    eqs: EquationsOfMotion, x: Instant, wanted: list[tuple[str, int]], T: Terms, change: tuple[Array, ...]
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
            (
                part.reshape(eqs.ny, size) @ d
                for part, size, d in zip(parts, sizes, (dx, dv, da, dlam, dz, du), strict=True)
            ),
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
            raise ModelError(
                "not-finite",
                f"output {name!r} has no derivative at this state.",
                Advice("Leave it out with {}.", Argument("outputs")),
            )
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
    return Kernel(function)


def _result(
    eqs: EquationsOfMotion, chart: Chart, first: _FirstOrder, provenance: dict[str, Any]
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
    A = _without_cyclic(eqs, chart, first.A)
    keep = list(range(ns + nw + eqs.nz))
    dropped = [k for k, c in enumerate(chart.positions) if c not in chart.kept]
    keep = [k for k in keep if k not in dropped]
    size = float(np.abs(first.A).max(initial=0.0)) + float(np.abs(first.C).max(initial=0.0))
    for k in dropped:
        influence = np.concatenate((first.A[keep, k], first.C[:, k]))
        if float(np.abs(influence).max(initial=0.0)) > LIMITS.ignorable * size:
            raise ModelError(
                "dependent-coordinates",
                f"coordinates: {chart.positions[k].name!r} is an independent coordinate of {eqs.name!r} too, and the "
                "motion depends on it. Add it to coordinates.",
            )
    states = [*[c.name for c in chart.positions], *[c.rate_name for c in chart.speeds], *eqs.internal.names]
    state_units = [*[c.unit for c in chart.positions], *[c.rate_unit for c in chart.speeds], *eqs.internal.units]
    units = {**{states[k]: state_units[k] for k in keep if state_units[k]}, **units}
    return StateSpace(
        A[np.ix_(keep, keep)], first.B[keep], first.C[:, keep] if first.outputs else None,
        first.D if first.outputs else None, states=[states[k] for k in keep], inputs=eqs.inputs.names,
        outputs=first.outputs or None, units=units, provenance=provenance,
    )  # fmt: skip


def _without_cyclic(eqs: EquationsOfMotion, chart: Chart, A: Array) -> Array:
    """A with the columns of coordinates that no rate depends on, but for rounding, exactly zero."""
    ns, nw = len(chart.positions), len(chart.speeds)
    spin = _fastest_turning(eqs, chart)
    if spin == 0.0:
        return A
    A = A.copy()
    of_s, of_w = (np.sqrt(np.einsum("ik,ij,jk->k", D, chart.T.M, D)) for D in (chart.X, chart.W))
    limit = np.zeros((len(A), ns))
    with np.errstate(divide="ignore", invalid="ignore"):
        limit[ns : ns + nw] = np.nan_to_num(of_s / of_w[:, None] * spin**2)
    limit[:ns] = spin
    for k in range(ns):
        if np.all(np.abs(A[:, k]) <= LIMITS.rounding * limit[:, k]):
            A[:, k] = 0.0
    return A


def _second_order(eqs: EquationsOfMotion, chart: Chart, first: _FirstOrder) -> tuple[Array, Array, Array, Array]:
    """M̄, C̄, K̄, B̄ by projection; where forces depend on reactions, from the first-order form."""
    T, W, ns = chart.T, chart.W, len(chart.positions)
    M = _product(W.T, (T.M, W))
    M = 0.5 * (M + M.T)
    spin, heavy = _fastest_turning(eqs, chart), np.sqrt(np.outer(np.diag(M), np.diag(M)))
    if T.f_lam.any():
        return M, -M @ first.A[ns:, ns:], -M @ first.A[ns:, :ns], M @ first.B[ns:]
    S_x, S_v = chart.rows(chart.speeds, 2), chart.rows(chart.speeds, 3)
    S = chart.rows(chart.speeds, 0)
    X, V = chart.X, chart.V
    P = solve_rows(T.A, S, -(T.R2_x @ X + T.R2_v @ V), -(S_x @ X + S_v @ V))
    P_w = solve_rows(T.A, S, -T.R2_v @ W, -S_v @ W)
    K = _product(W.T, (T.R1_x, X), (T.R1_v, V), (T.M, P), size=heavy * spin**2)
    C = _product(W.T, (T.R1_v, W), (T.M, P_w), size=heavy * spin)
    if float(np.abs(C + C.T).max()) <= LIMITS.rounding * float(np.abs(C).max()):
        C = 0.5 * (C - C.T)  # nothing dissipates
    return M, C, K, _product(W.T, (-T.R1_u, np.eye(eqs.nu)))


def _fastest_turning(eqs: EquationsOfMotion, chart: Chart) -> float:
    """Largest angular velocity ω of the reference motion [rad/s].

    Terms of size M ω² cancel inside the derivatives where a coordinate is cyclic, and leave their rounding.
    """
    turning = [k for k, unit in enumerate(eqs.speeds.units) if unit == "rad/s"]
    return float(np.abs(chart.x.v[turning]).max(initial=0.0))


def _product(left: Array, *pairs: tuple[Array, Array], size: Array | float = 0.0) -> Array:
    """left (Σ a b), with entries that are nothing but rounding of their terms (or of `size`) set to zero."""
    total = left @ sum(a @ b for a, b in pairs)
    terms_ = np.abs(left) @ sum(np.abs(a) @ np.abs(b) for a, b in pairs) + size
    return np.asarray(np.where(np.abs(total) <= LIMITS.rounding * terms_, 0.0, total))


def _freeze(
    eqs: EquationsOfMotion, x: Instant, rest: State, named: list[str] | None, wanted: list[tuple[str, int]]
) -> StateSpace:
    """A(x) = ∫₀¹ ∂ẋ/∂x at x₀ + τ (x - x₀) dτ, by Gauss's rule: the mean of Jacobians has A(x) (x - x₀) = ẋ."""
    here = Chart(eqs, x, named, world=False)
    here.second_order = False
    if any(c.kind != "measure" for c in (*here.positions, *here.speeds)):
        raise ModelError(
            "not-supported", f"a frozen model needs joint or body coordinates that describe all of {eqs.name!r}."
        )
    end = eqs.state(x.q, x.v, x.z, x.t)
    last = _first_order(eqs, x, here, wanted)
    A, C = np.zeros_like(last.A), np.zeros_like(last.C)
    state = rest
    for node, weight in zip(*np.polynomial.legendre.leggauss(LIMITS.nodes), strict=True):
        tau = 0.5 * (1 + node)
        place = {c.name: (1 - tau) * rest[c.name] + tau * end[c.name] for c in here.positions}
        speed = {c.rate_name: tau * end[c.rate_name] for c in here.speeds}
        state = eqs.state(state.q, state.v, (1 - tau) * rest.z + tau * end.z, x.t)
        state = assemble(eqs, place, velocity=speed, start=state, t=x.t)
        y = accelerations(eqs, Instant(state.q, state.v, state.z, x.u, x.t, np.zeros(eqs.nv), x.lam))
        jacobian = _first_order(eqs, y, here.moved(y), wanted)
        A, C = A + 0.5 * weight * jacobian.A, C + 0.5 * weight * jacobian.C
    first = replace(last, A=A, C=C)
    result = _result(eqs, here, first, {"made by": "da.linearize", "about": "a state, coefficients frozen"})
    assert isinstance(result, StateSpace)
    return result


# --- steady motion ----------------------------------------------------------------------------------------------------


def _changes(eqs: EquationsOfMotion, chart: Chart, now: _FirstOrder, then: _FirstOrder) -> ModelError | None:
    """An error if the matrices are not constant along the motion."""
    if not np.all(np.isfinite(then.A)):
        return ModelError("no-solution", f"the motion of {eqs.name!r} cannot be continued from this state.")
    states = [c.name for c in chart.positions] + [c.rate_name for c in chart.speeds] + list(eqs.internal.names)
    dropped = [k for k, c in enumerate(chart.positions) if c not in chart.kept]
    change = np.abs(then.A - now.A)
    change[dropped] = 0.0
    change[:, dropped] = 0.0
    size = max(float(np.abs(now.A).max(initial=0.0)), 1e-300)
    if float(change.max(initial=0.0)) <= LIMITS.steady * size:
        moved = np.abs(np.hstack((then.C - now.C, then.D - now.D)))
        size = float(np.abs(now.C).max(initial=0.0)) + float(np.abs(now.D).max(initial=0.0)) + 1e-300
        if float(moved.max(initial=0.0)) <= LIMITS.steady * size:
            return None
        output = now.outputs[int(np.argmax(moved.max(axis=1)))]
        return ModelError(
            "not-at-rest",
            f"the output {output!r} of {eqs.name!r} does not stay the same function of the deviations along the "
            "motion.",
            Advice("Leave it out with {}.", Argument("outputs")),
        )
    drop = _cyclic(now.A, [k for k in range(len(chart.positions)) if k not in dropped], size)
    drop = [k for k in drop if float(change[k].max()) > LIMITS.steady * size]
    rest = change.copy()
    rest[drop] = 0.0
    if float(rest.max(initial=0.0)) <= LIMITS.steady * size:
        names = ", ".join(repr(states[k]) for k in drop)
        keep = [c.name for k, c in enumerate(chart.positions) if k not in drop and c in chart.kept]
        return ModelError(
            "not-at-rest",
            f"the rates of {names} change along the motion of {eqs.name!r}, but nothing depends on these coordinates.",
            Advice("Drop them: {}.", Argument("coordinates", keep)),
        )
    worst = int(np.argmax(rest.max(axis=0)))
    return ModelError(
        "not-at-rest",
        f"the motion of {eqs.name!r} is not steady in these coordinates: the influence of {states[worst]!r} changes "
        f"along it (by {rest[:, worst].max():.2g} within a third of a radian).",
        Advice(
            f"Choose {{}} without {states[worst]!r}, such as angles of joints in place of turns of a spinning body.",
            Argument("coordinates"),
        ),
    )


def _cyclic(A: Array, positions: list[int], size: float) -> list[int]:
    """The largest set of coordinates that nothing outside the set depends on."""
    found = list(positions)
    while True:
        outside = [k for k in range(len(A)) if k not in found]
        rest = [k for k in found if float(np.abs(A[outside, k]).max(initial=0.0)) <= LIMITS.ignorable * size]
        if rest == found:
            return found
        found = rest
