"""Forces in the picture of a mechanism: springs, arrows of forces, bent arrows of torques. Plain data."""

from __future__ import annotations

from typing import Any

from dalembert.model import Mechanism


def drawn_place(coordinates: Any) -> list[float]:
    """Three coordinates, also of a point in the plane."""
    values = [round(float(c), 12) for c in coordinates]
    return values if len(values) == 3 else [*values, 0.0]


def drawn_end(place: Any) -> list[Any]:
    """A body by its name (None for the ground) and a point of it."""
    return [None if place.body.is_ground else place.body.name, drawn_place(place.coordinates)]


class Drawing:
    """Collects what the picture shows of forces.

    springs : ``{"name", "a", "b", "damped"}``.  joint_springs : ``{"name", "joint", "turns"}``.
    forces : ``{"name", "at", "vector", "axes", "input"}``: a vector in world or body axes, times an input.
    torques : on bodies, ``{"name", "body", "vector", "axes", "input"}``.
    efforts : ``{"name", "joint", "turns", "effort", "input"}``: about the axis of the joint, or along it.
    """

    def __init__(self, m: Mechanism) -> None:
        self.m = m
        self.springs: list[dict[str, Any]] = []
        self.joint_springs: list[dict[str, Any]] = []
        self.forces: list[dict[str, Any]] = []
        self.torques: list[dict[str, Any]] = []
        self.efforts: list[dict[str, Any]] = []

    def spring(self, name: str, a: Any, b: Any, *, damped: bool) -> None:
        """A coil between two points, with a damper in it where there is damping."""
        self.springs.append({"name": name, "a": drawn_end(a), "b": drawn_end(b), "damped": damped})

    def joint_spring(self, name: str, coordinate: str) -> None:
        """A coil along a slide, a spiral at a hinge."""
        joint, part = self._coordinate(coordinate)
        if part in ("angle", "displacement"):
            self.joint_springs.append({"name": name, "joint": joint, "turns": part == "angle"})

    def force(self, name: str, point: Any, vector: Any, *, axes: str = "world", channel: str | None = None) -> None:
        """An arrow at a point: a constant vector, or one times an input."""
        pushed = {"name": name, "at": drawn_end(point), "vector": drawn_place(vector)}
        self.forces.append({**pushed, "axes": axes, "input": channel})

    def torque(self, name: str, body: Any, vector: Any, *, axes: str = "world", channel: str | None = None) -> None:
        """A bent arrow at a body: a constant vector (a number in the plane), or one times an input."""
        shown = [0.0, 0.0, float(vector)] if self.m.planar else drawn_place(vector)
        self.torques.append({"name": name, "body": body.name, "vector": shown, "axes": axes, "input": channel})

    def effort(self, name: str, coordinate: str, effort: Any, channel: str | None = None) -> None:
        """An arrow along a slide or a bent one about a hinge: constant, or times a channel of the record."""
        joint, part = self._coordinate(coordinate)
        if part in ("angle", "displacement"):
            own = {"joint": joint, "turns": part == "angle", "effort": float(effort), "input": channel}
            self.efforts.append({"name": name, **own})

    def _coordinate(self, name: str) -> tuple[str, str]:
        """Joint and coordinate of ``"A"`` or ``"A.angle"``; two empty texts where it is none of a joint."""
        for joint in self.m.joints:
            kinds = [coordinate[0] for coordinate in joint.coordinates]
            if name == joint.name and len(kinds) == 1:
                return joint.name, kinds[0]
            if name.startswith(f"{joint.name}.") and name[len(joint.name) + 1 :] in kinds:
                return joint.name, name[len(joint.name) + 1 :]
        return "", ""
