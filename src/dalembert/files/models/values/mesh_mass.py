"""Volume, centre and inertia of a closed surface of triangles (STL, text or binary).

Every triangle and the origin span a tetrahedron of signed volume det(a, b, c)/6; sums over all of them give the
integrals of 1, x and x xᵀ over the inside (Mirtich 1996, in the tetrahedron form of Blow and Binstock 2004):
∫ x xᵀ dV = Σ det/120 (Σ_i p_i p_iᵀ + (Σ_i p_i)(Σ_i p_i)ᵀ) with p the three corners.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.atomic_files import read_bytes
from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice
from dalembert.files.models.text import limits

FLAT = 1e-12  # least volume as part of the cube of the size: the sum of 10⁴ tetrahedra has rounding of 1e-14
STL_RECORD = np.dtype([("numbers", "<f4", (4, 3)), ("extra", "<u2")])
_VERTEX = re.compile(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)")


@dataclass(frozen=True)
class MeshMass:
    """volume [m³]; center (3,) [m]; inertia (3, 3) about the centre per unit of density [m⁵]."""

    volume: float
    center: tuple[float, float, float]
    inertia: tuple[tuple[float, float, float], ...]
    triangles: Any = field(default=None, compare=False, repr=False)  # (n, 3, 3) [m]


def mesh_mass(path: Path, shown: str, scale: float) -> MeshMass:
    """Mass properties of an STL file; `scale` is one unit of the file in metres."""
    triangles = mesh_triangles(path, shown, scale)
    _check_edges(triangles, shown)
    return replace(mass_of(triangles, shown), triangles=triangles)


def mesh_triangles(path: Path, shown: str, scale: float) -> Any:
    """Corners (n, 3, 3) [m] of the triangles of an STL file; they need not close."""
    content = read_bytes(path, limits.MESH_BYTES, shown)
    problem = f"the scale of a mesh must be positive, got {scale:g}."
    FileFormatError.when(not (np.isfinite(scale) and scale > 0), "not-positive", problem, path=shown)
    return read_triangles(content, shown) * scale


def read_triangles(content: bytes, shown: str) -> Any:
    """Corners (n, 3, 3) of the triangles of an STL file."""
    if len(content) >= 84:
        count = int.from_bytes(content[80:84], "little")
        if len(content) == 84 + 50 * count:
            FileFormatError.when(count == 0, "empty", "the mesh has no triangles.", path=shown)
            table = np.frombuffer(content, dtype=STL_RECORD, offset=84, count=count)
            return _finite(table["numbers"][:, 1:, :].astype(float), shown)
    problem = "this is neither a binary STL file (its length does not fit) nor a text one."
    FileFormatError.when(content.lstrip()[:5].lower() != b"solid", "bad-syntax", problem, path=shown)
    try:
        numbers = np.array(_VERTEX.findall(content), dtype=float)
    except ValueError:
        raise FileFormatError("bad-syntax", "a corner of the mesh is not three numbers.", path=shown) from None
    problem = f"the mesh has {len(numbers)} corners, not three for every triangle."
    FileFormatError.when(len(numbers) == 0 or len(numbers) % 3, "damaged", problem, path=shown)
    return _finite(numbers.reshape(-1, 3, 3), shown)


def binary_stl(triangles: object) -> bytes:
    """The triangles (n, 3, 3) as a binary STL file; its numbers have seven digits."""
    corners = np.asarray(triangles, dtype=float)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    table = np.zeros(len(corners), dtype=STL_RECORD)
    table["numbers"][:, 0] = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0)
    table["numbers"][:, 1:] = corners
    return bytes(80) + len(corners).to_bytes(4, "little") + table.tobytes()


def _finite(triangles: Any, shown: str) -> Any:
    problem = "the mesh has a corner that is not finite."
    FileFormatError.when(not np.all(np.isfinite(triangles)), "not-finite", problem, path=shown)
    return triangles


def _check_edges(triangles: Any, shown: str) -> None:
    """Every edge is run once in each direction, else the surface has a hole or a face turned inside out."""
    corners, index = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
    faces = index.reshape(-1, 3)
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    count = len(corners)
    there = np.sort(edges[:, 0] * count + edges[:, 1])
    back = np.sort(edges[:, 1] * count + edges[:, 0])
    if not np.array_equal(there, back):
        loose = len(np.setxor1d(there, back)) // 2 or 1
        raise FileFormatError(
            "open-mesh",
            f"the mesh is not closed or has faces turned inside out ({loose} edges without a partner).",
            Advice("Repair it, or give mass and inertia as numbers."),
            path=shown,
        )


def mass_of(triangles: Any, shown: str = "mesh") -> MeshMass:
    """Integrals over the inside of a closed surface, corners (n, 3, 3) counter-clockwise from outside."""
    middle = triangles.reshape(-1, 3).mean(axis=0)  # near the centre: no digits are lost far from the origin
    p = triangles - middle
    det = np.einsum("ni,ni->n", p[:, 0], np.cross(p[:, 1], p[:, 2]))
    volume = float(det.sum() / 6)
    size = float(np.abs(p).max())
    FileFormatError.when(volume < -FLAT * size**3, "inside-out", "the faces of the mesh point inwards.", path=shown)
    problem = "the mesh is flat: it encloses no volume."
    FileFormatError.when(not volume > FLAT * size**3, "no-volume", problem, path=shown)
    total = p.sum(axis=1)
    center = np.einsum("n,ni->i", det, total) / 24 / volume
    second = np.einsum("n,nki,nkj->ij", det, p, p) + np.einsum("n,ni,nj->ij", det, total, total)
    second = second / 120 - volume * np.outer(center, center)
    inertia = np.trace(second) * np.eye(3) - second
    inertia = (inertia + inertia.T) / 2
    place = center + middle
    rows = tuple((float(row[0]), float(row[1]), float(row[2])) for row in inertia)
    return MeshMass(volume, (float(place[0]), float(place[1]), float(place[2])), rows)
