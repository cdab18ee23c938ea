"""Universal files (dataset 58) to and from records and frequency responses.

A data set is between two lines of -1. Set 58 has five lines of text, one line with the kind of function and the two
degrees of freedom, one with the type, count and spacing of the numbers, four about the axes, then the numbers: text of
fixed width, or binary (58b). Other data sets are skipped (SDRC, *Universal File Datasets Summary*; set 58, 1993).

Numbers are written as text with 13 digits (E20.12), which every program reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.files.records.bounds import LIMITS, check_size
from dalembert.files.records.format import FORMATS, Reading, RecordFormat
from dalembert.files.records.header_units import read_unit_cell
from dalembert.files.records.tables.headings import describe_headings
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.record import Record

TIME, FRF = 1, 4  # kinds of function


@dataclass(frozen=True)
class AbscissaLimits:
    """Limits for even frequencies, and for functions with the same abscissas."""

    # Difference of two steps, or of two values near zero, relative to the last value: nine digits, rounding of sums.
    even: float = 1e-9
    # Relative difference of two values: a file in single precision has seven digits.
    same: float = 1e-6


ABSCISSAS = AbscissaLimits()
_REAL, _COMPLEX = (2, 4), (5, 6)  # types of numbers: single, double precision
DIRECTIONS = ("", "+X", "+Y", "+Z", "+RX", "+RY", "+RZ")
# quantities of an axis and their SI units: general, displacement, velocity, acceleration, force, reaction, pressure ...
_SI = {
    8: "m", 11: "m/s", 12: "m/s^2", 13: "N", 9: "N", 15: "Pa", 17: "s", 18: "Hz", 2: "Pa", 3: "", 1: "", 0: "",
    14: "N m", 10: "rad", 16: "kg",
}  # fmt: skip
_QUANTITY = {"m": 8, "m/s": 11, "m/s^2": 12, "N": 13, "Pa": 15}


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


def read(path: Path, how: Reading) -> Record:
    """Time responses of a file, all of one length and sample time."""
    if how.dt is not None:
        raise FileFormatError("conflicting-arguments", "a universal file has its sample time: dt does not apply.")
    every = list(functions(path, how.max_bytes))
    found = [one for one in every if one.kind in (TIME, 0) and not np.iscomplexobj(one.values)]
    if not found:
        kinds = sorted({one.kind for one in every})
        raise FileFormatError(
            "not-supported", f"the file holds functions of kind {', '.join(map(str, kinds))}, no time responses.",
            Advice("Read frequency responses by {}.", Call("dalembert.files.read_frequency_response")),
        )  # fmt: skip
    times = _abscissa(found)
    headings = [read_unit_cell(name, one.units[0]) for name, one in zip(_names(found), found, strict=True)]
    data = np.column_stack([one.values * h.factor[0] / h.factor[1] for one, h in zip(found, headings, strict=True)])
    names = [one.name for one in headings]
    provenance = describe_headings(names, headings)
    if len(found) < len(every):
        provenance["left out"] = [f"{len(every) - len(found)} functions that are not time responses"]
    return Record(times, data, names, [one.unit for one in headings], provenance=provenance)


def read_frf(path: Path, max_bytes: int) -> FrequencyResponse:
    """Frequency responses of a file: every response to every reference."""
    found = [one for one in functions(path, max_bytes) if one.kind == FRF]
    if not found:
        raise FileFormatError("empty", "the file holds no frequency response (data set 58, function 4).")
    frequencies = _abscissa(found)
    outputs = list(dict.fromkeys(one.label(one.response) for one in found))
    inputs = list(dict.fromkeys(one.label(one.reference) for one in found))
    values = np.full((len(frequencies), len(outputs), len(inputs)), np.nan, dtype=np.complex128)
    out_units: dict[str, str] = {}
    in_units: dict[str, str] = {}
    for one in found:
        a, b = one.label(one.response), one.label(one.reference)
        above, below = read_unit_cell(a, one.units[0]), read_unit_cell(b, one.units[1])
        scale = above.factor[0] / above.factor[1] * below.factor[1] / below.factor[0]
        values[:, outputs.index(a), inputs.index(b)] = scale * one.values
        out_units[a], in_units[b] = above.unit, below.unit
    missing = [f"{a} to {b}" for j, b in enumerate(inputs) for i, a in enumerate(outputs) if np.isnan(values[0, i, j])]
    if missing:
        raise FileFormatError("empty", f"{len(missing)} responses are not in the file, the first is {missing[0]}.")
    kinds = {"m": "receptance", "m/s": "mobility", "m/s^2": "accelerance"}
    kind = {kinds.get(unit, "output") for unit in out_units.values()}
    return FrequencyResponse(
        2.0 * np.pi * frequencies, values, inputs, outputs, kind=kind.pop() if len(kind) == 1 else "output",
        input_units=in_units, output_units=out_units,
    )  # fmt: skip


def write(record: Record, path: Path, suffix: str) -> None:
    """One time response for each channel; its name is the first line of text."""
    if not record.is_even:
        raise FileFormatError(
            "uneven-sampling", "universal files hold even samples only.",
            Advice("Use {}.", Call("Record.resample", Argument("every", float(np.median(np.diff(record.time)))))),
        )  # fmt: skip
    step = float(np.mean(np.diff(record.time))) if len(record) > 1 else 1.0
    with path.open("w", encoding="ascii", errors="replace", newline="\n") as file:
        for k, (name, unit) in enumerate(record.units.items()):
            place, none = ("NONE", k + 1, 0), ("NONE", 0, 0)
            values = record.data[:, k]
            one = Function58(0, TIME, name, place, none, float(record.time[0]), step, values, None, (unit, ""))
            _write_function(file, one)


def write_frf(response: FrequencyResponse, path: Path) -> None:
    """One frequency response for each pair of an output and an input.

    Names of at most ten letters are kept as those of parts; where one is longer all are numbered as nodes.
    """
    f = response.frequencies / (2.0 * np.pi)
    steps = np.diff(f)
    if len(f) > 1 and np.ptp(steps) > ABSCISSAS.even * f[-1]:
        raise FileFormatError("uneven-sampling", "universal files are written of even frequencies.")
    step = float(np.mean(steps)) if len(f) > 1 else 1.0
    outputs, inputs = _places(response.outputs), _places(response.inputs)
    with path.open("w", encoding="ascii", errors="replace", newline="\n") as file:
        for i, output in enumerate(response.outputs):
            for j, given in enumerate(response.inputs):
                units = (response.output_units.get(output, ""), response.input_units.get(given, ""))
                title, values = f"{output} to {given}", response.values[:, i, j]
                one = Function58(0, FRF, title, outputs[i], inputs[j], float(f[0]), step, values, None, units)
                _write_function(file, one)


def _places(names: Sequence[str]) -> list[tuple[str, int, int]]:
    if all(len(name) <= 10 for name in names):
        return [(name, 0, 0) for name in names]
    return [("NONE", k + 1, 0) for k in range(len(names))]


def _write_function(file: TextIO, one: Function58) -> None:
    is_complex = np.iscomplexobj(one.values)
    file.write(f"{-1:6d}\n{58:6d}\n{one.title[:80]:80s}\n")
    file.write("NONE\n" * 4)
    file.write(f"{one.kind:5d}{0:10d}{0:5d}{0:10d}")
    file.write("".join(f" {name:10s}{node:10d}{way:4d}" for name, node, way in (one.response, one.reference)) + "\n")
    file.write(f"{6 if is_complex else 4:10d}{len(one.values):10d}{1:10d}")
    file.write(f"{one.first:13.5E}{one.step:13.5E}{0.0:13.5E}\n")
    axes = [(17, "s") if one.kind == TIME else (18, "Hz"), *((_QUANTITY.get(u, 0), u) for u in one.units), (0, "")]
    for quantity, unit in axes:
        file.write(f"{quantity:10d}{0:5d}{0:5d}{0:5d} {'NONE':20s} {(unit or 'NONE')[:20]:20s}\n")
    plain = np.column_stack([one.values.real, one.values.imag]).ravel() if is_complex else one.values
    for k in range(0, len(plain), 4):
        file.write("".join(f"{x:20.12E}" for x in plain[k : k + 4]) + "\n")
    file.write(f"{-1:6d}\n")


# -- the file ----------------------------------------------------------------------------------------------------------


def functions(path: Path, max_bytes: int) -> Iterator[Function58]:
    """Data sets 58 of a file, in its order."""
    size, taken = path.stat().st_size, 0
    with path.open("rb") as file:
        lines = UniversalLines(file)
        while (text := lines.next()) is not None:
            if text.strip() != "-1":
                continue
            number = lines.next()
            if number is None:
                return
            if number[:6].strip() != "58":
                while (text := lines.next()) is not None and text.strip() != "-1":
                    pass
                continue
            one = read_function(lines, number, size, max_bytes - taken)
            taken += one.values.nbytes
            yield one
            while (text := lines.next()) is not None and text.strip() != "-1":
                pass


class UniversalLines:
    """Lines of text with their number, out of a file that may hold bytes too."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.number = file, 0

    def next(self) -> str | None:
        raw = self.file.readline(LIMITS.short_line)
        if not raw:
            return None
        self.number += 1
        if not raw.endswith(b"\n") and len(raw) == LIMITS.short_line:
            raise FileFormatError("bad-syntax", "a line is too long for a universal file.", line=self.number)
        return raw.decode("latin-1").rstrip("\r\n")

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
    if number_type not in (*_REAL, *_COMPLEX):
        raise FileFormatError("not-supported", f"numbers of type {number_type} are not read.", line=begin + 7)
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
    if len(fields) < 2 or fields[1] != "2":
        raise FileFormatError("not-supported", "binary numbers other than IEEE 754 are not read.", line=lines.number)
    order = "<" if fields[0] == "1" else ">"
    kind = [("", f"{order}f{8 if double else 4}", (parts,))]
    layout = np.dtype(kind if even else [("x", f"{order}f4"), *kind])
    raw = lines.file.read(count * layout.itemsize)
    if len(raw) != count * layout.itemsize:
        raise FileFormatError("damaged", f"{count} numbers are declared, the file ends before.", line=lines.number)
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


def _abscissa(found: Sequence[Function58]) -> Any:
    """Times or frequencies that all functions have."""
    one = found[0]
    x = one.first + one.step * np.arange(len(one.values)) if one.x is None else one.x
    for other in found[1:]:
        own = other.first + other.step * np.arange(len(other.values)) if other.x is None else other.x
        if len(own) != len(x) or not np.allclose(own, x, rtol=ABSCISSAS.same, atol=ABSCISSAS.even * abs(x[-1])):
            problem = f"functions have {len(x)} and {len(own)} numbers, or other abscissas."
            raise FileFormatError("wrong-shape", problem, line=other.line)
    return x


def _names(found: Sequence[Function58]) -> list[str]:
    """Names of channels: their titles where these differ, else their degrees of freedom, numbered where they repeat."""
    titles = [one.title for one in found]
    if all(titles) and len(set(titles)) == len(titles):
        return titles
    labels = [one.label(one.response) for one in found]
    if len(set(labels)) == len(labels):
        return labels
    return [f"{label}#{k + 1}" for k, label in enumerate(labels)]


FORMATS.register("uff", RecordFormat((".uff", ".unv", ".58"), read, write))
