"""End of a command: errors as one message, and exit codes.

| code | meaning |
|---|---|
| 0 | done |
| 1 | the model or the data are wrong |
| 2 | the command was used wrongly, or a file cannot be read or written |
| 3 | something did not converge: a step, an equilibrium, joints that do not close |
| 130 | interrupted from the keyboard |
| 143 | ended by SIGTERM; results so far are kept, as from the keyboard |
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from dalembert.app.command_line.advice import words
from dalembert.app.command_line.terminal import settings, warn
from dalembert.core.errors import (
    AssemblyError,
    ConvergenceError,
    DalembertError,
    FileFormatError,
    Interrupted,
    printable,
)

WRONG, MISUSED, NOT_CONVERGED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143
CODES = (
    "Exit codes: 0 done, 1 wrong model or data, 2 wrong usage or file, 3 not converged, 130 interrupted, "
    "143 terminated."
)


@contextmanager
def end_by_signal() -> Iterator[None]:
    """SIGTERM, as batch systems and shutdowns send it, ends a command like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: Any) -> None:
        settings.terminated = True  # not a kind of KeyboardInterrupt: CasADi raises one of its own instead
        raise KeyboardInterrupt

    settings.terminated = False
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def report_errors(quiet: bool, debug: bool, options: Collection[str] = ()) -> Iterator[None]:
    """Turn errors into one message, with the options of the command, and an exit code; warnings into one line."""
    settings.quiet, settings.debug = quiet, debug or bool(os.environ.get("DALEMBERT_DEBUG"))
    settings.options, settings.warned = options, set()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            if not settings.debug:  # warnings of NumPy: this package reports their consequences as its own errors
                warnings.simplefilter("ignore", RuntimeWarning)
            warnings.showwarning = _print_warning
            yield
    except BrokenPipeError:  # `dalembert modes x | head`: the reader closed the pipe
        raise
    except (DalembertError, OSError, KeyboardInterrupt) as error:
        _print_error(error, _message(error, options))
        raise typer.Exit(exit_code(error)) from None
    except Exception as error:
        # typer's own: usage errors, Exit, Abort, a closed pipe
        if type(error).__module__.startswith(("typer", "click")):
            raise
        _print_error(
            error, f"unexpected {type(error).__name__}: {error}\nThis is a defect of dalembert; --debug shows where."
        )
        raise typer.Exit(WRONG) from None


def exit_code(error: BaseException) -> int:
    """The exit code of a command."""
    if isinstance(error, KeyboardInterrupt):
        return TERMINATED if settings.terminated else INTERRUPTED
    if isinstance(error, FileFormatError | OSError):
        return MISUSED
    if isinstance(error, ConvergenceError | AssemblyError):
        return NOT_CONVERGED
    return WRONG


def _message(error: BaseException, options: Collection[str]) -> str:
    if isinstance(error, DalembertError | Interrupted):
        return f"{type(error).__name__}: {words(error, options)}"
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.strerror:
        where = f" {os.fspath(error.filename)!r}" if isinstance(error.filename, str | os.PathLike) else ""
        return f"{type(error).__name__}: {error.strerror}{where}"
    return f"{type(error).__name__}: {error}"


def _print_error(error: BaseException, message: str) -> None:
    if settings.debug:
        traceback.print_exception(error, file=sys.stderr)
    typer.echo(printable(message), err=True)


def _print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    warn(words(message, settings.options))
