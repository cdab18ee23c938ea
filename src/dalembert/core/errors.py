"""Errors and warnings: code, problem, place, evidence and advice."""

from __future__ import annotations

import difflib
import importlib
import re
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from dalembert.core.findings import Advice, Finding

_LONG_WORD = re.compile(r"(\S{300})\S{100,}(\S{100})")


class _Found:
    """A finding that is raised or warned of: ``DataError("not-finite", "channel 'a' holds NaN.", Advice(...))``."""

    def __init__(
        self,
        code: str,
        problem: str,
        *advice: Advice,
        where: Mapping[str, Any] | None = None,
        evidence: Mapping[str, Any] | None = None,
    ) -> None:
        self.finding = Finding(code, printable(problem), dict(where or {}), dict(evidence or {}), advice)
        super().__init__(self.finding.text())  # type: ignore[call-arg]

    @classmethod
    def of(cls, finding: Finding) -> Self:
        """The error or warning that reports a finding."""
        return cls(finding.code, finding.problem, *finding.advice, where=finding.where, evidence=finding.evidence)

    @classmethod
    def when(cls, wrong: object, code: str, problem: str, *advice: Advice, **about: Any) -> None:
        """Raise this error where something is wrong: a check of one line."""
        if wrong:
            raise cls(code, problem, *advice, **about)  # type: ignore[misc]

    @property
    def code(self) -> str:
        return self.finding.code

    @property
    def where(self) -> Mapping[str, Any]:
        return self.finding.where

    @property
    def advice(self) -> tuple[Advice, ...]:
        return self.finding.advice

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.finding, dict(self.__dict__))


def problem_of(error: BaseException) -> str:
    """The problem without advice, whose words depend on the reader; the whole message of other packages' errors."""
    finding: Finding | None = getattr(error, "finding", None)
    return str(error) if finding is None else finding.problem


def _rebuild(kind: type[_Found], finding: Finding, state: dict[str, Any]) -> Any:
    error = kind.__new__(kind, finding.text())  # type: ignore[call-arg]
    error.__dict__.update(state)
    return error


class DalembertError(_Found, Exception):
    """Root of every error this package raises on purpose.

    code : kind of the problem, a line of `core.codes`; tests and programs compare this, never the text.
    where : joint, channel, time, path, line, ... of the problem.  advice : remedies, as values.
    record : the results of a run before it failed, or ``None``.

    Names in a message may come from a file: control characters of a terminal are written out.
    """

    record: Any = None


class DalembertWarning(_Found, UserWarning):
    """Root of every warning: the result is valid, but should be checked. It has a code, as errors do."""

    @classmethod
    def report(cls, findings: Iterable[Finding], stacklevel: int = 1) -> None:
        """Warn of every finding; ``stacklevel`` 1 shows the line that called the caller of this."""
        for finding in findings:
            warnings.warn(cls.of(finding), stacklevel=stacklevel + 2)


class ModelError(DalembertError):
    """The description of a machine is wrong or incomplete."""

    @classmethod
    def refuse(cls, found: Sequence[Finding], title: str, where: Mapping[str, Any] | None = None) -> None:
        """Raise one error with all findings, if there are any; a ``title`` is ``"problems in frame 'portal'"``."""
        if len(found) == 1:
            raise cls.of(found[0])
        if found:
            problem = "\n  - ".join([f"{len(found)} {title}:", *(finding.text() for finding in found)])
            raise cls("several-problems", problem, where=where, evidence={"problems": list(found)})


class AssemblyError(DalembertError):
    """The joints of a machine cannot be closed from the given guess."""


class ConvergenceError(DalembertError):
    """An iteration or a time step did not reach its tolerance."""


class DataError(DalembertError):
    """Numbers given to a function do not fit: shape, order, range, NaN."""


class MissingExtraError(DalembertError, ImportError):
    """An optional package is needed and not installed."""


class FileFormatError(DalembertError):
    """A file does not follow its format; ``path`` and ``line`` give the place."""

    def __init__(
        self,
        code: str,
        problem: str,
        *advice: Advice,
        path: str | None = None,
        line: int | None = None,
        where: Mapping[str, Any] | None = None,
        evidence: Mapping[str, Any] | None = None,
    ) -> None:
        place = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(code, place + problem, *advice, where=where, evidence=evidence)
        self.path = path
        self.line = line

    @classmethod
    def placed(cls, error: DalembertError, path: str | None, line: int | None = None) -> FileFormatError:
        """An error as one of a file; one that names its file or its line keeps them."""
        if isinstance(error, FileFormatError):
            if error.path is not None:
                return error
            line = line if error.line is None else error.line
        about = error.finding
        return cls(about.code, about.problem, *about.advice, path=path, line=line, where=about.where,
                   evidence=about.evidence)  # fmt: skip

    @classmethod
    @contextmanager
    def of_file(cls, path: object) -> Iterator[None]:
        """Errors of data inside become those of the file."""
        try:
            yield
        except (DataError, ModelError, FileFormatError) as error:
            placed = cls.placed(error, str(path))
            if placed is error:  # it keeps its cause
                raise
            raise placed from error

    @classmethod
    def report_absent(cls, file: Path, shown: str | None = None) -> FileFormatError:
        """The error of a file that does not exist, ``shown`` in messages; a file with nearly its name is suggested."""
        path = str(file) if shown is None else shown
        if file.is_dir():
            return cls("not-readable", "this is a folder, not a file.", path=path)
        if file.exists():
            return cls("not-readable", "this is a pipe or a device, not a file.", path=path)
        others = [entry.name for entry in file.parent.iterdir()] if file.parent.is_dir() else []
        near = difflib.get_close_matches(file.name, others, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return cls("no-such-file", f"no such file.{hint}", path=path)


class Broken(ValueError):
    """A value that its format cannot hold at this place; the reader of the file makes it an error with the place."""

    @classmethod
    def when(cls, wrong: object, why: str) -> None:
        """Raise where something is wrong."""
        if wrong:
            raise cls(why)


class ModelWarning(DalembertWarning):
    """A result is valid under a condition that the description of the machine does not show."""


class Interrupted(_Found, KeyboardInterrupt):
    """A run was stopped from the keyboard; ``record`` has the results so far.

    No `DalembertError`: a search that goes on after a failed trial must not go on after Ctrl-C.
    """

    record: Any = None


class SimulationWarning(DalembertWarning):
    """A run is complete, but its result needs a check; the message gives the place."""


def unknown_name(
    kind: str, name: str, known: Iterable[str], where: str = "", most: int = 20, compared: int = 5000
) -> str:  # fmt: skip
    """Message for a name that does not exist, with the nearest known one.

    most : names in the message: four lines of a terminal.  compared : names, of which a hostile file has millions.

    Examples
    --------
    >>> unknown_name("joint", "elbw", ["elbow", "wrist"], "mechanism 'arm'")
    "no joint named 'elbw' in mechanism 'arm'. Did you mean 'elbow'? Known: elbow, wrist."
    """
    names = sorted(set(known))
    near = difflib.get_close_matches(str(name), names[:compared], n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r:.80}?" if near else ""
    place = f" in {where}" if where else ""
    shown = ", ".join(each[:80] if each.isprintable() else repr(each[:80]) for each in names[:most])
    shown += f", ... ({len(names)} in all)" if len(names) > most else ""
    return f"no {kind} named {name!r}{place}.{hint} Known: {shown or '(none)'}."


def require_name(
    kind: str,
    name: str,
    known: Iterable[str],
    place: str = "",
    *advice: Advice,
    error: type[DalembertError] = DataError,
    argument: str = "",
    code: str = "unknown-name",
    **about: Any,
) -> None:
    """Refuse a name that is not among the known ones; ``argument`` is the argument with this name."""
    if not isinstance(name, Hashable) or name not in known:
        problem = unknown_name(kind, name, known, place)
        raise error(code, f"{argument}: {problem}" if argument else problem, *advice, **about)


def require_new_name(
    kind: str,
    name: object,
    known: Iterable[str],
    place: str,
    *advice: Advice,
    error: type[DalembertError] = DataError,
    where: Mapping[str, Any] | None = None,
) -> str:
    """A name that nothing has yet: a line of printable text without blanks at its ends."""
    if not isinstance(name, str) or not name or name != name.strip() or not name.isprintable():
        raise error("bad-name", f"the name of a {kind} must be a text without outer blanks, got {name!r}.")
    if name in known:
        where = {kind: name, **(where or {})}
        raise error("taken-name", f"{place} has a {kind} {name!r} already.", *advice, where=where)
    return name


def require_extra(module: str, extra: str) -> Any:
    """Import an optional module; the error names the extra that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            "missing-extra", f"{module} is not installed.", Advice(f'Run: pip install "dalembert[{extra}]"')
        ) from error


def printable(text: str) -> str:
    """A text for a terminal: control characters are written out, and the middle of words above 500 letters is left out.

    Names in a file may contain escape sequences, and may have any length.

    Examples
    --------
    >>> printable("body " + chr(27) + "[31mred") == "body " + chr(92) + "x1b[31mred"
    True
    """
    text = _LONG_WORD.sub(r"\1...\2", text)
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)
