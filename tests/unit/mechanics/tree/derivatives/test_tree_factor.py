"""The factor of the mass matrix in the order of the tree fills nothing in and solves with it."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.mechanics.tree.derivatives.columns import AT_ONCE, lengthen
from dalembert.mechanics.tree.derivatives.moving_links import MovingTree, gather_moving_links
from dalembert.mechanics.tree.derivatives.tree_factor import factor_mass
from dalembert.mechanics.tree.link_tree import LinkTree
from tests.helpers.joint_coordinates import random_state, random_tree


def tree_and_mass() -> tuple[MovingTree, np.ndarray]:
    """A tree with branches, and its M in the order of the tree."""
    eqs = da.equations(random_tree(["revolute", "spherical", "revolute", "planar", "revolute"], [False] * 5, 3),
                       coordinates="joint")  # fmt: skip
    assert isinstance(eqs.tree, LinkTree)
    moving = gather_moving_links(*eqs.tree.moving)
    M = da.tree.mass_matrix(eqs, random_state(eqs, 0))
    return moving, M[np.ix_(moving.speeds, moving.speeds)]


@pytest.mark.parametrize("vectors", [False, True])
def test_solutions_are_those_of_the_matrix(vectors: bool) -> None:
    moving, M = tree_and_mass()
    n = len(M)
    sides = np.random.default_rng(0).normal(size=(n, 6))
    # S = unit vectors, so that S_i·momentum_j = M_ij
    columns = [ca.SX(np.eye(n)[:, k]) for k in range(n)], [ca.SX(M[:, k]) for k in range(n)]
    S, momentum = [ca.densify(x) for x in columns[0]], [ca.densify(x) for x in columns[1]]
    given: ca.SX | ca.MX = ca.SX(sides)
    if vectors:
        S, momentum = ([ca.MX(ca.DM(ca.densify(lengthen(x)))) for x in part] for part in (S, momentum))
        given = ca.MX(sides)
    factor = factor_mass(moving, S, momentum)
    found = [ca.evalf(factor.solve(given)), ca.evalf(factor.solve(given, -1)), ca.evalf(factor.solve(given[:, 0]))]
    expected = np.linalg.solve(M, sides)
    for ours, theirs in zip(found, (expected, -expected, expected[:, :1]), strict=True):
        np.testing.assert_allclose(np.array(ca.DM(ours)), theirs, rtol=0, atol=1e-12 * np.abs(expected).max())
    assert [x.shape[0] for x in factor.rows] == [d + 1 + (-(d + 1) % AT_ONCE if vectors else 0) for d in moving.depth]


def test_a_way_to_the_root_is_the_beginning_of_all_ways_beyond_it() -> None:
    moving, M = tree_and_mass()
    for k, path in enumerate(moving.paths):
        for i in path:
            assert path[: moving.depth[i] + 1] == moving.paths[i]
            assert i <= k < moving.end[moving.link_of[i]]
        apart = [j for j in range(k) if j not in path]
        assert not M[k, apart].any()  # what no way joins is not coupled
