"""Weights of a design, on both sides of each threshold."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.control.plant import factor_weight, require_definite
from dalembert.core.errors import DataError
from tests.helpers.findings import raises


def test_a_singular_weight_has_a_factor_of_its_rank() -> None:
    weight = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    rows = factor_weight(weight)
    assert rows.shape == (2, 3)
    assert np.allclose(rows.T @ rows, weight, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("part", "named"), [(0.25, "a."), (0.35, "a, b.")])
def test_a_weight_is_refused_with_the_names_of_its_direction(part: float, named: str) -> None:
    direction = np.array([np.sqrt(1.0 - part**2), part])
    with raises(DataError, "not-positive-definite", named):
        require_definite("Q", np.eye(2) - 2.0 * np.outer(direction, direction), ("a", "b"), positive=True)
