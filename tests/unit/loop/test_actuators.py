"""Delays of actuators and sensors in samples."""

from __future__ import annotations

import pytest

from dalembert.loop.actuators import in_samples


@pytest.mark.parametrize(("rest", "kept"), [(0.9e-9, False), (2.0e-9, True), (-0.9e-9, False)])
def test_a_delay_is_whole_samples_up_to_rounding(rest: float, kept: bool) -> None:
    whole, left = in_samples((3.0 + rest) * 0.01, 0.01)
    assert whole == 3
    # the quotient of two decimals is known to some 1e-16 of 3, far below the limit
    assert left == (pytest.approx(rest * 0.01, rel=1e-5) if kept else 0.0)
