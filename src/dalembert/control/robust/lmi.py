"""Synthesis by linear matrix inequalities: regions of poles, H2 and H-infinity norms together (Scherer, Gahinet and
Chilali 1997).

A loop x′ = A x + B w, z = C x + D w with one matrix Π > 0 for all conditions:

    stable, in a region    `pole_region` with A Π
    ‖z/w‖∞ < γ             [[A Π + (·)ᵀ, B, (C Π)ᵀ], [Bᵀ, -γ I, Dᵀ], [C Π, D, -γ I]] < 0
    ‖z/w‖₂ < ν    [[A Π + (·)ᵀ, B], [Bᵀ, -I]] < 0 ,  [[Q, C Π], [(C Π)ᵀ, Π]] > 0 ,  tr Q < ν²

State feedback u = -K x, -K = Y Π⁻¹: A Π becomes A Π + B₂ Y, affine for every model of a family with the same Π.
Output feedback of full order: Π = [[X, I], [I, Y]] and

    A Π → [[A X + B₂ Ĉ, A + B₂ D̂ C₂], [Â, Y A + B̂ C₂]] ,   B → [B₁ + B₂ D̂ D₂₁; Y B₁ + B̂ D₂₁] ,
    C Π → [C₁ X + D₁₂ Ĉ, C₁ + D₁₂ D̂ C₂] ,   D → D₁₁ + D₁₂ D̂ D₂₁ .

One Π for all conditions and models is sufficient, not necessary: bounds are safe and may be too large. States are
balanced and the time is counted in units of the fastest model. The smallest bound is found first; at a bound larger by
the back-off the best conditioned Π is taken. What comes out counts after eigenvalues and norms of each loop confirm it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from dalembert.control.judge.reach import controllability, observability
from dalembert.control.plant import Plant, replace_fields
from dalembert.control.robust.generalized_plant import (
    Actuated,
    Disturbances,
    GeneralizedPlant,
    LoopChannels,
    Measured,
    Performance,
    choose_channels,
    partition,
    require_stabilizing_controller,
    shift_feedthrough,
)
from dalembert.control.robust.hinf import BackOff
from dalembert.control.robust.pole_region import PoleRegion
from dalembert.control.robust.synthesis import GoalValue, Synthesis, as_controller
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import ArgumentKind, Scope, checked, instance, one_of, positive
from dalembert.core.errors import ConvergenceError, DataError
from dalembert.core.findings import Advice, Argument
from dalembert.core.text import list_names
from dalembert.linear import SecondOrder, StateSpace
from dalembert.numerics.balancing import balance_system
from dalembert.numerics.matrix_inequalities import AffineMatrix, Unknowns, block, minimize

Region = Annotated[PoleRegion, instance(PoleRegion), "region of all poles of the loop"]
Norm = Annotated[str, one_of("H-infinity", "H2"), "norm from disturbances to performance outputs to make small"]
Bound = Annotated[float, positive, "limit of the norm from disturbances to performance outputs"]


def _read_family(name: str, value: Any, scope: Scope) -> tuple[StateSpace, ...]:
    one = isinstance(value, (StateSpace, SecondOrder)) or not isinstance(value, Iterable)
    systems = [value] if one else list(value)
    DataError.when(not systems, "empty", f"{name} must have a model at least.")
    models = []
    for system in systems:
        model = system.state_space() if isinstance(system, SecondOrder) else system
        problem = f"{name} must be a StateSpace or a SecondOrder, or a list of them; got {type(model).__name__}."
        DataError.when(not isinstance(model, StateSpace), "wrong-type", problem)
        models.append(model)
    first = models[0]
    for k, model in enumerate(models):
        unlike = [
            kind for kind in ("states", "inputs", "outputs", "dt") if getattr(model, kind) != getattr(first, kind)
        ]
        DataError.when(unlike, "channel-mismatch", f"model {k + 1} has other {', '.join(unlike)} than model 1.")
    DataError.when(first.dt is not None, "sample-time-mismatch",
                   "regions are for continuous models; take .sampled(dt) of the result.")  # fmt: skip
    scope |= {"model": first, "states": first.states, "inputs": first.inputs, "outputs": first.outputs}
    return tuple(models)


Family = Annotated[
    Any,
    ArgumentKind("a continuous model, or a list with the same channels", _read_family,
                 gives=("model", "states", "inputs", "outputs")),
    "linear models that one controller serves",
]  # fmt: skip


@dataclass(frozen=True)
class Conditions:
    """What every loop must fulfil: a region, limits of norms, and the norm that is minimised."""

    region: PoleRegion
    minimum: str | None
    limits: dict[str, float]

    @property
    def norms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.limits, *([self.minimum] if self.minimum else [])]))


@checked
def lmi_state_feedback(
    models: Family,
    *,
    inputs: Actuated,
    region: Region | None = None,
    minimum: Norm | None = None,
    hinf_limit: Bound | None = None,
    h2_limit: Bound | None = None,
    disturbances: Disturbances | None = None,
    performance: Performance | None = None,
    back_off: BackOff = 0.02,
) -> Synthesis:
    """One gain u = -K x for all models, by one Lyapunov matrix.

    Parameters
    ----------
    models : StateSpace or SecondOrder, or a list with the same states and channels.
    region : PoleRegion, optional
        Where all poles of all loops must be.

    Returns
    -------
    Synthesis
        Around the first model; its ``goals`` have every condition on every model.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> carts = [StateSpace([[0, 1], [-k, 0]], [0, 1], states=["x", "x.rate"], inputs="push") for k in (1.0, 2.0)]
    >>> design = lmi_state_feedback(carts, inputs="push", region=PoleRegion(damping=0.5, decay=1.0))
    >>> all(goal.holds for goal in design.goals)
    True
    """
    conditions = _conditions(region, minimum, hinf_limit, h2_limit)
    drives = tuple(inputs or ())
    _require_region(models, drives, (), conditions.region)
    first = models[0]
    every = [_with_states(model) for model in models]
    if conditions.norms or disturbances is not None or performance is not None:
        channels = choose_channels(first, disturbances, performance, (), drives)
    else:
        channels = LoopChannels(drives, first.states, (), drives)
    channels = replace(channels, outputs=first.states)
    plants, time, scale = _scaled([partition(model, channels) for model in every])
    n, m = plants[0].nx, len(drives)

    def pose(family: Sequence[GeneralizedPlant], extra: dict[str, Any]) -> tuple[Unknowns, list[_Loop]]:
        unknowns = Unknowns(X=n, Y=(m, n), **extra)
        X, Y = unknowns["X"], unknowns["Y"]
        loops = [
            _Loop(X, p.A @ X + p.B2 @ Y, unknowns.constant(p.B1), p.C1 @ X + p.D12 @ Y, unknowns.constant(p.D11))
            for p in family
        ]
        return unknowns, loops

    x, unknowns, smallest = _optimize(plants, pose, conditions, back_off, time)
    gain = np.linalg.solve(unknowns["X"].value(x), unknowns["Y"].value(x).T).T / scale  # Y X⁻¹, in the states as given
    law = as_controller(np.zeros((0, 0)), np.zeros((0, n)), np.zeros((m, 0)), gain, channels.outputs, drives)
    return _confirm(law, every, channels, conditions, smallest, back_off, "matrix inequalities, state feedback")


@checked
def lmi_output_feedback(
    system: Plant,
    *,
    outputs: Measured,
    inputs: Actuated,
    region: Region | None = None,
    minimum: Norm | None = None,
    hinf_limit: Bound | None = None,
    h2_limit: Bound | None = None,
    disturbances: Disturbances | None = None,
    performance: Performance | None = None,
    back_off: BackOff = 0.02,
) -> Synthesis:
    """A controller of the order of the plant whose loop has its poles in a region and small norms.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> cart = StateSpace([[0, 1], [0, 0]], [[0, 0, 0], [1, 0, 1]], [[1, 0], [0, 0], [1, 0]],
    ...                   [[0, 0, 0], [0, 0, 1], [0, 1, 0]], inputs=["force", "noise", "push"],
    ...                   outputs=["place", "effort", "reading"])
    >>> design = lmi_output_feedback(cart, outputs="reading", inputs="push", region=PoleRegion(damping=0.7))
    >>> bool(design.poles.damping_ratios.min() > 0.7)
    True
    """
    conditions = _conditions(region, minimum, hinf_limit, h2_limit)
    (system,) = _read_family("system", system, {})
    channels = choose_channels(system, disturbances, performance, outputs, inputs)
    require_stabilizing_controller(system, channels)
    _require_region([system], channels.inputs, channels.outputs, conditions.region)
    original = partition(system, channels)
    plants, time, _ = _scaled([original])
    n, m, p = original.nx, len(channels.inputs), len(channels.outputs)
    direct = "H2" not in conditions.norms

    def pose(family: Sequence[GeneralizedPlant], extra: dict[str, Any]) -> tuple[Unknowns, list[_Loop]]:
        shapes = {"D": (m, p)} if direct else {}
        unknowns = Unknowns(X=n, Y=n, A=(n, n), B=(n, p), C=(m, n), **shapes, **extra)
        X, Y, A, B, C = (unknowns[name] for name in "XYABC")
        D = unknowns["D"] if direct else unknowns.constant(np.zeros((m, p)))
        eye = unknowns.constant(np.eye(n))
        (g,) = family
        AX = block([
            [g.A @ X + g.B2 @ C, unknowns.constant(g.A) + g.B2 @ (D @ g.C2)], [A, Y @ g.A + B @ g.C2],
        ])  # fmt: skip
        Bw = block([[unknowns.constant(g.B1) + g.B2 @ (D @ g.D21)], [Y @ g.B1 + B @ g.D21]])
        Cz = block([[g.C1 @ X + g.D12 @ C, unknowns.constant(g.C1) + g.D12 @ (D @ g.C2)]])
        Dzw = unknowns.constant(g.D11) + g.D12 @ (D @ g.D21)
        return unknowns, [_Loop(block([[X, eye], [eye, Y]]), AX, Bw, Cz, Dzw)]

    x, unknowns, smallest = _optimize(plants, pose, conditions, back_off, time)
    values = {name: unknowns[name].value(x) for name in unknowns.matrices}
    A, B, C, D = _recover(plants[0], values)
    law = as_controller(A / time, B / time, C, D, channels.outputs, channels.inputs)
    law = shift_feedthrough(law, original.D22)
    return _confirm(law, [system], channels, conditions, smallest, back_off, "matrix inequalities, output feedback")


def _conditions(
    region: PoleRegion | None, minimum: str | None, hinf_limit: float | None, h2_limit: float | None
) -> Conditions:
    limits = {"H-infinity": hinf_limit, "H2": h2_limit}
    return Conditions(region or PoleRegion(), minimum, {name: value for name, value in limits.items() if value})


def _with_states(model: StateSpace) -> StateSpace:
    """The model with its states as further outputs, for a law that reads them."""
    missing = [k for k, name in enumerate(model.states) if name not in model.outputs]
    return model.replace(
        C=np.vstack([model.C, np.eye(model.nx)[missing]]), D=np.vstack([model.D, np.zeros((len(missing), model.nu))]),
        outputs=[*model.outputs, *(model.states[k] for k in missing)], units=dict(model.units),
    )  # fmt: skip


def _require_region(
    models: Sequence[StateSpace], inputs: tuple[str, ...], outputs: tuple[str, ...], region: PoleRegion
) -> None:
    """Refuse models with modes outside the region that no controller moves: out-of-plane modes of a planar arm."""
    for k, model in enumerate(models):
        judged = [(controllability(model, inputs=inputs), "is not reached by", inputs)]
        judged += [(observability(model, outputs=outputs), "is not seen by", outputs)] if outputs else []
        for reach, verb, names in judged:
            fixed = [
                mode for mode in reach.modes if mode.missed and not region.contains(np.array([mode.eigenvalue]))[0]
            ]
            if fixed:
                each = "; ".join(dict.fromkeys(mode.words() for mode in fixed[:4]))
                raise DataError(
                    "not-reachable",
                    f"model {k + 1}: {each} {verb} {list_names(names, {})} and is outside the region "
                    f"({region.words()}), so no controller brings it inside. Drop it from the model or damp it.",
                    where={"model": k + 1},
                    evidence={"modes": [complex(mode.eigenvalue) for mode in fixed]},
                )


def _scaled(plants: list[GeneralizedPlant]) -> tuple[list[GeneralizedPlant], float, FloatArray]:
    """Balanced states, one scale for all, and the unit of time [s] in which the fastest model has size 1."""
    size = [np.abs(np.stack([getattr(p, key) for p in plants])).max(axis=0) for key in ("A", "B1", "B2", "C1", "C2")]
    scale = balance_system(size[0], np.hstack(size[1:3]), np.vstack(size[3:]))[3]
    changed = [
        replace(p, A=p.A * scale / scale[:, None], B1=p.B1 / scale[:, None], B2=p.B2 / scale[:, None],
                C1=p.C1 * scale, C2=p.C2 * scale)
        for p in plants
    ]  # fmt: skip
    rate = max(float(np.abs(np.linalg.eigvals(p.A)).max(initial=0.0)) for p in changed)
    time = 1.0 / (rate or 1.0)
    return [replace(p, A=time * p.A, B1=time * p.B1, B2=time * p.B2) for p in changed], time, scale


@dataclass(frozen=True)
class _Loop:
    """Π, A Π, B, C Π and D of one loop, affine in the unknowns."""

    Pi: AffineMatrix
    AX: AffineMatrix
    B: AffineMatrix
    CX: AffineMatrix
    D: AffineMatrix

    def inequalities(self, region: PoleRegion, unknowns: Unknowns, time: float) -> list[AffineMatrix]:
        """Of the region, and of the norms whose limits are among the unknowns."""
        both = self.AX + self.AX.T
        lines = [self.Pi, *region.inequalities(self.Pi, self.AX, time)]
        if "gamma" in unknowns.matrices:
            inputs, outputs = (unknowns["gamma"].times(np.eye(size)) for size in (self.B.shape[1], self.CX.shape[0]))
            lines.append(-block([
                [both, self.B, self.CX.T], [self.B.T, -inputs, self.D.T], [self.CX, self.D, -outputs],
            ]))  # fmt: skip
        if "Q" in unknowns.matrices:
            lines.append(-block([[both, self.B], [self.B.T, unknowns.constant(-np.eye(self.B.shape[1]))]]))
            lines.append(block([[unknowns["Q"], self.CX], [self.CX.T, self.Pi]]))
        return lines


Pose = Callable[[Sequence[GeneralizedPlant], dict[str, Any]], tuple[Unknowns, list[_Loop]]]


def _optimize(
    plants: list[GeneralizedPlant], pose: Pose, conditions: Conditions, back_off: float, time: float
) -> tuple[FloatArray, Unknowns, float]:
    """Unknowns of the best conditioned Π at the smallest bound with back-off, and this smallest bound."""
    limits, smallest, solution = dict(conditions.limits), np.inf, None
    if conditions.minimum:
        solution = _solve(plants, pose, conditions, limits, time, conditions.minimum)
        if solution is None:
            raise _infeasible(plants, pose, conditions, time)
        smallest = _norm(solution, conditions.minimum, time)
        limits[conditions.minimum] = min((1.0 + back_off) * smallest, limits.get(conditions.minimum, np.inf))
    better = _solve(plants, pose, conditions, limits, time, "condition")
    if better is None and solution is None:
        raise _infeasible(plants, pose, conditions, time)
    return (*(better or solution), smallest)  # type: ignore[misc]


def _norm(solution: tuple[FloatArray, Unknowns], norm: str, time: float) -> float:
    x, unknowns = solution
    if norm == "H-infinity":
        return float(unknowns["gamma"].value(x)[0, 0])
    return float(np.sqrt(np.trace(unknowns["Q"].value(x)) / time))


def _solve(
    plants: Sequence[GeneralizedPlant], pose: Pose, conditions: Conditions, limits: dict[str, float], time: float,
    goal: str, strict: float = 1e-7, inside: float = 1e-3,
) -> tuple[FloatArray, Unknowns] | None:  # fmt: skip
    """Unknowns that minimise a norm or the condition of Π.

    strict : eigenvalue of a matrix that counts as above zero, where the fastest model has size 1.  inside : share by
    which the region is smaller than asked for, so that no last digit of the solver decides.
    """
    extra: dict[str, Any] = {"t": (1, 1)} if goal == "condition" else {}
    if "H-infinity" in conditions.norms:
        extra["gamma"] = (1, 1)
    if "H2" in conditions.norms:
        extra["Q"] = len(plants[0].C1)
    unknowns, loops = pose(plants, extra)
    wanted = conditions.region
    region = PoleRegion(
        damping=wanted.damping + inside * (1.0 - wanted.damping) * bool(wanted.damping),
        decay=wanted.decay * (1.0 + inside), radius=None if wanted.radius is None else wanted.radius * (1.0 - inside),
    )  # fmt: skip
    lines = [line for loop in loops for line in loop.inequalities(region, unknowns, time)]
    for norm, limit in limits.items():
        value = unknowns["gamma"] if norm == "H-infinity" else unknowns["Q"].trace()
        lines.append(np.array([[limit if norm == "H-infinity" else time * limit**2]]) - value)
    if goal == "condition":
        eye = np.eye(loops[0].Pi.shape[0])
        bound = unknowns["t"].times(eye)
        lines += [bound - loops[0].Pi, block([[bound, unknowns.constant(eye)], [unknowns.constant(eye), loops[0].Pi]])]
    names = {"condition": "t", "H-infinity": "gamma", "H2": "Q"}
    gradient = unknowns[names[goal]].trace().rows.toarray().ravel()[:-1]
    slack = strict if goal == "condition" else np.inf  # the smallest norm may need a nearly singular Π
    x = minimize(gradient, [line - strict * np.eye(line.shape[0]) for line in lines], slack=slack)
    return None if x is None else (x, unknowns)


def _infeasible(plants: list[GeneralizedPlant], pose: Pose, conditions: Conditions, time: float) -> ConvergenceError:
    """The reason in words: a single model, the limits, or one matrix for all models."""
    alone = [_solve([plant], pose, conditions, conditions.limits, time, "condition") is not None for plant in plants]
    limits = [f"{name} norm below {value:g}" for name, value in conditions.limits.items()]
    wanted = list_names([conditions.region.words(), *limits], {})
    where = {"models": [k + 1 for k, feasible in enumerate(alone) if not feasible]}
    if len(plants) > 1 and all(alone):
        problem = (
            f"infeasible: each of the {len(plants)} models alone reaches {wanted}, but no one matrix X serves all."
        )
        advice = "Ask for less, take fewer models, or a controller of fixed structure, which needs no common matrix."
    elif limits and _solve(plants, pose, replace(conditions, limits={}, minimum=None), {}, time, "condition"):
        problem = f"infeasible: the region is reached, but not together with {list_names(limits, {})}."
        advice = "Raise the limit, or leave it out and minimise the norm."
    else:
        failing = f"model {where['models'][0]} alone" if where["models"] else "the model"
        problem = f"infeasible: {failing} does not reach {wanted} with one Lyapunov matrix for all conditions."
        advice = "Ask for less damping, decay or a larger radius; norms and region share one matrix, which is cautious."
    return ConvergenceError("infeasible", problem, Advice(advice), where=where)


def _recover(
    plant: GeneralizedPlant, values: dict[str, FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The controller from Â, B̂, Ĉ, D̂: M Nᵀ = I - X Y by its singular values."""
    X, Y, A, B, C = (values[name] for name in "XYABC")
    D = values.get("D", np.zeros((len(C), B.shape[1])))
    U, sigma, Vt = np.linalg.svd(np.eye(len(X)) - X @ Y)
    root = np.sqrt(sigma)
    M, N = U * root, Vt.T * root
    C_k = np.linalg.solve(M, (C - D @ plant.C2 @ X).T).T
    B_k = np.linalg.solve(N, B - Y @ plant.B2 @ D)
    inner = A - N @ B_k @ plant.C2 @ X - Y @ plant.B2 @ C_k @ M.T - Y @ (plant.A + plant.B2 @ D @ plant.C2) @ X
    return np.linalg.solve(M, np.linalg.solve(N, inner).T).T, B_k, C_k, D


def _confirm(
    law: StateSpace, models: Sequence[StateSpace], channels: LoopChannels, conditions: Conditions, smallest: float,
    back_off: float, method: str, rounding: float = 1e-6,
) -> Synthesis:  # fmt: skip
    """The design after eigenvalues and norms of every loop; ``rounding``: share of a limit that may be exceeded."""
    goals: list[GoalValue] = []
    designs = [
        Synthesis(law, model, channels.disturbances, channels.performance, method=method,
                  norm=conditions.minimum or "H-infinity", bounds=(0.0, smallest),
                  back_off=back_off if conditions.minimum else 0.0)
        for model in models
    ]  # fmt: skip
    limits = dict(conditions.limits)
    if conditions.minimum:
        limits.setdefault(conditions.minimum, (1.0 + back_off) * smallest)
    region = conditions.region
    for k, design in enumerate(designs):
        model, poles = f"model {k + 1}", design.poles
        inside = bool(region.contains(poles.values).all()) and design.is_stable
        values = [("least damping", float(poles.damping_ratios.min()), region.damping)] * bool(region.damping)
        values.append(("slowest decay", -float(poles.values.real.max()), region.decay))
        values += [] if region.radius is None else [("largest modulus", design.fastest, region.radius)]
        goals += [GoalValue(goal, model, value, limit, True, inside) for goal, value, limit in values]
        for norm, limit in limits.items():
            gain = design.peak.gain if norm == "H-infinity" else design.channel().h2_norm()
            goals.append(GoalValue(f"{norm} norm", model, gain, limit, norm in conditions.limits,
                                   gain <= (1.0 + rounding) * limit))  # fmt: skip
    failed = [goal for goal in goals if not goal.holds]
    if failed:
        each = "; ".join(
            f"{goal.goal} of {goal.model} is {goal.value:.6g}, limit {goal.limit:.6g}" for goal in failed[:4]
        )
        raise ConvergenceError(
            "no-convergence",
            f"the solver's answer is not confirmed by the loops: {each}. The problem is nearly infeasible.",
            Advice("Ask for less, or give {} [rad/s], which bounds the gains.", Argument("radius")),
        )
    return replace_fields(designs[0], goals=tuple(goals))  # type: ignore[no-any-return]
