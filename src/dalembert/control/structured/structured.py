"""Controllers of fixed structure for many models at once, by non-smooth optimisation (Apkarian and Noll 2006).

    minimise  max over models of the soft goals   subject to   r ≤ 1 for every hard goal on every model

First the sum of the squared excess of the hard goals goes to zero, then soft goals fall while it stays there with
growing weight. Both are smooth where poles and peaks are distinct, and have exact gradients (`loops`, ``goals/``). Only
models that decide take part (active set); the others are evaluated after each search, and join where they violate a
goal. The problem is not convex: the search begins at several points, and what it reaches is verified by the exact
methods on every model, no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import casadi as ca
import numpy as np

from dalembert.control.robust.generalized_plant import close_loop
from dalembert.control.robust.synthesis import GoalTable, GoalValue, SampleTime, Synthesis
from dalembert.control.structured.goal import DesignGoal
from dalembert.control.structured.loops import Family, FamilyLoops
from dalembert.control.structured.search import descend
from dalembert.control.structured.structures import LawStructure, basis
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import above_and_below, checked, count, instance
from dalembert.core.errors import DalembertWarning, DataError
from dalembert.core.findings import Advice, Argument
from dalembert.core.progress import Progress, Setting
from dalembert.core.results import cells, result
from dalembert.core.tables import align_columns
from dalembert.equations import Channels
from dalembert.linear import SecondOrder, StateSpace
from dalembert.loop.interfaces import Law

Goals = Annotated[Sequence[DesignGoal], instance(list, tuple), "goals of `da.control`, such as `DampingGoal(0.5)`"]


@result
class ScheduledSynthesis:
    """A controller whose gains are series in cos and sin of a coordinate; fits ``da.simulate(eqs, controller=...)``.

    coordinate : that the law reads.  series : (functions, nu + n_k, ny + n_k) of 1, cos, sin, cos 2, ... of it.
    models : those of the design, at ``values`` of the coordinate.  goals : every goal on every model.
    """

    coordinate: str
    series: FloatArray
    drives: tuple[str, ...]
    reads: tuple[str, ...]
    models: tuple[StateSpace, ...]
    values: FloatArray
    goals: tuple[GoalValue, ...]

    @property
    def order(self) -> int:
        """Number of states."""
        return int(self.series.shape[1]) - len(self.drives)

    def at(self, value: float) -> StateSpace:
        """The controller at a value of the coordinate."""
        functions = basis(np.array([value]), (len(self.series) - 1) // 2, 1)[0]
        return _controller(np.tensordot(functions, self.series, 1), self.drives, self.reads)

    def closed_loops(self) -> tuple[StateSpace, ...]:
        """Every model with the controller at its value of the coordinate."""
        return tuple(close_loop(model, self.at(value)) for model, value in zip(self.models, self.values, strict=True))

    @checked
    def law(self, *, dt: SampleTime | None = None) -> Law:
        """The law as ``da.simulate`` takes it: it reads its outputs and the coordinate.

        dt : with its states every dt seconds by the midpoint (Tustin), x₊ = 2 x_m - x, x_m = x + dt/2 (A x_m + B y).
        """
        nu, ny, n = len(self.drives), len(self.reads), self.order
        read, x, t = ca.SX.sym("reads", ny + 1), ca.SX.sym("state", n), ca.SX.sym("t")
        rho, K = read[ny], ca.DM(self.series[0])
        for k in range(1, (len(self.series) - 1) // 2 + 1):
            K = K + ca.DM(self.series[2 * k - 1]) * ca.cos(k * rho) + ca.DM(self.series[2 * k]) * ca.sin(k * rho)
        K, y = ca.SX(K), read[:ny]
        if dt is None or n == 0:
            out = K @ ca.vertcat(y, x)
            u, after = out[:nu], out[nu:]
        else:
            A, B = K[nu:, ny:], K[nu:, :ny]
            middle = ca.solve(ca.SX.eye(n) - 0.5 * dt * A, x + 0.5 * dt * B @ y)
            u, after = K[:nu, :] @ ca.vertcat(y, middle), 2 * middle - x
        empty = ca.SX.sym("r", 0), ca.SX.sym("p", 0)
        function = ca.Function("scheduled", [read, x, *empty, t], [ca.densify(u), ca.densify(after)])
        states = Channels([f"controller.{k + 1}" for k in range(n)], [""] * n)
        return Law("scheduled controller", (*self.reads, self.coordinate), self.drives, function, dt, state=states,
                   start=(0.0,) * n)  # fmt: skip

    def table(self) -> str:
        """Every goal on every model."""
        return align_columns(*cells(GoalTable(self.goals)), left=(0, 1))

    def __repr__(self) -> str:
        return f"ScheduledSynthesis: order {self.order}, scheduled by {self.coordinate}\n{self.table()}"


@checked
def structured(
    models: Any,
    structure: Annotated[LawStructure, instance(LawStructure)],
    hard: Goals = (),
    soft: Goals = (),
    scheduled: Annotated[str, instance(str)] | None = None,
    *,
    harmonics: Annotated[int, count(1), "multiples of the scheduling coordinate"] = 1,
    seed: Annotated[int, count(0), "of the random initial controllers"] = 0,
    starts: Annotated[int, count(1), "searches from different initial controllers"] = 3,
    steps: Annotated[int, count(1), "largest number of steps of one search"] = 300,
    back_off: Annotated[
        float, above_and_below(0.0, 0.5), "share by which hard goals are kept from their limits"
    ] = 0.02,
    progress: Setting = None,
) -> Synthesis | ScheduledSynthesis:
    """A controller of fixed structure that meets hard goals on every model and makes soft goals small.

    Parameters
    ----------
    models : linear model, or several with the same names of inputs and outputs; continuous, without direct part from
        driven inputs to outputs that are read.
    structure : `StaticGain`, `FixedOrder`, `PIDLoops`, `Decentralised` or `ObserverForm`.
    hard, soft : `DampingGoal`, `DecayGoal`, `PhaseMarginGoal`, `DiskMarginGoal`, `CrossoverGoal`, `H2Goal`, `HinfGoal`,
        `TrackingGoal`. The largest ratio of the soft goals to their limits, over all models, becomes small.
    scheduled : coordinate, an angle, of which the gains are series; its value is in the provenance of each model, as in
        those of ``two.fast(states)`` and `da.linearize`.
    progress : None, True, False or a function of the fraction of the searches.

    Returns
    -------
    Synthesis, or ScheduledSynthesis; ``goals`` has every goal on every model. Hard goals that fail are warned of.

    Examples
    --------
    >>> import dalembert as da
    >>> plants = [da.StateSpace([[0, 1], [-k, 0]], [0, 1], inputs="force") for k in (1.0, 2.0)]
    >>> design = structured(plants, da.control.StaticGain(), hard=[da.control.DampingGoal(0.6)])
    >>> design.controller.D.shape, all(goal.holds for goal in design.goals)
    ((1, 2), True)
    """
    family, K0, E, functions, values = _problem(models, structure, scheduled, harmonics)
    DataError.when(not hard and not soft, "empty", "give at least one goal.", Advice("Such as {}.", Argument("hard")))
    _refuse_fixed_modes(family, hard)
    problem = _Search(family, K0, E, functions, tuple(hard), tuple(soft), back_off)
    with Progress(progress, "structured") as bar:
        theta = problem.solve(structure.states, seed, starts, steps, bar)
    series = problem.series(theta)
    rows = []
    for k, model in enumerate(family.models):
        controller = _controller(np.tensordot(functions[k], series, 1), family.drives, family.reads)
        label = f"{k + 1}" if values is None else f"{values[k]:.4g}"
        for goal, is_hard in [*((goal, True) for goal in hard), *((goal, False) for goal in soft)]:
            value = goal.measure(model, controller)
            rows.append(GoalValue(goal.name(), label, value, goal.limit, is_hard, goal.holds(value)))
    missed = sorted({row.goal for row in rows if row.hard and not row.holds})
    if missed:
        DalembertWarning.report([_not_met(missed, rows)], stacklevel=3)
    if scheduled is not None and values is not None:
        return ScheduledSynthesis(scheduled, series, family.drives, family.reads, family.models, values, tuple(rows))
    controller = _controller(series[0], family.drives, family.reads)
    return Synthesis(controller, family.models[0], family.drives, family.reads, method=f"structured, {structure.kind}",
                     goals=tuple(rows))  # fmt: skip


def _not_met(missed: list[str], rows: Sequence[GoalValue]) -> Any:
    from dalembert.core.findings import Finding

    worst = [row for row in rows if row.hard and not row.holds]
    return Finding(
        "no-solution", f"no controller of this structure was found that meets {', '.join(missed)} on every model.",
        {"goals": missed}, {"models": sorted({row.model for row in worst})},
        (Advice("Allow more states, lower a goal, or give {}.", Argument("starts", 10)),),
    )  # fmt: skip


def _problem(models: Any, structure: LawStructure, scheduled: str | None, harmonics: int) -> tuple[Any, ...]:
    """The family, K₀ and E, the functions of the schedule and the values of its coordinate."""
    listed = list(models) if isinstance(models, (list, tuple)) else [models]
    systems = [model.state_space() if isinstance(model, SecondOrder) else model for model in listed]
    DataError.when(not systems, "empty", "give at least one model.")
    for model in systems:
        DataError.when(not isinstance(model, StateSpace), "wrong-type", f"models are StateSpace, got {model!r:.60}.")
        DataError.when(model.dt is not None, "not-supported", "structured controllers are designed in continuous time.",
                       Advice("Convert the model with {}.", Argument("to_continuous")))  # fmt: skip
    drives, reads = structure.channels(systems[0])
    for model in systems:
        structure.channels(model)
        u, y = [model.inputs.index(name) for name in drives], [model.outputs.index(name) for name in reads]
        DataError.when(
            model.D[np.ix_(y, u)].any(),
            "algebraic-loop",
            "a model has a direct part from a driven input to an output that is read: give it a lag.",
        )
    values = None if scheduled is None else np.array([_value_at(model, scheduled) for model in systems])
    family = Family.of(systems, drives, reads)
    K0, E = structure.affine(drives, reads)
    K0, E = _balance(family.scaled(K0), np.array([family.scaled(part) for part in E]), len(drives), len(reads))
    return family, K0, E, basis(values, harmonics, len(systems)), values


def _balance(K0: FloatArray, E: FloatArray, nu: int, ny: int) -> tuple[FloatArray, FloatArray]:
    """K₀ and E with states of one size, and with parameters whose share of the controller is one at the mean pole.

    Only fixed states, as those of a PID, tell what a number at their output does; of others the entry is one.
    """
    size = np.abs(K0[nu:, :ny]).max(axis=1, initial=0.0)
    T = np.concatenate([np.ones(nu), np.where(size > 0.0, size, 1.0)])
    factor = 1.0 / T[:, None] * np.concatenate([np.ones(ny), T[nu:]])
    K0, E = K0 * factor, E * factor
    states = np.linalg.solve(1j * np.eye(len(K0) - nu) - K0[nu:, ny:], K0[nu:, :ny])
    shares = np.abs(E[:, :nu, :ny] + E[:, :nu, ny:] @ states).max(axis=(1, 2))
    shares = np.where(shares > 0.0, shares, np.abs(E).max(axis=(1, 2)))
    return K0, E / shares[:, None, None]


def _value_at(model: StateSpace, coordinate: str) -> float:
    for key in ("at", "reference"):
        place = model.provenance.get(key)
        if isinstance(place, Mapping) and coordinate in place:
            return float(place[coordinate])
    raise DataError("missing-argument", f"a model does not have the value of {coordinate!r} in its provenance.",
                    Advice("Write it with {}.", Argument("provenance", {"at": {coordinate: 0.0}})))  # fmt: skip


def _refuse_fixed_modes(family: Family, hard: Sequence[DesignGoal], fixed: float = 1e-9) -> None:
    """Refuse goals of poles that a mode without input or output violates whatever the controller.

    fixed : smallest singular value of [A - λ 1, B], in the scale of the family, of a mode that no input reaches.
    """
    goals = [goal for goal in hard if not goal.needs_stability]
    n = family.A.shape[1]
    for k in range(len(family) if goals else 0):
        for pole in np.linalg.eigvals(family.A[k]):
            shifted = family.A[k] - pole * np.eye(n)
            for what, pencil in (("reached by an input", np.hstack([shifted, family.B[k]])),
                                 ("seen by an output", np.vstack([shifted, family.C[k]]))):  # fmt: skip
                if np.linalg.svd(pencil, compute_uv=False)[-1] > fixed or pole.imag < 0.0:
                    continue
                true = pole * family.rate
                alone = StateSpace(
                    [[true.real, true.imag], [-true.imag, true.real]], np.zeros((2, 0)), np.zeros((0, 2))
                )
                nothing = StateSpace.gain(np.zeros((0, 0)))
                for goal in goals:
                    value = goal.measure(alone, nothing)
                    DataError.when(
                        not goal.holds(value), "not-reachable",
                        f"model {k + 1} has a mode at {abs(true) / (2 * np.pi):.4g} Hz that is not {what}: its "
                        f"{goal.kind} stays {value:.4g}, and {goal.name()} cannot hold.",
                        Advice("Leave the mode out of the model, or damp it by itself."),
                        where={"model": k + 1}, evidence={"frequency_hz": abs(true) / (2 * np.pi), "value": value},
                    )  # fmt: skip


def _controller(K: FloatArray, drives: tuple[str, ...], reads: tuple[str, ...]) -> StateSpace:
    nu, ny = len(drives), len(reads)
    states = [f"controller.{k + 1}" for k in range(len(K) - nu)]
    return StateSpace(K[nu:, ny:], K[nu:, :ny], K[:nu, ny:], K[:nu, :ny], states=states, inputs=reads, outputs=drives)


class _Search:
    """Objective over free numbers θ (parameters × functions of the schedule), and the search for its minimum."""

    def __init__(
        self, family: Family, K0: FloatArray, E: FloatArray, functions: FloatArray, hard: tuple[DesignGoal, ...],
        soft: tuple[DesignGoal, ...], back_off: float,
    ) -> None:  # fmt: skip
        self.family, self.K0, self.E, self.functions = family, K0, E, functions
        self.hard, self.soft, self.back_off = hard, soft, back_off

    def gains(self, theta: FloatArray, functions: FloatArray) -> FloatArray:
        """K (models, m, n)."""
        weights = functions @ theta.reshape(len(self.E), -1).T
        return np.asarray(self.K0 + np.tensordot(weights, self.E, 1))

    def series(self, theta: FloatArray) -> FloatArray:
        """K of each function of the schedule, in the units of the models."""
        parts = np.tensordot(theta.reshape(len(self.E), -1).T, self.E, 1)
        parts[0] += self.K0
        return self.family.unscaled(parts)

    def objective(
        self,
        places: Sequence[int],
        weight: float,
        *,
        soft: bool,
        hard: bool = True,
        inside: bool = False,
        sharp: float = 12.0,
        least: float = 1e-4,
    ) -> Callable[[FloatArray], tuple[float, FloatArray]]:
        """Of the models with these numbers: the soft goals, and ``weight`` times the squared excess of the hard ones;
        of stable loops only where ``soft`` or ``inside``.

        sharp : power of the norm that stands for the largest ratio of the soft goals: 24 equal ones are 1.3 times one.
        least : distance of poles from the axis, of the mean pole, in any case.
        """
        family, functions = self.family.only(places), self.functions[list(places)]
        prepared = [[(goal, goal.prepare(family)) for goal in goals] for goals in (self.hard, self.soft)]
        edge = 1.0 - self.back_off

        def excess(r: Any) -> tuple[float, FloatArray]:
            over = np.maximum(np.asarray(r) - edge, 0.0)
            return weight * float((over**2).sum()), 2.0 * weight * over

        def largest(r: Any) -> tuple[float, FloatArray]:
            values = np.maximum(np.asarray(r), 0.0)
            top = float(values.max(initial=0.0))
            if top == 0.0:
                return 0.0, np.zeros_like(values)
            share = values / top
            total = float((share**sharp).sum())
            return top * total ** (1 / sharp), share ** (sharp - 1) * total ** (1 / sharp - 1)

        def f(theta: FloatArray) -> tuple[float, FloatArray]:
            try:
                loops = FamilyLoops(family, self.gains(theta, functions))
            except np.linalg.LinAlgError:  # a step into gains without bound
                return np.inf, np.zeros_like(theta)
            unstable = ~loops.stable
            if (soft or inside) and unstable.any():
                return np.inf, np.zeros_like(theta)
            grow = np.maximum(loops.poles.real + least, 0.0)
            value = weight * float((grow**2).sum())
            loops.add_poles((2.0 * weight * grow).astype(complex))
            for goal, ready in prepared[0] if hard else ():
                value += goal.evaluate(ready, loops, excess)
                value += weight * float(unstable.sum()) * goal.needs_stability
            for goal, ready in prepared[1] if soft else ():
                value += goal.evaluate(ready, loops, largest)
            gradient = np.einsum("kb,kj->jb", functions, np.tensordot(loops.gradient, self.E, ([1, 2], [1, 2])))
            good = np.isfinite(value) and bool(np.isfinite(gradient).all())
            return (value, gradient.ravel()) if good else (np.inf, np.zeros_like(theta))

        return f

    def excess_by_model(self, theta: FloatArray, *, soft: bool) -> FloatArray:
        """Objective of each model alone."""
        return np.array(
            [self.objective([k], 0.0 if soft else 1.0, soft=soft)(theta)[0] for k in range(len(self.family))]
        )

    def initial(self, states: int, random: np.random.Generator, first: bool) -> FloatArray:
        """Small gains and a stable controller."""
        shape = (len(self.E), self.functions.shape[1])
        theta = np.zeros(shape)
        nu, ny = len(self.family.inputs), len(self.family.outputs)
        size = np.array(
            [0.05 if np.argwhere(each)[0][0] < nu and np.argwhere(each)[0][1] < ny else 0.3 for each in self.E]
        )
        theta[:, 0] = (1.0 if first else 2.0) * size * random.normal(size=len(self.E))
        poles = -np.geomspace(0.5, 2.0, max(states, 1))
        for j, each in enumerate(self.E):
            (row, column), *more = np.argwhere(each)
            if not more and row >= nu and row - nu == column - ny:
                theta[j, 0] = poles[row - nu]
        return theta.ravel()

    def satisfy(self, theta: FloatArray, places: list[int], steps: int, decay: float = 0.05) -> FloatArray:
        """Descend to the hard goals of some models.

        Goals that need stability say nothing of a loop without it. Where the search ends with such a loop, poles go
        left of a decay (of the mean pole) first, and the search stays with stable loops.
        """
        zero: Callable[[float], bool] = lambda v: v <= 0.0  # noqa: E731
        theta, value = descend(self.objective(places, 1.0, soft=False), theta, steps=steps, done=zero)
        if value > 0.0 and not self.stable(theta, places):
            poles = self.objective(places, 1.0, soft=False, hard=False, least=decay)
            theta, _ = descend(poles, theta, steps=steps, done=zero, flat=1e-4)
            if self.stable(theta, places):
                theta, _ = descend(self.objective(places, 1.0, soft=False, inside=True), theta, steps=steps, done=zero)
        return theta

    def stable(self, theta: FloatArray, places: list[int]) -> bool:
        """Whether the loops of some models are."""
        return bool(FamilyLoops(self.family.only(places), self.gains(theta, self.functions[places])).stable.all())

    def solve(
        self, states: int, seed: int, starts: int, steps: int, bar: Progress, rounds: int = 8, above: float = 0.01
    ) -> FloatArray:
        """The best of several searches: least excess of the hard goals first, then the least soft goals.

        rounds : of searches with more models each, of one start.  above : share by which the soft goals of a model
        exceed those of the models that take part, before it joins them.
        """
        random = np.random.default_rng(seed)
        total = len(self.family)
        best: tuple[float, float, FloatArray] | None = None
        for start in range(starts):
            theta = self.initial(states, random, start == 0)
            places = sorted({int(k) for k in np.linspace(0, total - 1, min(total, 6))})
            for number in range(rounds):
                bar.update((start + number / rounds) / starts)
                theta = self.satisfy(theta, places, steps)
                for weight in (10.0, 1e3, 1e5) if self.soft else ():
                    refined, value = descend(self.objective(places, weight, soft=True), theta, steps=steps,
                                             done=lambda v: False)  # fmt: skip
                    theta = refined if np.isfinite(value) else theta
                over = self.excess_by_model(theta, soft=False)
                costs = self.excess_by_model(theta, soft=True) if self.soft else np.zeros(total)
                joining = {*_largest(over, self.back_off**2 / 4), *_largest(costs, (1 + above) * costs[places].max())}
                if joining <= {*places}:
                    break
                places = sorted({*places, *joining})
            excess = float(over[over > self.back_off**2 / 4].sum())
            cost = float(costs.max())
            if best is None or (excess, cost) < best[:2]:
                best = (excess, cost, theta)
            if excess <= 0.0 and not self.soft:
                break
        bar.update(1.0)
        assert best is not None
        return best[2]


def _largest(values: FloatArray, limit: float, most: int = 3) -> list[int]:
    """Places of the largest values above a limit, a few at a time."""
    return [int(k) for k in np.argsort(-values, kind="stable")[:most] if values[k] > limit]
