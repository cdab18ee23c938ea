"""Jacobians of frames on bodies, and their derivatives in time: twist = J v , twist' = J v̇ + J̇ v.

A speed w_k of a joint on the way to the frame turns everything beyond it by ω = R S_k about the link's origin r, which
itself moves by R Q_k (world axes). The twist (v, ω) of the frame is expressed in one of three ways:

    local                v of the frame's origin, both in the axes of the frame
    world                v of the point of the body that is at the origin of the world, both in world axes
    local_world_aligned  v of the frame's origin, both in world axes

J̇ follows from the chain rule along q̇ = N v.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError, unknown_name
from dalembert.expressions import Expr
from dalembert.mechanics.tree.algorithms.forward_kinematics import place_in_world
from dalembert.mechanics.tree.link_tree import LinkTree, tree_function
from dalembert.mechanics.tree.spatial import FrameChange

SX = ca.SX
REFERENCES = ("local_world_aligned", "world", "local")


@tree_function("jacobian", "q p t", matrix=True)
def build_jacobian(tree: LinkTree, place: Any, reference: str) -> list[Expr]:
    """J (dim + turns, nv)."""
    return [place_jacobian(tree, place, reference)]


@tree_function("twist", "q v p t")
def build_twist(tree: LinkTree, place: Any, reference: str) -> list[Expr]:
    """J v by the recursion of velocities, (dim + turns,)."""
    _check(reference)
    space, frame = tree.space, tree.frame(place)
    if frame.link is None:
        return [SX(space.dim + space.turns, 1)]
    found = FrameChange(space, frame.axes, frame.place).twist_in(frame.link.velocity)
    if reference != "local":
        pose = place_in_world(tree, frame)
        origin = pose.r if reference == "world" else SX(space.dim, 1)
        found = FrameChange(space, pose.R, origin).twist_out(found)
    return [ca.vertcat(found.v, found.w)]


@tree_function("jacobian_rate", "q v p t", matrix=True)
def build_jacobian_rate(tree: LinkTree, place: Any, reference: str) -> list[Expr]:
    """J̇ (dim + turns, nv)."""
    return [tree.rate(place_jacobian(tree, place, reference))]


def _check(reference: str) -> None:
    if reference not in REFERENCES:
        problem = unknown_name("reference", reference, REFERENCES, "a Jacobian")
        raise ModelError("unknown-choice", problem, where={"argument": "reference"})


def place_jacobian(tree: LinkTree, place: Any, reference: str) -> Expr:
    _check(reference)
    space, frame = tree.space, tree.frame(place)
    found = SX(space.dim + space.turns, tree.nv)
    if frame.link is None:
        return found
    pose = place_in_world(tree, frame)
    v, w = frame.link.move_point(SX(space.dim, 1) if reference == "world" else pose.r), frame.link.world_turns
    if reference == "local":
        v, w = pose.R.T @ v, w if space.planar else pose.R.T @ w
    found[:, frame.link.all_columns] = ca.vertcat(v, w)
    return ca.sparsify(found)
