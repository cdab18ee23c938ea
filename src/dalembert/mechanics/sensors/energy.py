"""Energy of the mechanism."""

from __future__ import annotations

from dalembert.mechanics.sensors.output import OUTPUTS, Machine, Output
from dalembert.model.sensors.energy import Energy


def energy(machine: Machine, measure: Energy) -> Output:
    return Output(machine.kinetic + machine.forces.potential, measure.unit)


OUTPUTS.register("energy", energy)
