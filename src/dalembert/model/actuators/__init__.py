"""Models of actuators as data, one file each; `mechanics/actuators/` has their efforts under the same names."""

from dalembert.model.actuators.actuator_model import ACTUATORS, ActuatorModel, actuator

__all__ = ["ACTUATORS", "ActuatorModel", "actuator"]
