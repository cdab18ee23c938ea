"""Edges of thresholds: singular transformations, and directions of a staircase."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.transforms.forms import _split, monic, symmetric_form
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


@pytest.mark.parametrize(("strength", "states"), [(3e-12, 1), (3e-11, 2)])
def test_a_step_of_the_staircase_below_1e_11_is_rounding(strength, states):
    space = StateSpace([[-1.0, 0.0], [strength, -1.5]], [[1.0], [0.0]], [[1.0, 1.0]])
    assert space.minimal().nx == states


@pytest.mark.parametrize(("sine", "inside"), [(0.9e-8, 1), (1.1e-8, 0)])
def test_a_direction_is_in_a_subspace_up_to_a_sine_of_1e_8(sine, inside):
    both, rest = _split(np.array([[1.0], [sine]]), np.array([[1.0], [0.0]]))
    assert (both.shape[1], rest.shape[1]) == (inside, 1 - inside)
