"""Windows of hammer tests: where an impact begins and ends."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify import hammer_windows
from dalembert.record import Record


@pytest.mark.parametrize(("factor", "first"), [(0.9, 99), (1.1, 79)])
def test_an_impact_lasts_while_the_force_exceeds_a_share_of_its_peak(factor: float, first: int) -> None:
    force = np.zeros(1000)
    force[80:100] = 50.0 * factor * 0.05  # a slow rise before the impact
    force[100:110] = 50.0
    t = 0.001 * np.arange(1000)
    made = hammer_windows(Record.from_channels(t, {"f": force, "a": np.sin(t)}), inputs="f", outputs="a")
    # samples first and 110 are below the limit; the window has as much again on either side
    start = t[first] - (t[110] - t[first])
    assert made.impacts[0, 0, 0] == pytest.approx(start)
