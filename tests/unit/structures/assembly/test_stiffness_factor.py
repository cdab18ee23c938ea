"""Factors of stiffness matrices: when a matrix counts as definite."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.structures.assembly import stiffness_factor as factors


@pytest.mark.parametrize(
    ("name", "below", "above"), [("is_definite", 5e-15, 2e-14), ("is_surely_definite", 5e-11, 2e-10)]
)
def test_a_matrix_is_definite_from_its_smallest_pivot_on(name: str, below: float, above: float):
    for pivot, definite in ((below, False), (above, True)):
        c = np.sqrt(1.0 - pivot)  # pivots 1 and 1 - c²
        assert getattr(factors, name)(np.array([[1.0, c], [c, 1.0]])) == definite
