"""Edges of thresholds: damping that is rounding, and Lyapunov equations that are not solved."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import ConvergenceError
from dalembert.linear import StateSpace
from dalembert.linear.transforms.gramians import _check, is_stable
from tests.helpers.findings import raises


@pytest.mark.parametrize(("damping", "stable"), [(8e-15, False), (8e-14, True)])
def test_damping_below_a_hundred_roundings_of_the_largest_pole_is_none(damping, stable):
    assert is_stable(StateSpace([[-damping, 1.0], [-1.0, -damping]], [0, 1], [[1, 0]])) == stable


@pytest.mark.parametrize(("error", "refused"), [(3e-9, False), (3e-8, True)])
def test_a_gramian_with_a_residual_above_1e_9_is_refused(error, refused):
    # a = -1/2, b = 1: P = 1; with P = 1 + e the residual is e, its terms add up to 2
    L = np.array([[np.sqrt(1.0 + 0.5 * error)]])
    with raises(ConvergenceError, "no-convergence") if refused else nullcontext():
        _check(np.array([[-0.5]]), np.array([[1.0]]), L, None)
