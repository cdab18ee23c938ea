"""The band that is excited, and the rate and rows that follow from it."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify.auto.time_scale import _keep_wide, find_time_scale, reduce_rate
from dalembert.identify.records.data import Data, read_data
from dalembert.record import Record

RATE = 200.0


def moved(high: float, count: int = 20_000, share: float = 0.0) -> Data:
    """A force up to some frequency, white noise of some share of its density beyond, and an output that follows it."""
    rng = np.random.default_rng(0)
    hertz = np.fft.rfftfreq(count, 1.0 / RATE)
    gain = np.where(hertz < high, 1.0, np.sqrt(share))
    u = np.fft.irfft(gain * np.fft.rfft(rng.normal(size=count)), count)
    y = np.convolve(u, [0.5, 1.0, 0.5], "same") + 0.01 * u.std() * rng.normal(size=count)
    return read_data.quiet(Record(np.arange(count) / RATE, np.column_stack([u, y]), ["u", "y"]), "u")


@pytest.mark.parametrize(("factor", "driven"), [(0.3, False), (3.0, True)])
def test_weak_lines_of_the_force_are_not_fitted(factor: float, driven: bool) -> None:
    found = find_time_scale(moved(15.0, share=factor * 0.0001))
    assert (found.factor == 1) is driven


def test_a_tone_is_no_band() -> None:
    lines = np.zeros(50, dtype=bool)
    lines[20 : 20 + 5 // 2] = True
    assert not _keep_wide(lines, 5).any()
    lines[20 : 20 + 5] = True
    assert _keep_wide(lines, 5).any()


def test_impacts_keep_their_rate() -> None:
    assert find_time_scale(moved(15.0), impacts=True).factor == 1


def test_the_slower_record_holds_the_band_and_white_noise_stays_white() -> None:
    t = np.arange(20_000) / RATE
    wave = np.sin(2.0 * np.pi * 7.0 * t)
    noise = np.random.default_rng(1).normal(size=len(t))
    (slow,) = reduce_rate([Record(t, np.column_stack([wave, noise]), ["wave", "noise"])], 5)
    assert np.abs(slow["wave"] - np.sin(2.0 * np.pi * 7.0 * slow.time)).max() < 1e-3  # 80 dB and its ripple
    x = slow["noise"]
    # correlation of neighbours: 1/sqrt(N) by chance, and the transition of the filter takes 5 % of the band
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 0.1
