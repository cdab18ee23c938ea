"""Motion of a point l of a body: r + R l, ṙ + R (ω × l), r̈ + R (α × l + ω × (ω × l))."""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.mechanics.poses import Twist
from dalembert.mechanics.sensors.output import OUTPUTS, MachineQuantities, Output
from dalembert.model.bodies import Place
from dalembert.model.sensors.point import AccelerationMeasure, PositionMeasure, VelocityMeasure

SX = ca.SX


def position(machine: MachineQuantities, measure: PositionMeasure) -> Output:
    return Output(machine.position(measure.point), measure.unit)


def velocity(machine: MachineQuantities, measure: VelocityMeasure) -> Output:
    pose, twist = machine.host.body_state(machine.body(measure.point))
    return Output(twist.v + machine.host.space.spin(pose.R, twist.w) @ machine.local(measure.point), measure.unit)


def acceleration_of(machine: MachineQuantities, place: Place) -> Any:
    """Acceleration of a place in world axes."""
    host = machine.host
    space, body, local = host.space, machine.body(place), machine.local(place)
    pose, twist = host.body_state(body)
    columns = host.body_columns(body)
    if columns is None:
        change = Twist(SX.zeros(space.dim), SX.zeros(space.turns))
    else:
        own = host.a[columns.start : columns.stop]
        change = Twist(own[0 : space.dim], own[space.dim : space.nv])
    turning = space.spin(pose.R, twist.w)
    return change.v + space.spin(pose.R, change.w) @ local + space.spin(turning, twist.w) @ local


def acceleration(machine: MachineQuantities, measure: AccelerationMeasure) -> Output:
    return Output(acceleration_of(machine, measure.point), measure.unit)


OUTPUTS.register("position", position)
OUTPUTS.register("velocity", velocity)
OUTPUTS.register("acceleration", acceleration)
