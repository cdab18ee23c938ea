"""Actuators of MJCF along a hinge or a slide.

With the gear ratio G the length and speed of the actuator are G q and G q̇, and the effort on the joint is

    G (g u + b₀ + b₁ G q + b₂ G q̇) :

an actuator with the input u, and a spring with damping along the same coordinate where it has a bias.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import unknown_name
from dalembert.files.robots.mjcf.document import MjcfDocument, MjcfReader
from dalembert.files.robots.mjcf.joints import MjcfJoint
from dalembert.files.robots.node_reader import free_name
from dalembert.files.robots.xml_tree import XmlNode
from dalembert.model import Mechanism

READ = ("motor", "position", "velocity", "general")
ELSEWHERE = ("jointinparent", "tendon", "site", "body", "cranksite", "slidersite", "refsite")  # transmissions not read


@dataclass(frozen=True, eq=False)
class MjcfActuator:
    """An actuator as numbers.  gain : g.  bias : b₀, b₁, b₂."""

    node: XmlNode
    name: str
    joint: MjcfJoint
    gear: float
    gain: float
    bias: FloatArray
    effort: float  # largest on the joint; 0 where there is no limit

    def add(self, m: Mechanism) -> None:
        at, gear = self.joint.coordinate, self.gear
        m.add_actuator(self.name, joint=at, input=self.name, effort=gear * self.gain)
        b0, b1, b2 = self.bias
        if np.any(self.bias):
            m.add_spring(
                f"{self.name}.bias", joint=at, stiffness=-(gear**2) * b1, damping=-(gear**2) * b2, free=0.0,
                preload=-gear * b0,
            )  # fmt: skip


def read_actuators(document: MjcfDocument, joints: Mapping[str, MjcfJoint], taken: set[str]) -> list[MjcfActuator]:
    return [one for one in _read_all(document, joints, taken) if one is not None]


def _read_all(
    document: MjcfDocument, joints: Mapping[str, MjcfJoint], taken: set[str]
) -> Iterator[MjcfActuator | None]:  # fmt: skip
    reader = document.reader
    for number, raw in enumerate(document.parts("actuator"), 1):
        node = reader.classes.complete(reader, raw, "")
        name = free_name(node.attributes.get("name") or f"actuator{number}", taken, "_actuator")
        if node.tag not in READ:
            reader.note(node, f"<{node.tag}> of <actuator>")
            continue
        if "joint" not in node.attributes:
            where = next((key for key in ELSEWHERE if key in node.attributes), "")
            if where:
                reader.note(node, f"<{node.tag}> at a {where}")
            else:
                reader.problem(node, "missing-argument", f"<{node.tag}> {name!r} acts on nothing: give a joint.")
            continue
        wanted = node.attributes["joint"]
        joint = joints.get(wanted)
        if joint is None:
            reader.problem(node, "unknown-name", unknown_name("joint", wanted, joints, f"<{node.tag}>"))
        elif joint.kind not in ("hinge", "slide"):
            reader.note(node, f"<{node.tag}> at a {joint.kind} joint")
        else:
            yield _read(reader, node, name, joint)


def _read(reader: MjcfReader, node: XmlNode, name: str, joint: MjcfJoint) -> MjcfActuator | None:
    values = reader.values(node, "gear") if "gear" in node.attributes else np.ones(1)
    gear = 1.0 if values is None or not len(values) else float(values[0])
    gain, bias = 1.0, np.zeros(3)
    if node.tag == "position":
        gain, damping = reader.number(node, "kp", 1.0), reader.number(node, "kv", 0.0)
        bias = np.array([0.0, -gain, -damping])
        for key in ("dampratio", "timeconst", "inheritrange"):
            if reader.number(node, key, 0.0) != 0:
                reader.note(node, f"{key} of <position>", quiet=key == "inheritrange")
    elif node.tag == "velocity":
        gain = reader.number(node, "kv", 1.0)
        bias = np.array([0.0, 0.0, -gain])
    elif node.tag == "general":
        found = _general(reader, node)
        if found is None:
            return None
        gain, bias = found
    if bias[2] > 0:
        reader.note(node, f"<{node.tag}> that drives by its own speed")
        return None
    if gear == 0 or gain == 0:
        reader.note(node, f"<{node.tag}> without effect")
        return None
    return MjcfActuator(node, name, joint, gear, gain, bias, _largest(reader, node, gear, gain, bias))


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
        given = reader.values(node, "biasprm")
        given = np.zeros(0) if given is None else given[:3]
        bias[: len(given)] = given
    return (1.0 if gains is None or not len(gains) else float(gains[0])), bias


def _largest(reader: MjcfReader, node: XmlNode, gear: float, gain: float, bias: FloatArray) -> float:
    """Largest effort on the joint, by the range of the force, or of the input of an actuator without bias."""
    if "forcerange" in node.attributes and node.attributes.get("forcelimited") != "false":
        return abs(gear) * float(np.abs(reader.numbers(node, "forcerange", 2)).max())
    if "ctrlrange" in node.attributes and node.attributes.get("ctrllimited") != "false" and not np.any(bias):
        return abs(gear * gain) * float(np.abs(reader.numbers(node, "ctrlrange", 2)).max())
    return 0.0
