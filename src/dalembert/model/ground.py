"""Contact of a machine with the ground, from the collision shapes of its bodies.

A sphere touches a plane with its lowest point, a capsule with those of the spheres at its ends. A box touches with its
corners, and a cylinder with eight points of each rim: upright they carry it, rolling they are an octagon.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.model.bodies import Body, CollisionShape, name_of, positive

if TYPE_CHECKING:
    from dalembert.model.forces.contact import Contact
    from dalembert.model.mechanism import Mechanism

RIM = 8  # points of the rim of a cylinder
SINK = 1e-3  # [m] depth at which one contact carries the weight of the whole machine
DAMPING = 1.0  # [s/m] of closing: an impact at 1 m/s returns some 60 % of its speed


def contact_points(shape: CollisionShape) -> Iterator[tuple[Any, float]]:
    """Places in the coordinates of ``body.at``, and the radius of a sphere about each [m]."""
    axes: FloatArray = np.array(shape.axes)
    place: FloatArray = np.array(shape.place)
    if shape.kind == "sphere":
        yield place, shape.size[0]
    elif shape.kind == "capsule":
        for end in (-1, 1):
            yield place + axes[:, 2] * end * shape.size[1] / 2, shape.size[0]
    elif shape.kind == "cylinder":
        for end in (-1, 1):
            for angle in np.arange(RIM) * math.tau / RIM:
                x, y = shape.size[0] * math.cos(angle), shape.size[0] * math.sin(angle)
                yield place + axes @ [x, y, end * shape.size[1] / 2], 0.0
    elif shape.kind == "box":
        for corner in np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1]), axis=-1).reshape(-1, 3):
            yield place + axes @ (corner * np.array(shape.size) / 2), 0.0


def add_ground(
    m: Mechanism,
    height: float | None,
    stiffness: Any,
    bodies: Iterable[str | Body] | None,
    options: dict[str, Any],
) -> list[Contact]:
    """See `Mechanism.add_ground`."""
    known = {body.name: body for body in m.bodies if any(shape.kind != "plane" for shape in body.shapes)}
    chosen = list(known) if bodies is None else [name_of(one, "add_ground: bodies") for one in bodies]
    for name in chosen:
        if name not in known:
            raise ModelError("unknown-name", unknown_name("body with collision shapes", name, known, m.name))
    if not chosen:
        problem = f"no body of mechanism {m.name!r} has a sphere, capsule, cylinder or box as its collision shape."
        raise ModelError("no-shapes", problem, Advice("Add contacts of points with {}.", Argument("m.add_contact")))
    touching = [(known[name], at, radius) for name in chosen for one in known[name].shapes
                for at, radius in contact_points(one)]  # fmt: skip
    if height is None:
        height = next((one.place[2] for one in m.ground.shapes if one.kind == "plane"), None)
    if height is None:
        height = min(_drawn_height(body, at) - radius for body, at, radius in touching)
    if stiffness is None:
        gravity = math.hypot(*(float(g) for g in m.gravity)) or 9.81
        stiffness = gravity * sum(float(body.mass) for body in m.bodies) / SINK
        positive(stiffness, "add_ground: weight of the machine over the depth of contacts")
    counts: dict[str, int] = {}
    made = []
    for body, at, radius in touching:
        counts[body.name] = counts.get(body.name, 0) + 1
        place, name = m.ground.at(0.0, 0.0, height), f"{body.name}.ground{counts[body.name]}"
        made.append(m.add_contact(name, place, body.at(*at.tolist()), radius=radius, stiffness=stiffness, **options))
    return made


def _drawn_height(body: Body, at: Any) -> float:
    place = np.array(body.position or (0.0, 0.0, 0.0)) + np.array(body.rotation) @ (
        at - np.array([float(c) for c in body.center or (0.0, 0.0, 0.0)])
    )
    return float(place[2])
