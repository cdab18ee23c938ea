"""Sets of universal files about modes and geometry: 55 data at nodes, 15 and 2411 nodes, 82 trace lines, 164 units.

Set 55 has five lines of text; model, analysis (2 normal mode, 3 and 7 complex modes), characteristic (1 scalar,
2 translations, 3 with rotations), type of data, 2 real or 5 complex, values per node; counts of integers and reals with
the integers; the reals (2: frequency [Hz], modal mass, viscous and hysteretic damping; 3 and 7: eigenvalue [rad/s],
modal a and b); then the number of each node and its values (SDRC, *Universal File Datasets Summary*). Numbers have
six digits (E13.5).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TextIO

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.files.tables.universal import UniversalLines, begin_sets, read_function, skip_set

VALUES = {1: 1, 2: 3, 3: 6}  # values per node by characteristic
NORMAL, COMPLEX = (2,), (3, 7)  # analyses
_REAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?")


@dataclass(frozen=True)
class DataAtNodes:
    """One mode of a set 55: its line, texts, analysis, reals, and the values at every node."""

    line: int
    texts: tuple[str, ...]
    analysis: int
    reals: tuple[float, ...]
    number: int
    values: Mapping[int, tuple[complex, ...]]
    is_complex: bool


@dataclass
class UniversalSets:
    """Modes and geometry of a universal file; ``kinds``: numbers of all its sets."""

    modes: list[DataAtNodes] = field(default_factory=list)
    nodes: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    lines: list[tuple[int, int]] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
    others: set[int] = field(default_factory=set)  # analyses of sets 55 that are not modes


def read_sets(path: Path, max_bytes: int) -> UniversalSets:
    """Sets of a file that are about modes and geometry, places in metres."""
    sets, length, size = UniversalSets(), 1.0, path.stat().st_size
    with path.open("rb") as file:
        lines = UniversalLines(file)
        for number, head in begin_sets(lines):
            sets.kinds.add(number)
            if number == "55":
                _read_55(lines, sets)
            elif number in ("15", "2411"):
                _read_nodes(lines, sets, number)
            elif number == "82":
                _read_trace(lines, sets)
            elif number == "164":
                length = _read_length(lines)
            elif number.startswith("58"):  # may have bytes that look like -1 by chance
                read_function(lines, head, size, max_bytes)
                skip_set(lines)
            else:
                skip_set(lines)
    if length != 1.0:
        sets.nodes = {node: (x / length, y / length, z / length) for node, (x, y, z) in sets.nodes.items()}
    pairs = [pair for pair in sets.lines if all(node in sets.nodes for node in pair)]
    sets.lines = list(dict.fromkeys(pairs))
    return sets


def _read_55(lines: UniversalLines, found: UniversalSets) -> None:
    begin = lines.number
    texts = tuple(" ".join(lines.require().split()) for _ in range(5))
    kinds = _integers(lines, lines.require(), 6)
    _, analysis, characteristic, _, form, count = kinds[:6]
    head = _integers(lines, lines.require(), 2)
    problem = f"a set 55 declares {head[0]} integers and {head[1]} reals."
    FileFormatError.when(not (0 <= head[0] <= 100 and 0 <= head[1] <= 100), "damaged", problem, line=lines.number)
    while len(head) < 2 + head[0]:
        head += _integers(lines, lines.require(), 1)
    reals = _reals(lines, head[1])
    if analysis not in (*NORMAL, *COMPLEX):
        found.others.add(analysis)
        skip_set(lines)
        return
    need = 4 if analysis in NORMAL else 2
    problem = f"a mode has {len(reals)} reals, {need} are needed."
    FileFormatError.when(len(reals) < (1 if analysis in NORMAL else 2), "damaged", problem, line=lines.number)
    unknown = characteristic == 0 and count in VALUES.values()
    if not (unknown or VALUES.get(characteristic) == count) or form not in (2, 5):
        problem = f"{count} values per node of characteristic {characteristic} and type {form} are not read."
        raise FileFormatError("not-supported", problem, line=begin + 6)
    values: dict[int, tuple[complex, ...]] = {}
    while (text := lines.require()).strip() != "-1":
        node = _integers(lines, text, 1)[0]
        numbers = _reals(lines, count * (2 if form == 5 else 1))
        FileFormatError.when(node in values, "duplicate", f"node {node} occurs twice in a mode.", line=lines.number - 1)
        pairs = zip(numbers[::2], numbers[1::2], strict=True) if form == 5 else ((x, 0.0) for x in numbers)
        values[node] = tuple(complex(a, b) for a, b in pairs)
    number = head[3] if len(head) > 3 else len(found.modes) + 1
    found.modes.append(DataAtNodes(begin, texts, analysis, tuple(reals), number, values, form == 5))


def _read_nodes(lines: UniversalLines, found: UniversalSets, number: str) -> None:
    """Set 15 has a node in a line, 2411 in two."""
    while (text := lines.require()).strip() != "-1":
        node = _integers(lines, text[:10], 1)[0]
        place = _numbers(lines, lines.require() if number == "2411" else text[40:], 25 if number == "2411" else 13)
        if len(place) < 3 or not np.isfinite(place[:3]).all():
            raise FileFormatError("wrong-shape", f"node {node} has {len(place)} coordinates, not 3.", line=lines.number)
        found.nodes[node] = (place[0], place[1], place[2])


def _read_trace(lines: UniversalLines, found: UniversalSets) -> None:
    """Trace lines; a 0 ends a line."""
    lines.require()
    lines.require()
    nodes: list[int] = []
    while (text := lines.require()).strip() != "-1":
        nodes += _integers(lines, text, 1)
    found.lines += [(a, b) for a, b in pairwise(nodes) if a and b and a != b]


def _read_length(lines: UniversalLines) -> float:
    """Factor of lengths: SI = number / factor."""
    lines.require()
    factors = _numbers(lines, lines.require(), 25)
    skip_set(lines)
    return factors[0] if factors and np.isfinite(factors[0]) and factors[0] > 0 else 1.0


def _integers(lines: UniversalLines, text: str, least: int) -> list[int]:
    """Whole numbers of a line, ten columns each; as many as there are, at least ``least``."""
    cells = text.split()
    if len(cells) < least:
        cells = [cell for k in range(0, len(text), 10) if (cell := text[k : k + 10].strip())]
    try:
        numbers = [int(cell) for cell in cells]
    except ValueError:
        numbers = []
    if len(numbers) < least or any(abs(number) > 10**12 for number in numbers):
        problem = f"expected {least} whole numbers, found {text.strip()!r:.60}."
        raise FileFormatError("bad-syntax", problem, line=lines.number)
    return numbers


def _numbers(lines: UniversalLines, text: str, width: int) -> list[float]:
    """Numbers of a line; a sign may be the only separator between two of them."""
    cells = text.split()
    if not all(_REAL.fullmatch(cell) for cell in cells):
        cells = [cell for k in range(0, len(text.rstrip()), width) if (cell := text[k : k + width].strip())]
    try:
        return [float(cell.replace("D", "E").replace("d", "e")) for cell in cells]
    except ValueError:
        raise FileFormatError("not-a-number", f"{text.strip()!r:.60} are not numbers.", line=lines.number) from None


def _reals(lines: UniversalLines, count: int) -> list[float]:
    numbers: list[float] = []
    while len(numbers) < count:
        text = lines.require()
        problem = f"{count} numbers are expected, {len(numbers)} were found."
        FileFormatError.when(text.strip() == "-1", "damaged", problem, line=lines.number)
        more = _numbers(lines, text, 13)
        FileFormatError.when(not more, "damaged", "a line of numbers is empty.", line=lines.number)
        numbers += more
    problem = f"{len(numbers)} numbers were found where {count} are expected."
    FileFormatError.when(len(numbers) > count, "wrong-shape", problem, line=lines.number)
    return numbers


# ---- writing


def write_geometry(file: TextIO, nodes: Mapping[int, Sequence[float]], lines: Sequence[tuple[int, int]]) -> None:
    """Nodes (set 15), and a trace line (82) of all lines."""
    file.write(f"{-1:6d}\n{15:6d}\n")
    for node, place in nodes.items():
        file.write(f"{node:10d}{0:10d}{0:10d}{0:10d}" + "".join(f"{x:13.5E}" for x in place) + "\n")
    file.write(f"{-1:6d}\n")
    if not lines:
        return
    trace = [node for a, b in lines for node in (a, b, 0)]
    file.write(f"{-1:6d}\n{82:6d}\n{1:10d}{len(trace):10d}{0:10d}\nlines\n")
    for k in range(0, len(trace), 8):
        file.write("".join(f"{node:10d}" for node in trace[k : k + 8]) + "\n")
    file.write(f"{-1:6d}\n")


def write_mode(file: TextIO, one: DataAtNodes) -> None:
    """A set 55."""
    count = len(next(iter(one.values.values())))
    characteristic = {width: kind for kind, width in VALUES.items()}[count]
    file.write(f"{-1:6d}\n{55:6d}\n" + "".join(f"{text[:80]}\n" for text in one.texts))
    numbers = (1, one.analysis, characteristic, 8, 5 if one.is_complex else 2, count)
    file.write("".join(f"{x:10d}" for x in numbers) + "\n")
    file.write("".join(f"{x:10d}" for x in (2, len(one.reals), 1, one.number)) + "\n")
    _write_reals(file, one.reals)
    for node, values in one.values.items():
        file.write(f"{node:10d}\n")
        _write_reals(file, [number for x in values for number in ((x.real, x.imag) if one.is_complex else (x.real,))])
    file.write(f"{-1:6d}\n")


def _write_reals(file: TextIO, numbers: Sequence[float]) -> None:
    for k in range(0, len(numbers), 6):
        file.write("".join(f"{x:13.5E}" for x in numbers[k : k + 6]) + "\n")
