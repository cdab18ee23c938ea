"""Friction of a joint: viscous, and Coulomb in proportion to the joint's own reaction."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from dalembert.equations import DryFriction
from dalembert.expressions import Expr
from dalembert.mechanics.forces.force_equations import FORCE_EQUATIONS, ForceBuilder, ForceEquations
from dalembert.model.forces.friction import Friction
from dalembert.model.joints import Joint

SX = ca.SX
SMOOTH = 1e-3  # m/s or rad/s: the regularised law where the user chose exact stick and slip
NO_LOAD = 1e-24  # [N²] under the root of a reaction: its derivative exists without load, below 1e-12 N nothing changes


def act(builder: ForceBuilder, friction: Friction) -> None:
    host = builder.host
    joint = host.joints[friction.joint][0]
    coulomb, viscous = host.number(friction.coulomb), host.number(friction.viscous)
    static = coulomb if friction.static is None else host.number(friction.static)
    speed = SMOOTH if friction.speed is None else host.number(friction.speed)
    dry = dict(friction.dry_coordinates(joint))
    normal = _normal(builder, friction, joint) if reactions(friction) else 0.0
    for coordinate in [f"{joint.name}.{c[0]}" for c in joint.coordinates]:
        measured = host.measure(coordinate)
        turning = measured.unit == "rad"
        effort, holding = SX(-viscous * measured.rate), SX(0)
        if coordinate in dry:
            arm = 1.0 if not turning else 0.0 if friction.radius is None else host.number(friction.radius)
            load, own = arm * normal, host.number(friction.effort)
            direction = measured.rate / ca.sqrt(measured.rate**2 + speed**2)
            if (friction.name, coordinate) in host.sticking:  # of the equations of stick and slip
                row, direction = host.sticking[friction.name, coordinate]
                holding = host.lam[row]
            effort = effort - (coulomb * load + own) * direction
            builder.limits.append((measured.rate, SX(static * load + own), SX(coulomb * load + own)))
        builder.drive(measured, effort)
        unit = "N m" if turning else "N"
        builder.tensions.setdefault(friction.name, (effort + holding, unit))
        builder.efforts[friction.name, coordinate] = (effort + holding, unit)


def _normal(builder: ForceBuilder, friction: Friction, joint: Joint) -> Expr:
    """Reaction of the joint square to its motion, with the preload."""
    host = builder.host
    reaction, _, axes = host.reaction(friction.joint)
    local = axes.T @ reaction
    if builder.space.planar:
        sliding = any(unit == "m" for _, _, unit in joint.coordinates)
        across = ca.fabs(local[1]) if sliding else ca.sqrt(ca.dot(local, local) + NO_LOAD)
    else:
        across = ca.sqrt(local[0] ** 2 + local[1] ** 2 + NO_LOAD)
    return across + host.number(friction.preload)


def dry(friction: Friction, joints: Mapping[str, Joint]) -> list[DryFriction]:
    pairs = friction.dry_coordinates(joints[friction.joint])
    speed = None if friction.speed is None else float(friction.speed)
    found = []
    for name, unit in pairs:
        own = f"{friction.name}.{name.rpartition('.')[2]}" if len(pairs) > 1 else friction.name
        effort = "N m" if unit == "rad" else "N"
        found.append(DryFriction(friction.name, name, -1, effort, speed, sliding=f"{own}.sliding"))
    return found


def reactions(friction: Friction) -> list[str]:
    return [friction.joint] if float(friction.coulomb) > 0 else []


FORCE_EQUATIONS.register("friction", ForceEquations(act, dry=dry, reactions=reactions))
