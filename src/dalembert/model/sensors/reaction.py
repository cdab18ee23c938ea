"""Reaction of a joint."""

from __future__ import annotations

from dalembert.model.joints import Joint
from dalembert.model.options import option
from dalembert.model.sensors.measure import Measure, measure


@measure("reaction")
class ReactionMeasure(Measure):
    """Force [N] and torque [N m] of a joint on its second body, at the joint."""

    joint: str | Joint = option("joint", "name of the joint")
    axes: str = option("choice", "axes of force and torque", default="world", choices=("world", "joint"))


def reaction(joint: str | Joint, *, axes: str = "world") -> ReactionMeasure:
    """Force and torque of a joint on its second body, at the joint; axes ``"world"`` or ``"joint"`` [N, N m]."""
    return ReactionMeasure(joint, axes)
