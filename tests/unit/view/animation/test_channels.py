"""Channels on a page: thinned with their peaks kept, and those that its plots open with."""

from __future__ import annotations

import numpy as np

from dalembert.record import Record
from dalembert.view.animation.channels import MOST_SAMPLES, channels_of


def test_long_channels_are_thinned_and_keep_their_peaks() -> None:
    t = np.arange(50_000) / 1000.0
    values = np.sin(t)
    values[23_456] = 7.0
    values[30_000:31_000] = np.nan
    found = channels_of(Record(t, np.column_stack([values, -values]), ["a", "b"], ["m", "m"]))
    assert found["values"].shape == (2, MOST_SAMPLES) == (2, found["time"].size)
    assert np.nanmax(found["values"][0]) == 7.0
    assert np.nanmin(found["values"][1]) == -7.0
    assert (found["time"][0], found["time"][-1]) == (t[0], t[-1])
    assert np.all(np.diff(found["time"]) > 0)
    inside = (found["time"] > 30.1) & (found["time"] < 30.9)
    assert np.isnan(found["values"][0][inside]).all()


def test_plots_open_with_a_few_channels_of_two_units_or_with_those_asked_for() -> None:
    names = [f"c{k}" for k in range(9)]
    record = Record([0.0, 1.0], [np.zeros(9), np.arange(1, 10)], names, ["V", "m", "m", "A", "m"] + ["N"] * 4)
    found = channels_of(record)
    assert found["shown"] == ["c0", "c1", "c2", "c4"]
    assert found["names"] == names
    assert channels_of(record, ["c7", "c0"])["shown"] == ["c7", "c0"]
