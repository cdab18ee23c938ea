"""Triangles and colours of a Collada file (.dae): the geometries of its scene, in metres.

A geometry has points in a source that its vertices name, and triangles, polylists or polygons whose numbers refer to
them, several for each corner. Nodes of the scene place geometries by matrices, translations, rotations and scales. The
axis that points upwards is not applied, as in the programs of ROS. Triangles name a symbol, which the scene binds to a
material; its effect has the diffuse colour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.atomic_files import read_bytes
from dalembert.core.errors import FileFormatError
from dalembert.files.robots.xml_tree import XmlNode, parse_xml
from dalembert.model.orientation import rotation

DEPTH = 32  # of nodes inside each other, and of those that others refer to
Colors = tuple[tuple[int, int, int | None], ...]  # first triangle, number of triangles, 0xRRGGBB


def read_collada(path: Path, most_bytes: int, most_triangles: int) -> tuple[FloatArray, Colors]:
    """Triangles (n, 3, 3) of a file [m], and their colours."""
    root = parse_xml(read_bytes(path, most_bytes), path.name, texts=True)
    named = {node.attributes["id"]: node for node in _walk(root) if "id" in node.attributes}
    unit = _find(root, "unit")
    meshes_: dict[str, list[tuple[FloatArray, str]]] = {}
    parts: list[FloatArray] = []
    colors: list[tuple[int, int, int | None]] = []
    count = 0

    def place(node: XmlNode, pose: FloatArray, depth: int) -> None:
        nonlocal count
        FileFormatError.when(depth > DEPTH, "too-large", f"nodes are more than {DEPTH} deep.")
        for child in node.children:
            if child.tag in _STEPS:
                pose = pose @ _STEPS[child.tag](_numbers(child))
        for child in node.children:
            target = _follow(child, "url", named)
            if child.tag == "node":
                place(child, pose, depth + 1)
            elif child.tag == "instance_node" and target is not None:
                place(target, pose, depth + 1)
            elif child.tag == "instance_geometry" and target is not None:
                key = target.attributes["id"]
                if key not in meshes_:
                    try:
                        meshes_[key] = _read_geometry(target, named)
                    except (ValueError, OverflowError) as error:  # counts that do not fit, offsets that are no numbers
                        problem = f"line {target.line}: the geometry is broken ({error})."
                        raise FileFormatError("bad-syntax", problem) from None
                bound = (node for node in _walk(child) if node.tag == "instance_material")
                materials = {node.attributes.get("symbol"): _follow(node, "target", named) for node in bound}
                for triangles, symbol in meshes_[key]:
                    colors.append((count, len(triangles), _read_color(materials.get(symbol), named)))
                    count += len(triangles)
                    FileFormatError.when(count > most_triangles, "too-large", f"more than {most_triangles} triangles.")
                    parts.append(triangles @ pose[:3, :3].T + pose[:3, 3])

    for scene in (node for node in _walk(root) if node.tag == "visual_scene"):
        place(scene, np.eye(4), 0)
    FileFormatError.when(not count, "empty", "the mesh has no triangles.")
    try:
        scale = float("1" if unit is None else unit.attributes.get("meter", "1"))
    except ValueError:
        scale = np.nan
    triangles = np.concatenate(parts) * scale
    FileFormatError.when(not np.isfinite(triangles).all(), "not-finite", "the mesh has a corner that is not finite.")
    return triangles, tuple(colors)


def _read_color(material: XmlNode | None, named: dict[str, XmlNode]) -> int | None:
    """Diffuse colour 0xRRGGBB of a material; None without one."""
    effect = None if material is None else _find(material, "instance_effect")
    effect = None if effect is None else _follow(effect, "url", named)
    diffuse = None if effect is None else _find(effect, "diffuse")
    color = None if diffuse is None else diffuse.first("color")
    values = () if color is None else np.clip(_numbers(color), 0.0, 1.0)
    if len(values) < 3 or not np.isfinite(values).all():
        return None
    red, green, blue = (round(255 * float(channel)) for channel in values[:3])
    return red << 16 | green << 8 | blue


def _find(node: XmlNode, tag: str) -> XmlNode | None:
    return next((child for child in _walk(node) if child.tag == tag), None)


def _follow(node: XmlNode, key: str, named: dict[str, XmlNode]) -> XmlNode | None:
    return named.get(node.attributes.get(key, "").removeprefix("#"))


def _walk(node: XmlNode) -> Iterator[XmlNode]:
    todo = [node]
    while todo:
        item = todo.pop()
        yield item
        todo += reversed(item.children)


def _numbers(node: XmlNode) -> FloatArray:
    try:
        return np.array(node.text.split(), dtype=float)
    except ValueError:
        raise FileFormatError("bad-syntax", f"line {node.line}: <{node.tag}> must be numbers.") from None


def _step(count: int, make: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], FloatArray]:
    def checked(values: FloatArray) -> FloatArray:
        problem = f"a step of a node has {len(values)} numbers, not {count}."
        FileFormatError.when(len(values) != count, "bad-syntax", problem)
        return make(values)

    return checked


def _affine(linear: FloatArray, offset: FloatArray) -> FloatArray:
    return np.vstack([np.column_stack([linear, offset]), [0.0, 0.0, 0.0, 1.0]])


def _turn(values: FloatArray) -> FloatArray:
    axis = values[:3] if np.any(values[:3]) else np.array([0.0, 0.0, 1.0])
    matrix = np.array(rotation(axis=tuple(axis), angle=float(np.deg2rad(values[3]))).matrix)
    return _affine(matrix, np.zeros(3))


_STEPS = {
    "matrix": _step(16, lambda x: np.asarray(x.reshape(4, 4))),
    "translate": _step(3, lambda x: _affine(np.eye(3), x)),
    "rotate": _step(4, _turn),
    "scale": _step(3, lambda x: _affine(np.diag(x), np.zeros(3))),
}


def _read_geometry(geometry: XmlNode, named: dict[str, XmlNode]) -> list[tuple[FloatArray, str]]:
    """Triangles, and the symbol of their material."""
    parts = []
    for node in (primitive for mesh in geometry.all("mesh") for primitive in mesh.children):
        if node.tag not in ("triangles", "polylist", "polygons"):
            continue
        inputs = [(source, int(source.attributes.get("offset", "0") or 0)) for source in node.all("input")]
        width = 1 + max((offset for _, offset in inputs), default=0)
        vertices = next(((source, k) for source, k in inputs if source.attributes.get("semantic") == "VERTEX"), None)
        if vertices is None:
            continue
        points = _read_points(vertices[0], named)
        corners = [_numbers(p).astype(int).reshape(-1, width)[:, vertices[1]] for p in node.all("p")]
        if node.tag == "polylist":
            sizes = _numbers(node.first("vcount") or node).astype(int).tolist()
            ends = list(accumulate(sizes))
            corners = [corners[0][end - size : end] for end, size in zip(ends, sizes, strict=True)] if corners else []
        elif node.tag == "triangles":
            corners = list(np.concatenate(corners).reshape(-1, 3)) if corners else []
        fans = [[corner[0], corner[k], corner[k + 1]] for corner in corners for k in range(1, len(corner) - 1)]
        faces = np.array(fans, dtype=int).reshape(-1, 3)
        problem = f"line {node.line} names points that the file does not have."
        FileFormatError.when(len(faces) and not 0 <= faces.min() <= faces.max() < len(points), "bad-syntax", problem)
        parts.append((points[faces], node.attributes.get("material", "")))
    return parts


def _read_points(given: XmlNode, named: dict[str, XmlNode]) -> FloatArray:
    vertices = _follow(given, "source", named)
    inputs = () if vertices is None else vertices.all("input")
    position = next((source for source in inputs if source.attributes.get("semantic") == "POSITION"), None)
    source = None if position is None else _follow(position, "source", named)
    array = None if source is None else source.first("float_array")
    if array is None:
        raise FileFormatError("bad-syntax", f"line {given.line}: the vertices have no positions.")
    return _numbers(array).reshape(-1, 3)
