"""Poses and Jacobians of frames on the bodies of a tree."""

from __future__ import annotations

from typing import overload

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.model import BodyFrame, Point
from dalembert.tree.evaluation import States, evaluate, require_tree


@overload
def forward_kinematics(eqs: EquationsOfMotion, state: States) -> dict[str, Array]: ...
@overload
def forward_kinematics(eqs: EquationsOfMotion, state: States, place: str | Point | BodyFrame) -> Array: ...
def forward_kinematics(
    eqs: EquationsOfMotion, state: States, place: str | Point | BodyFrame | None = None
) -> Array | dict[str, Array]:
    """Pose of a frame on a body, or of all bodies by name.

    state : a state, several, a record, or arrays (q, v) with states in rows.
    place : "tool" (its centre of mass), "tool.tip" (a named point), "tool.origin" (coordinates of zero), a joint of the
        tree (its frame on the body that it carries), or a point or frame of a body; None for the centres of mass of all
        bodies.

    Returns homogeneous transforms to the world, (4, 4) or (states, 4, 4); in the plane (3, 3).
    """
    if place is not None:
        return evaluate(eqs, state, "forward_kinematics", place)[0]
    names = require_tree(eqs).bodies
    return dict(zip(names, evaluate(eqs, state, "forward_kinematics", *names), strict=True))


def jacobian(
    eqs: EquationsOfMotion, state: States, place: str | Point | BodyFrame, *, reference: str = "local_world_aligned"
) -> Array:
    """J with (velocity, angular velocity) = J v of a frame on a body; (6, nv), in the plane (3, nv).

    place : as for `forward_kinematics`.
    reference : "local_world_aligned", velocity of the frame's origin in world axes; "local", the same in the axes of
        the frame; "world", of the point of the body at the origin of the world.
    """
    return evaluate(eqs, state, "jacobian", place, reference)[0]


def jacobian_rate(
    eqs: EquationsOfMotion, state: States, place: str | Point | BodyFrame, *, reference: str = "local_world_aligned"
) -> Array:
    """Derivative in time of the `jacobian`: acceleration = J v̇ + J̇ v."""
    return evaluate(eqs, state, "jacobian_rate", place, reference)[0]
