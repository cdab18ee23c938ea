"""From a frame to its structure: assembly, links, supports, loads."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError
from dalembert.structures.assembly import element_assembly as assembly
from dalembert.structures.assembly.element_assembly import Blocks, IntArray
from dalembert.structures.assembly.structure import Structure, assemble, rigid_motions
from dalembert.structures.beams.beam_group import BeamGroup, BoolArray, skew
from dalembert.structures.frame.frame import Frame
from dalembert.structures.frame.numbering import beam_group, number_points
from dalembert.structures.frame.parts import DIRECTIONS, PointLoad

PLANAR = (0, 1, 5)
# Stiffness of a released rotation below this share of the largest is rounding: nothing turns that point.
NOTHING = 1e-12
# Elements computed at a time: their matrices stay in the cache.
CHUNK = 1024


@assemble.register
def frame_structure(frame: Frame) -> Structure:
    """Check a frame and assemble it."""
    frame.check()
    keep = PLANAR if frame.planar else (0, 1, 2, 3, 4, 5)
    numbering = number_points(frame)
    count = len(numbering.names)
    group = beam_group(frame, numbering, keep) if frame.beams else None
    matrices = _matrices(frame, group, numbering.index, numbering.positions, keep, count)
    directions = tuple(DIRECTIONS[k] for k in keep)
    links, dependent = _links(frame, numbering.index, numbering.positions, keep, count)
    held, prescribed = _supports(frame, numbering.index, keep, count)
    inactive = ~_touched(frame, group, numbering.index, keep, count) & ~dependent & ~held
    if group is not None and group.released is not None:
        inactive |= _free_turns(group, matrices["K"], matrices["M"], numbering.names, keep, held | dependent)
    return Structure(
        frame.name, numbering.names, numbering.positions, directions, matrices["M"], matrices["K"],
        C=matrices["C"], K_loss=matrices["K_loss"], held=held, prescribed=prescribed, links=links, inactive=inactive,
        loads=_loads(frame, group, numbering, keep, matrices["M"]), groups=() if group is None else (group,),
        damping=frame.damping,
        provenance={"source": "frame", "name": frame.name, "theory": "12-dof Timoshenko beams (Przemieniecki 1968)"},
    )  # fmt: skip


def _matrices(
    frame: Frame, group: BeamGroup | None, index: dict[str, int], positions: FloatArray, keep: Any, count: int
) -> dict[str, sp.csc_array]:
    parts: dict[str, list[Blocks]] = {"M": [], "K": [], "C": [], "K_loss": []}
    if group is not None:
        kinds, same = group.different()
        M, K = _element_matrices(kinds)
        parts["K"].append(assembly.blocks(group.points, K, same))
        parts["M"].append(assembly.blocks(group.points, M, same))
        if group.loss.any():
            parts["K_loss"].append(assembly.blocks(group.points, kinds.loss[:, None, None] * K, same))
    if frame.masses:
        points, blocks = _masses(frame, index)
        parts["M"].append(Blocks(points, points, np.arange(len(points)), _kept(blocks, keep)))
    for key, found in _springs(frame, index, positions, keep).items():
        parts[key] += found
    return {key: assembly.assemble(count, len(keep), found) for key, found in parts.items()}


def _element_matrices(group: BeamGroup) -> tuple[FloatArray, FloatArray]:
    """Mass and stiffness (ne, 2d, 2d) on the coordinates of the points, so many elements at a time as fit the cache."""
    ne, size = len(group.points), 2 * len(group.keep)
    M, K = np.empty((ne, size, size)), np.empty((ne, size, size))
    for start in range(0, ne, CHUNK):
        some = group if ne <= CHUNK else group.pick(np.arange(start, min(start + CHUNK, ne)))
        local = some.stiffness()
        T = some.transform(local)
        K[start : start + CHUNK] = assembly.congruent(T, local)
        M[start : start + CHUNK] = assembly.congruent(T, some.mass())
    return M, K


def _kept(blocks: FloatArray, keep: Any) -> FloatArray:
    """(m, d, d) of (m, 6, 6): the directions the points have."""
    kept: FloatArray = blocks[np.ix_(np.arange(len(blocks)), keep, keep)]
    return kept


def _masses(frame: Frame, index: dict[str, int]) -> tuple[IntArray, FloatArray]:
    """Point and (6, 6) mass of each lump: ``Aᵀ diag(m, J) A`` with ``A = [1, −[c]×; 0, 1]``."""
    count = len(frame.masses)
    inner = np.zeros((count, 6, 6))
    inner[:, [0, 1, 2], [0, 1, 2]] = [lump.mass for lump in frame.masses]
    inner[:, 3:, 3:] = [lump.inertia for lump in frame.masses]
    A = np.broadcast_to(np.eye(6), (count, 6, 6)).copy()
    A[:, :3, 3:] = -skew(np.array([lump.offset for lump in frame.masses]))
    blocks = assembly.congruent(A, inner)
    return np.array([index[lump.point] for lump in frame.masses]), 0.5 * (blocks + blocks.transpose(0, 2, 1))


def _springs(frame: Frame, index: dict[str, int], positions: FloatArray, keep: Any) -> dict[str, list[Blocks]]:
    """Blocks of springs by the system matrix they go to: k to the ground, [[k, −k], [−k, k]] between points."""
    found: dict[str, list[Blocks]] = {"K": [], "C": [], "K_loss": []}
    for grounded in (True, False):
        springs = [spring for spring in frame.springs if (spring.b is None) == grounded]
        if not springs:
            continue
        ends = np.array([[index[p] for p in (spring.a, spring.b) if p is not None] for spring in springs])
        K, C = np.zeros((len(springs), 6, 6)), np.zeros((len(springs), 6, 6))
        for matrices, name in ((K, "stiffness"), (C, "damping")):
            given = [k for k, spring in enumerate(springs) if getattr(spring, name) is not None]
            matrices[given] = np.array([getattr(springs[k], name) for k in given]).reshape(-1, 6, 6)
        lines = [k for k, spring in enumerate(springs) if spring.line is not None]
        if lines:
            along = positions[ends[lines, 1]] - positions[ends[lines, 0]]
            along /= np.linalg.norm(along, axis=1)[:, None]
            pattern = along[:, :, None] * along[:, None, :]
            K[lines, :3, :3], C[lines, :3, :3] = (
                np.array([springs[k].line[i] for k in lines])[:, None, None] * pattern  # type: ignore[index]
                for i in (0, 1)
            )
        loss = np.array([spring.loss_factor for spring in springs])[:, None, None]
        signs = np.ones((1, 1)) if grounded else np.array([[1.0, -1.0], [-1.0, 1.0]])
        for key, matrices in (("K", K), ("C", C), ("K_loss", loss * K)):
            if matrices.any():
                found[key].append(assembly.blocks(ends, np.kron(signs, _kept(matrices, keep))))
    return found


def _links(
    frame: Frame, index: dict[str, int], positions: FloatArray, keep: Any, count: int
) -> tuple[sp.csc_array | None, BoolArray]:
    """u = links w, and which coordinates are dependent: u_s = u_m + θ_m × d (exact for small rotations)."""
    d, N = len(keep), count * len(keep)
    dependent = np.zeros(N, bool)
    if not frame.rigids:
        return None, dependent
    rows, columns, values = [], [], []
    for rigid in frame.rigids:
        m = index[rigid.master]
        s = np.array([index[slave] for slave in rigid.slaves])
        # the six motions of the master, as a rigid body turning about it, seen at the slaves
        motion = rigid_motions(positions[s] - positions[m], DIRECTIONS).reshape(len(s), 6, 6)[:, keep][:, :, keep]
        follow = [k for k, way in enumerate(keep) if DIRECTIONS[way] in rigid.directions]
        block = motion[:, follow, :]
        place = s[:, None] * d + np.array(follow)
        rows.append(np.repeat(place[:, :, None], d, axis=2).ravel())
        columns.append(np.broadcast_to(m * d + np.arange(d), block.shape).ravel())
        values.append(block.ravel())
        dependent[place] = True
    own = np.flatnonzero(~dependent)
    rows.append(own)
    columns.append(own)
    values.append(np.ones(len(own)))
    step = sp.csc_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(N, N))
    links = step
    for _ in range(len(frame.rigids)):  # a master may itself follow another one
        if not abs(links[:, np.flatnonzero(dependent)]).sum():
            break
        links = sp.csc_array(links @ step)
    links.eliminate_zeros()
    return links, dependent


def _supports(frame: Frame, index: dict[str, int], keep: Any, count: int) -> tuple[BoolArray, FloatArray]:
    held, prescribed = np.zeros(count * len(keep), bool), np.zeros(count * len(keep))
    for support in frame.supports:
        for way, value in zip(support.directions, support.values):
            place = index[support.point] * len(keep) + keep.index(DIRECTIONS.index(way))
            held[place] = True
            prescribed[place] = value
    return held, prescribed


def _touched(frame: Frame, group: BeamGroup | None, index: dict[str, int], keep: Any, count: int) -> BoolArray:
    """Coordinates that something holds or gives mass: translations always, rotations not at points of bars only."""
    touched = np.zeros((count, 6), bool)
    touched[:, :3] = True
    if group is not None:
        touched[group.points[~group.is_bar].ravel()] = True
    for lump in frame.masses:
        if any(map(any, lump.inertia)) or any(lump.offset):
            touched[index[lump.point]] = True
    for spring in frame.springs:
        for matrix in (spring.stiffness, spring.damping):
            if matrix is not None:
                for point in (spring.a, spring.b):
                    if point is not None:
                        touched[index[point]] |= np.diag(np.array(matrix)) != 0
    for rigid in frame.rigids:
        touched[index[rigid.master]] = True
    return touched[:, list(keep)].ravel()


def _free_turns(
    group: BeamGroup, K: sp.csc_array, M: sp.csc_array, names: Any, keep: Any, known: BoolArray
) -> BoolArray:
    """Rotations that every beam at the point has released: nothing turns with them, so they are no coordinates."""
    d = len(keep)
    turns = np.array([k for k, way in enumerate(keep) if way > 2])
    diagonals = [matrix.diagonal().reshape(-1, d)[:, turns] for matrix in (K, M)]
    free = np.ones_like(diagonals[0], bool)
    for diagonal in diagonals:
        free &= diagonal <= NOTHING * max(float(diagonal.max()), 1e-300)
    assert group.released is not None
    points = np.unique(group.points[group.released.any(axis=1)])
    result = np.zeros((len(names), d), bool)
    result[np.ix_(points, turns)] = free[points]
    inactive: BoolArray = result.ravel() & ~known
    if len(turns) == 3:
        _refuse_slanted(points, inactive | known, K, M, names, d)
    return inactive


def _refuse_slanted(points: IntArray, out: BoolArray, K: sp.csc_array, M: sp.csc_array, names: Any, d: int) -> None:
    """A free rotation about a slanted axis cannot be left out by name: say so instead of a singular model."""
    for point in points:
        rows = point * d + np.arange(3, 6)
        rows = rows[~out[rows]]
        if not len(rows):
            continue
        blocks = [matrix[rows][:, rows].toarray() for matrix in (K, M)]
        both = sum(block / max(np.abs(block).max(), 1e-300) for block in blocks)
        values, vectors = np.linalg.eigh(both)
        if values[0] < 1e-10 * values[-1]:
            axis = np.zeros(3)
            axis[rows - point * d - 3] = vectors[:, 0]
            raise ModelError(
                f"point {names[point]!r}: every beam there releases the rotation about ({axis[0]:.3g}, {axis[1]:.3g}, "
                f"{axis[2]:.3g}), so nothing turns it. Release one beam less, or use add_bar."
            )


def _loads(frame: Frame, group: BeamGroup | None, numbering: Any, keep: Any, M: sp.csc_array) -> dict[str, FloatArray]:
    d, count = len(keep), len(numbering.names)
    cases: dict[str, FloatArray] = {}
    gravity = np.array(frame.gravity)
    if gravity.any() and M.nnz:
        motion = np.zeros((count, d))
        for k, way in enumerate(keep):
            motion[:, k] = gravity[way] if way < 3 else 0.0
        cases["gravity"] = M @ motion.ravel()
    transform = group.transform() if group is not None and group.loaded_cases() else None
    totals = {case: np.zeros((count, 6)) for case in frame.cases}
    for load in frame.loads:
        if isinstance(load, PointLoad):
            totals[load.case][numbering.index[load.point]] += load.force + load.moment
    for case, total in totals.items():
        cases[case] = total[:, list(keep)].ravel()
        if group is not None and transform is not None and case in group.loaded_cases():
            cases[case] = cases[case] + group.scatter(group.load_vectors({case: 1.0}), transform)
    return cases
