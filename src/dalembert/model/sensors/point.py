"""Motion of a point."""

from __future__ import annotations

from dalembert.model.bodies import Place
from dalembert.model.options import option
from dalembert.model.sensors.measure import Measure, measure

_PLACE = "where it is measured"


@measure("position")
class Position(Measure):
    """Position of a point in world axes [m]."""

    point: Place = option("place", _PLACE)
    unit = "m"


@measure("velocity")
class Velocity(Measure):
    """Velocity of a point in world axes [m/s]."""

    point: Place = option("place", _PLACE)
    unit = "m/s"


@measure("acceleration")
class Acceleration(Measure):
    """Acceleration of a point in world axes [m/s²]."""

    point: Place = option("place", _PLACE)
    unit = "m/s^2"


def position(point: Place) -> Position:
    """Position of a point in world axes [m]."""
    return Position(point)


def velocity(point: Place) -> Velocity:
    """Velocity of a point in world axes [m/s]."""
    return Velocity(point)


def acceleration(point: Place) -> Acceleration:
    """Acceleration of a point in world axes [m/s²]."""
    return Acceleration(point)
