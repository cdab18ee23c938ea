"""Motion of a point."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.model.bodies import Place
from dalembert.model.options import option
from dalembert.model.sensors.measure import Measure, measure


@dataclass(frozen=True)
class _OfPoint(Measure):
    point: Place = option("place", "where it is measured")  # noqa: RUF009 (a field)


@measure("position")
class PositionMeasure(_OfPoint):
    """Position of a point in world axes [m]."""

    unit = "m"


@measure("velocity")
class VelocityMeasure(_OfPoint):
    """Velocity of a point in world axes [m/s]."""

    unit = "m/s"


@measure("acceleration")
class AccelerationMeasure(_OfPoint):
    """Acceleration of a point in world axes [m/s²]."""

    unit = "m/s^2"


def position(point: Place) -> PositionMeasure:
    """Position of a point in world axes [m]."""
    return PositionMeasure(point)


def velocity(point: Place) -> VelocityMeasure:
    """Velocity of a point in world axes [m/s]."""
    return VelocityMeasure(point)


def acceleration(point: Place) -> AccelerationMeasure:
    """Acceleration of a point in world axes [m/s²]."""
    return AccelerationMeasure(point)
