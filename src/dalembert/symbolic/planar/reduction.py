"""Reduction of variables: joints make nodes and spins the same, and the rest are the variables of the equations.

A revolute joint makes two nodes one, whose variables are those of the body declared first. A prismatic joint makes the
angles of two bodies the same but for a constant. The ground has no variables. Every remaining speed has a
coordinate: node, angle, coordinate of an active joint or of a slider; a user adds others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError
from dalembert.expressions import Array, Expr
from dalembert.symbolic.planar.element import locate_center, rotate, to_body_axes
from dalembert.symbolic.planar.model import PRISMATIC, REVOLUTE, PlanarModel
from dalembert.symbolic.planar.node_names import GROUND, join_node
from dalembert.symbolic.planar.parts import Node, PlanarBody, PlanarJoint

SX = ca.SX


@dataclass(frozen=True, eq=False)
class PlanarVariable:
    """A coordinate with its speed: names, unit of the coordinate, symbols, and the value as drawn."""

    name: str
    rate_name: str
    unit: str
    symbol: Any
    rate: Any
    start: Any


class PlanarReduction:
    """Variables of a planar model, and the replacements of all other symbols."""

    def __init__(self, m: PlanarModel) -> None:
        self.m = m
        self.order = {name: k for k, name in enumerate(m.bodies)}
        self.roots = self._merge_nodes()
        self._check_drawn()
        self.shapes: dict[str, tuple[Any, list[Any]]] = {}  # drawn angle, places of nodes in body axes
        for body in m.bodies.values():
            places = [self.place_of((body.name, k + 1)) for k in range(len(body.places))]
            self.shapes[body.name] = (
                (SX(0), [SX.zeros(2)] * len(places)) if len(places) < 2 else to_body_axes(places, body.length)
            )
        ground = m.bodies[GROUND]
        self.shapes[GROUND] = (SX(0), [SX(place) for place in ground.places])
        self.turning = self._merge_angles()
        self._choose_variables()

    # -- nodes -------------------------------------------------------------------------------------------------------
    def _merge_nodes(self) -> dict[Node, Node]:
        """Map every node to the node whose variables it uses."""
        m = self.m
        groups: dict[Node, set[Node]] = {
            (b.name, k + 1): {(b.name, k + 1)} for b in m.bodies.values() for k in range(len(b.places))
        }
        for joint in m.joints.values():
            if joint.kind != REVOLUTE or joint.apart:
                continue
            a, b = groups[joint.a], groups[joint.b]
            if a is b:
                raise ModelError(
                    "duplicate", f"joint {joint.name!r}: other joints make {join_node(joint.a)} and "
                    f"{join_node(joint.b)} one node already.", where={"joint": joint.name},
                )  # fmt: skip
            twice = {body for body, _ in a} & {body for body, _ in b}
            if twice:
                raise ModelError(
                    "same-body", f"joint {joint.name!r} would put two nodes of body {min(twice)!r} at one place.",
                    where={"joint": joint.name, "body": min(twice)},
                )  # fmt: skip
            a |= b
            for node in b:
                groups[node] = a
        return {node: min(group, key=lambda one: (self.order[one[0]], one[1])) for node, group in groups.items()}

    def place_of(self, node: Node) -> Any:
        """(2,) where a node is drawn: at the place of the node whose variables it uses."""
        body, k = self.roots[node]
        return self.m.bodies[body].places[k - 1]

    def _check_drawn(self) -> None:
        """Nodes that are one are drawn at one place."""
        m = self.m
        places = {
            node: m.numbers([m.bodies[node[0]].places[node[1] - 1]], f"place of node {join_node(node)}")
            for node in self.roots
        }
        size = 1 + max((float(np.abs(place).max()) for place in places.values()), default=0.0)
        bars = {body.name for body in m.bodies.values() if body.length is not None}  # drawn as a first guess
        for node, root in self.roots.items():
            gap = float(np.linalg.norm(places[node] - places[root]))
            if is_open(gap, size) and not {node[0], root[0]} & bars:
                raise ModelError(
                    "joint-open", f"nodes {join_node(root)} and {join_node(node)} are one by a revolute joint, but "
                    f"drawn {gap:.3g} m apart, at {_format_place(places[root])} and {_format_place(places[node])}.",
                    where={"node": join_node(node)}, evidence={"gap": gap},
                )  # fmt: skip

    # -- angles ------------------------------------------------------------------------------------------------------
    def _merge_angles(self) -> dict[str, str]:
        """Map every body to the body whose angle it shares, up to a constant."""
        root = {name: name for name in self.m.bodies}
        for joint in self.m.joints.values():
            if joint.kind == PRISMATIC:
                first, second = sorted((root[joint.a[0]], root[joint.b[0]]), key=self.order.__getitem__)
                root = {name: first if body == second else body for name, body in root.items()}
        return root

    def offset(self, body: str) -> Any:
        """Constant angle of a body relative to the body whose angle it shares."""
        return self.shapes[body][0] - self.shapes[self.turning[body]][0]

    def has_angle(self, body: str) -> bool:
        """Whether the angle of a body is a variable; otherwise it is fixed to the ground."""
        root = self.turning[body]
        members = [self.m.bodies[name] for name, one in self.turning.items() if one == root]
        return root == GROUND or not all(member.is_particle for member in members)

    # -- variables -----------------------------------------------------------------------------------------------------
    def _choose_variables(self) -> None:
        m = self.m
        self.variables: list[PlanarVariable] = []
        replaced: list[tuple[Any, Any]] = []
        for node, root in self.roots.items():
            node_symbols, root_symbols = (self._symbols(x) for x in (node, root))
            if root[0] == GROUND:
                replaced += [(node_symbols[0], SX(self.place_of(node))), (node_symbols[1], SX.zeros(2))]
            elif node != root:
                replaced += list(zip(node_symbols, root_symbols, strict=True))
            else:
                stem = join_node(node)
                self.variables += [
                    PlanarVariable(
                        f"{stem}.{c}",
                        f"{stem}.v{c}",
                        "m",
                        node_symbols[0][k],
                        node_symbols[1][k],
                        self.place_of(node)[k],
                    )
                    for k, c in enumerate("xy")
                ]
        for body in m.bodies.values():
            turning = self.turning[body.name]
            if turning != body.name:
                leader = m.bodies[turning]
                angle, rate = (SX(0), SX(0)) if turning == GROUND else (leader.angle, leader.rate)
                replaced += [(body.angle, angle + self.offset(body.name)), (body.rate, rate)]
            elif body.name != GROUND and self.has_angle(body.name):
                self.variables.append(
                    PlanarVariable(f"{body.name}.angle", f"{body.name}.rate", "rad", body.angle, body.rate,
                             self.shapes[body.name][0])
                )  # fmt: skip
        replaced += [(m.bodies[GROUND].angle, SX(0)), (m.bodies[GROUND].rate, SX(0))]
        for joint in m.joints.values():
            a, b = m.bodies[joint.a[0]], m.bodies[joint.b[0]]
            if joint.kind != REVOLUTE:
                start = ca.dot(self.direction(joint, drawn=True), self.place_of(joint.b) - self.place_of(joint.a))
                names = (f"{joint.name}.displacement", f"{joint.name}.speed", "m")
                self.variables.append(PlanarVariable(*names, joint.coordinate, joint.rate, start))
            elif joint.input:
                start = self.shapes[b.name][0] - self.shapes[a.name][0]
                names = (f"{joint.name}.angle", f"{joint.name}.rate", "rad")
                self.variables.append(PlanarVariable(*names, joint.coordinate, joint.rate, start))
            elif self.has_angle(a.name) and self.has_angle(b.name):
                replaced += [(joint.coordinate, b.angle - a.angle), (joint.rate, b.rate - a.rate)]
        self._replaced = replaced
        # the replacements of joints contain symbols of bodies that are replaced themselves
        self._replaced = [(old, self._once(new)) for old, new in replaced]

    def _symbols(self, node: Node) -> tuple[Any, Any]:
        body = self.m.bodies[node[0]]
        return body.positions[node[1] - 1], body.velocities[node[1] - 1]

    def _once(self, value: Expr) -> Any:
        olds, news = zip(*self._replaced, strict=True)
        return ca.substitute(value, ca.vertcat(*olds), ca.vertcat(*news))

    def __call__(self, value: Expr) -> Any:
        """An expression of the model in the remaining variables."""
        return self._once(SX(value))

    def direction(self, joint: PlanarJoint, *, drawn: bool = False) -> Any:
        """(2,) unit vector along the guide of a slider."""
        assert joint.end is not None
        body = self.m.bodies[joint.a[0]]
        angle, places = self.shapes[body.name]
        along = places[joint.end[1] - 1] - places[joint.a[1] - 1]
        along = along / ca.sqrt(ca.dot(along, along))
        if body.name == GROUND:
            return along
        return rotate(angle if drawn else body.angle, along)

    def center_in_body_axes(self, body: PlanarBody) -> Any:
        """(2,) centre of mass beside the first node."""
        i, j = body.between
        places = self.shapes[body.name][1]
        return locate_center(places[i - 1], places[j - 1], *body.center)


def is_open(gap: float, size: float, digits: float = 1e-6) -> bool:
    """Whether two drawn places that are one differ by more than the six digits of a file."""
    return gap > digits * size


def _format_place(place: Array) -> str:
    return f"({place[0]:.6g}, {place[1]:.6g})"
