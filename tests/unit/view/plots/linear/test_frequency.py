"""Responses that are nothing but rounding, at the edge of their threshold."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.view.plots.linear.frequency import _zeros


@pytest.mark.parametrize(("size", "zero"), [(3e-13, True), (3e-12, False)])
def test_a_response_of_1e_12_of_another_of_its_unit_is_zero(size, zero):
    values = np.array([[[1.0], [size]]], complex)
    response = FrequencyResponse([1.0], values, ("f",), ("a", "b"))
    pairs = [("a", "f"), ("b", "f")]
    assert (pairs[1] in _zeros(response, {"": list(enumerate(pairs))})) == zero
