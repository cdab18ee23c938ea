"""Quantities that sensors measure, as data: the base of all kinds, and their registry.

A kind is a class in a file of its own, declared by `@measure`; its fields are options, as those of forces:

    @measure("clearance")
    class Clearance(Measure):
        \"\"\"Height of a point above the ground [m].\"\"\"

        point: Place = option("place", "where it is measured")
        unit = "m"

``m.add_sensor("gap", Clearance(tip))`` uses it, and ``type = "clearance"`` in model files. `mechanics/sensors/` has
the output of the same name. A package adds kinds through entry points of the group ``dalembert.sensors``: modules that
declare both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import dataclass_transform

from dalembert.core.findings import Finding
from dalembert.core.registry import Registry
from dalembert.model.forces import Force
from dalembert.model.options import Declared, Kind, declare, option


@dataclass(frozen=True)
class Measure(Declared):
    """A quantity to be measured, with its unit. Its options are checked when a mechanism gets a sensor of it."""

    unit = ""

    def validate(self, what: str) -> Measure:
        """The same measure with checked options; `what` names the sensor in messages."""
        checked = replace(self)
        checked.settle(what)
        checked.check(what)
        return checked

    def check(self, what: str) -> None:
        """Raise if its options do not fit together."""

    def problems(self, coordinates: Mapping[str, tuple[str, str]], forces: Mapping[str, Force]) -> list[Finding]:
        """Problems of the measure in a mechanism, besides names that do not exist.

        coordinates : full name and unit of each, by all its names.  forces : by name.
        """
        return []

    @property
    def of(self) -> str:
        """Where it is measured, for tables."""
        names = [
            *self.values_of("coordinate", "joint", "named force"),
            *dict.fromkeys(body.name for body in self.bodies()),
        ]
        return ", ".join(names)


SENSORS: Registry[type[Measure]] = Registry(
    "kind of sensor", package="dalembert.model.sensors", group="dalembert.sensors"
)


@dataclass_transform(frozen_default=True, field_specifiers=(option,))
def measure(kind: str) -> Callable[[type[Kind]], type[Kind]]:
    """Declare a class as a kind of sensor: a frozen dataclass, and a type of sensors in model files."""
    return declare(SENSORS, kind)


@dataclass(frozen=True)
class Sensor:
    """A named output channel, or several with one name before their dots."""

    name: str
    measure: Measure
