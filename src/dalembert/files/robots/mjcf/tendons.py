"""Fixed tendons of MJCF: lengths that are sums of coefficients times joint coordinates, with springs and damping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.core.errors import unknown_name
from dalembert.files.robots.mjcf.document import MjcfDocument
from dalembert.files.robots.mjcf.joints import MjcfJoint
from dalembert.files.robots.node_reader import free_name
from dalembert.model import Mechanism

ATTRIBUTES = (
    "name", "class", "group", "limited", "range", "solreflimit", "solimplimit", "solreffriction", "solimpfriction",
    "frictionloss", "springlength", "stiffness", "damping", "user", "margin", "armature", "actuatorfrclimited",
    "actuatorfrcrange", "material", "rgba", "width",
)  # fmt: skip
UNREAD = ("range", "frictionloss", "armature", "actuatorfrcrange")


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
    reader, found = document.reader, {}
    for number, raw in enumerate(document.parts("tendon"), 1):
        if raw.tag != "fixed":
            reader.note(raw, f"<{raw.tag}> of <tendon>")
            document.left_tendons.add(raw.attributes.get("name", ""))
            continue
        node = reader.classes.complete(reader, raw, "")
        reader.check_names(node, ("joint",), ATTRIBUTES)
        name, parts = node.attributes.get("name") or f"tendon{number}", []
        for key in UNREAD:
            if np.any(reader.values(node, key)) and node.attributes.get("limited") != "false":
                reader.note(node, f"{key} of <fixed> of <tendon>")
        for part in node.all("joint"):
            joint = joints.get(part.attributes.get("joint", ""))
            if joint is None:
                problem = unknown_name("joint", part.attributes.get("joint", ""), joints, f"tendon {name!r}")
                reader.problem(part, "unknown-name", problem)
            elif joint.kind not in ("hinge", "slide"):
                reader.problem(part, "not-supported", f"tendon {name!r} needs hinges and slides.")
            else:
                parts.append((joint, reader.number(part, "coef")))
        spring = reader.values(node, "springlength") if "springlength" in node.attributes else np.array([-1.0])
        spring = np.array([-1.0]) if spring is None or not len(spring) else spring
        if len(spring) == 1 and spring[0] == -1:  # its length where the springs of the joints are free
            spring = np.array([sum(c * joint.spring for joint, c in parts)])
        stiffness, damping = (reader.not_negative(node, key, f"tendon {name!r}") for key in ("stiffness", "damping"))
        if parts:
            own = free_name(name, taken, "_tendon")
            found[name] = MjcfTendon(own, tuple(parts), stiffness, damping, (float(spring[0]), float(spring[-1])))
    return found
