"""A record at a glance."""

from __future__ import annotations

import numpy as np

import dalembert as da


def test_faults_bands_and_peaks_are_found() -> None:
    t = np.arange(8000) / 400.0
    rng = np.random.default_rng(3)
    wave = np.sin(2 * np.pi * 12.5 * t) + 0.3 * np.sin(2 * np.pi * 50.0 * t) + 0.01 * rng.normal(size=t.size)
    clipped = np.clip(wave, -0.5, 0.5)
    gap = np.where((t > 3) & (t < 3.1), np.nan, wave)
    found = da.identify.survey(da.Record(t, np.column_stack([wave, clipped, 0 * t, gap]), ["a", "b", "c", "d"]))
    a, b, c, d = found.channels
    assert found.rate == 400.0 or abs(found.rate - 400.0) < 1e-6
    assert np.allclose(a.peaks, (12.5, 50.0), rtol=0, atol=0.1) and not a.faults
    assert b.clipped > 1000 and c.dead and d.missing == 39
    assert a.band is not None and 10 < a.band[0] < 12.6 and 49 < a.band[1] < 51
    plain = found.to_plain()
    assert plain["channels"][2]["dead"] and "faults" in found.table()


def test_three_samples_at_a_limit_are_chance_and_four_are_clipped() -> None:
    t = np.arange(1000.0)
    for count in (4 - 1, 4):
        x = np.sin(0.37 * t)
        x[100 : 100 + count] = 2.0
        (one,) = da.identify.survey(da.Record(t, x[:, None], ["x"])).channels
        assert (one.clipped > 0) == (count == 4)
