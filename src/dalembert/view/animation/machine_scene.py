"""What the page draws of a run of a machine: bodies with their poses, joints, springs, trails, forces, channels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.errors import DataError, unknown_name
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

_PLANAR = ("x", "y", "angle")
_SPATIAL = ("x", "y", "z", "e0", "e1", "e2", "e3")
_MOST_NUMBERS = 5_000_000  # about 20 MB of page
_ENOUGH_NUMBERS = 500_000  # up to here pictures are added for smoothness' sake
_FLATNESS = 1.5e-3  # of the radius of the scene: half a pixel


def machine_data(
    run: Record, fps: float, speed: float, trails: Iterable[str], shown: Sequence[str] = ()
) -> dict[str, Any]:
    """Everything the page draws, in plain values; its plots open with the channels ``shown``."""
    if not isinstance(run, Record):
        raise DataError("wrong-type", f"animate takes a Record, not a {type(run).__name__}.")
    scene = run.scene
    if scene is None:
        raise DataError(
            "no-scene",
            "this record has no scene to draw: it was measured, or read from CSV. Give the mechanism that it is a run "
            "of (structure=...), or store runs as netCDF or Parquet, which keep the scene.",
        )
    planar = bool(scene.get("planar", False))
    leaves = _leaves(scene) if planar else {}
    bodies = _bodies(scene, planar, leaves)
    names = list(dict.fromkeys(trails))
    source = _poses(run, [str(body["name"]) for body in bodies], planar, speed / fps)
    springs = list(scene.get("springs", []))
    ground = _ground(scene)
    fixed = [ground]
    ends = [(end[0], points3([end[1]])[0]) for spring in springs for end in (spring["a"], spring["b"])]
    fixed += [place[None, :] for body, place in ends if body is None]
    by_name = {str(joint["name"]): joint for joint in scene.get("joints", [])}
    fixed += [points3([foot]) for name, foot in leaves.items() if by_name[name]["other"].get("body") is None]
    known = {str(body["name"]) for body in bodies}
    held = [(str(body), place) for body, place in ends if body in known]
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
    gravity = points3([scene.get("gravity", [0, 0, 0])])[0].tolist()
    channels = _PLANAR if planar else _SPATIAL
    for body in bodies:
        body["pose"] = np.stack([poses[f"{body['name']}.{c}"] for c in channels])
        body["points"] = points3(body.get("points", [])).tolist()
    joints = [_joint(joint) for joint in scene.get("joints", [])]
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
        "springs": [_spring(spring) for spring in springs],
        "joint_springs": [
            {"name": str(one["name"]), "joint": str(one["joint"]), "turns": bool(one.get("turns"))}
            | ({"foot": leaves[str(one["joint"])]} if one["joint"] in leaves else {})
            for one in scene.get("joint_springs", [])
            if one["joint"] in names_of_joints
        ],
        "trails": [{"name": name, "points": track} for name, track in zip(names, tracks)],
        "forces": efforts(run, scene, joints, poses, radius),
        "channels": channels_of(run, shown),
    }


def _leaves(scene: Mapping[str, Any]) -> dict[str, list[float]]:
    """Slides with a spring whose bodies lie beside each other, square to the slide: floors on upright leaf springs.

    For every such joint the foot of its leaves in axes of the first body.
    """
    sprung = {str(one["joint"]) for one in scene.get("joint_springs", []) if not one.get("turns")}
    found = {}
    for joint in scene.get("joints", []):
        other = joint.get("other") or {}
        if joint["name"] in sprung and glyph_of(joint).shape == "slide" and other.get("axis") is not None:
            point, axis = points3([other["point"]])[0], points3([other["axis"]])[0]
            foot = axis * float(point @ axis)
            if np.linalg.norm(point - foot) > 1e-9 + np.linalg.norm(foot):
                found[str(joint["name"])] = foot.tolist()
    return found


def _bodies(scene: Mapping[str, Any], planar: bool, leaves: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Bodies with the shapes they are drawn with: their own, that of a wheel, or what their inertia tells."""
    rolling = wheels(scene)
    found = []
    # where leaf springs are drawn, no bar reaches from a floor to the next
    reached = [
        (joint["other"].get("body"), points3([joint["other"]["point"]])[0].tolist())
        for joint in scene.get("joints", []) if joint["name"] in leaves
    ]  # fmt: skip
    for body in scene.get("bodies", []):
        entry = {key: value for key, value in body.items() if key != "gyration"}
        kept = [p for p in points3(body.get("points", [])).tolist() if (body["name"], p) not in reached]
        if len(kept) < len(body.get("points", [])):
            entry |= {"points": kept, "lines": [[k, k + 1] for k in range(len(kept) - 1)]}
        entry["shape"] = shape_of(_along_joints(body, kept, planar) or rolling.get(body["name"]), planar)
        if entry["shape"] is None and not planar and body.get("gyration") is not None:
            entry["shape"] = solid_of(body["gyration"])
        found.append(entry)
    return found


def _along_joints(body: Mapping[str, Any], points: Sequence[Sequence[float]], planar: bool) -> Any:
    """The shape of a body; a rod in the plane lies along its joints, for its inertia does not know a direction."""
    shape = body.get("shape")
    far = max(points, key=lambda p: float(np.linalg.norm(p)), default=[0.0, 0.0, 0.0])
    if planar and shape and shape.get("kind") == "rod" and np.linalg.norm(far) > 0.0:
        return {**shape, "axis": list(far)}
    return shape


def still(eqs: Any, state: Any, name: str = "") -> Record:
    """A record of one instant: the machine standing in a state."""
    scene = eqs.scene or {}
    channels = _PLANAR if scene.get("planar") else _SPATIAL
    wanted = [f"{body['name']}.{c}" for body in scene.get("bodies", []) for c in channels]
    columns = {one: [state[one]] for one in wanted}
    return Record.from_channels([0.0], columns, name=name or eqs.name, scene=scene)


def _ground(scene: Mapping[str, Any]) -> Array:
    """Points where a machine stands; that a plane on which it rolls has an origin is not to be seen."""
    joints = scene.get("joints", [])
    places = [(rolls(joint), end) for joint in joints for end in (joint, joint.get("other") or {})]
    planes, stands = (
        {tuple(points3([end["point"]])[0]) for rolls, end in places if rolls == which and end.get("body", "") is None}
        for which in (True, False)
    )
    kept = [point for point in points3(scene.get("ground", [])) if tuple(point) not in planes - stands]
    return np.array(kept).reshape(-1, 3)


def _spring(spring: Mapping[str, Any]) -> dict[str, Any]:
    ends = {end: [spring[end][0], points3([spring[end][1]])[0].tolist()] for end in ("a", "b")}
    return {"name": str(spring.get("name", "")), **ends, "damped": bool(spring.get("damped", False))}


def _sag(points: Array) -> float:
    """How far a path (F, n, 3) bends away from the chords of its points, about: an eighth of its second difference."""
    if len(points) < 3:
        return 0.0
    bend = np.linalg.norm(points[2:] - 2 * points[1:-1] + points[:-2], axis=2) / 8
    # one kink, as of an impact, is a kink at any rate: what counts is the curve
    return float(np.quantile(bend.max(axis=1), 0.99))


def _poses(run: Record, bodies: Sequence[str], planar: bool, step: float) -> Record:
    """The poses of all bodies as recorded, checked."""
    if not bodies:
        raise DataError("empty", "the scene of this record has no bodies.")
    wanted = [f"{body}.{channel}" for body in bodies for channel in (_PLANAR if planar else _SPATIAL)]
    missing = [name for name in wanted if name not in run.names]
    if missing:
        raise DataError(
            "missing-channel",
            f"the pose of a body is not in the record: {unknown_name('channel', missing[0], run.names)} "
            "Animate the whole run, not a selection of channels.",
        )
    poses = run.select(*wanted)
    if not np.isfinite(poses.data).all():
        bad = wanted[int(np.argmax(~np.isfinite(poses.data).all(axis=0)))]
        raise DataError(
            "not-finite", f"channel {bad!r} has gaps; animate a part without them: run.between(start, stop)."
        )
    length = float(run.time[-1] - run.time[0])
    if length / step * len(wanted) > _MOST_NUMBERS:
        raise DataError(
            "too-large",
            f"{length:.6g} s at {step:.3g} s per picture are {length / step:.3g} pictures of {len(bodies)} bodies, "
            f"too much for one page. Use fewer fps, more speed, or run.between(start, stop).",
        )
    return poses if planar else _continuous(poses, bodies)


def _frames(poses: Record, step: float) -> Record:
    """The poses at the times of the pictures."""
    if len(poses) == 1:
        return poses
    # the last picture is the last sample: the step is made to fit
    length = float(poses.time[-1] - poses.time[0])
    return _between(poses, np.linspace(poses.time[0], poses.time[-1], max(2, round(length / step) + 1)))


def _between(run: Record, times: Array) -> Record:
    """At other times: along a cubic where the samples are not many more than the times."""
    smooth = 4 <= len(run) < 4 * times.size and not run.has_gaps()
    return run.resample(times=times, kind="cubic" if smooth else "linear")


def _continuous(poses: Record, bodies: Sequence[str]) -> Record:
    """Quaternions without jumps of sign, so that what lies between two of them is between the two poses."""
    data = poses.data.copy()
    for i in range(len(bodies)):
        e = data[:, 7 * i + 3 : 7 * i + 7]
        flips = np.where(np.einsum("ij,ij->i", e[1:], e[:-1]) < 0.0, -1.0, 1.0)
        e[1:] *= np.cumprod(flips)[:, None]
    return Record(poses.time, data, poses.names)


def _track(run: Record, scene: Mapping[str, Any], poses: Record, name: str, planar: bool) -> Array:
    """(F, 3) path of a named point."""
    joints = {str(joint["name"]): joint for joint in scene.get("joints", [])}
    bodies = [str(body["name"]) for body in scene.get("bodies", [])]
    if name in joints:
        body, point = joints[name].get("body"), points3([joints[name]["point"]])
        if body is None:
            raise DataError("not-supported", f"joint {name!r} is on the ground and leaves no trail.")
        return world_points(poses, body, point, planar)[:, 0]
    if name in bodies:
        return world_points(poses, name, [[0, 0, 0]], planar)[:, 0]
    named = {f"{body['name']}.{n}": (str(body["name"]), at) for body in scene.get("bodies", [])
             for n, at in body.get("named", {}).items()}  # fmt: skip
    if name in named:
        return world_points(poses, named[name][0], points3([named[name][1]]), planar)[:, 0]
    if f"{name}.x" in run.names and f"{name}.y" in run.names:
        found = run.select(name)[name] if len(run) == 1 else _resampled(run, name, poses.time)
        return np.column_stack([found, np.zeros((len(found), 3 - found.shape[1]))])
    stems = {n[:-2] for n in run.names if n.endswith(".x") and f"{n[:-2]}.y" in run.names}
    moving = [n for n, joint in joints.items() if joint.get("body") is not None]
    known = [*moving, *bodies, *named, *sorted(n for n in stems - set(bodies) if not n.endswith(".force"))]
    raise DataError("unknown-name", unknown_name("point", name, known, "the scene"))


def _resampled(run: Record, name: str, times: Array) -> Array:
    axes = [part for axis in "xyz" if (part := f"{name}.{axis}") in run.names]
    return _between(run.select(*axes), times).data


def _joint(joint: Mapping[str, Any]) -> dict[str, Any]:
    """A joint as the page wants it; scenes of old have no point on the other body."""
    drawn: dict[str, Any] = {"name": str(joint["name"]), "type": str(joint.get("type", ""))}
    drawn |= {"glyph": glyph_of(joint).shape, "legend": glyph_of(joint).legend}
    if joint.get("lines"):
        drawn["lines"] = [points3(line).tolist() for line in joint["lines"]]
    drawn |= {"body": joint.get("body"), "point": points3([joint["point"]])[0].tolist()}
    if joint.get("axis") is not None:
        drawn["axis"] = points3([joint["axis"]])[0].tolist()
    if rolls(joint):
        drawn["radius"] = float(joint["radius"])
    other = joint.get("other")
    if other:
        drawn["other"] = {"body": other.get("body"), "point": points3([other["point"]])[0].tolist()}
        if other.get("axis") is not None:
            drawn["other"]["axis"] = points3([other["axis"]])[0].tolist()
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
