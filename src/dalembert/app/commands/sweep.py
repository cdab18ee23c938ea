"""``sweep``: many runs of a machine."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.exit_codes import NOT_CONVERGED, WRONG
from dalembert.app.command_line.loaded_machine import Machine, declared_unit, find_start, load, until_of
from dalembert.app.command_line.model_options import Input, Model, Near, Set, Start, ready
from dalembert.app.command_line.registry import command

if TYPE_CHECKING:
    from dalembert.equations import EquationsOfMotion
    from dalembert.model import Mechanism
    from dalembert.sweeps import Design, Swept


DEFAULT_ALONG = 5  # values along an axis of a grid


class Plan(StrEnum):
    """Designs of a sweep."""

    grid = "grid"
    lhs = "lhs"
    sobol = "sobol"


@command("Machines", position=7)
def sweep(
    model: Model,
    over: Annotated[
        list[str],
        typer.Option(
            metavar="AXIS",
            help='A parameter, "start NAME" or "velocity NAME": NAME=LOW:HIGH, LOW:HIGH:COUNT (grid), A,B,C (grid) or '
            "MEAN~DEVIATION (lhs, sobol); repeatable.",
        ),
    ],
    output: Annotated[
        list[str],
        typer.Option(metavar="NAME=CHANNEL:HOW", help="HOW: last, first, max, min, peak, mean or rms; repeatable."),
    ],
    design: Annotated[
        Plan | None,
        typer.Option(
            help="A grid, a Latin hypercube or a Sobol sequence; lhs when left out, or grid where an axis lists values."
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, help="Points (64 when left out); of a grid: values along an axis (5).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the design.")] = 0,
    until: Annotated[
        float | None, typer.Option(**option_values.TIME, help="End time of a run (s); the model's own, else 10.")
    ] = None,
    changes: Set = None,
    start: Start = None,
    guess: Near = None,
    inputs: Input = None,
    every: Annotated[
        float | None,
        typer.Option(**option_values.TIME, help="Sampling interval of a run (s); peaks between samples are missed."),
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="Folder that keeps every finished point; the same command again continues.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Processes; one per core when left out; 0: this one only.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write points and results: .csv, or .nc.")] = None,
    as_json: Json = False,
) -> None:
    """Simulate a machine at many values of its parameters and initial conditions.

    Example: dalembert sweep pendulum --over length=0.5:2 --output peak=hinge.rate:peak --samples 100 --out sweep.csv

    JSON: {"model", "axes", "points", "results": {name: [...]}, "status": [...], "errors": {index: text}, "seed",
    "summary": {name: {"smallest", "mean", "deviation", "largest"}}, "files"}.
    """
    from dalembert.sweeps import sweep as run

    option_values.writable(out, "--out", ".csv", ".nc")
    machine = load(model, changes)
    plan = design_of(over, design, samples, seed, lambda name: machine.unit_of(name) or declared_unit(model, name))
    options = {
        "inputs": tuple(inputs or ()), "every": machine.mechanism.simulation.get("every") if every is None else every,
        "file": digest(machine),
    }  # fmt: skip
    if terminal.settings.allow_outside:
        options["outside"] = True
    if terminal.settings.reading:
        options["reading"] = tuple(sorted(terminal.settings.reading.items()))
    wanted = {"wanted": machine.read_values(start), "near": machine.read_values(guess, "--guess")}
    trial = ModelTrial(
        model, machine.eqs, until_of(machine, until), outputs_of(output),
        {**machine.mechanism.start, **wanted, "options": options},
    )  # fmt: skip
    machine.inputs(inputs)  # reports mistakes in them now, and once
    trial.check(plan.names)
    require_channels(machine, trial, start, guess, inputs)
    report_done(store, len(plan.points))
    swept = run(trial, plan, store=store, workers=workers, progress=terminal.progress())
    if out is not None:
        write(swept, out)
        terminal.report_written(out)
    if as_json:
        terminal.give(describe(machine, swept, [] if out is None else [out]))
    else:
        rows = [
            (name, *(terminal.number(v, 5) for v in statistics.values())) for name, statistics in summary(swept).items()
        ]
        head = ("", "smallest", "mean", "deviation", "largest")
        terminal.show_table(f"{machine.mechanism.name}: {len(swept)} points", head, rows)
    if swept.errors:
        index, text = next(iter(sorted(swept.errors.items())))
        terminal.say(f"{len(swept.errors)} of {len(swept)} points failed; the first, {index}: {text}")
        if len(swept.errors) == len(swept):
            unsettled = text.startswith(("ConvergenceError", "AssemblyError"))
            raise typer.Exit(NOT_CONVERGED if unsettled else WRONG)


def design_of(
    over: list[str], design: Plan | None, samples: int | None, seed: int, unit_of: Callable[[str], str | None]
) -> Design:
    """The points."""
    import numpy as np

    from dalembert.sweeps import Grid, LatinHypercube, Normal, Sobol

    axes = dict(option_values.axis(text, "--over", unit_of) for text in over)
    option_values.refuse((len(axes) < len(over), "--over", "an axis is given twice."))
    listed = any(kind[0] == "values" or (kind[0] == "range" and kind[3] is not None) for kind in axes.values())
    chosen = design or (Plan.grid if listed else Plan.lhs)
    if chosen is Plan.grid:
        lines: dict[str, Any] = {}
        for name, kind in axes.items():
            option_values.refuse((kind[0] == "normal", "--over", f"{name}: a grid has no mean~deviation."))
            if kind[0] == "values":
                lines[name] = list(kind[1:])
            else:
                lines[name] = np.linspace(kind[1], kind[2], kind[3] or samples or DEFAULT_ALONG).tolist()
        return Grid(lines, seed=seed)
    spread: dict[str, Any] = {}
    for name, kind in axes.items():
        is_list = kind[0] == "values" or (kind[0] == "range" and kind[3] is not None)
        option_values.refuse((is_list, "--over", f"{name}: {chosen.value} takes low:high or mean~deviation."))
        spread[name] = Normal(kind[1], kind[2]) if kind[0] == "normal" else (kind[1], kind[2])
    kinds = {Plan.lhs: LatinHypercube, Plan.sobol: Sobol}
    return kinds[chosen](spread, samples or 64, seed=seed)


def require_channels(
    machine: Machine, trial: ModelTrial, start: list[str] | None, guess: list[str] | None, inputs: list[str] | None
) -> None:
    """Refuse outputs that a run does not have, before the first run: a very short run has all channels."""
    from dalembert.core.errors import DalembertError, DataError, unknown_name
    from dalembert.loop.simulate import simulate

    moment = 1e-6 * trial.until
    try:
        run = simulate(
            machine.eqs, moment, start=machine.start(start, guess), inputs=machine.inputs(inputs, start), every=moment,
            method=machine.mechanism.simulation.get("method"), progress=False,
        )  # fmt: skip
    except DalembertError:  # the points may succeed where the base values fail
        return
    for label, (channel, _) in trial.outputs.items():
        try:
            run[channel]
        except DalembertError:
            raise DataError("unknown-name", unknown_name("channel", channel, run.names, f"output {label!r}")) from None


def report_done(store: Path | None, count: int) -> None:
    """Report the finished points of a sweep that is resumed."""
    from dalembert.sweeps.store import LINES, read_lines

    if store is not None and (store / LINES).exists():
        done = len(read_lines(store / LINES, count))
        if done:
            terminal.say(f"{done} of {count} points already done in {store}")


def outputs_of(given: list[str]) -> dict[str, tuple[str, str]]:
    """Outputs of every run: name -> (channel, how)."""
    outputs = {}
    for name, text in option_values.pairs(given, "--output").items():
        channel, _, how = text.partition(":")
        outputs[name] = (channel.strip(), how.strip() or "last")
    return outputs


@dataclass(frozen=True)
class ModelTrial:
    """A run of a machine of a model file at every point; other processes read its inputs from the file themselves.

    ``start`` is that of the file, with values of the user under "wanted" and "near" and settings under "options": a
    store identifies a trial by ``eqs``, ``until``, ``outputs`` and ``start``.
    """

    source: str
    eqs: EquationsOfMotion
    until: float
    outputs: Mapping[str, tuple[str, str]]
    start: Mapping[str, Any]
    velocity: None = None

    def check(self, names: tuple[str, ...]) -> None:
        """Whether every axis is a parameter, an initial position or speed, and every output reduces a channel."""
        from dalembert.sweeps import Simulation

        Simulation(self.eqs, self.until, self.outputs).check(names)

    def __call__(self, point: Mapping[str, float]) -> dict[str, Any]:
        import numpy as np

        from dalembert.loop.simulate import simulate
        from dalembert.sweeps.trials import REDUCTIONS

        initial = dict(self.start)
        wanted, near, options = initial.pop("wanted"), initial.pop("near"), initial.pop("options")
        changes = {name: value for name, value in point.items() if name in self.eqs.parameters.index}
        moved = {name: value for name, value in point.items() if name not in changes}
        eqs = self.eqs.replace(**changes) if changes else self.eqs
        mechanism = _mechanism(self.source, "outside" in options, options.get("reading", ()))
        run = simulate(
            eqs, self.until, start=find_start(eqs, initial, {**wanted, **moved}, near),
            inputs=Machine(self.source, mechanism, eqs, {}).inputs(list(options["inputs"])),
            method=mechanism.simulation.get("method"), every=options["every"], progress=False,
        )  # fmt: skip
        return {label: REDUCTIONS[how](np.asarray(run[channel])) for label, (channel, how) in self.outputs.items()}


@functools.lru_cache(maxsize=1)
def _mechanism(source: str, outside: bool, reading: tuple[tuple[str, Any], ...]) -> Mechanism:
    """The machine of a file, read once per process."""
    from dalembert.files.models import read_model

    return read_model(source, allow_outside=outside, **dict(reading))


def digest(machine: Machine) -> str:
    """Hash of the model file, so that a sweep is not resumed after a change of the model."""
    import hashlib

    file = Path(machine.source)
    if not file.exists() and machine.source in ready():
        file = ready()[machine.source]
    return hashlib.sha256(file.read_bytes()).hexdigest()


def summary(found: Swept) -> dict[str, dict[str, float]]:
    """Smallest, mean, deviation and largest of every axis and result."""
    import numpy as np

    rows = {}
    for name in (*found.names, *found.results):
        good = np.asarray(found[name])[np.isfinite(found[name])]
        if len(good):
            pairs = {"smallest": good.min(), "mean": good.mean(), "deviation": good.std(), "largest": good.max()}
            rows[name] = {key: float(value) for key, value in pairs.items()}
    return rows


def describe(machine: Machine, found: Swept, files: list[Path]) -> dict[str, Any]:
    return {
        "model": machine.mechanism.name, "axes": found.names, "points": found.points, "results": dict(found.results),
        "status": found.status, "errors": dict(found.errors), "seed": found.seed, "summary": summary(found),
        "files": files,
    }  # fmt: skip


def write(found: Swept, out: Path) -> None:
    """The sweep as a table or a dataset, whole or not at all."""
    from dalembert.core.atomic_files import replace_file, write_text

    if out.suffix.lower() == ".nc":
        with replace_file(out) as temporary:
            found.to_xarray().to_netcdf(temporary, engine="h5netcdf")
        return
    columns = [*found.names, *(label for label, a in found.results.items() if a.ndim == 1)]
    lines = [",".join(f'"{name}"' if "," in name else name for name in (*columns, "status"))]
    for k in range(len(found)):
        lines.append(",".join([*(repr(float(found[name][k])) for name in columns), found.status[k]]))
    write_text(out, "\n".join(lines) + "\n")
