"""Default classes of MJCF: attributes for elements that do not give them.

A class inherits from the class around it; the outermost is "main". An element belongs to the class it names, else to
the ``childclass`` of the nearest frame or body around it, else to "main". All kinds of actuators share their defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dalembert.core.errors import unknown_name
from dalembert.files.robots.xml_tree import XmlNode

if TYPE_CHECKING:
    from dalembert.files.robots.node_reader import NodeReader

MAIN = "main"
ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
ACTUATORS = (
    "general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion", "dcmotor",
)  # fmt: skip


def group_of(tag: str) -> str:
    """Elements that share their defaults."""
    return "general" if tag in ACTUATORS else "tendon" if tag in ("fixed", "spatial") else tag


@dataclass
class ClassDefaults:
    """Attributes by class and element."""

    attributes: dict[str, dict[str, dict[str, str]]] = field(default_factory=lambda: {MAIN: {}})

    def complete(self, reader: NodeReader, node: XmlNode, childclass: str) -> XmlNode:
        """The element with the attributes of its class where it has none of its own."""
        name = node.attributes.get("class", childclass or MAIN)
        if name not in self.attributes:
            problem = unknown_name("default class", name, self.attributes)
            reader.problem(node, "unknown-name", problem)
            return node
        settings = self.attributes[name].get(group_of(node.tag), {})
        if any(form in node.attributes for form in ORIENTATIONS):  # its own orientation instead of that of the class
            settings = {key: value for key, value in settings.items() if key not in ORIENTATIONS}
        return replace(node, attributes={**settings, **node.attributes}) if settings else node


def read_defaults(reader: NodeReader, sections: Sequence[XmlNode]) -> ClassDefaults:
    defaults = ClassDefaults()
    todo = [(node, MAIN) for node in sections]
    top = {id(node) for node in sections}
    while todo:
        node, parent = todo.pop(0)
        name = node.attributes.get("class", MAIN if id(node) in top else "")
        if not name:
            reader.problem(node, "bad-name", "a default class has no name.")
        elif id(node) in top and name != MAIN:
            reader.problem(node, "bad-name", f"the outermost default class is {MAIN!r}, not {name!r}.")
        elif name in defaults.attributes and id(node) not in top:
            reader.problem(node, "duplicate", f"default class {name!r} is given twice.")
        settings = defaults.attributes.setdefault(name, {})
        if id(node) not in top:
            settings.update({tag: dict(values) for tag, values in defaults.attributes[parent].items()})
        for child in node.children:
            if child.tag == "default":
                todo.append((child, name))
            else:
                kind = group_of(child.tag)
                settings[kind] = {
                    **settings.get(kind, {}),
                    **{k: v for k, v in child.attributes.items() if k != "class"},
                }
    return defaults
