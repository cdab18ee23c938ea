"""First guesses of states, at the edges of their thresholds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.identify.machine.initial_states import (
    choose_segment_length,
    find_spreads,
)


@pytest.mark.parametrize(("part", "spread"), [(0.9e-12, 1.0), (1.1e-12, 1.1e-12)])
def test_an_output_whose_spread_is_1e_12_of_its_level_does_not_move(part: float, spread: float) -> None:
    tests: Any = SimpleNamespace(runs=[SimpleNamespace(y=np.array([[1.0 - part], [1.0 + part]]))])
    assert find_spreads(tests)[0] == pytest.approx(spread, rel=1e-3)  # 1e-16 of rounding over 1e-12


@pytest.mark.parametrize(("power", "length"), [(0.019, 200), (0.021, 130)])
def test_lines_with_two_hundredths_of_the_largest_power_count(power: float, length: int) -> None:
    # A window of Hann spreads the line 10 to powers ¼, 1, ¼; of the line 400, its peak alone is above the floor. The
    # middle is at (15 + 400 · 0.021)/1.521 = 15.4, and half a period of it takes 130 of 4000 samples.
    t = np.linspace(-np.pi, np.pi, 4000)
    run: Any = SimpleNamespace(t=t, y=(np.cos(10 * t) + np.sqrt(power) * np.cos(400 * t))[:, None])
    assert choose_segment_length(run, 2, [False]) == pytest.approx(length, abs=1)
