"""Units in the header of a table: ``Time (ms)``, ``Acc 1 [g]``, ``a_x in m/s^2``, ``time_ms``.

A text that is a unit as a whole is read as one, and the column is converted to SI. Any other text ("x (left)") belongs
to the name. Some units look like words: ``min`` and ``h`` are units of time columns only, ``in`` needs square brackets,
and after an underscore only units that are hardly the end of a name (``time_ms`` and ``angle_deg``, but neither
``x_cm``, a centre of mass, nor ``force_min``). ``g`` is the standard acceleration of gravity unless a mass is named.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dalembert.core.errors import DataError
from dalembert.record.units import UNITS, normalise_spelling, read_whole_unit

_GRAVITY = 9.80665  # m/s², the standard value (CGPM 1901)
_SECONDS = {
    "s": (1.0, 1.0), "sec": (1.0, 1.0), "second": (1.0, 1.0), "seconds": (1.0, 1.0), "ms": (1.0, 1e3), "us": (1.0, 1e6),
    "µs": (1.0, 1e6), "μs": (1.0, 1e6), "ns": (1.0, 1e9), "min": (60.0, 1.0), "h": (3600.0, 1.0),
}  # fmt: skip
_BRACKETS = re.compile(r"(?P<name>.*\S)\s*(?:\[(?P<square>[^\[\]]*)\]|\((?P<round>[^()]*)\)|\{(?P<curly>[^{}]*)\})")
_IN = re.compile(r"(?P<name>.*\S)\s+in\s+(?P<unit>\S.*)")
_SUFFIX = re.compile(r"(?P<name>.*[^\W_])_(?P<unit>[^\W\d_]+)")
_CLOCK = re.compile(r"(?P<name>.*[^\s/])(?:\s*/\s*|\s+)(?P<unit>[^\s/]+)")  # t/ms, "time ms": of time only
_SURE = {"mm", "deg", "mrad", "rpm", "kN", "Nm", "kNm", "mNm", "kPa", "MPa", "GPa", "mV", "mA", "kg", "ms", "us", "µs"}
_CLOCKS = ("t", "time", "timestamp", "zeit")
_TIME_ONLY = ("min", "h")
_MASS = re.compile(r"mass|weight|gewicht", re.IGNORECASE)
_ACCELERATION = re.compile(r"acc|beschl|vibr|^a(?![^\W\d_])", re.IGNORECASE)
_SI = {"rpm": "rad/s", "J": "J", "kJ": "J", "%": ""}
_OF_DIMENSION = {UNITS[unit][1]: unit for unit in ("m", "kg", "s", "rad", "N", "Nm", "Pa", "W", "V", "A",
                                                   "Ohm", "H")}  # fmt: skip
_WORD = re.compile(r"[^\W\d_²³]+|[°%]")


@dataclass(frozen=True)
class ColumnHeading:
    """A header cell: the name without the unit, the unit in SI, and the factor to it as numerator and denominator.

    ``given`` : the unit as written, "" where there is none; ``understood`` : whether it is a unit.
    """

    name: str
    unit: str = ""
    factor: tuple[float, float] = (1.0, 1.0)
    given: str = ""
    understood: bool = True

    def describe(self, cell: str) -> str:
        """Note on a conversion or an unknown unit, or ""."""
        if not self.understood:
            return f"{cell!r}: {self.given!r} is not a known unit; name and numbers are kept unchanged"
        times, over = self.factor
        if times == over:
            return ""
        return f"{cell!r}: converted from {self.given} to {self.unit or 'a ratio'} (times {times / over:.9g})"


def read_heading(cell: str, *, is_time: bool = False) -> ColumnHeading:
    """Name and unit of a header cell.

    Examples
    --------
    >>> read_heading("Acc 1 [g]").unit, read_heading("Acc 1 [g]").factor
    ('m/s^2', (9.80665, 1.0))
    >>> read_heading("x (left)").name
    'x (left)'
    """
    found = _BRACKETS.fullmatch(cell)
    if found:
        square, given = found["square"] is not None, (found["square"] or found["round"] or found["curly"] or "").strip()
        name = found["name"]
    else:
        found = _IN.fullmatch(cell) or _SUFFIX.fullmatch(cell) or _CLOCK.fullmatch(cell)
        if found is None or not _certain(found, is_time):
            return ColumnHeading(cell)
        square, given, name = True, found["unit"], found["name"]
    if is_time or (given in _SECONDS and name.lower() in _CLOCKS):
        factor = _SECONDS.get(given) if given else (1.0, 1.0)
        return (
            ColumnHeading(cell, given=given, understood=False)
            if factor is None
            else ColumnHeading(name, "s", factor, given)
        )
    word = given in _TIME_ONLY or (given == "in" and not square)
    read = None if word else _in_si(given, name)
    if read is None:
        return ColumnHeading(cell, given=given, understood=False)
    return ColumnHeading(name, read[0], read[1], given)


def read_unit_cell(name: str, unit: str) -> ColumnHeading:
    """Heading of a column whose unit is in a row of units; an unknown unit is kept unchanged."""
    given = unit.strip("[](){} ")
    read = _in_si(given, name) if given and given != "-" else ("", (1.0, 1.0))
    return ColumnHeading(name, unit) if read is None else ColumnHeading(name, read[0], read[1], given)


def seconds(unit: str) -> tuple[float, float] | None:
    """Factor of a unit of time to seconds, as numerator and denominator; None where it is none."""
    given = unit.strip("[]() ")
    return _SECONDS.get(given) if given else (1.0, 1.0)


def is_time_unit(text: str) -> bool:
    return text.strip("[]() ") in _SECONDS


def _certain(found: re.Match[str], is_time: bool) -> bool:
    """Whether the text after "in" or an underscore can only be a unit."""
    unit, name = found["unit"], found["name"]
    if found.re is not _IN:
        of_time = unit in _SECONDS and (is_time or name.lower() in _CLOCKS)
        return of_time or (found.re is _SUFFIX and unit in _SURE)
    return is_time or _in_si(unit, name) is not None


def _in_si(given: str, name: str) -> tuple[str, tuple[float, float]] | None:
    """SI unit and factor of a text that is a unit as a whole."""
    unit = normalise_spelling(given)
    if not unit:
        return "", (1.0, 1.0)
    if unit == "g" and not _MASS.search(name):
        return "m/s^2", (_GRAVITY, 1.0)
    if unit == "mg" and not _MASS.search(name):
        return ("m/s^2", (_GRAVITY, 1e3)) if _ACCELERATION.search(name) else None
    try:
        factor, _ = read_whole_unit(unit)
    except DataError:
        return None
    if factor[0] == factor[1]:
        return unit, (1.0, 1.0)
    return _WORD.sub(lambda word: _si_word(word.group()), unit), factor


def _si_word(word: str) -> str:
    return _SI[word] if word in _SI else _OF_DIMENSION[UNITS[word][1]]
