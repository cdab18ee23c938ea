"""A force on a point."""

from __future__ import annotations

from dalembert.mechanics.forces.drawing import Drawing
from dalembert.mechanics.forces.force_equations import FORCE_EQUATIONS, ForceBuilder, ForceEquations
from dalembert.model.forces.point_force import PointForce


def act(builder: ForceBuilder, force: PointForce) -> None:
    side = builder.host.attach(force.point)
    value = builder.amount(force.force, builder.space.dim, force.input, force.what)
    if force.axes == "body":
        value = side.pose.R @ value
    builder.push(force.point, value)


def draw(drawing: Drawing, force: PointForce) -> None:
    if not callable(force.force):
        drawing.force(force.name, force.point, force.force, axes=force.axes, channel=force.input)


FORCE_EQUATIONS.register("force", ForceEquations(act, draw))
