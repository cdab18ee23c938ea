"""Lines of the values of a TOML or JSON file: path of keys and indices -> line.

The parsers of the standard library give values without lines; this pass over the same text gives the lines. It runs
first and refuses texts that are nested deeper or longer than any model, before the parser reads them. Wrong syntax
is left to the parser, whose messages are better.
"""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_right
from typing import Any

from dalembert.files.models.text import limits

Path = tuple[str | int, ...]

_BLANK_TOML = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*+")
_BLANK_JSON = re.compile(r"[ \t\r\n]*+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*+"{3,5}|\'\'\'(?:[^\']|\'{1,2}(?!\'))*+\'{3,5}'
                     r'|"(?:[^"\\\n]|\\.)*+"|\'[^\'\n]*+\'', re.DOTALL)  # fmt: skip
_SCALAR = re.compile(r"[^,\]}\n#]*+")


class TooDeep(Exception):
    """Nested deeper, or with more or longer values, than a model can be; carries the line."""

    def __init__(self, line: int, what: str = f"nested more than {limits.NESTING} deep.") -> None:
        super().__init__(what)
        self.line = line


class _Stop(Exception):
    """The syntax is wrong; the parser will report it."""


class _Scan:
    def __init__(self, text: str, is_json: bool) -> None:
        self.text = text
        self.at = 0
        self.is_json = is_json
        self.blank = _BLANK_JSON if is_json else _BLANK_TOML
        self.breaks = [match.start() for match in re.finditer("\n", text)]
        self.lines: dict[Path, int] = {(): 1}

    def line(self) -> int:
        return bisect_right(self.breaks, self.at - 1) + 1

    def skip(self, only_line: bool = False) -> None:
        if only_line:
            while self.at < len(self.text) and self.text[self.at] in " \t":
                self.at += 1
            return
        match = self.blank.match(self.text, self.at)
        if match is not None:
            self.at = match.end()

    def take(self, symbol: str) -> bool:
        if self.text.startswith(symbol, self.at):
            self.at += len(symbol)
            return True
        return False

    def note(self, path: Path, line: int) -> None:
        if len(path) > limits.NESTING:
            raise TooDeep(line)
        if len(self.lines) > limits.VALUES:
            raise TooDeep(line, f"more than {limits.VALUES} values.")
        self.lines.setdefault(path, line)

    def string(self) -> str:
        match = _STRING.match(self.text, self.at)
        if match is None:
            raise _Stop
        if match.end() - self.at > limits.TEXT:
            raise TooDeep(self.line(), f"a text of more than {limits.TEXT} characters.")
        self.at = match.end()
        return match.group()

    def key(self) -> list[str]:
        """A key, dotted in TOML."""
        parts: list[str] = []
        while True:
            self.skip(only_line=not self.is_json)
            if self.text[self.at : self.at + 1] in ('"', "'"):
                raw = self.string()
                try:
                    parts.append(json.loads(raw) if self.is_json else tomllib.loads("k=" + raw)["k"])
                except ValueError:
                    raise _Stop from None
            else:
                bare = _BARE_KEY.match(self.text, self.at)
                if bare is None or self.is_json:
                    raise _Stop
                parts.append(bare.group())
                self.at = bare.end()
            if len(parts) > limits.NESTING:
                raise TooDeep(self.line())
            self.skip(only_line=not self.is_json)
            if self.is_json or not self.take("."):
                return parts

    def value(self, path: Path) -> None:
        self.note(path, self.line())
        first = self.text[self.at : self.at + 1]
        if first in ('"', "'") and first:
            self.string()
        elif first == "[":
            self.array(path)
        elif first == "{":
            self.table(path)
        else:
            match = _SCALAR.match(self.text, self.at)
            assert match is not None  # the pattern may be empty
            if match.end() - self.at > limits.NUMBER and match.group().strip()[limits.NUMBER :]:
                raise TooDeep(self.line(), f"a value of more than {limits.NUMBER} characters is no number.")
            self.at = match.end()

    def array(self, path: Path) -> None:
        self.at += 1
        index = 0
        while True:
            self.skip()
            if self.take("]"):
                return
            self.value((*path, index))
            index += 1
            self.skip()
            if not self.take(",") and not self.text.startswith("]", self.at):
                raise _Stop

    def table(self, path: Path) -> None:
        self.at += 1
        while True:
            self.skip()
            if self.take("}"):
                return
            line = self.line()
            inner = self.note_keys(path, self.key(), line)
            self.skip()
            if not self.take(":" if self.is_json else "="):
                raise _Stop
            self.skip()
            self.value(inner)
            self.skip()
            if not self.take(",") and not self.text.startswith("}", self.at):
                raise _Stop

    def note_keys(self, prefix: Path, keys: list[str], line: int) -> Path:
        for key in keys:
            prefix = (*prefix, key)
            self.note(prefix, line)
        return prefix

    def toml(self) -> None:
        prefix: Path = ()
        counts: dict[Path, int] = {}

        def resolve(keys: list[str], line: int) -> Path:
            """Path of a header; through a list of tables it means the last one."""
            path: Path = ()
            for key in keys:
                path = (*path, key)
                self.note(path, line)
                if path in counts:
                    path = (*path, counts[path] - 1)
            return path

        while True:
            self.skip()
            if self.at >= len(self.text):
                return
            line = self.line()
            if self.take("[["):
                keys = self.key()
                parent = resolve(keys[:-1], line)
                place: Path = (*parent, keys[-1])
                self.note(place, line)
                counts[place] = counts.get(place, 0) + 1
                prefix = (*place, counts[place] - 1)
                self.note(prefix, line)
                if not self.take("]]"):
                    raise _Stop
            elif self.take("["):
                prefix = resolve(self.key(), line)
                if not self.take("]"):
                    raise _Stop
            else:
                inner = self.note_keys(prefix, self.key(), line)
                if not self.take("="):
                    raise _Stop
                self.skip(only_line=True)
                self.value(inner)


def find_lines(text: str, *, is_json: bool = False) -> dict[Path, int]:
    """Lines of all keys and values of a text, as far as its syntax is right.

    Examples
    --------
    >>> find_lines('a = 1\\n[b]\\nc = [1,\\n 2]')[("b", "c", 1)]
    4
    """
    scan = _Scan(text, is_json)
    try:
        if is_json:
            scan.skip()
            scan.value(())
        else:
            scan.toml()
    except _Stop:
        pass
    return scan.lines


def nearest(lines: dict[Path, int], path: Any) -> int:
    """Line of a path, or of the nearest table that holds it."""
    place = tuple(path)
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)
