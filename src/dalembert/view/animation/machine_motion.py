"""Motion of a machine at the times of pictures: poses and elastic coordinates of its bodies, places that they carry.

A place of a rigid body moves with its pose. A node of a flexible body at u₀ is at u₀ + S η in the axes of the frame
and is turned by exp(H η) beside them, with its translation S and rotation H of the scene; points of the body's picture
have their own modes. Where geometric stiffness moves nodes to second order, ηᵀ C η, the points between them follow by
weights that fall with the square of the distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.errors import DataError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion, State
from dalembert.equations.scene import PLANAR_POSE, SPATIAL_POSE, Place, Scene, SceneBody, SceneFlexible, SceneNode
from dalembert.model.orientation import entries
from dalembert.record import Array, Record
from dalembert.view.animation.body_shapes import points3

if TYPE_CHECKING:
    from dalembert.estimate import Estimate

_SPREAD = 25  # points along a line that represent all


@dataclass(frozen=True)
class MachineMotion:
    """The motion of all bodies of a scene at the same times.

    poses : channels ``<body>.x`` ... of every body, and ``<body>.eta1`` ... of the elastic coordinates.
    """

    scene: Scene
    poses: Record

    @property
    def planar(self) -> bool:
        return self.scene.planar

    def body(self, name: str) -> SceneBody:
        return {body.name: body for body in self.scene.bodies}[name]

    def pose(self, name: str) -> Array:
        """(3 or 7, F) of its frame."""
        return np.stack([self.poses[f"{name}.{channel}"] for channel in (PLANAR_POSE if self.planar else SPATIAL_POSE)])

    def elastic(self, name: str) -> Array:
        """(m, F) elastic coordinates; no rows of a rigid body."""
        count = len(self.body(name).elastic)
        rows = [self.poses[f"{name}.eta{k + 1}"] for k in range(count)]
        return np.stack(rows) if rows else np.zeros((0, len(self.poses)))

    def origins(self, name: str) -> Array:
        """(F, 3) of its frame."""
        if not self.planar:
            return self.poses[[f"{name}.{axis}" for axis in "xyz"]]
        x, y = self.poses[f"{name}.x"], self.poses[f"{name}.y"]
        return np.column_stack([x, y, np.zeros_like(x)])

    def turns(self, name: str, place: object = None) -> Array:
        """(F, 3, 3) from axes of a body, at a place of it where one is given, to those of the world."""
        node = None if place is None else node_at(self.body(name).flexible, points3([place])[0])
        matrices = self._frame_turns(name)
        if node is None or not node.rotation:
            return matrices
        return np.asarray(matrices @ _exponential(self.elastic(name).T @ points3(node.rotation)))

    def _frame_turns(self, name: str) -> Array:
        poses = self.poses
        if self.planar:
            c, s = np.cos(poses[f"{name}.angle"]), np.sin(poses[f"{name}.angle"])
            zero, ones = np.zeros_like(c), np.ones_like(c)
            return np.array([[c, -s, zero], [s, c, zero], [zero, zero, ones]]).transpose(2, 0, 1)
        e = poses[[f"{name}.e{i}" for i in range(4)]]
        return np.array(entries((e / np.linalg.norm(e, axis=1, keepdims=True)).T)).transpose(2, 0, 1)

    def points(self, name: str, places: object) -> Array:
        """(F, n, 3) places of a body in the world; those of a flexible one with the displacements of its nodes."""
        undeformed, flexible = points3(places), self.body(name).flexible
        if flexible is None:
            return self.carry(name, undeformed[None])
        nodes = [node_at(flexible, place) for place in undeformed]
        count = len(flexible.coordinates)
        modes = [points3(node.translation) if node is not None else np.zeros((count, 3)) for node in nodes]
        shapes = np.array(modes).reshape(len(undeformed), count, 3)
        local = undeformed + np.einsum("kf,nkc->fnc", self.elastic(name), shapes)
        for k, node in enumerate(nodes):
            if node is not None and node.second:
                local[:, k] += self._second(name, node)
        return self.carry(name, local)

    def _second(self, name: str, node: SceneNode) -> Array:
        """(F, 3) displacement of second order of a node."""
        eta = self.elastic(name)
        return np.asarray(np.einsum("if,cij,jf->fc", eta, np.reshape(node.second, (3, len(eta), -1)), eta))

    def picture_points(self, name: str, numbers: Sequence[int]) -> Array:
        """(F, n, 3) points of the picture of a flexible body in the world, by their numbers."""
        flexible = self.body(name).flexible
        assert flexible is not None
        undeformed, modes = picture_modes(flexible)
        local = undeformed[numbers] + np.einsum("kf,knc->fnc", self.elastic(name), modes[:, numbers])
        bent, weights = second_weights(flexible)
        for node, weight in zip(bent, weights.T, strict=True):
            local += weight[numbers][None, :, None] * self._second(name, flexible.nodes[node])[:, None, :]
        return self.carry(name, local)

    def carry(self, name: str, local: Array) -> Array:
        """(F, n, 3) in the world from places (F or 1, n, 3) in axes of the frame."""
        moved = local @ self._frame_turns(name).transpose(0, 2, 1) + self.origins(name)[:, None, :]
        return np.asarray(moved, dtype=np.float64)

    def at(self, step: float) -> MachineMotion:
        """The motion at the times of pictures that are so far apart."""
        poses = self.poses
        if len(poses) == 1:
            return self
        # the last picture is the last sample: the step is made to fit
        length = float(poses.time[-1] - poses.time[0])
        times = np.linspace(poses.time[0], poses.time[-1], max(2, round(length / step) + 1))
        return MachineMotion(self.scene, interpolate(poses, times))


def node_at(
    flexible: SceneFlexible | None,
    place: Array,
    same: float = 1e-9,  # distance of a node from its place [m], relative above one metre: nine digits of a file.
) -> SceneNode | None:
    """The node of a flexible body at a place."""
    for node in () if flexible is None else flexible.nodes:
        if np.abs(np.subtract(node.point, place)).max() <= same * max(1.0, float(np.abs(place).max())):
            return node
    return None


def picture_modes(flexible: SceneFlexible) -> tuple[Array, Array]:
    """Points (n, 3) of the picture of a flexible body and their modes (m, n, 3)."""
    points = points3(flexible.points)
    return points, np.asarray(flexible.modes, dtype=np.float64).reshape(len(flexible.modes), len(points), 3)


def second_weights(
    flexible: SceneFlexible,
    same: float = 1e-9,  # distance of a node from its place [m], relative above one metre: nine digits of a file.
) -> tuple[list[int], Array]:
    """Numbers of the nodes with a displacement of second order, and its share at every point of the picture (n, k)."""
    bent = [k for k, node in enumerate(flexible.nodes) if node.second]
    points = points3(flexible.points)
    if not bent:
        return [], np.zeros((len(points), 0))
    square = np.stack([np.sum((points - np.array(node.point)) ** 2, axis=1) for node in flexible.nodes], axis=1)
    share = 1.0 / np.maximum(square, same**2 * max(float(square.max(initial=0.0)), 1e-300))
    return bent, np.asarray(share[:, bent] / share.sum(axis=1, keepdims=True))


def joint_motions(
    flexible: SceneFlexible,
    places: Sequence[Place],
    # Singular value relative to the largest, below which nodes in a line do not determine a turn: files have some
    # seven digits.
    in_line: float = 1e-6,
) -> Array:
    """(m, 6): of every mode the small rigid motion t + θ × u₀ that fits the motion of the nodes at some places best.

    A picture in another scale enlarges the deformation beside this motion, so that joints stay closed, and does not
    depend on the connection of the frame to the body. For one node it is the motion of this node, without any it is
    zero.
    """
    at = list(dict.fromkeys(node for place in places if (node := node_at(flexible, np.array(place))) is not None))
    if len(at) < 2:
        motions = [_about_node(node) for node in at]
        return motions[0] if motions else np.zeros((len(flexible.coordinates), 6))
    undeformed = points3([node.point for node in at])
    middle = undeformed.mean(axis=0)
    size = float(np.abs(undeformed - middle).max()) or 1.0
    rows = np.concatenate([np.hstack([np.eye(3), -_skew((point - middle) / size)]) for point in undeformed])
    moved = np.concatenate([points3(node.translation).T for node in at])
    fit = np.linalg.lstsq(rows, moved, rcond=in_line)[0].T
    turn = fit[:, 3:] / size
    return np.hstack([fit[:, :3] - np.cross(turn, middle), turn])


def _about_node(node: SceneNode) -> Array:
    turn = points3(node.rotation)
    return np.hstack([points3(node.translation) - np.cross(turn, np.array(node.point)), turn])


def _skew(u: Array) -> Array:
    x, y, z = u
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def spread(flexible: SceneFlexible) -> list[int]:
    """Numbers of a few points of the picture of a flexible body that hold the others: outermost, and here and there."""
    points = points3(flexible.points)
    if not len(points):
        return []
    ways = np.array([way for way in np.ndindex(3, 3, 3) if way != (1, 1, 1)]) - 1
    some = np.linspace(0, len(points) - 1, min(len(points), _SPREAD)).astype(np.int64)
    return [int(k) for k in np.unique([*np.argmax(points @ ways.T, axis=0), *some])]


def _exponential(turn: Array) -> Array:
    """(F, 3, 3) rotations by the vectors (F, 3)."""
    half = np.linalg.norm(turn, axis=1) / 2
    p = np.vstack([np.cos(half), 0.5 * np.sinc(half / np.pi) * turn.T])
    return np.array(entries(p)).transpose(2, 0, 1)


def interpolate(run: Record, times: Array) -> Record:
    """At other times: along a cubic where the samples are not many more than the times."""
    smooth = 4 <= len(run) < 4 * times.size and not run.has_gaps()
    return run.resample(times=times, kind="cubic" if smooth else "linear")


def machine_motion(run: Record) -> MachineMotion:
    """The motion of all bodies as recorded, checked."""
    scene = Scene.from_json(run.scene)
    bodies, planar = scene.bodies, scene.planar
    if not bodies:
        raise DataError("empty", "the scene of this record has no bodies.")
    wanted = [channel for body in bodies for channel in (*body.channels(planar), *body.elastic)]
    missing = [name for name in wanted if name not in run.names]
    if missing:
        what = "pose" if any(missing[0] in body.channels(planar) for body in bodies) else "deformation"
        raise DataError(
            "missing-channel",
            f"the {what} of a body is not in the record: {unknown_name('channel', missing[0], run.names)}",
            Advice("Animate the whole run, not a selection of channels."),
        )
    data = np.column_stack([run[name] for name in wanted])
    if not np.isfinite(data).all():
        bad = wanted[int(np.argmax(~np.isfinite(data).all(axis=0)))]
        advice = Advice("Animate a part without them: {}.", Call("run.between", Argument("start"), Argument("stop")))
        raise DataError("not-finite", f"channel {bad!r} has gaps.", advice, where={"channel": bad})
    parts = PLANAR_POSE if planar else SPATIAL_POSE
    names = [
        f"{body.name}.{part}"
        for body in bodies
        for part in (*parts, *(f"eta{k + 1}" for k in range(len(body.elastic))))
    ]
    poses = Record(run.time, data, names)
    return MachineMotion(scene, poses if planar else _continuous(poses, bodies))


def add_estimate(run: Record, estimate: Estimate, prefix: str = "estimate.") -> Record:
    """The run as long as its estimate, with the estimated machine as a shadow of it in channels with a prefix."""
    eqs = estimate.filter.process.source
    if not isinstance(eqs, EquationsOfMotion) or eqs.scene is None:
        raise DataError("no-scene", "this estimate has no machine to draw: its filter has a model without bodies.")
    scene = Scene.from_json(eqs.scene_data)
    value = eqs.kernel("measures").many(
        estimate.states[:, : eqs.nq], np.zeros(eqs.nv), eqs.p, np.reshape(estimate.time, (-1, 1))
    )[0]
    columns = {name: value[:, k] for k, name in enumerate(eqs.measures.names)}
    columns |= {name: estimate.states[:, k] for k, name in enumerate(eqs.coordinates.names)}
    columns |= {name: estimate.record[name] for name in estimate.record.names if name in run.names}
    shadow = Record.from_channels(estimate.time, {prefix + name: values for name, values in columns.items()})
    part = run.between(max(run.time[0], shadow.time[0]), min(run.time[-1], shadow.time[-1]))
    shadow = shadow.resample(times=part.time)

    def rename(name: str) -> str:
        return prefix + name

    def rename_side(side: Any) -> Any:
        return side if side is None or side.body is None else replace(side, body=rename(side.body))

    bodies = [
        replace(
            body, name=rename(body.name), pale=True, pose=tuple(map(rename, body.channels(scene.planar))),
            flexible=body.flexible and replace(body.flexible, coordinates=tuple(map(rename, body.elastic))),
        )
        for body in scene.bodies
    ]  # fmt: skip
    joints = [
        replace(rename_side(joint), name=rename(joint.name), other=rename_side(joint.other)) for joint in scene.joints
    ]
    true = Scene.from_json(part.scene)
    both = replace(true, bodies=(*true.bodies, *bodies), joints=(*true.joints, *joints))
    return Record(
        part.time, np.hstack([part.data, shadow.data]), (*part.names, *shadow.names),
        (*part.units.values(), *shadow.units.values()), name=run.name, scene=both.to_json(),
    )  # fmt: skip


def _continuous(poses: Record, bodies: Sequence[SceneBody]) -> Record:
    """Quaternions without jumps of sign, so that what lies between two of them is between the two poses."""
    data = poses.data.copy()
    for body in bodies:
        first = poses.names.index(f"{body.name}.e0")
        e = data[:, first : first + 4]
        flips = np.where(np.einsum("ij,ij->i", e[1:], e[:-1]) < 0.0, -1.0, 1.0)
        e[1:] *= np.cumprod(flips)[:, None]
    return Record(poses.time, data, poses.names)


def still(eqs: EquationsOfMotion, state: State, name: str = "") -> Record:
    """A record of one instant: the machine in a state."""
    scene = eqs.scene or Scene()
    wanted = dict.fromkeys(
        channel for body in scene.bodies for channel in (*body.channels(scene.planar), *body.elastic)
    )
    columns = {one: [state[one]] for one in wanted}
    return Record.from_channels([0.0], columns, name=name or eqs.name, scene=scene.to_json())
