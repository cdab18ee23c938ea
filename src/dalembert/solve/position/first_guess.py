"""A first guess for assembly: bodies the drawing does not place are hung on those it does, joint by joint."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.model.orientation import quaternion_from_matrix

# kinds whose two frames coincide when all coordinates are zero
_MEETING = {"fixed", "revolute", "prismatic", "cylindrical", "spherical", "planar", "screw", "point on line"}


def hang(eqs: EquationsOfMotion, values: Mapping[str, float]) -> Array:
    """Coordinates with every joint of a spanning tree closed, at the given joint coordinates (zero if not given).

    Joints whose coordinates are given come first, so that a guess decides the branch; a body hinged between two bodies
    that were told where to be is turned towards the second.
    """
    q = np.array(eqs.guess[0])
    planar = not eqs.rotations
    size = 3 if planar else 7
    for name, value in values.items():
        if name in eqs.coordinates.index:
            q[eqs.coordinates.index[name]] = value
    names = eqs.coordinates.names
    told = {k for k in range(len(eqs.placed)) if all(n in values for n in names[size * k : size * (k + 1)])}
    reached = {-1} | told | {k for k, placed in enumerate(eqs.placed) if placed}
    joints = [p for p in eqs.placements if p[0] in _MEETING or p[0] == "universal"]
    of_body: dict[int, list[int]] = {}
    for k, (_, a, b, _) in enumerate(joints):
        of_body.setdefault(a[0], []).append(k)
        of_body.setdefault(b[0], []).append(k)
    todo: list[tuple[bool, int]] = []  # joints of reached bodies: given ones first, then in the order of the model

    def look_at(body: int) -> None:
        for k in of_body.get(body, ()):
            heapq.heappush(todo, (not any(c in values for c in joints[k][3]), k))

    for body in reached:
        look_at(body)
    while todo:
        plain, k = heapq.heappop(todo)
        kind, a, b, coordinates = joints[k]
        if a[0] in reached and b[0] in reached:
            continue
        near, far = (a, b) if a[0] in reached else (b, a)
        numbers = [values.get(c, 0.0) for c in coordinates]
        if kind == "revolute" and plain:
            others = [joints[i] for i in of_body[far[0]] if i != k]
            numbers = [_towards(q, size, planar, near, far, others, told) * (1 if near is a else -1)]
        relative = _relative(kind, numbers, planar)
        step = relative if near is a else np.linalg.inv(relative)
        _place(q, size, planar, far, _frame(q, size, planar, near) @ step)
        reached.add(far[0])
        if not plain and near[0] in told | {-1}:
            told.add(far[0])
        look_at(far[0])
    return q


def _towards(q: Array, size: int, planar: bool, near: Any, far: Any, others: list[Any], told: set[int]) -> float:
    """Angle about the hinge's axis that brings another joint of the far body towards a body told where to be."""
    n = 2 if planar else 3
    for _, a, b, _ in others:
        own, goal = (a, b) if a[0] == far[0] else (b, a)
        if goal[0] not in told:
            continue
        hinge = _frame(q, size, planar, near)
        target = (np.linalg.inv(hinge) @ _frame(q, size, planar, goal))[:n, n]
        place = (np.linalg.inv(_side(far, planar)) @ _side(own, planar))[:n, n]
        if math.hypot(*place[:2]) > 1e-12 and math.hypot(*target[:2]) > 1e-12:
            return math.atan2(target[1], target[0]) - math.atan2(place[1], place[0])
    return 0.0


def _side(side: Any, planar: bool) -> Array:
    """Homogeneous transform of a joint frame in its body."""
    _, local, axes = side
    n = 2 if planar else 3
    T = np.eye(n + 1)
    if planar:
        c, s = math.cos(axes), math.sin(axes)
        T[:2, :2] = [[c, -s], [s, c]]
    else:
        T[:3, :3] = np.array(axes)
    T[:n, n] = local
    return T


def _frame(q: Array, size: int, planar: bool, side: Any) -> Array:
    n = 2 if planar else 3
    body = np.eye(n + 1)
    index = side[0]
    if index >= 0:
        own = q[size * index : size * (index + 1)]
        if planar:
            c, s = math.cos(own[2]), math.sin(own[2])
            body[:2, :2] = [[c, -s], [s, c]]
        else:
            body[:3, :3] = rotation_numbers(own[3:])
        body[:n, n] = own[:n]
    return body @ _side(side, planar)


def _place(q: Array, size: int, planar: bool, side: Any, frame: Array) -> None:
    n = 2 if planar else 3
    body = frame @ np.linalg.inv(_side(side, planar))
    first = size * side[0]
    q[first : first + n] = body[:n, n]
    if planar:
        q[first + 2] = math.atan2(body[1, 0], body[0, 0])
    else:
        q[first + 3 : first + 7] = quaternion_from_matrix(body[:3, :3])


def _relative(kind: str, values: list[float], planar: bool) -> Array:
    """Transform from frame a to frame b at these joint coordinates."""
    n = 2 if planar else 3
    T = np.eye(n + 1)
    named = dict(
        zip(
            {
                "revolute": ("angle",),
                "prismatic": ("slide",),
                "cylindrical": ("slide", "angle"),
                "screw": ("angle", "slide"),
                "planar": ("x", "y", "angle"),
                "point on line": ("slide",),
            }.get(kind, ()),
            values,
            strict=False,
        )
    )
    if "angle" in named:
        c, s = math.cos(named["angle"]), math.sin(named["angle"])
        T[:2, :2] = [[c, -s], [s, c]]
    if "slide" in named:
        T[0 if planar else 2, n] = named["slide"]
    if "x" in named:
        T[0, n], T[1, n] = named["x"], named["y"]
    if kind == "universal":  # z of frame b square to z of frame a
        T[:3, :3] = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    return T


def rotation_numbers(p: Array) -> Array:
    w, x, y, z = p / np.linalg.norm(p)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
