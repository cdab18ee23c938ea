"""Meshes of solids: points, cells of one kind, and named sets of them.

A mesh is checked once, when it is made: every cell is right-handed at its integration points and corners
(det ∂x/∂ξ > 0; cells numbered inside out are renumbered, others refused), quadratic cells have their middle points on
their edges, and every point belongs to a cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.core.arguments import matrix
from dalembert.core.arrays import FloatArray, IntArray, assign, frozen
from dalembert.core.declare import anything, mapping
from dalembert.core.errors import DataError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.structures.solid import shapes as solid_shapes
from dalembert.structures.solid.element import SOLID_ELEMENTS

Where = str | Sequence[int] | NDArray[Any] | Callable[[FloatArray, FloatArray, FloatArray], Any]

_CONDITION = re.compile(r"\s*([xyz])\s*(<=|>=|==|=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")
# A condition such as x=0 is met within this part of the largest side of the mesh.
PLANE = 1e-6
FLAT = 1e-12  # volume of an element over its longest side cubed: its edges are parallel to rounding


@frozen(init=False)
class Mesh:
    """Points and solid cells of one kind; frozen.

    Parameters
    ----------
    points : (np, 3) positions [m]; of plane cells also (np, 2), and all have the same z.
    cells : (ne, nv) numbers of points from 0, in the order of VTK: corners, middles of edges, of faces, centre.
    kind : name of a solid element, one of `SOLID_ELEMENTS`: ``"hex8"``, ``"tet10"``, ...
    point_sets, cell_sets : named numbers of points and of cells.
    name : shown in messages.

    Attributes
    ----------
    turned : number of cells that were numbered inside out and have been renumbered.
    dropped : number of points that belonged to no cell and were left out.

    Examples
    --------
    >>> box_mesh((2, 1, 1), (4, 2, 2))
    Mesh(45 points, 16 hex8 cells, 2 x 1 x 1 m)
    """

    points: FloatArray
    cells: IntArray
    kind: str
    point_sets: Mapping[str, IntArray]
    cell_sets: Mapping[str, IntArray]
    name: str
    turned: int
    dropped: int

    def __init__(
        self,
        points: ArrayLike,
        cells: ArrayLike,
        kind: str,
        *,
        point_sets: Mapping[str, ArrayLike] | None = None,
        cell_sets: Mapping[str, ArrayLike] | None = None,
        name: str = "mesh",
    ) -> None:
        size = SOLID_ELEMENTS[kind].size
        if SOLID_ELEMENTS[kind].dimension == 2 and np.shape(points)[1:] == (2,):
            points = np.pad(np.array(points), ((0, 0), (0, 1)))
        where = _numbers("points", points, 3, np.float64, name)
        if SOLID_ELEMENTS[kind].dimension == 2 and len(where) and np.ptp(where[:, 2]) > PLANE * np.ptp(where[:, :2]):
            raise DataError("not-planar", f"{name} has plane cells: z of all points must be the same.")
        corners = _numbers("cells", cells, size, np.intp, name)
        if not len(corners):
            raise DataError("empty", f"{name} has no cells.")
        if corners.min() < 0 or corners.max() >= len(where):
            bad = int(np.argmax((corners < 0).any(axis=1) | (corners >= len(where)).any(axis=1)))
            raise DataError(
                "bad-mesh", f"cell {bad} of {name} names point {corners[bad].max()}, but there are {len(where)} points."
            )
        points_in = _sets("point", point_sets, len(where), name)
        cells_in = _sets("cell", cell_sets, len(corners), name)
        used = np.zeros(len(where), dtype=bool)
        used[corners] = True
        number = np.cumsum(used) - 1
        where, corners = where[used], number[corners]
        points_in = {key: number[members[used[members]]] for key, members in points_in.items()}
        corners, turned = _orient_cells(where, corners, kind, name)
        _middles_on_edges(where, corners, kind, name)
        for members in (*points_in.values(), *cells_in.values()):
            members.setflags(write=False)
        assign(
            self, points=where, cells=corners, kind=kind, point_sets=points_in, cell_sets=cells_in, name=name,
            turned=turned, dropped=int((~used).sum()),
        )  # fmt: skip

    # -- which points, which faces -----------------------------------------------------------------------------------

    def select(self, where: Where) -> IntArray:
        """Numbers of the points that ``where`` means.

        Parameters
        ----------
        where : the name of a point set or cell set; conditions such as ``"x=0"`` or ``"z=0.5, x<=1"`` (all must hold,
            within 1e-6 of the largest side of the mesh); a function of arrays ``(x, y, z)`` that returns bools; or
            the numbers of the points themselves.

        Examples
        --------
        >>> box_mesh((2, 1, 1), (2, 1, 1)).select("x=2, y=0").tolist()
        [2, 8]
        """
        if isinstance(where, str):
            found = self._named_points(where)
        elif callable(where):
            mask = np.asarray(where(*self.points.T))
            if mask.shape != (len(self.points),) or mask.dtype != bool:
                raise DataError(
                    "wrong-type",
                    f"the function for points of {self.name} must give one bool per point, got {mask!r:.80}.",
                )
            found = np.flatnonzero(mask)
        else:
            found = _sets("point", {"given": where}, len(self.points), self.name)["given"]
        if not len(found):
            raise DataError(
                "nothing-selected", f"no point of {self.name} meets {where!r}; it reaches from {self._reach()}."
            )
        return found

    def _named_points(self, where: str) -> IntArray:
        if where in self.point_sets:
            return self.point_sets[where]
        if where in self.cell_sets:
            return np.unique(self.cells[self.cell_sets[where]])
        conditions = [_CONDITION.fullmatch(part) for part in re.split(r",|\band\b|&", where)]
        met = np.ones(len(self.points), dtype=bool)
        near = PLANE * float(np.ptp(self.points, axis=0).max())
        for condition in conditions:
            if condition is None:
                known = [*self.point_sets, *self.cell_sets]
                raise DataError(
                    "unknown-name",
                    unknown_name("set or condition", where, known, self.name),
                    Advice("A condition reads {}.", Argument("where", "x=0, z<=0.5")),
                )
            axis, sign, value = condition.groups()
            side = self.points[:, "xyz".index(axis)] - float(value)
            met &= {"=": np.abs(side) <= near, "==": np.abs(side) <= near, "<": side < -near, ">": side > near,
                    "<=": side <= near, ">=": side >= -near}[sign]  # fmt: skip
        return np.flatnonzero(met)

    def cells_in(self, name: str) -> IntArray:
        """Numbers of the cells of a set."""
        if name not in self.cell_sets:
            raise DataError("unknown-name", unknown_name("cell set", name, self.cell_sets, self.name))
        return self.cell_sets[name]

    def surface(self) -> tuple[IntArray, IntArray]:
        """Faces that belong to one cell only: their cells (nf,) and their numbers in the cell (nf,)."""
        faces = SOLID_ELEMENTS[self.kind].faces
        corners = np.sort(np.stack([self.cells[:, list(face)] for face in faces], axis=1), axis=2)
        flat = corners.reshape(-1, corners.shape[2])
        _, index, times = np.unique(flat, axis=0, return_index=True, return_counts=True)
        outer = np.sort(index[times == 1])
        return outer // len(faces), outer % len(faces)

    def skin(self) -> tuple[IntArray, IntArray]:
        """What pictures show: the surface, or all cells of a plane mesh, by cell (nf,) and number of the face (nf,)."""
        every = np.arange(len(self.cells))
        return self.surface() if SOLID_ELEMENTS[self.kind].dimension == 3 else (every, 0 * every)

    def faces_at(self, where: Where) -> tuple[IntArray, IntArray]:
        """Faces of the surface all of whose corners are among ``select(where)``: cells and face numbers."""
        member = np.zeros(len(self.points), dtype=bool)
        member[self.select(where)] = True
        cells, faces = self.surface()
        corners = np.array(SOLID_ELEMENTS[self.kind].faces)[faces]
        met = member[self.cells[cells[:, None], corners]].all(axis=1)
        if not met.any():
            raise DataError("nothing-selected", f"no face of the surface of {self.name} lies in {where!r}.")
        return cells[met], faces[met]

    # -- sizes -------------------------------------------------------------------------------------------------------

    def volumes(self) -> FloatArray:
        """(ne,) volume of every cell [m³], of a plane cell its area [m²]."""
        weights, _, slopes = solid_shapes.at_quadrature(self.kind, SOLID_ELEMENTS[self.kind].mass_degree)
        return np.asarray(_determinants(self.points, self.cells, slopes) @ weights)

    def scale(self, factor: float) -> Mesh:
        """The same mesh with all positions multiplied: ``mesh.scale(1e-3)`` for a file in millimetres."""
        if not np.isfinite(factor) or factor <= 0.0:
            raise DataError("not-positive", f"the scale of {self.name} must be a positive number, got {factor!r}.")
        return self.replace(points=self.points * factor)

    def replace(self, **changes: Any) -> Mesh:
        """A copy with some of the parameters changed."""
        given = {key: getattr(self, key) for key in ("points", "cells", "kind", "point_sets", "cell_sets", "name")}
        return Mesh(**{**given, **changes})

    def _reach(self) -> str:
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        return f"({', '.join(f'{v:g}' for v in low)}) to ({', '.join(f'{v:g}' for v in high)}) m"

    def __repr__(self) -> str:
        sides = " x ".join(f"{side:g}" for side in np.ptp(self.points, axis=0))
        named = [*self.point_sets, *self.cell_sets]
        sets = f", sets: {', '.join(named[:8])}{', ...' if len(named) > 8 else ''}" if named else ""
        return f"Mesh({len(self.points)} points, {len(self.cells)} {self.kind} cells, {sides} m{sets})"


def box_mesh(
    size: Sequence[float],
    divisions: Sequence[int],
    kind: str = "hex8",
    *,
    origin: Sequence[float] = (0.0, 0.0, 0.0),
    name: str = "box",
) -> Mesh:
    """Mesh of a box, its edges along x, y, z, or of a rectangle.

    Parameters
    ----------
    size : (3,) lengths of the sides [m]; (2,) for plane cells.
    divisions : (3,) or (2,) cells along each side; each of these boxes is cut into six tetrahedra or two triangles.
    kind : see :class:`Mesh`.
    origin : (3,) the corner with the smallest coordinates [m].

    Examples
    --------
    >>> box_mesh((1, 1, 1), (2, 2, 2), "tet10")
    Mesh(125 points, 48 tet10 cells, 1 x 1 x 1 m)
    """
    sides, steps, corner = (
        matrix(what, value, 1, None, "one along each side", vector="row")[0]
        for what, value in (("size", size), ("divisions", divisions), ("origin", origin))
    )
    cell = SOLID_ELEMENTS[kind]
    d = cell.dimension
    if sides.shape != (d,) or not np.all(np.isfinite(sides)) or np.any(sides <= 0.0):
        raise DataError("not-positive", f"size of {name} must be {d} positive lengths, got {size!r}.")
    if steps.shape != (d,) or np.any(steps < 1) or np.any(steps != np.rint(steps)):
        raise DataError(
            "not-a-count", f"divisions of {name} must be {d} whole numbers of at least 1, got {divisions!r}."
        )
    if corner.shape != (3,) or not np.all(np.isfinite(corner)):
        raise DataError("wrong-shape", f"origin of {name} must be three finite numbers, got {origin!r}.")
    count = steps.astype(np.intp)
    fine = 1 if cell.size == cell.corners else 2
    pattern = _pattern(kind)
    places = pattern.reshape(-1, d)
    first = np.stack(np.meshgrid(*[np.arange(c) * fine for c in count[::-1]], indexing="ij"), axis=-1)
    first = first.reshape(-1, d)[:, ::-1]  # z slowest
    grid = count * fine + 1
    spot = first[:, None, :] + places[None]
    number = spot @ np.concatenate([[1], np.cumprod(grid[:-1])])
    axes = np.meshgrid(*[np.arange(g) for g in grid[::-1]], indexing="ij")
    points = np.broadcast_to(corner, (grid.prod(), 3)).copy()
    points[:, :d] += np.stack([axis.ravel() for axis in axes[::-1]], axis=1) / (count * fine) * sides
    return Mesh(points, number.reshape(-1, cell.size), kind, name=name)


def mesh_from_skfem(mesh: Any, *, name: str = "mesh") -> Mesh:
    """A mesh of scikit-fem (`MeshHex`, `MeshTet2`, `MeshQuad`, ...); boundaries and subdomains become sets."""
    kinds = {name: kind for kind, cell in SOLID_ELEMENTS.items() for name in cell.skfem_meshes}
    kind = kinds.get(type(mesh).__name__)
    if kind is None:
        raise DataError(
            "wrong-type", f"a scikit-fem mesh of solids is one of {', '.join(kinds)}, got {type(mesh).__name__}."
        )
    places = np.asarray(mesh.elem.doflocs, dtype=float)
    order = solid_shapes._same_places(SOLID_ELEMENTS[kind].reference, places)
    cells = np.asarray(mesh.dofs.element_dofs).T[:, order]
    points = {key: np.unique(mesh.facets[:, facets]) for key, facets in (mesh.boundaries or {}).items()}
    return Mesh(mesh.doflocs.T, cells, kind, point_sets=points, cell_sets=mesh.subdomains or {}, name=name)


def _pattern(kind: str) -> IntArray:
    """Places of the points of the cells in one box, (cells, nv, d), on a grid of 1 or 2 steps per side."""
    if SOLID_ELEMENTS[kind].is_box:
        return solid_shapes.lattice(kind)[0][None]
    if SOLID_ELEMENTS[kind].dimension == 2:
        corners = solid_shapes.lattice("quad4")[0][np.array(((0, 1, 2), (0, 2, 3)))]
    else:
        corners = solid_shapes.lattice("hex8")[0][np.array(solid_shapes.corner_permutations())]
    if not SOLID_ELEMENTS[kind].edges:
        return np.asarray(corners)
    ends = np.array([edge[:2] for edge in SOLID_ELEMENTS[kind].edges])
    return np.concatenate([2 * corners, corners[:, ends[:, 0]] + corners[:, ends[:, 1]]], axis=1)


def _numbers(what: str, value: ArrayLike, columns: int, dtype: Any, name: str) -> Any:
    array = np.array(value)
    if array.ndim != 2 or array.shape[1] != columns:
        raise DataError("wrong-shape", f"{what} of {name} must have the shape (any, {columns}), got {array.shape}.")
    if array.size and not np.issubdtype(array.dtype, np.number):
        raise DataError("not-a-number", f"{what} of {name} must be numbers, got {array.dtype}.")
    if array.size and not np.all(np.isfinite(array)):
        bad = int(np.argmax(~np.isfinite(array).all(axis=1)))
        raise DataError("not-finite", f"{what} of {name} must be finite; row {bad} is {array[bad].tolist()}.")
    if dtype is np.intp and array.size and np.any(array != np.rint(array)):
        raise DataError("not-a-count", f"{what} of {name} must be whole numbers.")
    return array.astype(dtype)


def _sets(what: str, given: Mapping[str, ArrayLike] | None, count: int, name: str) -> dict[str, IntArray]:
    sets = {}
    for key, members in mapping("set", anything)(f"{what} sets of {name}", given).items():
        array = np.asarray(members)
        if array.dtype == bool and array.shape == (count,):
            array = np.flatnonzero(array)
        if array.size and (array.ndim != 1 or not np.issubdtype(array.dtype, np.integer)):
            raise DataError("not-a-count", f"{what} set {key!r} of {name} must be a list of whole numbers.")
        if array.size and (array.min() < 0 or array.max() >= count):
            raise DataError("out-of-range", f"{what} set {key!r} of {name} reaches outside 0 to {count - 1}.")
        sets[str(key)] = np.unique(array.astype(np.intp))
    return sets


def _determinants(points: FloatArray, cells: IntArray, slopes: FloatArray) -> FloatArray:
    """(ne, nq) determinants of ∂x/∂ξ, a few thousand cells at a time."""
    found = [
        np.linalg.det(np.einsum("eia,qib->eqab", points[cells[k : k + 4000], : slopes.shape[2]], slopes, optimize=True))
        for k in range(0, len(cells), 4000)
    ]
    return np.concatenate(found)


def _orient_cells(points: FloatArray, cells: IntArray, kind: str, name: str) -> tuple[IntArray, int]:
    """Cells with a positive determinant everywhere, and the number of renumbered ones."""
    # also at the corners: a collapsed edge shows there and nowhere else
    places = [
        solid_shapes.quadrature(kind, SOLID_ELEMENTS[kind].mass_degree)[0],
        SOLID_ELEMENTS[kind].reference[: SOLID_ELEMENTS[kind].corners],
    ]
    _, slopes = solid_shapes.shapes(kind, np.concatenate(places))
    sizes = _determinants(points, cells, slopes)
    inside_out = (sizes < 0.0).all(axis=1)
    if inside_out.any():
        cells[inside_out] = cells[inside_out][:, solid_shapes.mirror_order(kind)]
        sizes[inside_out] = _determinants(points, cells[inside_out], slopes)
    side = np.ptp(points[cells], axis=1).max(axis=1)
    bad = np.flatnonzero((sizes <= FLAT * side[:, None] ** slopes.shape[2]).any(axis=1))
    if len(bad):
        first = int(bad[0])
        raise DataError(
            "bad-mesh",
            f"{len(bad)} cell{'s' if len(bad) > 1 else ''} of {name} cannot be used, first cell {first} with points "
            f"{cells[first].tolist()}: it is flat, folded or numbered in another order "
            f"(det ∂x/∂ξ from {sizes[first].min():.3g} to {sizes[first].max():.3g}, must be positive).",
        )
    return cells, int(inside_out.sum())


def _middles_on_edges(points: FloatArray, cells: IntArray, kind: str, name: str) -> None:
    """A middle point further than half an edge from the middle of its edge is one numbered in another order."""
    for a, b, middle in SOLID_ELEMENTS[kind].edges:
        ends = points[cells[:, [a, b]]]
        off = np.linalg.norm(points[cells[:, middle]] - ends.mean(axis=1), axis=1)
        bad = np.flatnonzero(off > 0.5 * np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1))
        if len(bad):
            raise DataError(
                "bad-mesh",
                f"cell {bad[0]} of {name}: point {cells[bad[0], middle]} should lie in the middle between points "
                f"{cells[bad[0], a]} and {cells[bad[0], b]}. The points of quadratic cells come in the order of VTK.",
            )
