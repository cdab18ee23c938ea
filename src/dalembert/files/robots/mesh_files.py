"""Meshes of a robot, found beneath given folders: STL in binary or text, and OBJ.

An OBJ file has lines ``v x y z`` and ``f a b c ...``, where a corner is ``number``, ``number/...`` and counts from one,
or backwards from the last point where it is negative. A face with more corners is a fan of triangles.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice, Argument
from dalembert.files.models.values.mesh_mass import mesh_triangles


@dataclass(frozen=True)
class MeshLimits:
    """Limits far above the largest of 491 meshes of published robots (2.8 MB, 56 000 triangles)."""

    text_bytes: int = 50 * 1024**2  # of an OBJ file; reading this size takes about 10 s
    triangles: int = 4_000_000  # of all meshes of a robot: 300 MB
    corners: int = 1000  # of one face


LIMITS = MeshLimits()


@dataclass
class MeshFiles:
    """Meshes beneath some folders; each file is read once."""

    folders: Sequence[Path]
    wanted: bool = True
    read_before: dict[Path, FloatArray] = field(default_factory=dict)
    suffixes = (".stl", ".obj")

    def read(self, name: str) -> FloatArray:
        """Triangles (n, 3, 3) in units of the file."""
        path = find_file(name, self.folders)
        if path not in self.read_before:
            found = read_obj(path) if path.suffix.lower() == ".obj" else mesh_triangles(path, path.name, 1.0)
            self.read_before[path] = found
            total = sum(map(len, self.read_before.values()))
            if total > LIMITS.triangles:
                raise FileFormatError("too-large", f"the meshes have more than {LIMITS.triangles} triangles.")
        return self.read_before[path]


def find_file(name: str, folders: Sequence[Path]) -> Path:
    """A file beneath one of the folders; ``package://robot/mesh.stl`` is searched with and without its package."""
    inner = re.sub(r"^(package|file|model)://", "", name).lstrip("/")
    parts = [inner, inner.partition("/")[2]] if name.startswith(("package://", "model://")) else [inner]
    outside = False
    for folder in folders:
        top = Path(os.path.realpath(folder))
        for part in filter(None, parts):
            try:
                found = Path(os.path.realpath(top / part))
                inside = found.is_relative_to(top)
                if inside and found.is_file():
                    return found
            except (OSError, ValueError):  # a null character, a name that is too long
                continue
            outside = outside or not inside
    places = ", ".join(str(folder) or "." for folder in folders)
    advice = Advice("Name the folder of the file in {}.", Argument("folders"))
    if outside:
        raise FileFormatError("outside-folder", f"the path leads out of {places}.", advice)
    raise FileFormatError("no-such-file", f"there is no such file beneath {places}.", advice)


def read_obj(path: Path) -> FloatArray:
    """Triangles (n, 3, 3) of an OBJ file."""
    try:
        if path.stat().st_size > LIMITS.text_bytes:
            raise FileFormatError("too-large", f"the mesh has more than {LIMITS.text_bytes} bytes.")
        content = path.read_bytes()
    except OSError as error:
        raise FileFormatError("not-readable", f"cannot be read ({error}).") from None
    points: list[tuple[float, float, float]] = []
    faces: list[tuple[int, int, int]] = []
    for number, line in enumerate(content.split(b"\n"), 1):
        words = line.split()
        if not words or words[0] not in (b"v", b"f"):
            continue
        try:
            if words[0] == b"v":
                x, y, z = map(float, words[1:4])
                points.append((x, y, z))
                continue
            corners = [int(word.partition(b"/")[0]) for word in words[1 : LIMITS.corners + 2]]
        except ValueError:
            raise FileFormatError("bad-syntax", f"line {number} is not a point or face of an OBJ file.") from None
        corners = [k - 1 if k > 0 else len(points) + k for k in corners]
        if not 3 <= len(corners) <= LIMITS.corners or not all(0 <= k < len(points) for k in corners):
            raise FileFormatError("bad-syntax", f"line {number} names points that the file does not have.")
        faces += [(corners[0], b, c) for b, c in pairwise(corners[1:])]
    if not faces:
        raise FileFormatError("empty", "the mesh has no triangles.")
    found: FloatArray = np.array(points)[np.array(faces)]
    if not np.isfinite(found).all():
        raise FileFormatError("not-finite", "the mesh has a corner that is not finite.")
    return found
