"""Distance of two points."""

from __future__ import annotations

from dalembert.model.bodies import Place
from dalembert.model.options import option
from dalembert.model.sensors.measure import Measure, measure


@measure("distance")
class DistanceMeasure(Measure):
    """Distance between two points [m]."""

    a: Place = option("place", "first point")
    b: Place = option("place", "second point")
    unit = "m"


def distance(a: Place, b: Place) -> DistanceMeasure:
    """Distance between two points [m]."""
    return DistanceMeasure(a, b)
