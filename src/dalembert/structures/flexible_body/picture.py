"""Picture of a flexible body: lines along beams, the surface of a solid, and the motion of their points by modes.

Beams are drawn through points of their shape functions, so that few elements still look bent. The surface of a solid
with very many faces is simplified: points within one cell of a grid become the one nearest to the middle of the cell,
and triangles that lose a corner are removed.
"""

from __future__ import annotations

import numpy as np

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.model.flexible import BodyPicture
from dalembert.structures.assembly.structure import Structure
from dalembert.structures.beams.beam_elements import BeamElements
from dalembert.structures.flexible_body.mass_distribution import MassDistribution
from dalembert.structures.solid.element import SOLID_ELEMENTS
from dalembert.structures.solid.stresses import SolidGroup

# Fewest pieces of a drawn beam.
PIECES = 16
# Triangles of a surface: enough to show holes and fillets, few enough for a page with several bodies.
TRIANGLES = 4000


def draw_body(structure: Structure, distribution: MassDistribution, shapes: FloatArray) -> BodyPicture:
    """Points, lines and triangles of a structure with their modes (N, m)."""
    points, modes, lines, triangles = [], [], [], []
    count = 0
    for group in structure.groups:
        if isinstance(group, BeamElements):
            places, moved, pairs = _beam_lines(structure, group, shapes)
            lines.append(pairs + count)
        elif isinstance(group, SolidGroup):
            corners, faces = _surface(group)
            places, moved = structure.positions[corners], distribution.displacements(shapes)[corners]
            triangles.append(faces + count)
        else:
            pairs = group.joined_pairs()
            if not len(pairs):
                continue
            used, index = np.unique(pairs, return_inverse=True)
            places, moved = structure.positions[used], distribution.displacements(shapes)[used]
            lines.append(index.reshape(-1, 2) + count)
        points.append(places)
        modes.append(moved)
        count += len(places)
    if not points:
        return _bare(structure, distribution, shapes)
    return BodyPicture(
        points=np.concatenate(points), modes=np.concatenate(modes),
        lines=np.concatenate([np.zeros((0, 2), dtype=np.intp), *lines]),
        triangles=np.concatenate([np.zeros((0, 3), dtype=np.intp), *triangles]),
    )  # fmt: skip


def _bare(structure: Structure, distribution: MassDistribution, shapes: FloatArray) -> BodyPicture:
    """Matrices alone: lines between points that stiffness joins."""
    d = len(structure.directions)
    at = structure.K.tocoo()
    pairs = np.unique(np.sort(np.stack([index // d for index in at.coords], axis=1), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    return BodyPicture(
        points=structure.positions.copy(), modes=distribution.displacements(shapes),
        lines=pairs[: 4 * len(structure.points)].astype(np.intp), triangles=np.zeros((0, 3), dtype=np.intp),
    )  # fmt: skip


def _beam_lines(
    structure: Structure, group: BeamElements, shapes: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    elements = np.diff(group.first)
    pieces = max(1, -(-PIECES // max(int(elements.min(initial=PIECES)), 1)))
    xi = np.linspace(0.0, 1.0, pieces + 1)
    T, R = group.transform(), group.R
    N = group.shapes(xi)[:, :, :3]  # displacements (ne, g, 3, 12)
    ends = np.matmul(T, shapes[group.coordinates()])  # (ne, 12, m)
    moved = np.einsum("eji,egjk,ekm->egim", R, N, ends, optimize=True)
    start = structure.positions[group.points[:, 0]]
    if group.arms is not None:
        start = start + np.einsum("eji,ej->ei", R, group.arms[:, 0])
    places = start[:, None] + xi[None, :, None] * (group.length[:, None] * R[:, 0])[:, None]
    first = np.arange(len(places))[:, None] * (pieces + 1) + np.arange(pieces)
    pairs = np.stack([first, first + 1], axis=-1).reshape(-1, 2)
    return places.reshape(-1, 3), moved.reshape(-1, 3, shapes.shape[1]), pairs


def _surface(group: SolidGroup) -> tuple[IntArray, IntArray]:
    """Points of the mesh (k,) and triangles (t, 3) between them."""
    mesh = group.mesh
    cells, faces = mesh.skin()
    corners = SOLID_ELEMENTS[mesh.kind].drawn
    triangles = []
    for number, face in enumerate(corners):
        own = mesh.cells[cells[faces == number]]
        for k in range(1, len(face) - 1):
            triangles.append(own[:, [face[0], face[k], face[k + 1]]])
    every = np.concatenate(triangles)
    size = float(np.ptp(mesh.points, axis=0).max())
    steps = 96
    while len(every) > TRIANGLES and steps > 4:
        every, steps = _simplify(mesh.points, every, size / steps), steps * 3 // 4
    used, index = np.unique(every, return_inverse=True)
    return used.astype(np.intp), index.reshape(-1, 3).astype(np.intp)


def _simplify(points: FloatArray, triangles: IntArray, step: float) -> IntArray:
    used = np.unique(triangles)
    grid = np.floor(points[used] / step).astype(np.int64)
    _, cell = np.unique(grid, axis=0, return_inverse=True)
    cell = cell.ravel()
    off = np.linalg.norm(points[used] - (grid + 0.5) * step, axis=1)
    order = np.lexsort((off, cell))
    first = order[np.searchsorted(cell[order], np.arange(cell.max() + 1))]
    stands_for = np.zeros(len(points), dtype=np.intp)
    stands_for[used] = used[first[cell]]
    moved = stands_for[triangles]
    whole = (moved[:, 0] != moved[:, 1]) & (moved[:, 1] != moved[:, 2]) & (moved[:, 2] != moved[:, 0])
    kept = moved[whole]
    _, unlike = np.unique(np.sort(kept, axis=1), axis=0, return_index=True)
    return np.asarray(kept[np.sort(unlike)])
