"""The flexibility of a machine at a place against static solutions with small wrenches there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.structures import Frame, Section, flexible_body
from tests.helpers.findings import raises


def arm(depth: float = 0.004) -> da.Mechanism:
    """Two rods in space that sag by their weights."""
    frame = Frame("rod")
    frame.add_points(["root", "tip"], [[0, 0, 0], [0.5, 0, 0]])
    frame.add_beam("rod", "root", "tip", section=Section.rectangle(0.006, depth), material="steel", elements=4)
    data = flexible_body(frame, basis="clamped", fixed="root", modes=2, static="tip", stiffening=False)
    m = da.Mechanism("arm")
    upper, fore = (m.add_flexible_body(name, data) for name in ("upper", "fore"))
    m.add_revolute("shoulder", m.ground.at(0, 0, 0), upper.at("root"), axis=(0, 1, 0))
    m.add_revolute("elbow", upper.at("tip"), fore.at("root"), axis=(0, 0, 1))
    return m


def rest(eqs: da.EquationsOfMotion) -> da.State:
    joints = {"shoulder": -0.3, "elbow": 0.8}
    return da.equilibrium(eqs, hold=joints, efforts=list(joints))


def test_the_place_moves_as_two_static_solutions_do() -> None:
    """Forces of ±1e-2 N beside weights of 1 N: half the difference of both has an error of third order."""
    eqs = da.equations(arm(), coordinates="joint")
    state = rest(eqs)
    C = da.tree.compliance(eqs, state, "fore.tip")
    np.testing.assert_allclose(C, C.T, rtol=0, atol=1e-10 * np.abs(C).max())
    assert np.linalg.eigvalsh(C)[0] > 0
    size = 1e-2
    for axis in (0, 2):
        ends = []
        for sign in (1, -1):
            pushed = arm()
            push = [0.0, 0.0, 0.0]
            push[axis] = sign * size
            pushed.add_force("push", pushed.bodies[1].at("tip"), tuple(push))
            loaded = da.equations(pushed, coordinates="joint")
            ends.append(da.tree.forward_kinematics(loaded, rest(loaded), "fore.tip")[:3, 3])
        moved = (ends[0] - ends[1]) / (2 * size)
        np.testing.assert_allclose(C[:3, axis], moved, rtol=0, atol=1e-6 * np.abs(moved).max())


def test_a_rigid_arm_has_none_and_an_unstable_one_is_refused() -> None:
    m = da.Mechanism("rigid")
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0), points={"tip": (0.5, 0, 0)})
    m.add_revolute("hinge", m.ground.at(0, 0, 0), rod.at(-0.5, 0, 0), axis=(0, 1, 0))
    eqs = da.equations(m, coordinates="joint")
    assert not da.tree.compliance(eqs, eqs.state(), "rod.tip").any()
    slack: Any = da.Mechanism("slack", gravity=(0, 0, 0))
    data = arm().bodies[0].flexible
    body = slack.add_flexible_body("rod", data, stiffness=0.0)
    slack.add_revolute("hinge", slack.ground.at(0, 0, 0), body.at("root"), axis=(0, 1, 0))
    eqs = da.equations(slack, coordinates="joint")
    with raises(da.errors.ConvergenceError, "no-solution", "slack"):
        da.tree.compliance(eqs, eqs.state(), "rod.tip")


def test_equations_without_a_tree_are_refused() -> None:
    eqs = da.equations(arm())
    with pytest.raises(da.errors.ModelError) as caught:
        da.tree.compliance(eqs, eqs.state(), "fore.tip")
    assert caught.value.code == "wrong-type"
