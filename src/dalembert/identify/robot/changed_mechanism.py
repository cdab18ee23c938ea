"""A mechanism with other inertias of its bodies and other friction and motors of its joints, in the same places.

Coordinates of places count from the centre of mass. Where it moves by c (body axes), every place of the body moves by
-c, so that joints, forces and sensors stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError, require_name
from dalembert.mechanics.tree.algorithms.regressor import ROTOR
from dalembert.model.bodies import Body, replace_places
from dalembert.model.forces.friction import Friction
from dalembert.model.forces.rotor import RotorInertia
from dalembert.model.mechanism import Mechanism


@dataclass(frozen=True)
class NewInertia:
    """mass [kg]; shift of the centre of mass in body axes [m]; inertia about the new one, body axes [kg m²].

    In the plane the inertia is one number.
    """

    mass: float
    shift: FloatArray
    inertia: FloatArray | float


def change_inertia(m: Mechanism, changes: Mapping[str, NewInertia]) -> Mechanism:
    """A copy of a mechanism with other inertias of some bodies; these bodies lose their shapes."""
    for name in changes:
        require_name("body", name, [body.name for body in m.bodies], f"mechanism {m.name!r}", error=ModelError)
    bodies = {id(m.ground): m.ground} | {
        id(body): _change_body(body, changes[body.name]) if body.name in changes else body for body in m.bodies
    }
    shifts = {id(body): changes[body.name].shift for body in m.bodies if body.name in changes}

    def move(value: Any) -> Any:
        if isinstance(value, Body):
            return bodies[id(value)]
        if id(value.body) not in shifts:
            return value
        place = tuple(x - float(d) for x, d in zip(value.coordinates, shifts[id(value.body)], strict=True))
        return replace(value, body=bodies[id(value.body)], coordinates=place)

    duplicate = copy(m)
    duplicate.bodies = [bodies[id(body)] for body in m.bodies]
    for group in ("joints", "couplers", "drivers", "constraints", "variables", "forces", "sensors"):
        setattr(duplicate, group, [replace_places(element, move) for element in getattr(m, group)])
    duplicate.parameters, duplicate.start, duplicate.simulation = dict(m.parameters), dict(m.start), dict(m.simulation)
    return duplicate


def _change_body(body: Body, change: NewInertia) -> Body:
    c = np.asarray(change.shift, dtype=float)
    center = body.center or (0.0,) * body.dimension
    position: tuple[float, ...] = ()
    if body.position:
        if body.planar:
            cos, sin = np.cos(body.angle), np.sin(body.angle)
            turned = np.array([[cos, -sin], [sin, cos]]) @ c
        else:
            turned = np.array([[float(x) for x in row] for row in body.rotation]) @ c
        position = tuple(float(p + d) for p, d in zip(body.position, turned, strict=True))
    inertia: Any = change.inertia
    if not body.planar:
        inertia = tuple(tuple(float(x) for x in row) for row in np.asarray(inertia))
    mesh = body.mesh
    if mesh is not None:
        mesh = np.array(mesh) - np.append(c, [0.0] * (3 - len(c)))
        mesh.setflags(write=False)
    return replace(
        body, mass=float(change.mass), inertia=inertia if not body.planar else float(inertia),
        center=tuple(x + float(d) for x, d in zip(center, c, strict=True)), position=position, shape=None, mesh=mesh,
    )  # fmt: skip


def change_joint(m: Mechanism, label: str, change: Mapping[str, float], speed: float) -> None:
    """Add changes to the friction and motor inertia of a joint; all parts of one kind become one part."""
    joint = label if any(joint_here.name == label for joint_here in m.joints) else label.rpartition(".")[0]
    if {"viscous", "coulomb"} & set(change):
        friction = [f for f in m.forces if isinstance(f, Friction) and f.joint == joint]
        first = friction[0] if friction else Friction(_free_name(m, f"{label}_friction"), joint)
        viscous = float(first.viscous) + change.get("viscous", 0.0)
        effort = float(first.effort) + change.get("coulomb", 0.0)
        new = replace(first, viscous=max(viscous, 0.0), effort=max(effort, 0.0))
        if speed > 0 and first.static is None:
            new = replace(new, speed=speed)
        m.forces = [new if f is first else f for f in m.forces] if friction else [*m.forces, new]
    if ROTOR in change:
        rotors = [f for f in m.forces if isinstance(f, RotorInertia) and f.joint in (label, joint)]
        if rotors:
            ratio = float(rotors[0].ratio)
            inertia = max(float(rotors[0].inertia) + change[ROTOR] / ratio**2, 0.0)
            m.forces = [replace(f, inertia=inertia) if f is rotors[0] else f for f in m.forces]
        elif change[ROTOR] > 0:
            m.forces = [*m.forces, RotorInertia(_free_name(m, f"{label}_rotor"), label, inertia=change[ROTOR])]


def _free_name(m: Mechanism, wanted: str) -> str:
    names = {element.name for element in m.parts()}
    name = wanted.replace(".", "_")
    while name in names:
        name += "_"
    return name
