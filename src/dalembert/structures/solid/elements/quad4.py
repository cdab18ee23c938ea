"""Bilinear quadrilateral of 4 points, plane, with incompatible bending modes; integrated at 2 x 2 points."""

from __future__ import annotations

from dalembert.core.findings import Advice, Argument
from dalembert.structures.solid.element import SOLID_ELEMENTS, Locking, make_quadrilateral

QUAD4 = make_quadrilateral(
    "quad4", "ElementQuad1", 0, stiffness_degree=3, mass_degree=3, stress_degree=3, incompatible=True,
    locking=Locking(0.4, Advice("Leave incompatible modes on: {}.", Argument("incompatible", True))),
    file_types=("quad",), skfem_meshes=("MeshQuad1",),
)  # fmt: skip

SOLID_ELEMENTS.register("quad4", QUAD4)
