"""Outputs of sensors; `model/sensors/` has their data under the same names."""

from dalembert.mechanics.sensors.output import OUTPUTS, MachineQuantities, Output

__all__ = ["OUTPUTS", "MachineQuantities", "Output"]
