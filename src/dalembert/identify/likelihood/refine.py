"""Maximum-likelihood refinement of an identified model.

noise = "output"        y = G(q) u + e, e white sensor noise, independent from output to output
noise = "innovations"   x[t+1] = A x + B u + K e, y = C x + D u + e: noise that also drives the system
The likelihood of output errors, its exact gradient and the elimination of C and D are those of `modal_likelihood`; that
of innovations is in `prediction_errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from dalembert.core import progress as progress_
from dalembert.core.arguments import one_of, whole_number
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import instance
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.identify.likelihood import parametrisation, uncertainty
from dalembert.identify.likelihood.likelihood_search import LikelihoodSearch
from dalembert.identify.likelihood.modal_likelihood import ModalModel, find_condition
from dalembert.identify.likelihood.prediction_errors import PredictionSearch, PredictorPoint
from dalembert.identify.likelihood.robust_deviations import choose_covariance
from dalembert.identify.model import playback
from dalembert.identify.model.identified import (
    DeviationMethod,
    HoldsIdentified,
    Identified,
    NoiseModel,
    take_identified,
)
from dalembert.identify.records.checks import require_samples
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.records.reporting import report_findings
from dalembert.linear.state_space import StateSpace
from dalembert.record import Record
from dalembert.record.sampling import steps_agree

NOISES = ("output", "innovations")
STARTS = ("estimate", "zero")


@dataclass(frozen=True)
class Refinement:
    """An initial model and the data that refine or judge it."""

    fit: Identified
    u: tuple[FloatArray, ...]
    y: tuple[FloatArray, ...]
    noise: NoiseModel
    start: str

    @property
    def innovations(self) -> bool:
        """Whether the predictor is fitted."""
        return self.noise == "innovations"

    def search(self) -> LikelihoodSearch:
        """The likelihood of sensor noise."""
        return LikelihoodSearch(self.u, self.y, full=False, start=self.start == "estimate")

    def model(self) -> tuple[ModalModel, tuple[str, ...]]:
        """Modal parameters of the model, and notes on changes."""
        s = self.fit.system
        return parametrisation.modal_model(s.A, s.B, s.C, s.D, np.any(s.D != 0.0, axis=0), len(self.y))

    def predictor(self) -> tuple[PredictionSearch, PredictorPoint]:
        """The likelihood of prediction errors, and the predictor of the model with its gain or none, the better one."""
        s, none = self.fit.system, np.zeros((self.fit.order, len(self.fit.outputs)))
        search = PredictionSearch(self.u, self.y, np.any(s.D != 0.0, axis=0), start=self.start == "estimate")
        gains = [none] if self.fit.gain is None else [self.fit.gain, none] if s.is_stable else [self.fit.gain]
        points = [search.begin(s.A, s.B, s.C, s.D, gain) for gain in gains]
        return search, min(points, key=lambda point: point.value)


def prepare_refinement(
    fit: Identified | HoldsIdentified | StateSpace, record: Record | Sequence[Record] | Data, noise: str, start: str
) -> Refinement:
    """Check a model against the data that shall refine or judge it."""
    one_of("noise", noise, NOISES)
    one_of("start", start, STARTS)
    model: Identified | StateSpace = instance(Identified, StateSpace)("fit", take_identified(fit))
    inputs, outputs = (model.inputs, model.outputs) if model.inputs or model.outputs else ((), ())
    data = record if isinstance(record, Data) else None
    if isinstance(model, StateSpace):
        data = read_data(record, inputs, outputs)
        model = Identified(model if model.dt is not None else model.to_discrete(data.dt), method="given model")
    if data is not None:
        u, y = _take_channels(data, model)
    else:
        records = [record] if isinstance(record, Record) else list(record)  # type: ignore[arg-type]
        if not records:
            raise DataError("empty", "no record was given.", where={"argument": "record"})
        u, y = (
            tuple(model._delayed_inputs(run) for run in records),
            tuple(model._channels(run, outputs) for run in records),
        )
    if not model.order:
        raise DataError("empty", "a model without states has no poles to refine.")
    unknowns = model.order * (len(inputs) + len(outputs)) + len(inputs) * len(outputs) + model.order * len(y)
    require_samples(
        sum(map(len, y)) * len(outputs), unknowns + 1,
        f"{sum(map(len, y))} samples of {len(outputs)} outputs do not determine the {unknowns} parameters of a "
        f"model of order {model.order}. Measure longer, or use a smaller order.",
    )  # fmt: skip
    return Refinement(model, u, y, cast("NoiseModel", noise), start)


def _take_channels(data: Data, fit: Identified) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
    """Inputs and outputs of data read before, in the order of the model, with its delays."""
    if not steps_agree(data.dt, fit.dt):
        raise DataError(
            "sample-time-mismatch", f"the data are sampled every {data.dt:.6g} s, the model every {fit.dt:.6g} s."
        )
    if data.inputs != fit.inputs or data.outputs != fit.outputs:
        raise DataError(
            "channel-mismatch",
            f"the data have inputs {data.inputs} and outputs {data.outputs}, the model {fit.inputs} and {fit.outputs}.",
        )
    return tuple(map(fit._delay_columns, data.u)), data.y


@report_findings
def refine(
    fit: Identified | HoldsIdentified | StateSpace, record: Record | Sequence[Record] | Data, *, noise: str = "output",
    start: str = "estimate", iterations: int = 100, progress: progress_.Setting = None,
) -> Identified:  # fmt: skip
    """Maximum-likelihood estimate nearest to a model that another method found, with standard deviations.

    Parameters
    ----------
    fit : Identified or StateSpace
        Initial model; its order and names are kept, and so are columns of D that are all zero (no feed-through). A
        continuous StateSpace is sampled first (zero-order hold).
    record : Record, or several of one system (each with an initial state of its own), or Data
    noise : "output" or "innovations"
        White sensor noise alone; or noise that drives the system as well (first with the gain of ``fit``, zero where
        it has none, or by regression of its order on the past where that is more likely).
    start : "estimate" or "zero"
        State at the first sample of each record: estimated, or known to be zero.
    iterations : int
        Largest number.
    progress : None shows a bar on a terminal after two seconds; True, False, or a function of the fraction done.

    Returns
    -------
    Identified
        In modal states, with ``innovation`` (covariance of the noise), ``frequency_deviations_hz``,
        ``damping_deviations`` and ``covariance`` (of f_1 [Hz], ζ_1, f_2, ...); never less likely than ``fit``. A
        stable model (for innovations: a stable predictor).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = StateSpace([[0.9, 0.3], [-0.3, 0.9]], [1.0, 0.0], [1.0, 0.5], dt=0.1, inputs="push", outputs="sway")
    >>> u = rng.standard_normal(2000)
    >>> run = truth.response(Record.from_channels(0.1 * np.arange(2000), {"push": u}))
    >>> noisy = run["sway"] + 0.05 * rng.standard_normal(2000)
    >>> test = Record.from_channels(run.time, {"push": u, "sway": noisy})
    >>> rough = truth.replace(A=[[0.89, 0.31], [-0.31, 0.89]])
    >>> found = refine(rough, test)
    >>> bool(abs(found.frequencies_hz[0] - truth.modes().frequencies_hz[0]) < 3 * found.frequency_deviations_hz[0])
    True
    """
    most = whole_number("iterations", iterations)
    prepared = prepare_refinement(fit, record, noise, start)
    with progress_.Progress(progress, "refining") as bar:
        maximise = _maximise_predictor if prepared.innovations else _maximise_simulation
        top = maximise(prepared, most, bar.update)
    if not np.isfinite(top.value) or top.value > top.before:
        return prepared.fit.add_notes(
            f"refinement ({noise} noise) found nothing more likely than the initial model, which is kept"
        )
    findings = []
    if not top.converged:
        problem = (
            f"refinement stopped after {top.iterations} iterations before it converged; the model is better than the "
            "initial one, but its standard deviations may be wrong."
        )
        advice = Advice("Allow more {}, or try another order.", Argument("iterations"))
        findings.append(Finding("no-convergence", problem, {}, {"iterations": top.iterations}, (advice,)))
    if top.border:
        problem = (
            f"refinement moved {top.border} poles to the stability limit, where no real decay is: the noise is not "
            "that of sensors alone."
        )
        advice = Advice("Use {}, or another order.", Argument("noise", "innovations"))
        findings.append(Finding("poles-at-stability-limit", problem, {}, {"poles": top.border}, (advice,)))
    result = _make_result(prepared, top)
    return result.replace(findings=(*result.findings, *findings))


@dataclass(frozen=True)
class _Optimum:
    """The end of a search: V before and after it, the model with its noise, and the covariance of its modes.

    ``matrices`` : A, B, C, D, gain; ``border`` : poles at the stability limit; ``condition`` : of the information on
    modal parameters, scaled to a unit diagonal.
    """

    before: float
    value: float
    iterations: int
    converged: bool
    matrices: tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]
    states: list[str]
    noise: FloatArray
    poles: ComplexArray
    covariance: FloatArray
    condition: float = 1.0
    method: DeviationMethod = "fisher"
    border: int = 0
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def _maximise_simulation(
    given: Refinement, iterations: int, report: Callable[[float], None], at_border: float = 1e-7
) -> _Optimum:
    """White sensor noise: modal parameters.

    at_border : decay per sample below which a pole is at the stability limit: 100 times the least that the search
    allows.
    """
    search, (model, changes) = given.search(), given.model()
    begin = search.evaluate_start(model)
    before = _start_value(given, search.value) if changes else begin.value
    top = search.maximise(begin, iterations, report)
    point, dt = top.point, given.fit.dt
    noise = uncertainty.correct_noise(point, top.free)
    poles, covariance = uncertainty.modal_covariance(point, top.free, noise, dt)
    method, covariance, warnings = choose_covariance(search, point, top.free, noise, covariance, dt)
    model = parametrisation.sort_modes(parametrisation.normalise(point.model))
    A, B, C, D = parametrisation.state_space(model)
    border = int(np.count_nonzero(point.model.poles.real > -at_border))
    return _Optimum(
        before, point.value, top.iterations, top.converged, (A, B, C, D, np.zeros((len(A), len(C)))),
        parametrisation.state_names(model), noise, poles, covariance,
        find_condition(search.find_derivatives(point)[1]), method, border, changes, warnings,
    )  # fmt: skip


def _maximise_predictor(given: Refinement, iterations: int, report: Callable[[float], None]) -> _Optimum:
    """Noise that drives the system too: the one-step predictor."""
    (search, first), n = given.predictor(), given.fit.order
    regressed = [point for past in (n, 2 * n) if (point := search.regress(n, past)) is not None]
    top = search.maximise(min([first, *regressed], key=lambda point: point.value), iterations, report)
    noise, (poles, covariance) = search.correct_noise(top.point), search.modal_covariance(top.point, given.fit.dt)
    return _Optimum(
        first.value, top.point.value, top.iterations, top.converged, search.matrices(top.point),
        [f"x{i + 1}" for i in range(given.fit.order)], noise, poles, covariance,
    )  # fmt: skip


def _start_value(given: Refinement, value: Callable[[FloatArray], float]) -> float:
    """V of the given model, where modal parameters do not represent it exactly."""
    s = given.fit.system
    total = np.zeros((s.ny, s.ny))
    for u, y in zip(given.u, given.y, strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            e = y - playback.play_back(s.A, s.B, s.C, s.D, u, y if given.start == "estimate" else None)
            total += e.T @ e
    return value(total) if np.isfinite(total).all() else np.inf


def _make_result(given: Refinement, top: _Optimum) -> Identified:
    old, (A, B, C, D, gain) = given.fit, top.matrices
    how = "output-error" if not given.innovations else "prediction-error"
    notes = (
        *top.notes,
        f"refined by {how} maximum likelihood: {top.iterations} iterations, "
        f"{'converged' if top.converged else 'not converged'}, log-likelihood up by {top.before - top.value:.4g}",
        *top.warnings,
    )
    result = Identified(
        old.system.replace(A=A, B=B, C=C, D=D, states=top.states), method=f"{old.method.removesuffix(', refined')}, "
        "refined", gain=gain, innovation=top.noise, singular_values=old.singular_values, delays=old.delays,
        offsets=old.offsets, notes=(*old.notes, *notes),
        provenance={
            **old.provenance, "refined": given.noise, "iterations": top.iterations, "converged": top.converged,
            "cost before": top.before, "cost after": top.value, "condition": top.condition,
        },
        deviation_method=top.method, noise_model=given.noise, subspace=old.subspace, findings=old.findings,
    )  # fmt: skip
    return add_covariance(result, top.poles, top.covariance)


def add_covariance(fit: Identified, poles: ComplexArray, covariance: FloatArray) -> Identified:
    """The fit with the deviations of its underdamped modes; its own order of modes decides."""
    modes = fit.underdamped_modes().eigenvalues
    if len(modes) == 0:
        return fit
    nearest = np.array([int(np.argmin(np.abs(poles - s))) for s in modes])
    rows = np.column_stack([2 * nearest, 2 * nearest + 1]).ravel()
    chosen = covariance[np.ix_(rows, rows)]
    spread = np.sqrt(np.maximum(np.diag(chosen), 0.0))
    return fit.replace(
        covariance=chosen, frequency_deviations_hz=spread[0::2], damping_deviations=spread[1::2],
        provenance={**fit.provenance, "covariance": "f_1 [Hz], zeta_1, f_2, zeta_2, ..."},
    )  # fmt: skip
