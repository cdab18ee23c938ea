"""Backbones at the edges of their thresholds; whole records: tests/reference/test_identify_real_life.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.identify.auto.nonlinearity import THRESHOLDS, _fit_line, _make_backbone


def parts(change: float, deviation: float, ratio: float = 2.0) -> list[tuple[float, Any]]:
    """A mode of 10 Hz in five parts whose frequency grows with the squared level, up to this relative change."""
    levels = np.linspace(1.0, ratio, 5)
    grown = (levels**2 - 1.0) / (ratio**2 - 1.0)
    return [
        (level, SimpleNamespace(
            frequencies_hz=np.array([10.0 * (1.0 + change * share)]), damping_ratios=np.array([0.01]),
            frequency_deviations=np.array([deviation]), damping_deviations=np.array([1e-4])))
        for level, share in zip(levels, grown, strict=True)
    ]  # fmt: skip


def bends(change: float, deviation: float, ratio: float = 2.0) -> bool:
    found = _make_backbone(10.0, 0, parts(change, deviation, ratio))
    return found is not None and found.significant


@pytest.mark.parametrize(("factor", "above"), [(0.99, False), (1.01, True)])
def test_the_change_of_a_frequency_over_the_level(factor: float, above: bool) -> None:
    assert bends(factor * THRESHOLDS.change, 1e-6) is above
    assert bends(0.05, 1e-6, factor * THRESHOLDS.varies) is above


@pytest.mark.parametrize(("factor", "above"), [(0.99, False), (1.01, True)])
def test_the_significance_of_a_slope(factor: float, above: bool) -> None:
    levels = np.linspace(1.0, 2.0, 5) ** 2
    error = _fit_line(levels, np.full(5, 10.0), np.full(5, 0.01))[1]
    change = factor * THRESHOLDS.slope * error * 3.0 / 10.0
    assert bends(change, 0.01) is above


@pytest.mark.parametrize(("off", "same"), [(0.099, True), (0.101, False)])
def test_a_frequency_of_a_part_off_by_a_tenth_is_of_another_mode(off: float, same: bool) -> None:
    assert (_make_backbone(10.0 / (1.0 + off), 0, parts(0.0, 1e-6)) is not None) is same


@pytest.mark.parametrize(("deviation", "known"), [(0.199, True), (0.201, False)])
def test_a_frequency_of_a_part_known_to_two_per_cent_counts(deviation: float, known: bool) -> None:
    assert (_make_backbone(10.0, 0, parts(0.0, deviation)) is not None) is known
