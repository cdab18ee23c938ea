"""A weld."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

from dalembert.core.errors import ModelWarning
from dalembert.core.findings import Advice, Argument, Call
from dalembert.model.bodies import IDENTITY, BodyFrame, matmul, transpose
from dalembert.model.joints.joint import AT, JOINTS, Glyph, Joint, JointKind


def _warn_of_angle(joint: Joint, given: Mapping[str, Any], drawn: float = 0.01) -> None:
    """Points have no axes, so that a weld between them makes the axes of both bodies parallel.

    drawn : angle [rad] that is no rounding of a drawing: half a degree.
    """
    sides = (joint.a, joint.b)
    if given.get("at") is not None or any(side.axes != IDENTITY or float(side.angle) for side in sides):
        return  # the axes are those of the drawing, or of frames
    if not all(_shows_direction(side) for side in sides):
        return
    a, b = (side.body for side in sides)
    if a.planar:
        angle = abs(math.remainder(b.angle - a.angle, 2 * math.pi))
    else:
        turned = matmul(transpose(a.rotation), b.rotation)
        angle = math.acos(max(-1.0, min(1.0, (turned[0][0] + turned[1][1] + turned[2][2] - 1) / 2)))
    if angle > drawn:
        problem = (
            f"weld {joint.name!r} makes the axes of {a.name!r} and {b.name!r} parallel, "
            f"which the drawing shows at {math.degrees(angle):.3g} degrees."
        )
        keep = Advice(
            "To keep the angle, give bodies and their place, or frames: {}.", Argument("at"), Call("body.frame")
        )
        where = {"joint": joint.name}
        warnings.warn(ModelWarning("straightened", problem, keep, where=where, evidence={"angle": angle}), stacklevel=4)


def _shows_direction(side: BodyFrame) -> bool:
    """Whether the drawing shows how a body is turned about the weld: by its origin or by another named point of it."""
    body = side.body
    if body.is_ground:
        return True
    places = [(0.0,) * body.dimension, *(body.at(name).coordinates for name in body.points)]
    here = [float(x) for x in side.coordinates]
    return bool(body.position) and any(math.dist([float(x) for x in place], here) > 0 for place in places)


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
