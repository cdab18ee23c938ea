"""The filter over an interval as an expression: limits of its approximant, of doublings and of balancing."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.estimate.filters.riccati_element import element_function


@pytest.mark.parametrize(("time", "error"), [(0.8, 1e-14), (1.0, 1e-14), (8.0, 1e-14), (3.8e9, 1e-5)])
def test_an_oscillator_turns_by_its_angle_after_any_time(time: float, error: float) -> None:
    """Doubled 0, 1, 4 and 32 times from an angle below 0.9; each doubles rounding, at last to 2**32 of 1e-16.

    From an angle of 8 the approximant would leave 1e-3, and from 1.8, with 31 doublings, 2**31 of 1e-12.
    """
    zero, none = np.zeros((2, 2)), np.zeros(2)
    found = element_function(2)(np.array([[0.0, 1.0], [-1.0, 0.0]]), zero, zero, none, none, none, time)[0]
    turned = [[np.cos(time), np.sin(time)], [-np.sin(time), np.cos(time)]]
    np.testing.assert_allclose(np.array(found), turned, rtol=0, atol=error)
