"""Initial values of a fit: step length, length of the segments, and an initial state of every segment.

The states are tracked: each segment starts at the end of the one before, as the model predicts it, and is then moved in
the tangent space of the joints until its own samples are matched as well as this model can (Levenberg-Marquardt on
states). Directions that the samples do not show keep the prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.declare import instance
from dalembert.core.errors import ConvergenceError, DalembertError
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array, Kernel
from dalembert.identify.machine.records import MeasuredRun, MeasuredTests
from dalembert.identify.machine.shooting import Segments, Shooter, ShootingSteps, find_tangents, take_segment
from dalembert.numerics.least_squares import DampedStep, Damping, Reason, minimise
from dalembert.solve.constrained.solve import forward_function
from dalembert.solve.position.assemble import assemble, check_start

SLOPE_SAMPLES = 5  # for the first guess of a speed


DAMPING = Damping(first=1e-3, good=0.2, fair=0.2, poor=0.2, growth=8.0, least=1e-8, most=1e6)


def find_spreads(tests: MeasuredTests, still: float = 1e-12) -> Array:
    """(ny,) standard deviation of every matched output, 1 for one that does not move.

    still : spread over level of an output that does not move: rounding of a mean of 1e5 samples leaves 1e-14.
    """
    every = np.vstack([run.y for run in tests.runs])
    spread = np.nanstd(every, axis=0)
    level = np.nanmax(np.abs(every), axis=0)
    flat = spread <= still * level
    return np.asarray(np.where(flat, np.where(level > 0, level, 1.0), spread))


def choose_segment_length(run: MeasuredRun, directions: int, angles: Sequence[bool], noise: float = 0.02) -> int:
    """Steps of a segment: about half a period of the middle of the spectrum, or half a turn of an angle that grows, and
    enough samples for its state. angles : which columns of y are angles.

    noise : power of a line over the largest, below which a spectrum is its noise floor.
    """
    n = len(run.t)
    cycles = 2.0
    ramp = np.linspace(-1.0, 1.0, n)
    for column, angle in zip(run.y.T, angles, strict=True):
        good = np.isfinite(column)
        if angle:
            cycles = max(cycles, float(np.ptp(column[good])) / (2 * np.pi))
        even = np.interp(np.linspace(run.t[0], run.t[-1], n), run.t[good], column[good])
        even = even - even.mean() - ramp * float(ramp @ even) / float(ramp @ ramp)  # the angle of a crank grows
        spectrum = np.abs(np.fft.rfft(even * np.hanning(n))) ** 2
        spectrum[spectrum < noise * spectrum.max(initial=0.0)] = 0.0  # without the noise floor
        size = float(spectrum.sum())
        if size > 0.0:
            cycles = max(cycles, float(spectrum @ np.arange(len(spectrum))) / size)
    fewest = max(4, int(np.ceil(2 * directions / run.y.shape[1])))
    return int(np.clip(round(0.5 * n / cycles), fewest, n - 1))


def find_initial_state(
    eqs: EquationsOfMotion, tests: MeasuredTests, k: int, given: State | Mapping[str, float] | None
) -> Array:
    """(nx,) initial state of record k: as given, or the pose and speeds that its first samples show."""
    run = tests.runs[k]
    t0 = float(run.t[0])
    if isinstance(given, State):
        check_start(eqs, given)
        return np.concatenate((given.q, given.v, given.z))
    if given is not None:
        instance(State, Mapping)("start", given)
    position = dict(given or {})
    velocity: dict[str, float] = {}
    shown = _find_shown(eqs, tests)
    for name, column in shown["measure"].items():
        good = np.flatnonzero(np.isfinite(run.y[:, column]))[:SLOPE_SAMPLES]
        slope, level = np.polyfit(run.t[good] - t0, run.y[good, column], 1)
        if name not in position:
            position[name] = float(level)
        velocity[name] = float(slope)
    for name, column in shown["rate"].items():
        good = np.flatnonzero(np.isfinite(run.y[:, column]))[0]
        velocity[name] = float(run.y[good, column])
    state = assemble(eqs, dict(given or {}), t=t0)
    kept_position: dict[str, float] = dict(given or {})
    kept_velocity: dict[str, float] = {}
    for target, wanted in ((kept_position, position), (kept_velocity, velocity)):
        for name, value in wanted.items():
            if name in target:
                continue
            target[name] = value
            try:  # coordinates that depend on each other and differ by noise cannot all be prescribed
                state = assemble(eqs, kept_position, velocity=kept_velocity, t=t0)
            except DalembertError:
                del target[name]
    return np.concatenate((state.q, state.v, state.z))


def _find_shown(eqs: EquationsOfMotion, tests: MeasuredTests, equal: float = 1e-12) -> dict[str, dict[str, int]]:
    """Coordinates and rates that outputs show directly, by name, with the column; sensors are recognised by value.

    equal : relative difference of two computations of one quantity at random states.
    """
    result: dict[str, dict[str, int]] = {"measure": {}, "rate": {}}
    random = np.random.default_rng(1)
    trials = []
    for _ in range(2):
        q, v = eqs.sample_pose(random, 0.1), random.normal(size=eqs.nv)
        a, lam = random.normal(size=eqs.nv), random.normal(size=len(eqs.rows))
        z, u = random.normal(size=eqs.nz), random.normal(size=eqs.nu)
        value, rate, _, _ = eqs.kernel("measures")(q, v, eqs.p, 0.0)
        trials.append(
            (eqs.kernel("outputs")(q, v, a, lam, z, u, eqs.p, 0.0)[0] if eqs.ny else np.zeros(0), value, rate)
        )
    for column, (kind, index) in enumerate(tests.outputs):
        if kind == "measure":
            result["measure"].setdefault(eqs.measures.names[index], column)
        elif kind == "rate":
            result["rate"].setdefault(eqs.measures.names[index], column)
        elif kind == "sensor":
            for place, label in ((1, "measure"), (2, "rate")):
                same = np.all([np.abs(t[place] - t[0][index]) < equal * (1 + abs(t[0][index])) for t in trials], axis=0)
                if same.any():
                    result[label].setdefault(eqs.measures.names[int(np.argmax(same))], column)
    return result


def choose_substeps(
    make: Callable[[int], ShootingSteps], whole: Segments, x: Array, p: Array, spread: Array, first: int,
    finest: int = 64, halving: float = 15.0, accuracy: float = 1e-5,
) -> int:  # fmt: skip
    """ShootingSteps per sample at which halving them changes no output by more than ``ACCURACY`` of its spread.

    halving : change by halving over the error after it, of a method of fourth order: 2⁴ - 1.
    accuracy : error of a segment's outputs by the length of the step, relative to their spread
    """
    count = first
    before = Shooter(make(count), whole).shoot(x, p)[1]
    while count <= finest:
        after = Shooter(make(2 * count), whole).shoot(x, p)[1]
        with np.errstate(all="ignore"):
            change = np.abs(after - before) / spread
        if np.isfinite(change).all() and float(change.max()) <= halving * accuracy:
            return count if float(change.max()) <= accuracy else 2 * count
        count, before = 2 * count, after
    raise ConvergenceError(
        "too-many-steps",
        f"{finest} Runge-Kutta steps per sample are too few for this machine: it is too stiff, or diverges from its "
        "initial state.",
        Advice("Check {}.", Argument("start"), Argument("parameters")),
        Advice("Leave out stiff parts, such as a contact or a very hard spring."),
    )


def track_states(shooter: Shooter, x0: Sequence[Array], p: Array, spread: Array, scale: Array, n: int) -> Array:
    """(S, size) a state per segment, each predicted from the last and moved to match its own samples."""
    g, s = shooter.segments, shooter.steps
    states = np.zeros((len(g.h), s.size))
    predicted = np.zeros(s.size)
    for j in range(len(g.h)):
        opening = j == 0 or not g.linked[j - 1]
        if opening:
            predicted = np.zeros(s.size)
            predicted[: s.nx] = x0[int(g.run[j])]
            predicted[s.nx :] = find_reactions(s, predicted, g.u[j, 0], p, float(g.t[j, 0]))
            # first few samples only: a wrong pose is corrected before the motion has to fit
            window = max(2, int(np.ceil(2 * n / g.y.shape[2])))
            while window < int(g.length[j]):
                short = Shooter(s, take_segment(g, j, window))
                predicted = _fit_state(short, predicted[None], p, spread, scale, n, 40)[0][0]
                window *= 2
        single = Shooter(s, take_segment(g, j))
        x, end = _fit_state(single, predicted[None], p, spread, scale, n, 40 if opening else 8)
        states[j] = x[0]
        predicted = end
    return states


def find_reactions(s: ShootingSteps, x: Array, u: Array, p: Array, t: float) -> Array:
    """Multipliers of a state, where forces depend on them: the start of Newton's method on them."""
    if not s.nl:
        return np.zeros(0)
    eqs = s.eqs
    kernel = eqs.cache("shooting find_reactions", lambda: Kernel(forward_function(eqs)))
    a, b = eqs.nq, eqs.nq + eqs.nv
    return np.asarray(kernel(x[:a], x[a:b], x[b : s.nx], u, p, t, np.zeros(s.nl))[4])


@dataclass(frozen=True, eq=False)
class _StatePoint:
    """A state of a segment: residual, derivatives by moves along the tangents T, and the state at the end."""

    x: Array
    value: float
    residual: Array
    J: Array
    T: Array
    end: Array


class _StateFit:
    """The state of one segment as a problem of damped least squares; a point is a `_StatePoint`."""

    def __init__(self, single: Shooter, p: Array, spread: Array, scale: Array, n: int) -> None:
        self.single, self.p, self.scale, self.n = single, p, scale, n
        y = single.segments.y
        self.weight = np.where(np.isfinite(y), 1.0, 0.0) / spread
        self.target = np.nan_to_num(y)

    @np.errstate(all="ignore")  # a trial that diverges is refused
    def point(self, x: Array) -> _StatePoint:
        single, s, n = self.single, self.single.steps, self.n
        T = find_tangents(s.eqs, x[0, : s.nx], self.p, float(single.segments.t[0, 0]), self.scale, n)
        seeds = np.zeros((1, s.size, s.n + s.m))
        seeds[0, : s.nx, :n] = self.scale[:, None] * T
        states, out, _, slopes = single.shoot_with_slopes(x, seeds, self.p)
        r = ((out - self.target) * self.weight).reshape(-1)
        J = (slopes[0, :, :, :n] * self.weight[0, :, :, None]).reshape(-1, n)
        total = float(r @ r)
        return _StatePoint(x, total if np.isfinite(total) and np.isfinite(J).all() else np.inf, r, J, T, states[0, -1])

    def value(self, point: _StatePoint) -> float:
        return point.value

    def step(self, point: _StatePoint, damping: float) -> DampedStep:
        J, r, n = point.J, point.residual, self.n
        size = float(np.sqrt((J * J).sum(axis=0)).max(initial=1e-300))
        rows = np.vstack((J, np.sqrt(damping) * size * np.eye(n)))
        change = np.linalg.lstsq(rows, np.concatenate((-r, np.zeros(n))), rcond=None)[0]
        remaining = r + J @ change
        return DampedStep(change, point.value - float(remaining @ remaining))

    def evaluate(self, point: _StatePoint, step: DampedStep) -> _StatePoint | None:
        moved = point.x.copy()
        moved[0, : self.single.steps.nx] += self.scale * (point.T @ step.change)
        moved = self.single.starts(moved, self.p)
        return self.point(moved) if np.isfinite(moved).all() else None

    def is_settled(
        self, before: _StatePoint, after: _StatePoint, step: DampedStep, enough: float = 0.02, exact: float = 1e-12
    ) -> bool:
        # enough: relative reduction that ends the search for a segment's state: the parameters are still wrong
        # exact: Mean square of the residual, in spreads, that is zero.
        return before.value - after.value < enough * before.value + exact * len(before.residual)

    def is_rounding(self, point: _StatePoint, trial: _StatePoint | None, step: DampedStep) -> bool:
        return False


def _fit_state(
    single: Shooter, x: Array, p: Array, spread: Array, scale: Array, n: int, most: int
) -> tuple[Array, Array]:
    """The state of one segment that matches its samples, and the state at its end."""
    problem = _StateFit(single, p, spread, scale, n)
    minimum = minimise(problem, problem.point(single.starts(x, p)), DAMPING, most)
    if minimum.reason is Reason.DIVERGED:
        t = float(single.segments.t[0, 0])
        raise ConvergenceError(
            "diverged",
            f"the simulation diverges in the segment from t = {t:.6g} s.",
            Advice("Give better values of {}: a state, or coordinates of the first sample.", Argument("start")),
            Advice("Give better first values of the parameters."),
            where={"time": t},
        )
    return minimum.point.x, minimum.point.end


def scale_states(eqs: EquationsOfMotion, states: Array) -> Array:
    """(nx,) size of the motion of every coordinate, speed and internal state; never less than 1 % of the largest."""
    result = np.ones(states.shape[1])
    for a, b in ((0, eqs.nq), (eqs.nq, eqs.nq + eqs.nv), (eqs.nq + eqs.nv, states.shape[1])):
        if b > a:
            size = states[:, a:b].std(axis=0)
            largest = float(size.max())
            result[a:b] = np.maximum(size, 1e-2 * largest) if largest > 0 else 1.0
    return result
