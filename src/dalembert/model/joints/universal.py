"""A Cardan joint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.core.errors import ModelError
from dalembert.model.bodies import apply
from dalembert.model.joints.joint import AT, AXIS, JOINTS, Coordinate, Glyph, Joint, JointKind, Option, Z


def check(joint: Joint, given: Mapping[str, Any], digits: float = 1e-9) -> None:
    """Axes given in the drawing are square to each other there; digits : cosine of axes written with nine digits."""
    if given.get("at") is None:
        return
    first, second = (apply(side.body.rotation, [row[2] for row in side.axes]) for side in (joint.a, joint.b))
    cosine = sum(p * q for p, q in zip(first, second, strict=True))
    if abs(cosine) > digits:
        problem = f"universal joint {joint.name!r}: axis and second_axis must be square to each other."
        raise ModelError("not-perpendicular", problem, where={"joint": joint.name}, evidence={"cosine": cosine})


JOINTS.register(
    "universal",
    JointKind(
        "A Cardan joint: `axis` (first body) stays square to `second_axis` (second). `name.angle1`, `name.angle2`.",
        rows=(4, None),
        coordinates=(Coordinate("angle1", "rate1", "rad"), Coordinate("angle2", "rate2", "rad")),
        options=(AT, AXIS, Option("second_axis", "direction", "on the second body, x by default", None)),
        glyph=Glyph("cross", "ball or universal joint"),
        directions=(("axis", Z), ("second_axis", (1.0, 0.0, 0.0))),
        replacement="two revolute joints with a body without mass between them",
        check=check,
    ),
)
