"""What the page draws of a run of a machine: bodies with their poses, joints, springs, trails, forces, channels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.errors import DataError, unknown_name
from dalembert.record import Array, Record
from dalembert.view.channels import channels_of

_PLANAR = ("x", "y", "angle")
_SPATIAL = ("x", "y", "z", "e0", "e1", "e2", "e3")
_MOST_NUMBERS = 5_000_000  # about 20 MB of page
_MOST_FORCES = 1_500_000  # numbers of forces, beyond which there are no arrows
_ENOUGH_NUMBERS = 500_000  # up to here pictures are added for smoothness' sake
_FLATNESS = 1.5e-3  # of the radius of the scene: half a pixel


def machine_data(run: Record, fps: float, speed: float, trails: Iterable[str]) -> dict[str, Any]:
    """Everything the page draws, in plain values."""
    if not isinstance(run, Record):
        raise DataError(f"animate takes a Record, not a {type(run).__name__}.")
    scene = run.scene
    if scene is None:
        raise DataError(
            "this record has no scene to draw: it was measured, or read from CSV. "
            "Animate the run that da.simulate gave, or store it as netCDF, which keeps the scene."
        )
    planar = bool(scene.get("planar", False))
    wheels = _wheels(scene)
    bodies = [
        {**body, "shape": _shape(body.get("shape") or wheels.get(body["name"]), planar)}
        for body in scene.get("bodies", [])
    ]
    names = list(dict.fromkeys(trails))
    source = _poses(run, [str(body["name"]) for body in bodies], planar, speed / fps)
    springs = list(scene.get("springs", []))
    ground = _ground(scene)
    fixed = [ground]
    fixed += [_points([end[1]]) for spring in springs for end in (spring["a"], spring["b"]) if end[0] is None]
    refined = 1
    while True:
        poses = _frames(source, speed / fps / refined)
        tracks = [_track(run, scene, poses, name, planar) for name in names]
        moving = [_world_points(poses, body, planar) for body in bodies] + [track[:, None, :] for track in tracks]
        low, high, radius = _bounds([*moving, *fixed])
        # a picture more halves the time between two and quarters the sag of a curve below its chord
        sag = max(_sag(points) for points in moving)
        enough = 2 * poses.data.size > _ENOUGH_NUMBERS or len(poses) > 8 * len(run)
        if sag <= _FLATNESS * radius or enough or len(run) < 4:
            break
        refined *= 2
    times = poses.time
    channels = _PLANAR if planar else _SPATIAL
    for body in bodies:
        body["pose"] = np.stack([poses[f"{body['name']}.{c}"] for c in channels])
        body["points"] = _points(body.get("points", [])).tolist()
    joints = [_joint(joint) for joint in scene.get("joints", [])]
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
        "up": -1 if not planar and list(scene.get("gravity", [0, 0, -1]))[2] > 0 else 1,
        "own": min(radius, max(_bounds([*(part[:1] for part in moving), *fixed])[2], 0.02 * radius)),
        "bodies": bodies,
        "ground": ground.tolist(),
        "joints": joints,
        "springs": [_spring(spring) for spring in springs],
        "trails": [{"name": name, "points": track} for name, track in zip(names, tracks)],
        "forces": _forces(run, scene, joints, poses),
        "channels": channels_of(run),
    }


def _rolls(joint: Mapping[str, Any]) -> bool:
    return float(joint.get("radius") or 0.0) > 0.0


def _wheels(scene: Mapping[str, Any]) -> dict[Any, dict[str, Any]]:
    """Shapes of bodies that have none and roll: a disc, or a ball."""
    found = {}
    for joint in filter(_rolls, scene.get("joints", [])):
        radius = float(joint["radius"])
        ball = "sphere" in str(joint.get("type"))
        disc = {"kind": "cylinder", "size": [radius, 0.1 * radius], "axis": joint.get("axis", "z")}
        found[joint.get("body")] = {"kind": "sphere", "size": [radius]} if ball else disc
    return found


def _ground(scene: Mapping[str, Any]) -> Array:
    """Points where a machine stands; that a plane on which it rolls has an origin is not to be seen."""
    joints = scene.get("joints", [])
    places = [(_rolls(joint), end) for joint in joints for end in (joint, joint.get("other") or {})]
    planes, stands = (
        {tuple(_points([end["point"]])[0]) for rolls, end in places if rolls == which and end.get("body", "") is None}
        for which in (True, False)
    )
    kept = [point for point in _points(scene.get("ground", [])) if tuple(point) not in planes - stands]
    return np.array(kept).reshape(-1, 3)


def _forces(run: Record, scene: Mapping[str, Any], joints: Sequence[Mapping[str, Any]], poses: Record) -> list[Any]:
    """Arrows in world axes: what joints do to their second bodies, and the forces on points that the scene names.

    A force of the scene is ``{"name", "at": [body, point], "vector", "axes", "input"}``: a constant vector in world or
    body axes, times the channel of its input where it has one.
    """
    times, planar = poses.time, bool(scene.get("planar", False))
    known = set(run.names)
    reactions = [
        (joint, names) for joint in joints
        if len(names := [c for axis in "xyz" if (c := f"{joint['name']}.force.{axis}") in known]) >= 2
    ]  # fmt: skip
    applied = [force for force in scene.get("forces", []) if force.get("input") is None or force["input"] in known]
    if 3 * (len(reactions) + len(applied)) * times.size > _MOST_FORCES:
        return []

    def at(names: Sequence[str]) -> Array:
        some = run.select(*names)
        values = some.data if len(run) == 1 else some.resample(times=times, kind="linear").data
        return np.where(np.isfinite(values), values, 0.0)

    drawn = []
    for joint, names in reactions:
        values = np.zeros((times.size, 3))
        values[:, : len(names)] = at(names)
        end = {"body": joint["body"], "point": joint["point"]}
        drawn.append({"name": joint["name"], "kind": "reaction", **end, "values": values})
    for force in applied:
        body, point = force["at"]
        values = np.tile(_points([force["vector"]]), (times.size, 1))
        if force.get("axes") == "body" and body is not None:
            ends = _world_points(poses, {"name": body, "points": [[0, 0, 0], *values[:1]]}, planar)
            values = ends[:, 1] - ends[:, 0]
        if force.get("input") is not None:
            values = values * at([force["input"]])
        end = {"body": body, "point": _points([point])[0].tolist()}
        drawn.append({"name": str(force["name"]), "kind": "applied", **end, "values": values})
    return [force for force in drawn if np.abs(force["values"]).max() > 0.0]


def _spring(spring: Mapping[str, Any]) -> dict[str, Any]:
    ends = {end: [spring[end][0], _points([spring[end][1]])[0].tolist()] for end in ("a", "b")}
    return {"name": str(spring.get("name", "")), **ends}


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
        raise DataError("the scene of this record has no bodies.")
    wanted = [f"{body}.{channel}" for body in bodies for channel in (_PLANAR if planar else _SPATIAL)]
    missing = [name for name in wanted if name not in run.names]
    if missing:
        raise DataError(
            f"the pose of a body is not in the record: {unknown_name('channel', missing[0], run.names)} "
            "Animate the whole run, not a selection of channels."
        )
    poses = run.select(*wanted)
    if not np.isfinite(poses.data).all():
        bad = wanted[int(np.argmax(~np.isfinite(poses.data).all(axis=0)))]
        raise DataError(f"channel {bad!r} has gaps; animate a part without them: run.between(start, stop).")
    length = float(run.time[-1] - run.time[0])
    if length / step * len(wanted) > _MOST_NUMBERS:
        raise DataError(
            f"{length:.6g} s at {step:.3g} s per picture are {length / step:.3g} pictures of {len(bodies)} bodies, "
            f"too much for one page. Use fewer fps, more speed, or run.between(start, stop)."
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
        body, point = joints[name].get("body"), _points([joints[name]["point"]])
        if body is None:
            raise DataError(f"joint {name!r} is on the ground and leaves no trail.")
        return _world_points(poses, {"name": body, "points": point}, planar)[:, 0]
    if name in bodies:
        return _world_points(poses, {"name": name, "points": [[0, 0, 0]]}, planar)[:, 0]
    if f"{name}.x" in run.names and f"{name}.y" in run.names:
        found = run.select(name)[name] if len(run) == 1 else _resampled(run, name, poses.time)
        return np.column_stack([found, np.zeros((len(found), 3 - found.shape[1]))])
    stems = {n[:-2] for n in run.names if n.endswith(".x") and f"{n[:-2]}.y" in run.names}
    raise DataError(unknown_name("point", name, [*joints, *bodies, *sorted(stems - set(bodies))], "the scene"))


def _resampled(run: Record, name: str, times: Array) -> Array:
    axes = [part for axis in "xyz" if (part := f"{name}.{axis}") in run.names]
    return _between(run.select(*axes), times).data


def _points(points: Any) -> Array:
    """(n, 3) from points of two or three coordinates."""
    rows = [[*map(float, point), 0.0][:3] for point in points]
    return np.asarray(rows, dtype=np.float64).reshape(-1, 3)


def _joint(joint: Mapping[str, Any]) -> dict[str, Any]:
    """A joint as the page wants it; scenes of old have no point on the other body."""
    drawn: dict[str, Any] = {"name": str(joint["name"]), "type": str(joint.get("type", ""))}
    drawn |= {"body": joint.get("body"), "point": _points([joint["point"]])[0].tolist()}
    if joint.get("axis") is not None:
        drawn["axis"] = _points([joint["axis"]])[0].tolist()
    if _rolls(joint):
        drawn["radius"] = float(joint["radius"])
    other = joint.get("other")
    if other:
        drawn["other"] = {"body": other.get("body"), "point": _points([other["point"]])[0].tolist()}
    return drawn


def _shape(shape: Mapping[str, Any] | None, planar: bool) -> dict[str, Any] | None:
    """A shape as the page wants it: box with size, cylinder with radius, length, axis, sphere, rod with its ends."""
    if not shape:
        return None
    kind, axis = str(shape.get("kind")), shape.get("axis") or "z"
    size = [float(v) for v in shape.get("size", [])]
    if kind == "sphere":
        return {"kind": kind, "radius": float(shape.get("radius", size[0] if size else 0.0))}
    along = np.eye(3)["xyz".index(axis)] if isinstance(axis, str) else np.asarray(axis, dtype=np.float64)
    along = along / (np.linalg.norm(along) or 1.0)
    if kind == "rod":
        end = along * float(shape.get("length", size[0] if size else 0.0)) / 2
        return {"kind": kind, "ends": [(-end).tolist(), end.tolist()]}
    if kind == "cylinder":
        radius = float(shape.get("radius", size[0] if size else 0.0))
        length = float(shape.get("length", size[1] if len(size) > 1 else 0.0))
        if planar and abs(along[2]) < 0.5:  # seen from its side
            return {"kind": "box", "size": [*(np.abs(along[:2]) * (length - 2 * radius) + 2 * radius), 2 * radius]}
        return {"kind": kind, "radius": radius, "length": length, "axis": along.tolist()}
    if kind == "box":
        return {"kind": kind, "size": [*size, 0.0, 0.0, 0.0][:3]}
    return None


def _corners(body: Mapping[str, Any]) -> Array:
    """Points that hold a body, its origin and its shape."""
    points = [*_points(body.get("points", [])), np.zeros(3)]
    shape = body.get("shape") or {}
    if shape.get("kind") == "rod":
        points += [*_points(shape["ends"])]
    elif shape:
        half = np.array(shape["size"]) / 2 if "size" in shape else np.full(3, shape["radius"])
        half = np.maximum(half, np.abs(shape.get("axis", np.zeros(3))) * shape.get("length", 0.0) / 2)
        points += [half, -half]
    return np.array(points)


def _world_points(poses: Record, body: Mapping[str, Any], planar: bool) -> Array:
    """(F, n, 3) body-fixed points in the world."""
    name = body["name"]
    points = _points(body["points"]) if set(body) == {"name", "points"} else _corners(body)
    if planar:
        c, s = np.cos(poses[f"{name}.angle"]), np.sin(poses[f"{name}.angle"])
        zero, one = np.zeros_like(c), np.ones_like(c)
        R = np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]]).transpose(2, 0, 1)
        origin = np.column_stack([poses[f"{name}.x"], poses[f"{name}.y"], zero])
    else:
        e = poses[[f"{name}.e{i}" for i in range(4)]]
        e = e / np.linalg.norm(e, axis=1, keepdims=True)
        w, x, y, z = e.T
        R = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        ).transpose(2, 0, 1)
        origin = poses[[f"{name}.{axis}" for axis in "xyz"]]
    return np.asarray(np.einsum("fij,nj->fni", R, points) + origin[:, None, :], dtype=np.float64)


def _bounds(parts: Sequence[Array]) -> tuple[Array, Array, float]:
    """Box around everything, and the radius of the sphere about its centre that holds everything."""
    every = np.concatenate([part.reshape(-1, 3) for part in parts])
    every = every[np.isfinite(every).all(axis=1)]
    low, high = every.min(axis=0), every.max(axis=0)
    if float((high - low).max()) == 0.0:
        low, high = low - 0.5, high + 0.5
    radius = float(np.linalg.norm(every - (low + high) / 2, axis=1).max())
    return low, high, radius or 0.5
