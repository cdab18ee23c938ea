"""Turns as quaternions, rotation vectors and angles: where series take over, and where angles lock."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.model.orientation import angles, exponential, from_angles, logarithm


@pytest.mark.parametrize("factor", [0.999, 1.001])
def test_series_and_closed_forms_of_a_turn_agree_at_their_limit(factor: float) -> None:
    size = np.sqrt(factor * 1e-4)
    p = exponential((size, 0.0, 0.0))
    assert p[0] == pytest.approx(np.cos(size / 2), rel=1e-15) and p[1] == pytest.approx(np.sin(size / 2), rel=1e-15)
    half = np.arcsin(size)  # of the quaternion whose vector part has this length
    turn = logarithm((np.cos(half), np.sin(half), 0.0, 0.0))
    # ratio⁴/9 of the series is left out: 1e-17 at the limit
    assert turn[0] == pytest.approx(2 * half, rel=1e-15)


@pytest.mark.parametrize(("factor", "roll"), [(0.9, 0.0), (1.1, 0.3)])
def test_roll_and_yaw_are_one_angle_near_a_pitch_of_ninety_degrees(factor: float, roll: float) -> None:
    pitch = np.pi / 2 - np.arcsin(factor * 1e-9)
    p = from_angles(0.3, pitch, 0.1)
    # entries of the matrix are known to 1e-16 of one, the cosine of 1e-9 to 1e-7
    assert angles(p)[0] == pytest.approx(roll, abs=1e-6)
