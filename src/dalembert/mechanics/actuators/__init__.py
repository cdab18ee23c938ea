"""Efforts of the models of actuators, one file each; `model/actuators/` has their data under the same names."""

from dalembert.mechanics.actuators.effort import ACTUATOR_EFFORTS

__all__ = ["ACTUATOR_EFFORTS"]
