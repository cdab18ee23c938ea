"""The same machine with one body for each node of its links: forces, joints and sensors act where the nodes are.

Bodies of nodes have no mass: inertia, gravity and stiffness of the links are those of their finite elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice
from dalembert.linkages.links import SlenderLink, link_of
from dalembert.model import Mechanism
from dalembert.model.bodies import Body, BodyFrame, Place, replace_places

JOINTS = ("revolute", "prismatic", "fixed")


def node_body(link: SlenderLink, node: int) -> str:
    return f"{link.name}:{link.points[node]}"


def refuse_unsupported(m: Mechanism) -> None:
    """Parts that equivalent rigid links do not have."""
    if not m.planar:
        raise ModelError("not-planar", f"equivalent rigid links need a planar mechanism; {m.name!r} is spatial.")
    parts: list[tuple[str, Any]] = [(f"{j.kind} joint {j.name!r}", j) for j in m.joints if j.kind not in JOINTS]
    parts += [(f"{word} {part.name!r}", part) for word, group in (
        ("gear", m.couplers), ("driver", m.drivers), ("constraint", m.constraints), ("variable", m.variables),
        ("flexible body", [body for body in m.bodies if body.flexible is not None]),
        ("friction", [force for force in m.forces if force.kind in ("friction", "contact", "stop")]),
        ("rotor", [rotor for force in m.forces for rotor in force.rotors()]),
        ("sensor", [sensor for sensor in m.sensors if "reaction" in type(sensor.measure).__name__.lower()]),
    ) for part in group]  # fmt: skip
    if parts:
        raise ModelError(
            "not-supported",
            f"equivalent rigid links of {m.name!r} have revolute, prismatic and fixed joints and smooth forces; "
            f"{parts[0][0]} is none of them.",
            Advice("Put the inertia of a rotor on its node, as a mass of the frame.") if parts[0][0][:5] == "rotor"
            else Advice("Use flexible bodies for it."),
            where={"part": parts[0][1].name},
        )  # fmt: skip


def split_into_nodes(m: Mechanism, links: tuple[SlenderLink, ...], nodes: Mapping[str, str]) -> Mechanism:
    """A copy without gravity whose bodies are the nodes; ``nodes`` : of parts that name a body and no place."""
    parts = {part.name for group in (m.forces, m.sensors) for part in group}
    for name in nodes:
        require_name("force or sensor", name, parts, f"mechanism {m.name!r}", error=ModelError, argument="nodes")
    bodies = {
        (link.name, k): Body(node_body(link, k), True, position=(float(k), 0.0))
        for link in links
        for k in range(len(link.points))
    }

    def relocate(part: Any) -> Any:
        def move(place: Place) -> Place:
            body = place if isinstance(place, Body) else place.body
            if body.is_ground:
                return place
            link = link_of(links, body.name, f"mechanism {m.name!r}")
            if isinstance(place, Body):
                return bodies[link.name, _node_of_body(m, link, part, nodes)]
            rigid = link.elements is None
            here = tuple(map(float, place.coordinates)) if not rigid else ()
            node = 0 if rigid else link.node_at(here, part.name)
            local = place.coordinates if rigid else (0.0, 0.0)
            return replace(place, body=bodies[link.name, node], coordinates=local)

        return replace_places(part, move)

    def rename(sensor: Any) -> Any:
        """An angle of a body by name is that of its node."""
        name, _, way = str(getattr(sensor.measure, "joint", "")).rpartition(".")
        if name not in {link.name for link in links} or way not in ("x", "y", "angle"):
            return relocate(sensor)
        link = link_of(links, name, f"mechanism {m.name!r}")
        node = node_body(link, _node_of_body(m, link, sensor, nodes))
        return replace(sensor, measure=replace(sensor.measure, joint=f"{node}.{way}"))

    split = copy(m)
    split.gravity = (0.0, 0.0)
    split.bodies = list(bodies.values())
    split.joints, split.forces = [*map(relocate, m.joints)], [*map(relocate, m.forces)]
    split.sensors = [*map(rename, m.sensors)]
    for link in links:  # a body that nothing joins would be refused; nobody reads these rows
        for k in range(1, len(link.points)):
            split.add_fixed(f"{node_body(link, k)}:", bodies[link.name, 0].at(0, 0), bodies[link.name, k].at(0, 0))
    split.start, split.starts = {}, {}
    return split


def _node_of_body(m: Mechanism, link: SlenderLink, part: Any, nodes: Mapping[str, str]) -> int:
    """The node for a part that names a whole body."""
    if part.name in nodes:
        require_name("point", nodes[part.name], link.points, f"link {link.name!r}", error=ModelError, argument="nodes")
        return link.points.index(nodes[part.name])
    return first_node(m, link)


def first_node(m: Mechanism, link: SlenderLink) -> int:
    """The node at which the first joint carries the link, or else touches it."""
    sides = [joint.b for joint in m.joints] + [joint.a for joint in m.joints]
    for side in sides:
        if side.body.name == link.name:
            return joint_node(link, side, link.name)
    return 0


def joint_node(link: SlenderLink, side: BodyFrame, part: str) -> int:
    return 0 if link.elements is None else link.node_at(tuple(map(float, side.coordinates)), part)
