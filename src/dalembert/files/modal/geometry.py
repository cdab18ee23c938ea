"""Geometry of a measurement: places of sensors, the direction in which each measures, lines between places.

As a table, one row per place; ``to`` names the places to which lines go, and a place without a direction has no sensor.
A direction is an axis or a vector. Places of one ``floor`` move as a rigid plate; one that ``follows`` others moves as
they do, or as a weighted sum of them:

    name,x [mm],y [mm],z [mm],direction,to,floor,follows
    ground,0,0,0,,a1,,
    a1,0,0,230,x,a2,first,
    a2,400,0,230,0.6 0.8 0,a1,first,
    b2,400,300,230,,a2,first,
    middle,0,0,115,,,,0.5*ground 0.5*a1

As TOML: ``lines = [["ground", "a1"]]`` and tables ``[places]`` with ``a1 = [0, 0, 0.23, "x"]`` in metres (the direction
also as ``[0.6, 0.8, 0]``), ``[floors]`` with ``first = ["a1", "a2", "b2"]``, ``[follows]`` with ``middle = {ground =
0.5, a1 = 0.5}``. As a universal file: nodes (sets 15 and 2411) and trace lines (82), where channels are called ``12+X``
after their node.
"""

from __future__ import annotations

import csv
import math
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from dalembert.core.arguments import take_path
from dalembert.core.atomic_files import require_file
from dalembert.core.errors import FileFormatError, require_name, unknown_name
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
_COLUMNS = {"direction": ("direction", "way", "axis", "dir"), "to": ("to", "line", "lines", "connected to"),
            "floor": ("floor", "plate", "rigid"), "follows": ("follows", "slave of", "slave")}  # fmt: skip
_BETWEEN = re.compile(r"[\s;|]+")
_PARTS = re.compile(r"[\s;|*]+")  # numbers and names of a cell
LABEL = re.compile(r"(?:.*\.)?(?P<place>.+?)(?P<sign>[+-])(?P<axis>[XYZ])")

Direction = str | tuple[float, float, float]
Place = tuple[float, float, float] | tuple[float, float, float, Direction]
Follows = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, eq=False)
class Geometry(Mapping[str, Place]):
    """Places by name, ``(x, y, z)`` [m] and the direction of a sensor there, and the lines between them.

    lines : pairs of names; None where the file has none.
    floors : names of the places of every rigid plate
    follows : place -> other places and the weights with which it moves as they do

    Examples
    --------
    >>> Geometry({"ground": (0.0, 0.0, 0.0), "a1": (0.0, 0.0, 0.2, "x")}, (("ground", "a1"),))["a1"]
    (0.0, 0.0, 0.2, 'x')
    """

    places: Mapping[str, Place]
    lines: tuple[tuple[str, str], ...] | None = None
    floors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    follows: Follows = field(default_factory=dict)

    def __getitem__(self, name: str) -> Place:
        return self.places[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def replace(self, more: Mapping[str, Place]) -> Geometry:
        """Copy with other or further places."""
        return replace(self, places={**self.places, **more})

    def match(self, channels: Sequence[str]) -> tuple[Geometry, list[Finding]]:
        """The places of these channels, and the differences: sensors without a channel, channels without a place.

        A place of a sensor that is not a channel is kept, without a direction. A channel ``12+X`` is at the place
        ``12``.
        """
        channels_ = set(channels)
        absent = [name for name, place in self.places.items() if len(place) == 4 and name not in channels_]
        places: dict[str, Place] = {**self.places, **{name: self.places[name][:3] for name in absent}}
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
            if channel in places or label is None:
                continue
            at = self.places.get(label["place"]) or self.places.get(label["place"].rpartition(".")[2])
            if at is not None:
                places[channel] = (*at[:3], f"{label['sign']}{label['axis'].lower()}".lstrip("+"))
        without = [name for name in channels if len(places.get(name, ())) != 4]
        if without:
            problem = f"{len(without)} of {len(channels)} channels have no place or no direction, and are not drawn: "
            problem += f"{', '.join(without[:SHOWN])}{', ...' if len(without) > SHOWN else ''}."
            findings.append(Finding("no-place", problem, {"channels": without}))
        return replace(self, places=places), findings


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
    file = take_path("path", path)
    suffix = file.suffix.lower()
    readers = {**dict.fromkeys((".csv", ".tsv", ".txt", ".dat"), _table), ".toml": _toml,
               **dict.fromkeys((".uff", ".unv"), _universal)}  # fmt: skip
    problem = f"the suffix {file.suffix!r} is not that of a geometry. Known: {', '.join(readers)}."
    FileFormatError.when(suffix not in readers, "unknown-suffix", problem, path=str(path))
    require_file(file, LARGEST)
    with FileFormatError.of_file(file):
        read: _Read = readers[suffix](file)
        FileFormatError.when(not read.places, "empty", "there is no place in the file.")
        for a, b in read.lines:
            for name in (a, b):
                require_name("place", name, read.places, "the lines", error=FileFormatError)
        _check_motion(read)
        floors = {floor: tuple(names) for floor, names in read.floors.items()}
        return Geometry(read.places, tuple(read.lines) or None, floors, read.follows)


@dataclass(eq=False)
class _Read:
    """Contents of a file; line_of : line of the file of a place or floor, where it is known."""

    places: dict[str, Place] = field(default_factory=dict)
    lines: list[tuple[str, str]] = field(default_factory=list)
    floors: dict[str, list[str]] = field(default_factory=dict)
    follows: dict[str, dict[str, float]] = field(default_factory=dict)
    line_of: Callable[[str], int | None] = lambda name: None


def _check_motion(read: _Read) -> None:
    """Refuse floors and followers of unknown places, and places whose motion is given twice or by themselves."""
    floor_of: dict[str, str] = {}
    for floor, names in read.floors.items():
        for name in names:
            if name not in read.places:
                problem = unknown_name("place", name, read.places, f"floor {floor!r:.80}")
                raise FileFormatError("unknown-name", problem, line=read.line_of(floor))
            if name in floor_of or name in read.follows:
                leader = f"in floor {floor_of[name]!r:.80}" if name in floor_of else "follows other places"
                problem = f"place {name!r:.80} is in floor {floor!r:.80} and {leader}."
                raise FileFormatError("duplicate", problem, line=read.line_of(name))
            floor_of[name] = floor
    for name, others in read.follows.items():
        for leader in (name, *others):
            if leader not in read.places:
                problem = unknown_name("place", leader, read.places, f"what {name!r:.80} follows")
                raise FileFormatError("unknown-name", problem, line=read.line_of(name))
        if len(read.places[name]) == 4:
            problem = f"place {name!r:.80} has a sensor and follows other places; it moves by one of the two."
            raise FileFormatError("conflicting-arguments", problem, line=read.line_of(name))
    try:
        TopologicalSorter(read.follows).prepare()
    except CycleError as error:
        circle = error.args[1]
        problem = f"place {circle[0]!r:.80} follows itself: {' to '.join(map(repr, circle[:SHOWN]))}."
        raise FileFormatError("circular-definition", problem, line=read.line_of(circle[0])) from None


def direction_vector(way: Direction) -> tuple[float, float, float]:
    """Unit vector of a direction.

    Examples
    --------
    >>> direction_vector("-y"), direction_vector((3.0, 4.0, 0.0))
    ((0.0, -1.0, 0.0), (0.6, 0.8, 0.0))
    """
    if isinstance(way, str):
        sign, axis = (-1.0 if way.startswith("-") else 1.0), way.lstrip("-")
        return tuple(sign if axis == letter else 0.0 for letter in "xyz")  # type: ignore[return-value]
    size = math.hypot(*way)
    return tuple(x / size for x in way)  # type: ignore[return-value]


# ---- as a table


def _table(path: Path) -> _Read:
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
    decimal = "," if any(has_comma(cell_) for _, row in body for cell in row for cell_ in _PARTS.split(cell)) else "."
    numbers: dict[str, int] = {}
    read = _Read(line_of=numbers.get)
    for number, row in body:
        if len(row) < len(names) or any(row[len(names) :]):
            raise FileFormatError("ragged-row", describe_ragged(len(row), names, ",", "row"), line=number)
        name = plain_cell(row[columns["name"][0]])
        FileFormatError.when(not name, "bad-name", "a place has no name.", line=number)
        FileFormatError.when(name in read.places, "taken-name", f"two places are named {name!r:.80}.", line=number)
        position = tuple(_coordinate(row, columns.get(axis), decimal, number) for axis in "xyz")
        cells = {kind: row[columns[kind][0]] if kind in columns else "" for kind in _COLUMNS}
        cells = {kind: "" if is_missing(cell) else cell for kind, cell in cells.items()}
        way: Direction | list[Any] = cells["direction"].lower().lstrip("+")
        if len(parts := [word for word in _BETWEEN.split(cells["direction"]) if word]) > 1:
            way = [float(with_point(word, decimal)) if is_number(word, decimal) else word for word in parts]
        read.places[name] = _place(name, position, way, number)
        numbers[name] = number
        read.lines += [(name, neighbour) for neighbour in _BETWEEN.split(cells["to"]) if neighbour]
        if cells["floor"]:
            floor = plain_cell(cells["floor"])
            read.floors.setdefault(floor, []).append(name)
            numbers.setdefault(floor, number)
        if cells["follows"]:
            read.follows[name] = _weights(name, cells["follows"], decimal, number)
    return read


def _weights(name: str, cell: str, decimal: str, line: int) -> dict[str, float]:
    """``0.5*a1 0.5*a2`` as weights by place; a name alone has the weight 1."""
    weights: dict[str, float] = {}
    for term in filter(None, _BETWEEN.split(cell)):
        before, star, leader = term.partition("*")
        problem = f"{name!r:.80} follows {cell!r:.80}: expected names, or weights and names as in 0.5*a1 0.5*a2."
        FileFormatError.when(star and not is_number(before, decimal), "not-a-number", problem, line=line)
        weights[leader if star else term] = float(with_point(before, decimal)) if star else 1.0
    return weights


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
    columns: dict[str, tuple[int, float]] = {}
    for k, cell in enumerate(names):
        heading = read_heading(cell)
        short = heading.name.lower()
        if short in ("x", "y", "z"):
            is_length = heading.understood and heading.unit in ("", "m")
            problem = f"{cell!r:.80}: places are lengths; expected m, mm or another unit of length."
            FileFormatError.when(not is_length, "unit-mismatch", problem, line=line)
            columns.setdefault(short, (k, heading.factor[0] / heading.factor[1]))
        elif short in _NAMES:
            columns.setdefault("name", (k, 1.0))
        else:
            quantity = next((kind for kind, words in _COLUMNS.items() if short in words), cell)
            expected = ("name", "x", "y", "z", *_COLUMNS)
            require_name("column", quantity, expected, error=FileFormatError, code="unknown-argument", line=line)
            columns.setdefault(quantity, (k, 1.0))
    FileFormatError.when("name" not in columns, "missing-argument", "there is no column 'name'.", line=line)
    return columns


def _coordinate(row: list[str], column: tuple[int, float] | None, decimal: str, line: int) -> float:
    if column is None:
        return 0.0
    cell = row[column[0]]
    fits = is_number(cell, decimal) and np.isfinite(float(with_point(cell, decimal)))
    FileFormatError.when(not fits, "not-a-number", f"{cell!r:.80} is not a coordinate of a place.", line=line)
    return float(with_point(cell, decimal)) * column[1]


def _place(name: str, position: Sequence[float], way: Direction | Sequence[Any], line: int | None = None) -> Place:
    x, y, z = position
    if not way:
        return x, y, z
    if isinstance(way, str):
        if way in DIRECTIONS:
            return x, y, z, way
    elif len(way) == 3 and all(map(_is_number, way)):
        vector = tuple(map(float, way))
        if 0.0 < math.hypot(*vector) <= MOST:
            return x, y, z, direction_vector(vector)  # type: ignore[arg-type]
    shown = way if isinstance(way, str) else " ".join(map(str, way))
    problem = (
        f"the direction of {name!r:.80} is {shown!r:.40}; expected one of {', '.join(DIRECTIONS)}, or three numbers "
        "that are not all 0, as in 0.6 0.8 0."
    )
    raise FileFormatError("unknown-choice", problem, line=line)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST


# ---- as TOML and as a universal file


def _toml(path: Path) -> _Read:
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # broken text, or a number of thousands of digits
        match = re.search(r"at line (\d+)", str(error))
        line = int(match[1]) if match else None
        raise FileFormatError("bad-syntax", f"this is not TOML ({error}).", line=line) from error
    for key in document:
        require_name("key", key, _TABLES, error=FileFormatError, code="unknown-argument", line=find_line(text, key))
    listed, pairs = document.get("places"), document.get("lines", [])
    advice = Advice('Write [places] and under it a1 = [0, 0, 0.2, "x"].')
    if not isinstance(listed, dict):
        raise FileFormatError("missing-argument", "there is no table [places].", advice)
    read = _Read(line_of=partial(find_line, text))
    for name, words in listed.items():
        parts = list(words) if isinstance(words, list) else []
        way = parts.pop() if parts and isinstance(parts[-1], str | list) else ""
        try:
            fits = len(parts) in (2, 3) and all(map(_is_number, parts))
            problem = f"place {name!r:.80}: expected two or three coordinates [m] and a direction, not {words!r:.80}."
            FileFormatError.when(not fits, "wrong-shape", problem)
            position = (*map(float, parts), 0.0)[:3]
            read.places[name] = _place(name, position, way.lstrip("+") if isinstance(way, str) else way or [0])
        except FileFormatError as error:
            raise FileFormatError(error.code, error.finding.problem, line=read.line_of(name)) from None
    if not isinstance(pairs, list) or not all(_is_list_of_names(names, 2) for names in pairs):
        raise FileFormatError("wrong-shape", 'lines must be lists of names: lines = [["ground", "a1"]].')
    read.lines = [pair for names in pairs for pair in pairwise(names)]
    floors, follows = document.get("floors", {}), document.get("follows", {})
    for table, entries in (("floors", floors), ("follows", follows)):
        for name, words in entries.items() if isinstance(entries, dict) else [(table, None)]:
            if table == "floors" and _is_list_of_names(words, 1):
                read.floors[name] = words
            elif table == "follows" and isinstance(words, str):
                read.follows[name] = {words: 1.0}
            elif table == "follows" and isinstance(words, dict) and words and all(map(_is_number, words.values())):
                read.follows[name] = {leader: float(weight) for leader, weight in words.items()}
            else:
                problem = f"{name!r:.80} in [{table}]: expected such as {_TABLES[table]}."
                raise FileFormatError("wrong-shape", problem, line=find_line(text, name, table))
    return read


_TABLES = {"places": "", "lines": "", "floors": 'first = ["a1", "a2"]', "follows": "middle = {a1 = 0.5, a2 = 0.5}"}


def _is_list_of_names(words: Any, least: int) -> TypeGuard[list[str]]:
    return isinstance(words, list) and len(words) >= least and all(isinstance(name, str) for name in words)


def find_line(text: str, key: str, table: str = "") -> int | None:
    """Line of a key of TOML, in its table; None where it is written in another way."""
    inside = not table
    for number, line in enumerate(text.splitlines(), 1):
        start = line.partition("=")[0].strip()
        if start.startswith("["):
            start, inside = start.strip("[] \t"), start.strip("[] \t") == table or not table
        if inside and start.strip("\"'") == key:
            return number
    return None


def _universal(path: Path) -> _Read:
    sets = read_sets(path, LARGEST)
    FileFormatError.when(not sets.nodes, "empty", "the file has no nodes (set 15 or 2411).")
    places: dict[str, Place] = {str(node): _place(str(node), position, "") for node, position in sets.nodes.items()}
    return _Read(places, [(str(a), str(b)) for a, b in sets.lines])
