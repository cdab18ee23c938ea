"""A disc on another disc, or inside a ring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.core.errors import ModelError
from dalembert.model.bodies import positive
from dalembert.model.joints.joint import JOINTS, Glyph, Joint, JointKind, Option


def check(joint: Joint, given: Mapping[str, Any]) -> None:
    if given["inside"] and float(given["radius"]) == float(given["second_radius"]):
        raise ModelError(
            "not-supported",
            f"rolling discs {joint.name!r}: a disc of the ring's own radius cannot roll inside it.",
            where={"joint": joint.name},
            evidence={"radius": float(given["radius"])},
        )


JOINTS.register(
    "rolling discs",
    JointKind(
        "A disc (the second body) rolls without slip on another; planar.",
        rows=(None, 2),
        options=(
            Option("radius", "length", "of the first disc", check=positive),
            Option("second_radius", "length", "of the second disc", check=positive),
            Option("inside", "flag", "the second rolls inside the ring of the first", False),
        ),
        glyph=Glyph("wheel", "rolls without slip", radius="second_radius"),
        numbers=("radius", "second_radius", "inside"),
        instead="rolling wheel",
        check=check,
    ),
)
