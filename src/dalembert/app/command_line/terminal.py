"""Output of commands: results on standard output, messages on standard error, JSON alone on its stream."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dalembert.core.errors import printable

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Settings:
    """Settings of the command that runs now."""

    quiet: bool = False
    debug: bool = False
    allow_outside: bool = False  # models may include files outside their folder
    coordinates: str = "absolute"  # of the equations of a machine
    ground: bool = False  # robots touch the ground
    reading: Mapping[str, Any] = field(default_factory=dict)  # options of the reader of the model
    terminated: bool = False  # by SIGTERM, not from the keyboard
    options: Collection[str] = ()  # of the command
    warned: set[str] = field(default_factory=set)


settings = Settings()


def progress() -> bool | None:
    """Value of ``progress=`` for long computations: a bar on a terminal after two seconds, none when quiet."""
    return False if settings.quiet else None


def say(text: str) -> None:
    """A message for people, on standard error; nothing when quiet."""
    if not settings.quiet:
        typer.echo(printable(text), err=True)


def warn(text: str) -> None:
    """A warning, once."""
    if text not in settings.warned:
        settings.warned.add(text)
        say(f"warning: {text}")


@contextmanager
def show_waiting(text: str, after: float = 0.0) -> Iterator[None]:
    """A spinner on a terminal, for work of unknown duration; nothing elsewhere.  after : seconds of work before it."""
    if settings.quiet or not sys.stderr.isatty():
        yield
        return
    from threading import Timer

    from rich.console import Console

    spinner = Console(stderr=True).status(printable(text))
    timer = Timer(after, spinner.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        spinner.stop()


def command_line() -> str:
    """The command as it was typed, with the name of the program alone."""
    return shlex.join([Path(sys.argv[0]).stem, *sys.argv[1:]])


def report_written(*paths: str | Path) -> None:
    for path in paths:
        say(f"wrote {path}")


def console() -> Console:
    """Standard output for tables; colours only on a terminal, and not where NO_COLOR is set."""
    from rich.console import Console

    here = Console(highlight=False)
    return (
        here if here.is_terminal else Console(highlight=False, width=max(160, here.width))
    )  # a file or a pipe is wide


def show_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], left: Iterable[int] = (0,)) -> None:
    """A table on standard output; columns of numbers are right-aligned."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    aside = set(left)
    heading = Text(printable(title), style="bold")
    table = Table(title=heading, title_justify="left", box=box.SIMPLE_HEAD, title_style="", pad_edge=False)
    for k, name in enumerate(head):
        table.add_column(Text(printable(name)), justify="left" if k in aside else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console().print(table)


def show(text: str) -> None:
    """Plain text on standard output, as it is."""
    typer.echo(text)


def give(document: Mapping[str, Any]) -> None:
    """One JSON document on standard output; values that are not finite become null."""
    from dalembert.core.results import plain  # loads NumPy

    json.dump(plain(document), sys.stdout, indent=1, allow_nan=False, ensure_ascii=False)
    sys.stdout.write("\n")


def number(value: float, digits: int = 6) -> str:
    """A number as tables show it."""
    return f"{value:.{digits}g}"
