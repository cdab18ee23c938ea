"""``animate``: a moving picture of a model or of a stored run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.loaded_machine import load, run_of
from dalembert.app.command_line.model_options import (
    Input,
    Near,
    Repeated,
    Set,
    Start,
    Until,
    complete,
    complete_model,
    repeatable,
)
from dalembert.app.command_line.registry import command


def complete_source(incomplete: str) -> list[str]:
    """Models and records, for the shell's completion."""
    from dalembert.files.models.format import model_suffixes
    from dalembert.files.records.format import suffixes

    return complete(incomplete, (*model_suffixes(), *suffixes()))


@command("Machines", position=2)
def animate(
    source: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|RECORD",
            help="A model, or a record that `dalembert simulate --out` wrote.",
            autocompletion=complete_source,
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="The model of a record in a .csv file.", autocompletion=complete_model),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The page to write; NAME-animation.html when left out.")] = None,
    until: Until = None,
    changes: Set = None,
    start: Start = None,
    guess: Near = None,
    inputs: Input = None,
    trail: Annotated[
        Repeated, repeatable("--trail", "Points that leave a trail, as bodies or sensors name them", "NAMES")
    ] = None,
    speed: Annotated[float, typer.Option(help="How fast it plays: seconds of the run per second.")] = 1.0,
    as_json: Json = False,
) -> None:
    """Write an animation: one HTML page that opens from disk, of a model's motion or of a stored run.

    Example: dalembert animate four-bar --until 5 --out four-bar.html

    JSON: {"source", "end", "samples", "files"}.
    """
    out = Path(f"{Path(source).stem}-animation.html") if out is None else out
    option_values.writable(out, "--out", ".html")
    drawing = None
    if option_values.is_record(source):
        of_models = {"--until": until, "--start": start, "--guess": guess, "--input": inputs}
        of_models["--set"] = changes if model is None else None
        option_values.refuse(*((value, key, "is for models; this is a record.") for key, value in of_models.items()))
        run = option_values.record(source)
        drawing = None if model is None else load(model, changes).eqs
    else:
        option_values.refuse((model is not None, "--model", "is for records; this is a model."))
        machine = load(source, changes)
        run = run_of(machine, until, None, machine.mechanism.simulation.get("method"), start, guess, inputs)
    from dalembert.view import animate as play

    play(run, out, speed=speed, trail=option_values.names(trail), structure=drawing)
    terminal.report_written(out)
    if as_json:
        terminal.give({"source": source, "end": run.time[-1], "samples": len(run), "files": [out]})
