"""Bodies that a distribution of mass can have."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.arrays import FloatArray
from dalembert.identify.robot.physical_consistency import (
    DrawnMatrix,
    find_consistent,
    pseudo_inertia,
    smallest_eigenvalue,
    thicken,
)

PLANAR = np.array([2.0, 0.4, -0.2, 0.3])


def body_of_points(seed: int, count: int = 20) -> FloatArray:
    """Parameters of point masses: a possible body."""
    rng = np.random.default_rng(seed)
    m, r = rng.uniform(0.1, 1.0, count), rng.normal(size=(count, 3)) * [0.5, 0.2, 0.1] + [0.1, 0.3, -0.2]
    J = sum(mk * (rk @ rk * np.eye(3) - np.outer(rk, rk)) for mk, rk in zip(m, r, strict=True))
    h = m @ r
    return np.array([m.sum(), *h, J[0, 0], J[0, 1], J[1, 1], J[0, 2], J[1, 2], J[2, 2]])


def test_the_pseudo_inertia_of_points_is_their_second_moment() -> None:
    found = body_of_points(0)
    assert smallest_eigenvalue(found) > 0
    broken = found.copy()
    broken[9] = found[4] + found[6] + 1e-3  # Jzz above Jxx + Jyy
    assert smallest_eigenvalue(broken) < 0
    assert pseudo_inertia(found)[0, 0] == found[0]


@pytest.mark.parametrize("drawn", [body_of_points(1), PLANAR])
def test_a_possible_body_stays_as_drawn(drawn: FloatArray) -> None:
    np.testing.assert_allclose(thicken(drawn, 1.0, 1.0), drawn, rtol=1e-10, atol=1e-12)


def matrix_of(drawn: FloatArray) -> DrawnMatrix:
    return DrawnMatrix(slice(0, len(drawn)), np.array([pseudo_inertia(unit) for unit in np.eye(len(drawn))]), drawn)


@pytest.mark.parametrize("drawn", [body_of_points(1), PLANAR])
def test_slope_and_curvature_of_the_distance_are_those_of_finite_differences(drawn: FloatArray) -> None:
    matrix = matrix_of(drawn)
    assert matrix.distance(drawn)[0] == pytest.approx(0.0, abs=1e-12)
    size, s, J = matrix.distance(1.1 * drawn)
    # of P = 1.1 P⁰: n (0.1 - ln 1.1)
    assert size == pytest.approx((4 if len(drawn) == 10 else 3) * (0.1 - np.log(1.1)))

    def slope(values: FloatArray) -> FloatArray:
        _, s, J = matrix.distance(values)
        return J.T @ s

    for k in range(len(drawn)):
        step = np.zeros_like(drawn)
        step[k] = 1e-5 * drawn[0] / 10.0
        plus, minus = 1.1 * drawn + step, 1.1 * drawn - step
        difference = (matrix.distance(plus)[0] - matrix.distance(minus)[0]) / (2.0 * step[k])
        # central differences with relative steps of 1e-6 to 1e-4 of a smooth function: 1e-8; its rounding: 1e-15 / 1e-6
        assert (J.T @ s)[k] == pytest.approx(difference, abs=1e-6 * np.abs(J.T @ s).max())
        curvature = (slope(plus) - slope(minus)) / (2.0 * step[k])
        np.testing.assert_allclose((J.T @ J)[:, k], curvature, atol=1e-5 * np.abs(J.T @ J).max())


@pytest.mark.parametrize("drawn", [body_of_points(2), PLANAR])
def test_the_distance_does_not_depend_on_units_and_ends_where_a_body_is_impossible(drawn: FloatArray) -> None:
    millimetres = np.array([1.0, 1e3, 1e3, 1e6]) if len(drawn) == 4 else np.array([1.0, *[1e3] * 3, *[1e6] * 6])
    other = 1.3 * drawn
    assert matrix_of(drawn).distance(other)[0] == pytest.approx(
        matrix_of(millimetres * drawn).distance(millimetres * other)[0]
    )
    heavy = drawn.copy()
    heavy[1] = 1.01 * np.sqrt(drawn[0] * drawn[3 if len(drawn) == 4 else 9] * 5.0)
    assert smallest_eigenvalue(heavy) < 0 and matrix_of(drawn).distance(heavy) is None


@pytest.mark.parametrize("wrong", [0.0, 0.05, 0.5])
def test_the_nearest_possible_body_is_found_from_any_drawing_and_data_in_their_last_digits(wrong: float) -> None:
    estimate = body_of_points(3)
    estimate[9] = estimate[4] + estimate[6] + wrong
    ends = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        moved = estimate * (1.0 + (seed > 0) * 1e-9 * rng.normal(size=10))
        found = find_consistent(body_of_points(3), 10, 1, [], np.zeros(0), np.eye(10), 1e2 * np.eye(10), moved)
        assert found.converged and smallest_eigenvalue(found.values) > 0
        ends.append([found.distance, *found.values])
    # a deviation is 1e-2: equal to a millionth of it
    np.testing.assert_allclose(ends, [ends[0]] * 6, rtol=1e-6, atol=1e-8)


def test_thin_rods_and_bodies_without_mass_get_a_thickness_and_a_mass() -> None:
    values = thicken(np.array([3.0, 1.5, 0, 0, 0, 0, 1.0, 0, 0, 1.0]), 1.0, 1.0)  # along x
    assert smallest_eigenvalue(values) > 0 and values[9] == pytest.approx(1.0, rel=2 * 0.001)
    values = thicken(np.zeros(10), 0.5, 2.0)
    assert values[0] == pytest.approx(2.0 * 0.0001) and smallest_eigenvalue(values) > 0


def test_what_the_data_determine_is_met_and_the_rest_stays_as_drawn() -> None:
    drawn, true = body_of_points(3), body_of_points(4)
    K = np.random.default_rng(5).normal(size=(4, 10))
    R = 1e3 * np.eye(4)  # deviations of 1e-3
    found = find_consistent(drawn, 10, 1, [], np.zeros(0), K, R, K @ true)
    assert found.converged
    # less than a hundredth of a deviation of each
    assert found.distance < 4e-4
    nearest = drawn + np.linalg.pinv(K) @ (K @ (true - drawn))
    assert np.linalg.norm(found.values - drawn) < 5 * np.linalg.norm(nearest - drawn)


def test_impossible_estimates_end_at_a_possible_body_and_say_how_far() -> None:
    drawn = body_of_points(3)
    wrong = drawn.copy()
    wrong[9] = drawn[4] + drawn[6] + 0.5
    found = find_consistent(drawn, 10, 1, [], np.zeros(0), np.eye(10), 1e2 * np.eye(10), wrong)
    assert smallest_eigenvalue(found.values) > 0
    assert found.distance > 100.0  # ten deviations


def test_friction_is_not_negative_and_what_no_data_show_stays_as_drawn() -> None:
    drawn = np.array([*PLANAR, 0.3, 0.0, 0.7])
    K = np.zeros((2, 7))
    K[0, 4] = K[1, 5] = 1.0
    found = find_consistent(drawn, 4, 1, [False, False, False], np.ones(3), K, 1e2 * np.eye(2), np.array([0.5, -0.02]))
    assert found.values[4] == pytest.approx(0.5, abs=1e-3)
    assert 0.0 < found.values[5] < 0.01
    assert found.values[6] == 0.7
    np.testing.assert_allclose(found.values[:4], PLANAR, rtol=1e-6)


# ---- edges of thresholds
