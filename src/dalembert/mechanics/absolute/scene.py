"""The scene of a mechanism: points and lines of bodies, joints, springs and efforts, as a picture shows them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.equations.scene import ORIGIN, Place, Scene, SceneBody, SceneJoint, SceneShape, SceneSide
from dalembert.mechanics.forces import FORCE_EQUATIONS, Drawing
from dalembert.mechanics.forces.drawing import drawn_end, drawn_place
from dalembert.model import Body, Mechanism
from dalembert.model.joints import Joint

MOST_TRIANGLES = 4000  # of one mesh in a picture


def describe_scene(m: Mechanism, inputs: Sequence[str] = ()) -> Scene:
    points: dict[int, list[Place]] = {id(b): [] for b in [m.ground, *m.bodies]}
    for joint in m.joints:
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
        ground=tuple(points[id(m.ground)]), joints=tuple(_joint(joint, m.planar) for joint in m.joints),
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
    own = (*own, ORIGIN) if len(own) == 1 and own[0] != ORIGIN else tuple(own) or (ORIGIN,)
    lines = [(k, k + 1) for k in range(len(own) - 1)] + [(len(own) - 1, 0)] * (len(own) > 2)
    named = {name: drawn_place(body.at(name).coordinates) for name in body.points}
    shape, gyration = None, None
    if body.mesh is not None:
        shape = SceneShape("mesh", triangles=tuple(simplify_mesh(body.mesh)))
    elif body.shape is not None:
        shape = SceneShape(body.shape.kind, tuple(float(x) for x in body.shape.size), body.shape.axis)
    elif not body.planar and float(body.mass) > 0.0:
        gyration = tuple((*(float(c) / float(body.mass) for c in row),) for row in body.inertia)
    return SceneBody(body.name, own, tuple(lines), named, shape, gyration)  # type: ignore[arg-type]


def simplify_mesh(triangles: Any) -> list[Any]:
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
