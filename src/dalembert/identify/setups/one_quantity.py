"""Mode shapes of sensors that measure different quantities, brought to one: that of the first reference.

Motion at a pole s is φ e^{st}: its velocity is s φ, its acceleration s² φ. So a row of a shape measured as the n-th
derivative becomes one of the m-th by the factor s^{m-n}, and by that of the units. Angles do not become lengths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.core.text import list_names
from dalembert.linear.modes import Modes
from dalembert.numerics import ties
from dalembert.record.units import Dimension, normalise_spelling, read_whole_unit


@dataclass(frozen=True)
class Conversion:
    """How the rows of a shape become one quantity: by a factor and a power of the pole each; the unit of the result."""

    factors: Mapping[str, float]
    powers: Mapping[str, int]
    unit: str
    findings: tuple[Finding, ...] = ()

    def note(self) -> list[str]:
        """A note where shapes are changed."""
        changed = [name for name, power in self.powers.items() if power or self.factors[name] != 1.0]
        if not changed:
            return []
        return [
            f"shapes are in [{self.unit}] at all sensors: {list_names(changed, {})} converted by the pole of a mode"
        ]

    def apply(self, modes: Modes) -> Modes:
        """Modes with all rows in the same quantity, largest component 1."""
        rows = [(self.factors.get(name, 1.0), self.powers.get(name, 0)) for name in modes.coordinates]
        if not len(modes) or all(row == (1.0, 0) for row in rows):
            return modes
        shapes = np.array([factor * modes.eigenvalues**power for factor, power in rows]) * modes.shapes
        return Modes(
            modes.eigenvalues, shapes / shapes[ties.first_largest(shapes), np.arange(len(modes))], modes.coordinates
        )


def find_conversion(names: Sequence[str], units: Mapping[str, str]) -> Conversion:
    """The conversion of all sensors to the quantity of the first; refused where there is none."""
    spelled = {name: normalise_spelling(units.get(name, "")) for name in names}
    clear_units = {name: unit for name, unit in spelled.items() if unit}
    same = dict.fromkeys(names, 1.0), dict.fromkeys(names, 0)
    if len(set(clear_units.values())) < 2 and len(clear_units) in (0, len(names)):
        return Conversion(*same, next(iter(clear_units.values()), ""))
    first = next(iter(clear_units))
    read = {name: _read(unit) for name, unit in clear_units.items()}
    alike = [
        unit == clear_units[first] or (read[name] is not None and read[name] == read[first])
        for name, unit in clear_units.items()
    ]
    different = [name for name, is_alike in zip(clear_units, alike) if not is_alike]
    blank = [name for name in names if name not in clear_units]
    if different and blank:
        raise DataError(
            "unit-mismatch",
            f"{list_names(blank, {})} have no unit, while {first!r} is in [{clear_units[first]}] and {different[0]!r} "
            f"in [{clear_units[different[0]]}]: shapes would mix quantities.",
            Advice("Give the units with {}.", Argument("units")),
            where={"channel": blank[0]},
        )
    base = read[first]
    factors, powers = same
    for name in different:
        quantity = read[name]
        if base is None or quantity is None or base[1][1] != quantity[1][1]:
            raise DataError(
                "unit-mismatch",
                f"{name!r} is in [{clear_units[name]}] and {first!r} in [{clear_units[first]}]: no mode shape has "
                "both, since one does not follow from the other. Merge the sensors of each quantity by themselves.",
                Advice("Or correct the units with {}.", Argument("units")),
                where={"channel": name},
            )
        factors[name], powers[name] = quantity[0] / base[0], int(quantity[1][2] - base[1][2])
    return Conversion(factors, powers, clear_units[first], _describe_blank(blank, clear_units[first]))


def _describe_blank(blank: Sequence[str], unit: str) -> tuple[Finding, ...]:
    if not blank:
        return ()
    problem = f"{list_names(blank, {})} have no unit: taken as [{unit}], as the other sensors are."
    return (Finding("missing-unit", problem, {"channels": list(blank)}, {}, (Advice("Give {}.", Argument("units")),)),)


def _read(unit: str, gravity: float = 9.80665) -> tuple[float, Dimension] | None:
    """SI factor and dimension of a displacement or angle or of a derivative of it; None for other units.

    gravity : m/s², of accelerometers in g
    """
    if unit in ("g", "gal"):
        return (gravity if unit == "g" else 0.01), (0.0, 1.0, -2.0, 0.0)
    try:
        (times, over), dimension = read_whole_unit(unit)
    except DataError:
        return None
    kg, m, s, a = dimension
    return (times / over, dimension) if (kg, a) == (0.0, 0.0) and m in (0.0, 1.0) and s in (0.0, -1.0, -2.0) else None
