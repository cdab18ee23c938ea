"""Keyframes of MJCF: named initial states with values of the inputs.

Hinges and slides have their coordinates; a body with a ball or a free joint has its orientation in the world, which
follows from the joints before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.files.robots.mjcf.bodies import MjcfBody
from dalembert.files.robots.mjcf.document import MjcfDocument
from dalembert.files.robots.mjcf.joints import MjcfJoint
from dalembert.files.robots.origins import Origin
from dalembert.files.robots.xml_tree import XmlNode
from dalembert.model.mechanism import NamedStart
from dalembert.model.orientation import rotation

COUNTS = {"hinge": 1, "slide": 1, "ball": 4, "free": 7}
SPEEDS = {"hinge": ("rate",), "slide": ("speed",), "ball": ("wx", "wy", "wz"),
          "free": ("vx", "vy", "vz", "wx", "wy", "wz")}  # fmt: skip
KNOWN = ("name", "time", "qpos", "qvel", "act", "mpos", "mquat", "ctrl")


def read_keyframes(
    document: MjcfDocument, world: MjcfBody, joints: Mapping[str, list[MjcfJoint]], inputs: Sequence[str]
) -> dict[str, NamedStart]:
    """inputs : names of the actuators, in the order of the file; empty for those that are not read."""
    reader, frames = document.reader, {}
    every = [joint for body in world.walk() for joint in joints.get(body.name, ())]
    speeds = [f"{joint.name}.{c}" for joint in every for c in SPEEDS[joint.kind]]

    def values(node: XmlNode, key: str, count: int) -> FloatArray:
        entries = reader.values(node, key) if key in node.attributes else None
        if entries is not None and len(entries) != count:
            reader.problem(node, "wrong-shape", f"{key} of <key> has {len(entries)} numbers, the model {count}.")
        return np.zeros(0) if entries is None or len(entries) != count else entries

    for number, node in enumerate(document.parts("keyframe"), 1):
        reader.check_names(node, (), KNOWN)
        name = node.attributes.get("name") or f"key{number}"
        qpos = values(node, "qpos", sum(COUNTS[joint.kind] for joint in every))
        position = _positions(world, joints, qpos) if len(qpos) else {}
        rates = {key: float(x) for key, x in zip(speeds, values(node, "qvel", len(speeds)), strict=False) if x}
        drives = zip(inputs, values(node, "ctrl", len(inputs)), strict=False)
        frames[name] = NamedStart(position, rates, {key: float(x) for key, x in drives if key})
    return frames


def _positions(world: MjcfBody, joints: Mapping[str, list[MjcfJoint]], qpos: FloatArray) -> dict[str, Any]:
    pose: dict[str, Any] = {}
    axes, k = {world.name: np.eye(3)}, 0
    for body in list(world.walk())[1:]:
        assert body.parent is not None
        turned = axes[body.parent.name] @ body.origin.axes
        for joint in joints[body.name]:
            numbers, k = qpos[k : k + COUNTS[joint.kind]], k + COUNTS[joint.kind]
            if joint.kind in ("hinge", "slide"):
                pose[joint.coordinate] = float(numbers[0])
                if joint.kind == "hinge":
                    step = (numbers[0] - joint.ref) * joint.axis / np.linalg.norm(joint.axis)
                    turned = turned @ np.array(rotation(vector=tuple(step)).matrix)
                continue
            own_turn = numbers[-4:] if np.any(numbers[-4:]) else np.array([1.0, 0.0, 0.0, 0.0])
            turn = Origin(axes=np.array(rotation(quaternion=tuple(own_turn)).matrix))
            turned = turn.axes if joint.kind == "free" else turned @ turn.axes
            if joint.kind == "free":
                pose |= {f"{joint.name}.{c}": float(x) for c, x in zip("xyz", numbers, strict=False)}
        if any(joint.kind in ("ball", "free") for joint in joints[body.name]):
            pose[f"{body.name}.rotation"] = rotation(matrix=turned.tolist())
        axes[body.name] = turned
    return pose
