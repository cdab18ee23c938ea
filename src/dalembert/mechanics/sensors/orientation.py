"""Orientation of a body in space."""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.mechanics.sensors.output import OUTPUTS, MachineQuantities, Output
from dalembert.model import BodyFrame
from dalembert.model.orientation import angles, logarithm, product, quaternion_from_matrix
from dalembert.model.sensors.orientation import FORMS, OrientationMeasure

COMPONENTS: dict[str, Any] = {"rotation vector": logarithm, "tait-bryan": angles, "quaternion": list}


def orientation(machine: MachineQuantities, measure: OrientationMeasure) -> Output:
    p: Any = machine.host.attach(measure.body).euler_parameters
    if isinstance(measure.body, BodyFrame):
        p = product(p, quaternion_from_matrix(measure.body.axes))
    value = ca.vertcat(*COMPONENTS[measure.form]([p[k] for k in range(4)]))
    return Output(value, "" if measure.form == "quaternion" else measure.unit, list(FORMS[measure.form]))


OUTPUTS.register("orientation", orientation)
