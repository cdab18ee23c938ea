"""What a picture of a mechanism needs: points and lines of bodies, joints, springs. Plain data."""

from __future__ import annotations

from typing import Any

from dalembert.model import Body, Mechanism
from dalembert.model.forces import PointForce, Spring


def _place(coordinates: Any) -> list[float]:
    values = [round(float(c), 12) for c in coordinates]
    return values if len(values) == 3 else [*values, 0.0]


def scene_of(m: Mechanism) -> dict[str, Any]:
    points: dict[int, list[list[float]]] = {id(b): [] for b in [m.ground, *m.bodies]}
    joints = []

    def end(place: Any) -> list[Any]:
        return [None if place.body.is_ground else place.body.name, _place(place.coordinates)]

    def note(body: Body, coordinates: Any) -> None:
        place = _place(coordinates)
        if place not in points[id(body)]:
            points[id(body)].append(place)

    for joint in m.joints:
        for frame in (joint.a, joint.b):
            note(frame.body, frame.coordinates)
        body, point = end(joint.b)
        other = dict(zip(("body", "point"), end(joint.a), strict=True))
        drawn: dict[str, Any] = {"name": joint.name, "type": joint.kind, "body": body, "point": point, "other": other}
        if not m.planar:
            drawn["axis"] = [float(row[2]) for row in joint.b.axes]
        if "radius" in joint.options:
            drawn["radius"] = float(joint.options["radius"])
        joints.append(drawn)
    springs, forces = [], []
    for force in m.forces:
        if isinstance(force, PointForce) and not callable(force.force):
            pushed = {"name": force.name, "at": end(force.point), "vector": _place(force.force)}
            forces.append({**pushed, "axes": force.axes, "input": force.input})
        if isinstance(force, Spring):
            springs.append({"name": force.name, "a": end(force.a), "b": end(force.b)})
    bodies = []
    for body in m.bodies:
        own = points[id(body)]
        origin = [0.0, 0.0, 0.0]
        if len(own) == 1 and own[0] != origin:
            own = [*own, origin]
        if not own:
            own = [origin]
        lines = [[k, k + 1] for k in range(len(own) - 1)]
        if len(own) > 2:
            lines.append([len(own) - 1, 0])
        entry: dict[str, Any] = {"name": body.name, "points": own, "lines": lines}
        if body.shape is not None:
            entry["shape"] = {
                "kind": body.shape.kind,
                "size": [float(x) for x in body.shape.size],
                "axis": body.shape.axis,
            }
        bodies.append(entry)
    scene: dict[str, Any] = {"planar": m.planar, "bodies": bodies, "ground": points[id(m.ground)]}
    scene |= {"joints": joints, "springs": springs}
    if not m.planar:
        scene["gravity"] = _place(m.gravity)
    return {**scene, "forces": forces} if forces else scene
