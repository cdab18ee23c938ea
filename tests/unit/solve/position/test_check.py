"""One look at a whole machine."""

from __future__ import annotations

import pytest

import dalembert as da


def pinned_plate(gap: float) -> da.Mechanism:
    """A plate held by two pins 1 m from its centre of mass, ``gap`` apart: its smallest singular value is gap/4."""
    m = da.Mechanism("plate", planar=True)
    plate = m.add_body("plate", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(1, 0), plate.at(1, 0))
    m.add_revolute("B", m.ground.at(1 + gap, 0), plate.at(1 + gap, 0))
    return m


@pytest.mark.parametrize(("share", "warned"), [(0.95, True), (1.05, False)])
def test_a_drawing_near_a_singular_pose_is_reported_at_its_limit(share: float, warned: bool) -> None:
    # gap/4 to a share of gap/4 itself: 4e-4
    report = da.check(pinned_plate(4 * share * 1e-4))
    assert report.mobility is not None
    assert report.mobility.distance == pytest.approx(share * 1e-4, rel=1e-3)
    assert ("near-singular" in [one.code for one in report.warnings]) == warned
