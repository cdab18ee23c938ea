"""Inverse kinematics of machines that sag: the places are on their targets at rest."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ModelError
from dalembert.structures import Frame, Section, flexible_body


def soft_arm(gears: bool = False) -> da.Mechanism:
    """Three joints, two slender rods and a load of 1 kg."""
    frame = Frame("rod")
    frame.add_points(["root", "tip"], [[0, 0, 0], [0.5, 0, 0]])
    frame.add_beam("rod", "root", "tip", section=Section.circle(0.01), material="steel", elements=4)
    data = flexible_body(frame, basis="clamped", fixed="root", modes=2, static="tip", stiffening=False)
    m = da.Mechanism("arm")
    base = m.add_body("base", mass=1.0, inertia=1e-2)
    upper, fore = (m.add_flexible_body(name, data) for name in ("upper", "fore"))
    load = m.add_body("load", mass=1.0, inertia=1e-3)
    m.add_revolute("turn", m.ground.at(0, 0, 0), base.at(0, 0, 0), axis=(0, 0, 1))
    m.add_revolute("shoulder", base.at(0, 0, 0), upper.at("root"), axis=(0, 1, 0))
    m.add_revolute("elbow", upper.at("tip"), fore.at("root"), axis=(0, 1, 0))
    m.add_fixed("grip", fore.at("tip"), load.at(0, 0, 0))
    for name in ("turn", "shoulder", "elbow"):
        m.add_actuator(f"{name}.motor", joint=name, input=f"{name}.torque")
        if gears:
            m.add_rotor(f"{name}.gear", joint=name, inertia=1e-4, ratio=100.0, stiffness=800.0)
    return m


@pytest.mark.parametrize("gears", [False, True])
def test_the_sagging_tip_is_on_its_target_where_equilibrium_finds_it_too(gears: bool) -> None:
    eqs = da.equations(soft_arm(gears), coordinates="joint")
    target = np.array([0.5, 0.3, 0.1])
    start = da.assemble(eqs, {"elbow": 1.5})
    stiff = da.tree.inverse_kinematics(eqs, {"fore.tip": target}, start=start)
    state = da.tree.inverse_kinematics(eqs, {"fore.tip": target}, start=start, elastic="static")
    found = da.tree.forward_kinematics(eqs, state, "fore.tip")[:3, 3]
    np.testing.assert_allclose(found, target, atol=1e-8)  # the tolerance of the search
    joints = {name: state[f"{name}.gear.angle"] / 100.0 if gears else state[f"{name}.angle"]
              for name in ("turn", "shoulder", "elbow")}  # fmt: skip
    held = {f"{name}.gear.angle": 100.0 * value for name, value in joints.items()} if gears else joints
    rest = da.equilibrium(eqs, start=state, hold=held, efforts=list(held))
    np.testing.assert_allclose(da.tree.forward_kinematics(eqs, rest, "fore.tip")[:3, 3], target, atol=1e-7)
    sagging = da.assemble(eqs, {name: stiff[f"{name}.angle"] for name in joints}, elastic="static")
    assert np.linalg.norm(da.tree.forward_kinematics(eqs, sagging, "fore.tip")[:3, 3] - target) > 0.01


def test_out_of_reach_the_nearest_pose_sags_too() -> None:
    eqs = da.equations(soft_arm(), coordinates="joint")
    with pytest.raises(da.tree.OutOfReachError) as error:
        da.tree.inverse_kinematics(eqs, {"fore.tip": (1.2, 0.0, 0.0)}, elastic="static")
    near = error.value.state
    rest = da.assemble(eqs, start=near, elastic="static")
    np.testing.assert_allclose(near.q, rest.q, atol=1e-6)
    tip = da.tree.forward_kinematics(eqs, near, "fore.tip")[:3, 3]
    assert 0.99 < tip[0] < 1.001 and abs(tip[1]) < 1e-3 and tip[2] > -0.1  # 1 m of links, stretched out


def test_a_rigid_arm_has_nothing_that_sags() -> None:
    eqs = da.equations(da.read_model("seven-joint-arm"), coordinates="joint")
    with pytest.raises(ModelError) as error:
        da.tree.inverse_kinematics(eqs, {"tip": (0.4, 0.0, 0.5)}, elastic="static")
    assert error.value.code == "ineffective-argument"
