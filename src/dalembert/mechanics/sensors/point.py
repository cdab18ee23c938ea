"""Motion of a point of a body, in world axes."""

from __future__ import annotations

from dalembert.mechanics.sensors.output import OUTPUTS, MachineQuantities, Output
from dalembert.model.sensors.point import AccelerationMeasure, PositionMeasure, VelocityMeasure


def position(machine: MachineQuantities, measure: PositionMeasure) -> Output:
    return Output(machine.position(measure.point), measure.unit)


def velocity(machine: MachineQuantities, measure: VelocityMeasure) -> Output:
    return Output(machine.host.attach(measure.point).velocity, measure.unit)


def acceleration(machine: MachineQuantities, measure: AccelerationMeasure) -> Output:
    return Output(machine.host.attach(measure.point).acceleration(machine.host.a), measure.unit)


OUTPUTS.register("position", position)
OUTPUTS.register("velocity", velocity)
OUTPUTS.register("acceleration", acceleration)
