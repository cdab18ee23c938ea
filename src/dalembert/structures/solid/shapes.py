"""Shape functions and integration points of solid elements, from scikit-fem, in the point order of mesh files.

    x(ξ) = Σ N_i(ξ) x_i,   u(ξ) = Σ N_i(ξ) u_i        (isoparametric; Bathe 1996)

``kind``    points  scikit-fem element            integration of K, of M (degree)
tet4         4      linear                        1, 2
tet10       10      quadratic                     2, 4
hex8         8      trilinear                     3, 3   (2 x 2 x 2 points)
hex20       20      serendipity                   5, 5   (3 x 3 x 3 points)
hex27       27      triquadratic                  5, 5   (3 x 3 x 3 points)
quad4        4      bilinear, plane               3, 3   (2 x 2 points)
quad8        8      serendipity, plane            5, 5   (3 x 3 points)
tri6         6      quadratic, plane              2, 4

Points are numbered as in VTK: corners, middles of edges, middles of faces, centre. The reference cells are the unit
cube and the unit tetrahedron.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.core.errors import require_extra
from dalembert.structures.solid.element import HEX_CORNERS, SOLID_ELEMENTS

SAME = 1e-12  # distance in a reference cell of size 1: its coordinates are multiples of 1/2 or 1/3, good to ε


@lru_cache(maxsize=32)
def quadrature(kind: str, degree: int) -> tuple[FloatArray, FloatArray]:
    """Points (nq, d) and weights (nq,) that integrate polynomials of ``degree`` over the reference cell."""
    skfem = require_extra("skfem", "solids")
    points, weights = skfem.quadrature.get_quadrature(_make(kind).refdom, degree)
    return _readonly(np.ascontiguousarray(points.T)), _readonly(np.asarray(weights, dtype=np.float64))


def shapes(kind: str, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shape functions (nq, nv) and their derivatives (nq, nv, d) at reference positions ``at`` (nq, d)."""
    element = _make(kind)
    values = np.empty((len(at), SOLID_ELEMENTS[kind].size))
    slopes = np.empty((len(at), SOLID_ELEMENTS[kind].size, at.shape[1]))
    for i, j in enumerate(_numbers_there(kind, element)):
        value, slope = element.lbasis(np.ascontiguousarray(at.T), j)
        values[:, i], slopes[:, i] = value, np.asarray(slope).T
    return values, slopes


@lru_cache(maxsize=32)
def at_quadrature(kind: str, degree: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights (nq,), shape functions (nq, nv) and derivatives (nq, nv, d) at the integration points."""
    places, weights = quadrature(kind, degree)
    values, slopes = shapes(kind, places)
    return weights, _readonly(values), _readonly(slopes)


@lru_cache(maxsize=16)
def on_faces(kind: str, degree: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Weights (nq,), shape functions (nf, nq, nv), derivatives (nf, nq, nv, d), face directions (nf, d, d - 1).

    Directions are the two edges of a face in the reference cell; their cross product looks outwards. Of a plane cell
    the one direction of an edge; its cross product with z looks outwards.
    """
    skfem = require_extra("skfem", "solids")
    cell = SOLID_ELEMENTS[kind]
    flat = ("ElementQuad1" if cell.is_box else "ElementTriP1") if cell.dimension == 3 else "ElementLineP1"
    places, weights = skfem.quadrature.get_quadrature(getattr(skfem, flat)().refdom, degree)
    reference = cell.reference
    values, slopes, ways = [], [], []
    for face in cell.faces:
        origin = reference[face[0]]
        way = np.stack([reference[face[k]] - origin for k in (1, -1)[: cell.dimension - 1]], axis=1)
        value, slope = shapes(kind, origin + places.T @ way.T)
        values.append(value)
        slopes.append(slope)
        ways.append(way)
    return _readonly(np.asarray(weights)), np.stack(values), np.stack(slopes), np.stack(ways)


@lru_cache(maxsize=8)
def mirror_order(kind: str) -> IntArray:
    """Order of the points that turns a cell inside out (its mirror image)."""
    reference = SOLID_ELEMENTS[kind].reference
    image = reference.copy()
    image[:, 0] = 1.0 - reference[:, 0]
    if not SOLID_ELEMENTS[kind].is_box:
        image[:, :2] = reference[:, 1::-1]
    return _same_places(image, reference)


def face_points(kind: str) -> tuple[tuple[int, ...], ...]:
    """All points of every face, corners first."""
    cell = SOLID_ELEMENTS[kind]
    found = []
    for face in cell.faces:
        corners = cell.reference[list(face)]
        side = corners[1] - corners[0]
        normal = np.cross(side, corners[-1] - corners[0]) if cell.dimension == 3 else side[::-1] * [1, -1]
        flat = np.flatnonzero(np.abs((cell.reference - corners[0]) @ normal) < SAME)
        found.append((*face, *[int(i) for i in flat if i >= cell.corners]))
    return tuple(found)


def lattice(kind: str) -> tuple[IntArray, int]:
    """Points of a box or square as places (nv, d) on a grid with 1 or 2 steps per side, and that number of steps."""
    steps = 1 if SOLID_ELEMENTS[kind].size == SOLID_ELEMENTS[kind].corners else 2
    return np.rint(SOLID_ELEMENTS[kind].reference * steps).astype(np.intp), steps


def corner_permutations() -> tuple[tuple[int, int, int, int], ...]:
    """Six right-handed tetrahedra (corners of a hexahedron) around its diagonal 0-6; neighbours match."""
    grid = {place: i for i, place in enumerate(HEX_CORNERS)}
    found = []
    for order in itertools.permutations(range(3)):
        path, place = [0], [0, 0, 0]
        for axis in order:
            place[axis] = 1
            path.append(grid[(place[0], place[1], place[2])])
        even = order in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
        found.append((path[0], path[1], path[2], path[3]) if even else (path[0], path[2], path[1], path[3]))
    return tuple(found)


def _make(kind: str) -> Any:
    """An element of scikit-fem of this kind."""
    skfem = require_extra("skfem", "solids")
    element = SOLID_ELEMENTS[kind].element
    return getattr(skfem, element)() if isinstance(element, str) else element()


def _numbers_there(kind: str, element: Any) -> IntArray:
    """Number in scikit-fem of every point of ours."""
    return _same_places(SOLID_ELEMENTS[kind].reference, np.asarray(element.doflocs, dtype=np.float64))


def _same_places(wanted: FloatArray, among: FloatArray) -> IntArray:
    distance = np.linalg.norm(wanted[:, None] - among[None], axis=2)
    nearest: IntArray = np.argmin(distance, axis=1)
    assert np.all(distance[np.arange(len(wanted)), nearest] < SAME) and len(set(nearest.tolist())) == len(wanted)
    return nearest


def _readonly(array: FloatArray) -> FloatArray:
    array.setflags(write=False)
    return array
