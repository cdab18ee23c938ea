"""Point masses read back from the mass matrix: the rest of M without the elements.

A rigid body at a point has the block [[m, -m c×], [m c×, J - m (c×)²]]: m, the offset c of its
centre and its inertia J about it follow from the block, also from the part of it that a planar point has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice
from dalembert.structures.assembly.rotating_bodies import cross_matrix
from dalembert.structures.assembly.structure import DIRECTIONS, Structure


@dataclass(frozen=True)
class MassLimits:
    """When entries of the mass matrix count as zero or as equal, relative to the masses they belong to."""

    # Rest of M after the elements are subtracted: about 1e4 additions of 1e-15.
    rest: float = 1e-11
    # Difference of the masses of one point by direction: far above rounding, far below any that is meant.
    uneven: float = 1e-9


LIMITS = MassLimits()


@dataclass(frozen=True)
class PointMasses:
    """points (k,), mass (k,), offset (k, 3) and inertia (k, 3, 3) about the centre of each mass.

    ``shared`` is None, or the (np, np) mass matrix of one direction where masses join points (solids).
    """

    points: NDArray[np.int64]
    mass: FloatArray
    offset: FloatArray
    inertia: FloatArray
    shared: sp.csc_array | None = None


def find_point_masses(structure: Structure) -> PointMasses:
    """The point masses of a structure; refuses masses that differ by direction."""
    d = len(structure.directions)
    rest = _rest(structure)
    at = rest.tocoo()
    row, column = at.coords[0] // d, at.coords[1] // d
    empty = PointMasses(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3, 3)))
    if not at.nnz:
        return empty
    if (row != column).any():
        return PointMasses(empty.points, empty.mass, empty.offset, empty.inertia, _read_shared_mass(structure, rest))
    points = np.unique(row)
    blocks = np.zeros((len(points), 6, 6))
    keep = np.array([DIRECTIONS.index(way) for way in structure.directions])
    place = np.searchsorted(points, row)
    blocks[place, keep[at.coords[0] % d], keep[at.coords[1] % d]] = at.data
    return _bodies(structure, points, blocks, keep)


def _rest(structure: Structure) -> sp.csc_array:
    """M without the elements; exactly zero where rounding is left."""
    M = structure.M
    for group in structure.groups:
        own = group.own_mass()
        if own is not None:
            M = M - own
    at = sp.csc_array(M).tocoo()
    size = np.sqrt(np.abs(structure.M.diagonal()))
    i, j = at.coords
    kept = np.abs(at.data) > LIMITS.rest * size[i] * size[j]
    return sp.csc_array((at.data[kept], (i[kept], j[kept])), shape=M.shape)


def _bodies(structure: Structure, points: Any, blocks: FloatArray, keep: Any) -> PointMasses:
    moving = [way for way in keep if way < 3]
    each = blocks[:, moving, moving]
    mass = each.mean(axis=1)
    uneven = np.flatnonzero(np.abs(each - mass[:, None]).max(axis=1) > LIMITS.uneven * np.abs(mass))
    if len(uneven):
        point = structure.points[points[uneven[0]]]
        raise DataError(
            "uneven-mass",
            f"the mass at point {point!r} of structure {structure.name!r} differs by direction; in a spinning "
            "structure masses must be the same in all directions.",
            where={"point": point, "structure": structure.name},
        )
    offset = np.zeros((len(points), 3))
    for way, sign, i, j in ((0, 1, 1, 5), (1, -1, 0, 5), (0, -1, 2, 4), (2, 1, 0, 4), (1, 1, 2, 3), (2, -1, 1, 3)):
        # m u̇ₓ takes m (θ̇ × c)ₓ, and so on: blocks[way of c, ...] from translation i and rotation j
        found = sign * blocks[:, i, j] / np.where(mass == 0, 1.0, mass)
        offset[:, way] = np.where(found != 0, found, offset[:, way])
    c = cross_matrix(offset)
    inertia = blocks[:, 3:, 3:] + mass[:, None, None] * (c @ c)
    turning = np.array([way - 3 for way in keep if way > 2], dtype=np.int64)
    known = np.zeros((3, 3), bool)
    known[np.ix_(turning, turning)] = True
    return PointMasses(points, mass, offset, np.where(known, inertia, 0.0))


def _read_shared_mass(structure: Structure, rest: sp.csc_array) -> sp.csc_array:
    """Mass matrix of one direction; all three are the same, and rotations have none."""
    d = len(structure.directions)
    at = rest.tocoo()
    here, there = (coordinates % d for coordinates in at.coords)
    moving = [k for k, way in enumerate(structure.directions) if way in "xyz"]
    each = [sp.csc_array(rest[k::d, k::d]) for k in moving]
    size = abs(rest).max()
    mixed = np.abs(at.data[(here != there) | ~np.isin(here, moving)])
    if mixed.max(initial=0.0) > LIMITS.uneven * size or any(
        abs(part - each[0]).max() > LIMITS.uneven * size for part in each[1:]
    ):
        raise DataError(
            "not-supported",
            f"structure {structure.name!r} has masses that join points, beside those of its elements, and differ by "
            "direction or act on rotations: the forces of a spin on them are not known.",
            Advice("Frames and solids can spin."),
            where={"structure": structure.name},
        )
    return each[0]
