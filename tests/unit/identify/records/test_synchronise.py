"""Clocks of several records: the interpolating filter, and when two channels are the same quantity."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.identify import synchronise
from dalembert.identify.records.synchronise import WEAK, advance
from dalembert.record import Record
from tests.helpers.findings import raises


@pytest.mark.parametrize(("band", "bound"), [(0.5, 1e-4), (0.9, 1e-4), (0.99, 1.0)])
def test_interpolation_is_exact_up_to_nine_tenths_of_the_nyquist_frequency(band: float, bound: float) -> None:
    k = np.arange(1000)
    error = advance(np.sin(np.pi * band * k), 0.5) - np.sin(np.pi * band * (k + 0.5))
    worst = float(np.abs(error[200:-200]).max())
    assert worst < bound
    assert band < 0.95 or worst > 1e-2


def pair(correlation: float) -> list[Record]:
    """A quantity in two records, each with noise of its own: the correlation is 1/(1 + σ²)."""
    rng = np.random.default_rng(3)
    t, x = 0.01 * np.arange(8000), rng.normal(size=8000)
    sigma = np.sqrt(1.0 / correlation - 1.0)
    return [Record.from_channels(t, {"a": x + sigma * rng.normal(size=8000)}) for _ in range(2)]


def test_channels_with_a_weak_correlation_do_not_measure_the_same_quantity() -> None:
    # 8000 samples give a correlation of 0.5 to 0.75/√8000 = 0.008
    assert synchronise(pair(WEAK + 0.04), on="a").correlations[1] == pytest.approx(WEAK + 0.04, abs=0.03)
    with raises(DataError, "weak-correlation"):
        synchronise(pair(WEAK - 0.04), on="a")


# ---- edges of thresholds
