"""Energy of the mechanism."""

from __future__ import annotations

from dalembert.mechanics.sensors.output import OUTPUTS, MachineQuantities, Output
from dalembert.model.sensors.energy import EnergyMeasure


def energy(machine: MachineQuantities, measure: EnergyMeasure) -> Output:
    return Output(machine.kinetic + machine.forces.potential, measure.unit)


OUTPUTS.register("energy", energy)
