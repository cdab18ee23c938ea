"""``simulate``: a model to a record, a figure, a report."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.common_options import Figure, Json, Report
from dalembert.app.command_line.loaded_machine import Machine, load, run_of, until_of
from dalembert.app.command_line.model_options import Input, Model, Near, Set, Start, Until
from dalembert.app.command_line.option_values import FIGURES, TIME
from dalembert.app.command_line.registry import command
from dalembert.core.registry import kind_files

if TYPE_CHECKING:
    from dalembert.record import Record
    from dalembert.solve.integrate.method import Method


METHODS = kind_files("dalembert.solve.integrate.methods", "dalembert.integrators")  # loaded where one is used


@command("Machines", position=1)
def simulate(
    model: Model,
    until: Until = None,
    every: Annotated[
        float | None,
        typer.Option(**TIME, help="Sampling interval of the record (s); the model's own, else 1000 samples."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help=f"{', '.join(METHODS)}; the model's own, else dormand-prince. For stiff machines: rosenbrock.",
            autocompletion=lambda: METHODS,
        ),
    ] = None,
    step: Annotated[
        float | None, typer.Option(**TIME, help="Fixed step (s); rk4 and generalized-alpha need one.")
    ] = None,
    rtol: Annotated[
        float | None, typer.Option(help="Relative and absolute tolerance, for methods that choose their steps.")
    ] = None,
    max_steps: Annotated[
        int | None,
        typer.Option(min=1, help="Most steps in a thousandth of the run (sundials: a sixteenth)."),
    ] = None,
    changes: Set = None,
    start: Start = None,
    guess: Near = None,
    inputs: Input = None,
    out: Annotated[Path | None, typer.Option(help="Write the record, such as run.csv, run.parquet or run.nc.")] = None,
    report: Report = None,
    figure: Figure = None,
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
    option_values.writable_record(out, "--out")
    option_values.writable(report, "--report", ".html")
    option_values.writable(figure, "--figure", *FIGURES)
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

        draw(run, *option_values.names(plot), path=figure)
        files.append(figure)
    if report is not None:
        from dalembert.view import report as write_report

        entries = origin(machine) | {"command": command_line(model, {
            "until": until_of(machine, until, say=False), "every": every, "method": method, "step": step, "rtol": rtol,
            "max-steps": max_steps, "set": changes, "start": start, "guess": guess, "input": inputs,
            "coordinates": None if terminal.settings.coordinates == "absolute" else terminal.settings.coordinates,
        })}  # fmt: skip
        write_report(
            run, report, names=option_values.names(plot), mechanism=machine.mechanism, equations=machine.eqs,
            provenance=entries,
        )  # fmt: skip
        files.append(report)
    terminal.report_written(*files)
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


def method_of(
    method: str | None, step: float | None, rtol: float | None, max_steps: int | None, machine: Machine
) -> Method | None:
    """The chosen method, or that of the model."""
    from dalembert.core.errors import unknown_name
    from dalembert.core.text import to_option
    from dalembert.solve.integrate.method import INTEGRATORS, options_of

    chosen = machine.mechanism.simulation.get("method")
    if method is None and step is None and rtol is None and max_steps is None:
        return chosen
    name = "dormand-prince" if method is None else method
    kinds = {to_option(option): kind for option, kind in INTEGRATORS.items()}
    if name not in kinds:
        raise typer.BadParameter(unknown_name("method of integration", name, kinds), param_hint="--method")
    options_given = {"step": step, "rtol": rtol, "atol": rtol, "max_steps": max_steps}
    options: dict[str, Any] = {key: value for key, value in options_given.items() if value is not None}
    options_known = options_of(kinds[name])
    flags = {key: f"--{key.replace('_', '-')}" for key in options}
    option_values.refuse(*((key not in options_known, flag, f"{name} has no {key}.") for key, flag in flags.items()))
    if missing := [key for key, option in options_known.items() if option.needed and key not in options]:
        unit = f" in {options_known[missing[0]].unit}" if options_known[missing[0]].unit else ""
        raise typer.BadParameter(f"{name} needs a {missing[0]}{unit}.", param_hint=f"--{missing[0].replace('_', '-')}")
    return kinds[name](**options)


def summary_channels(run: Record, machine: Machine) -> list[str]:
    """Channels of the summary: joint coordinates and rates, sensors, energy."""
    eqs = machine.eqs
    coordinates = [eqs.measures.names[k] for k in eqs.recorded_measures]
    rates = [eqs.measure_rates.names[k] for k in eqs.recorded_measures]
    wanted = [*coordinates, *rates, *eqs.outputs.names, *eqs.inputs.names, "energy"]
    channels = [name for name in dict.fromkeys(wanted) if name in run.names] or list(run.names)
    return channels[:20]


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
    if singular := run.statistics.get("singular poses"):
        parts.append(f"singular poses passed: {len(singular)}")
    if singular := run.statistics.get("reactions not unique"):
        parts.append(f"reactions not unique (redundant joints): {', '.join(singular)}")
    return ", ".join([*parts, f"{seconds:.2f} s"])


def origin(machine: Machine) -> dict[str, Any]:
    """Provenance of a report: model and versions."""
    from dalembert.view.reports.origin import HASH, versions

    file = Path(machine.source)
    entries: dict[str, Any] = {"model": file.name if file.exists() else f"{machine.source} (library)"}
    if machine.changes:
        entries["changed"] = {name: terminal.number(value) for name, value in machine.changes.items()}
    return {**entries, HASH: machine.eqs.content_hash, **versions()}


def command_line(model: str, given: Mapping[str, Any]) -> str:
    """The command that makes the same run, for a shell; the model by its name, without folders of this computer."""
    parts = ["dalembert", "simulate", Path(model).name if Path(model).exists() else model]
    for name, value in given.items():
        for item in value if isinstance(value, list) else [] if value is None else [value]:
            parts += [f"--{name}", f"{item:.12g}" if isinstance(item, float) else str(item)]
    return shlex.join(parts)
