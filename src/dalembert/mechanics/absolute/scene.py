"""What a picture of a mechanism needs: points and lines of bodies, joints, springs, efforts. Plain data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.mechanics.forces import FORCE_EQUATIONS, Drawing
from dalembert.mechanics.forces.drawing import drawn_end, drawn_place
from dalembert.model import Body, Mechanism
from dalembert.model.joints import Joint

MOST_TRIANGLES = 4000  # of one mesh in a picture


def scene_of(m: Mechanism, inputs: Sequence[str] = ()) -> dict[str, Any]:
    points: dict[int, list[list[float]]] = {id(b): [] for b in [m.ground, *m.bodies]}

    def note(body: Body, coordinates: Any) -> None:
        place = drawn_place(coordinates)
        if place not in points[id(body)]:
            points[id(body)].append(place)

    for joint in m.joints:
        for frame in (joint.a, joint.b):
            note(frame.body, frame.coordinates)
    drawing = Drawing(m)
    for driver in m.drivers:
        drawing.effort(driver.name, driver.coordinate, 1.0, f"{driver.name}.effort")
    for force in m.forces:
        FORCE_EQUATIONS[force.kind].draw(drawing, force)
    forces, torques = drawing.forces, [*drawing.torques, *drawing.efforts]
    scene: dict[str, Any] = {"planar": m.planar, "bodies": [_body(body, points[id(body)]) for body in m.bodies]}
    scene |= {"ground": points[id(m.ground)], "joints": [_joint(joint, m.planar) for joint in m.joints]}
    scene |= {"springs": drawing.springs, "joint_springs": drawing.joint_springs, "gravity": drawn_place(m.gravity)}
    # what is looked at first
    scene |= {"sensors": [sensor.name for sensor in m.sensors], "inputs": list(inputs)}
    return {**scene, **({"forces": forces} if forces else {}), **({"torques": torques} if torques else {})}


def _joint(joint: Joint, planar: bool) -> dict[str, Any]:
    body, point = drawn_end(joint.b)
    glyph = joint.declaration.glyph
    other: dict[str, Any] = dict(zip(("body", "point"), drawn_end(joint.a), strict=True))
    drawn: dict[str, Any] = {"name": joint.name, "type": joint.kind, "body": body, "point": point, "other": other}
    drawn |= {"glyph": glyph.shape, "legend": glyph.legend}
    if not planar:
        drawn["axis"] = [float(row[2]) for row in joint.b.axes]
    elif glyph.shape in ("slide", "slot"):  # the way it slides, in axes of either body
        other["axis"] = [math.cos(float(joint.a.angle)), math.sin(float(joint.a.angle)), 0.0]
        if glyph.shape == "slide":
            drawn["axis"] = [math.cos(float(joint.b.angle)), math.sin(float(joint.b.angle)), 0.0]
    if glyph.radius:
        drawn["radius"] = float(joint.options[glyph.radius])
    if glyph.lines:
        axes = np.eye(3)
        c, s = (math.cos(float(joint.a.angle)), math.sin(float(joint.a.angle))) if planar else (1.0, 0.0)
        axes[:2, :2] = [[c, -s], [s, c]]
        axes = axes if planar else np.array(joint.a.axes, dtype=float)
        drawn["lines"] = [(np.array(line) @ axes.T).tolist() for line in glyph.lines]
    return drawn


def _body(body: Body, own: list[list[float]]) -> dict[str, Any]:
    origin = [0.0, 0.0, 0.0]
    if len(own) == 1 and own[0] != origin:
        own = [*own, origin]
    if not own:
        own = [origin]
    lines = [[k, k + 1] for k in range(len(own) - 1)]
    if len(own) > 2:
        lines.append([len(own) - 1, 0])
    entry: dict[str, Any] = {"name": body.name, "points": own, "lines": lines}
    if body.points:
        entry["named"] = {name: drawn_place(body.at(name).coordinates) for name in body.points}
    if body.mesh is not None:
        entry["shape"] = {"kind": "mesh", "triangles": drawn_mesh(body.mesh)}
    elif body.shape is not None:
        size = [float(x) for x in body.shape.size]
        entry["shape"] = {"kind": body.shape.kind, "size": size, "axis": body.shape.axis}
    elif not body.planar and float(body.mass) > 0.0:
        entry["gyration"] = [[float(c) / float(body.mass) for c in row] for row in body.inertia]
    return entry


def drawn_mesh(triangles: Any) -> list[Any]:
    """Triangles as a picture needs them, at most `MOST_TRIANGLES`: corners in one cell of a grid become one."""
    low, high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    size = float((high - low).max()) or 1.0
    found, cells = triangles, 128
    while len(found) > MOST_TRIANGLES and cells > 4:
        numbers = np.rint((triangles - low) * (cells / size))
        a, b, c = numbers[:, 0], numbers[:, 1], numbers[:, 2]
        flat = (a == b).all(axis=1) | (b == c).all(axis=1) | (c == a).all(axis=1)
        found = np.unique(numbers[~flat].reshape(-1, 9), axis=0).reshape(-1, 3, 3) * (size / cells) + low
        cells = cells * 3 // 4
    digits = max(0, 6 - math.floor(math.log10(size)))
    rounded: list[Any] = np.round(found, digits).tolist()
    return rounded
