"""A force and a torque in fixed directions of a body; its travel is zero."""

from __future__ import annotations

from typing import Any, cast

from dalembert.mechanics.actuators import ACTUATOR_EFFORTS
from dalembert.mechanics.forces.force_equations import FORCE_EQUATIONS, ForceBuilder, ForceEquations
from dalembert.mechanics.rows import SX, Form, Measured
from dalembert.model.bodies import BodyFrame
from dalembert.model.forces.thruster import Thruster


def act(builder: ForceBuilder, thruster: Thruster) -> None:
    frame, F = cast("BodyFrame", thruster.place), builder.input(thruster.input)
    if thruster.model is not None:
        still = Measured(SX(0), SX(0), Form([], [], [], 1), SX(0), "m", "")
        F = ACTUATOR_EFFORTS[thruster.model.kind](builder, cast("Any", thruster), still, F)
    axes = builder.host.attach(frame).pose.R @ SX(frame.axes)
    builder.push(frame, axes @ builder.host.vector(thruster.force) * F)
    builder.turn(frame, axes @ builder.host.vector(thruster.torque) * F)


FORCE_EQUATIONS.register("thruster", ForceEquations(act))
