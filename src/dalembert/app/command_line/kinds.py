"""Options whose value is the name of a kind: a filter, an integrator, ... Names come from the registry of the kinds.

A registry loads the code of all its kinds, so it is read only where names are needed: at use, and in the help of the
command that has the option. Its placeholder (``metavar``) becomes the list of names there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand

NAMES: dict[str, Callable[[], list[str]]] = {}  # placeholder of an option -> names of its kinds


class KindsInHelp(TyperCommand):
    """A command that shows the names of kinds in its help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for one in self.params:
            if one.metavar in NAMES:
                one.metavar = f"[{'|'.join(NAMES[one.metavar]())}]"
        super().format_help(ctx, formatter)


def kind_option(option: str, placeholder: str, names: Callable[[], list[str]], help_text: str) -> Any:
    """An option that takes one of the names."""
    NAMES[placeholder] = names

    def check(given: str | None) -> str | None:
        if given is not None and given not in names():
            raise typer.BadParameter(f"{given!r} is not one of {', '.join(map(repr, names()))}.")
        return given

    return typer.Option(option, metavar=placeholder, callback=check, help=help_text)
