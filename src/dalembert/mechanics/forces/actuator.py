"""The drive of a joint: an effort, or the model of an actuator."""

from __future__ import annotations

import casadi as ca

from dalembert.mechanics.actuators import ACTUATOR_EFFORTS
from dalembert.mechanics.forces.drawing import Drawing
from dalembert.mechanics.forces.force_equations import FORCE_EQUATIONS, ForceBuilder, ForceEquations
from dalembert.model.forces.actuator import Actuator


def act(builder: ForceBuilder, actuator: Actuator) -> None:
    measured = builder.host.motor_side(actuator.joint)
    if actuator.model is None:
        given = 1.0 if actuator.effort is None else actuator.effort
        effort = builder.amount(given, 1, actuator.input, f"effort of actuator {actuator.name!r}")
    else:
        assert actuator.input is not None
        u = builder.input(actuator.input)
        effort = ACTUATOR_EFFORTS[actuator.model.kind](builder, actuator, measured, u)
    builder.drive(measured, ca.SX(effort))


def draw(drawing: Drawing, actuator: Actuator) -> None:
    if actuator.model is None and not callable(actuator.effort):
        effort = 1.0 if actuator.effort is None else actuator.effort
        drawing.effort(actuator.name, actuator.joint, effort, actuator.input)


FORCE_EQUATIONS.register("actuator", ForceEquations(act, draw))
