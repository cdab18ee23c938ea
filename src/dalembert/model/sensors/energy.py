"""Energy of the mechanism."""

from __future__ import annotations

from dalembert.model.sensors.measure import Measure, measure


@measure("energy")
class Energy(Measure):
    """Kinetic plus potential energy [J]."""

    unit = "J"


def energy() -> Energy:
    """Kinetic plus potential energy [J]."""
    return Energy()
