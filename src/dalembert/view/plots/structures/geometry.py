"""Geometry of a structure, at rest and displaced: curves of beams, faces of solids, elements at points.

A beam is drawn by its own shape functions, x(ξ) = x_start + ξ l e_x + scale Rᵀ N(ξ) u_e, so a single
element bends as a cubic. Springs and lumped masses are read back from K and M less the beams, for a structure has
matrices and no list of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.linear.modes import Modes
from dalembert.structures.assembly.structure import Structure
from dalembert.structures.beams.beam_elements import BeamElements
from dalembert.structures.beams.beam_group import BeamGroup
from dalembert.structures.beams.internal_forces import Loaded
from dalembert.structures.solid.element import SOLID_ELEMENTS
from dalembert.structures.solid.meshes import Mesh
from dalembert.structures.solid.stresses import SolidGroup

# The remainder of a matrix after a subtraction is rounding below this share of the diagonals it joins.


SAMPLES = 13  # points of the curve of one element
MANY = 2000  # elements beyond which they are drawn straight
Pairs = NDArray[np.int64]


@dataclass(frozen=True)
class Faces:
    """Outer faces of a solid: ``points`` (nf, k) numbers of the points around each, ``mesh`` it belongs to."""

    mesh: Mesh
    points: Pairs


def is_planar(structure: Structure) -> bool:
    """Whether it moves in the x-y plane only."""
    return "z" not in structure.directions and "x" in structure.directions and not structure.positions[:, 2].any()


def check_modes(structure: Structure, modes: Modes) -> None:
    """Refuse modes of other coordinates than the free ones of a structure."""
    if modes.coordinates != structure.free:
        raise DataError(
            "wrong-owner",
            f"these Modes have {len(modes.coordinates)} coordinates, not the {len(structure.free)} free ones of "
            f"structure {structure.name!r}.",
            Advice("Take structure.{}, or expand those of a reduced model first.", Call("modes")),
        )


def beams(structure: Structure) -> list[BeamElements]:
    """Groups of beams and bars."""
    return [group for group in structure.groups if isinstance(group, BeamElements)]


def other_curves(structure: Structure, u: FloatArray) -> list[FloatArray]:
    """Lines (k, 3) of elements other than beams and solids, displaced by u (N,)."""
    return [line for group in structure.groups for line in group.curves(structure.positions, u)]


def solids(structure: Structure) -> list[SolidGroup]:
    """Groups of solid elements."""
    return [group for group in structure.groups if isinstance(group, SolidGroup)]


def translations(structure: Structure, u: FloatArray) -> FloatArray:
    """(np, 3) displacements of the points out of u (N,)."""
    table = u.reshape(len(structure.points), len(structure.directions))
    moved = np.zeros((len(structure.points), 3))
    for k, way in enumerate(structure.directions):
        if way in "xyz":
            moved[:, "xyz".index(way)] = table[:, k]
    return moved


def thickness(group: BeamGroup) -> float:
    """Width of the lines of a group, as part of the usual one: many beams are drawn thinner."""
    return float(np.clip(np.sqrt(150.0 / max(len(group.points), 1)), 0.3, 1.0))


def places(group: BeamGroup) -> FloatArray:
    """(g,) fractions of the length of an element at which its curve is sampled."""
    straight = len(group.points) > MANY
    return np.linspace(0.0, 1.0, 2 if straight else SAMPLES)


def rest_lines(structure: Structure, group: BeamGroup, xi: FloatArray) -> FloatArray:
    """(ne, g, 3) positions along the elements at rest, at ξ (g,) or (ne, g)."""
    start = structure.positions[group.points[:, 0]]
    if group.arms is not None:
        start = start + np.einsum("eji,ej->ei", group.R, group.arms[:, 0])
    along = group.R[:, 0, :] * group.length[:, None]
    lines: FloatArray = start[:, None, :] + np.atleast_2d(xi)[:, :, None] * along[:, None, :]
    return lines


def displace_by_shape(group: BeamGroup, u: FloatArray, xi: FloatArray) -> FloatArray:
    """(ne, g, 3) displacements along the elements from u (N,), by their shape functions."""
    ends = group.ends(u)
    local = np.einsum("egri,ei->egr", group.shapes(xi)[:, :, :3], ends)
    moved: FloatArray = np.einsum("eji,egj->egi", group.R, local)
    return moved


def displace_by_load(loaded: Loaded, xi: FloatArray) -> FloatArray:
    """(ne, g, 3) displacements along loaded elements, exact also between their ends."""
    group = loaded.group
    e = np.repeat(np.arange(len(group.points)), len(xi))
    x = (xi[None, :] * group.length[:, None]).ravel()
    local = loaded.deflections(e, x)[:, :3].reshape(len(group.points), len(xi), 3)
    moved: FloatArray = np.einsum("eji,egj->egi", group.R, local)
    return moved


def arms(structure: Structure, group: BeamGroup) -> FloatArray:
    """(k, 2, 3) rigid arms from points to element ends, where there are any."""
    if group.arms is None:
        return np.zeros((0, 2, 3))
    points = structure.positions[group.points]
    ends = points + np.einsum("eji,esj->esi", group.R, group.arms)
    some = np.abs(group.arms).max(axis=2) > 0.0
    return np.stack([points[some], ends[some]], axis=1)


def outer_faces(group: SolidGroup) -> Faces:
    """Faces of the surface with their middle points, so that a quadratic cell is drawn with bent edges."""
    mesh = group.mesh
    kind = SOLID_ELEMENTS[mesh.kind]
    middle = {frozenset(edge[:2]): edge[2] for edge in kind.edges}
    rings = []
    for face in kind.drawn:
        ring: list[int] = []
        for a, b in zip(face, (*face[1:], face[0])):
            ring += [a, middle[frozenset((a, b))]] if middle else [a]
        rings.append(ring)
    cells, numbers = mesh.skin()
    return Faces(mesh, mesh.cells[cells[:, None], np.array(rings)[numbers]].astype(np.int64))


def find_springs_and_masses(structure: Structure) -> tuple[Pairs, Pairs, Pairs]:
    """Pairs of points that springs join (k, 2), points on springs to the ground (k,), points with masses (k,).

    Of a structure without beams and solids: every pair that K joins, no ground, every point with mass.
    """
    none = np.zeros(0, dtype=np.int64)
    if solids(structure):
        return none.reshape(0, 2), none, none
    d = len(structure.directions)
    stiff = _without_elements(structure, "K")
    i, j = (index // d for index in stiff.coords)
    pairs = np.unique(np.stack([i, j], axis=1)[i < j], axis=0).astype(np.int64).reshape(-1, 2)
    # a stiffness between the two ends of an element is the geometric one of a prestressed element, and no spring
    ends = np.concatenate([np.sort(group.joined_pairs(), axis=1) for group in structure.groups] or [pairs[:0]])
    count = len(structure.points)
    pairs = pairs[~np.isin(pairs @ [count, 1], ends @ np.array([count, 1]))]
    heavy = _without_elements(structure, "M")
    masses = np.unique(heavy.coords[0] // d).astype(np.int64)
    return pairs, _ground_points(structure, stiff), masses


def rigid_links(structure: Structure) -> Pairs:
    """(k, 2) points of a frame that follow another point, and that point."""
    if not structure.has_links or solids(structure):
        return np.zeros((0, 2), dtype=np.int64)
    d = len(structure.directions)
    links = []
    fixed = np.flatnonzero(structure.held)
    for matrix, columns in ((structure.T, structure.free_index), (structure.T_held, fixed)):
        entries = matrix.tocoo()
        links.append(np.stack([entries.coords[0] // d, columns[entries.coords[1]] // d], axis=1))
    pairs = np.concatenate(links)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0).astype(np.int64)


def _without_elements(
    structure: Structure,
    name: str,
    # Entry relative to the root of its two diagonal entries: differences of equal sums leave 1e-16 times their
    # number.
    rounding: float = 1e-9,
) -> Any:
    """The rest of K or M without the elements of groups, rounding removed, as COO."""
    matrix = getattr(structure, name)
    for group in structure.groups:
        group_matrix = group.own_stiffness() if name == "K" else group.own_mass()
        matrix = matrix if group_matrix is None else matrix - group_matrix
    entries = sp.csc_array(matrix).tocoo()
    size = np.sqrt(np.abs(getattr(structure, name).diagonal()))
    i, j = entries.coords
    is_spring = np.abs(entries.data) > rounding * size[i] * size[j]
    return sp.coo_array((entries.data[is_spring], (i[is_spring], j[is_spring])), shape=matrix.shape)


def _ground_points(
    structure: Structure,
    stiff: Any,
    # Sum of a row relative to the sum of its sizes, from which a point is connected to the ground: springs
    # between points cancel to rounding, and a stiffness below a millionth of them is not drawn.
    share: float = 1e-6,
) -> Pairs:
    """Points connected to the ground: a common motion of all points is resisted, or a turn has no counterpart."""
    if not structure.groups:
        return np.zeros(0, dtype=np.int64)
    d, N = len(structure.directions), len(structure.coordinates)
    i, j = stiff.coords
    same = (i % d) == (j % d)
    total, size = (np.bincount(i[same], weights=w[same], minlength=N) for w in (stiff.data, np.abs(stiff.data)))
    joined = np.bincount(i[i // d != j // d] // d, minlength=len(structure.points)) > 0
    turning = np.array([way[0] == "r" for way in structure.directions])
    tied = (np.abs(total) > share * np.maximum(size, 1e-300)).reshape(-1, d)
    tied[:, turning] &= ~joined[:, None]
    return np.flatnonzero(tied.any(axis=1)).astype(np.int64)
