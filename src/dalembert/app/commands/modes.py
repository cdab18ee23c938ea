"""``modes``: natural frequencies, damping and shapes of small motions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.loaded_machine import load
from dalembert.app.command_line.model_options import Model, Set
from dalembert.app.command_line.operating_point import From, Guess, Held, Hold, Rates, linear_model, rest
from dalembert.app.command_line.option_values import FIGURES
from dalembert.app.command_line.registry import command


@command("Machines", position=5)
def modes(
    model: Model, changes: Set = None, start: From = None, guess: Guess = None, hold: Hold = None, inputs: Held = None,
    rates: Rates = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the shapes: .html, where they move, or a figure: .png, .svg or .pdf.")
    ] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Natural frequencies, damping and shapes of small motions about the equilibrium or a steady motion.

    Example: dalembert modes bicycle --rate "rear.angle=16.7 rad/s" --out shapes.png

    JSON: {"model", "coordinates", "modes": [{"frequency_hz", "damping_ratio", "eigenvalue", "shape"}], "files"}.
    """
    option_values.writable(out, "--out", ".html", *FIGURES)
    machine = load(model, changes)
    at, held = rest(machine, inputs, guess=guess, hold=hold, rates=rates, start=start)
    found = linear_model(machine, at, held).modes()
    if out is not None:
        from dalembert.view import animate, plot

        if out.suffix.lower() == ".html":
            animate(found, out, structure=at)
        else:
            plot(found, path=out, title=f"{machine.mechanism.name}: mode shapes")
        terminal.wrote(out)
    if as_json:
        rows = [
            {"frequency_hz": f, "damping_ratio": z, "eigenvalue": complex(s), "shape": found.shapes[:, k]}
            for k, (f, z, s) in enumerate(
                zip(found.frequencies_hz, found.damping_ratios, found.eigenvalues, strict=True)
            )
        ]
        document = {"model": machine.mechanism.name, "coordinates": found.coordinates, "modes": rows}
        terminal.give({**document, "files": [] if out is None else [out]})
        return
    table = [line.split(maxsplit=4) for line in found.table().splitlines()[1:]]
    head = ("mode", "frequency [Hz]", "damping ratio", "eigenvalue [rad/s]", "motion")
    about = "steady motion" if rates else "equilibrium"
    terminal.show_table(f"{machine.mechanism.name}: modes about the {about}", head, table, left=(4,))
