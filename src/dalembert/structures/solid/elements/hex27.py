"""Triquadratic hexahedron of 27 points; integrated at 3 x 3 x 3 points."""

from __future__ import annotations

from dalembert.core.findings import Advice, Argument
from dalembert.structures.solid.element import SOLID_ELEMENTS, Locking, make_hexahedron

HEX27 = make_hexahedron(
    "hex27", "ElementHex2", 2, stiffness_degree=5, mass_degree=5, stress_degree=3,
    locking=Locking(0.49, Advice("Use hex20 cells with {}.", Argument("quadrature", 3))),
    file_types=("hexahedron27",), skfem_meshes=("MeshHex2",),
)  # fmt: skip

SOLID_ELEMENTS.register("hex27", HEX27)
