"""A weld."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

from dalembert.core.errors import ModelWarning
from dalembert.core.findings import Advice, Argument, Call
from dalembert.model.bodies import IDENTITY, matmul, transpose
from dalembert.model.joints.joint import AT, JOINTS, Glyph, Joint, JointKind

DRAWN = 0.01  # angle between the drawing and the weld [rad] that is no rounding of a drawing: half a degree


def _warn_of_angle(joint: Joint, given: Mapping[str, Any]) -> None:
    """Points have no axes, so that a weld between them makes the axes of both bodies parallel."""
    sides = (joint.a, joint.b)
    if given.get("at") is not None or any(not side.body.position and not side.body.is_ground for side in sides):
        return
    if any(side.axes != IDENTITY or float(side.angle) for side in sides):
        return  # frames, whose axes the user chose
    a, b = (side.body for side in sides)
    if a.planar:
        angle = abs(math.remainder(b.angle - a.angle, 2 * math.pi))
    else:
        turned = matmul(transpose(a.rotation), b.rotation)
        angle = math.acos(max(-1.0, min(1.0, (turned[0][0] + turned[1][1] + turned[2][2] - 1) / 2)))
    if angle > DRAWN:
        problem = (
            f"weld {joint.name!r} makes the axes of {a.name!r} and {b.name!r} parallel, "
            f"which the drawing shows at {math.degrees(angle):.3g} degrees."
        )
        keep = Advice("To keep the angle, give bodies and their place, or frames: {}.", Argument("at"), Call("body.frame"))
        where = {"joint": joint.name}
        warnings.warn(ModelWarning("straightened", problem, keep, where=where, evidence={"angle": angle}), stacklevel=5)


JOINTS.register(
    "fixed",
    JointKind(
        "Two frames welded together. Points have no axes: between points it makes the axes of both bodies parallel.",
        rows=(6, 3),
        options=(AT,),
        glyph=Glyph(""),
        urdf="fixed",
        check=_warn_of_angle,
    ),
)
