"""The picture of a planar model: bodies as lines through their nodes, joints at nodes, torques and forces of inputs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.equations.scene import Place, Scene, SceneBody, SceneJoint, SceneShape, SceneSide, SceneTorque
from dalembert.expressions import Expr
from dalembert.symbolic.planar.element import rotate
from dalembert.symbolic.planar.model import PRISMATIC, REVOLUTE
from dalembert.symbolic.planar.node_names import GROUND
from dalembert.symbolic.planar.parts import Node, PlanarBody, PlanarJoint

if TYPE_CHECKING:
    from dalembert.symbolic.planar.producer import PlanarEquations


def describe_scene(e: PlanarEquations) -> Scene:
    """Bodies, joints and inputs with the numbers of the drawing."""
    m = e.m
    ground = {node for joint in m.joints.values() for node in (joint.a, joint.b) if node[0] == GROUND}
    torques = [
        SceneTorque(joint.name, joint=joint.name, turns=joint.kind == REVOLUTE, input=joint.input)
        for joint in m.joints.values()
        if joint.input
    ]
    gravity = m.numbers([m.gravity], "gravity")
    return Scene(
        planar=True, bodies=tuple(_body(e, body) for body in list(m.bodies.values())[1:]),
        ground=tuple(_end(e, node)[1] for node in sorted(ground)),
        joints=tuple(_joint(e, joint) for joint in m.joints.values()), torques=tuple(torques),
        gravity=(float(gravity[0]), float(gravity[1]), 0.0), sensors=tuple(m.sensors), inputs=tuple(m.inputs),
    )  # fmt: skip


def _end(e: PlanarEquations, node: Node) -> tuple[str | None, Place]:
    """Body and place of a node beside its centre of mass, in body axes; of the ground in the world."""
    name, k = node
    place = e.reduction.shapes[name][1][k - 1]
    if name == GROUND:
        return None, _numbers(e, place)
    return name, _numbers(e, place - e.reduction.center_in_body_axes(e.m.bodies[name]))


def _numbers(e: PlanarEquations, place: Expr) -> Place:
    x, y = (float(value) for value in e.m.numbers([place], "the drawing"))
    return x, y, 0.0


def _body(e: PlanarEquations, body: PlanarBody) -> SceneBody:
    points = [_end(e, (body.name, k + 1))[1] for k in range(len(body.places))]
    shape = None
    if body.radius > 0:
        shape = SceneShape("cylinder", (body.radius, 0.05 * body.radius), "z")
    named = {f"{k + 1}": point for k, point in enumerate(points)}
    return SceneBody(body.name, tuple(points), outline(np.array(points)[:, :2]), named, shape)


def outline(points: FloatArray) -> tuple[tuple[int, int], ...]:
    """Lines around points (n, 2): the polygon that encloses them.

    Examples
    --------
    >>> outline(np.array([[0.0, 0.0], [1.0, 0.0]]))
    ((0, 1),)
    >>> outline(np.array([[0.0, 0.0], [1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]]))
    ((3, 1), (1, 2), (2, 3))
    """
    if len(points) < 3:
        return tuple((k, k + 1) for k in range(len(points) - 1))
    order = sorted(range(len(points)), key=lambda k: (points[k, 0], points[k, 1]))

    def half(numbers: list[int]) -> list[int]:
        corners: list[int] = []
        for k in numbers:
            while len(corners) > 1 and _double_area(points[corners[-2]], points[corners[-1]], points[k]) <= 0:
                corners.pop()
            corners.append(k)
        return corners[:-1]

    hull = half(order) + half(order[::-1])
    if len(hull) < 3:  # all on one line
        return tuple(pairwise(order))
    return tuple(zip(hull, [*hull[1:], hull[0]], strict=True))


def _double_area(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    """Twice the area of a triangle, positive where c is to the left of the way from a to b."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _joint(e: PlanarEquations, joint: PlanarJoint) -> SceneJoint:
    (first, place), (body, point) = _end(e, joint.a), _end(e, joint.b)
    if joint.kind == REVOLUTE:
        return SceneJoint(joint.name, joint.kind, body, point, other=SceneSide(first, place))
    way = e.reduction.direction(joint, drawn=True)
    axis_b, axis_a = (rotate(-e.reduction.shapes[node[0]][0], way) for node in (joint.b, joint.a))
    axis = _numbers(e, axis_b) if joint.kind == PRISMATIC else None
    return SceneJoint(joint.name, joint.kind, body, point, axis, other=SceneSide(first, place, _numbers(e, axis_a)))
