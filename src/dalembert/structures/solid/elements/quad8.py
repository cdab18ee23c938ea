"""Serendipity quadrilateral of 8 points, plane; integrated at 3 x 3 points."""

from __future__ import annotations

from dalembert.core.findings import Advice, Argument
from dalembert.structures.solid.element import SOLID_ELEMENTS, Locking, make_quadrilateral

QUAD8 = make_quadrilateral(
    "quad8", "ElementQuadS2", 1, stiffness_degree=5, mass_degree=5, stress_degree=3,
    locking=Locking(0.49, Advice("Use {}.", Argument("quadrature", 3)), free_degree=3),
    file_types=("quad8",),
)  # fmt: skip

SOLID_ELEMENTS.register("quad8", QUAD8)
