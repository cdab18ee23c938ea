"""Efforts of a motion and limits of joints that it exceeds."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.tree.efforts import required_efforts
from tests.helpers.robot_arms import seven_joints, two_links, wheel


def test_required_efforts_are_those_of_inverse_dynamics_with_drag() -> None:
    eqs = seven_joints()
    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-1, 1, size=(4, 7)) for _ in range(3))
    drag = v * (0.6, 0.6, 0.4, 0.4, 0.2, 0.2, 0.1)
    assert required_efforts(eqs, q, v, a) == pytest.approx(da.tree.inverse_dynamics(eqs, (q, v), a) + drag, abs=1e-10)


def test_a_state_and_a_motion_within_limits_have_no_findings() -> None:
    eqs = wheel(effort=2.0, speed=3.0, upper=1.0)
    assert da.tree.check_limits(eqs, eqs.state([0.5], [1.0])) == ()
    assert da.tree.check_limits(eqs, da.tree.quintic(eqs, {"hinge": [0.0, 1.0]}, 2.0)) == ()


def test_every_limit_that_is_exceeded_is_found_with_its_place() -> None:
    eqs = wheel(inertia=0.5, effort=2.0, speed=3.0, upper=1.0)
    assert [one.where["channel"] for one in da.tree.check_limits(eqs, eqs.state([1.5], [4.0]))] == [
        "hinge.angle", "hinge.rate",
    ]  # fmt: skip
    fast = da.tree.quintic(eqs, {"hinge": [0.0, 1.0]}, 0.5)
    found = {one.where["channel"]: one for one in da.tree.check_limits(eqs, fast)}
    assert set(found) == {"hinge.rate", "hinge.angle.effort"}
    effort = found["hinge.angle.effort"]
    # the largest acceleration of a quintic is 10/√3 angle/T², here with the inertia 0.5
    assert abs(effort.evidence["value"]) == pytest.approx(0.5 * 10 / np.sqrt(3) / 0.5**2, rel=1e-3)
    assert effort.code == "out-of-range" and effort.advice


def test_joints_without_limits_have_no_findings() -> None:
    eqs = two_links()
    assert da.tree.check_limits(eqs, da.tree.quintic(eqs, {"shoulder": [0, 9.0], "elbow": [0, 9.0]}, 0.1)) == ()


def test_other_things_are_refused() -> None:
    with pytest.raises(da.errors.ModelError) as found:
        da.tree.check_limits(two_links(), [1.0, 2.0])  # type: ignore[arg-type]
    assert found.value.code == "wrong-type"
