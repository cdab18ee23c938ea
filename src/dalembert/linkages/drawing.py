"""The picture of a linkage: its links bend as their nodes move, in channels "<link>.<point>.axial" and so on.

Between two nodes the displacement across a beam is the cubic with the displacements and turns of both, that along it is
linear. A rigid link moves with its one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.equations import Channels, Scene
from dalembert.equations.scene import SceneBody, SceneFlexible, SceneNode
from dalembert.linkages.links import UNITS, SlenderLink
from dalembert.mechanics.absolute.scene import describe_scene
from dalembert.model import Mechanism

WORDS = ("axial", "transverse", "turn")  # displacements of a node in the axes of its link


def node_channels(links: Iterable[SlenderLink]) -> Channels:
    """Displacements of all nodes in the axes of their links."""
    nodes = [(link.name, point) for link in links for point in link.points]
    return Channels(
        [f"{link}.{point}.{word}" for link, point in nodes for word in WORDS], UNITS * len(nodes),
        [link for link, _ in nodes for _ in WORDS],
    )  # fmt: skip


def draw_links(m: Mechanism, links: Iterable[SlenderLink], inputs: Sequence[str], outputs: Sequence[str]) -> Scene:
    """The scene of the mechanism with bodies that bend."""
    by_name = {link.name: link for link in links}
    scene = describe_scene(m, inputs)
    bodies = tuple(_bent_body(body, by_name[body.name]) for body in scene.bodies)
    return replace(scene, bodies=bodies, sensors=tuple(outputs))


def _bent_body(body: SceneBody, link: SlenderLink) -> SceneBody:
    coordinates = node_channels([link]).names
    if link.elements is None:
        places = np.array(body.points, dtype=np.float64)[:, :2]
        modes = _rigid_motion(places)
        turns = np.tile([0.0, 0.0, 1.0], (len(places), 1))
        lines, named = body.lines, [*map(str, range(len(places)))]
    else:
        places, modes, lines = _bent_lines(link)
        count = len(link.points)
        turns, named = np.eye(3 * count)[2::3], [*link.points]
    nodes = tuple(
        SceneNode(
            name, _spatial(place), tuple(map(_spatial, mode.T)), tuple((0.0, 0.0, turn) for turn in each.tolist())
        )
        for name, place, mode, each in zip(named, places, modes, turns, strict=False)
    )
    flat = np.concatenate([modes, np.zeros((len(places), 1, len(coordinates)))], axis=1)
    flexible = SceneFlexible(
        coordinates, tuple(map(_spatial, places)), tuple(tuple(flat[:, :, k].ravel().tolist())
        for k in range(len(coordinates))), lines, (), nodes,
    )  # fmt: skip
    if link.elements is None:
        return replace(body, flexible=flexible)
    chain = tuple((k, k + 1) for k in range(len(nodes) - 1))
    return replace(
        body, points=tuple(node.point for node in nodes), lines=chain,
        named={node.name: node.point for node in nodes} | dict(body.named), flexible=flexible,
    )  # fmt: skip


def _spatial(place: FloatArray) -> tuple[float, float, float]:
    return float(place[0]), float(place[1]), 0.0


def _rigid_motion(places: FloatArray) -> FloatArray:
    """(n, 2, 3) t + θ × p."""
    modes = np.zeros((len(places), 2, 3))
    modes[:, [0, 1], [0, 1]] = 1.0
    modes[:, 0, 2], modes[:, 1, 2] = -places[:, 1], places[:, 0]
    return modes


def _bent_lines(link: SlenderLink, pieces: int = 8) -> tuple[FloatArray, FloatArray, tuple[tuple[int, int], ...]]:
    """Places (n, 2) with the nodes first, their modes (n, 2, 3N), and lines.  pieces : of an element, straight."""
    assert link.elements is not None
    count = len(link.points)
    places = [link.places]
    modes = [np.eye(3 * count).reshape(count, 3, 3 * count)[:, :2]]
    lines: list[tuple[int, int]] = []
    s = np.linspace(0.0, 1.0, pieces + 1)[1:-1]
    total = count
    for i, j in link.elements.points.tolist():
        way = link.places[j] - link.places[i]
        length = float(np.linalg.norm(way))
        along = way / length
        across = np.array([-along[1], along[0]])
        mode = np.zeros((len(s), 2, 3 * count))
        for node, straight, cubic, slope in (
            (i, 1 - s, 1 - 3 * s**2 + 2 * s**3, s - 2 * s**2 + s**3),
            (j, s, 3 * s**2 - 2 * s**3, s**3 - s**2),
        ):
            part = np.einsum("n,a,b->nab", straight, along, along) + np.einsum("n,a,b->nab", cubic, across, across)
            mode[:, :, 3 * node : 3 * node + 2] = part
            mode[:, :, 3 * node + 2] = length * np.outer(slope, across)
        places.append(link.places[i] + np.outer(s, way))
        modes.append(mode)
        chain = [i, *range(total, total + len(s)), j]
        lines += pairwise(chain)
        total += len(s)
    return np.concatenate(places), np.concatenate(modes), tuple(lines)
