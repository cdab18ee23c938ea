"""Strains and stresses inside solid elements, from the displacements of the points.

    ε = B u (+ B_a a),   σ = D ε

Stresses are most accurate at the integration points of one degree less than the element (Barlow 1976): there they are
computed, fitted in every cell by a (tri)linear field, and the values of the cells that share a point averaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.core.errors import DataError
from dalembert.structures.assembly import element_assembly as assembly
from dalembert.structures.assembly.element_group import ElementGroup
from dalembert.structures.solid import element_matrices as solid_elements
from dalembert.structures.solid import shapes as solid_shapes
from dalembert.structures.solid.elastic_laws import STRAINS, tensor, von_mises
from dalembert.structures.solid.element import SOLID_ELEMENTS
from dalembert.structures.solid.meshes import Mesh, Where


@dataclass(frozen=True, eq=False)
class SolidStresses:
    """Stresses and strains of a solid [Pa], in the order xx, yy, zz, xy, yz, zx (engineering shear strains).

    ``positions`` (ne, q, 3), ``stresses`` and ``strains`` (ne, q, 6) at the sampling points of every cell;
    ``at_points`` (np, 6) stresses at the points of the mesh, averaged over the cells around each (also across a
    change of material, where the true stress may jump).
    """

    mesh: Mesh
    positions: FloatArray
    strains: FloatArray
    stresses: FloatArray
    at_points: FloatArray

    def at(self, where: Where, component: str) -> FloatArray:
        """One component (``"xx"`` ... ``"zx"`` or ``"von_mises"``) at the points that ``where`` means [Pa]."""
        chosen = self.at_points[self.mesh.select(where)]
        if component == "von_mises":
            return von_mises(chosen)
        if component not in STRAINS:
            raise DataError(
                "unknown-choice", f"a component of stress is one of {', '.join(STRAINS)}, von_mises; got {component!r}."
            )
        return np.asarray(chosen[:, STRAINS.index(component)])

    @property
    def von_mises(self) -> FloatArray:
        """(np,) equivalent stress at the points [Pa]."""
        return von_mises(self.at_points)

    def table(self) -> str:
        """Smallest and largest of every component at the points."""
        lines = ["stress [Pa]       smallest      largest   at point"]
        for k, name in enumerate((*STRAINS, "von Mises")):
            values = self.at_points[:, k] if k < 6 else self.von_mises
            worst = int(np.argmax(np.abs(values)))
            lines.append(f"  {name:<10} {values.min():>14.5g} {values.max():>12.5g}   p{worst}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.table()


@dataclass(frozen=True, eq=False)
class Displaced:
    """State of a solid: displacements u (N,) under a load, and those of the prestress before it (N,), or None."""

    u: FloatArray
    before: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class SolidGroup(ElementGroup):
    """The elements of a solid: recovers strains, stresses and the geometric stiffness.

    ``laws`` (nm, 6, 6) [Pa] and ``material`` (ne,) which of them each cell has; ``count`` points of the structure with
    ``size`` coordinates each, the points of the mesh first. ``thickness`` of plane cells [m]; ``sheet`` (nm, 6, 6) all
    their strains from those in the plane, in plane stress.
    """

    name: str
    mesh: Mesh
    laws: FloatArray
    material: IntArray
    degree: int
    incompatible: bool
    count: int
    size: int
    thickness: float = 1.0
    sheet: FloatArray | None = None

    @property
    def dimension(self) -> int:
        """Displacements per point: 3, or 2 in the plane."""
        return SOLID_ELEMENTS[self.mesh.kind].dimension

    @property
    def names(self) -> tuple[str, ...]:
        """Name of the solid."""
        return (self.name,)

    def state(
        self, u: FloatArray, factors: Mapping[str, float], acceleration: FloatArray | None = None, before: Any = None
    ) -> Displaced:
        return Displaced(u, before)

    def add_states(self, before: FloatArray | None, more: Displaced) -> FloatArray:
        return more.u if before is None else before + more.u

    def geometric_stiffness(self, state: Displaced | FloatArray) -> sp.csc_array:
        """(N, N) stiffness that the stresses of a state, or of displacements (N,), add to motions across them [N/m]."""
        found = self._geometric_cells(state)
        return assemble_cells(self.mesh, solid_elements.in_all_directions(found, self.dimension), self.count, self.size)

    def project_geometric(self, state: Displaced | FloatArray, shapes: FloatArray) -> FloatArray:
        """(m, m) geometric stiffness of a state between shapes (N, m), cell by cell."""
        m, d = shapes.shape[1], self.dimension
        moved = shapes.reshape(self.count, self.size, m)[: len(self.mesh.points), :d].reshape(-1, d * m)
        cells, total = self._geometric_cells(state), np.zeros((m, m))
        for part in solid_elements.batches(len(cells), self.mesh.kind, m):
            each = moved[self.mesh.cells[part]]  # (e, nv, d m)
            force = np.matmul(cells[part], each)
            total += each.reshape(-1, m).T @ force.reshape(-1, m)
        return total

    def _geometric_cells(self, state: Displaced | FloatArray) -> FloatArray:
        """(ne, nv, nv) geometric stiffness of one direction of every cell."""
        u = state.u if isinstance(state, Displaced) else state
        places, _ = solid_shapes.quadrature(self.mesh.kind, self.degree)
        strains, _ = self._strains(u, places)
        found = np.empty((len(self.mesh.cells), *[SOLID_ELEMENTS[self.mesh.kind].size] * 2))
        for part in solid_elements.batches(len(found), self.mesh.kind, len(places)):
            stress = np.einsum("eij,eqj->eqi", self.laws[self.material[part]], strains[part])
            corners = self.mesh.points[self.mesh.cells[part]]
            found[part] = solid_elements.geometric(corners, tensor(stress), self.mesh.kind, self.degree)
        return found * self.thickness

    def stresses_of(self, state: Displaced, stations: int, *, total: bool) -> SolidStresses:
        return self.stresses(state.u + state.before if total and state.before is not None else state.u)

    def stresses(self, u: FloatArray, *, direct: bool = False) -> SolidStresses:
        """Stresses and strains of displacements ``u`` (N,).

        ``direct``: from the strains at the points of each cell themselves instead of the fit; rougher inside, sometimes
        closer at a surface. The difference of the two shows how fine the mesh is.
        """
        kind = self.mesh.kind
        places = (
            SOLID_ELEMENTS[kind].reference
            if direct
            else solid_shapes.quadrature(kind, SOLID_ELEMENTS[kind].stress_degree)[0]
        )
        strains, positions = self._strains(u, places)
        stresses = np.einsum("eij,eqj->eqi", self.laws[self.material], strains)
        if self.sheet is not None:
            strains = np.einsum("eij,eqj->eqi", self.sheet[self.material], strains)
        values = stresses if direct else np.matmul(_fit(kind, places)[None], stresses)
        total = np.zeros((len(self.mesh.points), 6))
        np.add.at(total, self.mesh.cells, values)
        times = np.bincount(self.mesh.cells.ravel(), minlength=len(total))
        return SolidStresses(self.mesh, positions, strains, stresses, total / times[:, None])

    def strains_at(self, point: int, shapes: FloatArray) -> FloatArray:
        """(6, m) strains at one point of the mesh by displacements (N, m): the mean of the cells around it."""
        kind, cells = self.mesh.kind, self.mesh.cells
        around = np.flatnonzero((cells == point).any(axis=1))
        places, _ = solid_shapes.quadrature(kind, SOLID_ELEMENTS[kind].stress_degree)
        _, slopes = solid_shapes.shapes(kind, places)
        corners = self.mesh.points[cells[around]]
        each = shapes.reshape(self.count, self.size, -1)[cells[around], : self.dimension]
        moved = each.reshape(len(around), 1, -1, shapes.shape[1])
        gradient, size = solid_elements.gradients(corners, slopes)
        strain = np.matmul(solid_elements.strain_matrix(gradient), moved)
        if self.incompatible:
            laws = self.laws[self.material[around]]
            modes = solid_elements.stiffness(corners, laws, kind, self.degree, True)[1]
            assert modes is not None
            bubbles = solid_elements.bubble_matrix(kind, corners, places, size)
            strain = strain + np.matmul(bubbles, np.matmul(modes[:, None], moved))
        own = np.argmax(cells[around] == point, axis=1)
        found: FloatArray = np.einsum("eq,eqsm->sm", _fit(kind, places)[own], strain) / len(around)
        return found

    def _strains(self, u: FloatArray, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Strains (ne, q, 6) and positions (ne, q, 3) at reference ``places`` (q, 3) of every cell."""
        kind, cells = self.mesh.kind, self.mesh.cells
        moved = np.asarray(u, dtype=np.float64).reshape(self.count, self.size)
        moved = moved[: len(self.mesh.points), : self.dimension]
        values, slopes = solid_shapes.shapes(kind, places)
        strains = np.empty((len(cells), len(places), 6))
        positions = np.empty((len(cells), len(places), 3))
        for part in solid_elements.batches(len(cells), kind, len(places)):
            corners, shift = self.mesh.points[cells[part]], moved[cells[part]].reshape(len(cells[part]), -1, 1)
            gradient, size = solid_elements.gradients(corners, slopes)
            strain = np.matmul(solid_elements.strain_matrix(gradient), shift[:, None])
            if self.incompatible:
                laws = self.laws[self.material[part]]
                modes = solid_elements.stiffness(corners, laws, kind, self.degree, True)[1]
                assert modes is not None
                bubbles = solid_elements.bubble_matrix(kind, corners, places, size)
                strain = strain + np.matmul(bubbles, np.matmul(modes, shift)[:, None])
            strains[part] = strain[..., 0]
            positions[part] = np.matmul(values[None], corners)
        return strains, positions


def assemble_cells(
    mesh: Mesh, matrices: FloatArray, count: int, size: int, cells: IntArray | None = None
) -> sp.csc_array:
    """Sum of matrices (ne, d nv, d nv) of cells on ``count`` points of ``size`` coordinates, translations first."""
    d = SOLID_ELEMENTS[mesh.kind].dimension
    moving = assembly.assemble(len(mesh.points), d, [assembly.blocks(mesh.cells if cells is None else cells, matrices)])
    return widen(moving, d, count, size)


def widen(moving: Any, d: int, count: int, size: int) -> sp.csc_array:
    """A matrix on d translations of the first points as one on ``size`` coordinates of ``count`` points."""
    if moving.shape[0] == count * size:
        return sp.csc_array(moving)
    entries = moving.tocoo()
    rows, columns = (index // d * size + index % d for index in (entries.row.astype(np.int64), entries.col))
    return sp.csc_array((entries.data, (rows, columns)), shape=(count * size, count * size))


def _fit(kind: str, places: FloatArray) -> FloatArray:
    """(nv, q): values at the points of a cell from values at ``places``, by a (tri)linear field."""

    def terms(at: FloatArray) -> FloatArray:
        axes, one = (at - 0.5).T, np.ones(len(at))
        if SOLID_ELEMENTS[kind].is_box:
            subsets = chain.from_iterable(combinations(axes, k) for k in range(len(axes) + 1))
            return np.stack([np.prod([one, *subset], axis=0) for subset in subsets], axis=1)
        return np.stack([one, *axes] if min(len(at), len(places)) > len(axes) else [one], axis=1)

    return np.asarray(terms(SOLID_ELEMENTS[kind].reference) @ np.linalg.pinv(terms(places)))
