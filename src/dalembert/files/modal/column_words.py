"""Headings of modal tables: columns of frequencies, damping, modal masses or their deviations, and their units.

Programs write ``frequency_hz``, ``Frequency [Hz]``, ``f/Hz``, ``Eigenfrequenz (Hz)``, ``Damping ratio (%)``, ``zeta``.
A heading with none of these words is the name of a coordinate.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum

from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice
from dalembert.files.tables.header_units import read_unit_cell


class ModalQuantity(StrEnum):
    """Quantity in a column of a modal table."""

    mode = "mode"
    frequency = "frequency"
    damped_frequency = "damped frequency"
    damping = "damping ratio"
    mass = "modal mass"
    frequency_deviation = "frequency deviation"
    damping_deviation = "damping deviation"
    aside = "left out"


_SPREADS = ("deviation", "standard deviation", "std", "sd", "sigma", "uncertainty", "std dev", "stddev")
_FREQUENCIES = (
    "frequency", "freq", "f", "fn", "f0", "natural frequency", "natural freq", "modal frequency", "undamped frequency",
    "undamped natural frequency", "eigenfrequency", "eigen frequency", "resonance frequency", "frequenz",
    "eigenfrequenz", "fréquence", "fréquence propre", "frequence", "frecuencia", "frecuencia natural", "frequenza",
    "frequência", "frekvens", "taajuus", "частота", "频率", "周波数",
)  # fmt: skip
_CIRCULAR = ("omega", "ω", "omega n", "ωn", "circular frequency", "angular frequency")
_DAMPINGS = (
    "damping", "damping ratio", "modal damping", "modal damping ratio", "viscous damping ratio", "viscous damping",
    "zeta", "ζ", "xi", "ξ", "fraction of critical damping", "dämpfung", "dämpfungsgrad", "dämpfungsmass",
    "lehrsches dämpfungsmass", "amortissement", "amortiguamiento", "smorzamento", "amortecimento", "demping",
    "dämpning", "затухание", "阻尼比", "減衰比",
)  # fmt: skip
_LOSSES = ("loss factor", "eta", "η", "verlustfaktor", "structural damping", "hysteretic damping")
_MASSES = ("modal mass", "generalized mass", "generalised mass", "mass", "modale masse", "masse modale")
_MODES = (
    "mode", "mode number", "mode no", "mode nr", "mode no.", "mode id", "mode #", "no", "no.", "nr", "nr.", "number",
    "eigenmode", "modo", "moden", "shape", "mode shape",
)  # fmt: skip
_ASIDE = (
    "mpc", "mpd", "mcf", "phase collinearity", "modal phase collinearity", "mean phase deviation", "complexity",
    "modal complexity", "class", "reasons", "comment", "remark", "remarks", "order", "model order", "period",
    "log decrement", "logarithmic decrement", "quality factor", "modal stiffness", "generalized stiffness",
    "eigenvalue", "pole", "motion", "description",
)  # fmt: skip
# word -> its quantity, and the unit where none is given; a loss factor is twice the damping ratio
WORDS: dict[str, tuple[ModalQuantity, str]] = {
    **dict.fromkeys(_MODES, (ModalQuantity.mode, "")),
    **dict.fromkeys(_FREQUENCIES, (ModalQuantity.frequency, "hz")),
    **dict.fromkeys(_CIRCULAR, (ModalQuantity.frequency, "rad/s")),
    **dict.fromkeys(("damped frequency", "damped natural frequency", "fd"), (ModalQuantity.damped_frequency, "hz")),
    **dict.fromkeys((*_DAMPINGS, *_LOSSES), (ModalQuantity.damping, "")),
    **dict.fromkeys(_MASSES, (ModalQuantity.mass, "kg")),
    **dict.fromkeys(_ASIDE, (ModalQuantity.aside, "")),
}
for _stem, _kind, _unit in (
    *((word, ModalQuantity.frequency_deviation, "hz") for word in ("frequency", "freq", "f")),
    *((word, ModalQuantity.damping_deviation, "") for word in ("damping", "damping ratio", "zeta", "ζ", "xi", "ξ")),
):
    for _spread in _SPREADS:
        WORDS[f"{_stem} {_spread}"] = WORDS[f"{_spread} {_stem}"] = (_kind, _unit)
        WORDS[f"{_spread} of {_stem}"] = (_kind, _unit)

_HERTZ = {
    "hz": 1.0,
    "1/s": 1.0,
    "khz": 1e3,
    "rad/s": 0.5 / math.pi,
    "rad s": 0.5 / math.pi,
    "rpm": 1 / 60,
    "cpm": 1 / 60,
}
_RATIO = {"": 1.0, "-": 1.0, "1": 1.0, "ratio": 1.0, "%": 0.01, "percent": 0.01, "pct": 0.01}
_BRACKETS = re.compile(r"(?P<name>.*\S)\s*(?:\[(?P<a>[^\[\]]*)\]|\((?P<b>[^()]*)\)|\{(?P<c>[^{}]*)\})")
_BEHIND = re.compile(
    r"(?P<name>.*[^\s/_,])(?:\s*[/,_]\s*|\s+in\s+|\s+)(?P<unit>hz|khz|rad/s|rad s|rad_s|%|percent|pct|kg)"
)


@dataclass(frozen=True)
class ModalColumn:
    """Quantity of a column, its unit in lower case, whether the heading gave it, and whether it is a loss factor."""

    quantity: ModalQuantity
    unit: str
    has_unit: bool
    is_loss: bool = False


def read_word(cell: str, unit: str = "") -> ModalColumn | None:
    """The quantity of a column with this heading; None where it is the name of a coordinate.

    Examples
    --------
    >>> read_word("Damping ratio [%]").unit, read_word("a1 [g]")
    ('%', None)
    """
    text = " ".join(cell.casefold().split())
    plain = unit.strip("[](){} ").casefold()
    name, match = text, _BRACKETS.fullmatch(text)
    if match:
        name, inside = match["name"], (match["a"] or match["b"] or match["c"] or "").strip()
    elif match := _BEHIND.fullmatch(text):
        name, inside = match["name"], match["unit"].replace("_", " ")
    else:
        inside = ""
    short = _plain(name) if _plain(name) in WORDS else _plain(text)
    if short not in WORDS:
        return None
    quantity, usual = WORDS[short]
    shown = inside or plain
    return ModalColumn(quantity, shown or usual, bool(shown), short in _LOSSES)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[_\-:]+", " ", text).split())


def factor_of(column: ModalColumn, heading: str, line: int | None) -> float:
    """Factor from the unit of a column to Hz, a ratio or kg; the caller converts "%" of a deviation of frequency."""
    if column.quantity is ModalQuantity.mass:
        read = read_unit_cell("mass", column.unit)
        return read.factor[0] / read.factor[1]
    frequencies = (ModalQuantity.frequency, ModalQuantity.damped_frequency, ModalQuantity.frequency_deviation)
    units = _HERTZ if column.quantity in frequencies else _RATIO
    if column.unit not in units:
        wanted = "Hz, kHz, rad/s or rpm" if units is _HERTZ else "a ratio or %"
        hint = (
            [Advice("Divide it by the frequency: Hz is the decay rate in some programs, the bandwidth in others.")]
            if column.quantity is ModalQuantity.damping and column.unit in _HERTZ
            else []
        )
        problem = f"column {heading!r:.80} is in {column.unit!r:.40}; expected {wanted}."
        raise FileFormatError("unit-mismatch", problem, *hint, line=line)
    return units[column.unit] * (0.5 if column.is_loss else 1.0)
