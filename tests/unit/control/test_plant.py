"""Weights of a design, on both sides of each threshold."""

from __future__ import annotations

import numpy as np

from dalembert.control.plant import factor_weight


def test_a_singular_weight_has_a_factor_of_its_rank() -> None:
    weight = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    rows = factor_weight(weight)
    assert rows.shape == (2, 3)
    assert np.allclose(rows.T @ rows, weight, rtol=0, atol=1e-14)
