"""Force of a spring, damper, stop, friction or contact."""

from __future__ import annotations

from dalembert.mechanics.sensors.output import OUTPUTS, MachineQuantities, Output
from dalembert.model.sensors.spring_force import SpringForceMeasure


def spring_force(machine: MachineQuantities, measure: SpringForceMeasure) -> Output:
    return Output(*machine.forces.tensions[str(measure.spring)])


OUTPUTS.register("spring force", spring_force)
