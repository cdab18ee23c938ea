"""Equality constraints of MJCF: points that coincide, frames that are welded, joints that follow each other.

MuJoCo makes them compliant, with a time constant; here they are constraint rows, fulfilled exactly. A joint follows by

    y - y_ref = a₀ + a₁ (x - x_ref) .
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.core.errors import unknown_name
from dalembert.files.robots.mjcf.bodies import WORLD, BodyTree, MjcfBody
from dalembert.files.robots.mjcf.document import MjcfDocument
from dalembert.files.robots.mjcf.joints import MjcfJoint, frame_of
from dalembert.files.robots.node_reader import free_name
from dalembert.files.robots.origins import Origin
from dalembert.files.robots.xml_tree import XmlNode
from dalembert.model import Body, Mechanism
from dalembert.model.orientation import rotation

COMMON = ("name", "class", "active", "solref", "solimp")
KNOWN = {
    "connect": ("body1", "body2", "anchor", "site1", "site2"),
    "weld": ("body1", "body2", "relpose", "anchor", "site1", "site2", "torquescale"),
    "joint": ("joint1", "joint2", "polycoef"),
}


class Equalities:
    """Adds the equalities of a model to a mechanism; `poses` are those of all bodies in the drawing."""

    def __init__(
        self, document: MjcfDocument, tree: BodyTree, joints: Mapping[str, MjcfJoint], poses: Mapping[str, Origin]
    ) -> None:
        self.reader, self.tree, self.joints, self.poses = document.reader, tree, joints, poses
        self.nodes = list(document.parts("equality"))

    def add(self, m: Mechanism, bodies: Mapping[str, Body], taken: set[str]) -> None:
        for number, raw in enumerate(self.nodes, 1):
            node = self.reader.classes.complete(self.reader, raw, "")
            if node.tag not in KNOWN:
                self.reader.note(node, f"<{node.tag}> of <equality>")
                continue
            self.reader.check_names(node, (), (*COMMON, *KNOWN[node.tag]))
            if not self.reader.flag(node, "active", True):
                self.reader.note(node, f"<{node.tag}> of <equality> that is not active", quiet=True)
                continue
            name = free_name(node.attributes.get("name") or f"{node.tag}{number}", taken, "_equality")
            if node.tag == "joint":
                self._couple(m, node, name)
            else:
                self._close(m, bodies, node, name)

    def _close(self, m: Mechanism, bodies: Mapping[str, Body], node: XmlNode, name: str) -> None:
        if "site1" in node.attributes or "site2" in node.attributes:
            site, two = self._site(node, "site1"), self._site(node, "site2")
            if site is None or two is None:
                return
            (first, a), (second, b) = site, two
        else:
            first_, second_ = self._body(node, "body1"), self._body(node, "body2")
            if first_ is None or second_ is None:
                return
            first, second = first_, second_
            between = self.poses[second.name].inverse @ self.poses[first.name]  # of the first in the second
            a, b = Origin(self.reader.place(node, "anchor")), Origin()
            if node.tag == "connect":
                if "anchor" not in node.attributes:
                    self.reader.problem(node, "missing-argument", "<connect> has no attribute 'anchor'.")
                b = between @ a
            else:
                a = self._relative_pose(node, between.inverse)
        if first is second:
            self.reader.problem(node, "same-body", f"<{node.tag}> {name!r} connects body {first.name!r} to itself.")
            return
        kind = "spherical" if node.tag == "connect" else "fixed"
        m.add_joint(kind, name, frame_of(bodies[first.name], a), frame_of(bodies[second.name], b))

    def _relative_pose(self, node: XmlNode, drawn: Origin) -> Origin:
        """Of the second body in the first: as given, or as drawn where its quaternion is zero."""
        if "relpose" not in node.attributes:
            return drawn
        values = self.reader.numbers(node, "relpose", 7)
        if not np.linalg.norm(values[3:]) > 0:
            return drawn
        return Origin(values[:3], np.array(rotation(quaternion=tuple(values[3:])).matrix))

    def _couple(self, m: Mechanism, node: XmlNode, name: str) -> None:
        second = self._joint(node, "joint1")
        first = self._joint(node, "joint2") if "joint2" in node.attributes else None
        values = self.reader.values(node, "polycoef") if "polycoef" in node.attributes else np.array([0.0, 1.0])
        if second is None or values is None or (first is None and "joint2" in node.attributes):
            return
        a = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
        a[: len(values)] = values[:5]
        if np.any(a[2:]) and first is not None:
            self.reader.note(node, "<joint> of <equality> with higher powers")
        elif first is None or a[1] == 0:
            m.add_driver(name, second.coordinate, second.ref + float(a[0]))
        elif first is second:
            self.reader.problem(node, "same-coordinate", f"joint {second.name!r} follows itself.")
        else:
            offset = second.ref + float(a[0]) - float(a[1]) * first.ref
            m.add_gear(name, first.coordinate, second.coordinate, ratio=float(a[1]), offset=offset)

    # -- names --------------------------------------------------------------------------------------------------------
    def _body(self, node: XmlNode, key: str) -> MjcfBody | None:
        name = node.attributes.get(key, WORLD if key == "body2" else "")
        body = self.tree.bodies.get(name)
        if body is None:
            problem = unknown_name("body", name, self.tree.bodies, f"<{node.tag}>")
            self.reader.problem(node, "unknown-name", problem)
        return body

    def _site(self, node: XmlNode, key: str) -> tuple[MjcfBody, Origin] | None:
        name = node.attributes.get(key, "")
        site = self.tree.sites.get(name)
        if site is None:
            problem = unknown_name("site", name, self.tree.sites, f"<{node.tag}>")
            self.reader.problem(node, "unknown-name", problem)
        return site

    def _joint(self, node: XmlNode, key: str) -> MjcfJoint | None:
        name = node.attributes.get(key, "")
        joint = self.joints.get(name)
        if joint is None:
            self.reader.problem(node, "unknown-name", unknown_name("joint", name, self.joints, f"<{node.tag}>"))
        elif joint.kind not in ("hinge", "slide"):
            problem = f"joint {name!r} has several coordinates: <{node.tag}> needs a hinge or a slide."
            self.reader.problem(node, "not-supported", problem)
            return None
        return joint
