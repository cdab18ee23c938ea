"""Initial guess of an assembly in joint coordinates: joint coordinates of bodies placed as in absolute coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.equations import Follower, Placement
from dalembert.expressions import Array
from dalembert.mechanics.absolute.placement import SpanningTree, place_mechanism, rotation_matrix
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, joint_frames, joint_kernel
from dalembert.model.joints import Joint
from dalembert.model.orientation import quaternion_from_matrix

if TYPE_CHECKING:
    from dalembert.mechanics.tree.producer import JointCoordinates

COORDINATES = 5  # index of the coordinates among the results of a joint kernel


@dataclass(frozen=True)
class BranchReading:
    """How to read the coordinates of one branch from the poses of all bodies.

    body : of a free body, whose pose it is; -1 of a joint.  sides : bodies of a joint, -1 the ground.
    value : the kernel of the joint's kind, numbers its arguments after the poses and turns whole turns to add to each
        coordinate.  chosen, names : which of the joint's coordinates the tree has, and the names of all.
    axes : of the frames of a joint whose orientation is a coordinate.
    """

    body: int = -1
    sides: tuple[int, ...] = ()
    value: ca.Function | None = None
    numbers: tuple[Any, ...] = ()
    turns: tuple[float, ...] = ()
    chosen: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    axes: tuple[Any, ...] = ()

    def read(self, q: Array, size: int, values: Mapping[str, float]) -> list[float]:
        if self.body >= 0:
            return [float(x) for x in q[size * self.body : size * (self.body + 1)]]
        poses = [q[size * k : size * (k + 1)] if k >= 0 else np.zeros(size) for k in self.sides]
        found: list[float] = []
        if self.value is not None and self.chosen:
            arguments = [x for k, pose in zip(self.sides, poses, strict=True) for x in _pose_arguments(pose, k < 0)]
            read = np.asarray(self.value(*arguments, *self.numbers)[COORDINATES]).ravel() + self.turns
            found = [float(values.get(self.names[k], read[k])) for k in self.chosen]
        if self.axes:
            turns = [
                (rotation_matrix(pose[3:]) if k >= 0 else np.eye(3)) @ np.array(axes)
                for pose, k, axes in zip(poses, self.sides, self.axes, strict=True)
            ]
            found += [float(x) for x in quaternion_from_matrix(turns[0].T @ turns[1])]
        return found


@dataclass(frozen=True)
class JointGuess:
    """From named coordinates to joint coordinates; `rest` are the values behind those of the tree."""

    placed: SpanningTree
    readings: tuple[BranchReading, ...]
    names: tuple[str, ...]
    rest: tuple[float, ...]

    def __call__(self, values: Mapping[str, float]) -> Array:
        q, size = self.placed(values), self.placed.size
        found = [x for reading in self.readings for x in reading.read(q, size, values)]
        return np.array([values.get(name, x) for name, x in zip(self.names, [*found, *self.rest], strict=True)])


def place_in_joint_coordinates(host: JointCoordinates) -> Placement:
    plain = place_mechanism(host)
    assert isinstance(plain.first_guess, SpanningTree)
    rest = (*(0.0 for _ in host.modes), *(float(e[1]) for e in host.extra), *(0.0 for _ in host.turning))
    guess = JointGuess(plain.first_guess, tuple(_readings(host)), host.coordinates.names, rest)
    names = list(host.measured)
    followers = tuple(
        Follower(
            host.coordinates.index[rotor.name],
            names.index(host.names.get(rotor.coordinate, rotor.coordinate)),
            float(rotor.ratio),
        )
        for _, rotor in host.rotors
    )
    return Placement(tuple(float(x) for x in guess({})), plain.z, guess, followers)


def _readings(host: JointCoordinates) -> list[BranchReading]:
    readings = []
    for branch in host.branches:
        joint = branch.joint
        if joint is None:
            readings.append(BranchReading(host.body_index[id(branch.body)]))
            continue
        frames = joint_frames(joint)
        sides = tuple(-1 if f.body.is_ground else host.body_index[id(f.body)] for f in frames)
        own = JOINT_EQUATIONS[joint.kind].motion
        turned = own is not None and own.ball
        axes = tuple(tuple(tuple(float(c) for c in row) for row in f.axes) for f in frames) if turned else ()
        names = tuple(f"{joint.name}.{c.name}" for c in joint.coordinates)
        chosen, whole = host.tree_coordinates(joint), host.whole_turns(joint) if host.space.planar else 0.0
        turns = tuple(whole if c.unit == "rad" else 0.0 for c in joint.coordinates)
        readings.append(BranchReading(-1, sides, *_kernel(host, joint), turns, chosen, names, axes))
    return readings


def _kernel(host: JointCoordinates, joint: Joint) -> tuple[ca.Function, tuple[Any, ...]]:
    """The kernel of the joint's kind, and its arguments after the poses, at nominal parameters."""
    numbers: list[Any] = []
    for frame in joint_frames(joint):
        place = np.array([float(c) for c in frame.coordinates])
        angle = float(frame.angle) if host.space.planar else 0.0
        axes = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        numbers += [place, axes if host.space.planar else np.array(frame.axes, dtype=float)]
    own = [float(joint.options[name]) for name in joint.declaration.numbers]
    return joint_kernel(host.space.planar, JOINT_EQUATIONS[joint.kind], len(own)), (*numbers, np.array(own))


def _pose_arguments(pose: Array, ground: bool) -> list[Any]:
    """r, R, angle, v and ω of a body at rest, as a kernel of joints takes them."""
    if len(pose) == 3:
        c, s = math.cos(pose[2]), math.sin(pose[2])
        return [pose[:2], np.array([[c, -s], [s, c]]), pose[2], np.zeros(2), 0.0]
    return [pose[:3], np.eye(3) if ground else rotation_matrix(pose[3:]), 0.0, np.zeros(3), np.zeros(3)]
