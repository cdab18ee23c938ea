"""``version``: which version is installed."""

from __future__ import annotations

from dalembert.app.command_line import terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.registry import command


@command("This installation", position=2)
def version(as_json: Json = False) -> None:
    """Print the version.

    JSON: {"version"}.
    """
    from dalembert import __version__

    if as_json:
        terminal.give({"version": __version__})
    else:
        terminal.show(__version__)
