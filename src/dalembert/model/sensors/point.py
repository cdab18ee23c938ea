"""Motion of a point."""

from __future__ import annotations

from dalembert.model.bodies import Place
from dalembert.model.options import option
from dalembert.model.sensors.measure import Measure, measure

_PLACE = "where it is measured"


@measure("position")
class PositionMeasure(Measure):
    """Position of a point in world axes [m]."""

    point: Place = option("place", _PLACE)
    unit = "m"


@measure("velocity")
class VelocityMeasure(Measure):
    """Velocity of a point in world axes [m/s]."""

    point: Place = option("place", _PLACE)
    unit = "m/s"


@measure("acceleration")
class AccelerationMeasure(Measure):
    """Acceleration of a point in world axes [m/s²]."""

    point: Place = option("place", _PLACE)
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
