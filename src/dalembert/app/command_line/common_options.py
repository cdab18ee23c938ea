"""Options that every command takes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from dalembert.app.command_line.exit_codes import ended_by_signal, report_errors
from dalembert.app.command_line.terminal import settings

FLAG = " "  # an option without a value: help would show <bool> beside it


def flag(option: str, meaning: str, group: str | None = None) -> Any:
    """An option without a value."""
    return typer.Option(option, metavar=FLAG, help=meaning, rich_help_panel=group)


Quiet = Annotated[bool, flag("--quiet", "Print results and errors only.", "Common")]
Debug = Annotated[bool, flag("--debug", "Show the traceback of an error.", "Common")]
Json = Annotated[bool, flag("--json", "Print one JSON document for programs to read.", "Common")]
Outside = Annotated[bool, flag("--allow-outside", "Let a model include files outside its folder.", "Common")]
Report = Annotated[Path | None, typer.Option(help="Write a report: one HTML page.")]
Figure = Annotated[Path | None, typer.Option(help="Write a figure: .png, .svg or .pdf.")]


def with_common_options(function: Callable[..., None]) -> Callable[..., None]:
    """The function as the command line runs it: it takes --quiet and --debug and ends with the exit code that fits.

    A command on a model (its first parameter) takes --allow-outside as well.
    """
    hints = {key: hint for key, hint in get_type_hints(function, include_extras=True).items() if key != "return"}
    common = {"quiet": Quiet, "debug": Debug}
    if next(iter(hints), None) in ("model", "source"):
        common = {"outside": Outside, **common}
    options = frozenset(name for key, hint in {**hints, **common}.items() for name in option_names(key, hint))

    @functools.wraps(function)
    def run(*, quiet: bool, debug: bool, outside: bool = False, **arguments: Any) -> None:
        settings.allow_outside = outside
        with report_errors(quiet, debug, options), ended_by_signal():
            function(**arguments)

    own = [one.replace(annotation=hints[key]) for key, one in inspect.signature(function).parameters.items()]
    keyword = inspect.Parameter.KEYWORD_ONLY
    further = [inspect.Parameter(key, keyword, default=False, annotation=hint) for key, hint in common.items()]
    run.__signature__ = inspect.Signature([*own, *further])  # type: ignore[attr-defined]
    run.__annotations__ = {**hints, **common}
    # help keeps the line breaks of a docstring, but wraps lines itself
    run.__doc__ = "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(function.__doc__ or "").split("\n\n"))
    return run


def option_names(key: str, hint: Any) -> tuple[str, ...]:
    """Names of a parameter of a command on the command line; none for an argument."""
    (about,) = getattr(hint, "__metadata__", (None,))
    if not isinstance(about, typer.models.OptionInfo):
        return ()
    given = [one for one in (about.default, *(about.param_decls or ())) if isinstance(one, str) and one[:2] == "--"]
    return tuple(given) or (f"--{key.replace('_', '-')}",)
