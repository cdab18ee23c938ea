"""The text of an MJCF model: its sections with included files in their place, and the settings of its compiler.

``<include file="arm.xml"/>`` is replaced by the children of that file's root. A file is included once and is below the
folder of the model or one of the given folders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.files.robots import xml_tree
from dalembert.files.robots.mesh_files import MeshFiles, find_first
from dalembert.files.robots.mjcf.defaults import ClassDefaults, read_defaults
from dalembert.files.robots.node_reader import NodeReader
from dalembert.files.robots.xml_tree import XmlNode, read_xml

SECTIONS = (
    "compiler", "option", "default", "asset", "worldbody", "equality", "actuator", "include", "tendon", "keyframe",
)  # fmt: skip
# elements that do not change the motion
QUIET = ("visual", "statistic", "size", "custom", "sensor", "extension", "texture", "material")
COMPILER = (
    "angle", "autolimits", "boundmass", "boundinertia", "settotalmass", "balanceinertia", "coordinate", "eulerseq",
    "inertiafromgeom", "inertiagrouprange", "meshdir", "assetdir", "texturedir", "strippath", "discardvisual",
    "fusestatic", "alignfree", "usethread", "fitaabb", "saveinertial", "exactmeshinertia", "convexhull", "plugin",
)  # fmt: skip
MOST_FILES = 64  # included
FLAGS = ("true", "false")


@dataclass
class CompilerSettings:
    """Settings for reading the file; angles are in degrees by default."""

    degrees: bool = True
    euler: str = "xyz"
    autolimits: bool = True
    from_geoms: str = "auto"
    groups: tuple[float, float] = (0.0, 5.0)
    bound_mass: float = 0.0
    bound_inertia: float = 0.0
    total_mass: float = -1.0
    balance: bool = False
    mesh_folder: str = ""

    def angle(self, value: float) -> float:
        return float(np.deg2rad(value)) if self.degrees else value


class MjcfReader(NodeReader):
    """Values of the elements of an MJCF model."""

    settings: CompilerSettings
    classes: ClassDefaults
    foreign = False
    included = 0  # elements of included files

    def word(self, node: XmlNode, key: str, known: Sequence[str], default: str) -> str:
        text = node.attributes.get(key, default)
        if text not in known:
            listed = ", ".join(known)
            self.problem(node, "unknown-choice", f"{key} of <{node.tag}> must be one of {listed}, got {text!r:.60}.")
            return default
        return text

    def flag(self, node: XmlNode, key: str, default: bool) -> bool:
        return self.word(node, key, FLAGS, "true" if default else "false") == "true"


@dataclass
class MjcfDocument:
    """A model: its reader with settings and defaults, and its sections; a section may occur several times."""

    reader: MjcfReader
    root: XmlNode
    sections: dict[str, list[XmlNode]] = field(default_factory=dict)
    left_tendons: set[str] = field(default_factory=set)  # names of those that are not read

    def parts(self, section: str) -> Iterator[XmlNode]:
        """Elements of all sections of this name."""
        return (child for child_section in self.sections.get(section, ()) for child in child_section.children)


def read_document(root: XmlNode, file: Path, meshes: MeshFiles) -> MjcfDocument:
    reader = MjcfReader(str(file), meshes)
    if root.tag != "mujoco":
        reader.problem(root, "bad-syntax", f"the root element is <{root.tag}>, expected <mujoco> (MJCF).")
        reader.problems.raise_if_any()
    _include(reader, root, {file.resolve()}, 0)
    reader.check_names(root, SECTIONS, ("model",), others=(*QUIET, "contact", "deformable"))
    document = MjcfDocument(reader, root)
    for node in root.children:
        document.sections.setdefault(node.tag, []).append(node)
    for node in document.parts("deformable"):
        reader.note(node, f"<{node.tag}> of <deformable>")
    reader.settings = _compiler(document)
    reader.classes = read_defaults(reader, document.sections.get("default", ()))
    return document


def _include(reader: MjcfReader, node: XmlNode, read: set[Path], depth: int) -> None:
    """Put the children of included files in the place of the elements that include them."""
    if not any(child.tag == "include" for child in node.children):
        for child in node.children:
            _include(reader, child, read, depth)
        return
    nodes: list[XmlNode] = []
    for child in node.children:
        if child.tag != "include":
            nodes.append(child)
            continue
        inner = _read_included(reader, child, read)
        if inner is not None:
            nodes += inner.children
    node.children = nodes
    if depth < xml_tree.DEPTH:
        _include(reader, node, read, depth + 1)


def _read_included(reader: MjcfReader, node: XmlNode, read: set[Path]) -> XmlNode | None:
    name = node.attributes.get("file", "")
    beside = str(PurePosixPath(node.path).parent / name)  # of the file that includes it, else of the model
    try:
        shown, path = find_first([beside, name], reader.meshes.folders)
    except FileFormatError as error:
        reader.problem(node, error.code, f"included file {name!r:.120}: {error.finding.problem}", *error.advice)
        return None
    if len(read) > MOST_FILES:
        reader.problem(node, "too-large", f"more than {MOST_FILES} files are included.")
        return None
    if path in read:
        reader.problem(node, "duplicate", f"file {name!r:.120} is included twice.")
        return None
    read.add(path)
    root = read_xml(path, xml_tree.ELEMENTS - reader.included)
    todo = [root]
    while todo:
        item = todo.pop()
        item.path = shown
        reader.included += 1
        todo += item.children
    return root


def _compiler(document: MjcfDocument) -> CompilerSettings:
    reader, settings = document.reader, CompilerSettings()
    for node in document.sections.get("compiler", ()):
        reader.check_names(node, ("lengthrange",), COMPILER)
        angle = reader.word(node, "angle", ("degree", "radian"), "degree" if settings.degrees else "radian")
        settings.degrees = angle == "degree"
        settings.euler = node.attributes.get("eulerseq", settings.euler)
        if len(settings.euler) != 3 or not set(settings.euler) <= set("xyzXYZ"):
            problem = f"eulerseq must be three of x, y, z, X, Y, Z, got {settings.euler!r:.40}."
            reader.problem(node, "unknown-choice", problem)
            settings.euler = "xyz"
        settings.autolimits = reader.flag(node, "autolimits", settings.autolimits)
        settings.from_geoms = reader.word(node, "inertiafromgeom", ("auto", *FLAGS), settings.from_geoms)
        low, high = reader.numbers(node, "inertiagrouprange", 2, settings.groups)
        settings.groups = (float(low), float(high))
        settings.bound_mass = reader.number(node, "boundmass", settings.bound_mass)
        settings.bound_inertia = reader.number(node, "boundinertia", settings.bound_inertia)
        settings.total_mass = reader.number(node, "settotalmass", settings.total_mass)
        settings.balance = reader.flag(node, "balanceinertia", settings.balance)
        settings.mesh_folder = node.attributes.get("meshdir", node.attributes.get("assetdir", settings.mesh_folder))
        if node.attributes.get("coordinate", "local") != "local":
            problem = 'coordinate="global" is not read: frames must be given in their parents, as MuJoCo saves them.'
            reader.problem(node, "not-supported", problem)
    return settings
