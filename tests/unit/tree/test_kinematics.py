"""Poses and Jacobians of places on bodies, against differences of poses."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import State
from tests.helpers.arms import arm, arm_states, make_arm
from tests.helpers.findings import raises

STEP = 1e-6  # of central differences: errors of 1e-12 of the step, 1e-10 of rounding


def moved(state: State, by: float) -> State:
    return arm().state(q=state.q + by * state.v, v=state.v)


def test_a_place_has_the_pose_that_its_body_and_its_coordinates_give() -> None:
    eqs, (state,) = arm(), arm_states(1)
    hand, tip = (da.tree.forward_kinematics(eqs, state, place) for place in ("hand", "hand.tip"))
    np.testing.assert_allclose(tip[:3, 3], hand[:3, :3] @ [0.1, 0.02, 0.03] + hand[:3, 3], atol=1e-14)
    np.testing.assert_allclose(hand[:3, 3], [state["hand.x"], state["hand.y"], state["hand.z"]], atol=1e-14)
    everything = da.tree.forward_kinematics(eqs, state)
    assert set(everything) == {"upper", "lower", "hand"}
    np.testing.assert_array_equal(everything["hand"], hand)
    body = make_arm()["hand"]
    frame = da.tree.forward_kinematics(eqs, state, body.frame(0.1, 0.02, 0.03, axis=(1, 0, 0), x=(0, 1, 0)))
    np.testing.assert_allclose(frame[:3, 2], hand[:3, 0], atol=1e-14)
    np.testing.assert_allclose(frame[:3, 3], tip[:3, 3], atol=1e-14)
    np.testing.assert_array_equal(da.tree.forward_kinematics(eqs, state, "ground"), np.eye(4))


def test_the_origin_of_a_body_is_where_its_coordinates_are_zero() -> None:
    m = da.Mechanism("off centre")
    body = m.add_body("body", inertia=da.composite((da.box(0.1, 0.1, 0.1), 1.0, (0.3, 0.0, 0.1))))
    m.add_revolute("hinge", m.ground.at(1, 2, 3), body.at(0, 0, 0))
    eqs = da.equations(m, coordinates="joint")
    state = eqs.state(q=[0.7])
    np.testing.assert_allclose(da.tree.forward_kinematics(eqs, state, "body.origin")[:3, 3], [1, 2, 3], atol=1e-14)
    assert da.tree.forward_kinematics(eqs, state, "body")[2, 3] == pytest.approx(3.1)


@pytest.mark.parametrize("seed", range(3))
def test_jacobians_and_their_rates_are_derivatives_of_poses(seed: int) -> None:
    eqs, (state,) = arm(), arm_states(1, seed)
    J = da.tree.jacobian(eqs, state, "hand.tip")
    later, before = (da.tree.forward_kinematics(eqs, moved(state, x), "hand.tip") for x in (STEP, -STEP))
    rate, R = (later - before) / (2 * STEP), (later + before)[:3, :3] / 2
    np.testing.assert_allclose(J[:3] @ state.v, rate[:3, 3], atol=1e-8)
    spin = rate[:3, :3] @ R.T
    np.testing.assert_allclose(J[3:] @ state.v, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-8)
    for reference in ("local", "world", "local_world_aligned"):
        J_rate = da.tree.jacobian_rate(eqs, state, "hand.tip", reference=reference)
        near = [da.tree.jacobian(eqs, moved(state, x), "hand.tip", reference=reference) for x in (STEP, -STEP)]
        np.testing.assert_allclose(J_rate, (near[0] - near[1]) / (2 * STEP), atol=1e-8)


def test_a_joint_has_the_frame_on_the_body_that_it_carries() -> None:
    eqs, (state,) = arm(), arm_states(1)
    joint, body = (da.tree.forward_kinematics(eqs, state, place) for place in ("elbow", "lower"))
    np.testing.assert_allclose(joint[:3, 3], body[:3, :3] @ [-0.3, 0, 0.1] + body[:3, 3], atol=1e-14)
    np.testing.assert_allclose(joint[:3, 2], body[:3, 1], atol=1e-14)  # z along its axis


def test_the_ground_does_not_move() -> None:
    eqs, (state,) = arm(), arm_states(1)
    assert not da.tree.jacobian(eqs, state, "ground").any()
    assert not da.tree.twist(eqs, state, "ground").any()


def test_unknown_places_and_references_are_errors() -> None:
    eqs, (state,) = arm(), arm_states(1)
    with raises(da.errors.ModelError, "unknown-name", "hnd", "hand"):
        da.tree.forward_kinematics(eqs, state, "hnd")
    with raises(da.errors.ModelError, "unknown-name", "tp", "tip"):
        da.tree.jacobian(eqs, state, "hand.tp")
    with raises(da.errors.ModelError, "unknown-choice", "body", "local"):
        da.tree.jacobian(eqs, state, "hand", reference="body")
