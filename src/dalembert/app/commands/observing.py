"""``estimate`` and ``export``: filters of a machine over data, and filters and laws as C."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.app.commands import terminal, values
from dalembert.app.commands.models import Machine, Model, Near, Set, Start, load
from dalembert.app.commands.running import FLAG, Json
from dalembert.app.commands.simulating import FIGURES, TABLES
from dalembert.app.commands.small_motions import linear_model, rest
from dalembert.core.errors import DataError

if TYPE_CHECKING:
    from dalembert.estimate.engine.filter import Filter

MOST_ROWS = 20


class Kind(StrEnum):
    """Filters of a machine."""

    ekf = "ekf"
    iekf = "iekf"
    ukf = "ukf"
    ckf = "ckf"


class Real(StrEnum):
    """Numbers of the exported code."""

    double = "double"
    float = "float"


Variances = Annotated[
    list[str] | None,
    typer.Option(
        "--Q", metavar="VARIANCE", help="Variances of the model per step: one number, or NAME=NUMBER,... by state."
    ),
]
Measured = Annotated[
    list[str] | None,
    typer.Option("--R", metavar="VARIANCE", help="Variances of the sensors: one number, or NAME=NUMBER,... by sensor."),
]
Outputs = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="What is measured: sensors or coordinates; all sensors when left out."),
]
Known = Annotated[
    list[str] | None, typer.Option(metavar="NAMES", help='Inputs that are known; all when left out, none by "".')
]


def filter_of(
    machine: Machine, kind: Kind, *, outputs: list[str] | None, inputs: list[str] | None, Q: list[str] | None,
    R: list[str] | None, P0: list[str] | None, start: list[str] | None, guess: list[str] | None,
    dt: float | None = None,
) -> Filter:  # fmt: skip
    """The filter asked for, starting where the machine starts."""
    from dalembert import estimate as room

    noise = {"Q": values.weight(Q, "--Q"), "R": values.weight(R, "--R")}
    for name, value in noise.items():
        if value is None:
            raise typer.BadParameter(
                "a filter needs variances of the model and of the sensors.", param_hint=f"--{name}"
            )
    known = None if inputs is None else values.names(inputs)
    options: dict[str, Any] = {
        **noise, "outputs": values.names(outputs) or None, "inputs": known, "dt": dt,
        "P0": values.weight(P0, "--P0"), "at": machine.start(start, guess),
    }  # fmt: skip
    with terminal.waiting("making the filter"):
        if kind is Kind.ekf:
            return room.ExtendedKalman(machine.eqs, **options)
        if kind is Kind.iekf:
            return room.ExtendedKalman(machine.eqs, iterations=3, **options)
        if kind is Kind.ckf:
            options["points"] = room.Cubature()
        return room.SigmaPointKalman(machine.eqs, **options)


def estimate(
    model: Model,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The record: .csv, .parquet, .nc or .mat.")],
    kind: Annotated[
        Kind, typer.Option("--filter", help="Extended, iterated extended, unscented or cubature Kalman filter.")
    ] = Kind.ekf,
    outputs: Outputs = None,
    inputs: Known = None,
    Q: Variances = None,
    R: Measured = None,
    P0: Annotated[
        list[str] | None,
        typer.Option(
            "--P0", metavar="VARIANCE", help="Variances at the start; those the filter settles at when left out."
        ),
    ] = None,
    start: Start = None,
    guess: Near = None,
    changes: Set = None,
    smooth: Annotated[
        bool, typer.Option("--smooth", metavar=FLAG, help="Use the whole record at every sample.")
    ] = False,
    time: Annotated[str, typer.Option(metavar="NAME", help="Column of time in the data.")] = "time",
    dt: Annotated[
        float | None, typer.Option(**values.TIME, help="Sample time (s) of data without a column of time.")
    ] = None,
    truth: Annotated[Path | None, typer.Option(help="A record of the truth to compare with.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write estimates and deviations: .csv, .parquet or .nc.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report: one HTML page.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Write a figure: .png, .svg or .pdf.")] = None,
    plot: Annotated[list[str] | None, typer.Option(metavar="NAMES", help="Channels of the figure.")] = None,
    as_json: Json = False,
) -> None:
    """Estimate the motion of a machine from what was measured.

    Example: dalembert estimate pendulum measured.csv --Q 1e-6 --R 1e-4 --out estimated.csv

    JSON: {"model", "filter", "samples", "nis_per_output", "log_likelihood", "last": {name: {"value", "deviation",
    "unit"}}, "errors": {name: rms} or null, "warning": text or null, "files"}.
    """
    from dalembert.files.records.records import write_record

    values.writable(out, "--out", *TABLES)
    values.writable(report, "--report", ".html")
    values.writable(figure, "--figure", *FIGURES)
    machine = load(model, changes)
    record = values.record(data, time=time, dt=dt)
    filter_ = filter_of(machine, kind, outputs=outputs, inputs=inputs, Q=Q, R=R, P0=P0, start=start, guess=guess)
    found = filter_.run(record, progress=terminal.progress())
    if smooth:
        from dalembert.estimate import smooth as smoothed

        found = smoothed(found)
    true = None if truth is None else values.record(truth)
    files = []
    if out is not None:
        write_record(found.to_record(), out)
        files.append(out)
    if figure is not None:
        from dalembert.view import plot as draw

        draw(found, *values.names(plot), truth=true, file=figure)
        files.append(figure)
    if report is not None:
        from dalembert.view import report as tell

        title = f"{machine.mechanism.name}: estimated by {kind.value}"
        tell(found, report, truth=true, provenance={"model": machine.source, "data file": data.name}, title=title)
        files.append(report)
    terminal.wrote(*files)
    errors = None if true is None else rms_errors(found, true)
    used = int(found.measured.sum())
    per = float(found.nis.sum()) / used if used else float("nan")
    doubt = doubts(found)
    if doubt is not None:
        terminal.warn(doubt)
    names = found.record.names
    last = {
        name: {"value": found.record.data[-1, k], "deviation": found.deviations.data[-1, k],
               "unit": found.record.units[name]}
        for k, name in enumerate(names)
    }  # fmt: skip
    if as_json:
        terminal.give(
            {
                "model": machine.mechanism.name, "filter": kind.value, "samples": len(found), "nis_per_output": per,
                "log_likelihood": found.log_likelihood, "last": last, "errors": errors,
                "warning": doubt, "files": files,
            }
        )  # fmt: skip
        return
    chosen = [name for name in (*machine.eqs.measures.names, *machine.eqs.measure_rates.names) if name in last]
    rows = [
        (name, *(terminal.number(last[name][key]) for key in ("value", "deviation")), last[name]["unit"],
         *(() if errors is None else (terminal.number(errors[name], 3) if name in errors else "-",)))
        for name in (chosen or list(names))[:MOST_ROWS]
    ]  # fmt: skip
    head = ("estimate", "at the end", "deviation", "unit", *(() if errors is None else ("RMS error",)))
    terminal.show_table(f"{machine.mechanism.name}: {kind.value} over {len(found)} samples", head, rows, left=(0, 3))
    terminal.show(f"NIS {per:.3g} per sample and output (1 where the variances are right)")


def doubts(found: Any) -> str | None:
    """Why deviations of an estimate are not to be trusted, in the words of its report; None where they are."""
    try:
        judged = found.consistency()
    except DataError:  # too few samples to judge
        return None
    if judged.consistent:
        return None
    low, high = judged.nis_band
    band = f"NIS {judged.nis_mean:.3g}; {low:.3g} to {high:.3g} is consistent"
    return f"its deviations are not to be trusted: {judged.verdict} ({band})."


def rms_errors(found: Any, truth: Any) -> dict[str, float]:
    """Root-mean-square errors by name, of what both know."""
    import numpy as np

    errors = {}
    for name in found.record.names:
        if name in truth.names:
            true = np.interp(found.time, truth.time, truth[name])
            errors[name] = float(np.sqrt(np.mean(np.square(found.record[name] - true))))
    return errors


def export(
    model: Model,
    out: Annotated[Path, typer.Option(help="Folder for the C files.")],
    dt: Annotated[float, typer.Option(**values.TIME, help="Sampling interval (s).")],
    kind: Annotated[
        Kind | None,
        typer.Option("--filter", help="A Kalman filter: extended, iterated extended, unscented or cubature."),
    ] = None,
    lqr: Annotated[
        bool, typer.Option("--lqr", metavar=FLAG, help="A linear-quadratic law about the equilibrium.")
    ] = False,
    outputs: Outputs = None,
    inputs: Known = None,
    Q: Annotated[
        list[str] | None, typer.Option("--Q", metavar="NUMBERS", help="Variances of a step, or weights of the states.")
    ] = None,
    R: Annotated[
        list[str] | None, typer.Option("--R", metavar="NUMBERS", help="Variances of a sample, or weights of inputs.")
    ] = None,
    P0: Annotated[
        list[str] | None,
        typer.Option(
            "--P0", metavar="VARIANCE", help="Variances at the start; those the filter settles at when left out."
        ),
    ] = None,
    guess: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Near which equilibrium a law works, or pose a filter; repeatable.",
        ),
    ] = None,
    start: Start = None,
    changes: Set = None,
    name: Annotated[str | None, typer.Option(help="Prefix of everything in C; the name of the machine.")] = None,
    real: Annotated[Real, typer.Option(help="Type of numbers in C.")] = Real.double,
    as_json: Json = False,
) -> None:
    """Write a filter or a control law of a machine as C99 for a microcontroller.

    Example: dalembert export pendulum --filter ekf --Q 1e-6 --R 1e-4 --dt 0.01 --out c

    One of --filter and --lqr says which. `make -C FOLDER test` builds the code and checks it.

    JSON: {"model", "name", "folder", "state_bytes", "work_bytes", "files"}.
    """
    from dalembert.files.export.c_export import export_c, identifier

    if (kind is None) == (not lqr):
        raise typer.BadParameter("say what to export: --filter ekf or --lqr.", param_hint="--filter / --lqr")
    machine = load(model, changes)
    if kind is not None:
        step: Any = filter_of(
            machine, kind, outputs=outputs, inputs=inputs, Q=Q, R=R, P0=P0, start=start, guess=guess, dt=dt
        )  # fmt: skip
    else:
        step = law_of(machine, guess, start, inputs, Q, R, dt)
    with terminal.waiting("writing C"):
        prefix = identifier(machine.mechanism.name)[:41] if name is None else name
        written = export_c(step, out, name=prefix, dt=dt if kind is not None else None, real=real.value)
    terminal.wrote(*written.files)
    if as_json:
        terminal.give(
            {
                "model": machine.mechanism.name, "name": written.name, "folder": written.folder,
                "state_bytes": written.memory_bytes, "work_bytes": written.work_bytes, "files": written.files,
            }
        )  # fmt: skip
        return
    terminal.say(f"state {written.memory_bytes} bytes, work {written.work_bytes} bytes; check it: make -C {out} test")


def law_of(
    machine: Machine, guess: list[str] | None, start: list[str] | None, inputs: list[str] | None, Q: list[str] | None,
    R: list[str] | None, dt: float,
) -> Any:  # fmt: skip
    """The sampled linear-quadratic law about an equilibrium."""
    from dalembert.control import lqr

    Q_, R_ = values.weight(Q, "--Q"), values.weight(R, "--R")
    if Q_ is None:
        raise typer.BadParameter("a law needs weights of the states.", param_hint="--Q")
    system = linear_model(machine, *rest(machine, guess=guess, start=start))
    return lqr(system, dt=dt, cost="integral", inputs=values.names(inputs) or None, Q=Q_, R=1.0 if R_ is None else R_)
