"""Poles that grow, and the width of their plane, at the edges of their thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.view.plots.linear.pole_map import grows, limits


@pytest.mark.parametrize(("growth", "grown"), [(3e-10, False), (3e-9, True)])
@pytest.mark.parametrize("dt", [None, 0.1])
def test_a_pole_grows_by_more_than_a_billionth(growth, grown, dt):
    pole = 2j + 2.0 * growth if dt is None else 1.0 + growth
    assert bool(grows(np.array([pole]), dt)[0]) == grown


@pytest.mark.parametrize(("damping", "left"), [(3e-7, -0.2 * 1.12), (3e-6, -3e-6 * 1.12)])
def test_poles_damped_by_less_than_a_millionth_are_undamped(damping, left):
    assert limits(np.array([-damping + 1j, -damping - 1j]))[0] == pytest.approx(left, rel=1e-3)
