"""The largest deflection of a mode, at the edges of its thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.structures.continuous.beam_modes import _first_peak


@pytest.mark.parametrize(("excess", "sign"), [(3e-10, 1.0), (3e-9, -1.0)])
def test_of_peaks_that_are_equal_to_a_billionth_the_first_has_the_sign(excess, sign):
    value = np.array([1.0, -1.0 - excess])
    assert np.sign(_first_peak(np.abs(value), value)) == sign
