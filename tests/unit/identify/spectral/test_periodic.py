"""Periods of inputs, and noise and distortion line by line."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify.records.data import read_data
from dalembert.identify.spectral.periodic import find_period, separate_lines
from dalembert.record import Record

PERIOD = 1000


def multisine(lines: np.ndarray, periods: int = 8, seed: int = 0) -> np.ndarray:
    spectrum = np.zeros(PERIOD // 2 + 1, dtype=complex)
    spectrum[lines] = np.exp(2j * np.pi * np.random.default_rng(seed).uniform(size=len(lines)))
    u = np.fft.irfft(spectrum, PERIOD)
    return np.tile(u / u.std(), periods)


ODD = np.arange(11, 100, 2)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.25])
def test_the_period_of_a_noisy_multisine_is_found(noise: float) -> None:
    u = multisine(ODD)
    assert find_period([(u + noise * np.random.default_rng(1).normal(size=len(u)))[:, None]]) == PERIOD


def test_noise_and_sweeps_do_not_repeat() -> None:
    rng, t = np.random.default_rng(2), np.arange(8000) / 400.0
    narrow = np.convolve(rng.normal(size=8200), np.hanning(60) * np.cos(0.2 * np.arange(60)), "valid")[:8000]
    assert find_period([rng.normal(size=(8000, 1))]) is None
    assert find_period([narrow[:, None]]) is None
    assert find_period([np.sin(2 * np.pi * (5.0 + 0.5 * t) * t)[:, None]]) is None


def found(y: np.ndarray, u: np.ndarray) -> object:
    data = read_data.quiet(Record(np.arange(len(u)) / 400.0, np.column_stack([u, y]), ["u", "y"]), "u")
    lines = separate_lines(data, PERIOD)
    assert lines is not None
    return lines


@pytest.mark.parametrize(("power", "even", "odd"), [(1, False, False), (2, True, False), (3, False, True)])
def test_even_and_odd_distortion_are_separated_from_noise(power: int, even: bool, odd: bool) -> None:
    u = multisine(ODD)
    noise = 0.05 * np.random.default_rng(3).normal(size=len(u))
    lines = found(u + (0.1 * u**power if power > 1 else 0.0) + noise, u)
    assert lines.significant[:, 0].astype(bool).tolist() == [even, odd]
    size = np.sqrt(1.0 + (0.1 * 3.0) ** 2) if power == 3 else 1.0  # u³ has a part along u
    assert lines.noise_level[0] == pytest.approx(0.05 / size, rel=0.3)
    if power == 2:
        # 0.1 (u² - mean u²) of Gaussian u of unit size has 0.1 √2; the mean is at line 0
        assert lines.distortion == pytest.approx(0.1 * np.sqrt(2.0), rel=0.3)


def test_a_first_period_with_a_transient_is_left_out() -> None:
    u = multisine(ODD)
    y = u + 0.01 * np.random.default_rng(4).normal(size=len(u))
    assert found(y, u).skipped == 0
    y[:PERIOD] += np.exp(-np.arange(PERIOD) / 50.0)
    assert found(y, u).skipped == 1


@pytest.mark.parametrize(("factor", "repeats"), [(0.9, True), (1.1, False)])
def test_the_correlation_of_an_input_that_repeats(factor: float, repeats: bool) -> None:
    """White noise of variance v leaves a correlation of 1/(1 + v)."""
    variance = factor * (1.0 / 0.9 - 1.0)
    u = multisine(ODD, periods=40)
    noisy = u + np.sqrt(variance) * np.random.default_rng(5).normal(size=len(u))
    assert (find_period([noisy[:, None]]) is not None) is repeats
