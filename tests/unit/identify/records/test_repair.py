"""Outliers and gaps in a record: limits at which a sample counts as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from dalembert.identify.records.repair import GAUSSIAN, REACH, THRESHOLDS, _fill, hampel


@pytest.mark.parametrize(("factor", "found"), [(0.95, []), (1.05, [300])])
def test_where_a_channel_rests_an_outlier_exceeds_a_share_of_its_whole_spread(factor: float, found: list[int]) -> None:
    x = np.zeros(400)
    x[:220] = np.sin(0.05 * np.arange(220)) * np.sin(np.pi * np.arange(220) / 220)  # comes to rest without a jump
    spread = float(np.median(np.abs(x - np.median(x))))
    assert spread > 0.01
    x[300] = factor * 5.0 * GAUSSIAN * THRESHOLDS.floor * spread
    assert np.flatnonzero(hampel(x, threshold=5.0)).tolist() == found


def test_a_spread_over_three_windows_finds_fewer_outliers_in_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=50_000)
    three = int(hampel(x, threshold=4.0).sum())
    monkeypatch.setattr("dalembert.identify.records.repair.THRESHOLDS", replace(THRESHOLDS, wider=1))
    assert 2 * three < int(hampel(x, threshold=4.0).sum())


def test_the_factor_of_gaussian_noise_is_one_over_the_upper_quartile() -> None:
    from scipy.stats import norm

    assert pytest.approx(1.0 / norm.ppf(0.75), abs=5e-5) == GAUSSIAN


@pytest.mark.parametrize(("reach", "bound"), [(REACH, 1e-9), (REACH // 2, 1e-3)])
def test_a_spline_over_a_gap_depends_on_its_neighbours_only(
    reach: int, bound: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dalembert.identify.records.repair.REACH", reach)
    rng = np.random.default_rng(1)
    t, x, bad = np.arange(300.0), rng.normal(size=300), np.zeros(300, dtype=bool)
    bad[150:153] = True
    filled = _fill(t, x, bad, np.zeros(300, dtype=bool), "cubic")[150:153]
    far = np.abs(filled - CubicSpline(t[~bad], x[~bad])(t[150:153])).max()
    # (2 - √3) per sample, times the size of the noise and of its interpolation over the gap, some 10
    assert far < bound
    assert reach == REACH or far > 1e-9
