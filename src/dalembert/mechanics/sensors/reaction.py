"""Reaction of a joint."""

from __future__ import annotations

import casadi as ca

from dalembert.mechanics.sensors.output import AXES, OUTPUTS, MachineQuantities, Output
from dalembert.model.sensors.reaction import ReactionMeasure


def reaction(machine: MachineQuantities, measure: ReactionMeasure) -> Output:
    space = machine.host.space
    force, torque, axes = machine.host.reaction(str(measure.joint))
    if measure.axes == "joint":
        force = axes.T @ force
        torque = torque if space.planar else axes.T @ torque
    turns = ["torque.z"] if space.planar else [f"torque.{k}" for k in AXES]
    labels = [f"force.{k}" for k in AXES[: space.dim]] + turns
    return Output(ca.vertcat(force, torque), ["N"] * space.dim + ["N m"] * space.turns, labels)


OUTPUTS.register("reaction", reaction)
