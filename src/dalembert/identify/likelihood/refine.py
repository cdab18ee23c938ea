"""Maximum-likelihood refinement of an identified model.

noise = "output"        y = G(q) u + e, e white sensor noise, independent from output to output
noise = "innovations"   x[t+1] = A x + B u + K e, y = C x + D u + e: noise that also drives the system
The likelihood, its exact gradient and the elimination of C and D are those of `modal_likelihood`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.core import progress as progress_
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.identify.likelihood import parametrisation, uncertainty
from dalembert.identify.likelihood.ascent import Ascent, Summit
from dalembert.identify.likelihood.robust_deviations import honest_covariance
from dalembert.identify.model import playback
from dalembert.identify.model.identified import DeviationMethod, Identified
from dalembert.identify.records.checks import IdentificationWarning
from dalembert.identify.records.data import Data, read_data
from dalembert.linear.state_space import StateSpace
from dalembert.record import Record

NOISES = ("output", "innovations")
# Rounds of trying poles of another kind, and the gain of V that is worth another.
ROUNDS, WORTH = 2, 1e-3
STARTS = ("estimate", "zero")
# Decay per sample below which a pole is at the border of stability.
BORDER = 1e-7


@dataclass(frozen=True)
class Setting:
    """A model and data that fit together."""

    fit: Identified
    u: tuple[FloatArray, ...]
    y: tuple[FloatArray, ...]
    noise: str
    start: str

    @property
    def innovations(self) -> bool:
        """Whether the predictor is what is fitted."""
        return self.noise == "innovations"

    def ascent(self, *, full: bool | None = None) -> Ascent:
        """The likelihood of these data."""
        drive = self.u
        if self.innovations:
            drive = tuple(np.hstack(pair) for pair in zip(self.u, self.y, strict=True))
        return Ascent(drive, self.y, full=self.innovations if full is None else full, start=self.start == "estimate")

    def model(self) -> tuple[Any, tuple[str, ...]]:
        """Modal parameters of the model or of its predictor."""
        s = self.fit.system
        matrices = (s.A, s.B, s.C, s.D)
        direct = np.any(s.D != 0.0, axis=0)
        if self.innovations:
            K = np.zeros((s.nx, s.ny)) if self.fit.gain is None else self.fit.gain
            matrices = parametrisation.predictor(*matrices, K)
            direct = np.append(direct, np.zeros(s.ny, dtype=bool))
        return parametrisation.modal_model(*matrices, direct, len(self.y))


def setting(fit: Identified | StateSpace, record: Record | Sequence[Record] | Data, noise: str, start: str) -> Setting:
    """Check a model against the data that shall refine or judge it."""
    if noise not in NOISES:
        raise DataError(f"noise must be {' or '.join(map(repr, NOISES))}, not {noise!r}.")
    if start not in STARTS:
        raise DataError(f"start must be {' or '.join(map(repr, STARTS))}, not {start!r}.")
    if not isinstance(fit, (Identified, StateSpace)):
        raise DataError(f"expected an Identified or a StateSpace to start from, got {type(fit).__name__}.")
    inputs, outputs = (fit.inputs, fit.outputs) if fit.inputs or fit.outputs else ((), ())
    data = record if isinstance(record, Data) else None
    if isinstance(fit, StateSpace):
        data = read_data(record, inputs, outputs)
        fit = Identified(fit if fit.dt is not None else fit.to_discrete(data.dt), method="given model")
    if data is not None:
        u, y = _taken(data, fit)
    else:
        records = [record] if isinstance(record, Record) else list(record)  # type: ignore[arg-type]
        if not records:
            raise DataError("no record was given.")
        u, y = tuple(fit._driving(run) for run in records), tuple(fit._channels(run, outputs) for run in records)
    if not fit.order:
        raise DataError("a model without states has no poles to refine.")
    known = fit.order * (len(inputs) + len(outputs)) + len(inputs) * len(outputs) + fit.order * len(y)
    if sum(map(len, y)) * len(outputs) <= known:
        raise DataError(
            f"{sum(map(len, y))} samples of {len(outputs)} outputs cannot tell the {known} parameters of a model of "
            f"order {fit.order}. Measure longer, or ask for a smaller order."
        )
    return Setting(fit, u, y, noise, start)


def _taken(data: Data, fit: Identified) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
    """Inputs and outputs of data read before, in the model's order, delayed as the model says."""
    if abs(data.dt - fit.dt) > 1e-3 * fit.dt:
        raise DataError(f"the data are sampled every {data.dt:.6g} s, the model every {fit.dt:.6g} s.")
    if data.inputs != fit.inputs or data.outputs != fit.outputs:
        raise DataError(
            f"the data have inputs {data.inputs} and outputs {data.outputs}, the model {fit.inputs} and {fit.outputs}."
        )
    late = [fit.delays.get(name, 0) for name in fit.inputs]
    if not any(late):
        return data.u, data.y
    moved = [
        np.column_stack([part[np.maximum(np.arange(len(part)) - count, 0), j] for j, count in enumerate(late)])
        for part in data.u
    ]
    return tuple(moved), data.y


def refine(
    fit: Identified | StateSpace,
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
        Where to start; its order and names are kept, and so are columns of D that are all zero (no feed-through). A
        continuous StateSpace is sampled first (zero-order hold).
    record : Record, or several of one system (each with a start of its own), or Data
    noise : "output" or "innovations"
        White sensor noise alone; or noise that drives the system as well (the start takes the gain of ``fit``, zero
        where it has none).
    start : "estimate" or "zero"
        State at the first sample of each record: estimated, or known to be zero.
    iterations : int
        At most so many.
    progress : None shows a bar on a terminal after two seconds; True, False, or a function of the fraction done.

    Returns
    -------
    Identified
        In modal states, with ``innovation`` (covariance of the noise), ``frequency_deviations``,
        ``damping_deviations`` and ``covariance`` (of f_1 [Hz], ζ_1, f_2, ...); never less likely than the start. A
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
    found = maximise_likelihood(fit, record, noise=noise, start=start, iterations=iterations, progress=progress)
    IdentificationWarning.report(one for one in found.findings if one not in getattr(fit, "findings", ()))
    return found


def maximise_likelihood(
    fit: Identified | StateSpace, record: Record | Sequence[Record] | Data, *, noise: str = "output",
    start: str = "estimate", iterations: int = 50, progress: progress_.Setting = None,
) -> Identified:  # fmt: skip
    """As :func:`refine`, without warnings: the findings are for the caller to report."""
    given = setting(fit, record, noise, start)
    ascent = given.ascent()
    with progress_.Progress(progress, "refining") as bar:
        top, before, changes = _summit(given, ascent, int(iterations), bar.update)
    if not np.isfinite(top.point.value) or top.point.value > before:
        return given.fit.noted(f"refinement ({noise} noise) found nothing more likely than the start, which is kept")
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
    result = _result(given, ascent, top, before, changes)
    return result.replace(findings=(*result.findings, *findings))


def _summit(
    given: Setting, ascent: Ascent, iterations: int, report: Callable[[float], None]
) -> tuple[Summit, float, tuple[str, ...]]:
    """The summit, V of the start, and how the start had to be changed.

    A predictor may have poles of another kind (real or pairs) than the one that the given gain makes: the ascent begins
    from the better of that gain and none, and is tried again with poles of other kinds.
    """
    model, changes = given.model()
    begin = ascent.begin(model)
    before = _start_value(given, ascent) if changes else begin.value
    if given.innovations and given.fit.gain is not None and given.fit.system.is_stable:
        bare = replace(given, fit=given.fit.replace(gain=None)).model()[0]
        without = ascent.begin(bare)
        begin = without if without.value < begin.value else begin
    top = ascent.climb(begin, iterations, report)
    for _ in range(ROUNDS if given.innovations else 0):
        if top.converged:  # a summit within its kind; the others are where an ascent got stuck between two kinds
            break
        tries = [ascent.climb(ascent.begin(m), iterations, report) for m in parametrisation.recast(top.point.model)]
        best = min(tries, key=lambda summit: summit.point.value, default=top)
        if not best.point.value < top.point.value - WORTH:
            break
        top = best
    return top, before, changes


def _start_value(given: Setting, ascent: Ascent) -> float:
    """V of the start as it was given, where modal parameters do not stand for it exactly."""
    s, K = given.fit.system, given.fit.gain
    total = np.zeros((s.ny, s.ny))
    for u, y in zip(given.u, given.y, strict=True):
        seen = y if given.start == "estimate" else None
        with np.errstate(over="ignore", invalid="ignore"):
            if given.innovations and K is not None:
                e = y - playback.predictions(s.A, s.B, s.C, s.D, K, u, y, 1, seen is not None)
            else:
                e = y - playback.outputs(s.A, s.B, s.C, s.D, u, seen)
            total += e.T @ e
    if not np.isfinite(total).all():
        return np.inf
    return ascent.value(total)


def _result(given: Setting, ascent: Ascent, top: Summit, before: float, changes: tuple[str, ...]) -> Identified:
    old, ny = given.fit, given.fit.system.ny
    noise = uncertainty.unbiased_noise(top.point, top.free)
    poles, covariance = uncertainty.modal_covariance(top.point, top.free, noise, old.dt, innovations=given.innovations)
    method: DeviationMethod = "fisher"
    warning: tuple[str, ...] = ()
    if not given.innovations:
        method, covariance, warning = honest_covariance(ascent, top.point, top.free, noise, covariance, old.dt)
    model = parametrisation.ascending(parametrisation.normalised(top.point.model))
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
        system, method=f"{old.method}, refined", gain=gain, innovation=noise, singular_values=old.singular_values,
        delays=old.delays, offsets=old.offsets, notes=(*old.notes, *notes),
        provenance={
            **old.provenance, "refined": given.noise, "iterations": top.iterations, "converged": top.converged,
            "cost before": before, "cost after": top.point.value,
        },
        deviation_method=method, findings=old.findings,
    )  # fmt: skip
    return with_covariance(result, poles, covariance)


def with_covariance(fit: Identified, poles: Any, covariance: FloatArray) -> Identified:
    """The fit with the deviations of its underdamped modes; its own order of modes decides."""
    modes = fit.underdamped().eigenvalues
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
