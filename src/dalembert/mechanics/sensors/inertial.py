"""Inertial sensors, in the axes of their body or frame."""

from __future__ import annotations

from dalembert.mechanics.sensors.output import OUTPUTS, MachineQuantities, Output
from dalembert.model import BodyFrame
from dalembert.model.sensors.inertial import AccelerometerMeasure, GyroscopeMeasure


def accelerometer(machine: MachineQuantities, measure: AccelerometerMeasure) -> Output:
    host, place = machine.host, measure.point
    side = host.attach(place)
    proper = side.pose.R.T @ (side.acceleration(host.a) - host.vector(host.m.gravity))
    return Output(host.frame_axes(place).T @ proper if isinstance(place, BodyFrame) else proper, measure.unit)


def gyroscope(machine: MachineQuantities, measure: GyroscopeMeasure) -> Output:
    host, place = machine.host, measure.point
    w = host.attach(place).twist.w
    if isinstance(place, BodyFrame) and not host.space.planar:
        w = host.frame_axes(place).T @ w
    return Output(w, measure.unit)


OUTPUTS.register("accelerometer", accelerometer)
OUTPUTS.register("gyroscope", gyroscope)
