"""Edges of thresholds: singular transformations, and directions of a staircase."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.transforms.forms import monic, symmetric_form
from tests.helpers.findings import raises

SPACE = StateSpace([[-1.0, 0.0], [0.0, -2.0]], [[1.0], [1.0]], [[1.0, 1.0]])
# [[1, 1], [1, 1 + d]] has the condition number 4/d; the edge is 0.01/ε = 4.5e13
EDGE = pytest.mark.parametrize(("difference", "refused"), [(4e-13, False), (4e-14, True)])


def nearly_singular(difference: float) -> np.ndarray:
    return np.array([[1.0, 1.0], [1.0, 1.0 + difference]])


@EDGE
def test_a_transformation_that_leaves_less_than_two_digits_is_refused(difference, refused):
    with raises(DataError, "singular-matrix") if refused else nullcontext():
        SPACE.similarity(nearly_singular(difference))


@EDGE
def test_equations_of_motion_that_leave_less_than_two_digits_are_refused(difference, refused):
    with raises(DataError, "singular-matrix") if refused else nullcontext():
        monic(nearly_singular(difference), np.eye(2), None)


@EDGE
def test_a_mass_matrix_that_leaves_less_than_two_digits_has_no_symmetric_form(difference, refused):
    with raises(DataError, "singular-matrix") if refused else nullcontext():
        symmetric_form(SecondOrder(nearly_singular(difference), np.eye(2), B=[1.0, 0.0]))
