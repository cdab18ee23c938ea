"""Random trees in joint coordinates against the same trees in absolute coordinates: two independent formulations.

Trees of four joints of every kind differed by at most 1e-13 at states like these, mostly by the constrained solve in
absolute coordinates; 1e-9 is the agreement asked of two formulations.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dalembert as da
from tests.helpers.joint_coordinates import (
    FREEDOMS,
    absolute_state,
    agree,
    agree_linearly,
    close_loop,
    poses_of,
    random_state,
    random_tree,
)

KINDS = tuple(FREEDOMS)
ROWS = {"spherical": 3, "planar": 3, "universal": 4, "cylindrical": 4, "revolute": 5, "prismatic": 5, "screw": 5}
CLEAR = 0.02  # smallest singular value of rows of unit length: nearer to a singular pose both lose digits
trees = st.lists(st.tuples(st.sampled_from(KINDS), st.booleans()), min_size=1, max_size=5).filter(
    lambda joints: any(kind != "fixed" for kind, _ in joints)
)


@pytest.mark.spec("002-B3")
@given(trees, st.integers(0, 2**16))
@settings(max_examples=settings().max_examples // 2)
def test_trees_move_alike_in_joint_and_in_absolute_coordinates(joints: list[tuple[str, bool]], seed: int) -> None:
    m = random_tree([kind for kind, _ in joints], [flip for _, flip in joints], seed)
    joint, plain = da.equations(m, coordinates="joint"), da.equations(m)
    agree(joint, random_state(joint, seed), plain)


@given(trees.filter(lambda joints: len(joints) < 4), st.integers(0, 2**16))
@settings(max_examples=settings().max_examples // 5)
def test_trees_have_the_same_linear_models(joints: list[tuple[str, bool]], seed: int) -> None:
    """About a moving state: also the terms that speeds bring."""
    m = random_tree([kind for kind, _ in joints], [flip for _, flip in joints], seed)
    joint, plain = da.equations(m, coordinates="joint"), da.equations(m)
    state = random_state(joint, seed)
    agree_linearly(joint, state, plain, absolute_state(joint, state, plain))


@given(trees, st.sampled_from(sorted(ROWS)), st.integers(0, 2**16))
@settings(max_examples=settings().max_examples // 5)
def test_loops_move_alike_in_joint_and_in_absolute_coordinates(
    joints: list[tuple[str, bool]], closing: str, seed: int
) -> None:
    """A chain closed to a loop with at least one freedom, at a pose that is not singular."""
    assume(sum(FREEDOMS[kind] for kind, _ in joints) > ROWS[closing])
    m = random_tree([kind for kind, _ in joints], [flip for _, flip in joints], seed, chain=True)
    tree, pose = close_loop(m, closing, seed)
    joint, plain = da.equations(m, coordinates="joint"), da.equations(m)
    placed = da.assemble(joint, poses_of(tree, pose, m))
    state = da.assemble(joint, start=joint.state(placed.q, random_state(joint, seed).v))
    assume(da.mobility(plain, absolute_state(joint, state, plain)).distance > CLEAR)
    same = agree(joint, state, plain)
    agree_linearly(joint, state, plain, same)
