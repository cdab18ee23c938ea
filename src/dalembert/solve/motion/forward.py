"""Forward dynamics of one state: accelerations, multipliers and reactions, by several methods and by the run's own.

    M v̇ = f(λ) + Aᵀλ ,  A v̇ = b

The matrices come from the graph; NumPy decides the rank (`constrained.matrices`). ``"graph"`` is the expression that
simulations step with, so that the others judge it. Where forces depend on reactions (Coulomb friction), λ is found
by iteration (`reaction_friction`).

A wanted behaviour s̈ = a of named coordinates is a constraint too, S v̇ = a - bias: Sᵀμ is the force that enforces it, μ
the effort along each coordinate (Udwadia and Kalaba 1996, ch. 3). A force C that comes with the
joints and does work (not ideal) enters as f + C; the force of the joints is then C + Aᵀλ (ibid., ch. 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import casadi as ca
import numpy as np

from dalembert.core.arguments import real_number
from dalembert.core.errors import ConvergenceError, DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Call
from dalembert.core.tables import align_columns
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array, Kernel
from dalembert.record import Record
from dalembert.solve.constrained import matrices
from dalembert.solve.constrained.methods.augmented_lagrangian import PENALTY, augmented_lagrangian, penalise
from dalembert.solve.constrained.methods.kkt import kkt
from dalembert.solve.constrained.methods.null_space import null_space
from dalembert.solve.constrained.methods.udwadia_kalaba import heavier, udwadia_kalaba, udwadia_phohomsiri
from dalembert.solve.constrained.redundancy import UNIQUE, free_multipliers, reaction_sizes, unique_reactions
from dalembert.solve.constrained.solve import Baumgarte, depends_on_reactions, stabilisation
from dalembert.solve.integrate.inputs import read_inputs
from dalembert.solve.integrate.stick_slip import fix_modes
from dalembert.solve.motion.reaction_friction import (
    ConstrainedSystem,
    force_slopes,
    forces_at,
    solve_by_graph,
    solve_with_friction,
)
from dalembert.solve.motion.recorded_accelerations import accelerations_along
from dalembert.solve.position.assemble import state_or_rest
from dalembert.solve.position.tangent import named_values, require_mapping, speed_numbers


@dataclass(frozen=True)
class SolveSettings:
    """Settings of the solve, of which each method takes its own; names are those of the speeds."""

    tolerance: float
    alpha: float | None
    basis: str | None
    independent: list[int] | None
    names: Sequence[str]
    penalty: float


@dataclass(frozen=True)
class SolutionMethod:
    """A way to solve M v̇ = f + Aᵀ λ, A v̇ = b.

    solve : from M, f, A, b and the settings to v̇ and λ; None: the native solve of runs.
    options : arguments of `forward_dynamics` that belong to it.  exact : whether the rows are met to rounding.
    """

    solve: Callable[[Array, Array, Array, Array, SolveSettings], tuple[Array, Array]] | None
    options: tuple[str, ...] = ()
    exact: bool = True


def _udwadia_kalaba(M: Array, f: Array, A: Array, b: Array, s: SolveSettings) -> tuple[Array, Array]:
    result = udwadia_kalaba(M, f, A, b, alpha=1.0 if s.alpha is None else s.alpha, tolerance=s.tolerance)
    return result.acceleration, result.lam


def _null_space(M: Array, f: Array, A: Array, b: Array, s: SolveSettings) -> tuple[Array, Array]:
    basis = s.basis or ("svd" if s.independent is None else "partition")
    return null_space(M, f, A, b, method=basis, independent=s.independent, names=s.names, tolerance=s.tolerance)


SOLUTION_METHODS = {
    "udwadia_kalaba": SolutionMethod(_udwadia_kalaba, ("alpha",)),
    "kkt": SolutionMethod(lambda M, f, A, b, s: kkt(M, f, A, b, tolerance=s.tolerance)),
    "null_space": SolutionMethod(_null_space, ("basis", "independent")),
    "augmented_lagrangian": SolutionMethod(lambda M, f, A, b, s: augmented_lagrangian(M, f, A, b)),
    "graph": SolutionMethod(None),
    "udwadia_phohomsiri": SolutionMethod(lambda M, f, A, b, s: udwadia_phohomsiri(M, f, A, b, tolerance=s.tolerance)),
    "penalty": SolutionMethod(lambda M, f, A, b, s: penalise(M, f, A, b, penalty=s.penalty), exact=False),
}
METHODS = tuple(name for name, one in SOLUTION_METHODS.items() if one.exact)


@dataclass(frozen=True)
class Reaction:
    """What a joint does to its second body, at the joint's point.

    force (2 or 3,) [N] and torque (1 or 3,) [N m] in world axes and in the axes of the joint's first frame; `unique`
    shows whether the joints determine it (the equations do not determine how redundant joints share their load).
    """

    force: Array
    torque: Array
    joint_force: Array
    joint_torque: Array
    unique: bool


@dataclass(frozen=True)
class Rank:
    """Rank of the constraint rows at one state, decided with the relative `tolerance`."""

    rows: int
    rank: int
    dof: int
    tolerance: float

    @property
    def redundant(self) -> int:
        return self.rows - self.rank


@dataclass(frozen=True, eq=False)
class ForwardSolution:
    """Accelerations of a machine in a state, the reactions of its joints, and what its sensors show.

    ``sol["tip.x"]`` is the value of a sensor, ``sol["A.force.x"]`` a reaction in world axes, ``sol["crank.vx"]`` the
    time derivative of a speed or rate, ``sol["A.angle"]`` the second derivative of a coordinate.

    acceleration : v̇ (nv,).  lam : multipliers (rows,), of minimum norm.  zdot : rates of internal states.
    free, correction : a and a_c with v̇ = a + a_c.  violation : e = b - A a.  force : Q_c = Aᵀλ, plus forces that are
        not ideal.
    control : (nv,) force that makes the wanted accelerations; efforts : its part along each coordinate [N, N m].
    outputs : values of the sensors.  loads : values of the equations' reaction channels.
    reactions : by joint.  unique : by owner of rows (joints, gears, drivers, constraints).
    self_stress : (rows, k), orthonormal multipliers that push nothing, of k redundant rows: λ + self_stress h gives the
        same motion for every h (k,).
    residuals : "motion" of M v̇ = f + Aᵀλ and "rows" of A v̇ = b, each relative to its largest term; "friction" the last
        change of λ, relative.
    """

    state: State
    method: str
    acceleration: Array
    lam: Array
    zdot: Array
    free: Array
    correction: Array
    violation: Array
    force: Array
    control: Array
    efforts: Mapping[str, float]
    outputs: Array
    loads: Array
    reactions: Mapping[str, Reaction]
    unique: Mapping[str, bool]
    self_stress: Array
    rank: Rank
    residuals: Mapping[str, float]

    def __getitem__(self, name: str) -> float:
        eqs, s = self.state.eqs, self.state
        name = eqs.full_name(name)
        if name in eqs.speeds.index:
            return float(self.acceleration[eqs.speeds.index[name]])
        for channels in (eqs.measures, eqs.measure_rates):
            if name in channels.index:
                _, _, S, bias = eqs.kernel("measures")(s.q, s.v, eqs.p, s.t)
                k = channels.index[name]
                return float(np.reshape(S, (-1, eqs.nv))[k] @ self.acceleration + bias[k])
        for channels, values in ((eqs.outputs, self.outputs), (eqs.reaction_channels, self.loads)):
            if name in channels.index:
                return float(values[channels.index[name]])
        known = (*eqs.outputs.names, *eqs.speeds.names, *eqs.measures.names, *eqs.measure_rates.names,
                 *eqs.reaction_channels.names)  # fmt: skip
        what = "sensor, acceleration or reaction"
        raise DataError("unknown-name", unknown_name(what, name, known, f"a solution of {eqs.name!r}"))

    def table(self) -> str:
        """Sensors and reactions with their units; reactions that redundant joints leave open are marked."""
        eqs = self.state.eqs
        size = sum(reaction_sizes(eqs)) if self.reactions else 0
        undetermined = {
            eqs.reaction_channels.names[joint.reaction + k]
            for joint in eqs.joints if joint.reaction >= 0 and not self.unique.get(joint.name, True)
            for k in range(size)
        }  # fmt: skip
        rows = [
            (name, f"{value:.6g}", unit, "not unique" if name in undetermined else "")
            for channels, values in ((eqs.outputs, self.outputs), (eqs.reaction_channels, self.loads))
            for name, unit, value in zip(channels.names, channels.units, values, strict=True)
        ]
        return align_columns(("", "value", "unit", ""), rows, left=(0, 2, 3))

    def __repr__(self) -> str:
        eqs = self.state.eqs
        lines = [f"ForwardSolution({eqs.name!r}, t={self.state.t:g}, {self.method}, {self.rank.dof} dof)"]
        for name in eqs.speeds.names[:12]:
            lines.append(f"  d/dt {name:<16} {self[name]: .6g}")
        if eqs.nv > 12:
            lines.append(f"  ... {eqs.nv} speeds in all")
        for name, r in list(self.reactions.items())[:12]:
            note = "" if r.unique else "   (not unique)"
            lines.append(f"  {name:<8} force {np.array2string(r.force, precision=6)} N{note}")
        return "\n".join(lines)


def system_at(
    eqs: EquationsOfMotion, state: State, inputs: Mapping[str, Any] | Record | None = None
) -> ConstrainedSystem:
    """M, A, b and the inputs u, as numbers at a state."""
    bound = read_inputs(eqs, inputs)
    if not bound.span[0] <= state.t <= bound.span[1]:
        raise DataError(
            "record-too-short",
            f"a record given as input covers {bound.span[0]:g} to {bound.span[1]:g} s; "
            f"the state is at t = {state.t:g} s.",
        )
    u = bound.values(eqs, np.array([state.t]))[0] if eqs.nu else np.zeros(0)
    M = np.reshape(eqs.kernel("inertia")(state.q, eqs.p, state.t)[0], (eqs.nv, eqs.nv))
    A, b = eqs.kernel("rows")(state.q, state.v, state.z, u, eqs.p, state.t)
    A = np.reshape(A, (len(eqs.rows), eqs.nv))
    if not (np.isfinite(M).all() and np.isfinite(A).all() and np.isfinite(b).all()):
        raise ModelError("not-finite", f"equations {eqs.name!r} hold values that are not finite at t = {state.t:g} s.")
    return ConstrainedSystem(M, A, np.reshape(b, -1), u)


@overload
def forward_dynamics(
    eqs: EquationsOfMotion, state: Record, *, inputs: Mapping[str, Any] | Record | None = None
) -> Record: ...
@overload
def forward_dynamics(
    eqs: EquationsOfMotion,
    state: State | None = None,
    *,
    inputs: Mapping[str, Any] | Record | None = None,
    accelerations: Mapping[str, float] | None = None,
    nonideal: Mapping[str, float] | None = None,
    method: str = "udwadia_kalaba",
    stabilise: Baumgarte | None = None,
    alpha: float | None = None,
    basis: str | None = None,
    independent: Iterable[str] | None = None,
    tolerance: float = matrices.RANK_TOLERANCE,
) -> ForwardSolution: ...
def forward_dynamics(
    eqs: EquationsOfMotion,
    state: State | Record | None = None,
    *,
    inputs: Mapping[str, Any] | Record | None = None,
    accelerations: Mapping[str, float] | None = None,
    nonideal: Mapping[str, float] | None = None,
    method: str = "udwadia_kalaba",
    stabilise: Baumgarte | None = None,
    alpha: float | None = None,
    basis: str | None = None,
    independent: Iterable[str] | None = None,
    tolerance: float = matrices.RANK_TOLERANCE,
) -> ForwardSolution | Record:
    """Accelerations, reactions and sensors in a state; accelerations at all states of a record.

    Parameters
    ----------
    state : from `da.assemble`; None is the drawing's pose at rest. A Record with all states of the machine (a simulated
        run) gives a Record of the accelerations by the solve of runs, all states in one batch; of the options only
        `inputs` counts then, and without it the inputs in the record act.
    inputs : channel -> number, function of time, or Record; inputs that are left out are zero.
    accelerations : wanted second derivatives of coordinates, ``{"A.angle": 5.0}``: the solution's ``efforts`` are the
        forces and torques along them that make it so, at least one set of them where more is wanted than can move.
    nonideal : forces the joints exert beyond their ideal reactions, by speed: ``{"block.vx": -3.0}`` [N, N m]. Only
        what the joints let through moves anything.
    method : "udwadia_kalaba", "kkt", "null_space" (Maggi), "augmented_lagrangian", "udwadia_phohomsiri" (a mass matrix
        of any rank), or "graph", the solve that simulations use. They agree wherever the rows are consistent and the
        pose is not nearly singular. "penalty" meets the rows up to the reciprocal of its penalty only.
    stabilise : `dalembert.solve.Baumgarte` feeds gaps of the joints back: b - 2 b₁ b₂ φ̇ - b₂² φ instead of b; its
        ``penalty`` is that of the method "penalty".
    alpha : of "udwadia_kalaba": share α² A⁺A added to a singular mass matrix, 1 when left out; no result depends on it.
    basis : of "null_space": complement of the rows by "svd" (when left out), "qr", or "partition" into dependent and
        `independent` speeds, named or found.
    tolerance : singular values of the rows below this share of the largest count as zero.

    Where friction is exact, a coordinate at rest inside its limit sticks: its effort is among the multipliers. (With
    `accelerations`, `nonideal` or `stabilise` the regularised law replaces it.)

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True)
    >>> bob = m.add_body("bob", mass=2.0, inertia=0.0)
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), bob.at(-0.5, 0))
    >>> eqs = da.equations(m)
    >>> sol = da.forward_dynamics(eqs, da.assemble(eqs, {"hinge.angle": 0.0}))
    >>> round(sol["hinge.rate"], 9), round(sol["bob.vy"], 9)
    (-19.62, -9.81)
    >>> round(da.forward_dynamics(eqs, da.equilibrium(eqs))["hinge.force.y"], 6)
    19.62
    """
    if isinstance(state, Record):
        return accelerations_along(eqs, state, inputs)
    if not isinstance(method, str) or method not in SOLUTION_METHODS:
        raise ModelError("unknown-choice", unknown_name("method", method, SOLUTION_METHODS, "da.forward_dynamics"))
    for option, value in (("alpha", alpha), ("basis", basis), ("independent", independent)):
        if value is not None and option not in SOLUTION_METHODS[method].options:
            owner = next(name for name, one in SOLUTION_METHODS.items() if option in one.options)
            raise ModelError("conflicting-arguments", f"{option} belongs to the method {owner!r}, not to {method!r}.")
    if stabilise is not None and not isinstance(stabilise, Baumgarte):
        raise ModelError("wrong-type", f"stabilise must be a dalembert.solve.Baumgarte, got {stabilise!r}.")
    tolerance, alpha = real_number("tolerance", tolerance), None if alpha is None else real_number("alpha", alpha)
    if method == "graph" and (accelerations or nonideal):
        raise ModelError(
            "conflicting-arguments",
            "the method 'graph' is the solve of runs: it takes neither accelerations nor nonideal forces.",
        )
    state = state_or_rest(eqs, state) if state is None or stabilise is None else state  # feedback closes joints
    if eqs.stick_slip is not None and accelerations is None and nonideal is None and stabilise is None:
        u = read_inputs(eqs, inputs).values(eqs, np.array([state.t]))[0]
        near = fix_modes(eqs, state, u)
        eqs, state = near.eqs, near.state
    system = system_at(eqs, state, inputs)
    given = _nonideal(eqs, nonideal)
    S, wanted = _make_rows(eqs, state, accelerations)
    M, A, b = system.M, system.A, system.b
    matrices.realizability(M, A, eqs.speeds.names, tolerance=tolerance)
    Z = free_multipliers(A, tolerance)
    friction = depends_on_reactions(eqs)
    if friction:
        _refuse_undecided_friction(eqs, state, system, Z)
    count = len(b)
    if stabilise is not None:
        b = b + _feedback(eqs, state, stabilise)
    solution = SOLUTION_METHODS[method].solve
    if solution is None:
        acceleration, lam, change = solve_by_graph(eqs, state, system.u, friction, stabilise)
        efforts = np.zeros(0)
    else:
        all_rows = ConstrainedSystem(M, np.vstack((A, S)), np.concatenate((b, wanted)), system.u)
        chosen = None if independent is None else speed_numbers(eqs, independent)
        penalty = PENALTY if stabilise is None or stabilise.penalty is None else stabilise.penalty
        settings = SolveSettings(tolerance, alpha, basis, chosen, eqs.speeds.names, penalty)
        acceleration, lam, change = solve_with_friction(
            eqs, state, all_rows, lambda f, b: solution(M, f, all_rows.A, b, settings), friction, given
        )
        lam, efforts = lam[:count], lam[count:]
    f = forces_at(eqs, state, system.u, lam)
    heavy_M, heavy_f = M, f
    if matrices.is_singular(M):  # a mass made regular by the rows
        heavy_M, heavy_f = heavier(M, f, A, b, tolerance=tolerance)
    free: Array = np.asarray(np.linalg.solve(heavy_M, heavy_f))
    unique = unique_reactions(eqs, state, Z)
    (zdot,) = eqs.kernel("internal")(state.q, state.v, state.z, system.u, eqs.p, state.t, lam)
    at = (state.q, state.v, acceleration, lam, state.z, system.u, eqs.p, state.t)
    (loads,) = eqs.kernel("reactions")(*at)
    outputs = np.ravel(eqs.kernel("outputs")(*at)[0]) if eqs.ny else np.zeros(0)
    force, control = A.T @ lam + given, S.T @ efforts
    residuals = {
        "motion": _share(M @ acceleration - f - force - control, M @ acceleration, f, force, control),
        "rows": _share(A @ acceleration - b, np.abs(A) @ np.abs(acceleration), b),
        "friction": change,
    }
    if not all(np.isfinite(x).all() for x in (acceleration, lam, zdot)):
        raise ConvergenceError("not-finite", f"accelerations of {eqs.name!r} are not finite (method {method!r}).")
    return ForwardSolution(
        state=state,
        method=method,
        acceleration=acceleration,
        lam=lam,
        zdot=zdot,
        free=free,
        correction=acceleration - free,
        violation=b - A @ free,
        force=force,
        control=control,
        efforts=dict(zip(map(eqs.full_name, accelerations or ()), map(float, efforts), strict=True)),
        outputs=outputs,
        loads=loads,
        reactions=_reactions(eqs, state, loads, unique),
        unique=unique,
        self_stress=Z,
        rank=Rank(len(eqs.rows), len(eqs.rows) - Z.shape[1], eqs.nv - len(eqs.rows) + Z.shape[1], tolerance),
        residuals=residuals,
    )


def _share(difference: Array, *terms: Array) -> float:
    size = max((float(np.abs(term).max(initial=0.0)) for term in terms), default=0.0)
    return float(np.abs(difference).max(initial=0.0)) / (size or 1.0)


def _nonideal(eqs: EquationsOfMotion, given: Mapping[str, float] | None) -> Array:
    force = np.zeros(eqs.nv)
    for name, value in require_mapping(given, "nonideal").items():
        force[speed_numbers(eqs, [name])[0]] = real_number(f"nonideal: {name!r}", value)
    return force


def _make_rows(eqs: EquationsOfMotion, state: State, given: Mapping[str, float] | None) -> tuple[Array, Array]:
    """Rows S and right-hand sides of S v̇ = wanted - bias."""
    values = named_values(eqs, given, "accelerations")
    _, _, S, bias = eqs.kernel("measures")(state.q, state.v, eqs.p, state.t)
    chosen = [eqs.measures.index[name] for name in values]
    return np.reshape(S, (-1, eqs.nv))[chosen], np.array(list(values.values())) - np.reshape(bias, -1)[chosen]


def _feedback(eqs: EquationsOfMotion, state: State, baumgarte: Baumgarte) -> Array:
    """What stabilisation adds to b, as numbers."""

    def make() -> Kernel:
        s = eqs.symbols()
        added = ca.densify(stabilisation(eqs, s, baumgarte)) if eqs.rows else ca.SX(0, 1)
        return Kernel(ca.Function("feedback", [s.q, s.v, s.p, s.t], [added]))

    kernel = eqs.cache(("feedback", baumgarte), make)
    return np.reshape(kernel(state.q, state.v, eqs.p, state.t)[0], -1)


# -- what redundancy leaves open --------------------------------------------------------------------------------------


def _refuse_undecided_friction(eqs: EquationsOfMotion, state: State, system: ConstrainedSystem, Z: Array) -> None:
    """Friction needs the part of the reaction it uses; other parts of that joint's reaction may stay open."""
    if not Z.size:
        return
    lam = np.ones(len(eqs.rows))
    slopes = force_slopes(eqs, state, system.u, lam)
    if float(np.abs(slopes @ Z).max()) <= UNIQUE * float(np.abs(slopes).max(initial=0.0)):
        return
    unique = unique_reactions(eqs, state, Z)
    names = [name for name in eqs.friction_joints if not unique.get(name, True)] or list(eqs.friction_joints)
    raise ModelError(
        "not-unique",
        f"friction in joint {', '.join(map(repr, names))} of {eqs.name!r} depends on a reaction that is not unique: "
        "the joints are redundant.",
        Advice("Replace one of them ({}) by a freer one, or leave out the Coulomb part.", Call("da.check")),
    )


def _reactions(eqs: EquationsOfMotion, state: State, values: Array, unique: Mapping[str, bool]) -> dict[str, Reaction]:
    if all(joint.reaction < 0 for joint in eqs.joints):
        return {}
    dim, turns = reaction_sizes(eqs)
    axes = None
    if "joint_axes" in eqs.functions:
        axes = np.reshape(eqs.kernel("joint_axes")(state.q, eqs.p, state.t)[0], (dim, -1))
    result = {}
    for k, joint in enumerate(eqs.joints):
        if joint.reaction < 0:
            continue
        force = values[joint.reaction : joint.reaction + dim]
        torque = values[joint.reaction + dim : joint.reaction + dim + turns]
        E = np.eye(dim) if axes is None else axes[:, dim * k : dim * (k + 1)]
        local = torque if turns == 1 else E.T @ torque
        result[joint.name] = Reaction(force, torque, E.T @ force, local, unique.get(joint.name, True))
    return result
