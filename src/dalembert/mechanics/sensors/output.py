"""Output expressions of sensors: y = h(q, v, v̇, λ, z, u, t).

The output of a kind of sensor is in a file of this folder, which registers it under the name of the kind:

    def clearance(machine: MachineQuantities, measure: Clearance) -> Output:
        return Output(machine.position(measure.point)[-1], measure.unit)

    OUTPUTS.register("clearance", clearance)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.core.registry import Registry
from dalembert.model.bodies import Place

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute
    from dalembert.mechanics.forces.force_equations import ForceBuilder

SX = ca.SX
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Output:
    """The output of a sensor: a column of values, with one unit for all or one for each.

    labels : names of its components, behind the name of the sensor and a dot; x, y, z when left out.
    """

    value: Any
    unit: str | list[str]
    labels: list[str] | None = None


@dataclass(frozen=True)
class MachineQuantities:
    """Quantities for outputs of sensors: the expressions of a mechanism, its forces, and its kinetic energy.

    what : names the sensor, for messages.
    """

    host: Absolute
    forces: ForceBuilder
    kinetic: Any
    what: str

    def position(self, place: Place) -> Any:
        """Of a place, in world axes."""
        return self.host.attach(place).position


OUTPUTS: Registry[Callable[[MachineQuantities, Any], Output]] = Registry(
    "output of a kind of sensor", package="dalembert.mechanics.sensors", group="dalembert.sensors"
)


@dataclass(frozen=True)
class Outputs:
    """All outputs of a mechanism: names, units and one column of values."""

    names: list[str]
    units: list[str]
    value: Any


def build_outputs(host: Absolute, forces: ForceBuilder, kinetic: object) -> Outputs:
    names: list[str] = []
    units: list[str] = []
    values: list[Any] = []
    for sensor in host.m.sensors:
        machine = MachineQuantities(host, forces, kinetic, f"sensor {sensor.name!r}")
        found = OUTPUTS[sensor.measure.kind](machine, sensor.measure)
        value = SX(found.value)
        count = value.shape[0]
        values.append(value)
        if count == 1 and found.labels is None:
            names.append(sensor.name)
        else:
            names.extend(f"{sensor.name}.{label}" for label in (found.labels or list(AXES[:count])))
        units.extend([found.unit] * count if isinstance(found.unit, str) else found.unit)
    return Outputs(names, units, ca.vertcat(*values) if values else SX.zeros(0, 1))
