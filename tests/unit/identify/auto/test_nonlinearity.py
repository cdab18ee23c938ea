"""Backbones at the edges of their thresholds; whole records: tests/reference/test_identify_real_life.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.identify.auto.nonlinearity import (
    _fit_line,
    _make_backbone,
)


def parts(change: float, deviation: float, ratio: float = 2.0) -> list[tuple[float, Any]]:
    """A mode of 10 Hz in five parts whose frequency grows with the squared level, up to this relative change."""
    levels = np.linspace(1.0, ratio, 5)
    grown = (levels**2 - 1.0) / (ratio**2 - 1.0)
    return [
        (level, SimpleNamespace(
            frequencies_hz=np.array([10.0 * (1.0 + change * share)]), damping_ratios=np.array([0.01]),
            frequency_deviations_hz=np.array([deviation]), damping_deviations=np.array([1e-4])))
        for level, share in zip(levels, grown, strict=True)
    ]  # fmt: skip


def bends(change: float, deviation: float, ratio: float = 2.0) -> bool:
    found = _make_backbone(10.0, 0, parts(change, deviation, ratio))
    return found is not None and found.significant


# ---- forces of nonlinear elements


@pytest.mark.parametrize(
    ("change", "deviation", "ratio", "above"),
    [
        (0.99e-3, 1e-6, 2.0, False),
        (1.01e-3, 1e-6, 2.0, True),  # a thousandth of the frequency
        (0.05, 1e-6, 1.49, False),
        (0.05, 1e-6, 1.51, True),  # over levels in a ratio of 1.5
    ],
)
def test_a_backbone_bends_by_a_thousandth_over_a_ratio_of_levels_of_one_and_a_half(
    change: float, deviation: float, ratio: float, above: bool
) -> None:
    assert bends(change, deviation, ratio) is above


@pytest.mark.parametrize(("deviations", "above"), [(4.95, False), (5.05, True)])
def test_a_backbone_bends_by_five_standard_deviations(deviations: float, above: bool) -> None:
    error = _fit_line(np.linspace(1.0, 2.0, 5) ** 2, np.full(5, 10.0), np.full(5, 0.01))[1]
    assert bends(deviations * error * 3.0 / 10.0, 0.01) is above
