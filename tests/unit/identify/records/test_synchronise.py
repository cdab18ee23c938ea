"""Clocks of several records: the interpolating filter, and when two channels are the same quantity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.identify import synchronise
from dalembert.identify.records.synchronise import WEAK, _match, advance
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


@pytest.mark.parametrize(("lag", "moved"), [(0.9e-12, False), (1.1e-12, True)])
def test_a_fraction_of_1e_12_of_a_sample_is_rounding(lag: float, moved: bool) -> None:
    x = np.random.default_rng(0).normal(size=200)
    assert bool((advance(x, lag) != x).any()) == moved


@pytest.mark.parametrize(("late", "found"), [(1.49, 1.49), (1.51, 0.0)])
def test_a_lag_of_one_and_a_half_samples_is_at_another_peak(late: float, found: float) -> None:
    k = np.arange(400.0)
    a, b = (np.exp(-(((k - 200.0 - lag) / 60.0) ** 2)) for lag in (0.0, late))
    # the interpolating filter moves a ramp by 0.489 samples in place of 0.49
    assert _match(a, b, 0)[0] == pytest.approx(found, abs=1e-3)


@pytest.mark.parametrize(("change", "rounds"), [(0.99e-10, 1), (1.01e-10, 30)])
def test_a_change_of_1e_10_samples_ends_the_search_of_30_rounds(
    change: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []

    def solve(terms: Any, target: Any, rcond: Any) -> Any:
        found.append(change)
        return (np.array([1.0, change, 0.0]),)

    monkeypatch.setattr(np.linalg, "lstsq", solve)
    x = np.random.default_rng(0).normal(size=200)
    assert _match(x, x, 0)[0] == pytest.approx(rounds * change) and len(found) == rounds
