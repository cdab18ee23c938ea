"""Poses of bodies and of frames on them: from the root outwards, r_i = r_λ + R_λ d_i , R_i = R_λ R_i."""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.poses import Pose
from dalembert.mechanics.tree.link_tree import LinkFrame, LinkTree, tree_function

SX = ca.SX


@tree_function("forward_kinematics", "q p t", matrix=True)
def build_forward_kinematics(tree: LinkTree, *places: Any) -> list[Expr]:
    """For every place its homogeneous transform to the world, (dim + 1, dim + 1)."""
    return [transform(place_in_world(tree, tree.frame(place))) for place in places]


def place_in_world(tree: LinkTree, frame: LinkFrame) -> Pose:
    """Pose of a frame on a link."""
    at = frame.link.pose if frame.link is not None else tree.space.ground_pose()
    return Pose(at.r + at.R @ frame.place, at.R @ frame.axes, SX(0))


def transform(pose: Pose) -> Expr:
    last = ca.horzcat(SX(1, pose.R.shape[0]), 1)
    return ca.vertcat(ca.horzcat(pose.R, pose.r), last)
