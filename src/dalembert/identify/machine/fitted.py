"""Result of fitting a machine: values, standard deviations, simulated outputs, findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.core.tables import align_columns
from dalembert.equations import EquationsOfMotion, State
from dalembert.identify.likelihood.identifiability import correlation_of, judge_information
from dalembert.identify.machine.records import MeasuredTests
from dalembert.identify.machine.shooting import Shooter, cut_segments, take_segment
from dalembert.identify.model.quality import Fit, Residuals, examine
from dalembert.identify.records.checks import find_name
from dalembert.record import Record

if TYPE_CHECKING:
    from dalembert.identify.machine.search import Search


@frozen
class FittedMachine:
    """Parameters of a machine found from records; frozen.

    Attributes
    ----------
    equations : EquationsOfMotion
        The machine with the fitted values.
    parameters : names;  values, first, deviations : (m,)
        Fitted values, first values, and standard deviations (inf where the data do not determine them).
    covariance, correlation : (m, m)
    undetermined : texts
        Combinations of parameters that the data do not determine.
    directions : (k, m)
        The same as unit vectors of relative changes.
    start : tuple of State
        Initial state of each record, on the joints.
    simulated : tuple of Record
        Matched outputs and inputs of one uninterrupted simulation per record, at the samples.
    errors : tuple of (N_k, ny)
        Measured minus simulated; NaN at gaps.
    fit : Fit
        Per cent and rms per channel.
    noise : (ny,)
        Standard deviation of the noise that was assumed or found, per output.
    status : "converged", or why the search ended
    notes : texts;  findings : reasons for doubt;  provenance : mapping
    """

    equations: EquationsOfMotion
    parameters: tuple[str, ...]
    values: FloatArray
    first: FloatArray
    deviations: FloatArray
    covariance: FloatArray
    correlation: FloatArray
    undetermined: tuple[str, ...]
    directions: FloatArray
    start: tuple[State, ...]
    simulated: tuple[Record, ...]
    errors: tuple[FloatArray, ...]
    fit: Fit
    noise: FloatArray
    status: str
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    provenance: Mapping[str, Any]

    def __getitem__(self, parameter: str) -> float:
        return float(self.values[self._place(parameter)])

    def deviation(self, parameter: str) -> float:
        """Standard deviation of one parameter."""
        return float(self.deviations[self._place(parameter)])

    def _place(self, name: str) -> int:
        return find_name("parameter", name, self.parameters, "this fit")

    def residuals(self, lags: int | None = None) -> Residuals:
        """Tests of the residuals: whiteness, and dependence on the inputs (records without gaps only)."""
        if any(not np.isfinite(e).all() for e in self.errors):
            raise DataError("not-finite", "the outputs have gaps, so their residuals cannot be tested.")
        inputs = list(self.provenance["inputs"])
        u = [run[inputs] if inputs else np.zeros((len(run), 0)) for run in self.simulated]
        return examine(self.errors, u, self.fit.outputs, inputs, "simulation", lags)

    def table(self) -> str:
        """One line per parameter."""
        rows = []
        for k, name in enumerate(self.parameters):
            value, deviation = float(self.values[k]), float(self.deviations[k])
            share = f"{100 * deviation / abs(value):.2g}" if value and np.isfinite(deviation) else "-"
            shown = f"{deviation:.2g}" if np.isfinite(deviation) else "unknown"
            rows.append((name, f"{value:.6g}", shown, share, f"{self.first[k]:.6g}"))
        return align_columns(("parameter", "value", "deviation", "[%]", "first value"), rows)

    def __repr__(self) -> str:
        head = f"FittedMachine {self.equations.name!r}: {self.status}, {self.fit.mean:.2f} % fit on average"
        return "\n".join([head, self.table(), self.fit.table(), *(f"  {note}" for note in self.notes)])


def make_result(eqs: EquationsOfMotion, tests: MeasuredTests, search: Search, status: str, hold: str) -> FittedMachine:
    values = np.array(search.p[search.columns])
    fitted = eqs.replace(**dict(zip(search.names, (float(v) for v in values), strict=True)))
    # relative to the values found: only then do ratios and products show as such
    size = np.where(values != 0.0, np.abs(values), search.unit)
    judged = judge_information(search.information() * (size / search.unit), search.names, relative=values != 0.0)
    covariance = judged.covariance * np.outer(size, size)
    deviations = np.sqrt(np.diag(covariance))
    full = cut_segments(tests, [len(run.t) - 1 for run in tests.runs], hold)
    single = Shooter(search.shooter.steps, full)
    first = np.array(
        [search.x[int(np.flatnonzero(search.shooter.segments.run == k)[0])] for k in range(len(tests.runs))]
    )
    y = [simulate_record(single, k, first, search.p, len(run.t)) for k, run in enumerate(tests.runs)]
    errors = tuple(run.y - out for run, out in zip(tests.runs, y, strict=True))
    agreement = _fit(tests, errors)
    findings = (*judged.findings, *find_lost_outputs(agreement, errors))
    notes = (*(f"warning: {finding.problem}" for finding in findings), *_notes(search, values, errors))
    nq, nv = eqs.nq, eqs.nv
    start = tuple(
        fitted.state(x[:nq], x[nq : nq + nv], x[nq + nv : nq + nv + eqs.nz], float(run.t[0]))
        for x, run in zip(first, tests.runs, strict=True)
    )
    simulated = tuple(_record_outputs(eqs, tests, k, out) for k, out in enumerate(y))
    return FittedMachine(
        equations=fitted, parameters=tuple(search.names), values=values, first=np.array(eqs.p[search.columns]),
        deviations=deviations, covariance=covariance, correlation=correlation_of(covariance),
        undetermined=tuple(finding.problem for finding in judged.findings), directions=judged.directions, start=start,
        simulated=simulated, errors=errors,
        fit=agreement, noise=search.sigma.copy(), status=status, notes=notes, findings=findings,
        provenance={
            "made by": "da.identify.fit", "segments": len(search.x), "substeps": search.shooter.steps.substeps,
            "iterations": search.iterations, "inputs": list(tests.inputs.values()), "hold": hold,
        },
    )  # fmt: skip


def find_lost_outputs(
    agreement: Fit, errors: tuple[FloatArray, ...], fit: float = 50.0, correlation: float = 0.5
) -> list[Finding]:
    """Outputs that the machine does not follow, although their noise does not explain the poor fit.

    fit : fit [%]: half of the amplitude of the output is missed. Noise alone may leave as much, so the errors decide:
    correlation : correlation of neighbouring errors: 0 of white noise, nearly 1 of a motion that was missed.
    """
    return [
        Finding(
            "poor-fit",
            f"the machine does not follow {name!r} (fit {percent:.0f} %): the initial state or the parameters are at a "
            "wrong minimum, or the model is wrong.",
            {"channel": name},
            {"fit": float(percent)},
            (Advice("Give {}, or better first values of the parameters.", Argument("start")),),
        )
        for k, (name, percent) in enumerate(zip(agreement.outputs, agreement.percent, strict=True))
        if not percent > fit and not correlate_neighbours([e[:, k] for e in errors]) < correlation
    ]


def simulate_record(single: Shooter, k: int, first: FloatArray, p: FloatArray, samples: int) -> FloatArray:
    """(N, ny) outputs of record k in one simulation from its initial state."""
    shooter = Shooter(single.steps, take_segment(single.segments, k, samples - 1))
    out: FloatArray = shooter.shoot(first[k : k + 1], p)[1][0]
    return out


def correlate_neighbours(errors: list[FloatArray]) -> float:
    """Correlation of errors with those one sample before."""
    pairs = [(e[1:] * e[:-1], e[1:] ** 2) for e in errors]
    return float(sum(np.nansum(a) for a, _ in pairs) / max(sum(np.nansum(b) for _, b in pairs), 1e-300))


def _fit(tests: MeasuredTests, errors: tuple[FloatArray, ...]) -> Fit:
    wrong = sum(np.nansum(e**2, axis=0) for e in errors)
    size = sum(np.nansum((run.y - np.nanmean(run.y, axis=0)) ** 2, axis=0) for run in tests.runs)
    count = sum(np.isfinite(e).sum(axis=0) for e in errors)
    ratio = np.sqrt(np.divide(wrong, size, out=np.full(len(wrong), np.inf), where=size > 0.0))
    units = {name: tests.units[name] for name in tests.channels}
    return Fit(
        percent=100.0 * (1.0 - ratio), rms=np.sqrt(wrong / count), outputs=tests.channels, kind="simulation",
        units=units,
    )  # fmt: skip


def _record_outputs(eqs: EquationsOfMotion, tests: MeasuredTests, k: int, y: FloatArray) -> Record:
    run = tests.runs[k]
    columns = {name: y[:, i] for i, name in enumerate(tests.channels)}
    columns |= {channel: run.u[:, eqs.inputs.index[name]] for name, channel in tests.inputs.items()}
    return Record.from_channels(run.t, columns, dict(tests.units), name=f"{eqs.name} fitted")


def _notes(
    search: Search, values: FloatArray, errors: tuple[FloatArray, ...], step_error: float = 0.5, departs: float = 1.1,
    at_bound: float = 1e-9,
) -> tuple[str, ...]:  # fmt: skip
    # step_error: Error by the length of the steps, in deviations of the estimate: the note comes where it adds 12 % to
    # them.
    # departs: Errors of one long simulation over those of the segments, and one deviation more: beyond, the motion is
    # unstable.
    # at_bound: Distance from a bound, relative, of a value that was clipped to it.
    notes = []
    for k, name in enumerate(search.names):
        for bound, word in ((search.low[k], "lower"), (search.high[k], "upper")):
            if np.isfinite(bound) and abs(values[k] - bound) <= at_bound * max(abs(bound), search.unit[k]):
                notes.append(f"{name} is at its {word} bound {bound:g}; its deviation ignores the bound.")
    cut = search.shooter.segments
    notes.append(
        f"{len(cut.h)} segment{'s' if len(cut.h) > 1 else ''} of about {cut.h.shape[1]} samples, "
        f"{search.shooter.steps.substeps} step(s) per sample, {search.iterations} iterations."
    )
    if search.step_error > step_error:
        notes.append(
            f"halved steps would move the estimate by some {search.step_error:.2g} of its deviations: raise substeps."
        )
    last = search.last
    apart = float(last.gap_sum)
    total = np.sqrt(sum(float(np.nansum((e / search.sigma) ** 2)) for e in errors))
    segmentwise = np.sqrt(last.squares)
    if not np.isfinite(total) or total > departs * segmentwise + 1.0:
        notes.append(
            f"one long simulation departs from the segments although their gaps are closed (to {apart:.1e}): the"
            " motion multiplies small differences (unstable or chaotic). The parameters are valid."
        )
    if search.fixed:
        count = sum(int(np.isfinite(e).sum()) for e in errors)
        notes.append(
            f"mean square of the weighted residuals {last.squares / count:.3g} (1 where the weights are right)."
        )
    return tuple(notes)
