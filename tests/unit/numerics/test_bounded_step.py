"""Minima of quadratic functions within bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from dalembert.numerics.bounded_step import bounded_minimum


def problem(seed: int, n: int = 6, m: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(n + 2, n))
    return J.T @ J, rng.normal(size=n), rng.normal(size=(m, n)), rng.uniform(0.0, 0.5, size=m)


@pytest.mark.parametrize("seed", range(20))
def test_the_minimum_satisfies_the_conditions_of_karush_kuhn_and_tucker(seed: int) -> None:
    H, g, C, d = problem(seed)
    y, active = bounded_minimum(H, g, C, d)
    # conditions of these matrices are below 1e4: twelve digits remain
    assert (C @ y <= d + 1e-11).all()
    multipliers = np.linalg.lstsq(C[active].T, -(H @ y + g), rcond=None)[0] if active else np.zeros(0)
    assert np.abs(H @ y + g + C[active].T @ multipliers).max() < 1e-10
    assert (multipliers >= -1e-10).all()
    assert np.abs(C[active] @ y - d[active]).max(initial=0.0) < 1e-11


@pytest.mark.parametrize("seed", range(10))
def test_bounds_of_single_variables_agree_with_bounded_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    J, r = rng.normal(size=(7, 5)), rng.normal(size=7)
    low, high = -rng.uniform(0.0, 0.3, size=5), rng.uniform(0.0, 0.3, size=5)
    y, _ = bounded_minimum(J.T @ J, J.T @ r, np.vstack((-np.eye(5), np.eye(5))), np.concatenate((-low, high)))
    assert y == pytest.approx(lsq_linear(J, -r, (low, high), method="bvls", tol=1e-14).x, abs=1e-9)


def test_a_bound_without_room_is_left_where_the_minimum_leads_away_from_it() -> None:
    y, active = bounded_minimum(np.eye(2), np.array([1.0, -1.0]), np.eye(2), np.zeros(2))
    assert y.tolist() == [-1.0, 0.0] and active == [1]


def test_without_active_bounds_the_minimum_is_the_free_one() -> None:
    H, g, C, d = problem(3)
    y, active = bounded_minimum(H, g, C, d + 1e3)
    assert active == [] and np.abs(H @ y + g).max() < 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_bounds_that_others_imply_change_nothing(seed: int) -> None:
    """Rows given again, scaled and in sums: as limits of joints that gears couple."""
    H, g, C, d = problem(seed)
    y, _ = bounded_minimum(H, g, C, d)
    again = np.vstack((C, 3.0 * C, C[:-1] + C[1:]))
    same, active = bounded_minimum(H, g, again, np.concatenate((d, 3.0 * d, d[:-1] + d[1:])))
    assert same == pytest.approx(y, abs=1e-10)
    assert np.linalg.matrix_rank(again[active]) == len(active)
