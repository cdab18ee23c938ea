"""Quantities that sensors measure, as data; their outputs are in `mechanics/sensors/` under the same names."""

from dalembert.model.sensors.measure import SENSORS, Measure, Sensor, measure

__all__ = ["SENSORS", "Measure", "Sensor", "measure"]
