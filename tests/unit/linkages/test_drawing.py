"""Pictures of bending links: joints stay closed, shapes are those of beams, an estimate is a shadow of the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.linkages import EquivalentRigidLinks, reduce_links
from dalembert.view.animation.machine_motion import machine_motion, still
from tests.helpers.animation_pages import page_data
from tests.helpers.bending_linkages import quick_return, slider_crank, strip


@pytest.mark.parametrize("make", [slider_crank, quick_return])
def test_joints_stay_closed_where_links_bend(make: Any) -> None:
    """Both sides of a hinge are at r + u of one node: equal to rounding."""
    eqs = da.equations(make())
    state = eqs.state()
    u = np.random.default_rng(1).normal(0.0, 1e-3, len(eqs.elastic))
    motion = machine_motion(still(eqs, eqs.state(np.append(u, state.q[len(u) :]))))
    hinges = 0
    for joint in motion.scene.joints:
        if joint.type == "revolute":
            assert joint.body is not None and joint.other is not None
            here = motion.points(joint.body, [joint.point])
            there = np.array([[joint.other.point]])
            if joint.other.body is not None:
                there = motion.points(joint.other.body, [joint.other.point])
            np.testing.assert_allclose(here, there, rtol=0, atol=1e-12)
            hinges += 1
    assert hinges == 3


def arm() -> EquivalentRigidLinks:
    m = da.Mechanism("arm", planar=True, gravity=0)
    body = m.add_body("arm", mass=1, inertia=0.1, center=(0, 0))
    m.add_revolute("A", m.ground.at(0, 0), body.at(0, 0))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    frame = strip("arm", 1.0, elements=1, middle=0.5)
    frame.set_damping(beta=1e-3)
    return EquivalentRigidLinks(m, beams={"arm": frame}, gauges={"gauge": ("arm", 0.25)})


def test_a_beam_is_drawn_by_its_cubic() -> None:
    """Curvature of the drawn curve in the middle of an element is that of the gauge there."""
    eqs = da.equations(arm())
    state = eqs.state(np.append([0.0, 2e-4, 1e-3, 0.0, -1e-3, 2e-3], 0.3))
    motion = machine_motion(still(eqs, state))
    flexible = motion.body("arm").flexible
    assert flexible is not None
    shape = np.tensordot(motion.elastic("arm")[:, 0], np.reshape(flexible.modes, (9, -1, 3)), 1)
    at = np.array(flexible.points)[:, 0]
    inner = np.argsort(at)[:9]  # nodes and pieces of the first of two elements
    along = at[inner] - 0.25 if at.min() >= 0 else at[inner] - at.min() - 0.25
    cubic = np.polyfit(along, shape[inner, 1], 3)
    value = eqs.kernel("outputs")(
        state.q, state.v, np.zeros(eqs.nv), np.zeros(0), np.zeros(0), np.zeros(eqs.nu), eqs.p, 0.0
    )[0]
    assert 2 * cubic[1] == pytest.approx(float(np.ravel(value)[eqs.outputs.names.index("gauge")]), rel=1e-9)


def test_an_estimate_is_a_shadow_of_the_run(tmp_path: Path) -> None:
    erls = arm()
    run = da.simulate(
        da.equations(erls), 0.05, inputs={"torque": lambda t: 0.1 * da.sin(60 * t)}, every=1e-3,
        method=da.GeneralizedAlpha(step=1e-3),
    )  # fmt: skip
    small = da.equations(reduce_links(erls, ["arm.2.y"], modes=[1]))
    ekf = da.estimate.ExtendedKalman(
        small, outputs=["encoder"], inputs=["torque"], R=1e-6, Q=1e-8, P0=1e-4, dt=1e-3, jacobian="frozen",
    )  # fmt: skip
    estimate = ekf.run(run)
    assert "arm.2.axial" in run.names and "arm.2.axial" not in estimate.record.names  # no filter reports the picture
    da.animate(run, tmp_path / "page.html", estimate=estimate, channels=["gauge", "estimate.gauge"])
    data = page_data(tmp_path / "page.html")
    assert [(body["name"], body.get("pale", False)) for body in data["bodies"]] == [
        ("arm", False), ("estimate.arm", True)
    ]  # fmt: skip
    assert [joint["name"] for joint in data["joints"]] == ["A"]
    with pytest.raises(da.errors.DataError) as caught:
        da.animate(da.equations(erls), estimate=estimate)
    assert caught.value.code == "ineffective-argument"


def test_modes_of_a_linkage_are_drawn(tmp_path: Path) -> None:
    da.animate(da.equations(slider_crank()), tmp_path / "modes.html", modes=3)
    data = page_data(tmp_path / "modes.html")
    assert len(data["modes"]) == 3 and data["modes"][0]["kind"] == "free"
