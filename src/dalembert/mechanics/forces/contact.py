"""Contact with a plane: normal force k δⁿ (1 + d δ̇), not negative; regularised friction against the slip.

The form of the damping is that of Hunt and Crossley 1975.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from dalembert.equations import DryFriction
from dalembert.mechanics.forces.force_equations import FORCE_EQUATIONS, ForceBuilder, ForceEquations
from dalembert.model.forces.contact import Contact
from dalembert.model.joints import Joint

TINY = 1e-300  # added to a depth of zero: its power has a derivative


def act(builder: ForceBuilder, contact: Contact) -> None:
    host, space = builder.host, builder.space
    plane, point = contact.frame(), contact.point
    on_plane, on_body = host.attach(plane), host.attach(point)
    E = on_plane.pose.R @ host.frame_axes(plane)
    normal = E[:, 1] if space.planar else E[:, 2]
    touch = on_body.position - host.number(contact.radius) * normal
    slip = on_body.velocity_of(touch) - on_plane.velocity_of(touch)
    depth = -ca.dot(normal, touch - on_plane.position)
    closing = -ca.dot(normal, slip)
    safe = ca.fmax(depth, 0)
    exponent: Any = host.number(contact.exponent)
    elastic = safe if isinstance(exponent, float) and exponent == 1.0 else (safe + TINY) ** exponent
    spring = ca.if_else(depth > 0, host.number(contact.stiffness) * elastic, 0)
    damped = spring * ca.fmax(host.number(contact.damping) * closing, -1)
    push = spring + damped
    builder.tensions[contact.name] = (push, "N")
    builder.potential = builder.potential + spring * safe / (exponent + 1)
    total = damped * normal
    mu = host.number(contact.friction)
    if not (isinstance(mu, float) and mu == 0.0):
        along = slip - ca.dot(normal, slip) * normal
        total = total - mu * push * along / ca.sqrt(ca.dot(along, along) + host.number(contact.speed) ** 2)
    for value, has in ((spring * normal, True), (total, False)):
        builder.push(point, value, at=touch, has_potential=has)
        builder.push(plane, -value, at=touch, has_potential=has)


def dry(contact: Contact, joints: Mapping[str, Joint]) -> list[DryFriction]:
    if float(contact.friction) <= 0:
        return []
    return [DryFriction(contact.name, "", -1, "N", float(contact.speed))]


FORCE_EQUATIONS.register("contact", ForceEquations(act, dry=dry))
