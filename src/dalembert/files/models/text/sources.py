"""One text of a model: read within bounds, parsed, with the lines of its values and the problems found in it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dalembert.core.atomic_files import read_bytes
from dalembert.core.errors import FileFormatError, printable
from dalembert.core.findings import Advice, Argument, Call, Finding, Part
from dalembert.files.models.text import limits, positions

SUFFIXES = (".toml", ".json")
ALLOW_OUTSIDE = Argument("allow_outside", True)
REPAIR = Argument("repair", True)
BASE = Argument("base", "free")
PICTURES = Argument("pictures", False)
OF_READER = (ALLOW_OUTSIDE, REPAIR, BASE, PICTURES, Argument("folders"))  # arguments of the function that reads


class ModelFileError(FileFormatError):
    """A model file is wrong; ``problems`` lists everything found, each with path and line in its ``where``."""

    def __init__(self, problems: Iterable[Finding]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        path, line = first.where["path"], first.where["line"]
        if len(self.problems) == 1:
            super().__init__(first.code, first.problem, *first.advice, path=path, line=line, where=first.where)
            return
        shown = [
            f"{problem.where['path']}:{problem.where['line']}: {problem.problem}"
            for problem in self.problems[: limits.PROBLEMS_SHOWN]
        ]
        more = len(self.problems) - len(shown)
        tail = [f"... and {more} more."] if more else []
        title = f"{len(self.problems)} problems in the model:"
        advice = dict.fromkeys(advice for problem in self.problems for advice in problem.advice)
        super().__init__("several-problems", "\n  ".join([title, *shown, *tail]), *advice, where=first.where)
        self.path, self.line = path, line


def in_file(part: Part) -> str | None:
    """An argument as the key of a table. A file calls no functions, and has no arguments of its reader."""
    if isinstance(part, Call) or part in OF_READER:
        return None
    return part.name if part.value is None else f"{part.name} = {part.value!r}"


class TooMany(Exception):
    """Too many problems to continue the search."""


class Problems:
    """Problems of all files of one model, in the order they were found, each once."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int, str], Finding] = {}

    def add(self, path: str, line: int, finding: Finding) -> None:
        text = " ".join(printable(finding.text(in_file)).split())
        where = {**finding.where, "path": path, "line": line}
        reader = tuple(advice_ for advice_ in finding.advice if any(item in OF_READER for item in advice_.parts))
        self.found.setdefault((path, line, text), replace(finding, problem=text, where=where, advice=reader))
        if len(self.found) >= limits.PROBLEMS:
            raise TooMany

    def raise_if_any(self) -> None:
        if self.found:
            raise ModelFileError(self.found[key] for key in sorted(self.found, key=lambda key: key[:2]))


@dataclass
class ModelSource:
    """A parsed file."""

    path: str  # as shown in messages
    document: dict[str, Any]
    lines: dict[positions.Path, int] = field(repr=False)
    problems: Problems = field(repr=False)
    dropped: set[positions.Path] = field(default_factory=set, repr=False)  # wrong in form, and left out
    remains: dict[positions.Path, Any] = field(default_factory=dict, repr=False)  # of parts that were left out

    def report(self, where: object, code: str, problem: str, *advice: Advice) -> None:
        """Note a problem at a place of the file."""
        self.note(where, Finding(code, problem, advice=advice))

    def note(self, where: Any, finding: Finding) -> None:
        """Note a finding, unless it only follows from something in there that was left out."""
        place, by_name = tuple(where), finding.code in ("unknown-name", "unknown-argument")
        if place and not by_name and any(path[: len(place)] == place for path in self.dropped):
            return
        self.problems.add(self.path, positions.nearest(self.lines, where), finding)


def read_source(path: Path, shown: str, problems: Problems) -> ModelSource:
    """Read and parse a file; problems of the file as a whole are raised."""
    problem = "a model file ends in .toml or .json."
    FileFormatError.when(path.suffix.lower() not in SUFFIXES, "unknown-suffix", problem, path=shown)
    content = read_bytes(path, limits.FILE_BYTES, shown)
    return parse_source(content, shown, problems, is_json=path.suffix.lower() == ".json")


def parse_source(content: bytes, shown: str, problems: Problems, *, is_json: bool) -> ModelSource:
    """Parse the bytes of a file."""
    problem = f"the file has more than {limits.FILE_BYTES} bytes."
    FileFormatError.when(len(content) > limits.FILE_BYTES, "too-large", problem, path=shown)
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise FileFormatError("not-readable", "the file is not UTF-8 text.", path=shown, line=line) from None
    problem = f"the file has more than {limits.LINES} lines."
    FileFormatError.when(text.count("\n") > limits.LINES, "too-large", problem, path=shown)
    try:
        lines = positions.find_lines(text, is_json=is_json)
    except positions.TooDeep as error:
        raise FileFormatError("too-large", str(error), path=shown, line=error.line) from None
    try:
        document = json.loads(text, object_pairs_hook=_once) if is_json else tomllib.loads(text)
    except RecursionError:
        problem = f"nested more than {limits.NESTING} deep."
        raise FileFormatError("too-large", problem, path=shown) from None
    except json.JSONDecodeError as error:
        problem = f"not valid JSON: {error.msg}."
        raise FileFormatError("bad-syntax", problem, path=shown, line=error.lineno) from None
    except tomllib.TOMLDecodeError as error:
        problem, line = _toml_error(str(error), text)
        raise FileFormatError("bad-syntax", problem, path=shown, line=line) from None
    except ValueError as error:  # a number with thousands of digits, a key given twice
        raise FileFormatError("bad-syntax", f"cannot be read: {error}.", path=shown) from None
    problem = f"expected a table of keys, got a {type(document).__name__}."
    FileFormatError.when(not isinstance(document, dict), "wrong-type", problem, path=shown, line=1)
    return ModelSource(shown, document, lines, problems)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; the standard reader would keep the last of equal keys without an error."""
    result = dict(pairs)
    if len(result) < len(pairs):
        keys: set[str] = set()
        twice = next(key for key, _ in pairs if key in keys or keys.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} is given twice")
    return result


def _toml_error(message: str, text: str) -> tuple[str, int]:
    """The message of tomllib without its line, and the line, which it has in the message only."""
    match = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    line = int(match.group(1)) if match and match.group(1) else text.count("\n") + 1
    words_ = message[: match.start()] if match else message
    return f"not valid TOML: {words_}.", line


def shorten(text: str) -> str:
    """A text of a file as a message shows it."""
    return text if len(text) <= 60 else text[:57] + "..."
