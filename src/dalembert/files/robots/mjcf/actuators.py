"""Actuators of MJCF along a hinge, a slide or a fixed tendon, and at a site.

With the gear ratio G the length and speed of the actuator are G q and G q̇, and the effort on the joint is

    G clip(g clip(u) + b₀ + b₁ G q + b₂ G q̇) ,

cut off at the ranges of input and force: a servo. Where a position servo gives its damping ratio ζ, b₂ = -2 ζ √(k m)
with the mass m = 1/(J M⁻¹ Jᵀ) that it sees in the pose of the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import unknown_name
from dalembert.files.robots.mjcf.bodies import BodyTree, MjcfBody
from dalembert.files.robots.mjcf.document import MjcfDocument, MjcfReader
from dalembert.files.robots.mjcf.geoms import SolidMass
from dalembert.files.robots.mjcf.joints import MjcfJoint, MjcfTendon, frame_of
from dalembert.files.robots.node_reader import free_name
from dalembert.files.robots.origins import Origin
from dalembert.files.robots.tree_mass import TreeMass
from dalembert.files.robots.xml_tree import XmlNode
from dalembert.model import Body, Mechanism
from dalembert.model.actuators.servo import Servo

READ = ("motor", "position", "velocity", "general")
ELSEWHERE = ("jointinparent", "body", "cranksite", "slidersite", "refsite")  # transmissions not read
Range = tuple[float, float]
UNLIMITED: Range = (-math.inf, math.inf)


@dataclass(frozen=True, eq=False)
class MjcfActuator:
    """An actuator as numbers.

    number : in the file, from 1.  target : a joint, a tendon, or the body and frame of a site.
    gear : six numbers at a site, else the first.  gain : g.  bias : b₀, b₁, b₂.
    """

    number: int
    name: str
    target: MjcfJoint | MjcfTendon | tuple[MjcfBody, Origin]
    gear: FloatArray
    gain: float
    bias: FloatArray
    reference: str
    inputs: Range
    forces: Range

    @property
    def effort(self) -> float:
        """Largest on the joint, by the range of the force, or of the input without a bias; 0 without a limit."""
        most = max(map(abs, self.forces))
        if math.isinf(most) and not np.any(self.bias):
            most = abs(self.gain) * max(map(abs, self.inputs))
        return 0.0 if math.isinf(most) else abs(float(self.gear[0])) * most

    def limit_on_joint(self, limits: Range) -> Range:
        """Range of the force with that of the effort on the joint."""
        low, high = sorted(x / float(self.gear[0]) for x in limits)
        return max(low, self.forces[0]), min(high, self.forces[1])

    def along(self) -> tuple[Any, ...]:
        """Joints, with their shares, along which it acts: rows of J."""
        if isinstance(self.target, MjcfJoint):
            return ((self.target, float(self.gear[0])),)
        if isinstance(self.target, MjcfTendon):
            return tuple((joint, c * float(self.gear[0])) for joint, c in self.target.joints)
        return ()

    def servo(self, gear: float, forces: Range) -> Servo | None:
        """None where the effort is proportional to the input."""
        if not np.any(self.bias) and self.inputs == UNLIMITED and forces == UNLIMITED:
            return None
        low, high, least, most = (None if math.isinf(x) else x for x in (*forces, *self.inputs))
        b0, b1, b2 = (float(b) for b in self.bias)
        return Servo(self.gain, b0, -b1, -b2, gear, low, high, least, most, self.reference)

    def add(self, m: Mechanism, bodies: Mapping[str, Body], forces: Range) -> None:
        gear = float(self.gear[0])
        if isinstance(self.target, MjcfJoint):
            model, at = self.servo(gear, forces), self.target.coordinate
            if model is None:
                m.add_actuator(self.name, joint=at, input=self.name, effort=gear * self.gain)
            else:
                m.add_actuator(self.name, joint=at, input=self.name, model=model)
        elif isinstance(self.target, MjcfTendon):
            model = self.servo(gear, forces) or Servo(self.gain, gear_ratio=gear)
            m.add_tendon(self.name, self.target.coordinates, input=self.name, model=model)
        else:
            body, place = self.target
            model = self.servo(1.0, forces) or Servo(self.gain)
            m.add_thruster(
                self.name, frame_of(bodies[body.name], place), input=self.name, force=self.gear[:3].tolist(),
                torque=self.gear[3:].tolist(), model=model,
            )  # fmt: skip


@dataclass
class ActuatorReader:
    """Reads actuators.  masses : 1/(J M⁻¹ Jᵀ) for shares of joints, in the pose of the file."""

    document: MjcfDocument
    tree: BodyTree
    joints: Mapping[str, MjcfJoint]
    tendons: Mapping[str, MjcfTendon]
    mass: Any

    @property
    def reader(self) -> MjcfReader:
        return self.document.reader

    def read(self, taken: set[str]) -> Iterator[MjcfActuator]:
        reader = self.reader
        for number, raw in enumerate(self.document.parts("actuator"), 1):
            node = reader.classes.complete(reader, raw, "")
            name = free_name(node.attributes.get("name") or f"actuator{number}", taken, "_actuator")
            if node.tag not in READ:
                reader.note(node, f"<{node.tag}> of <actuator>")
                continue
            target = self._target(node, name)
            actuator = None if target is None else self._read(node, number, name, target)
            if actuator is not None:
                yield actuator

    def _target(self, node: XmlNode, name: str) -> Any:
        reader, attributes = self.reader, node.attributes
        where = next((key for key in ELSEWHERE if key in attributes), "")
        if where:
            return reader.note(node, f"<{node.tag}> at a {where}")
        places: dict[str, Mapping[str, Any]] = {"joint": self.joints, "tendon": self.tendons, "site": self.tree.sites}
        key = next((word for word in places if word in attributes), "")
        if not key:
            return reader.problem(node, "missing-argument", f"<{node.tag}> {name!r} acts on nothing: give a joint.")
        joint_ = places[key]
        target = joint_.get(attributes[key])
        if target is None and not (key == "tendon" and attributes[key] in self.document.left_tendons):
            reader.problem(node, "unknown-name", unknown_name(key, attributes[key], joint_, f"<{node.tag}>"))
        elif target is None:
            reader.note(node, f"<{node.tag}> at a tendon that is not read")
        elif isinstance(target, MjcfJoint) and target.kind not in ("hinge", "slide"):
            return reader.note(node, f"<{node.tag}> at a {target.kind} joint")
        return target

    def _read(self, node: XmlNode, number: int, name: str, target: Any) -> MjcfActuator | None:
        reader, gear, gain, bias, reference = self.reader, np.zeros(6), 1.0, np.zeros(3), "effort"
        values = reader.values(node, "gear") if "gear" in node.attributes else np.ones(1)
        values = np.ones(1) if values is None or not len(values) else values[:6]
        gear[: len(values)] = values
        if node.tag == "position":
            gain, reference = reader.number(node, "kp", 1.0), "position"
            ratio = reader.number(node, "dampratio", 0.0)  # MuJoCo takes b₂ > 0 as a damping ratio
            bias = np.array([0.0, -gain, ratio or -reader.number(node, "kv", 0.0)])
            if reader.number(node, "timeconst", 0.0) != 0:
                reader.note(node, "timeconst of <position>")
        elif node.tag == "velocity":
            gain, reference = reader.number(node, "kv", 1.0), "speed"
            bias = np.array([0.0, 0.0, -gain])
        elif node.tag == "general":
            general = _general(reader, node)
            if general is None:
                return None
            gain, bias = general
            reference = "position" if bias[1] and gain == -bias[1] else reference
        if not np.any(gear) or gain == 0 or (gear[0] == 0 and not isinstance(target, tuple)):
            reader.note(node, f"<{node.tag}> without effect")
            return None
        inputs, forces = (_range(reader, node, *keys) for keys in (("ctrl", UNLIMITED), ("force", UNLIMITED)))
        share = reader.number(node, "inheritrange", 0.0)
        limits = target.limits if isinstance(target, MjcfJoint) else {}
        if share > 0 and inputs == UNLIMITED and "lower" in limits and "upper" in limits:
            middle, half = (limits["lower"] + limits["upper"]) / 2, (limits["upper"] - limits["lower"]) / 2 * share
            inputs = (middle - half, middle + half)
        actuator = MjcfActuator(number, name, target, gear, gain, bias, reference, inputs, forces)
        if bias[2] > 0 and gain == -bias[1]:
            bias[2] *= -2 * math.sqrt(gain * self.mass(actuator.along())) if actuator.along() and gain > 0 else 0.0
        return actuator


def _general(reader: MjcfReader, node: XmlNode) -> tuple[float, FloatArray] | None:
    kinds = (("dyntype", "none"), ("gaintype", "fixed"))
    others = [f"{key}={node.attributes[key]}" for key, plain in kinds if node.attributes.get(key, plain) != plain]
    if node.attributes.get("biastype", "none") not in ("none", "affine"):
        others.append(f"biastype={node.attributes['biastype']}")
    if others:
        reader.note(node, f"<general> with {', '.join(others)}")
        return None
    gains = reader.values(node, "gainprm") if "gainprm" in node.attributes else np.ones(1)
    bias = np.zeros(3)
    if node.attributes.get("biastype", "none") == "affine" and "biasprm" in node.attributes:
        offsets = reader.values(node, "biasprm")
        offsets = np.zeros(0) if offsets is None else offsets[:3]
        bias[: len(offsets)] = offsets
    return (1.0 if gains is None or not len(gains) else float(gains[0])), bias


def _range(reader: MjcfReader, node: XmlNode, key: str, default: Range) -> Range:
    """Range of the input or the force; it acts where the file does not switch it off."""
    if f"{key}range" not in node.attributes or node.attributes.get(f"{key}limited") == "false":
        return default
    lower, upper = (float(x) for x in reader.numbers(node, f"{key}range", 2))
    if not lower < upper:
        problem = f"{key}range of <{node.tag}>: {lower:g} is not below {upper:g}."
        reader.problem(node, "conflicting-arguments", problem)
        return default
    return lower, upper


class ReflectedMass:
    """Masses that actuators see, by the shares of joints along which they act."""

    def __init__(self, world: MjcfBody, joints: Mapping[str, list[MjcfJoint]], masses: Mapping[str, SolidMass]) -> None:
        self.columns: dict[str, int] = {}
        poses, tree = {world.name: Origin()}, TreeMass()
        none = np.zeros((3, 3))
        for body in list(world.walk())[1:]:
            assert body.parent is not None
            poses[body.name] = pose = poses[body.parent.name] @ body.origin
            parent = body.parent.name
            for joint in joints[body.name]:
                label = f"{body.name}/{joint.name}"
                place = pose.place
                self.columns[joint.name] = tree.add(
                    label, parent, _screws(joint, pose), 0.0, place, none, joint.armature
                )
                parent = label
            solid = masses[body.name].place_at(pose)
            tree.add(body.name, parent, np.zeros((0, 6)), solid.mass, solid.center, solid.inertia)
        self.M = tree.M

    def __call__(self, along: Iterable[tuple[MjcfJoint, float]]) -> float:
        J = np.zeros(len(self.M))
        for joint, share in along:
            J[self.columns[joint.name]] += share
        return 1 / max(float(J @ np.linalg.lstsq(self.M, J, rcond=None)[0]), np.finfo(float).tiny)


def _screws(joint: MjcfJoint, pose: Origin) -> FloatArray:
    """Motions of a joint as angular velocity and velocity of the point at the origin of the world."""
    place = pose.place + pose.axes @ joint.place
    if joint.kind == "slide":
        return np.concatenate([np.zeros(3), pose.axes @ (joint.axis / np.linalg.norm(joint.axis))])[None]
    hinge = joint.kind == "hinge"
    axes = (pose.axes @ (joint.axis / np.linalg.norm(joint.axis)))[None] if hinge else pose.axes.T
    turns = np.hstack([axes, np.cross(place, axes)])
    slides = np.hstack([np.zeros((3, 3)), np.eye(3)])
    return np.concatenate([slides, turns]) if joint.kind == "free" else turns
