"""Tableaux: the order conditions of Hairer, Nørsett and Wanner 1993, section II.2, and what is refused."""

import numpy as np
import pytest

from dalembert.core.errors import ModelError
from dalembert.numerics.runge_kutta import CLASSIC, TABLEAUX, combine, dormand_prince, find_tableau
from tests.helpers.findings import raises

KNOWN = {**TABLEAUX, "5(4)": dormand_prince(5), "8(5,3)": dormand_prince(8)}


@pytest.mark.parametrize("name", KNOWN)
def test_a_tableau_keeps_the_conditions_of_its_order_up_to_four(name: str) -> None:
    table = KNOWN[name]
    A, b, c = table.matrix, np.array(table.weights), np.array(table.nodes)
    conditions = {
        1: [b.sum() - 1],
        2: [b @ c - 1 / 2],
        3: [b @ c**2 - 1 / 3, b @ A @ c - 1 / 6],
        4: [b @ c**3 - 1 / 4, b @ (c * (A @ c)) - 1 / 8, b @ A @ c**2 - 1 / 12, b @ A @ A @ c - 1 / 24],
    }
    kept = [gap for order in range(1, min(table.order, 4) + 1) for gap in conditions[order]]
    assert np.abs(kept).max() < 1e-14  # 12 terms of size one at most
    assert np.abs(A.sum(axis=1) - c).max() < 1e-14


def test_error_weights_of_a_pair_add_up_to_zero() -> None:
    for table in (dormand_prince(5), dormand_prince(8)):
        for row in table.errors:
            assert abs(sum(row)) < 1e-14
            assert len(row) == len(table.weights) + 1


def test_a_combination_skips_stages_without_weight() -> None:
    stages = [(np.nan, 1.0), (2.0, 3.0)]
    assert combine((0.0, 0.5), stages, 0) == 1.0
    assert combine((), [], 0) == 0


def test_a_method_is_found_by_name_or_taken_as_it_is() -> None:
    assert find_tableau("rk4") is CLASSIC
    assert find_tableau(CLASSIC) is CLASSIC
    with raises(ModelError, "unknown-choice", "euler", "'leapfrog'"):
        find_tableau("leapfrog")
