"""A rigid rod without mass."""

from __future__ import annotations

from typing import Any

from dalembert.core.findings import Advice
from dalembert.model.bodies import positive
from dalembert.model.joints.joint import JOINTS, Glyph, JointKind, Option


def check_length(value: object, what: str) -> Any:
    return positive(value, what, Advice("For the length 0 use a revolute or spherical joint."))


JOINTS.register(
    "massless rod",
    JointKind(
        "A rigid massless rod: two points keep their distance.",
        rows=(1, 1),
        options=(Option("length", "length", "distance of the two points", check=check_length),),
        glyph=Glyph("rod"),
        numbers=("length",),
    ),
)
