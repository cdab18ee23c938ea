"""The command line: which commands there are. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

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
from dalembert.app.commands.running import CODES, command

app = typer.Typer(
    name="dalembert",
    help="Machines of rigid and flexible bodies: motion, identification, estimation and control.",
    epilog=CODES,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

BEGIN, MACHINES, DATA, MODELS, HERE = "To begin with", "Machines", "Data", "Model files", "This installation"

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
    app(prog_name="dalembert")
