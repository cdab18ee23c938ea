"""Sets of sigma points: weights, moments, printed numbers."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.core.errors import DataError
from dalembert.estimate import CentralDifference, Cubature, Scaled, SphericalSimplex, Symmetric

RULES = [
    Symmetric(), Symmetric(2.0), Scaled(), Scaled(1e-3), Scaled(0.5, 2.0, 1.0), SphericalSimplex(0.0),
    SphericalSimplex(0.25), SphericalSimplex(0.9), CentralDifference(), CentralDifference(2.0), Cubature(),
]  # fmt: skip


def moments(rule: Any, values: Any) -> tuple[Any, Any]:
    """Mean and covariance a set makes of the values (rows, N) of its points."""
    points = rule.points(values.shape[0])
    first = values[:, :1]
    shift = np.array(ca.DM(points.mean(ca.DM(values - first))))
    V = np.array(ca.DM(points.spread(ca.DM(values - first - shift))))
    return (first + shift).ravel(), (V * points.weights) @ V.T


@pytest.mark.spec("004-C6", "004-C8")
@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 6, 20])
def test_the_points_of_every_rule_have_mean_zero_and_unit_covariance(rule: Any, n: int) -> None:
    points = rule.points(n)
    assert abs(points.mean_weights.sum() - 1) < 1e-9 * np.abs(points.mean_weights).max()
    mean, covariance = moments(rule, points.positions)
    size = np.abs(points.mean_weights).max() * np.abs(points.positions).max()
    assert np.abs(mean).max() < 1e-14 * n * max(size, 1)
    assert np.abs(covariance - np.eye(n)).max() < 1e-13 * n


@pytest.mark.spec("004-C6")
def test_the_spherical_simplex_of_two_states_is_the_checked_one() -> None:
    """Spec 004, C6: check value for n = 2, w0 = 0.25, five decimals."""
    points = SphericalSimplex(0.25).points(2)
    printed = [[0, -1.41421, 1.41421, 0], [0, -0.81650, -0.81650, 1.63299]]
    assert np.abs(points.positions - printed).max() < 0.5e-5
    assert np.abs(points.mean_weights - 0.25).max() < 1e-15


@pytest.mark.spec("004-C6")
def test_the_numerator_of_the_spherical_simplex_is_j() -> None:
    """With the printed 1 the mean of n = 2 would be off by 0.20 (trap of C6)."""
    points = SphericalSimplex(0.25).points(2)
    printed = points.positions.copy()
    printed[1, 3] = printed[1, 3] / 2
    assert abs(np.abs(printed @ points.mean_weights).max() - 0.20) < 0.005
    assert np.abs(points.positions @ points.mean_weights).max() < 1e-15


@pytest.mark.parametrize("rule", [Symmetric(), Scaled(), SphericalSimplex(), CentralDifference(), Cubature()], ids=str)
@given(st.integers(1, 5), st.integers(0, 10**6))
def test_a_linear_function_is_carried_exactly(rule: Any, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((n, n)), rng.standard_normal((n, 1))
    mean, covariance = moments(rule, A @ rule.points(n).positions + b)
    assert np.abs(mean - b.ravel()).max() < 1e-13 * n
    assert np.abs(covariance - A @ A.T).max() < 1e-12 * n


@pytest.mark.spec("004-C8")
@pytest.mark.parametrize("rule", [Symmetric(2.0), Scaled(1.0, 2.0, 2.0), CentralDifference(), Scaled(0.1)], ids=str)
def test_the_mean_of_a_square_is_its_variance(rule: Any) -> None:
    """E[x²] = 1 for a standard Gaussian: second moments enter the mean of every set."""
    mean, _ = moments(rule, rule.points(1).positions ** 2)
    assert abs(mean[0] - 1.0) < 1e-9


@pytest.mark.spec("004-C8")
@pytest.mark.parametrize("rule", [Symmetric(2.0), Scaled(1.0, 0.0, 2.0), CentralDifference(3.0**0.5)], ids=str)
def test_three_points_know_the_fourth_moment_of_a_gaussian(rule: Any) -> None:
    """Var[x²] = 2 where the points stand at √3."""
    _, covariance = moments(rule, rule.points(1).positions ** 2)
    assert abs(covariance[0, 0] - 2.0) < 1e-12


@pytest.mark.spec("004-C8")
def test_beta_puts_the_fourth_moment_right_where_the_points_do_not() -> None:
    _, covariance = moments(Scaled(0.01, 2.0, 0.0), Scaled(0.01, 2.0, 0.0).points(1).positions ** 2)
    assert abs(covariance[0, 0] - 2.0) < 1e-3  # α² (κ terms) beside it


@pytest.mark.parametrize(
    "make",
    [
        lambda: SphericalSimplex(1.0), lambda: SphericalSimplex(-0.1), lambda: SphericalSimplex(float("nan")),
        lambda: Scaled(alpha=0.0), lambda: Scaled(beta=float("inf")), lambda: CentralDifference(0.5),
        lambda: Symmetric(-3.0).points(3), lambda: Scaled(kappa=-2.0).points(2), lambda: Symmetric("3"),
    ],
)  # fmt: skip
def test_rules_that_cannot_be_are_refused(make: Any) -> None:
    with pytest.raises(DataError):
        make()


def test_the_spherical_simplex_needs_the_fewest_points() -> None:
    counts = {type(rule).__name__: rule.points(6).count for rule in RULES}
    assert counts["SphericalSimplex"] == 8
    assert counts["Symmetric"] == counts["CentralDifference"] == 13
    assert counts["Cubature"] == 12
