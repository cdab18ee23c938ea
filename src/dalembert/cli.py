"""The command line: the commands of `app/commands/`. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from dalembert.app.command_line.common_options import FLAG, with_common_options
from dalembert.app.command_line.exit_codes import CODES
from dalembert.app.command_line.kinds import KindsInHelp
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


def print_version(asked: bool) -> None:
    if asked:
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
    asked = sys.argv[1:3]
    if len(asked) == 2 and asked[0] in COMPLETION and not asked[1].startswith("-"):
        # a shell that is named need not be the one that runs; typer takes no name unless it is told not to look
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
    app(prog_name="dalembert")
