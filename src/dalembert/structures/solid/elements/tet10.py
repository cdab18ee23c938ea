"""Quadratic tetrahedron of 10 points."""

from __future__ import annotations

from dalembert.core.findings import Advice, Argument
from dalembert.structures.solid.element import SOLID_ELEMENTS, Locking, make_tetrahedron

TET10 = make_tetrahedron(
    "tet10", "ElementTetP2", 1, stiffness_degree=2, mass_degree=4, stress_degree=2,
    locking=Locking(0.49, Advice("Use a finer mesh, or hex20 cells with {}.", Argument("quadrature", 3))),
    file_types=("tetra10",), skfem_meshes=("MeshTet2",),
)  # fmt: skip

SOLID_ELEMENTS.register("tet10", TET10)
