"""The command line: the commands of `app/commands/`. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from dalembert.app.command_line.common_options import FLAG, KindsInHelp, with_common_options
from dalembert.app.command_line.exit_codes import CODES
from dalembert.app.command_line.registry import COMMANDS

app = typer.Typer(
    name="dalembert",
    epilog=CODES,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMPLETION = ("--install-completion", "--show-completion")


def print_version(wanted: bool) -> None:
    if wanted:
        from dalembert import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def whole(
    _: Annotated[
        bool,
        typer.Option("--version", metavar=FLAG, help="Print the version.", callback=print_version, is_eager=True),
    ] = False,
) -> None:
    """Machines of rigid and flexible bodies: motion, identification, estimation and control."""


for one in COMMANDS.values():
    app.command(one.name, cls=KindsInHelp, rich_help_panel=one.group, epilog=CODES)(with_common_options(one.function))


def main() -> None:
    """Run the command line."""
    for library in ("OPENBLAS", "MKL"):
        # Matrices here are small: threads of the linear algebra wait for each other, four times the CPU time of one in
        # an identification. Studies use processes.
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    words = sys.argv[1:3]
    if len(words) == 2 and words[0] in COMPLETION and not words[1].startswith("-"):
        # the named shell need not be the one that runs: switch off typer's detection, which ignores the name
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
    app(prog_name="dalembert")
