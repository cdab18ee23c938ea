"""Linear tetrahedron of 4 points."""

from __future__ import annotations

from dalembert.core.findings import Advice
from dalembert.structures.solid.element import SOLID_ELEMENTS, Locking, make_tetrahedron

TET4 = make_tetrahedron(
    "tet4", "ElementTetP1", 0, stiffness_degree=1, mass_degree=2, stress_degree=1,
    locking=Locking(0.4, Advice("Use tet10 or hex8 cells.")),
    file_types=("tetra", "tetra4"), skfem_meshes=("MeshTet1",),
)  # fmt: skip

SOLID_ELEMENTS.register("tet4", TET4)
