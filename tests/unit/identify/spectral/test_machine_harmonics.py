"""Sines distinguished from the response of modes to random forces."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify.records.data import Data, read_data
from dalembert.identify.spectral.machine_harmonics import (
    describe_machine_harmonics,
    find_base,
    find_machine_harmonics,
)
from dalembert.linear import Modes
from dalembert.record import Record
from tests.helpers.ambient_chain import DT, ambient, truth


def at(*hertz: float) -> Modes:
    return Modes(2j * np.pi * np.array(hertz), np.ones((1, len(hertz))), ["y"])


def channel(y: np.ndarray) -> Data:
    return read_data.quiet(Record(DT * np.arange(len(y)), y[:, None], ["y"]))


@pytest.mark.parametrize("damping", [0.002, 0.01])
def test_modes_under_random_forces_are_no_sines(damping: float) -> None:
    # 0 of 400 modes each in simulations of 300 s; 2 of 400 at a damping ratio of 0.1 %
    for seed in range(3):
        data = read_data.quiet(ambient(19_200, seed=seed, damping=damping))
        assert find_machine_harmonics(data, truth(damping)) == {}


def test_a_sine_in_noise_is_named_where_it_dominates_its_band() -> None:
    rng, t = np.random.default_rng(1), DT * np.arange(38_400)
    # the band is 30/T = 0.05 Hz wide to each side with a smooth gain: 0.0375/32 of the noise's unit power is 1.2e-3
    for amplitude, named in ((0.15, True), (0.03, False)):  # 9 times that power, and 0.4 times
        data = channel(amplitude * np.sin(2.0 * np.pi * 5.0 * t) + rng.normal(size=len(t)))
        assert bool(find_machine_harmonics(data, at(5.0))) is named


def test_a_machine_whose_speed_drifts_is_named() -> None:
    rng, t = np.random.default_rng(1), DT * np.arange(76_800)
    drift = 0.002 * np.sin(2.0 * np.pi * t / 60.0) + 0.001 * np.sin(2.0 * np.pi * t / 17.0)  # up to 0.3 % of the speed
    phase = 2.0 * np.pi * 12.0 * np.cumsum(1.0 + drift) * DT
    found = find_machine_harmonics(channel(np.sin(phase) + 0.3 * rng.normal(size=len(t))), at(12.0))
    assert found[0].kurtosis < 1.7  # 3 - 1.5 r² with the share r of the power, 98 % here


def test_kurtosis_of_a_sine_with_part_of_the_power_is_between() -> None:
    rng, t = np.random.default_rng(1), DT * np.arange(153_600)
    width = 0.005 * 20.0  # 240 lines to each side, more than the 72 of 30/T
    noise = rng.normal(size=len(t))
    # gain cos² over ± width: mean square 3/8 of 2 width, of 32 Hz
    power = 2.0 * width * 3.0 / 8.0 / 32.0
    for share, expected in ((1.0, 1.5), (0.8, 2.04)):
        size = np.sqrt(2.0 * power * share / max(1.0 - share, 1e-6))
        found = find_machine_harmonics(channel(size * np.sin(2.0 * np.pi * 20.0 * t) + noise), at(20.0))
        # some 300 independent values: 3/√300 = 0.17 at a share of 0, less with a sine
        assert found[0].kurtosis == pytest.approx(expected, abs=0.2)


def test_free_decays_are_no_sines() -> None:
    t = DT * np.arange(19_200)
    assert find_machine_harmonics(channel(np.exp(-0.05 * t) * np.cos(2.0 * np.pi * 9.0 * t)), at(9.0)) == {}


def test_the_base_is_the_largest_of_which_most_are_multiples() -> None:
    assert find_base(np.array([3.1, 6.2, 9.3])) == pytest.approx(3.1)
    assert find_base(np.array([6.2, 9.3])) == pytest.approx(3.1)
    assert find_base(np.array([6.2, 7.0, 9.301])) == pytest.approx(3.1)
    assert find_base(np.array([6.2, 17.9])) is None
    assert find_base(np.array([6.2])) is None
    assert find_base(np.array([])) is None


def test_a_line_of_a_short_record_counts_with_a_certain_multiple_only() -> None:
    t = DT * np.arange(19_200)  # 300 s: 900 periods of 3 Hz, 3600 of 12 Hz; certain from 1600 on
    noise = 0.1 * np.random.default_rng(0).normal(size=len(t))
    low, high = np.sin(2.0 * np.pi * 3.0 * t), np.sin(2.0 * np.pi * 12.0 * t)
    assert find_machine_harmonics(channel(low + noise), at(3.0)) == {}
    found = find_machine_harmonics(channel(low + high + noise), at(3.0, 12.0))
    assert {k: one.multiple for k, one in found.items()} == {0: 1, 1: 4}
    findings = describe_machine_harmonics(found)
    assert [one.code for one in findings] == ["machine-harmonic"] * 2
    assert findings[1].evidence["base_hz"] == pytest.approx(3.0)
