"""URDF, the robot description of ROS: links and joints as a `Mechanism`.

A link is a body whose coordinates (``body.at``) are those of the link's frame; its centre of mass and its inertia come
from ``<inertial>``, turned into the link's axes. The frame of a joint lies at its ``<origin>`` in the parent, with z
along its axis, and at the child's origin. At zero coordinates both frames coincide.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DalembertError, FileFormatError, ModelWarning, unknown_name
from dalembert.core.findings import Finding
from dalembert.files.models.values.mesh_mass import mesh_triangles
from dalembert.files.robots import shapes
from dalembert.files.robots.xml_tree import XmlNode, read_xml
from dalembert.model import Body, Mechanism
from dalembert.model.bodies import axes_from
from dalembert.model.orientation import rotation

KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed"}
BASES = ("fixed", "free")
JOINT = "_joint"  # behind the name of a joint that is named as a link is
LARGEST = 100.0  # [m] of an offset: robots are smaller, and their drawings in millimetres are not
TRIANGLE = 1e-6  # of the largest principal inertia: files carry six digits
POINT = 1e-6  # [m] radius of gyration of what counts as a point: an inertia of such a size is rounding


@dataclass(frozen=True)
class Origin:
    """A pose: place [m] and axes as columns."""

    place: FloatArray
    axes: FloatArray


@dataclass
class JointNode:
    """A joint of the file before it is added to a mechanism."""

    node: XmlNode
    name: str
    kind: str
    parent: str
    child: str
    origin: Origin
    axis: FloatArray
    mimic: tuple[str, float, float] | None
    damping: float


@dataclass
class UrdfReader:
    """One file: its problems are collected and raised once."""

    shown: str
    folders: Sequence[Path]
    problems: list[Finding] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def problem(self, node: XmlNode, code: str, text: str) -> None:
        self.problems.append(Finding(code, text, {"path": self.shown, "line": node.line}))

    def raise_if_any(self) -> None:
        if not self.problems:
            return
        first = self.problems[0]
        code, text = first.code, first.problem
        if len(self.problems) > 1:
            each = [f"line {one.where['line']}: {one.problem}" for one in self.problems[:20]]
            code, text = "several-problems", f"{len(self.problems)} problems. " + " ".join(each)
        raise FileFormatError(code, text, path=self.shown, line=first.where["line"])

    def number(self, node: XmlNode, key: str, default: float | None = None) -> float:
        if key not in node.attributes and default is not None:
            return default
        return float(self.numbers(node, key, 1)[0])

    def numbers(self, node: XmlNode, key: str, count: int, default: Sequence[float] | None = None) -> FloatArray:
        text = node.attributes.get(key)
        if text is None:
            if default is None:
                self.problem(node, "missing-argument", f"<{node.tag}> has no attribute {key!r}.")
            return np.array([0.0] * count if default is None else default, dtype=float)
        try:
            found = np.array([float(x) for x in text.split()])
        except ValueError:
            found = np.array([math.nan])
        if found.shape != (count,) or not np.isfinite(found).all():
            wanted = "a finite number" if count == 1 else f"{count} finite numbers"
            self.problem(node, "not-a-number", f"{key} of <{node.tag}> must be {wanted}, got {text!r:.80}.")
            return np.zeros(count)
        return found

    def origin(self, node: XmlNode) -> Origin:
        own = node.first("origin")
        if own is None:
            return Origin(np.zeros(3), np.eye(3))
        place, turn = self.numbers(own, "xyz", 3, (0, 0, 0)), self.numbers(own, "rpy", 3, (0, 0, 0))
        if np.abs(place).max() > LARGEST:
            self.problem(
                own, "out-of-range",
                f"an offset of {np.abs(place).max():g} m: lengths are metres; the file may be in millimetres.",
            )  # fmt: skip
        return Origin(place, np.array(rotation(tait_bryan=tuple(turn)).matrix))

    # -- links ----------------------------------------------------------------------------------------------------
    def inertia(self, link: XmlNode) -> tuple[float, FloatArray, FloatArray]:
        """Mass, centre of mass and inertia about it, in the link's axes."""
        own = link.first("inertial")
        if own is None:
            return 0.0, np.zeros(3), np.zeros((3, 3))
        origin, mass, name = self.origin(own), 0.0, link.attributes.get("name", "")
        weight, tensor = own.first("mass"), own.first("inertia")
        if weight is None or tensor is None:
            self.problem(own, "missing-argument", f"<inertial> of link {name!r} needs <mass> and <inertia>.")
            return 0.0, np.zeros(3), np.zeros((3, 3))
        mass = self.number(weight, "value")
        if mass < 0:
            self.problem(weight, "negative", f"mass of link {name!r} is negative ({mass:g} kg).")
        entries = {key: self.number(tensor, key, 0.0) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")}
        J = np.array(
            [
                [entries["ixx"], entries["ixy"], entries["ixz"]],
                [entries["ixy"], entries["iyy"], entries["iyz"]],
                [entries["ixz"], entries["iyz"], entries["izz"]],
            ]
        )
        principal = np.linalg.eigvalsh(J)
        slack = TRIANGLE * float(np.abs(principal).max()) + abs(mass) * POINT**2
        if principal[0] < -slack or principal[0] + principal[1] < principal[2] - slack:
            self.problem(
                tensor, "not-physical",
                f"inertia of link {name!r} has the principal values {', '.join(f'{x:g}' for x in principal)} kg m²: "
                "none may be negative, and none may exceed the sum of the others.",
            )  # fmt: skip
        return mass, origin.place, origin.axes @ J @ origin.axes.T

    def triangles(self, link: XmlNode) -> FloatArray | None:
        """What a picture shows, in the link's axes."""
        found = []
        for visual in link.all("visual"):
            origin, geometry = self.origin(visual), visual.first("geometry")
            for shape in geometry.children if geometry is not None else ():
                made = self._shape(shape)
                if made is not None:
                    found.append(made @ origin.axes.T + origin.place)
        return np.concatenate(found) if found else None

    def _shape(self, shape: XmlNode) -> FloatArray | None:
        if shape.tag == "box":
            return shapes.box(self.numbers(shape, "size", 3))
        if shape.tag == "cylinder":
            return shapes.cylinder(self.number(shape, "radius"), self.number(shape, "length"))
        if shape.tag == "sphere":
            return shapes.sphere(self.number(shape, "radius"))
        if shape.tag == "mesh":
            return self._mesh(shape)
        self.note(f"visual <{shape.tag}>")
        return None

    def _mesh(self, node: XmlNode) -> FloatArray | None:
        name = node.attributes.get("filename", "")
        if Path(name).suffix.lower() != ".stl":
            self.note(f"mesh *{Path(name).suffix.lower()}")
            return None
        path = find_file(name, self.folders)
        if path is None:
            places = ", ".join(str(folder) for folder in self.folders)
            self.problem(node, "no-such-file", f"no mesh {name!r:.120} beneath {places}.")
            return None
        try:
            found = mesh_triangles(path, str(path), 1.0)
        except FileFormatError as error:
            self.problem(node, error.code, f"mesh {name!r:.120}: {error}")
            return None
        return np.asarray(found * self.numbers(node, "scale", 3, (1, 1, 1)))

    def note(self, what: str) -> None:
        """Something of the file that the mechanism does not hold."""
        self.left_out[what] = self.left_out.get(what, 0) + 1

    # -- joints -----------------------------------------------------------------------------------------------------
    def joint(self, node: XmlNode, links: Iterable[str]) -> JointNode | None:
        name, kind = node.attributes.get("name", ""), node.attributes.get("type", "")
        ends = []
        for side in ("parent", "child"):
            end = node.first(side)
            link = "" if end is None else end.attributes.get("link", "")
            if end is None or not link:
                self.problem(node, "missing-argument", f"joint {name!r} has no <{side} link=...>.")
            elif link not in links:
                self.problem(end, "unknown-name", unknown_name("link", link, links, f"joint {name!r}"))
            ends.append(link)
        if kind not in (*KINDS, "floating", "planar"):
            known = (*KINDS, "floating", "planar")
            self.problem(node, "unknown-choice", unknown_name("type of joint", kind, known, f"joint {name!r}"))
            return None
        pointer = node.first("axis")
        axis = np.array([1.0, 0.0, 0.0]) if pointer is None else self.numbers(pointer, "xyz", 3, (1, 0, 0))
        if not np.linalg.norm(axis) > 0:
            if kind != "fixed":
                self.problem(pointer or node, "zero-length", f"axis of joint {name!r} has no direction.")
            axis = np.array([1.0, 0.0, 0.0])
        self._check_limits(node, name, kind)
        mimic, dynamics, damping = self._mimic(node, name), node.first("dynamics"), 0.0
        if dynamics is not None:
            damping = self.number(dynamics, "damping", 0.0)
            if damping < 0:
                self.problem(dynamics, "negative", f"damping of joint {name!r} is negative.")
            if self.number(dynamics, "friction", 0.0) != 0:
                self.note("<dynamics friction>")
        for tag in ("calibration", "safety_controller"):
            if node.first(tag) is not None:
                self.note(f"<{tag}>")
        return JointNode(node, name, kind, ends[0], ends[1], self.origin(node), axis, mimic, damping)

    def _check_limits(self, node: XmlNode, name: str, kind: str) -> None:
        limit = node.first("limit")
        if limit is None:
            return
        lower, upper = self.number(limit, "lower", 0.0), self.number(limit, "upper", 0.0)
        for key in ("effort", "velocity"):
            self.number(limit, key, 0.0)
        if kind in ("revolute", "prismatic") and lower > upper:
            self.problem(limit, "conflicting-arguments", f"limits of joint {name!r} cross: {lower:g} above {upper:g}.")

    def _mimic(self, node: XmlNode, name: str) -> tuple[str, float, float] | None:
        own = node.first("mimic")
        if own is None:
            return None
        if node.attributes.get("type") == "fixed":
            self.note("<mimic> of a fixed joint")
            return None
        other = own.attributes.get("joint", "")
        if other == name:
            self.problem(own, "same-coordinate", f"joint {name!r} mimics itself.")
        return other, self.number(own, "multiplier", 1.0), self.number(own, "offset", 0.0)


def find_file(name: str, folders: Iterable[Path]) -> Path | None:
    """A file beneath one of the folders; ``package://robot/mesh.stl`` is looked for with and without its package."""
    inner = re.sub(r"^(package|file)://", "", name).lstrip("/")
    for folder in folders:
        top = Path(os.path.realpath(folder))
        for part in (inner, inner.partition("/")[2] if name.startswith("package://") else ""):
            found = Path(os.path.realpath(top / part)) if part else None
            if found is not None and found.is_relative_to(top) and found.is_file():
                return found
    return None


def read_urdf(
    path: str | os.PathLike[str],
    *,
    base: str = "fixed",
    folders: Iterable[str | os.PathLike[str]] = (),
    actuated: bool = True,
) -> Mechanism:
    """Read a robot from a URDF file.

    Parameters
    ----------
    path : the file. Nothing in it is executed; document types, entities and other hosts are refused.
    base : "fixed", the root link is the ground; or "free", it is a body that floats.
    folders : where meshes (STL) are looked for, besides the folder of the file.
    actuated : give every joint that moves on its own an input, ``<joint>.effort``.

    Returns
    -------
    Mechanism with a body for each link and a joint for each joint; a joint that mimics another is geared to it, damping
    is a damper. Limits, friction and meshes of other formats are left out, and a warning lists them.

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
    if base not in BASES:
        raise FileFormatError("unknown-choice", unknown_name("base", base, BASES), path=str(file))
    root = read_xml(file)
    reader = UrdfReader(str(file), [file.parent, *(Path(os.fspath(folder)) for folder in folders)])
    if root.tag != "robot":
        reader.problem(root, "bad-syntax", f"the root element is <{root.tag}>, expected <robot>.")
        reader.raise_if_any()
    links, joints = _parts(reader, root)
    top = _root_of(reader, root, links, joints)
    reader.raise_if_any()
    m = Mechanism(root.attributes.get("name") or file.stem)
    try:
        _build(reader, m, links, joints, top, base, actuated)
        reader.raise_if_any()
        m.check()
    except FileFormatError:
        raise
    except DalembertError as error:
        raise FileFormatError(error.code, str(error), path=str(file)) from error
    if reader.left_out:
        listed = ", ".join(f"{what} ({count})" for what, count in sorted(reader.left_out.items()))
        ModelWarning.report([Finding("not-supported", f"{file}: left out: {listed}.", {"path": str(file)})])
    return m


def _parts(reader: UrdfReader, root: XmlNode) -> tuple[dict[str, XmlNode], list[JointNode]]:
    links: dict[str, XmlNode] = {}
    joints: list[JointNode] = []
    taken: set[str] = set()
    for node in root.all("link"):
        name = node.attributes.get("name", "")
        if not name:
            reader.problem(node, "bad-name", "a link has no name.")
        elif name in links:
            reader.problem(node, "duplicate", f"link {name!r} is given twice.")
        links.setdefault(name, node)
    for node in root.all("joint"):
        name = node.attributes.get("name", "")
        if not name:
            reader.problem(node, "bad-name", "a joint has no name.")
        elif name in taken:
            reader.problem(node, "duplicate", f"joint {name!r} is given twice.")
        taken.add(name)
        found = reader.joint(node, links)
        if found is not None:
            joints.append(found)
    for child in root.children:
        if child.tag not in ("link", "joint", "material"):
            reader.note(f"<{child.tag}>")
    if not links:
        reader.problem(root, "empty", "the robot has no links.")
    known = {joint.name for joint in joints}
    for joint in joints:
        if joint.name in links:
            reader.note(f"name {joint.name!r} of a link and a joint, now {joint.name + JOINT!r} of the joint")
        if joint.mimic is not None and joint.mimic[0] not in known:
            problem = unknown_name("joint", joint.mimic[0], known, f"<mimic> of joint {joint.name!r}")
            reader.problem(joint.node, "unknown-name", problem)
    return links, joints


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
        reader.problem(
            links[tops[1]], "conflicting-arguments", f"{len(tops)} links have no parent ({listed}); one must."
        )
    for start in links:  # walk up; a link seen twice on the way closes a cycle
        seen, at = {start}, start
        while at in carried:
            at = carried[at].parent
            if at in seen:
                names = ", ".join(sorted(repr(name) for name in seen)[:6])
                reader.problem(
                    carried[start].node, "conflicting-arguments", f"links {names} carry each other in a cycle."
                )
                return ""
            seen.add(at)
    if not tops and links:
        reader.problem(root, "conflicting-arguments", "no link is the root.")
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
    bodies: dict[str, Body] = {}
    names = {joint.name: joint.name + JOINT if joint.name in links else joint.name for joint in joints}
    for name, link in links.items():
        if name == top and base == "fixed":
            bodies[name] = m.ground
            continue
        mass, center, inertia = reader.inertia(link)
        bodies[name] = m.add_body(
            name, mass=mass, inertia=inertia.tolist(), center=tuple(center.tolist()), mesh=reader.triangles(link)
        )
    for joint in joints:
        if joint.kind == "floating":
            continue  # the child is free
        near = joint.origin
        axes: FloatArray = np.array(axes_from(joint.axis.tolist(), None, f"axis of joint {joint.name!r}"))
        a = bodies[joint.parent].frame(*near.place.tolist(), rotation=(near.axes @ axes).tolist())
        b = bodies[joint.child].frame(0.0, 0.0, 0.0, rotation=axes.tolist())
        kind = KINDS.get(joint.kind, "planar")
        name = names[joint.name]
        getattr(m, f"add_{kind}")(name, a, b)
        if kind not in ("revolute", "prismatic"):
            continue
        if joint.damping > 0:
            m.add_damper(f"{name}.damping", joint=name, damping=joint.damping)
        if joint.mimic is None and actuated:
            m.add_actuator(f"{name}.actuator", joint=name, input=f"{name}.effort")
    for joint in joints:
        if joint.mimic is not None:
            other, ratio, offset = joint.mimic
            m.add_gear(f"{names[joint.name]}.mimic", names[other], names[joint.name], ratio=ratio, offset=offset)
