"""Parts of a planar model as a user declares them: bodies, joints, coordinates, speeds and efforts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Node = tuple[str, int]  # body and number, from one


@dataclass(frozen=True, eq=False)
class PlanarBody:
    """A body: the places of its nodes as drawn (2,), its inertia, and the symbols of its nodes, angle and spin."""

    name: str
    places: tuple[Any, ...]
    mass: Any
    inertia: Any
    between: tuple[int, int]
    center: tuple[Any, Any]
    length: Any | None
    radius: float
    positions: tuple[Any, ...]
    velocities: tuple[Any, ...]
    angle: Any
    rate: Any

    @property
    def is_particle(self) -> bool:
        """One node and no inertia: it has no angle."""
        return len(self.places) == 1 and self.inertia.is_zero()


@dataclass(frozen=True, eq=False)
class PlanarJoint:
    """A joint of node b with node a, or with the guide from node a to node ``end``.

    input : channel of a torque or force on the second body; empty for a passive joint.
    apart : the two nodes keep their own variables and two rows join them, whose multipliers are the reaction.
    """

    name: str
    kind: str
    a: Node
    b: Node
    end: Node | None
    input: str
    apart: bool
    coordinate: Any
    rate: Any


@dataclass(frozen=True, eq=False)
class OwnCoordinate:
    """A coordinate of the user and its rate, affine in the speeds."""

    symbol: Any
    rate: Any
    start: float
    unit: str


@dataclass(frozen=True, eq=False)
class OwnSpeed:
    """A quasi-velocity of the user, with its inertia and the generalized force on it."""

    symbol: Any
    inertia: Any
    force: Any
    unit: str


@dataclass(frozen=True, eq=False)
class PlanarEffort:
    """A force at a node (velocity (2,), value (2,)) or a torque on a body (spin, value)."""

    name: str
    velocity: Any
    value: Any
