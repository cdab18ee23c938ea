"""Undamped Gauss-Newton steps on rows with known solutions."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.numerics.gauss_newton import close_rows

LIMITS = {"rank": 1e-9, "settled": 1e-12, "most": 50}


def circle(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A circle twice: rows that depend on each other."""
    r, J = np.array([x @ x - 1.0]), 2.0 * x[None, :]
    return np.concatenate((r, 3.0 * r)), np.vstack((J, 3.0 * J))


def test_rows_that_depend_on_each_other_are_closed_at_the_nearest_point() -> None:
    x, is_closed = close_rows(circle, np.array([3.0, 4.0]), **LIMITS)
    assert is_closed
    assert x == pytest.approx([0.6, 0.8], abs=1e-14)  # along the radius; some roundings


def test_rows_without_a_solution_stay_open() -> None:
    x, is_closed = close_rows(lambda x: (x**2 + 1.0, np.diag(2.0 * x)), np.array([0.7]), **LIMITS)
    assert not is_closed and np.isfinite(x).all()


def test_a_step_changes_no_variable_by_more_than_the_longest() -> None:
    seen = []

    def rows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(float(x[0]))
        return x - 2.0, np.eye(1)

    assert close_rows(rows, np.zeros(1), longest=0.5, **LIMITS)[1]
    assert seen == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0])


def test_rows_that_are_not_finite_end_the_search_where_it_is() -> None:
    x, is_closed = close_rows(lambda x: (x * np.nan, np.eye(1)), np.ones(1), **LIMITS)
    assert not is_closed and x.tolist() == [1.0]
