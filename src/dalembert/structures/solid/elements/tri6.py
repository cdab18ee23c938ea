"""Quadratic triangle of 6 points, plane."""

from __future__ import annotations

from dalembert.core.findings import Advice, Argument
from dalembert.structures.solid.element import SOLID_ELEMENTS, Locking, make_triangle

TRI6 = make_triangle(
    "tri6", "ElementTriP2", 1, stiffness_degree=2, mass_degree=4, stress_degree=2,
    locking=Locking(0.49, Advice("Use a finer mesh, or quad8 cells with {}.", Argument("quadrature", 3))),
    file_types=("triangle6",), skfem_meshes=("MeshTri2",),
)  # fmt: skip

SOLID_ELEMENTS.register("tri6", TRI6)
