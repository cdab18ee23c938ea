"""Energy of the mechanism."""

from __future__ import annotations

from dalembert.model.sensors.measure import Measure, measure


@measure("energy")
class EnergyMeasure(Measure):
    """Kinetic plus potential energy [J]."""

    unit = "J"


def energy() -> EnergyMeasure:
    """Kinetic plus potential energy [J]."""
    return EnergyMeasure()
