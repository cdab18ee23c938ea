"""Bodies of MJCF: nested, each with its pose in the one around it, its joints, geoms and inertia.

A frame is replaced by its children, each with the pose of the frame added.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dalembert.files.robots.mjcf.assets import MeshAssets
from dalembert.files.robots.mjcf.document import MjcfDocument, MjcfReader
from dalembert.files.robots.mjcf.frames import POSE, read_origin
from dalembert.files.robots.mjcf.geoms import Geom, read_geom
from dalembert.files.robots.origins import Origin
from dalembert.files.robots.xml_tree import XmlNode

BODY = (
    "inertial", "joint", "freejoint", "geom", "site", "body", "frame", "camera", "light", "attach", "composite",
    "flexcomp", "replicate", "plugin",
)  # fmt: skip
ATTRIBUTES = ("name", "childclass", "mocap", "gravcomp", "user", "sleep", *POSE)
UNREAD = ("attach", "composite", "flexcomp", "replicate", "plugin")  # they would add bodies or forces
WORLD = "world"


@dataclass(eq=False)
class MjcfBody:
    """A body of the file.  joints : elements with the attributes of their class, and the frames around them."""

    name: str
    node: XmlNode
    parent: MjcfBody | None
    origin: Origin
    joints: list[tuple[XmlNode, Origin]] = field(default_factory=list)
    geoms: list[Geom] = field(default_factory=list)
    inertial: tuple[XmlNode, Origin] | None = None
    children: list[MjcfBody] = field(default_factory=list)
    carried: float = 0.0  # share of its weight that is carried

    def walk(self) -> Iterator[MjcfBody]:
        """This body and all bodies inside it, parents first, in the order of the file."""
        todo = [self]
        while todo:
            item = todo.pop()
            yield item
            todo += reversed(item.children)


@dataclass
class BodyTree:
    """The world with its bodies, and sites by name: the body and the pose in it."""

    reader: MjcfReader
    meshes: MeshAssets
    world: MjcfBody
    bodies: dict[str, MjcfBody]
    sites: dict[str, tuple[MjcfBody, Origin]] = field(default_factory=dict)


def read_bodies(document: MjcfDocument, meshes: MeshAssets) -> BodyTree:
    sections = document.sections.get("worldbody", [])
    world = MjcfBody(WORLD, sections[0] if sections else document.root, None, Origin())
    tree = BodyTree(document.reader, meshes, world, {WORLD: world})
    if not sections:
        document.reader.problem(document.root, "empty", "the model has no <worldbody>.")
    for section in sections:
        _fill(tree, world, section, Origin(), "")
    return tree


def _fill(tree: BodyTree, body: MjcfBody, node: XmlNode, outer: Origin, childclass: str) -> None:
    """Take the elements of a body, or of a frame in it; `outer` is the pose of that frame in the body."""
    reader = tree.reader
    reader.check_names(node, BODY, (*ATTRIBUTES, "class"))
    for raw in node.children:
        if raw.tag in ("joint", "geom", "site"):
            child = reader.classes.complete(reader, raw, childclass)
        else:
            child = raw
        if child.tag == "frame":
            _fill(tree, body, child, outer @ read_origin(reader, child), child.attributes.get("childclass", childclass))
        elif child.tag == "body":
            _add_body(tree, body, child, outer, childclass)
        elif child.tag in ("joint", "freejoint"):
            if body.parent is None:
                reader.problem(child, "not-supported", "the world has no joints.")
            body.joints.append((child, outer))
        elif child.tag == "inertial":
            if body.inertial is not None:
                reader.problem(child, "duplicate", f"body {body.name!r} has two <inertial>.")
            body.inertial = (child, outer)
        elif child.tag == "geom":
            geom = read_geom(reader, child, outer, tree.meshes)
            if geom is not None:
                body.geoms.append(geom)
        elif child.tag == "site":
            _add_site(tree, body, child, outer)
        elif child.tag in UNREAD:
            reader.note(child, f"<{child.tag}>")


def _add_body(tree: BodyTree, parent: MjcfBody, node: XmlNode, outer: Origin, childclass: str) -> None:
    reader = tree.reader
    name = node.attributes.get("name", "").strip() or f"body{len(tree.bodies)}"
    if name in tree.bodies:
        reader.problem(node, "duplicate", f"body {name!r} is given twice.")
        return
    if "mocap" in node.attributes and reader.flag(node, "mocap", False):
        reader.note(node, "mocap of <body>")
    body = MjcfBody(name, node, parent, outer @ read_origin(reader, node))
    body.carried = reader.number(node, "gravcomp", 0.0)
    tree.bodies[name] = body
    parent.children.append(body)
    _fill(tree, body, node, Origin(), node.attributes.get("childclass", childclass))


def _add_site(tree: BodyTree, body: MjcfBody, node: XmlNode, outer: Origin) -> None:
    name = node.attributes.get("name", "")
    if name in tree.sites and name:
        tree.reader.problem(node, "duplicate", f"site {name!r} is given twice.")
    if name:
        tree.sites[name] = (body, outer @ read_origin(tree.reader, node))
