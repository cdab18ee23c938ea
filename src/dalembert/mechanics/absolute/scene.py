"""The scene of a mechanism: points and lines of bodies, joints, springs and efforts, as a picture shows them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.equations.scene import (
    ORIGIN,
    Place,
    Scene,
    SceneBody,
    SceneFlexible,
    SceneJoint,
    SceneNode,
    SceneShape,
    SceneSide,
)
from dalembert.mechanics.forces import FORCE_EQUATIONS, Drawing
from dalembert.mechanics.forces.drawing import drawn_end, drawn_place
from dalembert.model import Body, Mechanism
from dalembert.model.check import mode_names
from dalembert.model.flexible import BodyPicture, FlexibleBodyData
from dalembert.model.joints import Joint

Colors = tuple[tuple[int, int, int], ...]  # first triangle, number of them, 0xRRGGBB

MOST_TRIANGLES = 4000  # of one mesh in a picture
MOST_NUMBERS = 300_000  # of the modes of a flexible body in a picture: 2 MB of text in a record
PIECES = 8  # of a line between two nodes
DIGITS = 7  # of displacements, beside the largest of their mode


def describe_scene(m: Mechanism, inputs: Sequence[str] = ()) -> Scene:
    points: dict[int, list[Place]] = {id(b): [] for b in [m.ground, *m.bodies]}
    for joint in m.joints:
        if joint.declaration.rows[m.planar] == 0:
            continue  # it constrains nothing: there is nothing to draw between its bodies
        for frame in (joint.a, joint.b):
            place = drawn_place(frame.coordinates)
            if place not in points[id(frame.body)]:
                points[id(frame.body)].append(place)
    drawing = Drawing(m)
    for driver in m.drivers:
        drawing.effort(driver.name, driver.coordinate, 1.0, f"{driver.name}.effort")
    for force in m.forces:
        FORCE_EQUATIONS[force.kind].draw(drawing, force)
    return Scene(
        planar=m.planar, bodies=tuple(_body(body, points[id(body)]) for body in m.bodies),
        ground=tuple(points[id(m.ground)]), ground_shape=_mesh(m.ground),
        joints=tuple(_joint(joint, m.planar) for joint in m.joints),
        springs=tuple(drawing.springs), joint_springs=tuple(drawing.joint_springs), forces=tuple(drawing.forces),
        torques=(*drawing.torques, *drawing.efforts), gravity=drawn_place(m.gravity),
        sensors=tuple(sensor.name for sensor in m.sensors), inputs=tuple(inputs),
    )  # fmt: skip


def _joint(joint: Joint, planar: bool) -> SceneJoint:
    glyph = joint.declaration.glyph
    (body, point), other = drawn_end(joint.b), SceneSide(*drawn_end(joint.a))
    axis: Place | None = None
    if not planar:
        axis = drawn_place([row[2] for row in joint.b.axes])
    elif glyph.shape in ("slide", "slot"):  # the way it slides, in axes of either body
        other = replace(other, axis=(math.cos(float(joint.a.angle)), math.sin(float(joint.a.angle)), 0.0))
        if glyph.shape == "slide":
            axis = (math.cos(float(joint.b.angle)), math.sin(float(joint.b.angle)), 0.0)
    radius = float(joint.options[glyph.radius]) if glyph.radius else 0.0
    axes = np.eye(3)
    c, s = (math.cos(float(joint.a.angle)), math.sin(float(joint.a.angle))) if planar else (1.0, 0.0)
    axes[:2, :2] = [[c, -s], [s, c]]
    axes = axes if planar else np.array(joint.a.axes, dtype=float)
    lines = tuple(tuple(map(tuple, (np.array(line) @ axes.T).tolist())) for line in glyph.lines)
    return SceneJoint(joint.name, joint.kind, body, point, axis, radius, other, glyph.shape, glyph.legend, lines)


def _body(body: Body, own: Sequence[Place]) -> SceneBody:
    if body.flexible is not None:
        return _flexible_body(body, body.flexible)
    own = (*own, ORIGIN) if len(own) == 1 and own[0] != ORIGIN else tuple(own) or (ORIGIN,)
    lines = [(k, k + 1) for k in range(len(own) - 1)] + [(len(own) - 1, 0)] * (len(own) > 2)
    named = {name: drawn_place(body.at(name).coordinates) for name in body.points}
    shape, gyration = None, None
    if body.mesh is not None:
        shape = _mesh(body)
    elif body.shape is not None:
        shape = SceneShape(body.shape.kind, tuple(float(x) for x in body.shape.size), body.shape.axis)
    elif not body.planar and float(body.mass) > 0.0:
        gyration = tuple((*(float(c) / float(body.mass) for c in row),) for row in body.inertia)
    return SceneBody(body.name, own, tuple(lines), named, shape, gyration)  # type: ignore[arg-type]


def _mesh(body: Body) -> SceneShape | None:
    if body.mesh is None:
        return None
    triangles, colors = simplify_mesh(body.mesh, body.colors)
    return SceneShape("mesh", triangles=tuple(triangles), colors=colors)


def _flexible_body(body: Body, data: FlexibleBodyData) -> SceneBody:
    """A flexible body: lines through its nodes, and its picture with the modes that carry it."""
    places = np.array([node.place for node in data.nodes], dtype=float).reshape(-1, 3)
    if body.planar:  # as joints of a planar machine name their places
        places = places * [1.0, 1.0, 0.0]
    nodes = tuple(
        SceneNode(
            node.name,
            drawn_place(place),
            _vectors(node.translation),
            _vectors(node.rotation),
            _second_order(data, node.name, body.planar),
        )
        for node, place in zip(data.nodes, places, strict=True)
    )
    order = _along(places)
    picture = data.picture
    if picture is None or not len(picture.lines) + len(picture.triangles):
        picture = _node_lines(data, places, order)
    picture = simplify_picture(merge_points(picture))
    modes = tuple(tuple(_round_digits(mode).ravel().tolist()) for mode in np.moveaxis(picture.modes, 2, 0))
    flexible = SceneFlexible(
        tuple(mode_names(body)), tuple(drawn_place(point) for point in picture.points), modes,
        tuple(map(tuple, picture.lines.tolist())), tuple(map(tuple, picture.triangles.tolist())), nodes,
    )  # fmt: skip
    chain = tuple((k, k + 1) for k in range(len(order) - 1))
    named = {node.name: node.point for node in nodes}
    return SceneBody(body.name, tuple(nodes[k].point for k in order), chain, named, flexible=flexible)


def _second_order(data: FlexibleBodyData, node: str, planar: bool) -> tuple[tuple[float, ...], ...]:
    """-½ K of the stiffening by forces at a node, as the equations move it; empty without."""
    forces = None if data.stiffening is None else data.stiffening.forces.get(node)
    if forces is None:
        return ()
    kept = np.array([1.0, 1.0, 0.0 if planar else 1.0])[:, None, None]
    return tuple(tuple(row) for row in _round_digits(-0.5 * kept * forces).reshape(3, -1).tolist())


def _along(places: FloatArray) -> list[int]:
    """Numbers of places in the order along their longest extent."""
    if len(places) < 2:
        return list(range(len(places)))
    way = np.linalg.svd(places - places.mean(axis=0))[2][0]
    return [int(k) for k in np.argsort(places @ way, kind="stable")]


def _node_lines(data: FlexibleBodyData, places: FloatArray, order: Sequence[int]) -> BodyPicture:
    """The picture of a body without one of its own: lines through its nodes, bent by their rotations.

    Between two nodes the displacement across the line is the cubic with their displacements and slopes θ × e, that
    along it is linear; straight where neither of the two turns in any mode.
    """
    first = np.array([data.nodes[k].translation for k in order[:1]]).reshape(-1, 3, data.modes)
    points, modes = [places[order[:1]]], [first]
    s = np.linspace(0.0, 1.0, PIECES + 1)[1:, None, None]
    for i, j in pairwise(order):
        a, b, way = data.nodes[i], data.nodes[j], places[j] - places[i]
        points.append(places[i] + s[:, :, 0] * way)
        found = (1 - s) * a.translation + s * b.translation
        length = float(np.linalg.norm(way))
        if length > 0.0 and (a.rotation.any() or b.rotation.any()):
            across = np.eye(3) - np.outer(way, way) / length**2
            chord = across @ (b.translation - a.translation)
            from_a, from_b = (np.cross(node.rotation.T, way).T - chord for node in (a, b))  # slopes beside the chord
            found = found + s * (1 - s) ** 2 * from_a - s**2 * (1 - s) * from_b
        modes.append(found)
    count = sum(map(len, points))
    lines = np.array([(k, k + 1) for k in range(count - 1)], dtype=np.intp).reshape(-1, 2)
    empty = np.zeros((0, 3), dtype=np.intp)
    return BodyPicture(points=np.concatenate(points), modes=np.concatenate(modes), lines=lines, triangles=empty)


def merge_points(picture: BodyPicture) -> BodyPicture:
    """A picture in which points at one place with the same motion are one: ends of elements that follow each other."""
    values = np.hstack([_round_digits(picture.points), _round_digits(picture.modes).reshape(len(picture.points), -1)])
    _, first, number = np.unique(values, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # as they come in the picture
    number = np.argsort(order)[number.ravel()]
    kept = first[order]
    return BodyPicture(
        points=picture.points[kept], modes=picture.modes[kept],
        lines=number[picture.lines], triangles=number[picture.triangles],
    )  # fmt: skip


def simplify_picture(picture: BodyPicture) -> BodyPicture:
    """A picture with at most `MOST_TRIANGLES` and `MOST_NUMBERS`: points in one cell of a grid become the first."""
    points, modes, lines, triangles = picture.points, picture.modes, picture.lines, picture.triangles
    low = points.min(axis=0, initial=np.inf)
    size, cells = float((points.max(axis=0, initial=-np.inf) - low).max()) or 1.0, 128
    while (len(triangles) > MOST_TRIANGLES or modes.size > MOST_NUMBERS) and cells > 4:
        corner = np.rint((picture.points - low) * (cells / size))
        _, first, number = np.unique(corner, axis=0, return_index=True, return_inverse=True)
        points, modes, number = picture.points[first], picture.modes[first], number.ravel()
        lines, triangles = (_distinct_corners(number[part]) for part in (picture.lines, picture.triangles))
        cells = cells * 3 // 4
    return BodyPicture(points=points, modes=modes, lines=lines, triangles=triangles)


def _distinct_corners(parts: Any) -> Any:
    """Lines or triangles whose corners differ, each once."""
    whole = np.array([len(set(corners)) == len(corners) for corners in parts.tolist()], dtype=bool)
    _, first = np.unique(np.sort(parts[whole], axis=1), axis=0, return_index=True)
    return parts[whole][np.sort(first)]


def _vectors(columns: FloatArray) -> tuple[Place, ...]:
    """The columns (3, m), rounded."""
    return tuple((x, y, z) for x, y, z in _round_digits(columns).T.tolist())


def _round_digits(values: FloatArray) -> Any:
    """With `DIGITS` beside the largest."""
    largest = float(np.abs(values).max(initial=0.0))
    return np.round(values, DIGITS - math.ceil(math.log10(largest))) if largest > 0.0 else np.zeros_like(values)


def simplify_mesh(triangles: Any, colors: Colors = ()) -> tuple[list[Any], Colors]:
    """Triangles as a picture needs them, at most `MOST_TRIANGLES`: corners in one cell of a grid become one."""
    owner = np.zeros(len(triangles))  # number of its colour, 0 without
    for k, (first, count, _) in enumerate(colors, 1):
        owner[first : first + count] = k
    low, high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    size = float((high - low).max()) or 1.0
    found, left, cells = triangles, colors, 128
    while len(found) > MOST_TRIANGLES and cells > 4:
        numbers = np.rint((triangles - low) * (cells / size))
        a, b, c = numbers[:, 0], numbers[:, 1], numbers[:, 2]
        flat = (a == b).all(axis=1) | (b == c).all(axis=1) | (c == a).all(axis=1)
        rows = np.unique(np.column_stack([owner, numbers.reshape(-1, 9)])[~flat], axis=0)  # colours stay together
        found = rows[:, 1:].reshape(-1, 3, 3) * (size / cells) + low
        ends = np.searchsorted(rows[:, 0], np.arange(len(colors) + 2)).tolist()
        left = tuple((ends[k], ends[k + 1] - ends[k], color) for k, (*_, color) in enumerate(colors, 1))
        cells = cells * 3 // 4
    digits = max(0, 6 - math.floor(math.log10(size)))
    rounded: list[Any] = np.round(found, digits).tolist()
    return rounded, left
