"""Sines of machines taken out of records."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify.output_only.machine_sines import remove_machine_sines
from dalembert.identify.records.data import read_data
from dalembert.record import Record
from tests.helpers.ambient_chain import DT, ambient


def test_sines_are_taken_out_and_the_rest_stays() -> None:
    clean = ambient(38_400, seed=1)
    t = DT * np.arange(38_400)
    sines = 2.0 * np.outer(np.sin(2.0 * np.pi * 3.1234 * t + 0.3) + np.sin(2.0 * np.pi * 6.2468 * t), np.arange(1, 9))
    noisy = Record(t, clean.data + sines, clean.names, clean.units)
    found = remove_machine_sines(noisy, read_data.quiet(noisy))
    assert [one.code for one in found.findings] == ["machine-harmonic"] * 2
    left = found.records[0].data - clean.data
    # amplitudes of sines in noise of density S: standard deviation √(2 S/T) of each of its two parts; S is at most
    # 1 (m/s²)²/Hz there, T = 600 s: √(4/600) = 0.08 rms, and as much by the frequency; three times that
    assert np.sqrt(np.mean(left**2)) < 0.5
    assert np.sqrt(np.mean(left**2)) < 0.1 * np.sqrt(np.mean(sines**2))
    assert any("removed" in step for step in found.records[0].provenance["preparation"])


def test_records_without_sines_are_returned_as_they_are() -> None:
    record = ambient(9600)
    found = remove_machine_sines(record, read_data.quiet(record))
    assert found.records[0] is record
    assert found.findings == () and found.decisions == ()


def test_records_too_short_for_a_spectrum_are_returned_as_they_are() -> None:
    record = ambient(300)
    assert remove_machine_sines(record, read_data.quiet(record)).records[0] is record


@pytest.mark.parametrize("split", [1, 2])
def test_several_records_are_each_fitted(split: int) -> None:
    t = DT * np.arange(38_400)
    record = ambient(38_400, seed=2, sines={7.0: 5.0})
    parts = [record] if split == 1 else [record.between(None, 290.0), record.between(310.0, None)]
    found = remove_machine_sines(parts, read_data.quiet(parts))
    assert len(found.records) == split and len(found.findings) == 1
    for before, after in zip(parts, found.records):
        line = np.exp(-2j * np.pi * 7.0 * (before.time - before.time[0]))
        assert np.abs(line @ after["m4"]) < 0.02 * np.abs(line @ before["m4"])
    assert len(t) == 38_400
