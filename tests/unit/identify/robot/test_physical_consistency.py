"""Bodies that a distribution of mass can have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.core.arrays import FloatArray
from dalembert.identify.robot import physical_consistency
from dalembert.identify.robot.physical_consistency import (
    THRESHOLDS,
    BodyCoordinates,
    JointCoordinate,
    _DistanceProblem,
    _joint_coordinate,
    find_consistent,
    pseudo_inertia,
    smallest_eigenvalue,
)
from dalembert.numerics.least_squares import DampedStep

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
def test_coordinates_begin_at_the_drawing(drawn: FloatArray) -> None:
    own = BodyCoordinates(drawn, 1.0, 1.0)
    values, _ = own.evaluate(own.start)
    np.testing.assert_allclose(values, drawn, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("drawn", [body_of_points(1), PLANAR])
def test_slopes_are_those_of_finite_differences(drawn: FloatArray) -> None:
    own = BodyCoordinates(drawn, 1.0, 1.0)
    theta = own.start + 0.3 * np.random.default_rng(0).normal(size=len(own.start))
    _, slopes = own.evaluate(theta)
    for k in range(len(theta)):
        step = np.zeros_like(theta)
        step[k] = 1e-6
        difference = (own.evaluate(theta + step)[0] - own.evaluate(theta - step)[0]) / 2e-6
        # central differences of smooth functions of size 1: error 1e-12, rounding 1e-10
        np.testing.assert_allclose(slopes[:, k], difference, atol=1e-8)


@pytest.mark.parametrize("size", [10, 4])
def test_any_coordinates_are_a_possible_body(size: int) -> None:
    own = BodyCoordinates(body_of_points(2) if size == 10 else PLANAR, 1.0, 1.0)
    for seed in range(20):
        values, _ = own.evaluate(own.start + 2.0 * np.random.default_rng(seed).normal(size=size))
        assert smallest_eigenvalue(values) > 0


def test_thin_rods_and_bodies_without_mass_get_a_thickness_and_a_mass() -> None:
    rod = np.array([3.0, 1.5, 0, 0, 0, 0, 1.0, 0, 0, 1.0])  # along x
    values, _ = BodyCoordinates(rod, 1.0, 1.0).evaluate(BodyCoordinates(rod, 1.0, 1.0).start)
    assert smallest_eigenvalue(values) > 0 and values[9] == pytest.approx(1.0, rel=2 * THRESHOLDS.thin)
    empty = BodyCoordinates(np.zeros(10), 0.5, 2.0)
    values, _ = empty.evaluate(empty.start)
    assert values[0] == pytest.approx(2.0 * THRESHOLDS.massless) and smallest_eigenvalue(values) > 0


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


@pytest.mark.parametrize(("about", "kept"), [(0.9e-3, 1e-3), (1.1e-3, 1.1e-3)])
def test_the_second_moment_of_a_rod_is_a_thousandth_of_its_largest(about: float, kept: float) -> None:
    drawn = np.array([1.0, np.sqrt(1.0 - about), 0.0, 1.0])
    body = BodyCoordinates(drawn, 1.0, 1.0)
    values, _ = body.evaluate(body.start)
    assert values[3] - values[1] ** 2 / values[0] == pytest.approx(kept)
    rod = np.array([1.0, *np.zeros(3), 1.0 + about, 0.0, 1.0 + about, 0.0, 0.0, 2 * about])  # Σ = diag(about, about, 1)
    body = BodyCoordinates(rod, 1.0, 1.0)
    values, _ = body.evaluate(body.start)
    assert np.linalg.eigvalsh(pseudo_inertia(values)[1:, 1:]) == pytest.approx([kept, kept, 1.0])


@pytest.mark.parametrize(("mass", "kept"), [(0.0, 1e-4), (0.9e-4, 1e-4), (1.1e-4, 1.1e-4)])
def test_a_body_has_1e_4_of_the_mass_of_others_at_least(mass: float, kept: float) -> None:
    for drawn in (np.array([mass, 0.0, 0.0, 0.0]), np.array([mass, *np.zeros(9)])):
        body = BodyCoordinates(drawn, 1.0, 1.0)
        assert body.evaluate(body.start)[0][0] == pytest.approx(kept)


@pytest.mark.parametrize(("drawn", "first"), [(0.0, 0.1), (0.099, 0.1), (0.101, 0.101)])
def test_friction_begins_at_a_tenth_of_its_usual_size_at_least(drawn: float, first: float) -> None:
    assert np.exp(_joint_coordinate(drawn, 1.0, False, 1.0).start) == pytest.approx(first)


@pytest.mark.parametrize(("effect", "shown"), [(0.99e-3, False), (1.01e-3, True)])
def test_friction_with_an_effect_of_a_thousandth_of_a_deviation_keeps_its_value(effect: float, shown: bool) -> None:
    assert (_joint_coordinate(0.3, 2.0, False, effect / 2.0).fixed is None) == shown


def test_the_drawing_of_a_joint_weighs_a_millionth_and_that_of_a_body_more() -> None:
    problem = _DistanceProblem([BodyCoordinates(PLANAR, 1.0, 1.0)], [JointCoordinate(1.0, 0.0, 0.0, True)],
                               np.zeros((1, 5)), np.zeros(1))  # fmt: skip
    drawing = problem.at(problem.centre + 1.0).residual[1:]
    assert drawing**2 == pytest.approx([1.0, 1.0, 1.0, 1.0, 1e-6])


@pytest.mark.parametrize(("part", "ended"), [(0.99, True), (1.01, False)])
def test_a_stage_ends_with_a_decrease_of_1e_4_or_where_1e_12_is_predicted(part: float, ended: bool) -> None:
    problem: Any = object.__new__(_DistanceProblem)
    problem.value = lambda point: point
    for value in (0.0, 9.0):
        assert problem.is_settled(value + part * 1e-4 * (1.0 + value), value, None) == ended
        assert problem.is_rounding(value, None, DampedStep(None, part * 1e-12 * (1.0 + value))) == ended


def test_the_drawing_of_bodies_weighs_1_then_a_hundredth_for_300_steps_each(monkeypatch: pytest.MonkeyPatch) -> None:
    stages = []

    def end(problem: Any, point: Any, damping: Any, steps: int) -> Any:
        stages.append((problem.weight, steps))
        return SimpleNamespace(point=point, converged=False)

    monkeypatch.setattr(physical_consistency, "minimise", end)
    found = find_consistent(PLANAR, 4, 1, [], np.zeros(0), np.eye(4), np.eye(4), PLANAR)
    assert stages == [(1.0, 300), (1e-2, 300)] and not found.converged
