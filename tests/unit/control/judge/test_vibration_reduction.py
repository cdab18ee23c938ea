"""How much control took off a motion, in percent."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.control import reduction
from dalembert.core.errors import DataError
from dalembert.record import Record
from tests.helpers.findings import raises


def run() -> Record:
    """Ten seconds free with amplitudes 2 and 3, ten seconds with a quarter and none of it; a drift of noise on z."""
    t = np.linspace(0.0, 20.0, 2001)
    size = np.where(t < 10.0, 1.0, 0.25)
    x, y = 2.0 * size * np.sin(3 * t), np.where(t < 10.0, -3.0, 0.0)
    return Record(t, np.column_stack([x, y, np.where(t < 10.0, 1.0, -2.0)]), ["tip.x", "tip.y", "z"], ["m", "m", "m"])


@pytest.mark.spec("000-82")
def test_the_reduction_is_that_of_the_largest_deviations_to_either_side():
    """100 (max before - max after) / max before: 75 %, all, and -100 % where it grew."""
    found = reduction(run().between(2.0, 9.9), run().between(12.0, 20.0), "tip.x", "tip.y", "z")
    assert found["tip.x"] == pytest.approx(75.0, abs=0.01)  # peaks of a sine between samples
    assert found["tip.y"] == 100.0
    assert found["z"] == -100.0


@pytest.mark.spec("000-82")
def test_vectors_rms_values_and_all_channels_can_be_asked_for():
    before, after = run().between(2.0, 9.9), run().between(12.0, 20.0)
    assert set(reduction(before, after, "tip")) == {"tip.x", "tip.y"}
    assert list(reduction(before, after)) == ["tip.x", "tip.y", "z"]
    wanted = 100 * (1 - np.sqrt(np.mean(after["tip.x"] ** 2) / np.mean(before["tip.x"] ** 2)))
    assert reduction(before, after, "tip.x", measure="rms")["tip.x"] == pytest.approx(wanted, rel=1e-12)


def test_what_has_no_percentage_is_refused():
    before, after = run().between(2.0, 9.9), run().between(12.0, 20.0)
    with raises(DataError, "no-motion"):
        reduction(after, before, "tip")
    with raises(DataError, "unknown-choice", "'peak'", "'rms'"):
        reduction(before, after, measure="mean")
    with raises(DataError, "unknown-name", "tip.q"):
        reduction(before, after, "tip.q")
    gap = Record([0.0, 1.0], [[np.nan], [1.0]], ["z"])
    with raises(DataError, "not-finite", "z"):
        reduction(gap, after, "z")
