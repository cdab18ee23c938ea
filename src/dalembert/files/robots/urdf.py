"""URDF, the robot description of ROS: links and joints as a `Mechanism`.

A link is a body whose coordinates (``body.at``) are those of the link's frame; its centre of mass and its inertia come
from ``<inertial>``, turned into the link's axes. The frame of a joint lies at its ``<origin>`` in the parent, with z
along its axis, and at the child's origin. At zero coordinates both frames coincide.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DalembertError, FileFormatError, require_name, unknown_name
from dalembert.core.findings import Advice
from dalembert.files.models.text.sources import BASE, REPAIR, ModelFileError
from dalembert.files.robots import shapes
from dalembert.files.robots.mesh_files import MeshFiles
from dalembert.files.robots.node_reader import NodeReader, free_name
from dalembert.files.robots.origins import Origin
from dalembert.files.robots.tree_mass import TreeMass
from dalembert.files.robots.xml_tree import XmlNode, read_xml
from dalembert.model import Body, Mechanism
from dalembert.model.bodies import CollisionShape, axes_from
from dalembert.model.orientation import rotation

KINDS = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed", "planar": "planar",
    "floating": "free",
}  # fmt: skip
COUPLED = ("revolute", "prismatic")  # kinds with one coordinate: they have limits, mimic others, and are driven
BASES = ("fixed", "free")
COLLIDING = {"sphere": ("radius",), "capsule": ("radius", "length"), "cylinder": ("radius", "length"), "box": ("size",)}
FOREIGN = ("gazebo", "transmission", "ros2_control", "sensor", "contact", "safety_controller", "calibration")
UNLIMITED = 1e9  # limits of this size count as no limits: the format requires limits of a slide
SECOND = "_joint"  # suffix for a joint with the name of a link


@dataclass
class JointNode:
    """A joint of the file before it is added to a mechanism; `mimic` is (joint, multiplier, offset)."""

    node: XmlNode
    name: str
    kind: str
    parent: str
    child: str
    origin: Origin
    axis: FloatArray
    mimic: tuple[str, float, float] | None
    damping: float
    friction: float
    limits: dict[str, float]


class UrdfReader(NodeReader):
    """Values of the elements of a URDF file."""

    strict = False

    def origin(self, node: XmlNode) -> Origin:
        origin_ = node.first("origin")
        if origin_ is None:
            return Origin()
        self.check_names(origin_, (), ("xyz", "rpy"))
        turn = self.numbers(origin_, "rpy", 3, (0, 0, 0))
        return Origin(self.place(origin_, "xyz"), np.array(rotation(tait_bryan=tuple(turn)).matrix))

    # -- links ----------------------------------------------------------------------------------------------------
    def inertia(self, link: XmlNode, *, used: bool = True) -> tuple[float, FloatArray, FloatArray]:
        """Mass, centre of mass and inertia about it, in the link's axes."""
        inertial = link.first("inertial")
        if inertial is None:
            return 0.0, np.zeros(3), np.zeros((3, 3))
        self.check_names(inertial, ("origin", "mass", "inertia"), ())
        origin, name = self.origin(inertial), link.attributes.get("name", "")
        weight, tensor = inertial.first("mass"), inertial.first("inertia")
        if weight is None or tensor is None:
            self.problem(inertial, "missing-argument", f"<inertial> of link {name!r} needs <mass> and <inertia>.")
            return 0.0, np.zeros(3), np.zeros((3, 3))
        keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        self.check_names(tensor, (), keys)
        for key in (key for key in keys if key not in tensor.attributes):
            self.note(tensor, f"{key} of <inertia>", quiet=True)
        mass = self.number(weight, "value")
        xx, xy, xz, yy, yz, zz = (self.number(tensor, key, 0.0) for key in keys)
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        J = self.check_inertia(tensor, f"link {name!r}", mass, J) if used else J
        return mass, origin.place, origin.axes @ J @ origin.axes.T

    def picture(self, link: XmlNode) -> dict[str, Any]:
        """Triangles of the picture in the link's axes, and their colours."""
        return self.draw(link, self._shapes(link))

    def _shapes(self, link: XmlNode) -> Iterator[tuple[FloatArray, int | None]]:
        for visual in link.all("visual"):
            origin, geometry = self.origin(visual), visual.first("geometry")
            material = visual.first("material")
            color = None if material is None else self.read_material(material)
            for shape in geometry.children if geometry is not None else ():
                count = len(self.odd)
                outline = self._shape(shape)
                del self.odd[count + 1 :]  # one reason for a picture
                if outline is None or len(self.odd) > count:
                    continue
                outline = outline @ origin.axes.T + origin.place
                painted = self.meshes.read_colors(shape.attributes["filename"]) if shape.tag == "mesh" else ()
                for first, number, paint in painted if color is None and painted else ((0, len(outline), color),):
                    yield outline[first : first + number], paint

    def read_material(self, node: XmlNode) -> int | None:
        """Colour of a material: its own, or the first one of its name."""
        name, paint = node.attributes.get("name", ""), node.first("color")
        color = None if paint is None else self.color(paint)[0]
        if color is None:
            return self.materials.get(name)
        self.materials.setdefault(name, color)
        return color

    def _shape(self, shape: XmlNode) -> FloatArray | None:
        if shape.tag == "box":
            size = self.numbers(shape, "size", 3)
            if not (size > 0).all() and "size" in shape.attributes:
                self.problem(shape, "not-positive", "size of <box> must be three positive lengths.")
            return shapes.box(size)
        if shape.tag == "cylinder":
            return shapes.cylinder(self.positive(shape, "radius"), self.positive(shape, "length"))
        if shape.tag == "capsule":
            return shapes.capsule(self.positive(shape, "radius"), self.positive(shape, "length"))
        if shape.tag == "sphere":
            return shapes.sphere(self.positive(shape, "radius"))
        if shape.tag == "mesh":
            return self.mesh(shape, shape.attributes.get("filename", ""), self.numbers(shape, "scale", 3, (1, 1, 1)))
        self.note(shape, f"visual <{shape.tag}>")
        return None

    def collisions(self, link: XmlNode) -> tuple[CollisionShape, ...]:
        """Shapes for contacts with the ground; a mesh is listed, and a shape without a size left out."""
        visuals, self.drawing = [], True
        for collision in link.all("collision"):
            origin, geometry = self.origin(collision), collision.first("geometry")
            for shape in geometry.children if geometry is not None else ():
                count, sizes = len(self.odd), COLLIDING.get(shape.tag)
                if sizes is None:
                    self.note(shape, f"collision <{shape.tag}>", quiet=True)
                    continue
                box = shape.tag == "box"
                size = self.numbers(shape, "size", 3) if box else [self.positive(shape, key) for key in sizes]
                if len(self.odd) == count and min(size) > 0:
                    axes: Any = tuple(map(tuple, origin.axes.tolist()))
                    place = tuple(origin.place.tolist())
                    visuals.append(CollisionShape(shape.tag, tuple(map(float, size)), place, axes))
        self.drawing = False
        return tuple(visuals)

    # -- joints -----------------------------------------------------------------------------------------------------
    def joint(self, node: XmlNode, links: Iterable[str]) -> JointNode:
        name, kind = node.attributes.get("name", "").strip(), node.attributes.get("type", "")
        tags = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")
        self.check_names(node, tags, ("name", "type"), others=FOREIGN)
        ends = []
        for side in ("parent", "child"):
            end = node.first(side)
            link = "" if end is None else end.attributes.get("link", "")
            if end is None or not link:
                self.problem(node, "missing-argument", f"joint {name!r} has no <{side} link=...>.")
            elif link not in links:
                self.problem(end, "unknown-name", unknown_name("link", link, links, f"joint {name!r}"))
            ends.append(link)
        if kind not in KINDS:
            self.problem(node, "unknown-choice", unknown_name("type of joint", kind, KINDS, f"joint {name!r}"))
        pointer = node.first("axis")
        axis = np.array([1.0, 0.0, 0.0]) if pointer is None else self.numbers(pointer, "xyz", 3, (1, 0, 0))
        if not np.linalg.norm(axis) > 0:
            if pointer is not None and KINDS.get(kind, "fixed") not in ("free", "fixed"):
                self.problem(pointer, "zero-length", f"axis of joint {name!r} has no direction.")
            axis = np.array([1.0, 0.0, 0.0])
        dynamics, damping, friction = node.first("dynamics"), 0.0, 0.0
        if dynamics is not None:
            self.check_names(dynamics, (), ("damping", "friction"))
            damping = self.not_negative(dynamics, "damping", f"joint {name!r}")
            friction = self.not_negative(dynamics, "friction", f"joint {name!r}")
        return JointNode(
            node, name, kind, ends[0], ends[1], self.origin(node), axis, self._mimic(node, name), damping, friction,
            self._limits(node, name, kind),
        )  # fmt: skip

    def _limits(self, node: XmlNode, name: str, kind: str) -> dict[str, float]:
        limit = node.first("limit")
        if limit is None:
            return {}
        self.check_names(limit, (), ("lower", "upper", "effort", "velocity"))
        links_ = {}
        for key, ours in (("velocity", "speed"), ("effort", "effort")):
            if 0 < self.not_negative(limit, key, f"joint {name!r}") < UNLIMITED:
                links_[ours] = self.number(limit, key)
        if kind in COUPLED:
            lower, upper = (self.number(limit, key, 0.0) for key in ("lower", "upper"))
            if lower > upper:
                crossed = f"limits of joint {name!r} cross: {lower:g} above {upper:g}."
                self.problem(limit, "conflicting-arguments", crossed)
            links_ |= {key: x for key, x in (("lower", lower), ("upper", upper)) if abs(x) < UNLIMITED}
        return links_

    def _mimic(self, node: XmlNode, name: str) -> tuple[str, float, float] | None:
        node_ = node.first("mimic")
        if node_ is None:
            return None
        self.check_names(node_, (), ("joint", "multiplier", "offset"))
        if KINDS.get(node.attributes.get("type", "")) not in COUPLED:
            self.note(node_, "<mimic> of a joint without one coordinate")
            return None
        leader = node_.attributes.get("joint", "")
        if leader == name:
            self.problem(node_, "same-coordinate", f"joint {name!r} mimics itself.")
        ratio = self.number(node_, "multiplier", 1.0)
        if ratio == 0:
            self.problem(node_, "zero", f"multiplier of <mimic> of joint {name!r} is zero: the joint does not move.")
        return leader, ratio, self.number(node_, "offset", 0.0)


def read_urdf(
    path: str | os.PathLike[str],
    *,
    base: str = "fixed",
    folders: Iterable[str | os.PathLike[str]] = (),
    actuated: bool = True,
    pictures: bool = True,
    repair: bool = False,
) -> Mechanism:
    """Read a robot from a URDF file.

    Parameters
    ----------
    path : the file. Nothing in it is executed; document types, entities and other hosts are refused.
    base : "fixed", the root link is the ground; or "free", it is a body that floats.
    folders : folders of meshes (STL, OBJ, Collada), besides the folder of the file.
    actuated : give every independent joint an input, ``<joint>.effort``.
    pictures : show the visual shapes and meshes of the links; False where the meshes are not available.
    repair : replace an inertia that no body can have by the nearest one; without it the numbers are taken as they are,
        with a warning, and refused where the mass matrix is then not positive definite.

    Returns
    -------
    Mechanism with a body for each link and a joint with its limits for each joint. A joint that mimics another is
    geared to it; damping becomes a damper, friction a friction that does not depend on the load. ``left_out`` lists the
    parts that were not read, such as collision shapes and meshes of other formats; a warning names those that may
    change the motion.

    Raises
    ------
    FileFormatError : with the line; nothing is imported.

    Examples
    --------
    >>> m = read_urdf("arm.urdf")  # doctest: +SKIP
    >>> eqs = da.equations(m, coordinates="joint")  # doctest: +SKIP
    """
    try:
        file = Path(os.fsdecode(path))
    except TypeError:
        raise FileFormatError("wrong-type", f"expected the path of a URDF file, got {path!r}.") from None
    return build_urdf(
        read_xml(file), file, base=base, folders=folders, actuated=actuated, pictures=pictures, repair=repair
    )


def build_urdf(
    root: XmlNode,
    file: Path,
    *,
    base: str = "fixed",
    folders: Iterable[str | os.PathLike[str]] = (),
    actuated: bool = True,
    pictures: bool = True,
    repair: bool = False,
) -> Mechanism:
    """The robot of a tree of nodes; see `read_urdf`."""
    require_name("base", base, BASES, error=FileFormatError, code="unknown-choice", path=str(file))
    places = [file.parent, *(Path(os.fspath(folder)) for folder in folders)]
    reader = UrdfReader(str(file), MeshFiles(places, pictures), repair)
    if root.tag != "robot":
        reader.problem(
            root, "bad-syntax", f"the root element is <{root.tag}>, expected <robot> (URDF) or <mujoco> (MJCF)."
        )
        reader.problems.raise_if_any()
    links, joints = _parts(reader, root)
    top = _root_of(reader, root, links, joints)
    if len(links) == 1 and base == "fixed":
        reader.problem(root, "no-bodies", f"the only link {top!r} is the ground.", Advice("Use {}.", BASE))
    reader.problems.raise_if_any()
    reader.drawing = True
    for node in root.all("material"):
        reader.read_material(node)
    reader.drawing = False
    m = Mechanism((root.attributes.get("name") or "").strip() or file.stem.strip() or "robot")
    try:
        _build(reader, m, links, joints, top, base, actuated)
        reader.problems.raise_if_any()
        m.validate()
    except ModelFileError:
        raise
    except DalembertError as error:
        raise FileFormatError(error.code, error.finding.problem, path=str(file), line=root.line) from error
    reader.report(m)
    return m


def _parts(reader: UrdfReader, root: XmlNode) -> tuple[dict[str, XmlNode], list[JointNode]]:
    links: dict[str, XmlNode] = {}
    joints: list[JointNode] = []
    named: dict[str, JointNode] = {}
    reader.check_names(root, ("link", "joint", "material"), ("name", "version"), others=FOREIGN)
    for node in root.all("link"):
        name = node.attributes.get("name", "").strip()
        reader.check_names(node, ("inertial", "visual", "collision", "origin"), ("name", "type"), others=FOREIGN)
        if not name:
            reader.problem(node, "bad-name", "a link has no name.")
        elif name in links:
            reader.problem(node, "duplicate", f"link {name!r} is given twice.")
        links.setdefault(name, node)
    for node in root.all("joint"):
        name = node.attributes.get("name", "").strip()
        if not name:
            reader.problem(node, "bad-name", "a joint has no name.")
        elif name in named:
            reader.problem(node, "duplicate", f"joint {name!r} is given twice.")
        joints.append(reader.joint(node, links))
        named.setdefault(name, joints[-1])
    if not links:
        reader.problem(root, "empty", "the robot has no links.")
    for joint in joints:
        _check_mimic(reader, joint, named)
    return links, joints


def _check_mimic(reader: UrdfReader, joint: JointNode, joints: Mapping[str, JointNode]) -> None:
    if joint.mimic is None:
        return
    name = joint.name
    parent = joints.get(joint.mimic[0])
    if parent is None:
        problem = unknown_name("joint", joint.mimic[0], joints, f"<mimic> of joint {name!r}")
        reader.problem(joint.node, "unknown-name", problem)
    elif KINDS.get(parent.kind) not in COUPLED:
        problem = f"joint {name!r} mimics joint {parent.name!r}, which has no coordinate, or several."
        reader.problem(joint.node, "not-supported", problem)
    names_, at = {name}, joint
    while at.mimic is not None and at.mimic[0] in joints and at.mimic[0] != at.name:
        at = joints[at.mimic[0]]
        if at.name in names_:
            reader.problem(joint.node, "conflicting-arguments", f"joint {name!r} mimics itself through others.")
            return
        names_.add(at.name)


def _root_of(reader: UrdfReader, root: XmlNode, links: dict[str, XmlNode], joints: list[JointNode]) -> str:
    carried: dict[str, JointNode] = {}
    for joint in joints:
        if joint.child in carried:
            both = f"{carried[joint.child].name!r} and {joint.name!r}"
            reader.problem(joint.node, "duplicate", f"link {joint.child!r} is the child of two joints, {both}.")
        carried.setdefault(joint.child, joint)
    tops = [name for name in links if name not in carried]
    if len(tops) > 1:
        listed = ", ".join(repr(name) for name in tops[:6])
        problem = f"{len(tops)} links have no parent ({listed}); one must."
        reader.problem(links[tops[1]], "conflicting-arguments", problem)
    sound: set[str] = set()  # links whose chain of parents ends at a root
    for start in links:
        names_, at = {start}, start
        while at in carried and at not in sound:
            at = carried[at].parent
            if at in names_:
                names = ", ".join(sorted(repr(name) for name in names_)[:6])
                problem = f"links {names} carry each other in a cycle."
                reader.problem(carried[start].node, "conflicting-arguments", problem)
                return ""
            names_.add(at)
        sound |= names_
    return tops[0] if tops else ""


def _build(
    reader: UrdfReader,
    m: Mechanism,
    links: dict[str, XmlNode],
    joints: list[JointNode],
    top: str,
    base: str,
    actuated: bool,
) -> None:
    names = _distinct(reader, links, joints)
    poses = _zero_pose(joints, top)
    solids: list[tuple[str, float, Origin, FloatArray]] = []
    bodies: dict[str, Body] = {}
    for name, link in links.items():
        grounded = name == top and base == "fixed"
        count = len(reader.impossible)
        mass, center, inertia = reader.inertia(link, used=not grounded)
        solids.append((name, mass, poses[name] @ Origin(center), inertia))
        picture = reader.picture(link)
        if grounded:
            bodies[name] = m.ground = replace(m.ground, **picture)
            continue
        label = name if name != m.ground.name else f"{name}_link"
        pose = poses[name]
        odd = len(reader.impossible) > count
        body_ = m.add_body(
            label, mass=mass, inertia=inertia.tolist(), center=tuple(center.tolist()), mesh=picture["mesh"],
            position=(pose @ Origin(center)).place.tolist(), rotation=pose.axes.tolist(),
        )  # fmt: skip
        bodies[name] = m.bodies[-1] = replace(
            body_, as_given=odd, shapes=reader.collisions(link), colors=picture["colors"]
        )
    if reader.impossible:
        _check_definite(reader, joints, poses, solids, top, base)
    for joint in joints:
        kind, name, near = KINDS[joint.kind], names[joint.name], joint.origin
        axes: FloatArray = np.eye(3)
        if kind not in ("free", "fixed"):
            axes = np.array(axes_from(joint.axis.tolist(), None, f"axis of joint {joint.name!r}"))
        a = bodies[joint.parent].frame(*near.place.tolist(), rotation=(near.axes @ axes).tolist())
        b = bodies[joint.child].frame(0.0, 0.0, 0.0, rotation=axes.tolist())
        if kind not in COUPLED:
            m.add_joint(kind, name, a, b)
            continue
        m.add_joint(kind, name, a, b, limits=joint.limits or None)
        if joint.damping > 0:
            m.add_damper(f"{name}.damping", joint=name, damping=joint.damping)
        if joint.friction > 0:
            m.add_friction(f"{name}.friction", name, effort=joint.friction)
        if joint.mimic is None and actuated:
            m.add_actuator(f"{name}.actuator", joint=name, input=f"{name}.effort")
    for joint in joints:
        if joint.mimic is not None:
            leader, ratio, offset = joint.mimic
            m.add_gear(f"{names[joint.name]}.mimic", names[leader], names[joint.name], ratio=ratio, offset=offset)


def _zero_pose(joints: list[JointNode], top: str) -> dict[str, Origin]:
    """Poses of the links where all joints are at zero, and those that mimic others at their offsets."""
    named, carried = {joint.name: joint for joint in joints}, {joint.child: joint for joint in joints}

    def value(joint: JointNode) -> float:
        return 0.0 if joint.mimic is None else joint.mimic[1] * value(named[joint.mimic[0]]) + joint.mimic[2]

    places_ = {top: Origin()}
    for link in carried:
        way = [link]
        while way[-1] not in places_:
            way.append(carried[way[-1]].parent)
        for child in reversed(way[:-1]):
            joint = carried[child]
            step = value(joint) * joint.axis / np.linalg.norm(joint.axis)
            turns = KINDS[joint.kind] == "revolute"
            moved = Origin(axes=np.array(rotation(vector=tuple(step)).matrix)) if turns else Origin(step)
            places_[child] = places_[joint.parent] @ joint.origin @ moved
    return places_


def _check_definite(
    reader: UrdfReader,
    joints: list[JointNode],
    poses: Mapping[str, Origin],
    solids: list[tuple[str, float, Origin, FloatArray]],
    top: str,
    base: str,
) -> None:
    """Refuse inertias with which the mass matrix of the zero pose has a negative value."""
    carried = {joint.child: joint for joint in joints}
    free = np.eye(6)
    tree = TreeMass()
    order = sorted(solids, key=lambda solid: list(poses).index(solid[0]))
    for name, mass, centre, inertia in order:
        joint, pose = carried.get(name), poses[name]
        kind = "free" if joint is None and base == "free" else "fixed" if joint is None else KINDS[joint.kind]
        screws = np.zeros((0, 6))
        if kind == "free":
            screws = free
        elif joint is not None and kind != "fixed":
            axis = pose.axes @ joint.axis / np.linalg.norm(joint.axis)
            across = np.linalg.svd(axis[None])[2][1:]
            turn, slide = np.hstack([axis, np.cross(pose.place, axis)]), np.hstack([np.zeros(3), axis])
            plane = np.vstack([np.hstack([np.zeros((2, 3)), across]), turn])
            screws = {"revolute": turn[None], "prismatic": slide[None], "planar": plane}[kind]
        turned = centre.axes @ inertia @ centre.axes.T
        tree.add(name, "" if joint is None else joint.parent, screws, mass, centre.place, turned)
    if tree.least() < 0:
        node, what = reader.impossible[0]
        advice = Advice("The nearest inertia of a body is taken with {}.", REPAIR)
        reader.problem(node, "not-physical", f"the mass matrix is not positive definite: {what}", advice)


def _distinct(reader: UrdfReader, links: Mapping[str, XmlNode], joints: list[JointNode]) -> dict[str, str]:
    """Names of the joints in the mechanism, where no link has the same."""
    names_ = {*links, *(joint.name for joint in joints)}
    labels = {joint.name: joint.name for joint in joints}
    for joint in joints:
        if joint.name in links:
            name = labels[joint.name] = free_name(joint.name, names_, SECOND)
            reader.note(joint.node, f"name {joint.name!r} of a joint and of a link, now {name!r},", quiet=True)
    return labels
