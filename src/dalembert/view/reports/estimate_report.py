"""One page on an estimate: estimates, errors, and consistency of the filter."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.errors import DataError
from dalembert.estimate.engine.consistency import Consistency
from dalembert.estimate.engine.estimate import Estimate
from dalembert.estimate.engine.metrics import Comparison
from dalembert.estimate.forces.two_stage import TwoStageEstimate
from dalembert.record import Record
from dalembert.view.plots.plot import plot
from dalembert.view.plots.record_channels import moving_channels, select_distinct
from dalembert.view.reports import origin
from dalembert.view.reports.pages import Heading, Picture, Piece, Table, Text, write_page

MOST_ROWS = 12  # of a table; the rest is folded
MOST_NAMES = 40
MOST_CURVES = 5  # of a figure
Rows = Sequence[tuple[str, ...]]


def estimate_report(
    estimate: Estimate | TwoStageEstimate,
    path: str | os.PathLike[str],
    *,
    truth: Record | None = None,
    settle: float = 0.0,
    provenance: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> None:
    """Write a self-contained HTML page on the estimate of a filter from a record.

    Parameters
    ----------
    truth : record with true channels, of a simulation or of better sensors; errors are relative to it
    settle : seconds at the start that are not judged [s]
    provenance : further entries at the end
    """
    if isinstance(estimate, TwoStageEstimate):
        stages = [("Motion", estimate.motion), ("Forces", estimate.forces)]
        pieces: list[Piece] = []
        for name, stage in stages:
            pieces += [Heading(name), *estimate_pieces(stage, truth, settle, prefix=f"{name.lower()}-")]
        main, kind = estimate.motion, "Motion, then forces"
    else:
        pieces, main, kind = estimate_pieces(estimate, truth, settle), estimate, type(estimate.filter).__name__
    origins: dict[str, Any] = {**(provenance or {}), "data": main.data.name or "a record"}
    origins["data hash (SHA-256)"] = origin.data_hash(main.data)
    origins[origin.HASH] = origin.model_hash(main.filter.process)
    origins |= {key: value for key, value in main.data.provenance.items() if key in ("seed", "noise", "mechanism")}
    write_page(path, f"{kind}: estimate report" if title is None else title, pieces, {**origins, **origin.versions()})


def estimate_pieces(estimate: Estimate, truth: Record | None, settle: float, prefix: str = "") -> list[Piece]:
    """Contents of the page; ``prefix`` goes before the names of the pictures."""
    try:
        judged: Consistency | None = estimate.consistency(settle=settle)
    except DataError:  # nothing was measured after settling
        judged = None
    compared = None if truth is None else estimate.compare(truth, settle=settle)
    pieces: list[Piece] = [Text(summarize(estimate, judged, compared))]
    first, remaining = in_order(estimate)
    pieces.append(Heading("Estimated quantities"))
    drawn = list(select_distinct(estimate.record, first))[:MOST_CURVES]
    compared_names = [] if compared is None else [name for name in drawn if name in compared.channels]
    if compared is None or not compared_names:
        figure = plot(estimate, *drawn, truth=truth, title="")
        pieces.append(Picture(f"{prefix}estimate", figure, "Estimates, three deviations."))
    if compared is not None:
        figure = plot(compared, *compared_names, title="")
        pieces.append(Picture(f"{prefix}errors", figure, "Truth, estimate and error."))
    pieces += _deviations(estimate, settle, first, remaining)
    if compared is not None:
        pieces += [Heading("Errors against the truth"), *_errors(compared, first)]
    pieces.append(Heading("Is the filter consistent?"))
    if judged is None:
        pieces.append(Text("There are too few measured samples to judge its innovations."))
    else:
        low, high = judged.nis_band
        pieces.append(Text(
            f"Squares of the innovations over their predicted covariance (NIS) are {judged.nis_mean:.3g} on "
            f"average; {low:.3g} to {high:.3g} is consistent at {judged.level:.0%}. {judged.inside:.1%} of the samples "
            f"lie inside their own band, and {1.0 - judged.outside:.1%} of the autocorrelations inside theirs."
        ))  # fmt: skip
        pieces.append(Picture(f"{prefix}consistency", plot(judged), "Autocorrelations of the innovations, mean NIS."))
        figure = plot(estimate, view="innovations", title="")
        pieces.append(Picture(f"{prefix}innovations", figure, "Innovations and their three deviations."))
    return [*pieces, Heading("The filter"), _filter(estimate)]


def summarize(estimate: Estimate, judged: Consistency | None, compared: Comparison | None) -> str:
    """Findings for a reader who does not know the filter."""
    outputs = estimate.filter.process.outputs.names
    total = len(estimate) * len(outputs)
    used = int(estimate.measured.sum())
    text = (
        f"A filter ({type(estimate.filter).__name__}{', smoothed' if estimate.smoothed else ''}) took in "
        f"{', '.join(outputs[:6])}{' and more' if len(outputs) > 6 else ''} for {len(estimate)} samples, from "
        f"{estimate.time[0]:g} to {estimate.time[-1]:g} s, and estimated {len(estimate.record.names)} quantities."
    )
    if used < total:
        text += f" {total - used} of {total} measured values were missing."
    if estimate.status != "complete":
        text += f" It ended early: {estimate.status}."
    if judged is not None:
        text += (
            " Its innovations are as large and as white as it predicts: its deviations can be trusted."
            if judged.consistent
            else f" Do not trust its deviations: {judged.verdict}."
        )
    if compared is not None:
        text += _describe_errors(compared)
    return text


def _describe_errors(compared: Comparison) -> str:
    sizes = {name: compared.signal_rms[name] for name in moving_channels(compared.truth, compared.channels)}
    shares = {name: compared.rms[name] / size for name, size in sizes.items() if size > 0.0}
    if not shares:
        return ""
    best, worst = min(shares, key=lambda n: shares[n]), max(shares, key=lambda n: shares[n])
    text = f" Its error against the truth is {100.0 * shares[worst]:.2g} % of the signal in {worst} (root mean square)"
    text += f" and {100.0 * shares[best]:.2g} % in {best}." if best != worst else "."
    if compared.nees is not None:
        text += f" Squares of the errors of all states over their covariance (NEES) are {compared.nees_mean:.3g}."
    return text


def _filter(estimate: Estimate) -> Table:
    watched = estimate.filter
    model, dt = watched.process, watched.dt
    rows = [
        ("kind", type(watched).__name__),
        ("model", model.name),
        ("sample time [s]", "–" if dt is None else f"{dt:g}"),
    ]
    parts = (("states", model.carried), ("inputs", model.inputs), ("outputs", model.outputs))
    rows += [(word, ", ".join(channels.names[:MOST_NAMES]) or "–") for word, channels in parts]
    begin = "steady" if watched.P0 is None else ", ".join(f"{v:.3g}" for v in np.sqrt(np.diag(watched.P0))[:MOST_NAMES])
    rows += [("deviations at the start", begin), ("processor time [s]", f"{estimate.seconds:.3g}")]
    return Table(("of the filter", ""), tuple(rows))


def in_order(estimate: Estimate) -> tuple[list[str], list[str]]:
    """Names of the important quantities, and of all others.

    First measured quantities, then states of the filter (independent coordinates, their rates, parameters), then
    quantities that follow from them; those that move only by rounding, compared with the largest value of their unit,
    are last.
    """
    record, model = estimate.record, estimate.filter.process
    important = [*model.outputs.names, *model.errors.names, *model.carried.names]
    names = list(dict.fromkeys([name for name in important if name in record.names] + list(record.names)))
    # a parameter that is constant from the start is of interest
    worth = {*model.errors.names, *moving_channels(record, names)}
    moving = [name for name in names if name in worth] or names
    first = moving[:MOST_ROWS]
    return first, [*moving[MOST_ROWS:], *(name for name in names if name not in moving)]


def _fold_table(head: tuple[str, ...], first: Rows, rest: Rows, words: str = "") -> list[Piece]:
    """A table, and the rest of it behind a click."""
    tables: list[Piece] = [Table(head, tuple(first), words)]
    if rest:
        tables.append(Table(head, tuple(rest), folded=f"{len(rest)} more, including all that do not move"))
    return tables


def _deviations(estimate: Estimate, settle: float, first: Sequence[str], rest: Sequence[str]) -> list[Piece]:
    late = estimate.time >= estimate.time[0] + settle

    def row(name: str) -> tuple[str, ...]:
        x, s = estimate[name][late], estimate.deviation(name)[late]
        numbers = (estimate[name][-1], estimate.deviation(name)[-1], float(np.sqrt(np.nanmean(s**2))), np.nanstd(x))
        return (name, estimate.record.units[name] or "–", *(f"{float(v):.4g}" for v in numbers))

    head = ("quantity", "unit", "at the end", "± deviation", "deviation (rms)", "motion (rms)")
    return _fold_table(head, [row(name) for name in first], [row(name) for name in rest])


def _errors(compared: Comparison, order: Sequence[str]) -> list[Piece]:
    def row(name: str) -> tuple[str, ...]:
        share = compared.signal_rms[name]
        return (
            name, compared.errors.units[name] or "–", f"{compared.rms[name]:.4g}",
            f"{100.0 * compared.rms[name] / share:.3g}" if share > 0.0 else "–", f"{compared.largest[name]:.4g}",
            f"{compared.mean[name]:+.3g}", f"{compared.deviation_rms[name]:.4g}",
        )  # fmt: skip

    first = [name for name in order if name in compared.channels] or list(compared.channels[:MOST_ROWS])
    remaining = [name for name in compared.channels if name not in first]
    head = ("channel", "unit", "rms error", "of signal [%]", "largest", "mean", "rms deviation of the filter")
    words = f"After {compared.settle:g} s" if compared.settle > 0.0 else ""
    return _fold_table(head, [row(name) for name in first], [row(name) for name in remaining], words)
