"""Factors of stiffness matrices: when a matrix counts as definite."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.structures.assembly import stiffness_factor as factors


@pytest.mark.parametrize("limit", [factors.LIMITS.pivot, factors.LIMITS.sound_pivot])
def test_a_matrix_is_definite_from_its_smallest_pivot_on(limit: float):
    for share, definite in ((0.5, False), (2.0, True)):
        c = np.sqrt(1.0 - share * limit)  # pivots 1 and 1 - c²
        assert factors._definite(np.array([[1.0, c], [c, 1.0]]), limit) == definite
