"""Meshes of a robot, found beneath given folders: STL in binary or text, OBJ, and Collada.

An OBJ file has lines ``v x y z`` and ``f a b c ...``, where a corner is ``number``, ``number/...`` and counts from one,
or backwards from the last point where it is negative. A face with more corners is a fan of triangles.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.atomic_files import require_file
from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice, Argument
from dalembert.files.models.values.mesh_mass import mesh_triangles
from dalembert.files.robots.collada import Colors, read_collada

# Limits far above the largest of 491 meshes of published robots (2.8 MB, 56 000 triangles).
TEXT_BYTES = 16 * 1024**2  # of an OBJ file: 230 000 triangles with normals; reading takes at most 2 s
TRIANGLES = 1_000_000  # of all files of a robot, and again of all its pictures: 72 MB each
POINTS = 1_000_000  # of an OBJ file
CORNERS = 1000  # of one face


@dataclass
class MeshFiles:
    """Meshes beneath some folders; each file is read once."""

    folders: Sequence[Path]
    wanted: bool = True
    read_before: dict[Path, FloatArray] = field(default_factory=dict)
    colors: dict[Path, Colors] = field(default_factory=dict)
    drawn: int = 0  # triangles of pictures so far: a file may be shown many times
    suffixes = (".stl", ".obj", ".dae")

    def read(self, name: str) -> FloatArray:
        """Triangles (n, 3, 3) in units of the file."""
        path = find_file(name, self.folders)
        if path not in self.read_before:
            suffix = path.suffix.lower()
            if suffix == ".dae":
                triangles, self.colors[path] = read_collada(path, TEXT_BYTES, TRIANGLES)
            else:
                triangles = read_obj(path) if suffix == ".obj" else mesh_triangles(path, path.name, 1.0)
            self.read_before[path] = triangles
            total = sum(map(len, self.read_before.values()))
            problem = f"the meshes have more than {TRIANGLES} triangles."
            FileFormatError.when(total > TRIANGLES, "too-large", problem)
        return self.read_before[path]

    def read_colors(self, name: str) -> Colors:
        """Colours in a file that was read; empty where it has none."""
        return self.colors.get(find_file(name, self.folders), ())


def find_file(name: str, folders: Sequence[Path]) -> Path:
    """A file beneath one of the folders; ``package://robot/mesh.stl`` is searched with and without its package."""
    inner = re.sub(r"^(package|file|model)://", "", name).lstrip("/")
    parts = [inner, inner.partition("/")[2]] if name.startswith(("package://", "model://")) else [inner]
    outside = False
    for folder in folders:
        top = Path(os.path.realpath(folder))
        for step in filter(None, parts):
            try:
                path_ = Path(os.path.realpath(top / step))
                inside = path_.is_relative_to(top)
                if inside and path_.is_file():
                    return path_
            except (OSError, ValueError):  # a null character, a name that is too long
                continue
            outside = outside or not inside
    places = ", ".join(str(folder) or "." for folder in folders)
    advice = Advice("Name the folder of the file in {}.", Argument("folders"))
    FileFormatError.when(outside, "outside-folder", f"the path leads out of {places}.", advice)
    raise FileFormatError("no-such-file", f"there is no such file beneath {places}.", advice)


def find_first(names: Sequence[str], folders: Sequence[Path]) -> tuple[str, Path]:
    """The first of some names that is a file beneath the folders; the error is that of the last."""
    for name in names[:-1]:
        try:
            return name, find_file(name, folders)
        except FileFormatError:
            continue
    return names[-1], find_file(names[-1], folders)


def read_obj(path: Path) -> FloatArray:
    """Triangles (n, 3, 3) of an OBJ file."""
    require_file(path, TEXT_BYTES, path.name)
    points, faces = array("d"), array("l")
    problem = f"more than {POINTS} points or {TRIANGLES} triangles."
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.startswith((b"v ", b"f ", b" ", b"v\t", b"f\t", b"\t")):
                    _read_line(number, line.split(None, CORNERS + 2), points, faces)
                    FileFormatError.when(len(points) > 3 * POINTS or len(faces) > 3 * TRIANGLES, "too-large", problem)
    except OSError as error:
        raise FileFormatError("not-readable", f"cannot be read ({error}).") from None
    FileFormatError.when(not faces, "empty", "the mesh has no triangles.")
    corners_: FloatArray = np.frombuffer(points).reshape(-1, 3)[np.frombuffer(faces, dtype="l").reshape(-1, 3)]
    FileFormatError.when(not np.isfinite(corners_).all(), "not-finite", "the mesh has a corner that is not finite.")
    return corners_


def _read_line(number: int, words: list[bytes], points: array[float], faces: array[int]) -> None:
    """Add the numbers of a point, or of the triangles of a face."""
    if not words or words[0] not in (b"v", b"f"):
        return
    try:
        if words[0] == b"v":
            x, y, z = map(float, words[1:4])
            points.extend((x, y, z))
            return
        corners = [int(word.partition(b"/")[0]) for word in words[1:]]
    except ValueError:
        raise FileFormatError("bad-syntax", f"line {number} is not a point or face of an OBJ file.") from None
    count = len(points) // 3
    corners = [k - 1 if k > 0 else count + k for k in corners]
    if not 3 <= len(corners) <= CORNERS or not 0 <= min(corners) <= max(corners) < count:
        raise FileFormatError("bad-syntax", f"line {number} names points that the file does not have.")
    for b, c in pairwise(corners[1:]):
        faces.extend((corners[0], b, c))
