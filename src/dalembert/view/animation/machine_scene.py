"""Scene of a run of a machine for the page: bodies with their poses, joints, springs, trails, forces, channels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.errors import DataError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations.scene import Place, Scene, SceneBody, SceneFlexible, SceneJoint, SceneShape, SceneSpring
from dalembert.record import Array, Record
from dalembert.view.animation.body_shapes import (
    corners,
    glyph_of,
    points3,
    rolls,
    shape_of,
    solid_of,
    wheels,
)
from dalembert.view.animation.channels import channels_of
from dalembert.view.animation.efforts import efforts
from dalembert.view.animation.machine_motion import (
    MachineMotion,
    interpolate,
    joint_motions,
    machine_motion,
    picture_modes,
    second_weights,
    spread,
)

_MOST_NUMBERS = 5_000_000  # about 20 MB of page
_ENOUGH_NUMBERS = 500_000  # up to here pictures are added for smoothness' sake
_FLATNESS = 1.5e-3  # of the radius of the scene: half a pixel
_AT_AXIS = 1e-9  # distance [m] of a guide from its foot that is rounding of the drawing
_COMPARED = 200  # pictures among which the largest displacement is found


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
    source = machine_motion(run)
    _check_size(source, speed / fps)
    ground = _ground(scene)
    standing = shape_of(None if scene.ground_shape is None else vars(scene.ground_shape), planar)
    fixed = [ground, *([] if standing is None else [corners({"shape": standing})])]
    ends = [(body, np.array(place)) for spring in scene.springs for body, place in (spring.a, spring.b)]
    fixed += [place[None, :] for body, place in ends if body is None]
    fixed += [points3([foot]) for foot, body in leaves.values() if body is None]
    body_names = {body.name for body in scene.bodies}
    held = [(body, place) for body, place in ends if body in body_names]
    refined = 1
    while True:
        motion = source.at(speed / fps / refined)
        poses = motion.poses
        tracks = [_track(run, motion, name) for name in names]
        moving = [_outline(motion, body, entry) for body, entry in zip(scene.bodies, bodies)]
        moving += [motion.points(body, [point]) for body, point in held]
        moving += [track[:, None, :] for track, _ in tracks]
        low, high, radius = _bounds([*moving, *fixed])
        # a picture more halves the time between two and quarters the sag of a curve below its chord
        sag = max(_sag(points) for points in moving)
        enough = 2 * poses.data.size > _ENOUGH_NUMBERS or len(poses) > 8 * len(run)
        if sag <= _FLATNESS * radius or enough or len(run) < 4:
            break
        refined *= 2
    times = poses.time
    gravity = list(scene.gravity)
    for drawn, body in zip(scene.bodies, bodies):
        body["pose"] = motion.pose(drawn.name)
        body["points"] = points3(body.get("points", [])).tolist()
        if drawn.flexible is not None:
            body["flexible"] = _flexible(drawn, drawn.flexible, scene, motion.elastic(drawn.name))
    pale = {body.name for body in scene.bodies if body.pale}
    sides = [(joint, {joint.body, *(() if joint.other is None else (joint.other.body,))}) for joint in scene.joints]
    joints = [_joint(joint) for joint, owners in sides if not owners & pale]
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
        "half": _around(moving, motion),
        "own": min(radius, max(_bounds([*(block[:1] for block in moving), *fixed])[2], 0.02 * radius)),
        "bodies": bodies,
        "ground": ground.tolist(),
        **({} if standing is None else {"ground_shape": standing}),
        "joints": joints,
        "springs": [_spring(spring) for spring in scene.springs],
        "joint_springs": [
            {"name": one.name, "joint": one.joint, "turns": one.turns}
            | ({"foot": leaves[one.joint][0]} if one.joint in leaves else {})
            for one in scene.joint_springs
            if one.joint in names_of_joints
        ],
        "trails": [
            {"name": name, "points": track} | ({"at": [at[0], list(at[1])]} if at is not None else {})
            for name, (track, at) in zip(names, tracks)
        ],
        "forces": efforts(run, motion, joints, radius),
        "channels": channels_of(run, shown),
    }


def _outline(motion: MachineMotion, body: SceneBody, entry: Mapping[str, Any]) -> Array:
    """(F, n, 3) points that enclose a body."""
    if body.flexible is None:
        return motion.points(body.name, corners(entry))
    return np.concatenate(
        [motion.points(body.name, body.points), motion.picture_points(body.name, spread(body.flexible))], axis=1
    )


def _flexible(body: SceneBody, flexible: SceneFlexible, scene: Scene, values: Array) -> dict[str, Any]:
    """A flexible body as the page wants it; ``values`` (m, F) are its elastic coordinates.

    ``held`` (m, 6) is the motion of its joints that deformations are enlarged beside, ``largest`` the largest
    displacement of a point of its picture beside this motion [m]. ``bent`` are the nodes with a displacement of second
    order, ``weights`` (n, k) its shares at the points; it is never enlarged.
    """
    points, modes = picture_modes(flexible)
    sides = [side for joint in scene.joints for side in (joint, joint.other) if side is not None]
    held = joint_motions(flexible, [side.point for side in sides if side.body == body.name])
    beside = modes - held[:, None, :3] - np.cross(held[:, None, 3:], points[None])
    some = values[:, :: max(1, values.shape[1] // _COMPARED)]
    bent, weights = second_weights(flexible)
    sizes = [float(np.linalg.norm(np.tensordot(eta, beside, 1), axis=1).max(initial=0.0)) for eta in some.T]
    return {
        "points": points,
        "modes": modes,
        "lines": np.array(flexible.lines, dtype=np.int64).reshape(-1, 2),
        "triangles": np.array(flexible.triangles, dtype=np.int64).reshape(-1, 3),
        "nodes": [
            {"name": node.name, "point": list(node.point), "translation": [*map(list, node.translation)],
             "rotation": [*map(list, node.rotation)], "second": [*map(list, node.second)]}
            for node in flexible.nodes
        ],
        "bent": bent,
        "weights": weights,
        "values": values,
        "held": held,
        "largest": max(sizes, default=0.0),
    }  # fmt: skip


def _leaves(scene: Scene) -> dict[str, tuple[list[float], str | None]]:
    """Slides with a spring whose bodies lie beside each other, square to the slide: floors on upright leaf springs.

    For every such joint the foot of its leaves in axes of the first body, and this body.
    """
    sprung = {spring.joint for spring in scene.joint_springs if not spring.turns}
    leaves = {}
    for joint in scene.joints:
        partner = joint.other
        if (
            joint.name in sprung
            and glyph_of(joint).shape == "slide"
            and partner is not None
            and partner.axis is not None
        ):
            point, axis = np.array(partner.point), np.array(partner.axis)
            foot = axis * float(point @ axis)
            if np.linalg.norm(point - foot) > _AT_AXIS + np.linalg.norm(foot):
                leaves[joint.name] = (foot.tolist(), partner.body)
    return leaves


def _bodies(scene: Scene, planar: bool, leaves: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Bodies with the shapes they are drawn with: their own, that of a wheel, or a solid with their inertia."""
    rolling = wheels(scene)
    entries = []
    # where leaf springs are drawn, no bar reaches from a floor to the next
    reached = [(joint.other.body, joint.other.point) for joint in scene.joints if joint.other and joint.name in leaves]
    for body in scene.bodies:
        free_points = [p for p in body.points if (body.name, p) not in reached]
        lines = (
            body.lines if len(free_points) == len(body.points) else [(k, k + 1) for k in range(len(free_points) - 1)]
        )
        entry: dict[str, Any] = {
            "name": body.name,
            "points": list(map(list, free_points)),
            "lines": list(map(list, lines)),
        }
        entry["shape"] = shape_of(_along_joints(body.shape, free_points, planar) or rolling.get(body.name), planar)
        if body.flexible is not None:
            entry["shape"] = None
        if body.pale:
            entry["pale"] = True
        if entry["shape"] is None and not planar and body.gyration is not None:
            entry["shape"] = solid_of(body.gyration)
        entries.append(entry)
    return entries


def _along_joints(shape: SceneShape | None, points: Sequence[Sequence[float]], planar: bool) -> dict[str, Any] | None:
    """The shape of a body; a rod in the plane lies along its joints, since its inertia has no direction."""
    if shape is None:
        return None
    far = max(points, key=lambda p: float(np.linalg.norm(p)), default=(0.0, 0.0, 0.0))
    along = planar and shape.kind == "rod" and np.linalg.norm(far) > 0.0
    return {"kind": shape.kind, "size": shape.size, "axis": far if along else shape.axis, "triangles": shape.triangles,
            "colors": shape.colors}  # fmt: skip


def _ground(scene: Scene) -> Array:
    """Points where a machine is fixed to the ground; origins of planes on which it rolls are left out."""
    places = [(rolls(joint), end) for joint in scene.joints for end in (joint, joint.other) if end is not None]
    planes, fixed = (
        {end.point for rolling, end in places if rolling == which and end.body is None} for which in (True, False)
    )
    free_points = [point for point in scene.ground if point not in planes - fixed]
    return np.array(free_points).reshape(-1, 3)


def _spring(spring: SceneSpring) -> dict[str, Any]:
    ends = {end: [body, list(place)] for end, (body, place) in (("a", spring.a), ("b", spring.b))}
    return {"name": spring.name, **ends, "damped": spring.damped}


def _sag(points: Array) -> float:
    """How far a path (F, n, 3) bends away from the chords of its points, about: an eighth of its second difference."""
    if len(points) < 3:
        return 0.0
    bend = np.linalg.norm(points[2:] - 2 * points[1:-1] + points[:-2], axis=2) / 8
    # a kink, as of an impact, stays a kink at any rate: only the curve between is judged
    return float(np.quantile(bend.max(axis=1), 0.99))


def _check_size(motion: MachineMotion, step: float) -> None:
    poses, bodies = motion.poses, len(motion.scene.bodies)
    length = float(poses.time[-1] - poses.time[0])
    if length / step * len(poses.names) > _MOST_NUMBERS:
        raise DataError(
            "too-large",
            f"{length:.6g} s at {step:.3g} s per picture are {length / step:.3g} pictures of {bodies} bodies, "
            "too much for one page.",
            Advice("Use fewer pictures per second, a higher speed or a part of the run: {}.", Argument("fps"),
                   Argument("speed"), Call("run.between")),
        )  # fmt: skip


def _track(run: Record, motion: MachineMotion, name: str) -> tuple[Array, tuple[str, Place] | None]:
    """(F, 3) path of a named point, and the body and place that it belongs to."""
    joints = {joint.name: joint for joint in motion.scene.joints}
    bodies = [body.name for body in motion.scene.bodies]
    named = {f"{body.name}.{n}": (body.name, at) for body in motion.scene.bodies for n, at in body.named.items()}
    if name in joints:
        body, point = joints[name].body, joints[name].point
        if body is None:
            raise DataError("not-supported", f"joint {name!r} is on the ground and leaves no trail.")
        return motion.points(body, [point])[:, 0], (body, point)
    if name in bodies:
        return motion.origins(name), None
    if name in named:
        body, point = named[name]
        return motion.points(body, [point])[:, 0], (body, point)
    if f"{name}.x" in run.names and f"{name}.y" in run.names:
        measured = run.select(*(channel for axis in "xyz" if (channel := f"{name}.{axis}") in run.names))
        columns = measured.data if len(run) == 1 else interpolate(measured, motion.poses.time).data
        return np.column_stack([columns, np.zeros((len(columns), 3 - columns.shape[1]))]), None
    stems = {n[:-2] for n in run.names if n.endswith(".x") and f"{n[:-2]}.y" in run.names}
    moving = [n for n, joint in joints.items() if joint.body is not None]
    candidates = [*moving, *bodies, *named, *sorted(n for n in stems - set(bodies) if not n.endswith(".force"))]
    raise DataError("unknown-name", unknown_name("point", name, candidates, "the scene"))


def _joint(joint: SceneJoint) -> dict[str, Any]:
    """A joint as the page wants it."""
    glyph, partner = glyph_of(joint), joint.other
    drawn: dict[str, Any] = {"name": joint.name, "type": joint.type, "glyph": glyph.shape, "legend": glyph.legend}
    if joint.lines:
        drawn["lines"] = [list(map(list, line)) for line in joint.lines]
    drawn |= {"body": joint.body, "point": list(joint.point)}
    if joint.axis is not None:
        drawn["axis"] = list(joint.axis)
    if rolls(joint):
        drawn["radius"] = joint.radius
    if partner is not None:
        drawn["other"] = {"body": partner.body, "point": list(partner.point)}
        if partner.axis is not None:
            drawn["other"]["axis"] = list(partner.axis)
    return drawn


def _around(moving: Sequence[Array], motion: MachineMotion) -> list[float]:
    """Half sides of the box that encloses the machine at any time, about the middle of its bodies."""
    origins = [motion.origins(body.name) for body in motion.scene.bodies]
    middle = np.mean(origins, axis=0)
    sides = [np.abs(block - middle[:, None, :]).max(axis=(0, 1)) for block in moving[: len(origins)]]
    half: list[float] = np.max(sides, axis=0).tolist()
    return half


def _bounds(parts: Sequence[Array]) -> tuple[Array, Array, float]:
    """Box around everything, and the radius of the sphere about its centre that holds everything."""
    every = np.concatenate([block.reshape(-1, 3) for block in parts])
    every = every[np.isfinite(every).all(axis=1)]
    low, high = every.min(axis=0), every.max(axis=0)
    if float((high - low).max()) == 0.0:
        low, high = low - 0.5, high + 0.5
    radius = float(np.linalg.norm(every - (low + high) / 2, axis=1).max())
    return low, high, radius or 0.5
