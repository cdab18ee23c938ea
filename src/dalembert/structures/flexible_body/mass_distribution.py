"""Distribution of the mass of a structure and its motion with the coordinates, for the sums of inertia invariants.

Small rigid bodies k of mass m_k, place p_k and inertia J_k about their centre move with the coordinates u (N,),

    (displacement, rotation)_k = D_k u       (6, N)

Beams are cut at the Gauss points of their elements (linear along the axis, cubic or Timoshenko across: four points are
exact, also for ∫u₀ S and ∫SᵀS), point masses are themselves. A solid shares mass between its points by the same
functions in each direction, M = m ⊗ 1; since x = Σ Nᵢ xᵢ and u = Σ Nᵢ uᵢ have these functions too, every integral over
its mass is a product with the matrix m and exact.

Lumped: half of a beam element at each end with its rotary inertia; a solid has diagonal masses in the proportion of
the diagonal of m (Hinton, Rock and Zienkiewicz 1976). Both routes converge to each other with the mesh.

A mass matrix alone, with rotations coupled to displacements of other points, does not show along which axis the points
inside an element move. Then the matrix gives the integrals that it determines, and masses at the points give the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.core.errors import DataError, ModelError
from dalembert.structures.analysis.spinning import PointMasses, find_point_masses
from dalembert.structures.assembly.element_assembly import coordinates
from dalembert.structures.assembly.rotating_bodies import cross_matrix
from dalembert.structures.assembly.structure import Structure
from dalembert.structures.beams.beam_elements import BeamElements
from dalembert.structures.frame.element import SingleElements


@dataclass(frozen=True)
class MassDistribution:
    """Bodies and shared masses of a structure.

    D : (6 k, N).  mass : (k,).  places : (k, 3).  inertia : (k, 3, 3) in common axes.
    shared : (np, np) mass matrix of one direction on the points, or None.  positions : (np, 3) of the points.
    M : (N, N) mass matrix of all coordinates.  determined : False where only M itself is exact, and D approximates it.
    """

    D: sp.csr_array
    mass: FloatArray
    places: FloatArray
    inertia: FloatArray
    shared: sp.csc_array | None
    positions: FloatArray
    directions: tuple[str, ...]
    M: sp.csc_array
    determined: bool = True

    def motions(self, shapes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Displacements and rotations of the bodies, (k, 3, m) each, from shapes (N, m)."""
        both = (self.D @ shapes).reshape(len(self.mass), 6, shapes.shape[1])
        return both[:, :3], both[:, 3:]

    def displacements(self, shapes: FloatArray) -> FloatArray:
        """(np, 3, m) of the points of the structure."""
        full = np.zeros((len(self.positions), 3, shapes.shape[1]))
        ways = [k for k, way in enumerate(self.directions) if way in "xyz"]
        each = shapes.reshape(len(self.positions), len(self.directions), -1)
        full[:, ["xyz".index(self.directions[k]) for k in ways]] = each[:, ways]
        return full


def distribute(structure: Structure, *, lumped: bool = False) -> MassDistribution:
    """The mass of a structure, by the quadrature of its elements or lumped at its points."""
    parts = [_beam_slices(structure, group, lumped) for group in structure.groups if isinstance(group, BeamElements)]
    parts += [_single_slices(structure, group) for group in structure.groups if isinstance(group, SingleElements)]
    determined = True
    try:
        rest = find_point_masses(structure)
    except DataError as error:
        if error.code != "not-supported" or structure.groups:
            raise
        rest, determined = _points_alone(structure), lumped
    shared = rest.shared
    if shared is not None and lumped:
        rest, shared = _diagonal(shared), None
    if len(rest.points):
        parts.append(_point_bodies(structure, rest))
    D, mass, places, inertia = _join(structure, parts)
    M = structure.M if not lumped else _mass_matrix(D, mass, inertia)
    if not float(mass.sum()) + (0.0 if shared is None else float(shared.sum())) > 0.0:
        raise ModelError("no-mass", f"structure {structure.name!r} has no mass.", where={"structure": structure.name})
    return MassDistribution(
        D, mass, places, inertia, shared, structure.positions, structure.directions, M, determined
    )  # fmt: skip


_Part = tuple[sp.csr_array, FloatArray, FloatArray, FloatArray]


def _beam_slices(structure: Structure, group: BeamElements, lumped: bool) -> _Part:
    """The slices of beams, in common axes."""
    parts: list[_Part] = []
    T, columns = group.transform(), group.coordinates()
    start = structure.positions[group.points[:, 0]]
    if group.arms is not None:
        start = start + np.einsum("eji,ej->ei", group.R, group.arms[:, 0])
    for some in group.slices(at_ends=lumped, as_in_mass=True):
        e, g = len(some.which), len(some.xi)
        R = group.R[some.which]
        local = np.matmul(some.shapes, T[some.which][:, None])  # (e, g, 6, 2 d)
        both = np.matmul(R.transpose(0, 2, 1)[:, None, None], local.reshape(e, g, 2, 3, -1))
        along = some.xi[None, :, None] * (group.length[some.which, None] * R[:, 0])[:, None]
        J = np.einsum("eki,egk,ekj->egij", R, some.inertia, R)
        D = _rows(both.reshape(e * g, 6, -1), np.repeat(columns[some.which], g, axis=0), len(structure.coordinates))
        places = (start[some.which, None] + along).reshape(-1, 3)
        parts.append((D, some.mass.ravel(), places, J.reshape(-1, 3, 3)))
    return _join(structure, parts)


def _single_slices(structure: Structure, group: SingleElements) -> _Part:
    parts: list[_Part] = []
    d = len(group.keep)
    for k, some in group.mass_slices():
        count = group.points.shape[1]
        kept = some.shapes.reshape(len(some.mass), 6, count, 6)[..., list(group.keep)].reshape(len(some.mass), 6, -1)
        columns = np.repeat(coordinates(group.points[k : k + 1], d), len(some.mass), axis=0)
        parts.append((_rows(kept, columns, len(structure.coordinates)), some.mass, some.places, some.inertia))
    return _join(structure, parts)


def _point_bodies(structure: Structure, masses: PointMasses) -> _Part:
    """Rigid bodies off their points: u + θ × c."""
    k, d, keep = len(masses.points), len(structure.directions), structure.keep
    full = np.broadcast_to(np.eye(6), (k, 6, 6)).copy()
    full[:, :3, 3:] = -cross_matrix(masses.offset)
    columns = masses.points[:, None] * d + np.arange(d)
    D = _rows(full[:, :, keep], columns, len(structure.coordinates))
    return D, masses.mass, structure.positions[masses.points] + masses.offset, masses.inertia


def _diagonal(shared: sp.csc_array) -> PointMasses:
    """Masses of the points in the proportion of the diagonal of a mass matrix, of the same total."""
    diagonal = shared.diagonal()
    points = np.flatnonzero(diagonal > 0.0)
    mass = diagonal[points] * (float(shared.sum()) / float(diagonal.sum()))
    return PointMasses(points, mass, np.zeros((len(points), 3)), np.zeros((len(points), 3, 3)))


def _points_alone(structure: Structure) -> PointMasses:
    """Rigid bodies at the points from the sums of the blocks of a mass matrix along its rows.

    The block of a rigid body is [[m, −m c̃], [m c̃, J − m c̃²]].
    """
    d, count = len(structure.directions), len(structure.points)
    keep = structure.keep
    sums = np.zeros((count, 6, 6))
    for k, way in enumerate(keep):
        unit = np.zeros((count, d))
        unit[:, k] = 1.0
        sums[:, keep, way] = (structure.M @ unit.ravel()).reshape(count, d)
    sums = 0.5 * (sums + sums.transpose(0, 2, 1))
    mass = sums[:, [way for way in keep if way < 3], [way for way in keep if way < 3]].mean(axis=1)
    if (mass < 0.0).any():
        worst = int(np.argmin(mass))
        raise ModelError(
            "not-positive-definite",
            f"the mass matrix of structure {structure.name!r} gives point {structure.points[worst]!r} the mass "
            f"{mass[worst]:.4g} kg.",
            where={"structure": structure.name, "point": structure.points[worst]},
        )
    points = np.flatnonzero(mass > 0.0)
    static = sums[points, 3:, :3]
    static = 0.5 * (static - static.transpose(0, 2, 1))
    offset = np.stack([static[:, 2, 1], static[:, 0, 2], static[:, 1, 0]], axis=1) / mass[points, None]
    c = cross_matrix(offset)
    inertia = sums[points, 3:, 3:] + mass[points, None, None] * (c @ c)
    values, vectors = np.linalg.eigh(inertia)
    inertia = np.einsum("kia,ka,kja->kij", vectors, np.maximum(values, 0.0), vectors)
    return PointMasses(points, mass[points], offset, inertia)


def _rows(blocks: FloatArray, columns: IntArray, size: int) -> sp.csr_array:
    """(6 k, size) of blocks (k, 6, n) on columns (k, n)."""
    k, _, n = blocks.shape
    indices = np.broadcast_to(columns[:, None, :], (k, 6, n)).ravel()
    matrix = sp.csr_array((blocks.ravel(), indices, np.arange(0, 6 * k * n + 1, n)), shape=(6 * k, size))
    matrix.sum_duplicates()
    return matrix


def _join(structure: Structure, parts: list[_Part]) -> _Part:
    if not parts:
        empty = sp.csr_array((0, len(structure.coordinates)))
        return empty, np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3, 3))
    mass, places, inertia = (np.concatenate([part[i] for part in parts]) for i in (1, 2, 3))
    return sp.csr_array(sp.vstack([part[0] for part in parts])), mass, places, inertia


def _mass_matrix(D: sp.csr_array, mass: FloatArray, inertia: FloatArray) -> sp.csc_array:
    """Dᵀ diag(m, J) D."""
    k = len(mass)
    blocks = np.zeros((k, 6, 6))
    blocks[:, :3, :3] = mass[:, None, None] * np.eye(3)
    blocks[:, 3:, 3:] = inertia
    weights = sp.bsr_array((blocks, np.arange(k), np.arange(k + 1)), shape=(6 * k, 6 * k))
    M = sp.csc_array(D.T @ (weights @ D))
    return sp.csc_array(0.5 * (M + M.T))
