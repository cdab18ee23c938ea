"""A viscous damper."""

from __future__ import annotations

import casadi as ca

from dalembert.mechanics.forces.drawing import Drawing
from dalembert.mechanics.forces.force_equations import FORCE_EQUATIONS, ForceBuilder, ForceEquations
from dalembert.mechanics.forces.spring import stretch
from dalembert.model.forces.damper import Damper


def act(builder: ForceBuilder, damper: Damper) -> None:
    _, speed, pull, unit = stretch(builder, damper.a, damper.b, damper.joint)
    tension = ca.SX(builder.host.number(damper.damping) * speed)
    pull(tension, False)
    builder.tensions[damper.name] = (tension, unit)


def draw(drawing: Drawing, damper: Damper) -> None:
    if damper.joint is None:
        drawing.spring(damper.name, damper.a, damper.b, damped=float(damper.damping) != 0.0)


FORCE_EQUATIONS.register("damper", ForceEquations(act, draw))
