"""Contact of a point or a sphere with a plane, and of the collision shapes of a machine with the ground.

A sphere touches a plane with its lowest point, a capsule with those of the spheres at its ends. A box touches with its
corners, and a cylinder with eight points of each rim: upright they carry it, rolling they are an octagon.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.expressions.quantities import atan2
from dalembert.model.bodies import (
    Body,
    BodyFrame,
    CollisionShape,
    Place,
    Scalar,
    Vector,
    axes_from,
    length_of,
    name_of,
    not_negative,
    positive,
)
from dalembert.model.forces.force import Force, force
from dalembert.model.options import Given, option

if TYPE_CHECKING:
    from dalembert.model.mechanism import Mechanism


def _stiffness(given: Given) -> str:
    return "stiffness" if given["exponent"] == 1.0 else ""  # else N/m^exponent


@force("contact")
class Contact(Force):
    """One-sided contact of a point or a sphere with a plane: stiffness · depth^exponent · (1 + damping · speed).

    `normal` is in the axes of the plane's body (spatial default z, planar default y). The contact never pulls.
    """

    plane: Place = option("place", "a point of the plane")
    point: Place = option("point", "of the other body")
    _: KW_ONLY
    normal: Vector | None = option(
        "direction", "of the plane in its body's axes; y by default in the plane, z in space", default=None
    )
    radius: Scalar = option("length", "of a sphere about the point", default=0.0, check=not_negative)
    stiffness: Scalar = option(
        "", "force per depth^exponent: N/m where the exponent is 1", check=not_negative, refine=_stiffness
    )
    damping: Scalar = option("damping per speed", "per speed of closing", default=0.0, check=not_negative)
    exponent: Scalar = option("number", "of the depth; 1.5 for Hertz", default=1.0, check=positive)
    friction: Scalar = option("number", "Coulomb coefficient", default=0.0, check=not_negative)
    speed: Scalar = option("speed", "below which friction fades (regularisation)", default=1e-3, check=positive)
    measured = True

    def check(self) -> None:
        if isinstance(self.plane, Body):
            object.__setattr__(self, "plane", self.plane.at(*(0.0,) * self.plane.dimension))
        if self.normal is not None:
            length_of(self.normal, f"normal of {self.what}")

    def frame(self) -> BodyFrame:
        """A frame in the plane whose z (in the plane: y) is the normal."""
        plane: Any = self.plane
        if plane.body.planar:
            nx, ny = (0.0, 1.0) if self.normal is None else self.normal
            return BodyFrame(plane.body, plane.coordinates, angle=atan2(ny, nx) - math.pi / 2)
        if isinstance(plane, BodyFrame):
            return plane
        axes = axes_from((0, 0, 1) if self.normal is None else self.normal, what=f"normal of {self.what}")
        return BodyFrame(plane.body, plane.coordinates, axes)


# -- contacts of collision shapes with the ground
RIM = 8  # points of the rim of a cylinder
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
    sink: float = 1e-3,  # [m] depth at which one contact carries the weight of the whole machine
) -> list[Contact]:
    """See `Mechanism.add_ground`."""
    solid_bodies = {body.name: body for body in m.bodies if any(shape.kind != "plane" for shape in body.shapes)}
    chosen = list(solid_bodies) if bodies is None else [name_of(solid, "add_ground: bodies") for solid in bodies]
    for name in chosen:
        require_name("body with collision shapes", name, solid_bodies, m.name, error=ModelError)
    if not chosen:
        problem = f"no body of mechanism {m.name!r} has a sphere, capsule, cylinder or box as its collision shape."
        raise ModelError("no-shapes", problem, Advice("Add contacts of points with {}.", Argument("m.add_contact")))
    touching = [(solid_bodies[name], at, radius) for name in chosen for solid in solid_bodies[name].shapes
                for at, radius in contact_points(solid)]  # fmt: skip
    if height is None:
        height = next((solid.place[2] for solid in m.ground.shapes if solid.kind == "plane"), None)
    if height is None:
        height = min(_drawn_height(body, at) - radius for body, at, radius in touching)
    if stiffness is None:
        gravity = math.hypot(*(float(g) for g in m.gravity)) or 9.81
        stiffness = gravity * sum(float(body.mass) for body in m.bodies) / sink
        positive(stiffness, "add_ground: weight of the machine over the depth of contacts")
    counts: dict[str, int] = {}
    contacts = []
    for body, at, radius in touching:
        counts[body.name] = counts.get(body.name, 0) + 1
        place, name = m.ground.at(0.0, 0.0, height), f"{body.name}.ground{counts[body.name]}"
        contacts.append(
            m.add_contact(name, place, body.at(*at.tolist()), radius=radius, stiffness=stiffness, **options)
        )
    return contacts


def _drawn_height(body: Body, at: Any) -> float:
    place = np.array(body.position or (0.0, 0.0, 0.0)) + np.array(body.rotation) @ (
        at - np.array([float(c) for c in body.center or (0.0, 0.0, 0.0)])
    )
    return float(place[2])
