"""Inertial sensors, fixed to a body."""

from __future__ import annotations

from dalembert.model.bodies import Place
from dalembert.model.options import option
from dalembert.model.sensors.measure import Measure, measure


@measure("accelerometer")
class AccelerometerMeasure(Measure):
    """Output of an accelerometer: acceleration minus gravity, in body (or frame) axes [m/s²]."""

    point: Place = option("place", "where it is mounted")
    unit = "m/s^2"


@measure("gyroscope")
class GyroscopeMeasure(Measure):
    """Angular velocity in body (or frame) axes [rad/s]."""

    point: Place = option("place", "a body, or a frame of it")
    unit = "rad/s"


def accelerometer(point: Place) -> AccelerometerMeasure:
    """Output of an accelerometer: acceleration minus gravity, in body (or frame) axes [m/s²]."""
    return AccelerometerMeasure(point)


def gyroscope(body: Place) -> GyroscopeMeasure:
    """Angular velocity in body (or frame) axes [rad/s]."""
    return GyroscopeMeasure(body)
