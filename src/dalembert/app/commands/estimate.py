"""``estimate``: the motion of a machine from measurements, by a filter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.common_options import Figure, Json, Report, flag
from dalembert.app.command_line.filter_options import FILTER, AtStart, Known, Measured, Outputs, Variances, filter_of
from dalembert.app.command_line.loaded_machine import load
from dalembert.app.command_line.model_options import Model, Near, Set, Start
from dalembert.app.command_line.option_values import FIGURES
from dalembert.app.command_line.record_options import Map, Rate, Skip, Step, TimeColumn, Units, read_records
from dalembert.app.command_line.registry import command
from dalembert.core.errors import DataError


@command("Data", position=2)
def estimate(
    model: Model,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="The record, such as run.csv, run.parquet, run.nc or run.mat.")
    ],
    kind: Annotated[str, FILTER] = "ekf",
    outputs: Outputs = None,
    inputs: Known = None,
    Q: Variances = None,
    R: Measured = None,
    P0: AtStart = None,
    start: Start = None,
    guess: Near = None,
    changes: Set = None,
    smooth: Annotated[bool, flag("--smooth", "Smooth: use the whole record for every sample.")] = False,
    time: TimeColumn = None,
    dt: Step = None,
    rate: Rate = None,
    skip: Skip = None,
    unit: Units = None,
    renamed: Map = None,
    truth: Annotated[Path | None, typer.Option(help="A record of the truth to compare with.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write estimates and deviations, such as a.csv, a.parquet or a.nc.")
    ] = None,
    report: Report = None,
    figure: Figure = None,
    plot: Annotated[list[str] | None, typer.Option(metavar="NAMES", help="Channels of the figure.")] = None,
    as_json: Json = False,
) -> None:
    """Estimate the motion of a machine from measurements.

    Example: dalembert estimate pendulum measured.csv --Q 1e-6 --R 1e-4 --out estimated.csv

    JSON: {"model", "filter", "samples", "nis_per_output", "log_likelihood", "last": {name: {"value", "deviation",
    "unit"}}, "errors": {name: rms} or null, "warning": text or null, "files"}.
    """
    from dalembert.files.records.records import write_record

    option_values.writable_record(out, "--out")
    option_values.writable(report, "--report", ".html")
    option_values.writable(figure, "--figure", *FIGURES)
    machine = load(model, changes)
    (record,) = read_records([data], time=time, dt=dt, rate=rate, skip=skip, units=unit, renamed=renamed)
    filter_ = filter_of(machine, kind, outputs=outputs, inputs=inputs, Q=Q, R=R, P0=P0, start=start, guess=guess)
    run = filter_.run(record, progress=terminal.progress())
    if smooth:
        from dalembert.estimate import smooth as smooth_estimate

        run = smooth_estimate(run)
    true = None if truth is None else option_values.record(truth)
    files = []
    if out is not None:
        write_record(run.to_record(), out)
        files.append(out)
    if figure is not None:
        from dalembert.view import plot as draw

        draw(run, *option_values.names(plot), truth=true, path=figure)
        files.append(figure)
    if report is not None:
        from dalembert.view import report as write_report

        title = f"{machine.mechanism.name}: estimated by {kind}"
        about = {"model": machine.source, "data file": data.name}
        write_report(run, report, truth=true, provenance=about, title=title)
        files.append(report)
    terminal.report_written(*files)
    errors = None if true is None else rms_errors(run, true)
    used = int(run.measured.sum())
    per = float(run.nis.sum()) / used if used else float("nan")
    doubt = doubts(run)
    if doubt is not None:
        terminal.warn(doubt)
    names = run.record.names
    last = {
        name: {"value": run.record.data[-1, k], "deviation": run.deviations.data[-1, k],
               "unit": run.record.units[name]}
        for k, name in enumerate(names)
    }  # fmt: skip
    if as_json:
        terminal.give(
            {
                "model": machine.mechanism.name, "filter": kind, "samples": len(run), "nis_per_output": per,
                "log_likelihood": run.log_likelihood, "last": last, "errors": errors,
                "warning": doubt, "files": files,
            }
        )  # fmt: skip
        return
    chosen = [name for name in (*machine.eqs.measures.names, *machine.eqs.measure_rates.names) if name in last]
    rows = [
        (name, *(terminal.number(last[name][key]) for key in ("value", "deviation")), last[name]["unit"],
         *(() if errors is None else (terminal.number(errors[name], 3) if name in errors else "-",)))
        for name in (chosen or list(names))[:20]
    ]  # fmt: skip
    head = ("estimate", "at the end", "deviation", "unit", *(() if errors is None else ("RMS error",)))
    terminal.show_table(f"{machine.mechanism.name}: {kind} over {len(run)} samples", head, rows, left=(0, 3))
    terminal.show(f"NIS {per:.3g} per sample and output (1 where the variances are right)")


def doubts(found: Any) -> str | None:
    """Reason not to trust the deviations of an estimate, as in its report; None where there is none."""
    try:
        judged = found.consistency()
    except DataError:  # too few samples to judge
        return None
    if judged.consistent:
        return None
    low, high = judged.nis_band
    band = f"NIS {judged.nis_mean:.3g}; {low:.3g} to {high:.3g} is consistent"
    return f"do not trust its deviations: {judged.verdict} ({band})."


def rms_errors(found: Any, truth: Any) -> dict[str, float]:
    """Root-mean-square errors by name, of channels in both."""
    import numpy as np

    errors = {}
    for name in found.record.names:
        if name in truth.names:
            true = np.interp(found.time, truth.time, truth[name])
            errors[name] = float(np.sqrt(np.mean(np.square(found.record[name] - true))))
    return errors
