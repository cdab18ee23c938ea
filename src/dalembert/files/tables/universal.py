"""Data sets of universal files: the lines between two lines of -1, and the measured functions of set 58.

Of set 58 come five lines of text, one with the kind of function and the two degrees of freedom, one with the type,
count and spacing of the numbers, four about the axes, then the numbers: text of fixed width, or binary (58b). Other
data sets are skipped (SDRC, *Universal File Datasets Summary*; set 58, 1993).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.files.tables import bounds
from dalembert.files.tables.bounds import check_size

_REAL, _COMPLEX = (2, 4), (5, 6)  # types of numbers: single, double precision
# contents of data sets and kinds of functions, by number
SETS = {
    "15": "nodes", "781": "nodes", "2411": "nodes", "82": "trace lines", "2431": "trace lines", "780": "elements",
    "2412": "elements", "18": "coordinate systems", "2420": "coordinate systems", "55": "data at nodes",
    "2414": "data at nodes", "151": "header", "164": "units", "58": "functions", "1858": "notes on functions",
}  # fmt: skip
FUNCTIONS = (
    "general", "time response", "auto spectrum", "cross spectrum", "frequency response", "transmissibility",
    "coherence", "autocorrelation", "cross-correlation", "power spectral density", "energy spectral density",
    "probability density", "spectrum",
)  # fmt: skip
DIRECTIONS = ("", "+X", "+Y", "+Z", "+RX", "+RY", "+RZ")
# quantities of an axis and their SI units: general, displacement, velocity, acceleration, force, reaction, pressure ...
_SI = {
    8: "m", 11: "m/s", 12: "m/s^2", 13: "N", 9: "N", 15: "Pa", 17: "s", 18: "Hz", 2: "Pa", 3: "", 1: "", 0: "",
    14: "N m", 10: "rad", 16: "kg",
}  # fmt: skip


@dataclass(frozen=True)
class Function58:
    """One data set 58: kind of function, its degrees of freedom, its numbers.

    response, reference : (name, node, direction).  units : of the ordinate's numerator and denominator, as written.
    """

    line: int
    kind: int
    title: str
    response: tuple[str, int, int]
    reference: tuple[str, int, int]
    first: float
    step: float
    values: Any
    x: Any
    units: tuple[str, str]

    def label(self, place: tuple[str, int, int]) -> str:
        """Name of a degree of freedom: ``12+X``, with the name of its part before it."""
        name, node, direction = place
        if not node and not direction and name not in ("", "NONE"):
            return name
        sign = DIRECTIONS[abs(direction)] if abs(direction) < len(DIRECTIONS) else str(direction)
        text = f"{node}{sign.replace('+', '-') if direction < 0 else sign}"
        return text if name in ("", "NONE") else f"{name}.{text}"


def functions(path: Path, max_bytes: int) -> Iterator[Function58]:
    """Data sets 58 of a file, in its order."""
    size, taken = path.stat().st_size, 0
    with path.open("rb") as file:
        lines = UniversalLines(file)
        for number, head in begin_sets(lines):
            if number == "58":
                one = read_function(lines, head, size, max_bytes - taken)
                taken += one.values.nbytes
                yield one
            skip_set(lines)


def find_kinds(path: Path) -> tuple[str, ...]:
    """Numbers of the sets of a file in its order, each once; the search ends at the first measured function (58)."""
    found: list[str] = []
    with path.open("rb") as file:
        lines = UniversalLines(file)
        for number, _ in begin_sets(lines):
            found.append(number)
            if number.startswith("58"):
                break
            skip_set(lines)
    return tuple(dict.fromkeys(found))


def begin_sets(lines: UniversalLines) -> Iterator[tuple[str, str]]:
    """Number and first line of every set; the caller reads to its end."""
    while (text := lines.next()) is not None:
        if text.strip() == "-1":
            head = lines.next()
            if head is None:
                return
            yield head[:6].strip(), head


def skip_set(lines: UniversalLines) -> None:
    """Read to the end of a set."""
    while (text := lines.next()) is not None and text.strip() != "-1":
        pass


class UniversalLines:
    """Lines of text with their number, out of a file that may hold bytes too."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.number = file, 0

    def next(self) -> str | None:
        raw = self.file.readline(bounds.SHORT_LINE)
        if not raw:
            return None
        self.number += 1
        if not raw.endswith(b"\n") and len(raw) == bounds.SHORT_LINE:
            raise FileFormatError("bad-syntax", "a line is too long for a universal file.", line=self.number)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            text = raw.decode("latin-1")
        return text.rstrip("\r\n")

    def require(self) -> str:
        text = self.next()
        if text is None:
            raise FileFormatError("damaged", "a data set is cut off.", line=self.number)
        return text


def read_function(lines: UniversalLines, first: str, size: int, room: int) -> Function58:
    begin = lines.number
    texts = [lines.require() for _ in range(5)]
    kinds, form = lines.require().ljust(80), lines.require().ljust(80)
    axes = [lines.require() for _ in range(4)]
    try:
        kind = int(kinds[:5])
        places = [
            (kinds[k : k + 10].strip(), _whole(kinds[k + 10 : k + 20]), _whole(kinds[k + 20 : k + 24]))
            for k in (31, 56)
        ]
        number_type, count, even = int(form[:10]), int(form[10:20]), int(form[20:30]) == 1
        start, step = float(form[30:43]), float(form[43:56])
    except ValueError:
        problem = "a line of the head of a data set 58 does not have its numbers in their columns."
        raise FileFormatError("bad-syntax", problem, line=lines.number - 4) from None
    problem = f"numbers of type {number_type} are not read."
    FileFormatError.when(number_type not in (*_REAL, *_COMPLEX), "not-supported", problem, line=begin + 7)
    parts = 2 if number_type in _COMPLEX else 1
    if count < 1 or count * parts > size:  # a number takes at least a byte
        raise FileFormatError("damaged", f"{count} numbers are declared in a file of {size} bytes.", line=begin + 7)
    check_size(count, parts + 1, room)
    double = number_type in (4, 6)
    take: Callable[..., Any] = partial(_binary, first=first) if "b" in first.lower() else _text
    numbers = take(lines, count, parts, double, even)
    x = None if even else numbers[:, 0]
    values = numbers if even else numbers[:, 1:]
    ordinate = values[:, 0] + 1j * values[:, 1] if parts == 2 else values[:, 0]
    units = (_unit(axes[1]), _unit(axes[2]))
    title = "" if texts[0].strip() == "NONE" else " ".join(texts[0].split())
    return Function58(begin, kind, title, places[0], places[1], start, step, ordinate, x, units)


def _text(lines: UniversalLines, count: int, parts: int, double: bool, even: bool) -> Any:
    """Numbers of fixed width, which may touch each other; an abscissa of its own has single precision."""
    wide = [20 if double else 13] * parts
    wide = wide if even else [13, *wide]
    found, place, total = np.empty(count * len(wide)), 0, count * len(wide)
    while place < total:
        text = lines.require()
        if text.strip() == "-1":
            raise FileFormatError("damaged", f"{total} numbers are declared, {place} are there.", line=lines.number)
        at = 0
        while at < len(text.rstrip()) and place < total:
            width = wide[place % len(wide)]
            cell = text[at : at + width]
            try:
                found[place] = float(cell.replace("D", "E"))
            except ValueError:
                raise FileFormatError("not-a-number", f"{cell!r:.40} is not a number.", line=lines.number) from None
            place, at = place + 1, at + width
    return found.reshape(count, len(wide))


def _binary(lines: UniversalLines, count: int, parts: int, double: bool, even: bool, *, first: str) -> Any:
    """Numbers of a set 58b: IEEE 754, byte order by its first line."""
    fields = first[7:].split()
    problem = "binary numbers other than IEEE 754 are not read."
    FileFormatError.when(len(fields) < 2 or fields[1] != "2", "not-supported", problem, line=lines.number)
    order = "<" if fields[0] == "1" else ">"
    kind = [("", f"{order}f{8 if double else 4}", (parts,))]
    layout = np.dtype(kind if even else [("x", f"{order}f4"), *kind])
    raw = lines.file.read(count * layout.itemsize)
    problem = f"{count} numbers are declared, the file ends before."
    FileFormatError.when(len(raw) != count * layout.itemsize, "damaged", problem, line=lines.number)
    table = np.frombuffer(raw, dtype=layout)
    columns = [table[name].reshape(count, -1) for name in layout.names or ()]
    return np.column_stack(columns).astype(np.float64)


def _whole(text: str) -> int:
    return int(text) if text.strip() else 0


def _unit(axis: str) -> str:
    """Unit of an axis: as written, or that of its quantity in SI."""
    written = axis.ljust(67)[47:67].strip()
    if written and written.upper() not in ("NONE", "UNKNOWN"):
        return written
    quantity = axis[:10].strip()
    return _SI.get(int(quantity), "") if quantity.lstrip("-").isdigit() else ""
