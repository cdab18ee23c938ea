"""Axes along a direction, at the edge of their threshold."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.files.robots.mjcf.frames import axes_along


@pytest.mark.parametrize(("sine", "turned"), [(3e-15, False), (3e-14, True)])
def test_a_direction_within_1e_14_of_z_turns_nothing(sine, turned):
    assert (not np.array_equal(axes_along(np.array([sine, 0.0, 1.0])), np.eye(3))) == turned
