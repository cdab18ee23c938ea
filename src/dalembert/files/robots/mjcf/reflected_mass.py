"""Masses that actuators of an MJCF model see in the pose of the file: 1/(J M⁻¹ Jᵀ)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.files.robots.mjcf.bodies import MjcfBody
from dalembert.files.robots.mjcf.geoms import SolidMass
from dalembert.files.robots.mjcf.joints import MjcfJoint
from dalembert.files.robots.origins import Origin
from dalembert.files.robots.tree_mass import TreeMass


class ReflectedMass:
    """Masses that actuators see, by the shares of joints along which they act."""

    def __init__(self, world: MjcfBody, joints: Mapping[str, list[MjcfJoint]], masses: Mapping[str, SolidMass]) -> None:
        self.columns: dict[str, int] = {}
        poses, tree = {world.name: Origin()}, TreeMass()
        none = np.zeros((3, 3))
        for body in list(world.walk())[1:]:
            assert body.parent is not None
            poses[body.name] = pose = poses[body.parent.name] @ body.origin
            parent = body.parent.name
            for joint in joints[body.name]:
                own = f"{body.name}/{joint.name}"
                place = pose.place
                self.columns[joint.name] = tree.add(own, parent, _screws(joint, pose), 0.0, place, none, joint.armature)
                parent = own
            solid = masses[body.name].place_at(pose)
            tree.add(body.name, parent, np.zeros((0, 6)), solid.mass, solid.center, solid.inertia)
        self.M = tree.M

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
