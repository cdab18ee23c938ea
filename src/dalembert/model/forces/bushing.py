"""An elastic joint."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from dalembert.model.bodies import Place, Scalar, Vector, is_number, not_negative, vector
from dalembert.model.forces.force import Force, force
from dalembert.model.options import option


@force("bushing")
class Bushing(Force):
    """An elastic joint: springs and dampers along and about the axes of the first frame, below half a turn.

    They act at the origin of the second frame. The angles are the rotation vector θ from the first frame to the second:
    V = ½ Σ kᵢ θᵢ², the torque its derivative, for turns below half a turn (beyond it θ takes the shorter way round and
    the torque changes sign). Numbers are one for all axes, or one each.
    """

    a: Place = option("frame", "frame on the first body")
    b: Place = option("frame", "frame on the second body")
    _: KW_ONLY
    stiffness: Scalar | Vector = option("stiffness", "along the axes", default=0.0, many=True)
    damping: Scalar | Vector = option("damping", "along the axes", default=0.0, many=True)
    rotational_stiffness: Scalar | Vector = option("rotational stiffness", "about the axes", default=0.0, many=True)
    rotational_damping: Scalar | Vector = option("rotational damping", "about the axes", default=0.0, many=True)

    def check(self) -> None:
        planar = self.bodies()[0].planar
        for key, count in (("stiffness", 2 if planar else 3), ("rotational_stiffness", 1 if planar else 3)):
            for each in (key, key.replace("stiffness", "damping")):
                object.__setattr__(self, each, _spread(getattr(self, each), count, f"{self.what}: {each}"))


def _spread(value: object, count: int, what: str) -> tuple[Any, ...]:
    values = (value,) * count if is_number(value) else vector(value, count, what)
    return tuple(not_negative(x, what) for x in values)
