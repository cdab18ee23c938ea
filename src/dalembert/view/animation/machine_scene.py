"""Scene of a run of a machine for the page: bodies with their poses, joints, springs, trails, forces, channels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.errors import DataError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion, State
from dalembert.equations.scene import PLANAR_POSE, SPATIAL_POSE, Scene, SceneBody, SceneJoint, SceneShape, SceneSpring
from dalembert.record import Array, Record
from dalembert.view.animation.body_shapes import (
    corners,
    glyph_of,
    points3,
    rolls,
    shape_of,
    solid_of,
    wheels,
    world_points,
)
from dalembert.view.animation.channels import channels_of
from dalembert.view.animation.efforts import efforts

_MOST_NUMBERS = 5_000_000  # about 20 MB of page
_ENOUGH_NUMBERS = 500_000  # up to here pictures are added for smoothness' sake
_FLATNESS = 1.5e-3  # of the radius of the scene: half a pixel


def machine_data(
    run: Record, fps: float, speed: float, trails: Iterable[str], shown: Sequence[str] = ()
) -> dict[str, Any]:
    """Everything the page draws, in plain values; its plots open with the channels ``shown``."""
    if not isinstance(run, Record):
        raise DataError("wrong-type", f"animate takes a Record, not a {type(run).__name__}.")
    if run.scene is None:
        raise DataError(
            "no-scene",
            "this record has no scene to draw: it was measured, or read from CSV, or its equations have none.",
            Advice("Give the mechanism that it is a run of: {}.", Argument("structure")),
            Advice("Files of netCDF and Parquet keep the scene of a run."),
        )
    scene = Scene.from_json(run.scene)
    planar = scene.planar
    leaves = _leaves(scene) if planar else {}
    bodies = _bodies(scene, planar, leaves)
    names = list(dict.fromkeys(trails))
    source = machine_poses(run)
    _check_size(source, len(bodies), speed / fps)
    ground = _ground(scene)
    fixed = [ground]
    ends = [(body, np.array(place)) for spring in scene.springs for body, place in (spring.a, spring.b)]
    fixed += [place[None, :] for body, place in ends if body is None]
    fixed += [points3([foot]) for foot, body in leaves.values() if body is None]
    known = {body.name for body in scene.bodies}
    held = [(body, place) for body, place in ends if body in known]
    refined = 1
    while True:
        poses = _frames(source, speed / fps / refined)
        tracks = [_track(run, scene, poses, name, planar) for name in names]
        moving = [world_points(poses, body["name"], corners(body), planar) for body in bodies]
        moving += [world_points(poses, body, [point], planar) for body, point in held]
        moving += [track[:, None, :] for track in tracks]
        low, high, radius = _bounds([*moving, *fixed])
        # a picture more halves the time between two and quarters the sag of a curve below its chord
        sag = max(_sag(points) for points in moving)
        enough = 2 * poses.data.size > _ENOUGH_NUMBERS or len(poses) > 8 * len(run)
        if sag <= _FLATNESS * radius or enough or len(run) < 4:
            break
        refined *= 2
    times = poses.time
    gravity = list(scene.gravity)
    channels = PLANAR_POSE if planar else SPATIAL_POSE
    for body in bodies:
        body["pose"] = np.stack([poses[f"{body['name']}.{c}"] for c in channels])
        body["points"] = points3(body.get("points", [])).tolist()
    joints = [_joint(joint) for joint in scene.joints]
    names_of_joints = {joint["name"] for joint in joints}
    return {
        "kind": "machine",
        "name": run.name,
        "planar": planar,
        "start": float(times[0]),
        "step": float(times[1] - times[0]) if times.size > 1 else 0.0,
        "end": float(times[-1]),
        "frames": int(times.size),
        "picture": float(times[1] - times[0]) * refined if times.size > 1 else 0.0,
        "speed": float(speed),
        "low": low.tolist(),
        "high": high.tolist(),
        "radius": radius,
        "up": -1 if not planar and gravity[2] > 0.0 else 1,
        "gravity": gravity,
        "half": _around(moving, poses, bodies),
        "own": min(radius, max(_bounds([*(part[:1] for part in moving), *fixed])[2], 0.02 * radius)),
        "bodies": bodies,
        "ground": ground.tolist(),
        "joints": joints,
        "springs": [_spring(spring) for spring in scene.springs],
        "joint_springs": [
            {"name": one.name, "joint": one.joint, "turns": one.turns}
            | ({"foot": leaves[one.joint][0]} if one.joint in leaves else {})
            for one in scene.joint_springs
            if one.joint in names_of_joints
        ],
        "trails": [{"name": name, "points": track} for name, track in zip(names, tracks)],
        "forces": efforts(run, scene, joints, poses, radius),
        "channels": channels_of(run, shown),
    }


def _leaves(scene: Scene) -> dict[str, tuple[list[float], str | None]]:
    """Slides with a spring whose bodies lie beside each other, square to the slide: floors on upright leaf springs.

    For every such joint the foot of its leaves in axes of the first body, and this body.
    """
    sprung = {one.joint for one in scene.joint_springs if not one.turns}
    found = {}
    for joint in scene.joints:
        other = joint.other
        if joint.name in sprung and glyph_of(joint).shape == "slide" and other is not None and other.axis is not None:
            point, axis = np.array(other.point), np.array(other.axis)
            foot = axis * float(point @ axis)
            if np.linalg.norm(point - foot) > 1e-9 + np.linalg.norm(foot):
                found[joint.name] = (foot.tolist(), other.body)
    return found


def _bodies(scene: Scene, planar: bool, leaves: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Bodies with the shapes they are drawn with: their own, that of a wheel, or a solid with their inertia."""
    rolling = wheels(scene)
    found = []
    # where leaf springs are drawn, no bar reaches from a floor to the next
    reached = [(joint.other.body, joint.other.point) for joint in scene.joints if joint.other and joint.name in leaves]
    for body in scene.bodies:
        kept = [p for p in body.points if (body.name, p) not in reached]
        lines = body.lines if len(kept) == len(body.points) else [(k, k + 1) for k in range(len(kept) - 1)]
        entry: dict[str, Any] = {"name": body.name, "points": list(map(list, kept)), "lines": list(map(list, lines))}
        entry["shape"] = shape_of(_along_joints(body.shape, kept, planar) or rolling.get(body.name), planar)
        if entry["shape"] is None and not planar and body.gyration is not None:
            entry["shape"] = solid_of(body.gyration)
        found.append(entry)
    return found


def _along_joints(shape: SceneShape | None, points: Sequence[Sequence[float]], planar: bool) -> dict[str, Any] | None:
    """The shape of a body; a rod in the plane lies along its joints, for its inertia does not know a direction."""
    if shape is None:
        return None
    far = max(points, key=lambda p: float(np.linalg.norm(p)), default=(0.0, 0.0, 0.0))
    along = planar and shape.kind == "rod" and np.linalg.norm(far) > 0.0
    return {"kind": shape.kind, "size": shape.size, "axis": far if along else shape.axis, "triangles": shape.triangles}


def still(eqs: EquationsOfMotion, state: State, name: str = "") -> Record:
    """A record of one instant: the machine standing in a state."""
    scene = eqs.scene or Scene()
    wanted = dict.fromkeys(channel for body in scene.bodies for channel in body.channels(scene.planar))
    columns = {one: [state[one]] for one in wanted}
    return Record.from_channels([0.0], columns, name=name or eqs.name, scene=scene.to_json())


def _ground(scene: Scene) -> Array:
    """Points where a machine is fixed to the ground; origins of planes on which it rolls are left out."""
    places = [(rolls(joint), end) for joint in scene.joints for end in (joint, joint.other) if end is not None]
    planes, fixed = (
        {end.point for rolling, end in places if rolling == which and end.body is None} for which in (True, False)
    )
    kept = [point for point in scene.ground if point not in planes - fixed]
    return np.array(kept).reshape(-1, 3)


def _spring(spring: SceneSpring) -> dict[str, Any]:
    ends = {end: [body, list(place)] for end, (body, place) in (("a", spring.a), ("b", spring.b))}
    return {"name": spring.name, **ends, "damped": spring.damped}


def _sag(points: Array) -> float:
    """How far a path (F, n, 3) bends away from the chords of its points, about: an eighth of its second difference."""
    if len(points) < 3:
        return 0.0
    bend = np.linalg.norm(points[2:] - 2 * points[1:-1] + points[:-2], axis=2) / 8
    # one kink, as of an impact, is a kink at any rate: what counts is the curve
    return float(np.quantile(bend.max(axis=1), 0.99))


def machine_poses(run: Record) -> Record:
    """The poses of all bodies as recorded, checked; the channels of each named by the body: crank.x, crank.angle."""
    scene = Scene.from_json(run.scene)
    bodies, planar = scene.bodies, scene.planar
    if not bodies:
        raise DataError("empty", "the scene of this record has no bodies.")
    wanted = [channel for body in bodies for channel in body.channels(planar)]
    missing = [name for name in wanted if name not in run.names]
    if missing:
        raise DataError(
            "missing-channel",
            f"the pose of a body is not in the record: {unknown_name('channel', missing[0], run.names)}",
            Advice("Animate the whole run, not a selection of channels."),
        )
    data = np.column_stack([run[name] for name in wanted])
    if not np.isfinite(data).all():
        bad = wanted[int(np.argmax(~np.isfinite(data).all(axis=0)))]
        advice = Advice("Animate a part without them: {}.", Call("run.between", Argument("start"), Argument("stop")))
        raise DataError("not-finite", f"channel {bad!r} has gaps.", advice, where={"channel": bad})
    parts = PLANAR_POSE if planar else SPATIAL_POSE
    poses = Record(run.time, data, [f"{body.name}.{part}" for body in bodies for part in parts])
    return poses if planar else _continuous(poses, bodies)


def _check_size(poses: Record, bodies: int, step: float) -> None:
    length = float(poses.time[-1] - poses.time[0])
    if length / step * len(poses.names) > _MOST_NUMBERS:
        raise DataError(
            "too-large",
            f"{length:.6g} s at {step:.3g} s per picture are {length / step:.3g} pictures of {bodies} bodies, "
            "too much for one page.",
            Advice("Use fewer pictures per second, a higher speed or a part of the run: {}.", Argument("fps"),
                   Argument("speed"), Call("run.between")),
        )  # fmt: skip


def _frames(poses: Record, step: float) -> Record:
    """The poses at the times of the pictures."""
    if len(poses) == 1:
        return poses
    # the last picture is the last sample: the step is made to fit
    length = float(poses.time[-1] - poses.time[0])
    return _interpolate(poses, np.linspace(poses.time[0], poses.time[-1], max(2, round(length / step) + 1)))


def _interpolate(run: Record, times: Array) -> Record:
    """At other times: along a cubic where the samples are not many more than the times."""
    smooth = 4 <= len(run) < 4 * times.size and not run.has_gaps()
    return run.resample(times=times, kind="cubic" if smooth else "linear")


def _continuous(poses: Record, bodies: Sequence[SceneBody]) -> Record:
    """Quaternions without jumps of sign, so that what lies between two of them is between the two poses."""
    data = poses.data.copy()
    for i in range(len(bodies)):
        e = data[:, 7 * i + 3 : 7 * i + 7]
        flips = np.where(np.einsum("ij,ij->i", e[1:], e[:-1]) < 0.0, -1.0, 1.0)
        e[1:] *= np.cumprod(flips)[:, None]
    return Record(poses.time, data, poses.names)


def _track(run: Record, scene: Scene, poses: Record, name: str, planar: bool) -> Array:
    """(F, 3) path of a named point."""
    joints = {joint.name: joint for joint in scene.joints}
    bodies = [body.name for body in scene.bodies]
    if name in joints:
        body, point = joints[name].body, points3([joints[name].point])
        if body is None:
            raise DataError("not-supported", f"joint {name!r} is on the ground and leaves no trail.")
        return world_points(poses, body, point, planar)[:, 0]
    if name in bodies:
        return world_points(poses, name, [[0, 0, 0]], planar)[:, 0]
    named = {f"{body.name}.{n}": (body.name, at) for body in scene.bodies for n, at in body.named.items()}
    if name in named:
        return world_points(poses, named[name][0], points3([named[name][1]]), planar)[:, 0]
    if f"{name}.x" in run.names and f"{name}.y" in run.names:
        own = run.select(*(part for axis in "xyz" if (part := f"{name}.{axis}") in run.names))
        found = own.data if len(run) == 1 else _interpolate(own, poses.time).data
        return np.column_stack([found, np.zeros((len(found), 3 - found.shape[1]))])
    stems = {n[:-2] for n in run.names if n.endswith(".x") and f"{n[:-2]}.y" in run.names}
    moving = [n for n, joint in joints.items() if joint.body is not None]
    known = [*moving, *bodies, *named, *sorted(n for n in stems - set(bodies) if not n.endswith(".force"))]
    raise DataError("unknown-name", unknown_name("point", name, known, "the scene"))


def _joint(joint: SceneJoint) -> dict[str, Any]:
    """A joint as the page wants it."""
    glyph, other = glyph_of(joint), joint.other
    drawn: dict[str, Any] = {"name": joint.name, "type": joint.type, "glyph": glyph.shape, "legend": glyph.legend}
    if joint.lines:
        drawn["lines"] = [list(map(list, line)) for line in joint.lines]
    drawn |= {"body": joint.body, "point": list(joint.point)}
    if joint.axis is not None:
        drawn["axis"] = list(joint.axis)
    if rolls(joint):
        drawn["radius"] = joint.radius
    if other is not None:
        drawn["other"] = {"body": other.body, "point": list(other.point)}
        if other.axis is not None:
            drawn["other"]["axis"] = list(other.axis)
    return drawn


def _around(moving: Sequence[Array], poses: Record, bodies: Sequence[Mapping[str, Any]]) -> list[float]:
    """Half sides of the box that holds the machine at any time, about the middle of its bodies."""
    axes = ("x", "y", "z") if f"{bodies[0]['name']}.z" in poses.names else ("x", "y")
    middle = np.zeros((len(poses), 3))
    middle[:, : len(axes)] = sum(poses[[f"{body['name']}.{axis}" for axis in axes]] for body in bodies) / len(bodies)
    sides = [np.abs(part - middle[:, None, :]).max(axis=(0, 1)) for part in moving[: len(bodies)]]
    half: list[float] = np.max(sides, axis=0).tolist()
    return half


def _bounds(parts: Sequence[Array]) -> tuple[Array, Array, float]:
    """Box around everything, and the radius of the sphere about its centre that holds everything."""
    every = np.concatenate([part.reshape(-1, 3) for part in parts])
    every = every[np.isfinite(every).all(axis=1)]
    low, high = every.min(axis=0), every.max(axis=0)
    if float((high - low).max()) == 0.0:
        low, high = low - 0.5, high + 0.5
    radius = float(np.linalg.norm(every - (low + high) / 2, axis=1).max())
    return low, high, radius or 0.5
