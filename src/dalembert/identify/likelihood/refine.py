"""Maximum-likelihood refinement of an identified model.

noise = "output"        y = G(q) u + e, e white sensor noise, independent from output to output
noise = "innovations"   x[t+1] = A x + B u + K e, y = C x + D u + e: noise that also drives the system
The likelihood, its exact gradient and the elimination of C and D are those of `modal_likelihood`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from dalembert.core import progress as progress_
from dalembert.core.arguments import one_of
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.identify.likelihood import parametrisation, uncertainty
from dalembert.identify.likelihood.likelihood_search import LikelihoodSearch, Maximum
from dalembert.identify.likelihood.modal_likelihood import ModalModel
from dalembert.identify.likelihood.robust_deviations import choose_covariance
from dalembert.identify.model import playback
from dalembert.identify.model.identified import (
    DeviationMethod,
    HoldsIdentified,
    Identified,
    NoiseModel,
    take_identified,
)
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.records.reporting import report_findings
from dalembert.linear.state_space import StateSpace
from dalembert.record import Record
from dalembert.record.sampling import THRESHOLDS as SAMPLING

NOISES = ("output", "innovations")
# Rounds of searches with poles of another kind, and the least reduction of V for another round.
ROUNDS, WORTH = 2, 1e-3
STARTS = ("estimate", "zero")
# Decay per sample below which a pole is at the stability limit: 100 times the least that the search allows.
BORDER = 1e-7


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
        """The likelihood of these data."""
        drive = self.u
        if self.innovations:
            drive = tuple(np.hstack(pair) for pair in zip(self.u, self.y, strict=True))
        return LikelihoodSearch(drive, self.y, full=self.innovations, start=self.start == "estimate")

    def model(self) -> tuple[ModalModel, tuple[str, ...]]:
        """Modal parameters of the model or of its predictor, and notes on changes."""
        s = self.fit.system
        matrices = (s.A, s.B, s.C, s.D)
        direct = np.any(s.D != 0.0, axis=0)
        if self.innovations:
            K = np.zeros((s.nx, s.ny)) if self.fit.gain is None else self.fit.gain
            matrices = parametrisation.predictor(*matrices, K)
            direct = np.append(direct, np.zeros(s.ny, dtype=bool))
        return parametrisation.modal_model(*matrices, direct, len(self.y))


def prepare_refinement(
    fit: Identified | HoldsIdentified | StateSpace, record: Record | Sequence[Record] | Data, noise: str, start: str
) -> Refinement:
    """Check a model against the data that shall refine or judge it."""
    one_of("noise", noise, NOISES)
    one_of("start", start, STARTS)
    fit = take_identified(fit)
    if not isinstance(fit, (Identified, StateSpace)):
        raise DataError("wrong-type", f"expected an Identified or a StateSpace, got {type(fit).__name__}.")
    inputs, outputs = (fit.inputs, fit.outputs) if fit.inputs or fit.outputs else ((), ())
    data = record if isinstance(record, Data) else None
    if isinstance(fit, StateSpace):
        data = read_data(record, inputs, outputs)
        fit = Identified(fit if fit.dt is not None else fit.to_discrete(data.dt), method="given model")
    if data is not None:
        u, y = _take_channels(data, fit)
    else:
        records = [record] if isinstance(record, Record) else list(record)  # type: ignore[arg-type]
        if not records:
            raise DataError("empty", "no record was given.", where={"argument": "record"})
        u, y = tuple(fit._delayed_inputs(run) for run in records), tuple(fit._channels(run, outputs) for run in records)
    if not fit.order:
        raise DataError("empty", "a model without states has no poles to refine.")
    known = fit.order * (len(inputs) + len(outputs)) + len(inputs) * len(outputs) + fit.order * len(y)
    if sum(map(len, y)) * len(outputs) <= known:
        raise DataError(
            "too-few-samples",
            f"{sum(map(len, y))} samples of {len(outputs)} outputs do not determine the {known} parameters of a model "
            f"of order {fit.order}. Measure longer, or use a smaller order.",
        )
    return Refinement(fit, u, y, cast("NoiseModel", noise), start)


def _take_channels(data: Data, fit: Identified) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
    """Inputs and outputs of data read before, in the order of the model, with its delays."""
    if abs(data.dt - fit.dt) > SAMPLING.even * fit.dt:
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
    fit: Identified | HoldsIdentified | StateSpace,
    record: Record | Sequence[Record] | Data,
    *,
    noise: str = "output",
    start: str = "estimate",
    iterations: int = 50,
    progress: progress_.Setting = None,
) -> Identified:
    """Maximum-likelihood estimate nearest to a model that another method found, with standard deviations.

    Parameters
    ----------
    fit : Identified or StateSpace
        Initial model; its order and names are kept, and so are columns of D that are all zero (no feed-through). A
        continuous StateSpace is sampled first (zero-order hold).
    record : Record, or several of one system (each with an initial state of its own), or Data
    noise : "output" or "innovations"
        White sensor noise alone; or noise that drives the system as well (first with the gain of ``fit``, zero
        where it has none).
    start : "estimate" or "zero"
        State at the first sample of each record: estimated, or known to be zero.
    iterations : int
        Largest number.
    progress : None shows a bar on a terminal after two seconds; True, False, or a function of the fraction done.

    Returns
    -------
    Identified
        In modal states, with ``innovation`` (covariance of the noise), ``frequency_deviations``,
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
    >>> bool(abs(found.frequencies_hz[0] - truth.modes().frequencies_hz[0]) < 3 * found.frequency_deviations[0])
    True
    """
    given = prepare_refinement(fit, record, noise, start)
    search = given.search()
    with progress_.Progress(progress, "refining") as bar:
        top, before, changes = _find_maximum(given, search, int(iterations), bar.update)
    if not np.isfinite(top.point.value) or top.point.value > before:
        return given.fit.add_notes(
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
    border = int(np.count_nonzero(top.point.model.poles.real > -BORDER))
    if border and not given.innovations:
        problem = (
            f"refinement moved {border} poles to the stability limit, where no real decay is: the noise is not that of "
            "sensors alone."
        )
        advice = Advice("Use {}, or another order.", Argument("noise", "innovations"))
        findings.append(Finding("poles-at-stability-limit", problem, {}, {"poles": border}, (advice,)))
    result = _make_result(given, search, top, before, changes)
    return result.replace(findings=(*result.findings, *findings))


def _find_maximum(
    given: Refinement, search: LikelihoodSearch, iterations: int, report: Callable[[float], None]
) -> tuple[Maximum, float, tuple[str, ...]]:
    """The maximum, V of the initial model, and notes on its changes.

    A predictor may have poles of another kind (real or pairs) than the one with the given gain: the search begins with
    the better of that gain and none, and is repeated with poles of other kinds.
    """
    model, changes = given.model()
    begin = search.evaluate_start(model)
    before = _start_value(given, search) if changes else begin.value
    if given.innovations and given.fit.gain is not None and given.fit.system.is_stable:
        bare = replace(given, fit=given.fit.replace(gain=None)).model()[0]
        without = search.evaluate_start(bare)
        begin = without if without.value < begin.value else begin
    top = search.maximise(begin, iterations, report)
    for _ in range(ROUNDS if given.innovations else 0):
        if top.converged:  # else the search stopped between two kinds
            break
        tries = [
            search.maximise(search.evaluate_start(m), iterations, report)
            for m in parametrisation.change_pole_kinds(top.point.model)
        ]
        best = min(tries, key=lambda found: found.point.value, default=top)
        if not best.point.value < top.point.value - WORTH:
            break
        top = best
    return top, before, changes


def _start_value(given: Refinement, search: LikelihoodSearch) -> float:
    """V of the given model, where modal parameters do not represent it exactly."""
    s, K = given.fit.system, given.fit.gain
    total = np.zeros((s.ny, s.ny))
    for u, y in zip(given.u, given.y, strict=True):
        seen = y if given.start == "estimate" else None
        with np.errstate(over="ignore", invalid="ignore"):
            if given.innovations and K is not None:
                e = y - playback.predict(s.A, s.B, s.C, s.D, K, u, y, 1, seen is not None)
            else:
                e = y - playback.play_back(s.A, s.B, s.C, s.D, u, seen)
            total += e.T @ e
    if not np.isfinite(total).all():
        return np.inf
    return search.value(total)


def _make_result(
    given: Refinement, search: LikelihoodSearch, top: Maximum, before: float, changes: tuple[str, ...]
) -> Identified:
    old, ny = given.fit, given.fit.system.ny
    noise = uncertainty.correct_noise(top.point, top.free)
    poles, covariance = uncertainty.modal_covariance(top.point, top.free, noise, old.dt, innovations=given.innovations)
    method: DeviationMethod = "fisher"
    warning: tuple[str, ...] = ()
    if not given.innovations:
        method, covariance, warning = choose_covariance(search, top.point, top.free, noise, covariance, old.dt)
    model = parametrisation.sort_modes(parametrisation.normalise(top.point.model))
    A, B, C, D = parametrisation.state_space(model)
    gain, states = np.zeros((len(A), ny)), parametrisation.state_names(model)
    if given.innovations:
        A, B, C, D, gain = parametrisation.from_predictor(A, B, C, D)
        states = [f"x{i + 1}" for i in range(len(A))]
    system = old.system.replace(A=A, B=B, C=C, D=D, states=states)
    gained = before - top.point.value
    how = "output-error" if not given.innovations else "prediction-error"
    notes = (
        *changes,
        f"refined by {how} maximum likelihood: {top.iterations} iterations, "
        f"{'converged' if top.converged else 'not converged'}, log-likelihood up by {gained:.4g}",
        *warning,
    )
    result = Identified(
        system, method=f"{old.method.removesuffix(', refined')}, refined", gain=gain, innovation=noise,
        singular_values=old.singular_values,
        delays=old.delays, offsets=old.offsets, notes=(*old.notes, *notes),
        provenance={
            **old.provenance, "refined": given.noise, "iterations": top.iterations, "converged": top.converged,
            "cost before": before, "cost after": top.point.value,
        },
        deviation_method=method, noise_model=given.noise, subspace=old.subspace, findings=old.findings,
    )  # fmt: skip
    return add_covariance(result, poles, covariance)


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
        covariance=chosen, frequency_deviations=spread[0::2], damping_deviations=spread[1::2],
        provenance={**fit.provenance, "covariance": "f_1 [Hz], zeta_1, f_2, zeta_2, ..."},
    )  # fmt: skip
