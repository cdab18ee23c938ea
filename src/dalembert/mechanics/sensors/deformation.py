"""Deformation of a flexible body: deflections of nodes, strains and curvatures at gauges."""

from __future__ import annotations

import numpy as np

from dalembert.expressions import Expr
from dalembert.mechanics.bodies.floating import FloatingBody
from dalembert.mechanics.sensors.output import OUTPUTS, MachineQuantities, Output
from dalembert.model import Body
from dalembert.model.bodies import Place
from dalembert.model.sensors.deformation import CurvatureMeasure, DeflectionMeasure, StrainMeasure


def find_floating(machine: MachineQuantities, body: Body) -> FloatingBody:
    floating = machine.host.bodies[machine.host.body_index[id(body)]]
    assert isinstance(floating, FloatingBody)
    return floating


def deflection(machine: MachineQuantities, measure: DeflectionMeasure) -> Output:
    """d of a node, minus that of the chord at the foot of the undeformed node."""

    def displacement_of(place: Place) -> Expr:
        body = place.body  # type: ignore[union-attr]
        return find_floating(machine, body).displacement(body.node_at(place.coordinates))  # type: ignore[union-attr]

    value = displacement_of(measure.point)
    if measure.start is not None and measure.end is not None:
        ends = (measure.point, measure.start, measure.end)
        here, a, b = (np.array(place.coordinates, dtype=float) for place in ends)  # type: ignore[union-attr]
        share = float((here - a) @ (b - a) / ((b - a) @ (b - a)))
        value = value - (1 - share) * displacement_of(measure.start) - share * displacement_of(measure.end)
    return Output(value, measure.unit)


def gauge(machine: MachineQuantities, measure: StrainMeasure | CurvatureMeasure) -> Output:
    return Output(find_floating(machine, measure.body).gauge(measure.gauge), measure.unit)


OUTPUTS.register("deflection", deflection)
OUTPUTS.register("strain", gauge)
OUTPUTS.register("curvature", gauge)
