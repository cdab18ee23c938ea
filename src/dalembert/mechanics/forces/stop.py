"""Compliant limits: depth times stiffness, damping only while closing and never pulling."""

from __future__ import annotations

import casadi as ca

from dalembert.mechanics.forces.force_equations import FORCE_EQUATIONS, ForceBuilder, ForceEquations
from dalembert.model.forces.stop import Stop

SX = ca.SX


def act(builder: ForceBuilder, stop: Stop) -> None:
    host = builder.host
    measured = host.measure(stop.joint)
    k, c = host.number(stop.stiffness), host.number(stop.damping)
    elastic = rest = SX(0)
    for limit, sign in ((stop.lower, 1), (stop.upper, -1)):
        if limit is None:
            continue
        depth = sign * (host.number(limit) - measured.value)
        push = k * ca.fmax(depth, 0)
        elastic = elastic + sign * push
        damped = ca.fmax(-sign * c * measured.rate, -push)
        rest = rest + sign * ca.if_else(depth > 0, damped, 0)
        builder.potential = builder.potential + 0.5 * push * ca.fmax(depth, 0)
    builder.drive(measured, elastic, has_potential=True)
    builder.drive(measured, rest)
    builder.tensions[stop.name] = (elastic + rest, "N m" if measured.unit == "rad" else "N")


FORCE_EQUATIONS.register("stop", ForceEquations(act))
