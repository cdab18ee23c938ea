"""Meshes among the assets of an MJCF model: files, or points whose convex hull is the mesh."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import FileFormatError, unknown_name
from dalembert.files.robots.mesh_files import find_first
from dalembert.files.robots.mjcf.document import MjcfDocument, MjcfReader
from dalembert.files.robots.xml_tree import XmlNode
from dalembert.model.orientation import rotation

ATTRIBUTES = (
    "name", "class", "file", "scale", "vertex", "face", "normal", "texcoord", "refpos", "refquat", "inertia",
    "content_type", "smoothnormal", "maxhullvert", "builtin", "params", "material", "octree_maxdepth", "needsdf",
)  # fmt: skip
WHITE = 0xFFFFFF  # of a material without a colour
MOST_POINTS = 100_000  # in the text of a model


@dataclass
class MeshAssets:
    """Mesh elements by name; their triangles are made when a geom needs them."""

    nodes: dict[str, XmlNode] = field(default_factory=dict)
    made: dict[str, FloatArray | None] = field(default_factory=dict)

    def inertia(self, geom: XmlNode) -> str:
        """How the mass of a mesh follows from its triangles."""
        node = self.nodes.get(geom.attributes.get("mesh", ""))
        return "legacy" if node is None else node.attributes.get("inertia", "legacy")

    def triangles(self, reader: MjcfReader, geom: XmlNode) -> FloatArray | None:
        name = geom.attributes.get("mesh", "")
        if name not in self.nodes:
            reader.problem(geom, "unknown-name", unknown_name("mesh", name, self.nodes, "<asset>"))
            return None
        if name not in self.made:
            self.made[name] = _read_mesh(reader, self.nodes[name])
        return self.made[name]


def read_assets(document: MjcfDocument) -> MeshAssets:
    reader, assets = document.reader, MeshAssets()
    for raw in document.parts("asset"):
        if raw.tag == "material":
            _read_material(reader, reader.classes.complete(reader, raw, ""))
            continue
        if raw.tag != "mesh":
            if raw.tag not in ("texture", "hfield", "skin", "include"):
                reader.note(raw, f"<{raw.tag}> of <asset>")
            continue
        node = reader.classes.complete(reader, raw, "")
        reader.check_names(node, ("plugin",), ATTRIBUTES)
        name = node.attributes.get("name") or PurePosixPath(node.attributes.get("file", "")).stem
        if name in assets.nodes:
            reader.problem(node, "duplicate", f"mesh {name!r} is given twice.")
        assets.nodes[name] = node
    return assets


def _read_material(reader: MjcfReader, node: XmlNode) -> None:
    reader.drawing = True
    color = reader.color(node)[0]
    reader.drawing = False
    white = color in (None, WHITE)
    if not (white and "texture" in node.attributes):  # a texture has colours of its own
        reader.materials[node.attributes.get("name", "")] = WHITE if color is None else color


def _read_mesh(reader: MjcfReader, node: XmlNode) -> FloatArray | None:
    scale = reader.numbers(node, "scale", 3, (1, 1, 1))
    place, turn = reader.numbers(node, "refpos", 3, (0, 0, 0)), reader.numbers(node, "refquat", 4, (1, 0, 0, 0))
    if not np.any(turn):
        reader.problem(node, "zero-length", "refquat of <mesh> is zero.")
        return None
    axes = np.array(rotation(quaternion=tuple(turn)).matrix)
    if "vertex" not in node.attributes:
        inside = PurePosixPath(reader.settings.mesh_folder) / node.attributes.get("file", "")
        beside = PurePosixPath(node.path).parent / inside  # the included file that names it
        try:
            name = find_first([str(beside), str(inside)], reader.meshes.folders)[0]
        except FileFormatError:
            name = str(inside)
        vertices = reader.mesh(node, name, np.ones(3), needed=True)
        if vertices is None:
            return None
        vertices = reader.check_size(node, name, (vertices - place) @ axes * scale)
        return vertices if np.prod(scale) > 0 else np.asarray(vertices[:, ::-1])
    points = reader.values(node, "vertex")
    if points is None or len(points) < 12 or len(points) % 3 or len(points) > 3 * MOST_POINTS:
        reader.problem(node, "wrong-shape", "vertex of <mesh> must be three numbers for each of four points or more.")
        return None
    corners = (points.reshape(-1, 3) - place) @ axes * scale
    if "face" in node.attributes:
        faces = reader.values(node, "face")
        if faces is None or len(faces) % 3 or not len(faces) or (faces != np.rint(faces)).any():
            reader.problem(node, "wrong-shape", "face of <mesh> must be three numbers of points for each triangle.")
            return None
        if faces.min() < 0 or faces.max() >= len(corners):
            reader.problem(node, "out-of-range", "face of <mesh> names a point that it does not have.")
            return None
        return np.asarray(corners[faces.astype(int).reshape(-1, 3)])
    return convex_hull(reader, node, corners)


def convex_hull(reader: MjcfReader, node: XmlNode, points: FloatArray) -> FloatArray | None:
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(points)
    except QhullError:
        reader.problem(node, "no-volume", "the points of <mesh> enclose no volume.")
        return None
    triangles = points[hull.simplices]
    outward = np.einsum("ni,ni->n", np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]),
                        hull.equations[:, :3])  # fmt: skip
    triangles[outward < 0] = triangles[outward < 0][:, ::-1]
    return np.asarray(triangles)
