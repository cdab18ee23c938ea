"""The fastest timing of a path: closed forms of the double integrator."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dalembert.numerics.path_timing import fastest_timing


def rows(count: int, length: float, most: float) -> tuple[np.ndarray, ...]:
    """|length s̈| ≤ most on a grid of s from 0 to 1."""
    s = np.linspace(0.0, 1.0, count + 1)
    a = np.column_stack((np.full(count + 1, length), np.full(count + 1, -length)))
    return s, a, 0 * a, np.full_like(a, most)


@pytest.mark.parametrize(("length", "most"), [(2.0, 3.0), (1e-3, 50.0), (400.0, 1e-2)])
def test_a_double_integrator_takes_the_time_of_bang_bang_control(length: float, most: float) -> None:
    s, a, b, c = rows(100, length, most)  # the switch, in the middle, is a place of the grid
    found = fastest_timing(s, a, b, c, np.full(101, np.inf))
    assert found.stuck == -1
    assert found.times[-1] == pytest.approx(2 * math.sqrt(length / most), rel=1e-12)
    assert np.abs(length * found.u) == pytest.approx(np.full(100, most), rel=1e-9)


def test_a_limited_speed_gives_the_trapezoid() -> None:
    length, most, speed = 2.0, 3.0, 1.0
    s, a, b, c = rows(3000, length, most)
    found = fastest_timing(s, a, b, c, np.full(3001, (speed / length) ** 2))
    # the rise ends at s = v²/(2 a L) = 1/12, a place of the grid: the trapezoid is met exactly
    assert found.times[-1] == pytest.approx(length / speed + speed / most, rel=1e-9)


def test_the_switch_between_two_places_costs_a_share_of_an_interval() -> None:
    s, a, b, c = rows(101, 2.0, 3.0)
    best = 2 * math.sqrt(2.0 / 3.0)
    found = fastest_timing(s, a, b, c, np.full(102, np.inf))
    assert best < found.times[-1] < best * (1 + 1 / 101**1)  # at most one of n intervals without acceleration


def test_a_place_whose_limits_exclude_rest_and_every_speed_is_named() -> None:
    s, a, b, c = rows(50, 1.0, 1.0)
    c = c.copy()
    c[30] = -0.5  # u ≤ -0.5 and u ≥ 0.5
    assert fastest_timing(s, a, b, c, np.full(51, np.inf)).stuck in (29, 30)


def test_a_limit_that_loses_its_acceleration_bounds_the_speed() -> None:
    """a(s) = s - 1/2 vanishes in the middle (a zero-inertia point), where b x ≤ c must hold alone."""
    s = np.linspace(0.0, 1.0, 201)
    a = np.column_stack((s - 0.5, 0.5 - s, np.ones(201), -np.ones(201)))
    b = np.column_stack((np.ones(201), -np.ones(201), np.zeros(201), np.zeros(201)))
    c = np.column_stack((np.ones(201), np.ones(201), np.full(201, 4.0), np.full(201, 4.0)))
    found = fastest_timing(s, a, b, c, np.full(201, np.inf))
    assert found.stuck == -1 and found.x[100] <= 1.0 + 1e-9
    shares = a[:-1] * found.u[:, None] + b[:-1] * found.x[:-1, None] - c[:-1]
    assert shares.max() < 1e-9
