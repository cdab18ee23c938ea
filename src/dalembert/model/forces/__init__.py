"""Kinds of forces as data, one file each; their mathematics is in `mechanics/forces/` under the same names."""

from dalembert.model.forces.force import FORCES, Force, JointDynamics, Limits, Rotor, force

__all__ = ["FORCES", "Force", "JointDynamics", "Limits", "Rotor", "force"]
