"""Q and R from data: by likelihood, or against a reference trajectory.

The unknowns are logarithms of variances, θ: of every diagonal entry that is not zero, or one factor for a full matrix.

    likelihood   J = Σ_k (e_kᵀ S_k⁻¹ e_k + ln det S_k)          of the innovations; needs no truth
    reference    J = Σ_k Σ_c ((x̂_c - x_c) / σ_c)²               σ_c the deviation of the true channel c after settling

∂J/∂θ are differences of runs with θ + 10⁻⁶: all run in step, on the filter's own native code, which takes the numbers
of the noise as inputs. (Exact derivatives of a sample take longer to run than the differences, and a compiler
minutes to build; the error of the differences, 10⁻⁸ of θ, is far below the accuracy of any variance.) A few
decades on each side are tried first; from the best of them Levenberg's damped Newton steps go on, with the second
derivative of Gauss and Newton (reference) or of Berndt, Hall, Hall and Hausman (likelihood: ½ Σ_k g_k g_kᵀ, g_k of a
sample).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dalembert.core.declare import checked, instance
from dalembert.core.errors import ConvergenceError, DataError, Interrupted, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.core.progress import Progress
from dalembert.core.tables import align_columns
from dalembert.estimate.algebra.noise import Covariance
from dalembert.estimate.engine import recursion as engine
from dalembert.estimate.engine.consistency import same_times
from dalembert.estimate.engine.filter import Filter
from dalembert.estimate.engine.rows import read_rows
from dalembert.expressions import Array
from dalembert.numerics.least_squares import DampedStep, Damping, minimise
from dalembert.record import Record

FilterWithNumbers = Annotated[Filter, instance(Filter), "filter with Q and R as numbers"]
DECADES = (-4.0, -2.0, -1.0, 1.0, 2.0, 4.0)  # of the common factor tried first
DAMPING = Damping(first=1e-2, good=0.2, fair=0.2, poor=0.2, growth=5.0, least=1e-9, most=1e12)


def bounds(first: Array, decades: float = 12.0) -> tuple[Array, Array]:
    """Smallest and largest θ, the logarithms of the variances: twelve decades from their initial values."""
    widest = decades * float(np.log(10.0))
    return first - widest, first + widest


@dataclass(frozen=True)
class Entry:
    """One unknown: a variance of a diagonal covariance, or the factor of a full one (``place`` None)."""

    symbol: str
    name: str
    place: int | None
    variance: float


@dataclass(frozen=True, eq=False)
class Tuned:
    """Result of tuning; frozen.

    filter : the same filter with the new noise.  Q, R : covariances, None where they depend on the state.
    variances : "Q.speed" -> variance.  before, after : the criterion (mean per sample).  at_bound : names of those
    at their bounds: the data do not determine them, or they are zero.
    """

    filter: Any
    variances: dict[str, float]
    began: dict[str, float]
    criterion: str
    before: float
    after: float
    evaluations: int
    at_bound: tuple[str, ...]

    @property
    def Q(self) -> Array | None:
        covariance: Array | None = self.filter.noise.Q.constant()
        return covariance

    @property
    def R(self) -> Array | None:
        covariance: Array | None = self.filter.noise.R.constant()
        return covariance

    def table(self) -> str:
        rows = [
            [
                name,
                f"{self.began[name]:.4g}",
                f"{v:.4g}",
                f"{np.sqrt(v):.4g}",
                "at bound" if name in self.at_bound else "",
            ]
            for name, v in self.variances.items()
        ]
        return align_columns(["variance", "before", "after", "deviation", ""], rows)

    def __repr__(self) -> str:
        return (
            f"Tuned by {self.criterion}: {self.before:.6g} to {self.after:.6g} per sample in {self.evaluations} runs\n"
            f"{self.table()}"
        )


@checked
def tune(
    filter_: FilterWithNumbers, record: Record, *, vary: str | Iterable[str] | None = None,
    truth: Record | None = None, settle: float = 0.0, progress: Any = None,
) -> Tuned:  # fmt: skip
    """Variances of Q and R with which a filter explains a record best.

    Parameters
    ----------
    filter_ : with Q and R to begin with; entries that are zero stay zero.
    vary : "Q", "R", "input_noise", or single ones such as "Q.speed"; None: Q and R, against a truth Q alone (there
        only the ratio of the two counts: take R from the sensors, `sensors`).
    truth : record of the true channels; all that are estimated count.  None: the likelihood of the innovations decides.
    settle : seconds at the start left out of the truth's criterion.

    Returns
    -------
    Tuned with ``.filter``, ready to run.
    """
    if getattr(filter_, "form", "") == "steady":
        tuned = Advice("Tune one with {} and make it steady after.", Argument("form", "covariance"))
        raise DataError("not-supported", "a steady filter has a fixed gain.", tuned)
    wanted = ("Q",) if vary is None and truth is not None else ("Q", "R") if vary is None else vary
    entries = find_entries(filter_, [wanted] if isinstance(wanted, str) else list(wanted))
    task = Task(filter_, record, entries, truth, settle)
    with Progress(progress, "tuning") as bar:
        try:
            theta, best = task.descend(task.search(bar), bar)
        except KeyboardInterrupt:
            raise Interrupted("interrupted", f"tuning was interrupted after {task.count} runs.") from None
    names = [f"{e.symbol}.{e.name}" if e.name else e.symbol for e in entries]
    bound = tuple(n for n, th, *ends in zip(names, theta, *bounds(task.first), strict=True) if th in ends)
    return Tuned(
        filter_.with_numbers(*task.values(theta)), dict(zip(names, np.exp(theta).tolist(), strict=True)),
        dict(zip(names, np.exp(task.first).tolist(), strict=True)), "likelihood" if truth is None else "reference",
        task.before, best, task.count, bound,
    )  # fmt: skip


def find_entries(filter_: Filter, wanted: list[str]) -> list[Entry]:
    """The unknowns that `vary` names."""
    model, noise = filter_.process, filter_.noise
    kinds: dict[str, tuple[Covariance | None, tuple[str, ...]]] = {
        "Q": (noise.Q, model.errors.names),
        "R": (noise.R, model.outputs.names),
        "input_noise": (noise.inputs, model.inputs.names),
    }
    variances: dict[str, list[Entry]] = {}
    for symbol, (matrix, names) in kinds.items():
        if matrix is None or matrix.function is not None:
            continue
        if not matrix.diagonal:
            variances[symbol] = [Entry(symbol, "", None, 1.0)]
            continue
        each = [Entry(symbol, n, k, matrix.values[k]) for k, n in enumerate(names) if matrix.values[k] > 0]
        variances[symbol] = each
        variances.update({f"{symbol}.{e.name}": [e] for e in each})
    entries: dict[tuple[str, str], Entry] = {}
    for name in wanted:
        if name not in variances:
            problem = unknown_name("variance to vary", str(name), variances, "the filter")
            why = Advice("Variances that are zero, or functions of the state, do not vary.")
            raise DataError("unknown-name", problem, why)
        entries.update({(e.symbol, e.name): e for e in variances[name]})
    if not entries:
        problem = f"nothing to vary in {', '.join(wanted)}: every variance is zero."
        raise DataError("empty", problem, Advice("Give an initial guess above zero."))
    return list(entries.values())


class Task:
    """The criterion and its gradient, as runs of the filter with other numbers."""

    def __init__(
        self,
        filter_: Filter,
        record: Record,
        entries: list[Entry],
        truth: Record | None,
        settle: float,
    ) -> None:
        self.filter, self.entries = filter_, entries
        self.data = read_rows(filter_, record)
        dt = filter_.process.dt or filter_.dt or (float(np.median(np.diff(record.time))) if len(record) > 1 else None)
        self.m0 = filter_.initial_filter_state(
            None, None, dt, self.data[0, : filter_.process.nu], float(record.time[0])
        )
        self.first = np.log([e.variance for e in entries])
        if self.data[:, engine.measured_columns(filter_)].sum() < 2 * len(entries):
            raise DataError(
                "too-few-samples",
                f"the record holds too few samples for {len(entries)} variances.",
                Advice("Use a longer record, or {} fewer.", Argument("vary")),
            )
        self.truth: Array | None = None
        if truth is not None:
            self._read_truth(record, truth, settle)
        symbols = len({e.symbol for e in entries})
        self.count, self.expected = 0, 1 + len(DECADES) * symbols + 8 * (len(entries) + 2)
        filter_.native.sample.expect(len(self.data) * self.expected)
        self.before = self.plain(self.first)

    def _read_truth(self, record: Record, truth: Record, settle: float) -> None:
        reported = self.filter.native.reported
        names = [n for n in reported.names if n in truth.names]
        if not names:
            problem = f"the truth has none of the estimated channels: {', '.join(reported.names[:12])}."
            raise DataError("missing-channel", problem)
        values = np.asarray(same_times(truth.select(*names), record.time)[names], dtype=float)
        late = record.time >= record.time[0] + settle
        if late.sum() < 2:
            raise DataError("too-few-samples", f"settle = {settle:g} s leaves fewer than 2 samples.")
        scale = np.nanstd(values[late], axis=0)
        self.places = [reported.names.index(n) for n in names]
        self.truth = np.where(late[:, None] & np.isfinite(values), values, np.nan)
        self.scale = np.where(scale > 0, scale, 1.0)

    def values(self, theta: Array) -> tuple[Array, Array, Array | None]:
        """Numbers of Q, R and the inputs at θ."""
        noise = self.filter.noise
        parts = {"Q": noise.Q.values.copy(), "R": noise.R.values.copy()}
        if noise.inputs is not None:
            parts["input_noise"] = noise.inputs.values.copy()
        for e, th in zip(self.entries, theta, strict=True):
            numbers = parts[e.symbol]
            half = len(numbers) // 2
            if e.place is None:
                numbers[:half] *= np.exp(th)
                numbers[half:] *= np.exp(th / 2)
            else:
                numbers[e.place], numbers[half + e.place] = np.exp(th), np.exp(th / 2)
        return parts["Q"], parts["R"], parts.get("input_noise")

    def numbers(self, theta: Array) -> Array:
        """The column p at θ."""
        return np.concatenate([self.filter.process.p, *(v for v in self.values(theta) if v is not None)])

    def plain(self, theta: Array, bar: Progress | None = None) -> float:
        """Criterion per sample; infinite where the filter diverges."""
        p, m, total = self.numbers(theta), self.m0, 0.0
        for samples in engine.blocks(len(self.data)):
            m, results = self._results(m, self.data[samples], p)
            total += self._share(results, None, samples.start)[0]
        self._count(1, bar)
        return total / len(self.data) if np.isfinite(total) else np.inf

    def slopes(self, theta: Array, bar: Progress | None = None, step: float = 1e-6) -> tuple[float, Array, Array]:
        """Criterion per sample, its gradient (k,), its second derivative (k, k), about; by a step of θ."""
        k, N = len(self.entries), len(self.data)
        columns = [self.numbers(theta), *(self.numbers(theta + step * side) for side in np.eye(k))]
        filter_states = [self.m0] * (k + 1)
        total, gradient, curvature = 0.0, np.zeros(k), np.zeros((k, k))
        for samples in engine.blocks(N):
            rows = self.data[samples]
            runs = [self._results(m, rows, p) for m, p in zip(filter_states, columns, strict=True)]
            filter_states = [m for m, _ in runs]
            here = runs[0][1]
            rates = np.stack([(there - here) / step for _, there in runs[1:]], axis=2)
            value, slope, second = self._share(here, rates, samples.start)
            total, gradient, curvature = total + value, gradient + slope, curvature + second
        self._count(k + 1, bar)
        return total / N, gradient / N, curvature / N

    def _results(self, m: Array, rows: Array, p: Array) -> tuple[Array, Array]:
        """Filter state after these samples, and their results: (n, nr + 2) report, NIS, ln det S."""
        native, where = self.filter.native, self.filter.native.columns
        results = native.samples(m, rows, p)
        values = np.column_stack([results[:, where.report], results[:, where.nis], results[:, where.logdet]])
        return results[-1, where.filter_state].copy(), values

    def _count(self, runs: int, bar: Progress | None) -> None:
        self.count += runs
        if bar is not None:
            bar.update(min(0.99, self.count / max(self.expected, self.count + 1)))

    def _share(self, results: Array, rates: Array | None, done: int) -> tuple[float, Array, Array]:
        """results : (n, nr + 2) report, NIS, ln det S; rates : (n, nr + 2, k)."""
        nothing = np.zeros(0)
        if self.truth is None:
            value = float(results[:, -2:].sum())
            if rates is None:
                return value, nothing, nothing
            g = rates[:, -2:].sum(axis=1)
            return value, g.sum(axis=0), g.T @ g / 2
        true = self.truth[done : done + len(results)]
        error = np.where(np.isfinite(true), (results[:, self.places] - true) / self.scale, 0.0)
        value = float((error**2).sum())
        if rates is None:
            return value, nothing, nothing
        slope = np.where(np.isfinite(true)[:, :, None], rates[:, self.places] / self.scale[:, None], 0.0)
        flat = slope.reshape(-1, slope.shape[-1])
        return value, 2 * error.ravel() @ flat, 2 * flat.T @ flat

    def search(self, bar: Progress) -> Array:
        """The best of a few common factors, of each covariance on its own."""
        best, theta = self.before, self.first.copy()
        for symbol in dict.fromkeys(e.symbol for e in self.entries):
            mask = np.array([e.symbol == symbol for e in self.entries])
            trials = [theta + mask * d * np.log(10) for d in DECADES]
            values = [self.plain(th, bar) for th in trials]
            if min(values) < best:
                best, theta = min(values), trials[int(np.argmin(values))]
        if not np.isfinite(best):
            problem = "the filter diverges with every Q and R near the initial guess."
            raise ConvergenceError("diverged", problem, Advice("Check the model."))
        return theta

    def descend(self, theta: Array, bar: Progress, steps: int = 60) -> tuple[Array, float]:
        """Damped Newton steps until they gain nothing; variances stay within their bounds."""
        first = _TuningPoint(theta, *self.slopes(theta, bar))
        lowest = minimise(_Descent(self, bar), first, DAMPING, steps).point
        return lowest.theta, lowest.value


@dataclass(frozen=True, eq=False)
class _TuningPoint:
    """Logarithms of variances θ, the value there, and its derivatives where they were requested."""

    theta: Array
    value: float
    gradient: Array | None = None
    curvature: Array | None = None


class _Descent:
    """The search as a problem of damped Newton steps; a point is a `_TuningPoint`."""

    def __init__(self, task: Task, bar: Progress) -> None:
        self.task, self.bar = task, bar
        self._slopes: tuple[_TuningPoint, Array, Array] | None = None

    def value(self, place: _TuningPoint) -> float:
        return place.value

    def slopes(self, place: _TuningPoint) -> tuple[Array, Array]:
        """Gradient and curvature, once per accepted place."""
        if place.gradient is not None and place.curvature is not None:
            return place.gradient, place.curvature
        if self._slopes is None or self._slopes[0] is not place:
            self._slopes = (place, *self.task.slopes(place.theta, self.bar)[1:])
        return self._slopes[1:]

    def step(
        self,
        place: _TuningPoint,
        damping: float,
        longest: float = 2.0,  # step of θ: a factor of 7
        flat: float = 1e-9,  # least second derivative of an unknown, of the largest
    ) -> DampedStep:
        gradient, curvature = self.slopes(place)
        size = np.maximum(curvature.diagonal(), flat * max(curvature.diagonal().max(), 1e-300))
        step = -np.linalg.solve(curvature + np.diag(damping * size), gradient)
        # each on its own: a variance of little effect must not slow the others down
        trial = np.clip(place.theta + np.clip(step, -longest, longest), *bounds(self.task.first))
        return DampedStep(trial, abs(float(gradient @ (trial - place.theta))))

    def evaluate(self, place: _TuningPoint, step: DampedStep) -> _TuningPoint:
        return _TuningPoint(step.change, self.task.plain(step.change, self.bar))

    def is_settled(self, before: _TuningPoint, after: _TuningPoint, step: DampedStep) -> bool:
        return self.is_rounding(after, None, step)

    def is_rounding(
        self, place: _TuningPoint, trial: _TuningPoint | None, step: DampedStep, gain: float = 1e-9
    ) -> bool:
        """gain : relative, that ends the descent: far below that of a change of 1 % in a variance."""
        size = abs(place.value)
        return step.predicted < gain * (size if self.task.truth is not None else max(1.0, size))
