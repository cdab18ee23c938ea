"""Elimination in symbols: zeros, pivots and ranks at the edges of their thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.symbolic.modular.algebra.elimination import scale_rows


@pytest.mark.parametrize(("length", "zero"), [(3e-13, True), (3e-12, False)])
def test_a_row_of_rounding_beside_another_is_zero(length, zero):
    assert (scale_rows(np.array([[1.0, 0.0], [0.0, length]]))[1, 1] == 0.0) == zero


@pytest.mark.parametrize(("length", "zero"), [(3e-15, True), (3e-14, False)])
def test_a_row_of_rounding_alone_is_zero(length, zero):
    assert (scale_rows(np.array([[length, 0.0]]))[0, 0] == 0.0) == zero
