"""The mass matrix of the tree of an MJCF model in the pose of the file: M = Σ m Jₚᵀ Jₚ + Jᵣᵀ I Jᵣ + armature."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.files.robots.mjcf.bodies import MjcfBody
from dalembert.files.robots.mjcf.geoms import SolidMass
from dalembert.files.robots.mjcf.joints import MjcfJoint
from dalembert.files.robots.origins import Origin


class ReflectedMass:
    """Masses that actuators see, by the shares of joints along which they act."""

    def __init__(self, world: MjcfBody, joints: Mapping[str, list[MjcfJoint]], masses: Mapping[str, SolidMass]) -> None:
        self.columns: dict[str, int] = {}
        poses, ways = {world.name: Origin()}, {world.name: np.zeros((0, 6))}  # rows: axis, axis × (-place)
        bodies = list(world.walk())[1:]
        owners: dict[str, list[int]] = {world.name: []}
        armature: list[float] = []
        for body in bodies:
            assert body.parent is not None
            poses[body.name] = pose = poses[body.parent.name] @ body.origin
            rows, own = [ways[body.parent.name]], [*owners[body.parent.name]]
            for joint in joints[body.name]:
                screws = _screws(joint, pose)
                self.columns[joint.name] = len(armature)
                own += range(len(armature), len(armature) + len(screws))
                armature += [joint.armature] * len(screws)
                rows.append(screws)
            ways[body.name], owners[body.name] = np.concatenate(rows), own
        self.M = np.diag(armature)
        for body in bodies:
            solid, J = masses[body.name].place_at(poses[body.name]), ways[body.name]
            Jr, Jp = J[:, :3], J[:, 3:] + np.cross(J[:, :3], solid.center)
            at = np.ix_(owners[body.name], owners[body.name])
            self.M[at] += solid.mass * Jp @ Jp.T + Jr @ solid.inertia @ Jr.T

    def __call__(self, along: Iterable[tuple[MjcfJoint, float]]) -> float:
        J = np.zeros(len(self.M))
        for joint, share in along:
            J[self.columns[joint.name]] += share
        return 1 / max(float(J @ np.linalg.lstsq(self.M, J, rcond=None)[0]), np.finfo(float).tiny)


def _screws(joint: MjcfJoint, pose: Origin) -> FloatArray:
    """Motions of a joint as angular velocity and velocity of the point at the origin of the world."""
    place = pose.place + pose.axes @ joint.place
    if joint.kind == "slide":
        return np.concatenate([np.zeros(3), pose.axes @ (joint.axis / np.linalg.norm(joint.axis))])[None]
    hinge = joint.kind == "hinge"
    axes = (pose.axes @ (joint.axis / np.linalg.norm(joint.axis)))[None] if hinge else pose.axes.T
    turns = np.hstack([axes, np.cross(place, axes)])
    slides = np.hstack([np.zeros((3, 3)), np.eye(3)])
    return np.concatenate([slides, turns]) if joint.kind == "free" else turns
