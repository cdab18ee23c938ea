"""Kinds of solid elements: a declaration of each, and their registry.

    SOLID_ELEMENTS.register("hex8", make_hexahedron("hex8", "ElementHex1", stiffness_degree=3, mass_degree=3, ...))

The files of `elements/` declare the built-in kinds; modules that installed packages name as entry points of the group
``dalembert.solid_elements`` declare others. Points are numbered as in VTK: corners, middles of edges, middles of faces,
centre. The reference cells are the unit cube and the unit tetrahedron, for plane elements the unit square and the unit
triangle; the faces of a plane cell are its edges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice
from dalembert.core.registry import Registry

TET_CORNERS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
TET_EDGES = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
HEX_CORNERS = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
HEX_EDGES = (
    (0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7),
)  # fmt: skip
QUAD_CORNERS, QUAD_EDGES = ((0, 0), (1, 0), (1, 1), (0, 1)), ((0, 1), (1, 2), (2, 3), (3, 0))
TRI_CORNERS, TRI_EDGES = ((0, 0), (1, 0), (0, 1)), ((0, 1), (1, 2), (2, 0))
# Corners of the faces, seen from outside counter-clockwise; hexahedra in the order -x +x -y +y -z +z.
TET_FACES = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))
HEX_FACES = ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7))
QUAD_FACES = ((3, 0), (1, 2), (0, 1), (2, 3))  # from corner to corner counter-clockwise, in the order -x +x -y +y


@dataclass(frozen=True)
class Locking:
    """Poisson's ratio from which cells lock: they resist a change of shape because they cannot keep their volume.

    limit : from the bore of a thick cylinder, 6 cells through its wall: stresses 10 % off with linear cells at 0.4
        (half the displacement is lost at 0.499), 4 % with tet10 at 0.49, 30 % with hex20 and hex27 at 0.4999, more with
        fewer cells.
    remedy : an element that does not lock.  free_degree : integration of the stiffness up to which it does not lock.
    """

    limit: float
    remedy: Advice
    free_degree: int = 0


@dataclass(frozen=True)
class SolidElement:
    """One kind of solid element, isoparametric.

    element : name of a class of scikit-fem, or a function that makes an element of its interface.
    reference : (nv, d) positions of its points in the reference cell, d = 3, or 2 of a plane element.
    edges : (end, end, middle) of the points in the middle of edges.  faces : corners of every face, or plane edge.
    stiffness_degree, mass_degree : of integration.  stress_degree : of the rule whose points carry the most accurate
        stresses (Barlow 1976).
    file_types, skfem_meshes : names of its cells in mesh files, and classes of meshes of scikit-fem that have them.
    incompatible : whether it has incompatible bending modes.
    """

    name: str
    element: str | Callable[[], Any]
    corners: int
    reference: FloatArray
    edges: tuple[tuple[int, int, int], ...]
    faces: tuple[tuple[int, ...], ...]
    stiffness_degree: int
    mass_degree: int
    stress_degree: int
    locking: Locking | None = None
    file_types: tuple[str, ...] = ()
    skfem_meshes: tuple[str, ...] = ()
    incompatible: bool = False

    @property
    def size(self) -> int:
        """Points per cell."""
        return len(self.reference)

    @property
    def dimension(self) -> int:
        """3, or 2 of a plane element."""
        return int(self.reference.shape[1])

    @property
    def is_box(self) -> bool:
        """Whether the reference cell is a cube or a square, or a simplex."""
        return self.corners == int(2**self.dimension)

    @property
    def drawn(self) -> tuple[tuple[int, ...], ...]:
        """Corners of the faces that pictures show: a plane cell shows itself."""
        return self.faces if self.dimension == 3 else (tuple(range(self.corners)),)


SOLID_ELEMENTS: Registry[SolidElement] = Registry(
    "kind of solid element",
    package="dalembert.structures.solid.elements",
    group="dalembert.solid_elements",
    order=lambda kind: (kind.corners, kind.size),
    error=DataError,
)


def make_hexahedron(name: str, element: str | Callable[[], Any], level: int, **values: Any) -> SolidElement:
    """A hexahedron: ``level`` 0 has corners, 1 also middles of edges, 2 also middles of faces and the centre."""
    return _make(name, element, level, (HEX_CORNERS, HEX_EDGES, HEX_FACES), values)


def make_tetrahedron(name: str, element: str | Callable[[], Any], level: int, **values: Any) -> SolidElement:
    """A tetrahedron: ``level`` 0 has corners, 1 also middles of edges."""
    return _make(name, element, level, (TET_CORNERS, TET_EDGES, TET_FACES), values)


def make_quadrilateral(name: str, element: str | Callable[[], Any], level: int, **values: Any) -> SolidElement:
    """A plane quadrilateral: ``level`` 0 has corners, 1 also middles of edges, 2 also the centre."""
    return _make(name, element, level, (QUAD_CORNERS, QUAD_EDGES, QUAD_FACES), values)


def make_triangle(name: str, element: str | Callable[[], Any], level: int, **values: Any) -> SolidElement:
    """A plane triangle: ``level`` 0 has corners, 1 also middles of edges."""
    return _make(name, element, level, (TRI_CORNERS, TRI_EDGES, TRI_EDGES), values)


def _make(
    name: str, element: str | Callable[[], Any], level: int, cell: tuple[Any, Any, Any], values: dict[str, Any]
) -> SolidElement:
    corners, pairs, faces = np.array(cell[0], dtype=float), cell[1], cell[2]
    places = [corners]
    if level >= 1:
        places.append(np.array([corners[list(pair)].mean(axis=0) for pair in pairs]))
    if level >= 2:
        if corners.shape[1] == 3:
            places.append(np.array([corners[list(face)].mean(axis=0) for face in faces]))
        places.append(corners.mean(axis=0)[None])
    edges = tuple((a, b, len(corners) + k) for k, (a, b) in enumerate(pairs)) if level else ()
    reference = np.concatenate(places)
    reference.setflags(write=False)
    return SolidElement(name, element, len(corners), reference, edges, faces, **values)
