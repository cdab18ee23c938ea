"""Elimination in symbols: zeros, pivots and ranks at the edges of their thresholds."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from dalembert.symbolic.modular.algebra.complement import choose_independent
from dalembert.symbolic.modular.algebra.elimination import _best_pivot, _drop_zeros, rank_of, scale_rows


@pytest.mark.parametrize(("size", "kept"), [(3e-10, False), (3e-9, True)])
def test_an_entry_of_a_billionth_of_its_row_is_zero(size, kept):
    row = {0: ca.SX(1.0), 1: ca.SX.sym("a")}
    _drop_zeros(row, np.array([[1.0, size]]), np.ones(1))
    assert (1 in row) == kept


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


@pytest.mark.parametrize(("share", "chosen"), [(0.005, 0), (0.02, 1)])
def test_a_plain_number_of_a_hundredth_of_its_row_is_a_good_pivot(share, chosen):
    # an expression of the full size stands beside it
    work = [{0: ca.SX.sym("a"), 1: ca.SX(share)}]
    values = np.array([[[1.0, share]]])
    assert _best_pivot(work, values, np.ones((1, 1)), {0}, {0, 1}, [0]) == (0, chosen)


@pytest.mark.parametrize(("share", "independent"), [(3e-7, "b"), (3e-6, "a")])
def test_a_preferred_column_stays_independent_where_another_has_a_millionth_of_it(share, independent):
    assert choose_independent(np.array([[1.0, share]]), ("a", "b"), prefer=("a",)) == (independent,)
