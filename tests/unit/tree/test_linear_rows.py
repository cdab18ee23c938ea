"""Joints that mimic others: rows with constant numbers."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.tree.linear_rows import leading_speeds, rows_are_linear

BOX = da.box(0.1, 0.1, 0.1)


def gripper() -> da.EquationsOfMotion:
    """An arm whose first finger is mimicked by the second one; the motor is at the second in the file's order."""
    m = da.Mechanism("gripper")
    arm, left, right = (m.add_body(name, mass=1.0, inertia=BOX) for name in ("arm", "left", "right"))
    m.add_revolute("A", m.ground.at(0, 0, 0), arm.at(-0.3, 0, 0), axis=(0, 1, 0), limits={"lower": -1, "upper": 1})
    for name, body, side in (("F2", right, 0.1), ("F1", left, -0.1)):
        at = arm.at(0.3, side, 0)
        m.add_prismatic(name, at, body.at(0, 0, 0), axis=(0, 1, 0), limits={"lower": 0.0, "upper": 0.05})
    m.add_gear("mimic", "F1", "F2", ratio=0.5, offset=0.01)
    for joint in ("A", "F1"):
        m.add_actuator(f"{joint}.motor", joint, input=f"{joint}.effort")
    return da.equations(m, coordinates="joint")


def test_rows_of_gears_are_linear_and_those_of_loops_are_not() -> None:
    assert rows_are_linear(gripper())
    assert not rows_are_linear(da.equations(da.read_model("four-bar"), coordinates="joint"))


def test_joints_with_motors_lead_those_that_mimic_them() -> None:
    assert set(leading_speeds(gripper())) == {"A.rate", "F1.speed"}


def test_a_motion_between_states_names_the_joints_that_lead_and_a_law_follows_it() -> None:
    eqs = gripper()
    ends = [da.assemble(eqs, {"A": a, "F1": f}) for a, f in ((0.0, 0.0), (0.5, 0.04))]
    motion = da.tree.quintic(eqs, ends, 1.0)
    assert {"A.angle", "F1.displacement"} <= set(motion.names) and "F2.displacement" not in motion.names
    law = da.control.computed_torque(eqs, motion, frequency=10.0)
    run = da.simulate(eqs, 1.0, start=ends[0], controller=law, method=da.RK4(5e-3))
    # held samples of 5 ms at 10 Hz; the rows of the gear close to 1e-9
    assert [run[name][-1] for name in ("A.angle", "F2.displacement")] == pytest.approx([0.5, 0.03], abs=1e-4)


def test_a_workspace_has_closed_gears_within_limits() -> None:
    eqs = gripper()
    cloud = da.tree.workspace(eqs, "right", samples=500)
    q = dict(zip(eqs.coordinates.names, cloud.q.T, strict=True))
    np.testing.assert_allclose(q["F2.displacement"], 0.01 + 0.5 * q["F1.displacement"], rtol=0, atol=1e-15)
    assert len(cloud.q) == 500 and (np.abs(q["A.angle"]) <= 1).all()


def test_a_target_out_of_reach_is_named_where_both_fingers_are_at_limits() -> None:
    with pytest.raises(da.tree.OutOfReachError) as caught:
        da.tree.inverse_kinematics(gripper(), {"right": (0.0, 5.0, 0.0)})
    assert caught.value.finding.evidence["distance"] > 4
