"""Nodes of a flexible body: places of a structure with a displacement and a rotation, (u, θ) = B x with x its N
coordinates.

A point with six coordinates (of a frame, an interface of a solid) is one by itself. A point without rotations (of a
solid) moves as itself and turns with the points next to it; a set of points moves and turns as their mean:

    θ = J⁻¹ Σ r_i × u_i,    u = mean u_i + θ × (p − c),    c = mean x_i,  r_i = x_i − c,  J = Σ (r_i² 1 − r_i r_iᵀ)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.structures.assembly.places import is_flat
from dalembert.structures.assembly.rotating_bodies import cross_matrix
from dalembert.structures.assembly.structure import DIRECTIONS, Structure
from dalembert.structures.solid.stresses import SolidGroup

# Distance of a place from a point of the mesh, relative to the size of the structure: as `Mesh.select` has it.
SAME_PLACE = 1e-6
# Most points that become nodes when none are named.
MOST = 50
_INNER = re.compile(r".*\[\d+\]")


@dataclass(frozen=True)
class Node:
    """A node: rows B (6, N), and the point of the structure that it is, or None for a set of points."""

    name: str
    place: FloatArray
    rows: sp.csr_array
    point: str | None


def find_nodes(structure: Structure, given: Any) -> list[Node]:
    """Nodes that a user names: names of points, a mapping of names to points, sets or places, or None."""
    wanted = _read_nodes(structure, given)
    twice = [name for k, name in enumerate(wanted) if name[0] in [other for other, _ in wanted[:k]]]
    if twice:
        raise ModelError(
            "duplicate",
            f"flexible body {structure.name!r}: node {twice[0][0]!r} is given twice.",
            where={"body": structure.name, "node": twice[0][0]},
        )
    return [make_node(structure, name, what) for name, what in wanted]


def make_node(structure: Structure, name: str, what: Any) -> Node:
    """One node: at a point, at the place of a point, or of a set of points."""
    if isinstance(what, str) and what in structure._point_index:
        return _at_point(structure, name, structure.point(what))
    if not isinstance(what, str) and np.ndim(what) == 1 and all(isinstance(one, str) for one in what):
        points = np.array([structure.point(one) for one in what], dtype=np.intp)
        return _of_set(structure, name, points)
    if not isinstance(what, str) and np.shape(what) == (3,) and not _are_counts(what):
        return _at_point(
            structure, name, nearest_point(structure, f"node {name!r}", np.asarray(what, dtype=np.float64))
        )
    solids = [group for group in structure.groups if isinstance(group, SolidGroup)]
    if solids:
        return _of_set(structure, name, np.asarray(solids[0].mesh.select(what)))
    if isinstance(what, str):
        problem = unknown_name("point", what, structure.points, f"flexible body {structure.name!r}")
        raise ModelError("unknown-name", problem, where={"body": structure.name, "node": name})
    raise ModelError(
        "wrong-type",
        f"flexible body {structure.name!r}: node {name!r} must be a point, a place (x, y, z) or several points, got "
        f"{what!r}.",
        where={"body": structure.name, "node": name},
    )


def _are_counts(what: Any) -> bool:
    """Whether three numbers are the numbers of points and not a place."""
    return isinstance(what, np.ndarray) and what.dtype.kind in "iu"


def _read_nodes(structure: Structure, given: Any) -> list[tuple[str, Any]]:
    if given is None:
        return [(name, name) for name in _usual(structure)]
    if isinstance(given, str):
        return [(given, given)]
    if isinstance(given, Mapping):
        return list(given.items())
    if isinstance(given, Iterable):
        names = list(given)
        if all(isinstance(name, str) for name in names):
            return [(name, name) for name in names]
    raise ModelError(
        "wrong-type",
        f"flexible body {structure.name!r}: nodes are names of points, or a mapping of names to points, got {given!r}.",
        where={"body": structure.name},
    )


def _usual(structure: Structure) -> Sequence[str]:
    """Interfaces of a solid, or the points that the user of a frame named."""
    solids = [group for group in structure.groups if isinstance(group, SolidGroup)]
    if solids:
        names: Sequence[str] = structure.points[len(solids[0].mesh.points) :]
    else:
        names = [name for name in structure.points if not _INNER.fullmatch(name)]
    if not names or len(names) > MOST:
        advice = [Advice("Name those where other parts are attached with {}.", Argument("nodes"))]
        if solids:
            advice.append(Advice("Or make interfaces with {}.", Call("solid.add_interface")))
        raise ModelError(
            "missing-argument",
            f"flexible body {structure.name!r} has {len(names)} points that may be nodes.",
            *advice,
            where={"body": structure.name},
        )
    return names


def nearest_point(structure: Structure, what: str, place: FloatArray) -> int:
    """The point at a place; an error names the nearest one."""
    distance = np.linalg.norm(structure.positions - place, axis=1)
    best = int(np.argmin(distance))
    size = float(np.ptp(structure.positions, axis=0).max()) or 1.0
    if not distance[best] <= SAME_PLACE * size:
        near = ", ".join(f"{value:.6g}" for value in structure.positions[best])
        raise ModelError(
            "off-mesh",
            f"flexible body {structure.name!r}: {what} is off the mesh, the nearest point "
            f"{structure.points[best]!r} at ({near}) is {distance[best]:.4g} m away.",
            Advice("Name that point, or average several points around the place."),
            where={"body": structure.name},
            evidence={"distance": float(distance[best]), "nearest": structure.points[best]},
        )
    return best


def _at_point(structure: Structure, name: str, point: int) -> Node:
    d, N = len(structure.directions), len(structure.coordinates)
    columns = {DIRECTIONS.index(way): point * d + k for k, way in enumerate(structure.directions)}
    turning = [way for way in columns if way > 2 and not structure.inactive[columns[way]]]
    rows = sp.lil_array((6, N))
    for way in [way for way in columns if way < 3] + turning:
        rows[way, columns[way]] = 1.0
    spatial = "z" in structure.directions
    if len(turning) < (3 if spatial else 1):
        around = _neighbours(structure, point)
        rotation = _mean_motion(structure, name, around, structure.positions[point])[3:]
        rows = sp.lil_array(sp.vstack([rows[:3], rotation]))
    return Node(name, structure.positions[point].copy(), sp.csr_array(rows), structure.points[point])


def _of_set(structure: Structure, name: str, points: IntArray) -> Node:
    place = structure.positions[points].mean(axis=0)
    return Node(name, place, _mean_motion(structure, name, points, place), None)


def _neighbours(structure: Structure, point: int) -> IntArray:
    """Points that stiffness joins to a point, and the point itself."""
    d = len(structure.directions)
    columns = structure.K[:, point * d : point * d + d]
    return np.unique(np.append(columns.nonzero()[0] // d, point))


def _mean_motion(structure: Structure, name: str, points: IntArray, place: FloatArray) -> sp.csr_array:
    """(6, N) mean displacement at ``place`` and mean rotation of points."""
    d, N = len(structure.directions), len(structure.coordinates)
    ways = [k for k, way in enumerate(structure.directions) if way in "xyz"]
    axes = ["xyz".index(structure.directions[k]) for k in ways]
    places = structure.positions[points]
    centre = places.mean(axis=0)
    arms = places - centre
    J = np.sum(arms**2) * np.eye(3) - arms.T @ arms
    sizes = np.linalg.eigvalsh(J)
    flat = [2] if len(ways) < 3 else [0, 1, 2]
    if is_flat(sizes[0] if len(flat) == 3 else J[2, 2], sizes[-1]):
        raise ModelError(
            "missing-rotations",
            f"flexible body {structure.name!r}: the {len(points)} points of node {name!r} lie on a line, so that its "
            "rotation is not determined.",
            Advice("Take points around the place, or a point with rotations."),
            where={"body": structure.name, "node": name},
            evidence={"points": len(points)},
        )
    inverse = np.zeros((3, 3))
    inverse[np.ix_(flat, flat)] = np.linalg.inv(J[np.ix_(flat, flat)])
    turning = np.matmul(inverse, cross_matrix(arms))  # (m, 3, 3): θ from u_i
    moving = np.eye(3) / len(points) - np.matmul(cross_matrix(place - centre), turning)
    blocks = np.concatenate([moving, turning], axis=1)[:, :, axes]  # (m, 6, ways)
    columns = points[:, None] * d + np.array(ways)
    rows = np.broadcast_to(np.arange(6)[None, :, None], blocks.shape)
    where = np.broadcast_to(columns[:, None, :], blocks.shape)
    return sp.csr_array((blocks.ravel(), (rows.ravel(), where.ravel())), shape=(6, N))
