"""Joint coordinates and their time derivatives."""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.mechanics.sensors.output import OUTPUTS, MachineQuantities, Output
from dalembert.model.sensors.coordinate import AngleMeasure, JointAccelerationMeasure, RateMeasure


def value(machine: MachineQuantities, measure: AngleMeasure) -> Output:
    measured = machine.host.measure(str(measure.joint))
    return Output(measured.value, measured.unit)


def rate(machine: MachineQuantities, measure: RateMeasure) -> Output:
    measured = machine.host.measure(str(measure.joint))
    return Output(measured.rate, f"{measured.unit}/s")


def acceleration(machine: MachineQuantities, measure: JointAccelerationMeasure) -> Output:
    """s̈ = S v̇ + bias."""
    host = machine.host
    measured = host.measure(str(measure.joint))
    row: Any = measured.form.multiply_transposed(ca.SX.ones(1), host.nv)
    return Output(ca.dot(row, host.a) + measured.bias, f"{measured.unit}/s^2")


for kind, output in (("angle", value), ("displacement", value), ("rate", rate), ("speed", rate)):
    OUTPUTS.register(kind, output)
OUTPUTS.register("joint acceleration", acceleration)
