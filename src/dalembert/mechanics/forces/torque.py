"""A torque on a body."""

from __future__ import annotations

from dalembert.mechanics.forces.drawing import Drawing
from dalembert.mechanics.forces.force_equations import FORCE_EQUATIONS, ForceBuilder, ForceEquations
from dalembert.model.forces.torque import Torque


def act(builder: ForceBuilder, torque: Torque) -> None:
    value = builder.amount(torque.torque, builder.space.turns, torque.input, torque.what)
    if torque.axes == "body" and not builder.space.planar:
        value = builder.host.attach(torque.place()).pose.R @ value
    builder.turn(torque.place(), value)


def draw(drawing: Drawing, torque: Torque) -> None:
    if not callable(torque.torque):
        drawing.torque(torque.name, torque.body, torque.torque, axes=torque.axes, channel=torque.input)


FORCE_EQUATIONS.register("torque", ForceEquations(act, draw))
