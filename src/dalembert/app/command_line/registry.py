"""Registry of commands. A command declares itself in a file of its own:

    @command("Machines", position=5)
    def modes(model: Model, as_json: Json = False) -> None:
        \"\"\"Help of the command.\"\"\"

No other file names it. The command line imports the files of ``dalembert.app.commands``, then modules that installed
packages name as entry points of the group ``dalembert.commands``. Therefore such a file imports at its top only modules
that load fast, and the rest inside its function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import typer

from dalembert.core.registry import Registry

GROUPS = ("To begin with", "Machines", "Data", "Model files", "This installation")  # in the order of the help
Function = TypeVar("Function", bound=Callable[..., None])


@dataclass(frozen=True)
class Command:
    """One command: its name, its group in the help, its place there, and its function."""

    name: str
    group: str
    position: float
    function: Callable[..., None]

    @property
    def order(self) -> tuple[int, str, float, str]:
        """Groups as in ``GROUPS``, others after them; commands by position, then by name."""
        is_listed = self.group in GROUPS
        return GROUPS.index(self.group) if is_listed else len(GROUPS), self.group, self.position, self.name


COMMANDS: Registry[Command] = Registry(
    "command",
    package="dalembert.app.commands",
    group="dalembert.commands",
    order=lambda one: one.order,
    report=lambda message: typer.echo(f"warning: {message}", err=True),
)


def command(group: str, *, position: float = math.inf) -> Callable[[Function], Function]:
    """Declare a function as the command of its name, in a group of the help; without a position it is last."""

    def declare(function: Function) -> Function:
        name = function.__name__.replace("_", "-")
        COMMANDS.register(name, Command(name, group, position, function), module=function.__module__)
        return function

    return declare
