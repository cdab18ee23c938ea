"""Contact of a point or a sphere with a plane."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any

from dalembert.core.errors import ModelError
from dalembert.expressions.quantities import atan2
from dalembert.model.bodies import (
    THRESHOLDS,
    Body,
    BodyFrame,
    Place,
    Scalar,
    Vector,
    axes_from,
    not_negative,
    positive,
)
from dalembert.model.forces.force import Force, force
from dalembert.model.options import Given, option


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
        if self.normal is not None and math.hypot(*map(float, self.normal)) < THRESHOLDS.length:
            raise ModelError("zero-length", f"normal of {self.what} has zero length.", where={"force": self.name})

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
