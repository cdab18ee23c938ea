"""``simulate`` and ``animate``: a model to a record, a report, a moving picture."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.app.commands import terminal, values
from dalembert.app.commands.models import (
    SUFFIXES,
    Input,
    Machine,
    Model,
    Near,
    Set,
    Start,
    completed,
    load,
    offered,
    until_of,
)
from dalembert.app.commands.running import Json
from dalembert.app.commands.values import TIME

if TYPE_CHECKING:
    from dalembert.record import Record

MOST_ROWS = 20
TABLES = (".csv", ".parquet", ".nc", ".tsv", ".txt", ".pq", ".nc4", ".netcdf")
FIGURES = (".png", ".svg", ".pdf", ".eps", ".jpg", ".jpeg", ".webp")


class Method(StrEnum):
    """Methods of integration, as the command line calls them."""

    dormand_prince = "dormand-prince"
    rk4 = "rk4"
    rosenbrock = "rosenbrock"
    generalized_alpha = "generalized-alpha"
    sundials = "sundials"


NEEDS_STEP = (Method.rk4, Method.generalized_alpha)


def simulate(
    model: Model,
    until: Annotated[float | None, typer.Option(**TIME, help="End time (s); the model's own, else 10.")] = None,
    every: Annotated[
        float | None,
        typer.Option(**TIME, help="Sampling interval of the record (s); the model's own, else 1000 samples."),
    ] = None,
    method: Annotated[
        Method | None,
        typer.Option(
            metavar="METHOD",
            help="dormand-prince, rk4, rosenbrock (stiff), generalized-alpha or sundials; the model's own, else "
            "dormand-prince.",
        ),
    ] = None,
    step: Annotated[float | None, typer.Option(**TIME, help="Fixed step (s), for rk4 and generalized-alpha.")] = None,
    rtol: Annotated[
        float | None, typer.Option(help="Relative and absolute tolerance, for the methods with steps of their own.")
    ] = None,
    max_steps: Annotated[
        int | None,
        typer.Option(min=1, help="Steps for a thousandth of the run (sundials: a sixteenth) before it is given up."),
    ] = None,
    changes: Set = None,
    start: Start = None,
    guess: Near = None,
    inputs: Input = None,
    out: Annotated[Path | None, typer.Option(help="Write the record: .csv, .parquet or .nc.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report: one HTML page.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Write a figure: .png, .svg or .pdf.")] = None,
    plot: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Channels of the figure and of the report.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Simulate a machine; write its record, a figure, a report.

    Example: dalembert simulate four-bar --until 5 --input "torque=0.1*sin(2*t)" --out run.csv --report run.html

    JSON: {"model", "status", "start", "end", "samples", "channels": {name: {"unit", "first", "last", "smallest",
    "largest"}}, "statistics", "seconds", "files"}.
    """
    values.writable(out, "--out", *TABLES)
    values.writable(report, "--report", ".html")
    values.writable(figure, "--figure", *FIGURES)
    machine = load(model, changes)
    began = time.perf_counter()
    run = run_of(machine, until, every, method_of(method, step, rtol, max_steps, machine), start, guess, inputs, out)
    seconds = time.perf_counter() - began
    files = []
    if out is not None:
        from dalembert.files.records.records import write_record

        write_record(run, out)
        files.append(out)
    if figure is not None:
        from dalembert.view import plot as draw

        draw(run, *values.names(plot), file=figure)
        files.append(figure)
    if report is not None:
        from dalembert.view.reports.run_report import run_report

        told = origin(machine) | {"command": command_line(model, {
            "until": until_of(machine, until, say=False), "every": every, "method": method, "step": step, "rtol": rtol,
            "max-steps": max_steps, "set": changes, "start": start, "guess": guess, "input": inputs,
        })}  # fmt: skip
        run_report(report, run, machine.mechanism, machine.eqs, names=values.names(plot), provenance=told)
        files.append(report)
    terminal.wrote(*files)
    chosen = summary_channels(run, machine)
    if as_json:
        terminal.give(
            {
                "model": machine.mechanism.name, "status": run.status, "start": run.time[0], "end": run.time[-1],
                "samples": len(run), "channels": {name: extremes(run, name) for name in run.names},
                "statistics": run.statistics, "seconds": seconds, "files": files,
            }
        )  # fmt: skip
        return
    terminal.show_table(
        f"{machine.mechanism.name}: {run.time[0]:g} to {run.time[-1]:g} s, {len(run)} samples",
        ("channel", "unit", "at the start", "at the end", "smallest", "largest"),
        [row(name, extremes(run, name)) for name in chosen],
        left=(0, 1),
    )
    terminal.say(trust(run, seconds))


def run_of(
    machine: Machine, until: float | None, every: float | None, method: Any, start: list[str] | None,
    guess: list[str] | None, inputs: list[str] | None, out: Path | None = None,
) -> Record:  # fmt: skip
    """The run; where it fails, what it had is written where the whole was to go."""
    from dalembert.core.errors import DalembertError
    from dalembert.loop.simulate import simulate as solve

    own = machine.mechanism.simulation
    try:
        return solve(
            machine.eqs, until_of(machine, until), start=machine.start(start, guess), inputs=machine.inputs(inputs),
            method=method, every=own.get("every") if every is None else every, progress=terminal.progress(),
        )  # fmt: skip
    except DalembertError as error:
        if out is not None and error.record is not None and len(error.record):
            from dalembert.files.records.records import write_record

            write_record(error.record, out)
            terminal.say(f"wrote {out}: what was computed up to {error.record.time[-1]:g} s")
        raise


def method_of(
    method: Method | None, step: float | None, rtol: float | None, max_steps: int | None, machine: Machine
) -> Any:
    """The method asked for, or that of the model."""
    from dalembert.solve.integrate import methods

    own = machine.mechanism.simulation.get("method")
    if method is None and step is None and rtol is None and max_steps is None:
        return own
    kind = Method.dormand_prince if method is None else method
    kinds = {
        Method.dormand_prince: methods.DormandPrince, Method.rk4: methods.RK4, Method.rosenbrock: methods.Rosenbrock,
        Method.generalized_alpha: methods.GeneralizedAlpha, Method.sundials: methods.Sundials,
    }  # fmt: skip
    options: dict[str, Any] = {}
    if step is not None:
        options["step"] = step
    elif kind in NEEDS_STEP:
        raise typer.BadParameter(f"{kind.value} needs a step in seconds.", param_hint="--step")
    if rtol is not None:
        options |= {"rtol": rtol, "atol": rtol}
    if max_steps is not None:
        options["max_steps"] = max_steps
    fields = kinds[kind].__dataclass_fields__  # type: ignore[attr-defined]
    for name in options:
        if name not in fields:
            raise typer.BadParameter(f"{kind.value} has no {name}.", param_hint=f"--{name.replace('_', '-')}")
    return kinds[kind](**options)


def summary_channels(run: Record, machine: Machine) -> list[str]:
    """Joint coordinates and rates, sensors, energy: what a reader asks for first."""
    eqs = machine.eqs
    coordinates = [eqs.measures.names[k] for k in eqs.recorded_measures]
    rates = [eqs.measure_rates.names[k] for k in eqs.recorded_measures]
    wanted = [*coordinates, *rates, *eqs.outputs.names, *eqs.inputs.names, "energy"]
    found = [name for name in dict.fromkeys(wanted) if name in run.names] or list(run.names)
    return found[:MOST_ROWS]


def extremes(run: Record, name: str) -> dict[str, Any]:
    import numpy as np

    values_ = run[name]
    good = values_[np.isfinite(values_)]
    low, high = (float(good.min()), float(good.max())) if len(good) else (float("nan"), float("nan"))
    return {
        "unit": run.units[name], "first": float(values_[0]), "last": float(values_[-1]), "smallest": low,
        "largest": high,
    }  # fmt: skip


def row(name: str, found: dict[str, Any]) -> tuple[str, ...]:
    shown = (terminal.number(found[key]) for key in ("first", "last", "smallest", "largest"))
    return (name, found["unit"], *shown)


def trust(run: Record, seconds: float) -> str:
    """Steps, time taken, energy and joints, in one line."""
    parts = [f"{run.statistics['steps']} steps"] if "steps" in run.statistics else []
    if "energy.balance" in run.names:
        parts.append(f"energy balance within {abs(run['energy.balance']).max():.1e} J")
    if "residual.position" in run.names:
        parts.append(f"joints closed to {abs(run['residual.position']).max():.1e}")
    if found := run.statistics.get("singular poses"):
        parts.append(f"singular poses passed: {len(found)}")
    return ", ".join([*parts, f"{seconds:.2f} s"])


def origin(machine: Machine) -> dict[str, Any]:
    """Provenance of a report: model and versions."""
    from dalembert.view.reports.origin import HASH, versions

    file = Path(machine.source)
    found: dict[str, Any] = {"model": file.name if file.exists() else f"{machine.source} (library)"}
    if machine.changes:
        found["changed"] = {name: terminal.number(value) for name, value in machine.changes.items()}
    return {**found, HASH: machine.eqs.content_hash, **versions()}


def command_line(model: str, given: Mapping[str, Any]) -> str:
    """The command that makes the same run, for a shell; the model by its name, without the folders of this machine."""
    parts = ["dalembert", "simulate", Path(model).name if Path(model).exists() else model]
    for name, value in given.items():
        for one in value if isinstance(value, list) else [] if value is None else [value]:
            parts += [
                f"--{name}",
                one.value if isinstance(one, Method) else f"{one:.12g}" if isinstance(one, float) else str(one),
            ]
    return shlex.join(parts)


def shown(incomplete: str) -> list[str]:
    """Models and records, for the shell's completion."""
    return completed(incomplete, (*SUFFIXES, ".nc", ".parquet"))


def animate(
    source: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|RECORD",
            help="A model, or a record that `dalembert simulate --out` wrote.",
            autocompletion=shown,
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="The model of a record in a .csv file.", autocompletion=offered),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The page to write; NAME-animation.html when left out.")] = None,
    until: Annotated[float | None, typer.Option(**TIME, help="End time (s); the model's own, else 10.")] = None,
    changes: Set = None,
    start: Start = None,
    guess: Near = None,
    inputs: Input = None,
    trail: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Points that leave a trail, as bodies or sensors name them; repeatable."),
    ] = None,
    speed: Annotated[float, typer.Option(help="How fast it plays: seconds of the run per second.")] = 1.0,
    as_json: Json = False,
) -> None:
    """Write an animation: one HTML page that opens from disk, of a model's motion or of a stored run.

    Example: dalembert animate four-bar --until 5 --out four-bar.html

    JSON: {"source", "end", "samples", "files"}.
    """
    out = Path(f"{Path(source).stem}-animation.html") if out is None else out
    values.writable(out, "--out", ".html")
    drawing = None
    if Path(source).suffix.lower() in values.RECORDS:
        for option, given in (("--until", until), ("--start", start), ("--guess", guess), ("--input", inputs),
                              ("--set", changes if model is None else None)):  # fmt: skip
            if given:
                raise typer.BadParameter("is for models; this is a record.", param_hint=option)
        run = values.record(source)
        drawing = None if model is None else load(model, changes).eqs
    elif model is not None:
        raise typer.BadParameter("is for records; this is a model.", param_hint="--model")
    else:
        machine = load(source, changes)
        run = run_of(machine, until, None, machine.mechanism.simulation.get("method"), start, guess, inputs)
    from dalembert.view import animate as play

    play(run, out, speed=speed, trail=values.names(trail), structure=drawing)
    terminal.wrote(out)
    if as_json:
        terminal.give({"source": source, "end": run.time[-1], "samples": len(run), "files": [out]})
