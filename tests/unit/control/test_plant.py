"""Weights of a design, on both sides of each threshold."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.control.plant import THRESHOLDS, factor_weight, require_definite
from dalembert.core.errors import DataError
from tests.helpers.findings import raises


@pytest.mark.parametrize(
    ("smallest", "positive"), [(-0.9 * THRESHOLDS.indefinite, False), (1.1 * THRESHOLDS.zero, True)]
)
def test_rounding_of_a_weight_is_accepted(smallest: float, positive: bool) -> None:
    require_definite("Q", np.diag([1.0, smallest]), ("a", "b"), positive=positive)


@pytest.mark.parametrize(
    ("smallest", "positive"), [(-1.1 * THRESHOLDS.indefinite, False), (0.9 * THRESHOLDS.zero, True)]
)
def test_a_weight_beyond_rounding_is_refused_with_its_direction(smallest: float, positive: bool) -> None:
    with raises(DataError, "not-positive-definite", "Q", "b"):
        require_definite("Q", np.diag([1.0, smallest]), ("a", "b"), positive=positive)


def test_a_singular_weight_has_a_factor_of_its_rank() -> None:
    weight = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    rows = factor_weight(weight)
    assert rows.shape == (2, 3)
    assert np.allclose(rows.T @ rows, weight, atol=1e-14)
