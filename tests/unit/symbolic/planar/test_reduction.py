"""Which variables are left when joints have made nodes and angles the same."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.symbolic.planar.reduction import PlanarReduction
from tests.helpers.planar_four_bar import four_bar


def test_the_body_that_was_declared_first_keeps_the_node() -> None:
    found = PlanarReduction(four_bar())
    assert found.roots["coupler", 1] == ("crank", 2)
    assert found.roots["rocker", 2] == ("coupler", 2)
    assert found.roots["crank", 1] == ("0", 1) and found.roots["rocker", 1] == ("0", 2)
    names = [x.name for x in found.variables]
    assert names == ["crank.2.x", "crank.2.y", "coupler.2.x", "coupler.2.y", "crank.angle", "coupler.angle",
                     "rocker.angle", "A.angle"]  # fmt: skip


def test_a_node_of_several_joints_is_one_node_under_all_its_names() -> None:
    m = four_bar()
    m.add_bar("handle", "coupler.2", (0.9, 0.9), mass=0.1)
    m.add_revolute("rocker.2-handle.1")
    eqs = da.equations(m)
    start = da.assemble(eqs)
    assert start["coupler.2.x"] == start["rocker.2.x"] == start["handle.1.x"] == pytest.approx(0.55, abs=1e-12)
    assert da.mobility(eqs).dof == 2
    motion = {"A.angle": lambda t: np.pi / 2 + t, "handle.2.x": lambda t: 0.9 + 0.0 * t}
    assert len(da.kinematics(eqs, [0.0, 0.1], motion=motion)) == 2


def test_bodies_on_a_slide_turn_together_with_the_angle_between_them_as_drawn() -> None:
    m = da.symbolic.PlanarModel("telescope", gravity=0)
    m.add_ground((0, 0))
    m.add_bar("arm", "0.1", (1, 0), mass=1.0)
    m.add_bar("head", (0.5, 0), (0.5, 0.2), mass=0.3)  # square to the arm
    m.add_revolute("0.1-arm.1", name="pivot")
    m.add_prismatic("arm.1-arm.2", "head.1", name="slide", input="push")
    eqs = da.equations(m)
    assert "head.angle" not in eqs.coordinates.index and da.mobility(eqs).dof == 2
    start = da.assemble(eqs, {"arm.angle": 0.6, "slide.displacement": 0.8})
    assert start["head.angle"] == pytest.approx(0.6 + np.pi / 2, abs=1e-12)
    head = np.array([start["head.1.x"], start["head.1.y"]])
    assert head == pytest.approx(0.8 * np.array([np.cos(0.6), np.sin(0.6)]), abs=1e-12)
    tip = np.array([start["head.2.x"], start["head.2.y"]])
    assert tip - head == pytest.approx(0.2 * np.array([-np.sin(0.6), np.cos(0.6)]), abs=1e-12)


def test_a_telescope_moves_as_the_same_mechanism() -> None:
    m = da.symbolic.PlanarModel("telescope")
    m.add_ground((0, 0))
    m.add_bar("arm", "0.1", (1, 0), mass=1.0)
    m.add_bar("head", (0.5, 0), (0.7, 0), mass=0.3)
    m.add_revolute("0.1-arm.1", name="pivot", input="torque")
    m.add_prismatic("arm.1-arm.2", "head.1", name="slide", input="push")
    eqs = da.equations(m)
    twin = da.Mechanism("telescope", planar=True)
    arm = twin.add_body("arm", mass=1.0, inertia=1 / 12, position=(0.5, 0))
    head = twin.add_body("head", mass=0.3, inertia=0.3 * 0.2**2 / 12, position=(0.6, 0))
    twin.add_revolute("pivot", twin.ground.at(0, 0), arm.at(-0.5, 0))
    twin.add_prismatic("slide", arm.at(-0.5, 0), head.at(-0.1, 0))
    twin.add_actuator("motor", "pivot", input="torque")
    twin.add_actuator("cylinder", "slide", input="push")
    other = da.equations(twin)
    values = {"pivot.angle": 0.4, "slide.displacement": 0.7}
    rates = {"pivot.angle": 1.3, "slide.displacement": -0.8}
    inputs = {"torque": 2.0, "push": -1.5}
    found, expected = (
        da.forward_dynamics(one, da.assemble(one, values, velocity=rates), inputs=inputs) for one in (eqs, other)
    )
    for name in ("pivot.rate", "slide.speed", "head.vx", "head.vy"):
        assert found[name] == pytest.approx(expected[name], rel=1e-11, abs=1e-11)


def test_two_nodes_drawn_a_rounding_apart_are_one() -> None:
    m = da.symbolic.PlanarModel("rounded")
    m.add_ground((0, 0), (0.7071068, 0.7071068))
    m.add_bar(1, (0, 0), (0.70710678, 0.70710678), mass=1)
    m.add_revolute("0.1-1.1")
    m.add_revolute("0.2-1.2", name="far")
    start = da.assemble(da.equations(m))
    assert start["1.angle"] == pytest.approx(np.pi / 4, abs=1e-12)
