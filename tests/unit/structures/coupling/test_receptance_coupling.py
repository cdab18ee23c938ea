"""Edges of thresholds: the same frequencies, and flexibilities that cancel."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import DataError, ModelError
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.structures.coupling.receptance_coupling import _check, join_responses
from tests.helpers.findings import raises


@pytest.mark.parametrize(("excess", "refused"), [(3e-10, False), (3e-9, True)])
def test_frequencies_that_differ_by_a_billionth_are_the_same(excess, refused):
    one, two = (
        FrequencyResponse(w, np.ones((1, 1, 1), complex), ("a",), ("a",), kind="receptance")
        for w in ([1.0], [1.0 + excess])
    )
    with raises(ModelError, "unlike-parts") if refused else nullcontext():
        _check({"one": one, "two": two})


@pytest.mark.parametrize(("rest", "refused"), [(1e-14, True), (1e-13, False)])
def test_flexibilities_that_cancel_to_rounding_are_refused(rest, refused):
    Y = np.diag([1.0, -1.0 + rest]).astype(complex)[None]
    row = np.array([[1.0, -1.0]])
    with raises(DataError, "singular-matrix") if refused else nullcontext():
        join_responses(Y, row, row, np.zeros((1, 1), complex), np.array([1.0]))
