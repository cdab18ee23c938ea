"""A point on a curve."""

from __future__ import annotations

from typing import Any

from dalembert.core.errors import ModelError
from dalembert.model.bodies import number
from dalembert.model.joints.joint import JOINTS, Coordinate, JointKind, Option


def check_curve(value: object, what: str) -> Any:
    if not callable(value):
        raise ModelError("wrong-type", f"{what} must be a function of its parameter, got {value!r}.")
    return value


def check_start(value: object, what: str) -> float:
    return float(number(value, what))


JOINTS.register(
    "point on curve",
    JointKind(
        "A point of the second body stays on a curve of the first. Coordinate `name.parameter`.",
        rows=(2, 1),
        coordinates=(Coordinate("parameter", "parameter_rate", ""),),
        options=(
            Option("curve", "curve", "coordinates in the first frame as expressions of s", check=check_curve),
            Option("start", "number", "first guess of s", 0.0, check=check_start),
        ),
        variables=(("parameter", "start"),),
    ),
)
