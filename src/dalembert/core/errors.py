"""Errors that say what, where, what was expected and what to do."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from typing import Any

_MOST_COMPARED = 5000  # names: a comparison takes microseconds, a hostile file has millions


class DalembertError(Exception):
    """Root of every error this package raises on purpose.

    ``record`` holds what a run had computed before it failed, or ``None``. Names in a message may come from a file:
    what a terminal would act upon is written out.
    """

    record: Any = None

    def __init__(self, *args: Any) -> None:
        super().__init__(*(printable(one) if isinstance(one, str) else one for one in args))


class ModelError(DalembertError):
    """The description of a machine is wrong or incomplete."""


class AssemblyError(DalembertError):
    """The joints of a machine cannot be closed from the given guess."""


class ConvergenceError(DalembertError):
    """An iteration or a time step did not reach its tolerance."""


class DataError(DalembertError):
    """Numbers handed to a function do not fit: shape, order, range, NaN."""


class MissingExtraError(DalembertError, ImportError):
    """An optional package is needed and not installed."""


class FileFormatError(DalembertError):
    """A file does not say what its format promises."""

    def __init__(self, message: str, path: str | None = None, line: int | None = None) -> None:
        place = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(place + message)
        self.path = path
        self.line = line


class ModelWarning(UserWarning):
    """A result holds, but under a condition that the description of the machine does not show."""


class Interrupted(DalembertError, KeyboardInterrupt):
    """A run was stopped from the keyboard; ``record`` holds what it had."""


class SimulationWarning(UserWarning):
    """A run is complete, but its result is not to be trusted without a second look; the message says where."""


def unknown_name(kind: str, name: str, known: Iterable[str], where: str = "") -> str:
    """Message for a name that does not exist, with the nearest known one.

    Examples
    --------
    >>> unknown_name("joint", "elbw", ["elbow", "wrist"], "mechanism 'arm'")
    "no joint named 'elbw' in mechanism 'arm'. Did you mean 'elbow'? Known: elbow, wrist."
    """
    names = sorted(set(known))
    near = difflib.get_close_matches(str(name), names[:_MOST_COMPARED], n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r:.80}?" if near else ""
    place = f" in {where}" if where else ""
    shown = ", ".join(each[:80] if each.isprintable() else repr(each[:80]) for each in names[:20])
    shown += f", ... ({len(names)} in all)" if len(names) > 20 else ""
    return f"no {kind} named {name!r}{place}.{hint} Known: {shown or '(none)'}."


def require_extra(module: str, extra: str) -> Any:
    """Import an optional module or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(f'{module} is not installed. Run: pip install "dalembert[{extra}]"') from error


def printable(text: str) -> str:
    """A text with what a terminal would act upon written out: names in a file may hold escape sequences.

    Examples
    --------
    >>> printable("body " + chr(27) + "[31mred") == "body " + chr(92) + "x1b[31mred"
    True
    """
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)
