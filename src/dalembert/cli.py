"""The command line: which commands there are. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from dalembert.app.commands import (
    authoring,
    identifying,
    installation,
    live,
    observing,
    showing,
    simulating,
    small_motions,
    sweeping,
)
from dalembert.app.commands.running import CODES, FLAG, command

app = typer.Typer(
    name="dalembert",
    epilog=CODES,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

BEGIN, MACHINES, DATA, MODELS, HERE = "To begin with", "Machines", "Data", "Model files", "This installation"
COMPLETION = ("--install-completion", "--show-completion")


def tell_version(asked: bool) -> None:
    if asked:
        installation.version()
        raise typer.Exit


@app.callback()
def whole(
    _: Annotated[
        bool,
        typer.Option("--version", metavar=FLAG, help="Print the version.", callback=tell_version, is_eager=True),
    ] = False,
) -> None:
    """Machines of rigid and flexible bodies: motion, identification, estimation and control."""


command(app, BEGIN)(showing.demo)
command(app, BEGIN)(showing.study)
command(app, MACHINES)(simulating.simulate)
command(app, MACHINES)(simulating.animate)
command(app, MACHINES)(live.view)
command(app, MACHINES)(small_motions.equilibrium)
command(app, MACHINES)(small_motions.modes)
command(app, MACHINES)(small_motions.linearize)
command(app, MACHINES)(sweeping.sweep)
command(app, DATA)(identifying.identify)
command(app, DATA)(observing.estimate)
command(app, DATA)(observing.export)
command(app, MODELS)(authoring.new)
command(app, MODELS)(authoring.library)
command(app, MODELS)(authoring.schema)
command(app, HERE)(installation.doctor)
command(app, HERE)(installation.version)


def main() -> None:
    """Run the command line."""
    asked = sys.argv[1:3]
    if len(asked) == 2 and asked[0] in COMPLETION and not asked[1].startswith("-"):
        # a shell that is named need not be the one that runs; typer takes no name unless it is told not to look
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
    app(prog_name="dalembert")
