"""Units as model files and records write them: "20 mm", "90 deg", "9.81 m/s^2", "0.2 N m s/rad", all turned into SI.

A dimension is the powers of (kilogram, metre, second, ampere); an angle has none. A plain number has no dimension of
its own: it is taken in SI and fits everywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from dalembert.core.errors import DalembertError, DataError, unknown_name
from dalembert.core.findings import Advice

Dimension = tuple[float, float, float, float]
NONE: Final[Dimension] = (0.0, 0.0, 0.0, 0.0)


def _power(unit: str, kg: float = 0, m: float = 0, s: float = 0, a: float = 0) -> tuple[str, Dimension]:
    return unit, (float(kg), float(m), float(s), float(a))


# SI unit, dimension: kinds of values in files
KINDS: dict[str, tuple[str, Dimension]] = {
    "number": _power("", 0),
    "angle": _power("rad", 0),
    "length": _power("m", m=1),
    "mass": _power("kg", kg=1),
    "time": _power("s", s=1),
    "speed": _power("m/s", m=1, s=-1),
    "rate": _power("rad/s", s=-1),
    "acceleration": _power("m/s^2", m=1, s=-2),
    "force": _power("N", kg=1, m=1, s=-2),
    "torque": _power("N m", kg=1, m=2, s=-2),
    "inertia": _power("kg m^2", kg=1, m=2),
    "density": _power("kg/m^3", kg=1, m=-3),
    "pressure": _power("Pa", kg=1, m=-1, s=-2),
    "stiffness": _power("N/m", kg=1, s=-2),
    "damping": _power("N s/m", kg=1, s=-1),
    "rotational stiffness": _power("N m/rad", kg=1, m=2, s=-2),
    "rotational damping": _power("N m s/rad", kg=1, m=2, s=-1),
    "damping per speed": _power("s/m", m=-1, s=1),
    "resistance": _power("Ohm", kg=1, m=2, s=-3, a=-2),
    "inductance": _power("H", kg=1, m=2, s=-2, a=-2),
    "torque constant": _power("N m/A", kg=1, m=2, s=-2, a=-1),
}
_DIMENSION = {name: dimension for name, (_, dimension) in KINDS.items()}
_VOLT: Dimension = (1.0, 2.0, -3.0, -1.0)
_PASCAL: Dimension = (1.0, -1.0, -2.0, 0.0)
_WATT: Dimension = (1.0, 2.0, -3.0, 0.0)

UNITS: dict[str, tuple[float, Dimension]] = {
    **{u: (f, _DIMENSION["length"]) for u, f in (("m", 1.0), ("mm", 1e-3), ("cm", 1e-2), ("km", 1e3), ("um", 1e-6),
       ("µm", 1e-6), ("μm", 1e-6), ("inch", 0.0254), ("in", 0.0254), ("ft", 0.3048))},
    **{u: (f, _DIMENSION["mass"]) for u, f in (("kg", 1.0), ("g", 1e-3), ("mg", 1e-6), ("tonne", 1e3),
       ("lb", 0.45359237))},
    **{u: (f, _DIMENSION["time"]) for u, f in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("min", 60.0), ("h", 3600.0))},
    **{u: (f, NONE) for u, f in (("rad", 1.0), ("mrad", 1e-3), ("deg", math.pi / 180), ("°", math.pi / 180),
       ("rev", math.tau), ("turn", math.tau), ("%", 0.01))},
    "rpm": (math.tau / 60, _DIMENSION["rate"]),
    **{u: (f, _DIMENSION["force"]) for u, f in (("N", 1.0), ("mN", 1e-3), ("kN", 1e3), ("MN", 1e6))},
    **{u: (f, _DIMENSION["torque"]) for u, f in (("Nm", 1.0), ("mNm", 1e-3), ("kNm", 1e3), ("J", 1.0), ("kJ", 1e3))},
    **{u: (f, _PASCAL) for u, f in (("Pa", 1.0), ("kPa", 1e3), ("MPa", 1e6), ("GPa", 1e9), ("bar", 1e5))},
    **{u: (f, _WATT) for u, f in (("W", 1.0), ("kW", 1e3))},
    **{u: (f, _VOLT) for u, f in (("V", 1.0), ("mV", 1e-3))},
    **{u: (f, (0.0, 0.0, 0.0, 1.0)) for u, f in (("A", 1.0), ("mA", 1e-3))},
    **{u: (f, _DIMENSION["resistance"]) for u, f in (("Ohm", 1.0), ("ohm", 1.0), ("Ω", 1.0), ("mOhm", 1e-3))},
    **{u: (f, _DIMENSION["inductance"]) for u, f in (("H", 1.0), ("mH", 1e-3), ("uH", 1e-6))},
}  # fmt: skip

_WORD = re.compile(r"[^\W\d_²³]+|[°%]")
_EXPONENT = re.compile(r"(?:(?:\^|\*\*)([+-]?[0-9]{1,2}(?:\.[0-9]{1,3})?)|([0-9]))(?![\d.])|([²³])")
_BETWEEN = re.compile(r"[ \t]*(/|·)[ \t]*|[ \t]+")


def read_unit(text: str, start: int = 0) -> tuple[tuple[float, float], Dimension, int]:
    """Longest unit at a place of a text: its SI factor, its dimension and where it ends (`start` if there is none).

    The factor is a numerator and a denominator, so that 700 mm is 0.7 m and not 0.7000000000000001 m.

    Examples
    --------
    >>> read_unit("mm")
    ((1.0, 1000.0), (0.0, 1.0, 0.0, 0.0), 2)
    >>> read_unit("m/s^2 * k")[1:]
    ((0.0, 1.0, -2.0, 0.0), 5)
    """
    word = _WORD.match(text, start)
    if word is None:
        return (1.0, 1.0), NONE, start
    if word.group() not in UNITS:
        raise DataError("unit-mismatch", _unknown_unit(word.group()))
    times, over, dimension, sign, end = 1.0, 1.0, NONE, 1, start
    while word is not None and word.group() in UNITS:
        factor, powers = UNITS[word.group()]
        end = word.end()
        exponent = _EXPONENT.match(text, end)
        power: float = sign
        if exponent is not None:
            digits = exponent.group(1) or exponent.group(2)
            written = float(digits) if digits else {"²": 2, "³": 3}[exponent.group(3)]
            power = sign * (int(written) if written == int(written) else written)
            end = exponent.end()
        DataError.when(abs(power) > 9, "unit-mismatch", f"a unit to the power {power} is not meant.")
        inverse = round(1 / factor) if factor < 1 else 0
        if inverse and factor == 1 / inverse:
            factor, turned = float(inverse), -power
        else:
            turned = power
        times, over = (times * factor**turned, over) if turned > 0 else (times, over * factor**-turned)
        dimension = tuple(d + power * p for d, p in zip(dimension, powers, strict=True))  # type: ignore[assignment]
        between = _BETWEEN.match(text, end)
        if between is None:
            break
        word = _WORD.match(text, between.end())
        if word is not None and word.group() in UNITS:
            if sign < 0 and between.group(1) != "/":
                advice = Advice("Write one / for every divisor.")
                problem = f"{text[start : word.end()]!r} can be read in two ways."
                raise DataError("unit-mismatch", problem, advice)
            sign = -1 if between.group(1) == "/" else 1
    return (times, over), dimension, end


def _unknown_unit(word: str) -> str:
    if word.lower() in ("hz", "khz"):
        return f"{word} may mean turns or radians: write rev/s, rad/s or 1/s."
    return unknown_name("unit", word, UNITS)


def unit_text(dimension: Dimension) -> str:
    """A dimension as a short text: the name of the kind it is, or its powers."""
    for _, (unit, powers) in KINDS.items():
        if powers == dimension:
            return unit or "a plain number"
    shown = zip(("kg", "m", "s", "A"), dimension, strict=True)
    return " ".join(f"{name}^{power:g}" if power != 1 else name for name, power in shown if power)


_QUANTITY = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^\s0-9.].*?)\s*")


def in_si(value: Any, *kinds: str, what: str, error: type[DalembertError] = DataError) -> Any:
    """A text such as "90 deg" as a number in SI units; lists and mappings entry by entry, anything else as it is.

    kinds : kinds of number of `KINDS`, or units; the text must have one of them. Any unit fits where left out.

    Examples
    --------
    >>> in_si("700 mm", "length", what="position"), in_si(["2 m", 0.5], "length", what="position"), in_si("x", what="x")
    (0.7, [2.0, 0.5], 'x')
    """
    if isinstance(value, (list, tuple)):
        entries = [in_si(entry, *kinds, what=what, error=error) for entry in value]
        return entries if isinstance(value, list) else tuple(entries)
    if isinstance(value, Mapping):
        return {key: in_si(entry, *kinds, what=what, error=error) for key, entry in value.items()}
    written = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if written is None:
        return value
    try:
        (times, over), dimension = read_whole_unit(normalise_spelling(written[2]))
    except DataError as reason:
        raise error("unit-mismatch", f"{what}: {reason}", where={"argument": what}) from None
    wanted = [KINDS[kind][1] if kind in KINDS else read_whole_unit(kind)[1] for kind in kinds if kind]
    if wanted and dimension not in wanted:
        shown = " or ".join(unit_text(dimension_) if any(dimension_) else "rad" for dimension_ in wanted)
        raise error("unit-mismatch", f"{what} is {value!r}; expected {shown}.", where={"argument": what})
    return float(written[1]) * times / over


def per_second(unit: str, times: int = 1) -> str:
    """The unit of a time derivative, of the first or a higher one; none of what has no unit.

    Examples
    --------
    >>> per_second("rad"), per_second("m/s"), per_second("m", 2)
    ('rad/s', 'm/s^2', 'm/s^2')
    """
    if not unit or not times:
        return unit
    head, _, power = unit.rpartition("/s")
    metric = head and power in ("", "^2", "^3")
    first = f"{head}/s^{int(power[1:] or 1) + 1}" if metric else f"{unit}/s"
    return per_second(first, times - 1)


def conversion(given: str, expected: str, what: str) -> float:
    """Factor from the unit a record gives a channel to the one that is expected; 1 where either is empty.

    Examples
    --------
    >>> conversion("kN m", "N m", "'torque'")
    1000.0
    >>> conversion("N·m", "N*m", "'torque'")
    1.0
    """
    first, second = normalise_spelling(given), normalise_spelling(expected)
    if not first or not second or first == second:
        return 1.0
    both = f"{what} is in {given} in the record and in {expected} in the model"
    try:
        (times, over), dimension = read_whole_unit(first)
        (factor, below), wanted = read_whole_unit(second)
    except DataError as error:
        advice = Advice("Convert the record, or leave its unit out where it is the same.")
        raise DataError("unit-mismatch", f"{both}: {error}", advice) from None
    if dimension != wanted:
        advice = Advice("Choose another channel, or correct its unit.")
        raise DataError("unit-mismatch", f"{both}, which is another quantity.", advice)
    return times * below / (over * factor)


def normalise_spelling(unit: str) -> str:
    """One spelling: [N*m], N·m and N m are the same; - means no unit."""
    for written, meant in (("**", "^"), ("*", " "), ("·", " "), ("⋅", " ")):
        unit = unit.replace(written, meant)
    unit = " ".join(unit.strip("[]() ").split())
    return "" if unit in ("-", "1") else unit


def read_whole_unit(unit: str) -> tuple[tuple[float, float], Dimension]:
    """Factor and dimension of a text that is a unit from end to end, such as N m or 1/s."""
    if unit.startswith("1/"):
        (times, over), powers = read_whole_unit(unit[2:].strip())
        return (over, times), tuple(-p for p in powers)  # type: ignore[return-value]
    factor, dimension, end = read_unit(unit)
    DataError.when(end != len(unit) or not unit, "unit-mismatch", f"{unit!r} is not a known unit.")
    return factor, dimension
