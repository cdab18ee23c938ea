"""Forces in the picture of a mechanism: springs, arrows of forces, bent arrows of torques, as parts of its scene."""

from __future__ import annotations

from typing import Any

from dalembert.equations.scene import End, Place, SceneForce, SceneJointSpring, SceneSpring, SceneTorque
from dalembert.model import Mechanism


def drawn_place(coordinates: Any) -> Place:
    """Three coordinates, also of a point in the plane."""
    values = [round(float(c), 12) for c in coordinates]
    return (*values, 0.0)[:3]  # type: ignore[return-value]


def drawn_end(place: Any) -> End:
    """A body by its name (None for the ground) and a point of it."""
    return None if place.body.is_ground else place.body.name, drawn_place(place.coordinates)


class Drawing:
    """Collects the forces in the picture; efforts act along the axes of joints."""

    def __init__(self, m: Mechanism) -> None:
        self.m = m
        self.springs: list[SceneSpring] = []
        self.joint_springs: list[SceneJointSpring] = []
        self.forces: list[SceneForce] = []
        self.torques: list[SceneTorque] = []
        self.efforts: list[SceneTorque] = []

    def spring(self, name: str, a: object, b: object, *, damped: bool) -> None:
        """A coil between two points, with a damper in it where there is damping."""
        self.springs.append(SceneSpring(name, drawn_end(a), drawn_end(b), damped))

    def joint_spring(self, name: str, coordinate: str) -> None:
        """A coil along a slide, a spiral at a hinge."""
        joint, part = self._coordinate(coordinate)
        if part in ("angle", "displacement"):
            self.joint_springs.append(SceneJointSpring(name, joint, part == "angle"))

    def force(
        self, name: str, point: object, vector: object, *, axes: str = "world", channel: str | None = None
    ) -> None:
        """An arrow at a point: a constant vector, or one times an input."""
        self.forces.append(SceneForce(name, drawn_end(point), drawn_place(vector), axes, channel))

    def torque(self, name: str, body: Any, vector: Any, *, axes: str = "world", channel: str | None = None) -> None:
        """A bent arrow at a body: a constant vector (a number in the plane), or one times an input."""
        shown = (0.0, 0.0, float(vector)) if self.m.planar else drawn_place(vector)
        self.torques.append(SceneTorque(name, body.name, shown, axes, input=channel))

    def effort(self, name: str, coordinate: str, effort: Any, channel: str | None = None) -> None:
        """An arrow along a slide or a bent one about a hinge: constant, or times a channel of the record."""
        joint, part = self._coordinate(coordinate)
        if part in ("angle", "displacement"):
            turns, size = part == "angle", float(effort)
            self.efforts.append(SceneTorque(name, joint=joint, turns=turns, effort=size, input=channel))

    def _coordinate(self, name: str) -> tuple[str, str]:
        """Joint and coordinate of ``"A"`` or ``"A.angle"``; two empty texts where it is none of a joint."""
        for joint in self.m.joints:
            kinds = [coordinate[0] for coordinate in joint.coordinates]
            if name == joint.name and len(kinds) == 1:
                return joint.name, kinds[0]
            if name.startswith(f"{joint.name}.") and name[len(joint.name) + 1 :] in kinds:
                return joint.name, name[len(joint.name) + 1 :]
        return "", ""
