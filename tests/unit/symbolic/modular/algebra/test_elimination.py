"""Elimination in symbols: zeros, pivots and ranks at the edges of their thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.symbolic.modular.algebra.complement import choose_independent
from dalembert.symbolic.modular.algebra.elimination import rank_of, scale_rows


@pytest.mark.parametrize(("angle", "rank"), [(1e-9, 1), (1e-8, 2)])
def test_rows_at_an_angle_of_a_billionth_are_one(angle, rank):
    # rows of length one: the singular values are √2 and angle/√2
    assert rank_of(np.array([[1.0, 0.0], [1.0, angle]])) == rank


@pytest.mark.parametrize(("length", "zero"), [(3e-13, True), (3e-12, False)])
def test_a_row_of_rounding_beside_another_is_zero(length, zero):
    assert (scale_rows(np.array([[1.0, 0.0], [0.0, length]]))[1, 1] == 0.0) == zero


@pytest.mark.parametrize(("length", "zero"), [(3e-15, True), (3e-14, False)])
def test_a_row_of_rounding_alone_is_zero(length, zero):
    assert (scale_rows(np.array([[length, 0.0]]))[0, 0] == 0.0) == zero


@pytest.mark.parametrize(("share", "independent"), [(3e-7, "b"), (3e-6, "a")])
def test_a_preferred_column_stays_independent_where_another_has_a_millionth_of_it(share, independent):
    assert choose_independent(np.array([[1.0, share]]), ("a", "b"), prefer=("a",)) == (independent,)
