"""Maximum-likelihood estimate of unknown numbers in a second-order model from records.

y = outputs of the model + white noise, independent from output to output, of unknown variance. Scaled
Levenberg-Marquardt with exact sensitivities (:mod:`dalembert.identify.structured.structured_likelihood`).
Combinations that the data do not determine are eigenvectors, of eigenvalue zero, of the information scaled to a unit
diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from dalembert.core import progress as progress_
from dalembert.core.arguments import name_or_number, one_of, whole_number
from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.errors import ConvergenceError, DataError
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.tables import align_columns
from dalembert.core.text import list_names
from dalembert.identify.likelihood.uncertainty import modal_derivatives
from dalembert.identify.model import playback
from dalembert.identify.model.identified import Identified
from dalembert.identify.model.quality import examine
from dalembert.identify.records.checks import require_finite
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.records.reporting import IdentificationWarning
from dalembert.identify.structured.model import BuiltModel, StructuredModel, discretize
from dalembert.identify.structured.structured_likelihood import (
    StructuredLikelihood,
    StructuredPoint,
    Windows,
    window_lengths,
)
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace
from dalembert.numerics import ties
from dalembert.numerics.least_squares import DampedStep, Damping, Minimum, minimise
from dalembert.record import Record

MOST_NAMED = 8  # unknowns of a combination that a message lists


DAMPING = Damping(first=1e-3, most=1e10)


@frozen
class StructuredFit:
    """Unknown numbers found from records; frozen.

    Attributes
    ----------
    parameters : mapping of a name to its value
    deviations : mapping of a name to its standard deviation; infinite where the data do not determine it
    covariance : (k, k)
        In the order of ``parameters``, of the combinations that the data determine.
    undetermined : texts
        Combinations of unknowns that the data do not determine.
    system : SecondOrder or StateSpace
        At the found values.
    identified : Identified
        The same, sampled, with standard deviations of its modes.
    cost : (before, after)
        N/2 Σ ln of the residual variances.
    """

    parameters: Mapping[str, float]
    deviations: Mapping[str, float]
    covariance: FloatArray
    undetermined: tuple[str, ...]
    system: SecondOrder | StateSpace
    identified: Identified
    cost: tuple[float, float]
    iterations: int
    converged: bool

    def table(self) -> str:
        """Value and standard deviation of each unknown."""
        rows = []
        for name, value in self.parameters.items():
            spread = self.deviations[name]
            finite = np.isfinite(spread)
            share = f"{100.0 * spread / abs(value):.2g}" if finite and value else "-"
            rows.append((f"{value:.6g}", f"{spread:.2g}" if finite else "unknown", share, name))
        lines = [align_columns(("value", "±", "± %", "unknown"), rows)]
        return "\n".join([*lines, *(f"  - {text}" for text in self.undetermined)])

    def __repr__(self) -> str:
        end = "converged" if self.converged else "not converged"
        return f"StructuredFit: {len(self.parameters)} unknowns, {self.iterations} iterations, {end}\n{self.table()}"


def refine_structured(
    build: StructuredModel | Callable[[FloatArray], SecondOrder | StateSpace],
    theta0: Mapping[str, float] | ArrayLike | None, record: Record | Sequence[Record] | Data, *, hold: str = "zero",
    start: str = "estimate", iterations: int = 100, progress: progress_.Setting = None,
) -> StructuredFit:  # fmt: skip
    """Unknown masses, stiffnesses, dampers of a model from records, with standard deviations.

    Parameters
    ----------
    build : StructuredModel, or a function θ (k,) -> SecondOrder or continuous StateSpace
        Derivatives are exact for a StructuredModel; of a function its matrices are differenced.
    theta0 : values by name, or (k,)
        First values; ``None``: those of the StructuredModel.
    record : Record, several of the same system, or Data
        With the inputs and outputs of the system, by name.
    hold : "zero" or "first"
        Inputs constant over each step, or linear.
    start : "estimate" or "zero"
        State at the first sample of each record.
    progress : None shows a bar on a terminal after two seconds; True, False, or a function of the fraction done.

    Returns
    -------
    StructuredFit
        Warns (:class:`IdentificationWarning`) of unknowns that the data do not determine.

    Examples
    --------
    >>> from dalembert.identify import StructuredModel, Unknown
    >>> known = SecondOrder([[2.0]], [[0.0]], B=[1.0], coordinates=["x"], inputs=["force"])
    >>> model = StructuredModel(known, [Unknown("k", 70.0, K=[[1.0]]), Unknown("c", 0.5, C=[[1.0]])])
    >>> force = np.random.default_rng(1).standard_normal(500)
    >>> time = 0.05 * np.arange(500)
    >>> truth = model.system({"k": 80.0, "c": 0.3})
    >>> run = truth.response(Record.from_channels(time, {"force": force}), hold="zero")
    >>> test = Record.from_channels(time, {"force": force, "x": run["x"]})
    >>> {name: round(value, 6) for name, value in refine_structured(model, None, test).parameters.items()}
    {'k': 80.0, 'c': 0.3}
    """
    one_of("hold", hold, ("zero", "first"))
    one_of("start", start, ("estimate", "zero"))
    iterations = whole_number("iterations", iterations)
    model, theta = _read_model(build, theta0)
    first = model.system(theta)
    data = record if isinstance(record, Data) else read_data(record, first.inputs, first.outputs)
    if data.inputs != first.inputs or data.outputs != first.outputs:
        raise DataError(
            "channel-mismatch",
            f"the data have channels {data.inputs + data.outputs}, the model {first.inputs + first.outputs}.",
        )
    likelihood = StructuredLikelihood(data.u, data.y, estimate=start == "estimate")
    with progress_.Progress(progress, "fitting the structure") as bar:
        first_point, minimum = _maximise(model, likelihood, theta, data.dt, hold, iterations, bar)
    result, findings = _make_result(model, first_point, minimum, data, hold)
    IdentificationWarning.report(findings)
    return result


def _read_model(
    build: StructuredModel | Callable[[FloatArray], SecondOrder | StateSpace],
    theta0: Mapping[str, float] | ArrayLike | None,
) -> tuple[StructuredModel | BuiltModel, FloatArray]:
    if isinstance(build, StructuredModel):
        return build, build.vector(theta0)
    problem = f"build must be a StructuredModel or a function, got {type(build).__name__}."
    DataError.when(not callable(build), "wrong-type", problem)
    if theta0 is None:
        raise DataError(
            "missing-argument",
            "a function has no first values of its own.",
            Advice("Give {}.", Argument("theta0")),
            where={"argument": "theta0"},
        )
    if isinstance(theta0, Mapping):
        labels: tuple[str, ...] = tuple(theta0)
        theta = np.array([float(value) for value in theta0.values()])
    else:
        theta = np.array(theta0, dtype=np.float64).reshape(-1)
        labels = name_or_number("unknown", None, "theta", len(theta), "build")
    if not theta.size:
        raise DataError("empty", "theta0 must hold at least one number.", where={"argument": "theta0"})
    require_finite(theta, "theta0 must hold finite numbers.", where={"argument": "theta0"})
    return BuiltModel(build, theta, labels), theta


def _maximise(
    model: StructuredModel | BuiltModel, likelihood: StructuredLikelihood, theta: FloatArray, dt: float, hold: str,
    most: int, bar: progress_.Progress, converged: float = 1e-6, roughly: float = 1e-2,
) -> tuple[StructuredPoint, Minimum[StructuredPoint]]:  # fmt: skip
    """The first point and the maximum of the likelihood: over windows that grow, then over all data.

    converged : squared length of the last step in standard deviations: a thousandth of a deviation.
    roughly : squared length of the last step over short windows, whose maximum is only an initial guess: a tenth.
    """

    def whole(at: FloatArray) -> StructuredPoint:
        return likelihood.evaluate(discretize(model.continuous(at), dt, hold), at)

    first = whole(theta)
    near, states = theta, first.starts.shape[1]
    lengths = window_lengths(max(map(len, likelihood.y)), states, likelihood.y[0].shape[1])
    for i, length in enumerate(lengths):
        bar.update(i / (len(lengths) + 2))
        windows = Windows.spread(likelihood.u, likelihood.y, length, len(theta) + 1)

        def brief(at: FloatArray, windows: Windows = windows) -> StructuredPoint:
            return windows.evaluate(discretize(model.continuous(at), dt, hold), at)

        near = _climb(brief, near, windows.samples, 10, roughly).point.theta
    begin = whole(near)
    near = near if begin.value < first.value else theta
    if not np.isfinite(min(begin.value, first.value)):
        raise ConvergenceError(
            "diverged",
            "the model at its first values grows beyond the number range over the record.",
            Advice("Give better first values with {}.", Argument("theta0")),
        )
    return first, _climb(whole, near, likelihood.samples, most, converged)


@dataclass(frozen=True)
class _Fit:
    """The likelihood as a problem of damped least squares; a point is a `StructuredPoint`."""

    likelihood: Callable[[FloatArray], StructuredPoint]
    samples: int

    def value(self, point: StructuredPoint) -> float:
        return point.value

    def step(self, point: StructuredPoint, damping: float) -> DampedStep:
        return _step(point, damping)

    def evaluate(self, point: StructuredPoint, step: DampedStep) -> StructuredPoint | None:
        try:
            return self.likelihood(point.theta + step.change)
        except DataError:  # a singular mass matrix at a trial
            return None

    def is_settled(self, before: StructuredPoint, after: StructuredPoint, step: DampedStep) -> bool:
        return False

    def is_rounding(
        self, point: StructuredPoint, trial: StructuredPoint | None, step: DampedStep, rounding: float = 1e-11
    ) -> bool:
        return trial is not None and 0.5 * step.length < rounding * self.samples and bool(np.isfinite(trial.value))


def _climb(
    evaluate: Callable[[FloatArray], StructuredPoint], theta: FloatArray, samples: int, most: int, close: float
) -> Minimum[StructuredPoint]:
    """Levenberg-Marquardt from θ."""
    return minimise(_Fit(evaluate, samples), evaluate(theta), DAMPING, most, count_rejected=False, close=close)


def _step(point: StructuredPoint, damping: float, singular: float = 1e-11) -> DampedStep:
    """Damped step along determined combinations.

    singular : eigenvalue of the scaled information that counts as zero: sensitivities are sums of 1e5 rounded products.
    """
    values, vectors, back = _decompose(point)
    keep = values > singular
    along = vectors[:, keep].T @ (back * point.gradient) / (values[keep] + damping)
    change = back * (vectors[:, keep] @ along)
    length = float(along @ (values[keep] * along))
    return DampedStep(change, float(point.gradient @ change) - 0.5 * length, length)


def _decompose(point: StructuredPoint) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Eigenvalues and vectors of the information scaled to a unit diagonal, and the scales."""
    scale = np.sqrt(np.maximum(np.diag(point.information), 0.0))
    back = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
    values, vectors = scipy.linalg.eigh(point.information * back[:, None] * back)
    return values, vectors, back


def _make_result(
    model: StructuredModel | BuiltModel, first: StructuredPoint, found: Minimum[StructuredPoint], data: Data, hold: str,
    singular: float = 1e-11,
) -> tuple[StructuredFit, list[Finding]]:  # fmt: skip
    end, k = found.point, len(model.names)
    used = k / data.ny + (end.starts.size / data.ny if end.follow.any() else 0.0)
    correction = data.samples / max(data.samples - used, 1.0)
    values, vectors, back = _decompose(end)
    keep = values > singular
    half = back[:, None] * vectors[:, keep] / np.sqrt(values[keep])
    covariance = correction * half @ half.T
    findings, lost = _find_undetermined(end, vectors[:, ~keep], back, model.names)
    spread = np.where(lost, np.inf, np.sqrt(np.maximum(np.diag(covariance), 0.0)))
    undetermined = tuple(finding.text() for finding in findings)
    if not found.converged:
        advice = Advice("Allow more {}, or give other first values.", Argument("iterations"))
        findings.append(Finding("no-convergence", "the structured fit did not converge.", advice=(advice,)))
    system = model.system(end.theta)
    findings += _find_misfit(end, system, data, hold)
    identified = _sample(model, end, covariance, correction * end.noise, data, hold, system, undetermined)
    result = StructuredFit(
        parameters=dict(zip(model.names, map(float, end.theta), strict=True)),
        deviations=dict(zip(model.names, map(float, spread), strict=True)), covariance=covariance,
        undetermined=undetermined,
        system=system, identified=identified, cost=(first.value, end.value), iterations=found.iterations,
        converged=found.converged,
    )  # fmt: skip
    return result, findings


def _find_misfit(
    end: StructuredPoint, system: SecondOrder | StateSpace, data: Data, hold: str, misfit_lags: int = 50,
    dependent: float = 1e-6, exact_residual: float = 1e-6,
) -> list[Finding]:  # fmt: skip
    """A finding where the residuals follow the inputs: the form of the model (its damping, its masses) is wrong.

    misfit_lags : samples of inputs that residuals are compared with
    dependent, exact_residual : residuals relative to an output below which the data are exact, and the probability by
    chance of residuals that follow the inputs: one warning in a million fits of the right form.
    """
    inner = system.state_space() if isinstance(system, SecondOrder) else system
    sampled = inner.to_discrete(data.dt, "zoh" if hold == "zero" else "foh")
    if not data.nu or not sampled.is_stable:
        return []
    e, u = [], []
    for driven, y in zip(data.u, data.y, strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            simulated = playback.play_back(sampled.A, sampled.B, sampled.C, sampled.D, driven, y)
        e.append(y - simulated)
        u.append(driven)
    if not all(np.isfinite(block).all() for block in e):
        return []
    shares = np.sqrt(sum((block**2).sum(axis=0) for block in e) / sum((block**2).sum(axis=0) for block in data.y))
    lags = min(misfit_lags, min(map(len, e)) // 4)
    if shares.max() < exact_residual or lags < 2:
        return []
    judged = examine(e, u, data.outputs, data.inputs, "simulation", lags)
    if judged.is_independent(dependent):
        return []
    problem = (
        f"the residuals, {100 * shares.max():.2g} % of an output, follow the inputs: the form of the model does not "
        "hold, most often that of its damping. Its parameters are wrong by more than their standard deviations."
    )
    advice = Advice("Give it more unknown dampers, and compare with {}.", Call("da.identify.auto"))
    return [Finding("wrong-structure", problem, evidence={"share": float(shares.max())}, advice=(advice,))]


def _find_undetermined(
    point: StructuredPoint, null: FloatArray, back: FloatArray, names: Sequence[str], part: float = 1e-3
) -> tuple[list[Finding], NDArray[np.bool_]]:
    """Combinations that the data do not determine, and which unknowns take part.

    part : share of an unknown in an undetermined combination from which on it is named: far above the rounding of the
    elimination.
    """
    dead = back == 0.0
    lost, findings = dead.copy(), []
    remedy = Advice("Give one of them a known value, or measure more.")
    if dead.any():
        which = tuple(name for name, gone in zip(names, dead, strict=True) if gone)
        problem = f"the data do not determine {', '.join(map(repr, which))}: the outputs do not depend on it."
        cure = Advice("Give it a known value.")
        findings.append(Finding("undetermined-parameters", problem, {"parameters": which}, {}, (cure,)))
    moving = null[:, np.abs(null[~dead]).max(axis=0, initial=0.0) > 0.5 / np.sqrt(len(names))] if null.size else null
    if moving.size and not dead.all():
        size = np.where(point.theta != 0.0, point.theta, 1.0)
        # rows without fill: each direction with as few unknowns as possible
        for row in _reduce_rows((back[:, None] * moving / size[:, None]).T):
            member = np.abs(row) > part * np.abs(row).max()
            lost |= member
            ratio = row[member] / row[member][ties.first_largest(row[member])]
            members = tuple(name for name, is_in in zip(names, member, strict=True) if is_in)
            more = " ..." if len(ratio) > MOST_NAMED else ""
            parts = " : ".join(f"{value:.3g}" for value in ratio[:MOST_NAMED]) + more
            problem = (
                f"the data do not determine {list_names([repr(name) for name in members], {}, most=MOST_NAMED)} "
                f"separately: relative changes in the ratio {parts} leave the outputs unchanged."
            )
            evidence = {"direction": tuple(map(float, ratio))}
            findings.append(Finding("undetermined-parameters", problem, {"parameters": members}, evidence, (remedy,)))
    return findings, lost


def _reduce_rows(rows: FloatArray) -> FloatArray:
    """Reduced row echelon form, by the largest pivot."""
    rows = rows / np.abs(rows).max(axis=1, keepdims=True)
    done: list[int] = []
    for _ in range(len(rows)):
        remaining = [i for i in range(len(rows)) if i not in done]
        i, j = np.unravel_index(int(ties.first_largest(rows[remaining].ravel())), (len(remaining), rows.shape[1]))
        pivot = remaining[int(i)]
        rows[pivot] = rows[pivot] / rows[pivot, j]
        others = np.arange(len(rows)) != pivot
        rows[others] -= np.outer(rows[others, j], rows[pivot])
        done.append(pivot)
    return rows


def _sample(
    model: StructuredModel | BuiltModel, end: StructuredPoint, covariance: FloatArray, noise: FloatArray, data: Data,
    hold: str, system: SecondOrder | StateSpace, undetermined: tuple[str, ...], defective: float = 1e10,
) -> Identified:  # fmt: skip
    """The sampled system with the deviations of its modes: ds = wᴴ (∂A) v.

    defective : condition number of eigenvectors beyond which eigenvalues have no derivatives: 1/√ε is a defective pair,
    a hundred times that leaves no digit of a derivative.
    """
    inner = system.state_space() if isinstance(system, SecondOrder) else system
    discrete = inner.to_discrete(data.dt, "zoh" if hold == "zero" else "foh")
    fit = Identified(
        discrete, method="structured fit", gain=np.zeros((discrete.nx, discrete.ny)), innovation=np.diag(noise),
        notes=undetermined, provenance={**data.provenance, "deviations": "Fisher information"},
    )  # fmt: skip
    modes = fit.underdamped_modes().eigenvalues
    at = model.continuous(end.theta)
    values, V = np.linalg.eig(at.A)
    if not len(modes) or np.linalg.cond(V) > defective:
        return fit
    W = np.linalg.inv(V)
    nearest = [int(np.argmin(np.abs(values - s))) for s in modes]
    ds = np.einsum("im,kmn,ni->ik", W[nearest], at.dA, V[:, nearest], optimize=True)
    slopes = modal_derivatives(modes) @ np.stack([ds.real, ds.imag], axis=1).reshape(2 * len(modes), -1)
    spread = slopes @ covariance @ slopes.T
    root = np.sqrt(np.maximum(np.diag(spread), 0.0))
    return fit.replace(covariance=spread, frequency_deviations_hz=root[0::2], damping_deviations=root[1::2])
