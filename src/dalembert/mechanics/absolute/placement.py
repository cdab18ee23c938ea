"""The initial guess for the assembly of a mechanism: bodies without a place in the drawing are joined to placed ones.

The joints form a spanning tree from the ground and the placed bodies. Each joint of the tree is closed at
its given coordinates, or at zero.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.equations import Follower, Placement
from dalembert.expressions import Array
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS
from dalembert.model import BodyFrame
from dalembert.model.orientation import quaternion_from_matrix

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute

_GROUND = -1
_AT_AXIS = 1e-12  # [m] a joint nearer to the axis of a hinge has no direction: rounding of metres is 1e-16


@dataclass(frozen=True)
class Side:
    """One frame of a joint: its body (-1: the ground), its place in it, its axes (in the plane an angle)."""

    body: int
    place: tuple[float, ...]
    axes: float | tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class PlacedJoint:
    """A joint at nominal parameters, and the names of its coordinates.

    relative : pose of frame b in frame a at values of the coordinates.  hinge : it may be turned towards other joints.
    """

    relative: Callable[[Sequence[float], bool], Array]
    hinge: bool
    a: Side
    b: Side
    coordinates: tuple[str, ...]


@dataclass(frozen=True)
class SpanningTree:
    """From named coordinates to all coordinates q, with every joint of a spanning tree closed.

    names : of the coordinates.  drawn : their values in the drawing.  placed : per body, whether the drawing places it.
    """

    planar: bool
    names: tuple[str, ...]
    drawn: tuple[float, ...]
    placed: tuple[bool, ...]
    joints: tuple[PlacedJoint, ...]

    @property
    def size(self) -> int:
        """Coordinates of a body."""
        return 3 if self.planar else 7

    def __call__(self, values: Mapping[str, float]) -> Array:
        """Coordinates at the given values of joint and body coordinates; joint coordinates not given are zero.

        Joints whose coordinates are given come first, so that a guess decides the branch. A body hinged between two
        bodies with given places is turned towards the second.
        """
        q = np.array(self.drawn)
        for k, name in enumerate(self.names):
            q[k] = values.get(name, q[k])
        size, names, joints = self.size, self.names, self.joints
        given = {k for k in range(len(self.placed)) if all(n in values for n in names[size * k : size * (k + 1)])}
        reached = {_GROUND} | given | {k for k, placed in enumerate(self.placed) if placed}
        of_body: dict[int, list[int]] = {}
        for k, joint in enumerate(joints):
            of_body.setdefault(joint.a.body, []).append(k)
            of_body.setdefault(joint.b.body, []).append(k)
        todo: list[tuple[bool, int]] = []  # joints of reached bodies: given ones first, then in the order of the model

        def add_joints(body: int) -> None:
            for k in of_body.get(body, ()):
                heapq.heappush(todo, (not any(c in values for c in joints[k].coordinates), k))

        for body in reached:
            add_joints(body)
        while todo:
            plain, k = heapq.heappop(todo)
            joint = joints[k]
            if joint.a.body in reached and joint.b.body in reached:
                continue
            forward = joint.a.body in reached
            near, far = (joint.a, joint.b) if forward else (joint.b, joint.a)
            numbers = [values.get(c, 0.0) for c in joint.coordinates]
            if joint.hinge and plain:
                others = [joints[i] for i in of_body[far.body] if i != k]
                numbers = [self._turn_towards(q, near, far, others, given) * (1 if forward else -1)]
            relative = joint.relative(numbers, self.planar)
            step = relative if forward else np.linalg.inv(relative)
            self._place(q, far, self._frame(q, near) @ step)
            reached.add(far.body)
            if not plain and near.body in given | {_GROUND}:
                given.add(far.body)
            add_joints(far.body)
        return q

    def _turn_towards(self, q: Array, near: Side, far: Side, others: Sequence[PlacedJoint], given: set[int]) -> float:
        """Angle about the hinge's axis that brings another joint of the far body towards a body with a given place."""
        n = 2 if self.planar else 3
        for joint in others:
            own, goal = (joint.a, joint.b) if joint.a.body == far.body else (joint.b, joint.a)
            if goal.body not in given:
                continue
            target = (np.linalg.inv(self._frame(q, near)) @ self._frame(q, goal))[:n, n]
            place = (np.linalg.inv(self._local(far)) @ self._local(own))[:n, n]
            if min(math.hypot(*place[:2]), math.hypot(*target[:2])) > _AT_AXIS:
                return math.atan2(target[1], target[0]) - math.atan2(place[1], place[0])
        return 0.0

    def _local(self, side: Side) -> Array:
        """Homogeneous transform of a joint frame in its body."""
        n = 2 if self.planar else 3
        T = np.eye(n + 1)
        T[:n, :n] = _plane_rotation(side.axes) if isinstance(side.axes, float) else np.array(side.axes)
        T[:n, n] = side.place
        return T

    def _frame(self, q: Array, side: Side) -> Array:
        """Homogeneous transform of a joint frame in the world."""
        n = 2 if self.planar else 3
        body = np.eye(n + 1)
        if side.body != _GROUND:
            own = q[self.size * side.body : self.size * (side.body + 1)]
            body[:n, :n] = _plane_rotation(own[2]) if self.planar else rotation_matrix(own[3:])
            body[:n, n] = own[:n]
        return body @ self._local(side)

    def _place(self, q: Array, side: Side, frame: Array) -> None:
        """Put the body of a side where its joint frame is this one."""
        n = 2 if self.planar else 3
        body = frame @ np.linalg.inv(self._local(side))
        first = self.size * side.body
        q[first : first + n] = body[:n, n]
        if self.planar:
            q[first + 2] = math.atan2(body[1, 0], body[0, 0])
        else:
            q[first + 3 : first + 7] = quaternion_from_matrix(body[:3, :3])


def _plane_rotation(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


def rotation_matrix(p: Array) -> Array:
    w, x, y, z = p / np.linalg.norm(p)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def place_mechanism(host: Absolute) -> Placement:
    """The pose as drawn, the first guess and the rotors that start with their joints."""
    m, space = host.m, host.space
    drawn: list[float] = []
    for body in m.bodies:
        turn = [body.angle] if space.planar else list(quaternion_from_matrix(np.array(body.rotation)))
        drawn += [*(body.position or (0.0,) * space.dim), *turn]
    drawn += [0.0] * len(host.modes) + [float(e[1]) for e in host.extra] + [0.0] * len(host.turning)
    joints = []
    for joint in m.joints:
        own = JOINT_EQUATIONS[joint.kind]
        if own.relative is not None:
            a, b = (_side(host, frame) for frame in own.frames(joint))
            names = tuple(f"{joint.name}.{c.name}" for c in joint.coordinates)
            joints.append(PlacedJoint(own.relative, own.hinge, a, b, names))
    placed = tuple(bool(b.position) for b in m.bodies)
    rigid = [f"{body.name}.{c}" for body in m.bodies for c, _ in space.coordinates]
    names = (*rigid, *host.coordinates.names[host.first_mode[0] :])
    tree = SpanningTree(space.planar, names, tuple(drawn), placed, tuple(joints))
    return Placement(tuple(drawn), (0.0,) * len(host.internal), tree, _followers(host))


def _side(host: Absolute, frame: BodyFrame) -> Side:
    index = _GROUND if frame.body.is_ground else host.body_index[id(frame.body)]
    axes = float(frame.angle) if host.space.planar else tuple(tuple(float(c) for c in row) for row in frame.axes)
    return Side(index, tuple(float(c) for c in frame.coordinates), axes)


def _followers(host: Absolute) -> tuple[Follower, ...]:
    """Rotors start where their joints are."""
    names = list(host.measured)
    return tuple(
        Follower(
            host.coordinates.index[rotor.name],
            names.index(host.names.get(rotor.coordinate, rotor.coordinate)),
            float(rotor.ratio),
        )
        for _, rotor in host.rotors
    )
