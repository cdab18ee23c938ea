"""Where an assembly in joint coordinates starts: the joints of bodies that are placed as in absolute coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.equations import Follower, Placement
from dalembert.expressions import Array
from dalembert.mechanics.absolute.placement import SpanningTree, rotation_matrix
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, joint_frames, joint_kernel
from dalembert.model.joints import Joint
from dalembert.model.orientation import quaternion_from_matrix

if TYPE_CHECKING:
    from dalembert.mechanics.tree.producer import JointCoordinates

SX = ca.SX


@dataclass(frozen=True)
class BranchReading:
    """How to read the coordinates of one branch from the poses of all bodies.

    body : of a free body, whose pose it is; -1 of a joint.  sides : bodies of a joint, -1 the ground.
    value : coordinates of the joint from both poses; None for a ball, whose frames have the given axes.
    chosen, names : which of the joint's coordinates the tree has, and the names of all.
    """

    body: int = -1
    sides: tuple[int, ...] = ()
    value: ca.Function | None = None
    chosen: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    axes: tuple[Any, ...] = ()

    def read(self, q: Array, size: int, values: Mapping[str, float]) -> list[float]:
        if self.body >= 0:
            return [float(x) for x in q[size * self.body : size * (self.body + 1)]]
        poses = [q[size * k : size * (k + 1)] if k >= 0 else np.zeros(size) for k in self.sides]
        if self.value is None:
            turns = [
                (rotation_matrix(pose[3:]) if k >= 0 else np.eye(3)) @ np.array(axes)
                for pose, k, axes in zip(poses, self.sides, self.axes, strict=True)
            ]
            return [float(x) for x in quaternion_from_matrix(turns[0].T @ turns[1])]
        read = np.asarray(self.value(*poses)).ravel()
        return [float(values.get(self.names[k], read[k])) for k in self.chosen]


@dataclass(frozen=True)
class JointGuess:
    """From named coordinates to joint coordinates; `rest` are the values behind those of the tree."""

    placed: SpanningTree
    readings: tuple[BranchReading, ...]
    names: tuple[str, ...]
    rest: tuple[float, ...]

    def __call__(self, values: Mapping[str, float]) -> Array:
        q, size = self.placed(values), self.placed.size
        found = [x for one in self.readings for x in one.read(q, size, values)]
        return np.array([values.get(name, x) for name, x in zip(self.names, [*found, *self.rest], strict=True)])


def place_in_joint_coordinates(host: JointCoordinates) -> Placement:
    plain = host.plain.placement
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
        for force in host.m.forces
        for rotor in force.rotors()
    )
    return Placement(tuple(float(x) for x in guess({})), plain.z, guess, followers, plain.held)


def _readings(host: JointCoordinates) -> list[BranchReading]:
    found = []
    for branch in host.branches:
        joint = branch.joint
        if joint is None:
            found.append(BranchReading(host.body_index[id(branch.body)]))
            continue
        frames = joint_frames(joint)
        sides = tuple(-1 if f.body.is_ground else host.body_index[id(f.body)] for f in frames)
        own = JOINT_EQUATIONS[joint.kind].motion
        if own is not None and own.ball:
            axes = tuple(tuple(tuple(float(c) for c in row) for row in frame.axes) for frame in frames)
            found.append(BranchReading(sides=sides, axes=axes))
            continue
        names = tuple(f"{joint.name}.{c.name}" for c in joint.coordinates)
        found.append(BranchReading(-1, sides, _reading(host, joint), host.tree_coordinates(joint), names))
    return found


def _reading(host: JointCoordinates, joint: Joint) -> ca.Function:
    """Coordinates of a joint from the poses of its bodies, at nominal parameters."""
    space, frames = host.space, joint_frames(joint)
    symbols = [SX.sym("a", space.nq), SX.sym("b", space.nq)]
    arguments: list[Any] = []
    for x, frame in zip(symbols, frames, strict=True):
        pose = space.ground_pose() if frame.body.is_ground else space.pose(x)
        arguments += [pose.r, pose.R, pose.angle, SX.zeros(space.dim), SX.zeros(space.turns)]
    for frame in frames:
        arguments += [host.place(frame), host.frame_axes(frame)]
    numbers = [joint.options[name] for name in joint.declaration.numbers]
    kernel = joint_kernel(space.planar, JOINT_EQUATIONS[joint.kind], len(numbers))
    found = kernel.call([*arguments, host.vector(numbers) if numbers else SX.zeros(0)])[5]
    if space.planar and found.shape[0] and joint.coordinates[0].unit == "rad":
        found = found + host.whole_turns(joint)
    nominal = [*map(float, host.m.parameters.values()), *(0.0 for _ in host.exact)]
    return ca.Function("reading", symbols, [ca.substitute(found, host.p, ca.DM(nominal)) if nominal else found])
