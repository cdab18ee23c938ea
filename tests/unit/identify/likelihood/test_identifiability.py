"""Which parameters data determine, at the edge of a threshold."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify.likelihood.identifiability import judge_information


@pytest.mark.parametrize(("entry", "touched"), [(0.9e-6, False), (1.1e-6, True)])
def test_a_parameter_with_a_millionth_of_an_undetermined_direction_is_not_determined(
    entry: float, touched: bool
) -> None:
    blind = np.array([1.0, entry]) / np.hypot(1.0, entry)
    seen = np.array([-blind[1], blind[0]])
    covariance = judge_information(np.array([100.0 * seen, 0.0 * blind]), ["a", "b"]).covariance
    assert np.isinf(covariance[0, 0]) and np.isinf(covariance[1, 1]) == touched
