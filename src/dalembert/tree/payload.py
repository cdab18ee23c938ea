"""A payload on a body of a tree: mass and inertia that are not part of the mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice
from dalembert.expressions import Array
from dalembert.model import BodyFrame, Point
from dalembert.model.bodies import inertia_problems, positive, read_inertia, vector


@dataclass(frozen=True)
class Payload:
    """Mass held by a body, as functions of `da.tree` take it; changing its numbers compiles nothing.

    place : on the body, as for `da.tree.forward_kinematics`.  mass [kg].
    center : its centre of mass from the place, in the axes of the frame there [m]; the place itself by default.
    inertia : about its centre of mass in these axes [kg m²]: a number, three, a matrix or a shape (``da.box(...)``).
    """

    place: str | Point | BodyFrame
    mass: float
    center: Sequence[float] | None = None
    inertia: Any = 0.0

    def numbers(self, planar: bool) -> Array:
        """Mass, centre of mass and inertia in one row."""
        size, mass = (2 if planar else 3), float(positive(self.mass, "mass of a payload"))
        center = vector((0.0,) * size if self.center is None else self.center, size, "center of a payload")
        inertia: Any = read_inertia("payload", mass, self.inertia, planar)[1]
        for problem in inertia_problems("payload", mass, inertia, planar):
            if problem.code != "not-physical":  # identified loads may be so, with a mass matrix that is positive
                raise ModelError.of(replace(problem, advice=(Advice("Give it about the centre of mass."),)))
        own = [inertia] if planar else [inertia[i][j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        return np.array([float(x) for x in (mass, *center, *own)])
