"""A spring with damping: V = preload e + ½ k e² + ∫ law(ξ, 0) dξ of the extension e; damping has no potential."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.expressions import call_user
from dalembert.mechanics.forces.drawing import Drawing
from dalembert.mechanics.forces.force_equations import FORCE_EQUATIONS, ForceBuilder, ForceEquations
from dalembert.mechanics.forces.law_energy import integrate_law
from dalembert.mechanics.user_view import as_column
from dalembert.model.bodies import Place
from dalembert.model.forces.spring import SpringDamper

SX = ca.SX
SHORTEST = 1e-12  # [m], far below any length that matters, and without effect on them
Pull = Callable[[Any, bool], None]  # a tension, and whether it has a potential


def stretch(builder: ForceBuilder, a: Place | None, b: Place | None, joint: str | None) -> tuple[Any, Any, Pull, str]:
    """Length of a spring (or coordinate of its joint), its rate, the action of a tension, and the unit of that."""
    if joint is not None:
        measured = builder.host.measure(joint)

        def along(tension: Any, has: bool) -> None:
            builder.drive(measured, -tension, has_potential=has)

        return measured.value, measured.rate, along, "N m" if measured.unit == "rad" else "N"
    assert a is not None and b is not None
    at_a, v_a = builder.point(a)
    at_b, v_b = builder.point(b)
    d = at_b - at_a
    length = ca.sqrt(ca.dot(d, d) + SHORTEST**2)  # ends at one point: a force of zero instead of NaN
    direction = d / length

    def pull(tension: Any, has: bool) -> None:
        builder.push(a, tension * direction, has_potential=has)
        builder.push(b, -tension * direction, has_potential=has)

    return length, ca.dot(direction, v_b - v_a), pull, "N"


def act(builder: ForceBuilder, spring: SpringDamper) -> None:
    """Elastic part with a potential; damping, and the part of a law that depends on speed, without."""
    host = builder.host
    length, speed, pull, unit = stretch(builder, spring.a, spring.b, spring.joint)
    extension = length - host.number(spring.free_length if spring.joint is None else spring.free)
    stiffness, damping, preload = (host.number(x) for x in (spring.stiffness, spring.damping, spring.preload))
    elastic = preload + stiffness * extension
    builder.potential = builder.potential + preload * extension + 0.5 * stiffness * extension**2
    rest = damping * speed
    if spring.law is not None:
        x, rate = SX.sym("extension"), SX.sym("speed")
        law = ca.Function("law", [x, rate, host.p], [_law(builder, spring, x, rate)])
        value = ca.substitute(law(x, rate, host.p), rate, 0)
        energy = integrate_law(spring.law, value, x, host.p, host.m.parameters.values())
        at_rest = SX(0)
        if energy is not None:
            at_rest = law(extension, 0, host.p)
            builder.potential = builder.potential + ca.substitute(energy, x, extension)
        elastic = elastic + at_rest
        rest = rest + (law(extension, speed, host.p) - at_rest)
    pull(SX(elastic), True)
    pull(SX(rest), False)
    builder.tensions[spring.name] = (elastic + rest, unit)


def _law(builder: ForceBuilder, spring: SpringDamper, extension: object, speed: object) -> Any:
    what = f"law of spring {spring.name!r}"
    law: Any = spring.law
    try:
        inspect.signature(law).bind(extension, speed)
        arguments: tuple[Any, ...] = (extension, speed)
    except (TypeError, ValueError):  # a table, or any other function of the extension alone
        arguments = (extension,)
    value = as_column(call_user(law, what, *arguments), what, builder.host.p_symbols)
    if value.shape != (1, 1):
        raise ModelError("wrong-shape", f"{what} must return one value.", where={"force": spring.name})
    return value


def draw(drawing: Drawing, spring: SpringDamper) -> None:
    if spring.joint is None:
        damped = spring.law is not None or float(spring.damping) != 0.0
        drawing.spring(spring.name, spring.a, spring.b, damped=damped)
    elif spring.law is not None or float(spring.stiffness) != 0.0:
        drawing.joint_spring(spring.name, spring.joint)


FORCE_EQUATIONS.register("spring", ForceEquations(act, draw))
