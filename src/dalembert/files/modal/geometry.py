"""Geometry of a measurement: places of sensors, the direction in which each measures, lines between places.

As a table, one row per place; ``to`` names the places to which lines go, and a place without a direction has no sensor:

    name,x [mm],y [mm],z [mm],direction,to
    ground,0,0,0,,a1
    a1,0,0,230,x,a2
    a2,0,0,510,-x,

As TOML: ``lines = [["ground", "a1"]]`` and a table ``[places]`` with ``a1 = [0, 0, 0.23, "x"]`` in metres. As a
universal file: nodes (sets 15 and 2411) and trace lines (82), where channels are called ``12+X`` after their node.
"""

from __future__ import annotations

import csv
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.atomic_files import require_file
from dalembert.core.errors import FileFormatError, unknown_name
from dalembert.core.findings import Advice, Finding
from dalembert.files.modal.universal_sets import read_sets
from dalembert.files.tables.body import describe_ragged, number_lines
from dalembert.files.tables.cells import BLANKS, has_comma, is_missing, is_number, split_cells, with_point
from dalembert.files.tables.encoding import count_lines
from dalembert.files.tables.header import plain_cell
from dalembert.files.tables.header_units import read_heading
from dalembert.files.tables.layout import DELIMITERS

MOST = sys.float_info.max  # larger whole numbers, and NaN, are no coordinates
DIRECTIONS = ("x", "y", "z", "-x", "-y", "-z")
LARGEST = 4 * 1024**2  # bytes of a file: 50 000 places
SHOWN = 8  # names in a message
_NAMES = ("name", "sensor", "channel", "place", "point", "node", "coordinate", "label")
_COLUMNS = {"direction": ("direction", "way", "axis", "dir"), "to": ("to", "line", "lines", "connected to")}
LABEL = re.compile(r"(?:.*\.)?(?P<place>.+?)(?P<sign>[+-])(?P<axis>[XYZ])")

Place = tuple[float, float, float] | tuple[float, float, float, str]


@dataclass(frozen=True, eq=False)
class Geometry(Mapping[str, Place]):
    """Places by name, ``(x, y, z)`` [m] and the direction of a sensor there, and the lines between them.

    lines : pairs of names; None where the file has none.

    Examples
    --------
    >>> Geometry({"ground": (0.0, 0.0, 0.0), "a1": (0.0, 0.0, 0.2, "x")}, (("ground", "a1"),))["a1"]
    (0.0, 0.0, 0.2, 'x')
    """

    places: Mapping[str, Place]
    lines: tuple[tuple[str, str], ...] | None = None

    def __getitem__(self, name: str) -> Place:
        return self.places[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def replace(self, more: Mapping[str, Place]) -> Geometry:
        """Copy with other or further places."""
        return Geometry({**self.places, **more}, self.lines)

    def match(self, channels: Sequence[str]) -> tuple[Geometry, list[Finding]]:
        """The places of these channels, and the differences: sensors without a channel, channels without a place.

        A place of a sensor that is not a channel is kept, without a direction. A channel ``12+X`` is at the place
        ``12``.
        """
        known = set(channels)
        absent = [name for name, place in self.places.items() if len(place) == 4 and name not in known]
        found: dict[str, Place] = {**self.places, **{name: self.places[name][:3] for name in absent}}
        findings = []
        for name in absent[:SHOWN]:
            problem = f"the geometry has a sensor that is not a channel: {unknown_name('channel', name, channels)}"
            findings.append(Finding("unknown-name", problem, {"name": name}))
        if more := absent[SHOWN:]:
            problem = (
                f"the geometry has {len(more)} further sensors that are not channels: {', '.join(more[:SHOWN])} ..."
            )
            findings.append(Finding("unknown-name", problem, {"names": more}))
        for channel in channels:
            label = LABEL.fullmatch(channel)
            if channel in found or label is None:
                continue
            at = self.places.get(label["place"]) or self.places.get(label["place"].rpartition(".")[2])
            if at is not None:
                found[channel] = (*at[:3], f"{label['sign']}{label['axis'].lower()}".lstrip("+"))
        without = [name for name in channels if len(found.get(name, ())) != 4]
        if without:
            problem = f"{len(without)} of {len(channels)} channels have no place or no direction, and are not drawn: "
            problem += f"{', '.join(without[:SHOWN])}{', ...' if len(without) > SHOWN else ''}."
            findings.append(Finding("no-place", problem, {"channels": without}))
        return Geometry(found, self.lines), findings


def read_geometry(path: str | os.PathLike[str]) -> Geometry:
    """Read places and directions of sensors, and lines between places, from a CSV, TSV, TOML or universal file.

    Parameters
    ----------
    path : file; its suffix decides the format (``.csv``, ``.tsv``, ``.txt``, ``.toml``, ``.uff``, ``.unv``)

    Returns
    -------
    Geometry
        A mapping of names to ``(x, y, z)`` or ``(x, y, z, direction)``, as ``places=`` of :func:`dalembert.report` and
        ``geometry=`` of :func:`dalembert.write_modes` take it, with ``lines``.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    readers = {**dict.fromkeys((".csv", ".tsv", ".txt", ".dat"), _table), ".toml": _toml,
               **dict.fromkeys((".uff", ".unv"), _universal)}  # fmt: skip
    if suffix not in readers:
        problem = f"the suffix {file.suffix!r} is not that of a geometry. Known: {', '.join(readers)}."
        raise FileFormatError("unknown-suffix", problem, path=str(path))
    require_file(file, LARGEST)
    try:
        places, lines = readers[suffix](file)
        if not places:
            raise FileFormatError("empty", "there is no place in the file.")
        for a, b in lines or ():
            for name in (a, b):
                if name not in places:
                    raise FileFormatError("unknown-name", unknown_name("place", name, places, "the lines"))
        return Geometry(places, tuple(lines) if lines else None)
    except FileFormatError as error:
        raise with_path(error, file) from error


def with_path(error: FileFormatError, file: Path) -> FileFormatError:
    """An error of a reader, with the path of the file."""
    if error.path is not None:
        return error
    found = error.finding
    about: Any = {"line": error.line, "where": found.where, "evidence": found.evidence}
    return FileFormatError(found.code, found.problem, *found.advice, path=str(file), **about)


# ---- as a table


def _table(path: Path) -> tuple[dict[str, Place], list[tuple[str, str]]]:
    _, encoding = count_lines(path, LARGEST)
    try:
        with path.open(encoding=encoding, newline=None) as file:
            texts = list(number_lines(file))
        rows = _split(texts)
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError("bad-syntax", f"this is not a table ({error}).") from error
    (line, head), *body = rows
    names = [plain_cell(cell) for cell in head]
    columns = _columns(names, line)
    decimal = "," if any(has_comma(cell) for _, row in body for cell in row) else "."
    places: dict[str, Place] = {}
    lines: list[tuple[str, str]] = []
    for number, row in body:
        if len(row) < len(names) or any(row[len(names) :]):
            raise FileFormatError("ragged-row", describe_ragged(len(row), names, ",", "row"), line=number)
        name = plain_cell(row[columns["name"][0]])
        if not name:
            raise FileFormatError("bad-name", "a place has no name.", line=number)
        if name in places:
            raise FileFormatError("taken-name", f"two places are named {name!r:.80}.", line=number)
        position = tuple(_coordinate(row, columns.get(axis), decimal, number) for axis in "xyz")
        way = row[columns["direction"][0]].lower().lstrip("+") if "direction" in columns else ""
        places[name] = _place(name, position, "" if is_missing(way) else way, number)
        others = row[columns["to"][0]] if "to" in columns else ""
        lines += [(name, other) for other in re.split(r"[\s;|]+", others) if other]
    return places, lines


def _split(texts: list[tuple[int, str]]) -> list[tuple[int, list[str]]]:
    """Rows by the delimiter with which the header names x and y."""
    for delimiter in (*DELIMITERS, BLANKS):
        rows = [(number, split_cells(text, delimiter)) for number, text in texts]
        for k, (_, head) in enumerate(rows[:20]):
            if {"x", "y"} <= {read_heading(plain_cell(cell)).name.lower() for cell in head}:
                return rows[k:]
    raise FileFormatError(
        "no-header", "no row names the columns name, x, y, z and direction.", line=texts[0][0] if texts else None
    )


def _columns(names: list[str], line: int) -> dict[str, tuple[int, float]]:
    """Column and factor to metres, by the quantity of the column."""
    found: dict[str, tuple[int, float]] = {}
    for k, cell in enumerate(names):
        heading = read_heading(cell)
        short = heading.name.lower()
        if short in ("x", "y", "z"):
            if not heading.understood or heading.unit not in ("", "m"):
                problem = f"{cell!r:.80}: places are lengths; expected m, mm or another unit of length."
                raise FileFormatError("unit-mismatch", problem, line=line)
            found.setdefault(short, (k, heading.factor[0] / heading.factor[1]))
        elif short in _NAMES:
            found.setdefault("name", (k, 1.0))
        else:
            known = next((kind for kind, words in _COLUMNS.items() if short in words), None)
            if known is None:
                expected = ("name", "x", "y", "z", "direction", "to")
                raise FileFormatError("unknown-argument", unknown_name("column", cell, expected), line=line)
            found.setdefault(known, (k, 1.0))
    if "name" not in found:
        raise FileFormatError("missing-argument", "there is no column 'name'.", line=line)
    return found


def _coordinate(row: list[str], column: tuple[int, float] | None, decimal: str, line: int) -> float:
    if column is None:
        return 0.0
    cell = row[column[0]]
    if not is_number(cell, decimal) or not np.isfinite(float(with_point(cell, decimal))):
        raise FileFormatError("not-a-number", f"{cell!r:.80} is not a coordinate of a place.", line=line)
    return float(with_point(cell, decimal)) * column[1]


def _place(name: str, position: Sequence[float], way: str, line: int | None = None) -> Place:
    x, y, z = position
    if not way:
        return x, y, z
    if way not in DIRECTIONS:
        problem = f"the direction of {name!r:.80} is {way!r:.40}; expected one of {', '.join(DIRECTIONS)}."
        raise FileFormatError("unknown-choice", problem, line=line)
    return x, y, z, way


# ---- as TOML and as a universal file


def _toml(path: Path) -> tuple[dict[str, Place], list[tuple[str, str]]]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # broken text, or a number of thousands of digits
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else None
        raise FileFormatError("bad-syntax", f"this is not TOML ({error}).", line=line) from error
    for key in document:
        if key not in ("places", "lines"):
            raise FileFormatError("unknown-argument", unknown_name("key", key, ("places", "lines")))
    given, pairs = document.get("places"), document.get("lines", [])
    if not isinstance(given, dict):
        raise FileFormatError("missing-argument", "there is no table [places].",
                              Advice('Write [places] and under it a1 = [0, 0, 0.2, "x"].'))  # fmt: skip
    places: dict[str, Place] = {}
    for name, words in given.items():
        parts = list(words) if isinstance(words, list) else []
        way = parts.pop() if parts and isinstance(parts[-1], str) else ""
        numbers = [one for one in parts if isinstance(one, int | float) and not isinstance(one, bool)]
        if len(numbers) != len(parts) or len(parts) not in (2, 3) or not all(abs(x) <= MOST for x in numbers):
            problem = f"place {name!r:.80}: expected two or three coordinates [m] and a direction, not {words!r:.80}."
            raise FileFormatError("wrong-shape", problem)
        places[name] = _place(name, [*map(float, numbers), *([0.0] if len(numbers) == 2 else [])], way.lstrip("+"))
    if not isinstance(pairs, list) or not all(
        isinstance(one, list) and len(one) >= 2 and all(isinstance(name, str) for name in one) for one in pairs
    ):
        raise FileFormatError("wrong-shape", 'lines must be lists of names: lines = [["ground", "a1"]].')
    return places, [pair for one in pairs for pair in pairwise(one)]


def _universal(path: Path) -> tuple[dict[str, Place], list[tuple[str, str]]]:
    found = read_sets(path, LARGEST)
    if not found.nodes:
        problem = "the file has no nodes (set 15 or 2411)."
        raise FileFormatError("empty", problem)
    places: dict[str, Place] = {str(node): _place(str(node), position, "") for node, position in found.nodes.items()}
    return places, [(str(a), str(b)) for a, b in found.lines]
