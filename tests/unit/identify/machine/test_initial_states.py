"""First guesses of states, at the edges of their thresholds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.identify.machine import initial_states
from dalembert.identify.machine.initial_states import (
    _find_shown,
    _StateFit,
    choose_segment_length,
    choose_substeps,
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


@pytest.mark.parametrize(("off", "shown"), [(0.99e-12, True), (1.01e-12, False)])
def test_a_sensor_that_agrees_to_1e_12_shows_a_coordinate(off: float, shown: bool) -> None:
    level = 1e6  # the difference is relative to 1 + |level|, and rounding is 1e-16 of the level
    kernels = {
        "measures": lambda *parts: (np.array([level]), np.array([0.0]), None, None),
        "outputs": lambda *parts: (np.array([level * (1.0 + off)]),),
    }
    eqs: Any = SimpleNamespace(
        sample_pose=lambda random, size: np.zeros(1), nv=1, rows=(), nz=0, nu=0, ny=1, p=np.zeros(0),
        kernel=kernels.__getitem__, measures=SimpleNamespace(names=("x",)),
    )  # fmt: skip
    tests: Any = SimpleNamespace(outputs=[("sensor", 0)])
    assert _find_shown(eqs, tests)["measure"] == ({"x": 0} if shown else {})


@pytest.mark.parametrize(("change", "count"), [(14.9e-5, 2), (15.1e-5, 4)])
def test_halving_leaves_a_fifteenth_of_its_change(change: float, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = {1: 0.0, 2: change, 4: change + 5e-5}
    monkeypatch.setattr(
        initial_states, "Shooter", lambda steps, whole: SimpleNamespace(shoot=lambda x, p: (None, outputs[steps]))
    )
    one: Any = np.zeros(1)
    make: Any = lambda steps: steps  # noqa: E731
    assert choose_substeps(make, one, one, one, np.ones(1), 1) == count


@pytest.mark.parametrize(("gain", "settled"), [(0.99e-12, True), (1.01e-12, False)])
def test_a_mean_square_of_1e_12_spreads_is_zero(gain: float, settled: bool) -> None:
    before: Any = SimpleNamespace(value=10 * gain / 0.98, residual=np.zeros(10))  # two hundredths of it are no gain
    after: Any = SimpleNamespace(value=0.0)
    one: Any = SimpleNamespace()
    assert _StateFit.is_settled(one, before, after, one) == settled
