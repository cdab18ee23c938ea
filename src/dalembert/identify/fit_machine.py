"""Parameters of a machine from records, by multiple shooting (spec: Bock 1987; prediction by simulation).

    minimise over p, x₀, …, x_S   Σ ‖(y - ŷ)/σ‖²   with   x_j(end; p) = x_{j+1}(start)

The gaps between segments are closed by a weight that grows from stage to stage: at first every segment follows its own
samples and the parameters are drawn to what closes the gaps (an equation-error estimate, which needs no good first
values), at the end the gaps are closed to rounding and the estimate is that of one long simulation, the most likely one
for white noise σ on the outputs. Each stage is Levenberg-Marquardt on all states and parameters (`arrow`), with exact
derivatives (`shooting`); σ is what is left over, channel by channel, unless the weights are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dalembert.equations import EquationsOfMotion, require_equations
from dalembert.errors import ConvergenceError, DataError, ModelError, unknown_name
from dalembert.expressions import Array
from dalembert.identify import arrow, chasing
from dalembert.identify.fitted import FittedMachine, report
from dalembert.identify.machine_runs import Names, Tests, read_tests
from dalembert.identify.shooting import Plan, Shooter, plan, tangents
from dalembert.progress import Progress, Setting
from dalembert.record import Record

STAGES = (3.0, 30.0, 1e3, 1e6)  # weights of the gaps, in units of a segment's noise
ROUNDS = 4  # of the last stage, each with σ estimated anew
SETTLED = 1e-2  # relative change of σ that ends them
ITERATIONS = 60
SMALLEST_NOISE = 1e-9  # of an output, relative to its spread
LARGEST_CHANGE = 0.6  # of a parameter in one iteration, relative


def fit(
    eqs: EquationsOfMotion,
    record: Record | Sequence[Record],
    parameters: Sequence[str] | Mapping[str, float],
    *,
    outputs: Names = None,
    inputs: Names = None,
    start: Any = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    weights: Mapping[str, float] | None = None,
    shooting: int | None = None,
    hold: Literal["linear", "zero"] = "linear",
    substeps: int | None = None,
    progress: Setting = None,
) -> FittedMachine:
    """Estimate parameters of a machine (masses, lengths, stiffnesses, friction) from measured records.

    Parameters
    ----------
    eqs : equations of motion whose unknown numbers were declared with ``m.parameter(name, value)``
    record : Record, or a sequence of repeated tests
        Each test has a start state of its own; all share the parameters. Sampling may be uneven, outputs may have gaps.
    parameters : names, or a mapping of names to first values (those of ``eqs`` where left out)
    outputs : channels to match, named like sensors, coordinates or rates; or a mapping of those names to channels
        All sensors that the record has; without sensors all joint coordinates it has.
    inputs : channels that drive, named like inputs of ``eqs``; or a mapping of inputs to channels
        All inputs that the record has; an input without a channel is zero.
    start : State, or mapping of coordinates to values, or one of these per record, optional
        Where the search for the start state begins. The start state is always estimated.
    bounds : mapping of a parameter to (low, high), optional
        Parameters in the mass matrix stay positive by themselves.
    weights : mapping of an output channel to 1 / (standard deviation of its noise), optional
        Estimated from what the fit leaves over where not given.
    shooting : number of segments per record, optional
        About two per period when left out; 1 is single shooting, which needs good first values.
    hold : "linear" or "zero"
        The input between samples: a straight line, or as it was at the sample before.
    substeps : Runge-Kutta steps per sample, optional
        As many as the outputs need (to 1e-5 of their spread) when left out.
    progress : None, True, False or a function of the fraction done

    Returns
    -------
    FittedMachine
        ``result.equations`` are ``eqs`` with the fitted values. Stopped from the keyboard it holds the best so far.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True)
    >>> bob = m.add_body("bob", mass=1.0)
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), bob.at(0, m.parameter("length", 2.0)))
    >>> eqs = da.equations(m)
    >>> truth = eqs.replace(length=1.5)
    >>> run = da.simulate(truth, until=8.0, start=da.assemble(truth, {"hinge.angle": 1.0}), every=0.05)
    >>> round(fit(eqs, run, ["length"], outputs="hinge.angle")["length"], 5)
    1.5
    """
    require_equations(eqs)
    chosen, first = _parameters(eqs, parameters)
    low, high = _bounds(eqs, chosen, first, bounds)
    eqs = eqs.replace(**dict(zip(chosen, np.clip(first, low, high), strict=True)))
    tests = read_tests(eqs, record, outputs, inputs, hold)
    _check_shooting(shooting, substeps)
    sigma = _noise(tests, weights)
    with Progress(progress, "fit") as bar:
        search = _prepared(eqs, tests, chosen, start, shooting, hold, substeps)
        search.sigma = sigma if weights else search.sigma
        search.fixed = weights is not None
        search.low, search.high = low, high
        status = search.run(bar)
    return report(eqs, tests, search, status, hold)


# ---- the border


def _parameters(eqs: EquationsOfMotion, given: Any) -> tuple[list[str], Array]:
    values = dict(given) if isinstance(given, Mapping) else {}
    names = list(values) if values else [given] if isinstance(given, str) else list(given)
    if not names:
        raise DataError("parameters is empty: name at least one parameter to estimate.")
    if len(set(names)) < len(names):
        raise DataError(f"parameters are named twice: {', '.join(names)}.")
    for name in names:
        if name not in eqs.parameters.index:
            raise ModelError(
                unknown_name("parameter", name, eqs.parameters.names, f"equations {eqs.name!r}")
                + " Declare it with m.parameter(name, value) before da.equations(m)."
            )
    own = {name: float(eqs.p[eqs.parameters.index[name]]) for name in names}
    first = np.array([float(values.get(name, own[name])) for name in names])
    return names, first


def _bounds(eqs: EquationsOfMotion, names: list[str], first: Array, given: Any) -> tuple[Array, Array]:
    low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    inertial = set(eqs.functions["inertia"].jac_sparsity(0, 1).get_col())
    for k, name in enumerate(names):
        if eqs.parameters.index[name] in inertial and first[k] > 0:
            low[k] = 1e-6 * first[k]
    for name, pair in (given or {}).items():
        if name not in names:
            raise DataError(unknown_name("parameter", name, names, "bounds"))
        k = names.index(name)
        try:
            low[k], high[k] = (float(value) for value in pair)
        except (TypeError, ValueError):
            raise DataError(f"bounds of {name!r} must be a pair (low, high), got {pair!r}.") from None
        if not low[k] < high[k]:
            raise DataError(f"bounds of {name!r}: {low[k]:g} is not below {high[k]:g}.")
    return low, high


def _check_shooting(shooting: Any, substeps: Any) -> None:
    for name, value in (("shooting", shooting), ("substeps", substeps)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1):
            raise DataError(f"{name} must be a positive whole number, got {value!r}.")


def _noise(tests: Tests, weights: Mapping[str, float] | None) -> Array:
    sigma = chasing.spreads(tests)
    if weights is None:
        return sigma
    for name in weights:
        if name not in tests.channels:
            raise DataError(unknown_name("output channel", name, tests.channels, "weights"))
    for k, name in enumerate(tests.channels):
        if name not in weights:
            raise DataError(f"weights need one entry for every output; {name!r} is missing.")
        if not (np.isfinite(weights[name]) and weights[name] > 0):
            raise DataError(f"the weight of {name!r} must be positive, got {weights[name]!r}.")
        sigma[k] = 1.0 / weights[name]
    return sigma


def _prepared(
    eqs: EquationsOfMotion, tests: Tests, chosen: list[str], start: Any, shooting: int | None, hold: str, substeps: int | None
) -> Search:  # fmt: skip
    """Segments, steps and a first state for each."""
    count = len(tests.runs)
    starts = list(start) if isinstance(start, (list, tuple)) else [start] * count
    if len(starts) != count:
        raise DataError(f"start holds {len(starts)} states for {count} records.")
    x0 = [chasing.first_state(eqs, tests, k, starts[k]) for k in range(count)]
    columns = [eqs.parameters.index[name] for name in chosen]
    n = tangents(eqs, x0[0], eqs.p, float(tests.runs[0].t[0]), np.ones(len(x0[0]))).shape[1]
    spread = chasing.spreads(tests)
    lengths = [chasing.segment_length(run, n) for run in tests.runs]
    make = chasing.steps_maker(eqs, tests, columns, n)
    whole = plan(tests, lengths, hold)  # the states are always found piece by piece
    shooter, x = _chased(make, whole, x0, eqs.p, spread, n, substeps)
    states, y = shooter.shoot(x, eqs.p)
    scale = chasing.state_scale(eqs, states[:, :, : shooter.steps.nx].reshape(-1, shooter.steps.nx))
    if shooting is not None:
        lengths = [max(1, round((len(run.t) - 1) / shooting)) for run in tests.runs]
        own = plan(tests, lengths, hold)
        shooter = Shooter(shooter.steps, own)
        x = _at_cuts(whole, states, own)
    left = np.sqrt(np.nanmean(((y - whole.y) / spread) ** 2, axis=(0, 1)))
    sigma = spread * np.clip(left, 1e-3, 1.0)
    return Search(eqs, shooter, chosen, columns, x, scale, spread, sigma)


def _chased(
    make: Any, whole: Plan, x0: list[Array], p: Array, spread: Array, n: int, substeps: int | None
) -> tuple[Shooter, Array]:
    """A state per segment, with steps fine enough for all of them."""
    scale = np.ones(len(x0[0]))
    opening = _padded(make(1).size, x0[0])
    fine = substeps or chasing.needed_substeps(make, chasing.part_of(whole, 0), opening, p, spread, 1)
    while True:
        shooter = Shooter(make(fine), whole)
        try:
            x = chasing.chase(shooter, x0, p, spread, scale, n)
            better = fine if substeps else chasing.needed_substeps(make, whole, x, p, spread, fine)
        except ConvergenceError:  # a machine that speeds up may outrun the steps its start needs
            if substeps or fine >= chasing.FINEST:
                raise
            better = 2 * fine
        if better == fine:
            return shooter, x
        fine = better


def _padded(size: int, x: Array) -> Array:
    result = np.zeros((1, size))
    result[0, : len(x)] = x
    return result


def _at_cuts(whole: Plan, states: Array, own: Plan) -> Array:
    """States of one plan at the first samples of the segments of another."""
    result = np.zeros((len(own.h), states.shape[2]))
    for j in range(len(own.h)):
        inside = np.flatnonzero((whole.run == own.run[j]) & (whole.first <= own.first[j]))
        k = int(inside[-1])
        result[j] = states[k, int(own.first[j] - whole.first[k])]
    return result


# ---- the search


@dataclass(frozen=True)
class Look:
    """Everything at one point: sums of squares, and the linear problem there."""

    data: float
    apart: float  # Σ |c|
    chain: arrow.Chain | None
    T: Array
    states: Array
    y: Array

    def merit(self, price: float) -> float:
        return self.data + (2.0 * price * self.apart if price else 0.0)


class Search:
    """Levenberg-Marquardt on all start states and the parameters."""

    fixed = False
    low: Array
    high: Array

    def __init__(
        self, eqs: EquationsOfMotion, shooter: Shooter, names: list[str], columns: list[int], x: Array, scale: Array,
        spread: Array, sigma: Array,
    ) -> None:  # fmt: skip
        self.eqs, self.shooter, self.names, self.columns = eqs, shooter, names, columns
        self.scale, self.spread, self.sigma = scale, spread, sigma
        self.n, self.m = shooter.steps.n, len(columns)
        self.p = np.array(eqs.p)
        size = np.abs(self.p[columns])
        self.relative = size > 0
        self.unit = np.where(self.relative, size, 1.0)
        self.x = shooter.starts(x, self.p)
        self.iterations = 0
        y = shooter.plan.y
        self.mask = np.isfinite(y)
        self.target = np.nan_to_num(y)
        self.per_segment = np.sqrt(max(1.0, float(self.mask.sum()) / len(y)))

    # -- one point ------------------------------------------------------------------------------------------------
    def look(self, x: Array, p: Array) -> Look:
        """Residuals, gaps and their derivatives."""
        s, g = self.shooter.steps, self.shooter.plan
        S, n, m = len(x), self.n, self.m
        T = np.array([tangents(self.eqs, x[j, : s.nx], p, g.t[j, 0], self.scale, n) for j in range(S)])
        seeds = np.zeros((S, s.size, n + m))
        seeds[:, : s.nx, :n] = self.scale[:, None] * T
        slopes = self.shooter.start_slopes(x, p)
        seeds[:, :, n:] = slopes
        states, y, dx, dy = self.shooter.shoot_with_slopes(x, seeds, p)
        weight = self.mask / self.sigma
        rows = np.zeros((*y.shape, n + m + 1))
        rows[..., : n + m] = dy * weight[..., None]
        rows[..., n : n + m] *= self.unit
        rows[..., -1] = (y - self.target) * weight
        links = np.zeros((S, n, n + m + 1))
        for j in np.flatnonzero(g.linked):
            back = T[j + 1].T / self.scale
            links[j, :, : n + m] = back @ dx[j, -1, : s.nx]
            links[j, :, n : n + m] -= back @ slopes[j + 1, : s.nx]
            links[j, :, n : n + m] *= self.unit
            links[j, :, -1] = back @ (states[j, -1, : s.nx] - x[j + 1, : s.nx])
        data, apart = float((rows[..., -1] ** 2).sum()), float(np.abs(links[..., -1]).sum())
        if not (np.isfinite(rows).all() and np.isfinite(links).all()):
            return Look(np.inf, np.inf, None, T, states, y)
        chain = arrow.Chain(arrow.compress(rows.reshape(S, -1, n + m + 1)), links, g.linked, n, m)
        return Look(data, apart, chain, T, states, y)

    def moved(self, look: Look, states: Array, theta: Array) -> tuple[Array, Array]:
        s, g = self.shooter.steps, self.shooter.plan
        p = self.p.copy()
        p[self.columns] = np.clip(p[self.columns] + self.unit * theta, self.low, self.high)
        x = self.x.copy()
        x[:, : s.nx] += self.scale * np.einsum("jik,jk->ji", look.T, states)
        if s.nl:  # reactions only warm up the friction: carried along
            x[1:, s.nx :] = np.where(g.linked[:-1, None], look.states[:-1, -1, s.nx :], x[1:, s.nx :])
        return self.shooter.starts(x, p), p

    # -- stages ---------------------------------------------------------------------------------------------------
    def run(self, bar: Progress) -> str:
        """All stages; the status."""
        linked = bool(self.shooter.plan.linked.any())
        stages = STAGES if linked else (1.0,)
        total = len(stages) + ROUNDS - 1
        status = "converged"
        try:
            look = self.look(self.x, self.p)
            if look.chain is None:
                raise ConvergenceError(
                    "the machine leaves finite numbers from the first values of the parameters; give better ones, or "
                    "leave shooting to its default."
                )
            for k, stage in enumerate(stages[:-1]):
                look, _ = self.stage(look, stage, bar, k / total, 1 / total, tolerance=1e-3)
                look = self.noise_anew(look)
            for k in range(ROUNDS):
                done = (len(stages) - 1 + k) / total
                look, settled = self.stage(look, stages[-1], bar, done, 1 / total, tolerance=1e-9)
                status = "converged" if settled else f"not converged after {self.iterations} iterations"
                before = self.sigma.copy()
                look = self.noise_anew(look)
                if self.fixed or np.abs(self.sigma / before - 1.0).max() < SETTLED:
                    break
        except KeyboardInterrupt:
            status = f"stopped after {self.iterations} iterations"
        bar.update(1.0)
        return status

    def noise_anew(self, look: Look) -> Look:
        """σ of every channel from what is left over, and the point seen with it."""
        if self.fixed:
            return look
        counts = self.mask.sum(axis=(0, 1))
        free = self.m + self.n * int((~self.shooter.plan.linked).sum())
        share = np.maximum(1.0 - free / max(float(counts.sum()), free + 1.0), 0.1)
        squares = (np.where(self.mask, look.y - self.target, 0.0) ** 2).sum(axis=(0, 1))
        self.sigma = np.maximum(np.sqrt(squares / (counts * share)), SMALLEST_NOISE * self.spread)
        return self.look(self.x, self.p)

    def stage(
        self, look: Look, stage: float, bar: Progress, done: float, part: float, *, tolerance: float
    ) -> tuple[Look, bool]:
        """Levenberg-Marquardt at one weight of the gaps; where it ends, and whether it settled there.

        A step is judged by Σ r² + 2 ν Σ |c|, ν above the multipliers w² c of the step: exact at any weight, where the
        square of a heavy weight would refuse every step along a curved valley.
        """
        weight = stage * self.per_segment
        damping, growth, price = 1e-4, 4.0, 0.0
        for k in range(ITERATIONS):
            bar.update(done + part * k / ITERATIONS)
            assert look.chain is not None
            reduced = arrow.reduce(look.chain, weight, damping, *self.damping_scales(look.chain))
            states, theta, _ = arrow.solve(look.chain, reduced, *self.room())
            data, gaps = arrow.predicted(look.chain, states, theta)
            price = max(price, 1.5 * weight**2 * float(np.abs(gaps).max(initial=0.0)))
            x, p = self.moved(look, states, theta)
            trial = self.look(x, p) if np.isfinite(x).all() else replace(look, data=np.inf, chain=None)
            self.iterations += 1
            merit = look.merit(price)
            gained = merit - trial.merit(price)
            hoped = merit - data - 2.0 * price * float(np.abs(gaps).sum())
            if trial.chain is not None and gained > 1e-4 * hoped and gained > 0.0:
                self.x, self.p, look = x, p, trial
                damping = max(damping * (0.1 if gained > 0.75 * hoped else 0.5), 1e-12)
                growth = 4.0
                if gained <= tolerance * trial.merit(price) and gained > 0.1 * hoped:
                    return look, True
            elif hoped <= 1e-9 * merit + 1e-12:  # nothing is to be gained above rounding
                return look, True
            else:
                damping, growth = damping * growth, 2 * growth
                if damping > 1e12:
                    return look, False
        return look, False

    def room(self) -> tuple[Array, Array]:
        """How far ϑ may go in one iteration."""
        now = self.p[self.columns]
        most = np.where(self.relative, LARGEST_CHANGE * np.maximum(np.abs(now), 0.1 * self.unit), np.inf)
        low, high = np.maximum(self.low - now, -most), np.minimum(self.high - now, most)
        return low / self.unit, high / self.unit

    def damping_scales(self, chain: arrow.Chain) -> tuple[Array, Array]:
        """Sizes of the columns, gaps counted as in the first stage: a heavier weight must not hold the states back."""
        n, m = self.n, self.m
        weight = STAGES[0] * self.per_segment
        squares = (chain.data**2).sum(axis=1) + weight**2 * (chain.links**2).sum(axis=1)
        states, theta = np.sqrt(squares[:, :n]), np.sqrt(squares[:, n : n + m].sum(axis=0))
        return np.maximum(states, 1e-6 * states.max(initial=1e-300)), np.maximum(theta, 1e-6 * theta.max(initial=1e-300))

    def information(self) -> Array:
        """(m, m) square root of the information on relative changes of the parameters, all start states free."""
        look = self.look(self.x, self.p)
        if look.chain is None:
            return np.zeros((self.m, self.m))
        weight = STAGES[-1] * self.per_segment
        d_states, _ = self.damping_scales(look.chain)
        reduced = arrow.reduce(look.chain, weight, 1e-26, d_states, np.zeros(self.m))
        return reduced.R
