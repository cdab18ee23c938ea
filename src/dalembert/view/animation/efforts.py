"""Forces and torques that a page draws as arrows, in world axes, at the times of the pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.equations.scene import Scene
from dalembert.record import Array, Record
from dalembert.view.animation.body_shapes import points3
from dalembert.view.animation.machine_motion import MachineMotion

MOST_NUMBERS = 1_500_000  # of all arrows, beyond which there are none
_NOTHING = 1e-9  # of the largest of its kind: rounding, no effort


class _PictureRun:
    """Channels of a run at the times of the pictures, and directions that turn with bodies."""

    def __init__(self, run: Record, motion: MachineMotion) -> None:
        self.run, self.motion, self.planar = run, motion, motion.planar
        self.times_of_pictures = motion.poses.time
        self.count = len(motion.poses)

    def __contains__(self, name: str | None) -> bool:
        return name is None or name in self.run.names

    def at(self, names: Sequence[str]) -> Array:
        """(F, k), gaps as zero."""
        some = self.run.select(*names)
        values = some.data if len(self.run) == 1 else some.resample(times=self.times_of_pictures, kind="linear").data
        return np.where(np.isfinite(values), values, 0.0)

    def times(self, vectors: Array, channel: str | None) -> Array:
        return vectors if channel is None else vectors * self.at([channel])

    def turn(self, body: str | None, vector: object, place: object = None) -> Array:
        """(F, 3) a direction fixed to a body, at a place of it where it may be flexible."""
        direction = points3([vector])[0]
        if body is None:
            return np.tile(direction, (self.count, 1))
        return np.asarray(self.motion.turns(body, place) @ direction)


def efforts(
    run: Record, motion: MachineMotion, joints: Sequence[Mapping[str, Any]], radius: float
) -> list[dict[str, Any]]:
    """Arrows: reactions of joints on their second bodies (``kind`` reaction), and applied efforts (applied).

    ``turns`` distinguishes torques [N m] from forces [N]. ``radius`` is that of the machine [m].
    """
    pictures, scene = _PictureRun(run, motion), motion.scene
    channels = set(run.names)
    arrows = [*_reactions(pictures, joints, channels), *_forces(pictures, scene), *_torques(pictures, scene, joints)]
    if 3 * len(arrows) * pictures.count > MOST_NUMBERS:
        return []
    drawn = [{**arrow, "values": make()} for arrow, make in arrows]
    sizes = [float(np.abs(arrow["values"]).max(initial=0.0)) for arrow in drawn]
    force, torque = (
        max((size for size, arrow in zip(sizes, drawn) if arrow["turns"] == turning), default=0.0)
        for turning in (False, True)
    )
    # the torque that a hinge cannot bear is nothing but rounding of its force
    least = {False: _NOTHING * force, True: _NOTHING * max(torque, force * radius)}
    return [arrow for arrow, size in zip(drawn, sizes) if size > least[arrow["turns"]]]


def _reactions(
    own: _PictureRun, joints: Sequence[Mapping[str, Any]], known: set[str]
) -> list[tuple[dict[str, Any], Any]]:
    arrows = []
    for joint in joints:
        end = {"name": joint["name"], "kind": "reaction", "body": joint["body"], "point": joint["point"]}
        for what, turning in (("force", False), ("torque", True)):
            axes = [k for k, axis in enumerate("xyz") if f"{joint['name']}.{what}.{axis}" in known]
            if len(axes) < (1 if turning else 2):
                continue
            arrows.append(
                ({**end, "turns": turning}, lambda joint=joint, what=what, axes=axes: _axes(own, joint, what, axes))
            )
    return arrows


def _axes(own: _PictureRun, joint: Mapping[str, Any], what: str, axes: Sequence[int]) -> Array:
    values = np.zeros((own.count, 3))
    values[:, list(axes)] = own.at([f"{joint['name']}.{what}.{'xyz'[k]}" for k in axes])
    return values


def _forces(own: _PictureRun, scene: Scene) -> list[tuple[dict[str, Any], Any]]:
    arrows = []
    for force in scene.forces:
        if force.input not in own:
            continue
        body, point = force.at
        end = {"name": force.name, "kind": "applied", "turns": False, "body": body, "point": list(point)}
        fixed = body if force.axes == "body" else None
        arrows.append(
            (end, lambda force=force, fixed=fixed: own.times(
                own.turn(fixed, force.vector, force.at[1]), force.input))
        )  # fmt: skip
    return arrows


def _torques(own: _PictureRun, scene: Scene, joints: Sequence[Mapping[str, Any]]) -> list[tuple[dict[str, Any], Any]]:
    by_name = {joint["name"]: joint for joint in joints}
    arrows = []
    for torque in scene.torques:
        joint = by_name.get(torque.joint)
        if torque.input not in own or (torque.joint is not None and joint is None):
            continue
        if joint is not None:
            turning = torque.turns
            end = {"body": joint["body"], "point": joint["point"]}
            # in the plane a hinge turns about z, and what slides has its own axis
            way = joint.get("axis") if not own.planar or not turning else [0, 0, 1]
            if way is None:
                continue
            fixed, vector, place = joint["body"], points3([way])[0] * torque.effort, joint["point"]
        else:
            turning, end, place = True, {"body": torque.body, "point": None}, None
            fixed, vector = torque.body if torque.axes == "body" else None, np.array(torque.vector)
        about = {"name": torque.name, "kind": "applied", "turns": turning, **end}
        arrows.append(
            (about, lambda torque=torque, fixed=fixed, vector=vector, place=place: own.times(
                own.turn(fixed, vector, place), torque.input))
        )  # fmt: skip
    return arrows
