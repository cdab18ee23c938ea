"""Inverse kinematics: poses found, limits kept, targets out of reach."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dalembert as da
from dalembert.core.errors import ModelError
from dalembert.structures import Frame, Section, flexible_body
from dalembert.tree.reach.inverse_kinematics import active_limits
from tests.helpers.repetitions import few
from tests.helpers.robot_arms import TIP, pose, random_arm, seven_joints, two_links

CLOSE = 2e-10  # tolerance 1e-10 over 1 + the largest position, which is below 1 m


def solved(joints: int, arms: range, poses: int, limit: float = 2.5) -> float:
    """Share of random reachable poses that are found; every one that is, is checked."""
    found = 0
    for seed in arms:
        eqs = random_arm(joints, seed, limit)
        rng = np.random.default_rng(1000 + seed)
        for _ in range(poses):
            wanted = pose(eqs, rng.uniform(-limit, limit, size=joints))
            try:
                state = da.tree.inverse_kinematics(eqs, {TIP: wanted})
            except da.tree.OutOfReachError:
                continue
            found += 1
            assert np.abs(pose(eqs, state.q) - wanted).max() < CLOSE
            assert np.abs(state.q).max() <= limit
    return found / (len(arms) * poses)


@pytest.mark.parametrize("joints", [6, 7])
def test_random_poses_of_random_arms_are_found_within_limits(joints: int) -> None:
    assert solved(joints, range(1), 10) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("joints", [6, 7])
def test_at_least_99_of_100_random_poses_of_many_arms_are_found(joints: int) -> None:
    assert solved(joints, range(8), 25) >= 0.99


@given(
    st.lists(st.floats(-1.9, 1.9), min_size=7, max_size=7),
    st.lists(st.floats(-1.9, 1.9), min_size=7, max_size=7),
)
def test_a_pose_is_reached_from_any_start_and_no_limit_is_exceeded(goal: list[float], start: list[float]) -> None:
    eqs = seven_joints()
    goal[3], start[3] = abs(goal[3]), abs(start[3])  # the elbow bends one way
    wanted = pose(eqs, goal, "tip")
    state = da.tree.inverse_kinematics(eqs, {"tip": wanted}, start=eqs.state(start))
    assert np.abs(pose(eqs, state.q, "tip") - wanted).max() < 2 * CLOSE
    for name, value in zip(eqs.coordinates.names, state.q, strict=True):
        low, high = eqs.limits[name].range
        assert low <= value <= high


def test_two_links_have_the_angles_of_the_law_of_cosines() -> None:
    eqs = two_links()
    for bend in (1.0, -1.0):
        state = da.tree.inverse_kinematics(eqs, {TIP: (0.8, 0.9)}, start=da.assemble(eqs, {"elbow": bend}))
        inside = math.acos((0.8**2 + 0.9**2 - 2) / 2)
        assert state["elbow.angle"] == pytest.approx(math.copysign(inside, bend), abs=1e-9)


def test_a_target_on_the_boundary_of_the_workspace_is_reached_at_the_singular_pose() -> None:
    eqs = two_links()
    state = da.tree.inverse_kinematics(eqs, {TIP: (2.0, 0.0)}, start=da.assemble(eqs, {"elbow": 1.0}))
    # at the boundary the gap grows with the square of the angles: a gap of 3e-10 m is an angle of 2e-5
    assert np.hypot(*(pose(eqs, state.q)[:2, 2] - (2.0, 0.0))) < 3e-10
    assert abs(state["elbow.angle"]) < 1e-4


def test_a_singular_start_does_not_stop_the_search() -> None:
    eqs = two_links()
    state = da.tree.inverse_kinematics(eqs, {TIP: (0.5, 0.0)}, start=eqs.state([0.0, 0.0]))  # straight at the target
    assert pose(eqs, state.q)[:2, 2] == pytest.approx([0.5, 0.0], abs=CLOSE)


def test_positions_rotations_and_poses_of_several_places_are_reached_together() -> None:
    eqs = random_arm(7, 3)
    rng = np.random.default_rng(7)
    q = rng.uniform(-1, 1, size=7)
    hand, middle = pose(eqs, q), pose(eqs, q, "link3.tip")
    state = da.tree.inverse_kinematics(
        eqs, {"hand.rotation": da.rotation(matrix=hand[:3, :3].tolist()), "link3.tip": middle[:3, 3], "j6": q[6]},
        start=eqs.state(q + 0.2),
    )  # fmt: skip
    assert pose(eqs, state.q)[:3, :3] == pytest.approx(hand[:3, :3], abs=CLOSE)
    assert pose(eqs, state.q, "link3.tip")[:3, 3] == pytest.approx(middle[:3, 3], abs=CLOSE)
    assert state["j6.angle"] == pytest.approx(q[6], abs=CLOSE)


def test_all_forms_of_a_pose_mean_the_same() -> None:
    eqs = random_arm(6, 1)
    q = np.linspace(0.2, 0.8, 6)
    T = pose(eqs, q)
    turned = da.rotation(matrix=T[:3, :3].tolist())
    place = T[:3, 3].tolist()
    forms = [T, T.tolist(), (*place, turned), (*place, *turned.vector), (*place, *turned.quaternion)]
    for form in forms:
        state = da.tree.inverse_kinematics(eqs, {TIP: form}, start=eqs.state(q + 0.05))
        assert state.q == pytest.approx(q, abs=1e-7)
    state = da.tree.inverse_kinematics(eqs, {f"{TIP}.pose": forms[2]}, start=eqs.state(q + 0.05))
    assert state.q == pytest.approx(q, abs=1e-7)


def test_a_point_or_a_frame_of_a_body_is_a_place() -> None:
    m = da.Mechanism("two links", planar=True)
    upper = m.add_body("upper", mass=1.0, inertia=da.rod(1.0))
    hand = m.add_body("hand", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("shoulder", m.ground.at(0, 0), upper.at(-0.5, 0))
    m.add_revolute("elbow", upper.at(0.5, 0), hand.at(-0.5, 0))
    eqs = da.equations(m, coordinates="joint")
    state = da.tree.inverse_kinematics(eqs, {hand.at(0.5, 0): (0.8, 0.9)})
    assert da.tree.forward_kinematics(eqs, state, hand.at(0.5, 0))[:2, 2] == pytest.approx([0.8, 0.9], abs=CLOSE)
    tilted = hand.frame(0.0, 0.0, angle=0.3)
    state = da.tree.inverse_kinematics(eqs, {tilted: da.rotation(axis=(0, 0, 1), angle=1.0), "elbow": 0.4})
    assert state["shoulder.angle"] == pytest.approx(1.0 - 0.3 - 0.4, abs=CLOSE)


def test_in_the_plane_a_pose_has_an_angle() -> None:
    eqs = random_planar()
    state = da.tree.inverse_kinematics(eqs, {"c.tip": (1.0, 0.6, 0.4)})
    T = pose(eqs, state.q, "c.tip")
    assert T[:2, 2] == pytest.approx([1.0, 0.6], abs=CLOSE)
    assert math.atan2(T[1, 0], T[0, 0]) == pytest.approx(0.4, abs=CLOSE)


def random_planar() -> da.EquationsOfMotion:
    m = da.Mechanism("three links", planar=True)
    parent, place = m.ground, (0.0, 0.0)
    for name in "abc":
        body = m.add_body(name, mass=1.0, inertia=0.1, points={"tip": (0.5, 0.0)})
        m.add_revolute(f"joint {name}", parent.at(*place), body.at(-0.5, 0.0))
        parent, place = body, (0.5, 0.0)
    return da.equations(m, coordinates="joint")


# --- redundancy -------------------------------------------------------------------------------------------------------


def test_a_preferred_posture_is_the_nearest_one_that_reaches_the_target() -> None:
    eqs = seven_joints()
    home = eqs.state([0.3, 0.5, 0.1, 1.0, -0.2, 0.6, 0.1])
    wanted = pose(eqs, home.q + 0.25, "tip")
    found = da.tree.inverse_kinematics(eqs, {"tip": wanted}, start=eqs.state(home.q + 0.3), prefer=home)
    assert np.abs(pose(eqs, found.q, "tip") - wanted).max() < CLOSE
    # at a minimum the gradient has no part in the null space of the task
    J = da.tree.jacobian(eqs, found, "tip")
    free = np.linalg.svd(J)[2][6:]
    # the descent ends at a relative decrease of 1e-10, so that the gradient is below its square root
    assert np.abs(free @ (found.q - home.q)).max() < 2e-5
    assert np.linalg.norm(found.q - home.q) <= np.linalg.norm(np.full(7, 0.25)) + 1e-9


def test_preferring_the_middle_keeps_away_from_limits() -> None:
    eqs = seven_joints()
    start = eqs.state([1.0, 1.2, -1.8, 1.0, 1.9, 0.6, 0.1])
    wanted = {"tip": pose(eqs, start.q, "tip")}

    ranges = np.array([eqs.limits[name].range for name in eqs.coordinates.names])
    half = np.ptp(ranges, axis=1) / 2
    plain = da.tree.inverse_kinematics(eqs, wanted, start=start)
    centred = da.tree.inverse_kinematics(eqs, wanted, start=start, prefer="middle")
    before, after = ((state.q - ranges.mean(axis=1)) / half for state in (plain, centred))
    assert after @ after < before @ before
    free = np.linalg.svd(da.tree.jacobian(eqs, centred, "tip"))[2][6:]
    assert np.abs(free @ (after / half)).max() < 2e-5  # a minimum beside the task
    assert np.abs(pose(eqs, centred.q, "tip") - wanted["tip"]).max() < CLOSE


def test_preferring_manipulability_raises_it() -> None:
    eqs = random_arm(7, 0)
    start = eqs.state(np.full(7, 0.3))
    wanted = {TIP: pose(eqs, start.q)}
    plain, better = (
        da.tree.manipulability(eqs, da.tree.inverse_kinematics(eqs, wanted, start=start, prefer=how), TIP, part="pose")
        for how in (None, "manipulability")
    )
    assert better.measure > plain.measure


# --- closed chains, balls and free bodies -----------------------------------------------------------------------------


def test_a_five_bar_closes_its_loop_at_the_target() -> None:
    eqs = da.equations(da.read_model("five-bar"), coordinates="joint")
    place = da.tree.forward_kinematics(eqs, da.assemble(eqs), "payload")[:2, 2] + (0.04, -0.03)
    state = da.tree.inverse_kinematics(eqs, {"payload": place})
    assert da.tree.forward_kinematics(eqs, state, "payload")[:2, 2] == pytest.approx(place, abs=CLOSE)
    assert np.abs(eqs.kernel("position")(state.q, eqs.p, 0.0)[0]).max() <= 1e-12


def test_a_stewart_platform_has_the_legs_of_its_pose() -> None:
    eqs = da.equations(da.read_model("stewart"), coordinates="joint")
    T = da.tree.forward_kinematics(eqs, da.assemble(eqs), "platform")
    turned = da.rotation(tait_bryan=(0.1, -0.05, 0.15))
    place = T[:3, 3] + (0.05, -0.02, 0.04)
    state = da.tree.inverse_kinematics(eqs, {"platform": (*place, turned)})
    assert np.abs(eqs.kernel("position")(state.q, eqs.p, 0.0)[0]).max() <= 1e-12
    # the same pose assembled in absolute coordinates
    plain = da.equations(da.read_model("stewart"))
    same = da.assemble(plain, {"platform.pose": (*place, turned)})
    legs = [name for name in eqs.measures.names if name.endswith(".displacement")]
    assert len(legs) == 6
    assert [state[name] for name in legs] == pytest.approx([same[name] for name in legs], abs=1e-9)


def test_limits_of_a_leg_that_its_loop_moves_are_kept() -> None:
    eqs = da.equations(da.read_model("stewart"), coordinates="joint")
    here = da.assemble(eqs)
    legs = [name for name in eqs.measures.names if name.endswith(".displacement")]
    limits = {name: (here[name] - 0.02, here[name] + 0.02) for name in legs}
    high = da.tree.forward_kinematics(eqs, here, "platform")[:3, 3] + (0.0, 0.0, 0.1)
    state = da.tree.inverse_kinematics(eqs, {"platform": high}, limits=limits, nearest=True, restarts=0)
    reached = da.tree.forward_kinematics(eqs, state, "platform")[:3, 3]
    for name in legs:
        assert limits[name][0] <= state[name] <= limits[name][1]
    # all six legs at their upper limit: nothing is higher
    assert max(abs(state[name] - limits[name][1]) for name in legs) < 1e-6
    assert here is not None and reached[2] > high[2] - 0.1 + 0.015


def test_a_spherical_wrist_and_a_free_body_move_in_the_tangent_space() -> None:
    m = da.Mechanism("ball and drone")
    arm = m.add_body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
    hand = m.add_body("hand", mass=1.0, inertia=(0.1, 0.1, 0.1), points={"tip": (0, 0, 0.5)})
    drone = m.add_body("drone", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_revolute("base", m.ground.frame(0, 0, 0, axis=(0, 1, 0)), arm.frame(0, 0, -0.5, axis=(0, 1, 0)))
    m.add_spherical("ball", arm.at(0, 0, 0.5), hand.at(0, 0, -0.5))
    m.add_free("flight", m.ground.at(0, 0, 0), drone.at(0, 0, 0))
    eqs = da.equations(m, coordinates="joint")
    turned = da.rotation(vector=(0.4, -0.8, 1.9))
    state = da.tree.inverse_kinematics(
        eqs, {"hand.tip": (0.6, 0.4, 1.2), "drone": (1.0, -2.0, 0.5, turned)}, start=da.assemble(eqs)
    )  # fmt: skip
    assert da.tree.forward_kinematics(eqs, state, "hand.tip")[:3, 3] == pytest.approx([0.6, 0.4, 1.2], abs=3 * CLOSE)
    T = da.tree.forward_kinematics(eqs, state, "drone")
    assert T[:3, 3] == pytest.approx([1.0, -2.0, 0.5], abs=3 * CLOSE)
    assert T[:3, :3] == pytest.approx(turned.matrix, abs=3 * CLOSE)
    for block in eqs.quaternions:
        assert np.linalg.norm(state.q[block.part]) == pytest.approx(1.0, abs=1e-14)


# --- out of reach -----------------------------------------------------------------------------------------------------


def test_a_target_beyond_the_arm_leaves_the_distance_that_geometry_gives() -> None:
    eqs = two_links()
    with pytest.raises(da.tree.OutOfReachError) as found:
        da.tree.inverse_kinematics(eqs, {TIP: (3.0, 4.0)})
    error = found.value
    assert error.code == "out-of-reach" and error.where == {"place": TIP}
    assert error.finding.evidence["distance"] == pytest.approx(3.0, rel=1e-9)  # 5 m away, 2 m long
    assert error.finding.evidence["active"] == {}
    # the search ends where a step gains 1e-12 of the value: angles are off by the root of that, 2 m away
    assert pose(eqs, error.state.q)[:2, 2] == pytest.approx([1.2, 1.6], abs=1e-5)
    same = da.tree.inverse_kinematics(eqs, {TIP: (3.0, 4.0)}, nearest=True)
    assert same.q == pytest.approx(error.state.q)


def test_the_active_limit_is_named_and_kept_exactly() -> None:
    eqs = two_links(lower=0.5, upper=2.0)
    with pytest.raises(da.tree.OutOfReachError) as found:
        da.tree.inverse_kinematics(eqs, {TIP: (1.99, 0.0)})
    error = found.value
    assert error.finding.evidence["active"] == {"elbow.angle": "lower"}
    assert error.state["elbow.angle"] == 0.5
    # with this elbow the tip is |1 + e^(0.5 i)| = 2 cos 0.25 from the shoulder
    assert error.finding.evidence["distance"] == pytest.approx(1.99 - 2 * math.cos(0.25), rel=1e-9)
    free = da.tree.inverse_kinematics(eqs, {TIP: (1.99, 0.0)}, limits=False)
    assert abs(free["elbow.angle"]) < 0.5


def test_weights_decide_between_targets_that_exclude_each_other() -> None:
    eqs = two_links()
    target = {TIP: (2.0, 0.0), "upper": (0.0, 0.5)}  # stretched along x, and the upper arm along y
    for weights, near in (({TIP: 100.0}, TIP), ({"upper": 100.0}, "upper")):
        state = da.tree.inverse_kinematics(eqs, target, weights=weights, nearest=True)
        assert np.hypot(*(pose(eqs, state.q, near)[:2, 2] - target[near])) < 1e-2


def test_a_start_beyond_the_limits_is_moved_into_them_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    eqs = two_links(lower=0.5, upper=2.0)  # drawn at zero
    state = da.tree.inverse_kinematics(eqs, {TIP: (1.0, 1.0)})
    assert 0.5 <= state["elbow.angle"] <= 2.0
    assert not recwarn.list


def test_angles_without_limits_stay_within_half_a_turn_of_the_start() -> None:
    eqs = two_links()
    start = eqs.state([7.0, 1.0])
    state = da.tree.inverse_kinematics(eqs, {TIP: (-0.3, -0.4)}, start=start)
    assert abs(state["shoulder.angle"] - 7.0) <= math.pi


def test_the_same_seed_gives_the_same_pose() -> None:
    eqs = random_arm(6, 5, 2.5)
    wanted = {TIP: pose(eqs, np.array([2.0, -2.2, 1.9, -2.0, 2.1, -1.7]))}
    first, again = (da.tree.inverse_kinematics(eqs, wanted, seed=4) for _ in range(2))
    assert first.q.tolist() == again.q.tolist()


@pytest.mark.parametrize(
    ("target", "options", "code"),
    [
        ({"hnd": (1, 0)}, {}, "unknown-name"),
        ({"hand.tp": (1, 0)}, {}, "unknown-name"),
        ({TIP: (1, 0, 0)}, {"limits": {"elbow": (1.0, -1.0)}}, "not-increasing"),
        ({TIP: (1, 0)}, {"limits": {"wrist": (1.0, -1.0)}}, "unknown-name"),
        ({TIP: (1, 0)}, {"limits": 3}, "wrong-type"),
        ({TIP: (1, 0)}, {"prefer": "best"}, "unknown-choice"),
        ({TIP: (1, 0)}, {"prefer": "middle"}, "no-limits"),
        ({TIP: (1, 0)}, {"prefer": {"wrist": 1.0}}, "unknown-name"),
        ({TIP: (1, 0)}, {"weights": {"foot": 1.0}}, "unknown-name"),
        ({TIP: (1, 0)}, {"weights": {TIP: -1.0}}, "not-positive"),
        ({TIP: (1, 0)}, {"weights": {TIP: (1, 2, 3)}}, "wrong-shape"),
        ({TIP: (1, 0)}, {"tolerance": 0.0}, "not-positive"),
        ({TIP: (1, 0)}, {"restarts": -1}, "not-a-count"),
        ({TIP: (1, float("nan"))}, {}, "not-finite"),
        ({TIP: "far"}, {}, "not-a-number"),
        ({TIP: (1, 0, 0, 0)}, {}, "wrong-shape"),
        ({TIP: (1, 0), "hand.tip.position": (1, 0)}, {}, "duplicate"),
        ({}, {}, "empty"),
        ((1, 0), {}, "wrong-type"),
    ],
)
def test_mistakes_have_codes(target: object, options: dict[str, object], code: str) -> None:
    with pytest.raises(da.errors.DalembertError) as found:
        da.tree.inverse_kinematics(two_links(), target, **options)  # type: ignore[arg-type]
    assert found.value.code == code


def test_absolute_coordinates_are_refused_with_the_way_to_joint_coordinates() -> None:
    m = da.Mechanism("rod", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    with pytest.raises(da.errors.ModelError) as found:
        da.tree.inverse_kinematics(da.equations(m), {"rod": (0, 1)})
    assert found.value.code == "wrong-type" and found.value.advice


@pytest.mark.parametrize(("short", "named"), [(7e-10, True), (3e-9, False)])
def test_a_coordinate_at_its_limit_is_named(short: float, named: bool) -> None:
    """1.5e-9 rad from a limit of 0.5 rad: rounding of a bounded step."""
    ranges: Any = SimpleNamespace(names=["elbow.angle"], low=[0.5], high=[2.0])
    point: Any = SimpleNamespace(c=[0.5 + short])
    assert active_limits(ranges, point) == ({"elbow.angle": "lower"} if named else {})


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


@pytest.mark.parametrize("gears", few([False, True]))
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
