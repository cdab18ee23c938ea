"""Joints of MJCF as joints of a mechanism, and fixed tendons over them.

A body with several joints moves by them in turn, the first next to the parent, with bodies without mass between them.
The coordinate of a hinge or a slide is that of MuJoCo, `ref` in the drawing; the frame on the parent is turned or moved
back by it. A ball has Euler parameters, a free joint place and Euler parameters of the body's frame in the world.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import unknown_name
from dalembert.files.robots.mjcf.bodies import MjcfBody
from dalembert.files.robots.mjcf.document import MjcfDocument, MjcfReader
from dalembert.files.robots.node_reader import free_name
from dalembert.files.robots.origins import Origin
from dalembert.files.robots.xml_tree import XmlNode
from dalembert.model import Body, Mechanism
from dalembert.model.bodies import axes_from
from dalembert.model.orientation import rotation

KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "free"}
ATTRIBUTES = (
    "name", "class", "type", "group", "pos", "axis", "springdamper", "limited", "actuatorfrclimited", "solreflimit",
    "solimplimit", "solreffriction", "solimpfriction", "stiffness", "range", "actuatorfrcrange", "actuatorgravcomp",
    "margin", "ref", "springref", "armature", "damping", "frictionloss", "user",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class MjcfJoint:
    """A joint as values: `place` and `axis` in the frame of its body; angles in radians.  name : in the mechanism."""

    node: XmlNode
    name: str
    kind: str
    place: FloatArray
    axis: FloatArray
    ref: float
    spring: float
    stiffness: float
    damping: float
    friction: float
    armature: float
    limits: dict[str, float]
    actuator_range: tuple[float, float] | None = None  # of the sum of the efforts of its actuators

    @property
    def coordinate(self) -> str:
        """Of a hinge or a slide."""
        return f"{self.name}.{'angle' if self.kind == 'hinge' else 'displacement'}"


def read_joint(reader: MjcfReader, body: MjcfBody, node: XmlNode, outer: Origin, name: str) -> MjcfJoint:
    free = node.tag == "freejoint"
    reader.check_names(node, (), ("name", "group", "align") if free else ATTRIBUTES)
    kind = "free" if free else reader.word(node, "type", tuple(KINDS), "hinge")
    axis = np.array([0.0, 0.0, 1.0]) if free else reader.numbers(node, "axis", 3, (0, 0, 1))
    if kind in ("hinge", "slide") and not np.linalg.norm(axis) > 0:
        reader.problem(node, "zero-length", f"axis of joint {name!r} has no direction.")
        axis = np.array([0.0, 0.0, 1.0])
    if kind == "free":
        return MjcfJoint(node, name, kind, np.zeros(3), axis, 0.0, 0.0, *_passive(reader, node, name, kind), {})
    place = np.zeros(3) if kind == "free" else outer.place + outer.axes @ reader.place(node, "pos")

    def position(key: str) -> float:
        value = reader.number(node, key, 0.0)
        return reader.settings.angle(value) if kind == "hinge" else value

    single = kind in ("hinge", "slide")
    return MjcfJoint(
        node, name, kind, place, outer.axes @ axis, position("ref") if single else 0.0,
        position("springref") if single else 0.0, *_passive(reader, node, name, kind),
        _limits(reader, node, name, kind), _actuator_range(reader, node) if single else None,
    )  # fmt: skip


def _passive(reader: MjcfReader, node: XmlNode, name: str, kind: str) -> tuple[float, float, float, float]:
    """Stiffness, damping, friction and armature."""
    joints_ = []
    for key in ("stiffness", "damping", "frictionloss", "armature"):
        values = reader.values(node, key) if key in node.attributes else np.zeros(1)
        if values is None or not len(values):
            values = np.zeros(1)
        if np.any(values[1:]):
            reader.note(node, f"higher powers of {key} of <joint>")
        if values[0] < 0:
            reader.problem(node, "negative", f"{key} of joint {name!r} is negative ({values[0]:g}).")
        joints_.append(max(float(values[0]), 0.0))
    for key, value in zip(("stiffness", "damping", "frictionloss", "armature"), joints_, strict=True):
        if value and (kind == "free" or (kind == "ball" and key in ("frictionloss", "armature"))):
            reader.note(node, f"{key} of a {kind} joint")
    if reader.values(node, "springdamper") is not None and np.any(reader.values(node, "springdamper")):
        reader.note(node, "springdamper of <joint>")
    stiffness, damping, friction, armature = joints_
    return stiffness, damping, friction, armature


def _limits(reader: MjcfReader, node: XmlNode, name: str, kind: str) -> dict[str, float]:
    limits: dict[str, float] = {}
    if "range" in node.attributes:
        lower, upper = reader.numbers(node, "range", 2)
        limited = reader.word(node, "limited", ("auto", "true", "false"), "auto")
        if limited == "auto" and not reader.settings.autolimits:
            problem = f"joint {name!r} has a range, but the file does not give whether it is limited."
            reader.problem(node, "missing-argument", f"{problem} Give limited, or autolimits of <compiler>.")
        if limited != "false":
            if kind == "ball":
                reader.note(node, "range of a ball joint")
            elif not lower < upper:
                crossed = f"limits of joint {name!r} cross: {lower:g} is not below {upper:g}."
                reader.problem(node, "conflicting-arguments", crossed)
            else:
                turn = reader.settings.angle if kind == "hinge" else float
                limits |= {"lower": turn(float(lower)), "upper": turn(float(upper))}
    effort = max(map(abs, _actuator_range(reader, node) or (0.0,)))
    if effort > 0 and kind != "ball":
        limits["effort"] = effort
    return limits


def _actuator_range(reader: MjcfReader, node: XmlNode) -> tuple[float, float] | None:
    if "actuatorfrcrange" not in node.attributes or node.attributes.get("actuatorfrclimited") == "false":
        return None
    lower, upper = reader.numbers(node, "actuatorfrcrange", 2)
    return (float(lower), float(upper)) if lower < upper else None


def join(m: Mechanism, joint: MjcfJoint, parent: Body, near: Origin, child: Body) -> None:
    """Add one joint between the frame of the child and a frame of the parent; both coincide in the drawing."""
    if joint.kind == "free":
        m.add_free(joint.name, m.ground.frame(0.0, 0.0, 0.0), child.frame(0.0, 0.0, 0.0))
        return
    if joint.kind == "ball":
        a = frame_of(parent, near @ Origin(joint.place))
        m.add_spherical(joint.name, a, frame_of(child, Origin(joint.place)))
        if joint.stiffness or joint.damping:
            m.add_bushing(
                f"{joint.name}.spring", a, frame_of(child, Origin(joint.place)),
                rotational_stiffness=joint.stiffness, rotational_damping=joint.damping,
            )  # fmt: skip
        return
    axes: FloatArray = np.array(axes_from(joint.axis.tolist(), None, f"axis of joint {joint.name!r}"))
    b = Origin(joint.place, axes)
    z = (0.0, 0.0, joint.ref)
    back = Origin(-np.array(z)) if joint.kind == "slide" else Origin(axes=np.array(rotation(vector=z).matrix).T)
    m.add_joint(
        KINDS[joint.kind], joint.name, frame_of(parent, near @ b @ back), frame_of(child, b),
        limits=joint.limits or None,
    )  # fmt: skip
    name, at = joint.name, joint.coordinate
    if joint.stiffness:
        m.add_spring(f"{name}.spring", joint=at, stiffness=joint.stiffness, free=joint.spring)
    if joint.damping:
        m.add_damper(f"{name}.damping", joint=at, damping=joint.damping)
    if joint.friction:
        m.add_friction(f"{name}.friction", name, effort=joint.friction)
    if joint.armature:
        m.add_rotor(f"{name}.rotor", joint=at, inertia=joint.armature)


def frame_of(body: Body, origin: Origin) -> Any:
    return body.frame(*origin.place.tolist(), rotation=origin.axes.tolist())


# -- fixed tendons: lengths that are sums of coefficients times joint coordinates, with springs and damping
TENDON_ATTRIBUTES = (
    "name", "class", "group", "limited", "range", "solreflimit", "solimplimit", "solreffriction", "solimpfriction",
    "frictionloss", "springlength", "stiffness", "damping", "user", "margin", "armature", "actuatorfrclimited",
    "actuatorfrcrange", "material", "rgba", "width",
)  # fmt: skip
# attributes that do not act, and those that switch them off
TENDON_UNREAD = {"range": "limited", "frictionloss": "", "armature": "", "actuatorfrcrange": "actuatorfrclimited"}


@dataclass(frozen=True, eq=False)
class MjcfTendon:
    """A tendon as numbers.  free : lengths between which its spring has no force."""

    name: str
    joints: tuple[tuple[MjcfJoint, float], ...]
    stiffness: float
    damping: float
    free: tuple[float, float]

    @property
    def coordinates(self) -> dict[str, float]:
        return {joint.coordinate: c for joint, c in self.joints}

    def add(self, m: Mechanism) -> None:
        if self.stiffness or self.damping:
            lower, upper = self.free
            m.add_tendon(self.name, self.coordinates, stiffness=self.stiffness, damping=self.damping, lower=lower,
                         upper=upper)  # fmt: skip


def read_tendons(document: MjcfDocument, joints: Mapping[str, MjcfJoint], taken: set[str]) -> dict[str, MjcfTendon]:
    reader, joints_ = document.reader, {}
    for number, raw in enumerate(document.parts("tendon"), 1):
        if raw.tag != "fixed":
            reader.note(raw, f"<{raw.tag}> of <tendon>")
            document.left_tendons.add(raw.attributes.get("name", ""))
            continue
        node = reader.classes.complete(reader, raw, "")
        reader.check_names(node, ("joint",), TENDON_ATTRIBUTES)
        name, parts = node.attributes.get("name") or f"tendon{number}", []
        for key, switch in TENDON_UNREAD.items():
            if np.any(reader.values(node, key)) and node.attributes.get(switch) != "false":
                reader.note(node, f"{key} of <fixed> of <tendon>")
        for term in node.all("joint"):
            joint = joints.get(term.attributes.get("joint", ""))
            if joint is None:
                problem = unknown_name("joint", term.attributes.get("joint", ""), joints, f"tendon {name!r}")
                reader.problem(term, "unknown-name", problem)
            elif joint.kind not in ("hinge", "slide"):
                reader.problem(term, "not-supported", f"tendon {name!r} needs hinges and slides.")
            else:
                parts.append((joint, reader.number(term, "coef")))
        spring = reader.values(node, "springlength") if "springlength" in node.attributes else np.array([-1.0])
        spring = np.array([-1.0]) if spring is None or not len(spring) else spring
        if len(spring) == 1 and spring[0] == -1:  # its length where the springs of the joints are free
            spring = np.array([sum(c * joint.spring for joint, c in parts)])
        stiffness, damping = (reader.not_negative(node, key, f"tendon {name!r}") for key in ("stiffness", "damping"))
        if parts:
            label = free_name(name, taken, "_tendon")
            joints_[name] = MjcfTendon(label, tuple(parts), stiffness, damping, (float(spring[0]), float(spring[-1])))
    return joints_
