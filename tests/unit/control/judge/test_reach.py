"""Modes that are reached or not, on both sides of each threshold."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.control.judge.reach import THRESHOLDS, ModeReach, does_not_decay, on_border


@pytest.mark.parametrize(("share", "missed"), [(0.9, True), (1.1, False)])
def test_a_mode_of_less_than_the_weakest_strength_is_missed(share: float, missed: bool) -> None:
    assert ModeReach(1j, 1.0, False, ("x",), share * THRESHOLDS.weakest).missed is missed


@pytest.mark.parametrize(("share", "lasts"), [(0.9, True), (1.1, False)])
@pytest.mark.parametrize("dt", [None, 0.1])
def test_a_pole_within_rounding_of_the_boundary_does_not_decay(share: float, lasts: bool, dt: float | None) -> None:
    away = share * THRESHOLDS.decay
    pole = -away + 0j if dt is None else 1.0 - away + 0j
    assert does_not_decay(np.array([pole, -1.0 + 0j]), dt)[0] == lasts


@pytest.mark.parametrize(("share", "inside"), [(0.9, True), (1.1, False)])
@pytest.mark.parametrize("dt", [None, 0.1])
def test_a_pole_is_on_the_boundary_within_the_error_of_a_double_pole(
    share: float, inside: bool, dt: float | None
) -> None:
    away = share * THRESHOLDS.border
    assert on_border(-away + 0j if dt is None else 1.0 - away + 0j, np.eye(1), dt, 0.0) is inside
