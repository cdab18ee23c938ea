"""Distance of two points."""

from __future__ import annotations

import casadi as ca

from dalembert.mechanics.sensors.output import OUTPUTS, MachineQuantities, Output
from dalembert.model.sensors.distance import DistanceMeasure


def distance(machine: MachineQuantities, measure: DistanceMeasure) -> Output:
    d = machine.position(measure.b) - machine.position(measure.a)
    return Output(ca.sqrt(ca.dot(d, d)), measure.unit)


OUTPUTS.register("distance", distance)
