"""Which commands there are. A command declares itself in a file of its own:

    @command("Machines", position=5)
    def modes(model: Model, as_json: Json = False) -> None:
        \"\"\"Help of the command.\"\"\"

Nothing else names it. The command line imports the files of ``dalembert.app.commands``, then the modules that installed
packages name as entry points of the group ``dalembert.commands``; so such a file imports at its top only what is quick
to load, and the rest inside its function.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

import typer

GROUPS = ("To begin with", "Machines", "Data", "Model files", "This installation")  # in the order of the help
ENTRY_POINTS = "dalembert.commands"
Function = TypeVar("Function", bound=Callable[..., None])


@dataclass(frozen=True)
class Command:
    """One command: its name, its group in the help, its place there, and what it does."""

    name: str
    group: str
    position: float
    function: Callable[..., None]

    @property
    def order(self) -> tuple[int, str, float, str]:
        """Groups as in ``GROUPS``, others after them; commands by position, then by name."""
        known = self.group in GROUPS
        return GROUPS.index(self.group) if known else len(GROUPS), self.group, self.position, self.name


_declared: dict[str, Command] = {}


def command(group: str, *, position: float = math.inf) -> Callable[[Function], Function]:
    """Declare a function as the command of its name, in a group of the help; without a position it stands last."""

    def declare(function: Function) -> Function:
        name = function.__name__.replace("_", "-")
        other = _declared.get(name)
        if other is not None and other.function.__module__ != function.__module__:
            raise ValueError(f"{other.function.__module__} already declares a command {name!r}.")
        _declared[name] = Command(name, group, position, function)
        return function

    return declare


def find_commands(package: ModuleType) -> list[Command]:
    """Commands of the files of a package and of the entry points, in the order of the help."""
    from importlib.metadata import entry_points

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    for point in entry_points(group=ENTRY_POINTS):
        try:
            point.load()
        except Exception as error:  # the other commands still work
            typer.echo(f"warning: command {point.name!r} ({point.value}) does not load: {error}", err=True)
    return sorted(_declared.values(), key=lambda one: one.order)
