"""A cable over several joints: L = Σ cᵢ sᵢ, efforts cᵢ F."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any, cast

import casadi as ca

from dalembert.mechanics.actuators import ACTUATOR_EFFORTS
from dalembert.mechanics.forces.force_equations import FORCE_EQUATIONS, ForceBuilder, ForceEquations
from dalembert.mechanics.rows import Measured
from dalembert.model.forces.tendon import Tendon


def act(builder: ForceBuilder, tendon: Tendon) -> None:
    number = builder.host.number
    parts = [(number(c), builder.host.measure(name)) for name, c in tendon.coordinates.items()]
    length, rate, bias = (sum(c * getattr(s, key) for c, s in parts) for key in ("value", "rate", "bias"))
    along = Measured(length, rate, reduce(add, (s.form.scale(c) for c, s in parts)), bias, "m", f"{tendon.name}.rate")
    if float(tendon.stiffness) or float(tendon.damping):
        extension = ca.fmax(length - number(tendon.upper), 0) + ca.fmin(length - number(tendon.lower), 0)
        builder.potential += number(tendon.stiffness) * extension**2 / 2
        builder.drive(along, -number(tendon.stiffness) * extension, has_potential=True)
        builder.drive(along, -number(tendon.damping) * rate)
    if tendon.input is not None:
        u = builder.input(tendon.input)
        model, owner = tendon.model, cast("Any", tendon)
        builder.drive(along, u if model is None else ACTUATOR_EFFORTS[model.kind](builder, owner, along, u))


FORCE_EQUATIONS.register("tendon", ForceEquations(act))
