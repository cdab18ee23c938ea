"""Options that every command takes, and options whose value is the name of a kind (a filter, an integrator, ...).

A registry loads the code of all its kinds, so it is read only where names are needed: at use, and in the help of the
command that has the option. Its placeholder (``metavar``) becomes the list of names there.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from dalembert.app.command_line import option_values
from dalembert.app.command_line.exit_codes import end_by_signal, report_errors
from dalembert.app.command_line.terminal import settings

NAMES: dict[str, Callable[[], list[str]]] = {}  # placeholder of an option -> names of its kinds
FLAG = " "  # an option without a value: help would show <bool> beside it


class Coordinates(StrEnum):
    """Coordinates of the equations of a machine."""

    absolute = "absolute"
    joint = "joint"


def flag(option: str, meaning: str, group: str | None = None) -> Any:
    """An option without a value."""
    return typer.Option(option, metavar=FLAG, help=meaning, rich_help_panel=group)


Quiet = Annotated[bool, flag("--quiet", "Print results and errors only.", "Common")]
Debug = Annotated[bool, flag("--debug", "Show the traceback of an error.", "Common")]
Json = Annotated[bool, flag("--json", "Print one JSON document for programs to read.", "Common")]
Outside = Annotated[bool, flag("--allow-outside", "Let a model include files outside its folder.", "Common")]
Ground = Annotated[
    bool, flag("--ground", "Let a robot file stand on the ground by its collision shapes (add_ground).", "Common")
]
Reading = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="NAME=VALUE",
        help="How a robot file is read: base=free, folders=DIR (meshes), pictures=no, repair=yes; repeatable.",
        rich_help_panel="Common",
    ),
]
OfEquations = Annotated[
    Coordinates,
    typer.Option(help="Coordinates of the equations: of the bodies, or of the joints.", rich_help_panel="Common"),
]
Report = Annotated[Path | None, typer.Option(help="Write a report: one HTML page.")]
Figure = Annotated[Path | None, typer.Option(help="Write a figure: .png, .svg or .pdf.")]


def with_common_options(function: Callable[..., None]) -> Callable[..., None]:
    """The function for the command line: with the options --quiet and --debug, and with an exit code at its end.

    A command on a model (its first parameter) takes --allow-outside, --read and --coordinates as well.
    """
    hints = {key: hint for key, hint in get_type_hints(function, include_extras=True).items() if key != "return"}
    common: dict[str, Any] = {"quiet": Quiet, "debug": Debug}
    if next(iter(hints), None) in ("model", "source"):
        common |= {} if "coordinates" in hints else {"coordinates": OfEquations}
        common = {"outside": Outside, "ground": Ground, "reading": Reading, **common}
    options = frozenset(name for key, hint in {**hints, **common}.items() for name in option_names(key, hint))

    @functools.wraps(function)
    def run(
        *, quiet: bool, debug: bool, outside: bool = False, ground: bool = False, reading: list[str] | None = None,
        **arguments: Any,
    ) -> None:  # fmt: skip
        settings.allow_outside, settings.ground = outside, ground
        if "coordinates" in common:
            settings.coordinates = arguments.pop("coordinates").value
        with report_errors(quiet, debug, options), end_by_signal():
            settings.reading = reading_options(reading)
            function(**arguments)

    parameters = [
        parameter.replace(annotation=hints[key]) for key, parameter in inspect.signature(function).parameters.items()
    ]
    keyword = inspect.Parameter.KEYWORD_ONLY
    defaults = {"coordinates": Coordinates.absolute, "reading": None}
    further = [
        inspect.Parameter(key, keyword, default=defaults.get(key, False), annotation=hint)
        for key, hint in common.items()
    ]
    run.__signature__ = inspect.Signature([*parameters, *further])  # type: ignore[attr-defined]
    run.__annotations__ = {**hints, **common}
    # help keeps the line breaks of a docstring, but wraps lines itself
    run.__doc__ = "\n\n".join(
        " ".join(paragraph.split()) for paragraph in inspect.cleandoc(function.__doc__ or "").split("\n\n")
    )
    return run


def reading_options(given: list[str] | None) -> dict[str, Any]:
    """Options of the reader of a robot file; folders may be named several times."""
    reading: dict[str, Any] = {}
    for text in given or ():
        for name, value in option_values.pairs([text], "--read").items():
            reading[name] = (*reading.get(name, ()), value) if name == "folders" else value
    return reading


def option_names(key: str, hint: Any) -> tuple[str, ...]:
    """Names of a parameter of a command on the command line; none for an argument."""
    (about,) = getattr(hint, "__metadata__", (None,))
    if not isinstance(about, typer.models.OptionInfo):
        return ()
    flags = [
        declaration
        for declaration in (about.default, *(about.param_decls or ()))
        if isinstance(declaration, str) and declaration[:2] == "--"
    ]
    return tuple(flags) or (f"--{key.replace('_', '-')}",)


class KindsInHelp(TyperCommand):
    """A command that shows the names of kinds in its help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for parameter in self.params:
            if parameter.metavar in NAMES:
                parameter.metavar = f"[{'|'.join(NAMES[parameter.metavar]())}]"
        super().format_help(ctx, formatter)


def kind_option(option: str, placeholder: str, names: Callable[[], list[str]], help_text: str) -> Any:
    """An option that takes one of the names."""
    NAMES[placeholder] = names

    def check(given: str | None) -> str | None:
        if given is not None and given not in names():
            raise typer.BadParameter(f"{given!r} is not one of {', '.join(map(repr, names()))}.")
        return given

    return typer.Option(option, metavar=placeholder, callback=check, help=help_text)
