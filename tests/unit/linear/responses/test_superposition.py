"""Edges of thresholds: independent shapes, and stiffness without a digit left."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear.responses.superposition import _span, bordered_solve
from tests.helpers.findings import raises


@pytest.mark.parametrize(("angle", "columns"), [(3e-9, 1), (3e-8, 2)])
def test_a_shape_that_differs_from_another_by_less_than_1e_8_adds_nothing(angle, columns):
    assert _span(np.array([[1.0, 1.0], [0.0, angle]])).shape[1] == columns


@pytest.mark.parametrize(("least", "refused"), [(3e-15, False), (3e-16, True)])
def test_a_stiffness_of_condition_1e15_is_singular(least, refused):
    with raises(DataError, "resonance") if refused else nullcontext():
        bordered_solve(np.diag([1.0, least]), np.zeros((2, 0)), np.ones((2, 1)))
