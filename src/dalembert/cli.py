"""The command line: which commands there are. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import typer

from dalembert.app.commands import installation, showing, simulating
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

BEGIN, MACHINES, DATA, HERE = "To begin with", "Machines", "Data", "This installation"

command(app, BEGIN)(showing.demo)
command(app, BEGIN)(showing.study)
command(app, MACHINES)(simulating.simulate)
command(app, MACHINES)(simulating.animate)
command(app, HERE)(installation.doctor)
command(app, HERE)(installation.version)


def main() -> None:
    """Run the command line."""
    app(prog_name="dalembert")
