"""Linear systems of expressions."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from dalembert.symbolic.block_solve import solve_mass, solve_square


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_linear_systems_are_solved_block_by_block(size: int) -> None:
    random = np.random.default_rng(size)
    root = random.normal(size=(size, size))
    right = random.normal(size=(2 * size, 2))
    for B, solve in ((root + 3 * np.eye(size), solve_square), (root @ root.T + np.eye(size), solve_mass)):
        blocks = ca.sparsify(ca.diagcat(ca.DM(B), ca.DM(2 * B)))
        found = np.array(ca.DM(solve(ca.SX(blocks), ca.SX(ca.DM(right)))))
        assert np.allclose(found, np.linalg.solve(np.array(ca.densify(blocks)), right), rtol=1e-11, atol=1e-12)
