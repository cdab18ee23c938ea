"""Elastic displacements of the nodes of a linkage: those that its joints allow, and those that stay zero.

All displacements are b - r = G(q) w, with A G = 0 for the rows A of the joints at the pose of the rigid links. Nodes
joined by a hinge share their translations, which leaves out unknowns and adds no row. The nodes of a slide have
translations along and across their guide; the remaining rows are solved for dependent displacements,

    A_d w_d + A_i w_i = 0 ,   G = P [-A_d⁻¹ A_i; 1] .

Rigid motions S of the linkage are among the displacements, S = G S_w. As many entries of w as there are rigid
coordinates stay zero so that [1, S] has no redundancy: those whose rows S_0 of S_w are invertible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.linkages.links import UNITS, WAYS, SlenderLink, link_of
from dalembert.linkages.node_mechanism import first_node, joint_node
from dalembert.model import Mechanism
from dalembert.model.joints import Joint
from dalembert.numerics import ties

SX = ca.SX
Place = tuple[int, int]  # link and node


@dataclass(frozen=True, eq=False)
class ElasticCoordinates:
    """The displacements w of a linkage before rows of joints are solved.

    names : of w.  owners : links.  units.  columns : (3N,) entry of w for every displacement of a node, -1 where it is
    held.  guides : by node the slide in whose axes its translations are.  solved : joints whose rows remain.
    """

    names: tuple[str, ...]
    owners: tuple[str, ...]
    units: tuple[str, ...]
    columns: tuple[int, ...]
    aliases: dict[str, int]
    guides: dict[int, Joint]
    solved: tuple[Joint, ...]

    def expand(self, angles: Mapping[str, Any]) -> Any:
        """P (3N, n) at the angles of the links."""
        P = SX(len(self.columns), len(self.names))
        for k, column in enumerate(self.columns):
            node, way = divmod(k, 3)
            if node not in self.guides or way == 2:
                if column >= 0:
                    P[k, column] = 1.0
                continue
            angle = guide_angle(self.guides[node], angles)
            turned = ((ca.cos(angle), -ca.sin(angle)), (ca.sin(angle), ca.cos(angle)))[way]
            for value, other in zip(turned, self.columns[3 * node : 3 * node + 2], strict=True):
                if other >= 0:
                    P[k, other] = value
        return P


def guide_angle(joint: Joint, angles: Mapping[str, Any]) -> Any:
    return angles[joint.a.body.name] + float(joint.a.angle)


def number_displacements(m: Mechanism, links: tuple[SlenderLink, ...]) -> ElasticCoordinates:
    """Share the displacements of hinges and fixed joints, hold those on the ground, name what is left."""
    first = dict(
        zip((link.name for link in links), np.cumsum([0, *(len(link.points) for link in links)]), strict=False)
    )
    count = 3 * sum(len(link.points) for link in links)
    parent = list(range(count + 1))  # the last one is the ground

    def root(k: int) -> int:
        while parent[k] != k:
            k = parent[k]
        return k

    def place(side: Any, joint: Joint) -> tuple[int, bool]:
        """The first displacement of a node (-1: of the ground), and whether the joint is at the node itself."""
        body = side.body
        if body.is_ground:
            return -1, True
        link = link_of(links, body.name, f"mechanism {m.name!r}")
        node = int(first[link.name]) + joint_node(link, side, joint.name)
        here = link.elements is not None or not any(float(x) for x in side.coordinates)
        return 3 * node, here

    guides: dict[int, Joint] = {}
    solved = []
    for joint in m.joints:
        (a, at_a), (b, at_b) = place(joint.a, joint), place(joint.b, joint)
        shared = {"revolute": 2, "fixed": 3}.get(joint.kind, 0) if at_a and at_b else 0
        for way in range(shared):
            low, high = sorted(count if side < 0 else root(side + way) for side in (a, b))
            parent[low if high == count else high] = count if high == count else low
        if not shared:
            solved.append(joint)
        if joint.kind == "prismatic":
            if b < 0:
                raise ModelError(
                    "not-supported", f"slide {joint.name!r} has the ground as its second body.",
                    Advice("Give the ground first: {}.", Argument("a", "m.ground.at(...)")),
                    where={"joint": joint.name},
                )  # fmt: skip
            guides.setdefault(b // 3, joint)
    axes = {root(3 * node): joint for node, joint in reversed(guides.items())}
    guides = {node: axes[root(3 * node)] for node in range(count // 3) if root(3 * node) in axes.keys() - {count}}
    aliases: dict[str, int] = {}
    names: list[str] = []
    owners: list[str] = []
    units: list[str] = []
    column_of: dict[int, int] = {}
    columns = []
    labels = [name for link in links for name in link.names]
    link_names = [link.name for link in links for _ in link.names]
    for k, label in enumerate(labels):
        node, way = divmod(k, 3)
        shown = label
        if node in guides and way < 2:
            shown = label.rpartition(".")[0] + (".along", ".across")[way]
        top = root(k)
        if top == count:
            columns.append(-1)
            continue
        if top not in column_of:
            column_of[top] = len(names)
            names.append(shown)
            owners.append(link_names[k])
            units.append(UNITS[way])
        columns.append(column_of[top])
        aliases[shown] = column_of[top]
    return ElasticCoordinates(
        tuple(names), tuple(owners), tuple(units), tuple(columns), aliases, guides, tuple(solved)
    )  # fmt: skip


def choose_zeroed(
    m: Mechanism, links: tuple[SlenderLink, ...], elastic: ElasticCoordinates, rigid: Sequence[str], S_w: FloatArray,
    free: Sequence[int], singular: float = 1e-3,
) -> list[int]:  # fmt: skip
    """Entries of w that stay zero: of every rigid coordinate the displacement of its joint, if S_0 is then regular.

    singular : reciprocal condition of scaled rows; below it pivoting chooses instead, which is far from zero.
    """
    first = []
    for name in rigid:
        part = name.rpartition(".")[0]
        joint = next((j for j in m.joints if j.name == part), None)
        body = joint.b.body.name if joint is not None else part
        link = next((x for x in links if x.name == body), None)
        if link is None:
            continue
        node = first_node(m, link) if joint is None else joint_node(link, joint.b, joint.name)
        slides = joint is not None and joint.kind == "prismatic"
        first.append(elastic.aliases.get(f"{link.name}.{link.points[node]}.{'along' if slides else WAYS[2]}", -1))
    scaled = S_w / np.maximum(np.abs(S_w).max(axis=0, initial=0.0), 1e-300)
    if len(set(first)) == len(rigid) and all(k in free for k in first):
        values = np.linalg.svd(scaled[first], compute_uv=False)
        if values[-1] > singular * values[0]:
            return first
    _, order = ties.pivot_columns(scaled[list(free)].T)
    return [int(free[k]) for k in order[: len(rigid)]]


def read_zeroed(elastic: ElasticCoordinates, given: Sequence[str], count: int, what: str) -> list[int]:
    """Entries of w by their names."""
    for name in given:
        require_name("displacement", name, elastic.aliases, what, error=ModelError, argument="zeroed")
    entries = [elastic.aliases[name] for name in given]
    if len(set(entries)) != count:
        raise ModelError(
            "wrong-shape",
            f"{what} has {count} rigid coordinates, so that {count} different displacements stay zero; zeroed names "
            f"{len(set(entries))}.", where={"argument": "zeroed"},
        )  # fmt: skip
    return entries
