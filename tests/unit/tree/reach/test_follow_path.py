"""Motions of the joints along paths of places."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dalembert as da
from tests.helpers.robot_arms import TIP, random_arm, seven_joints, two_links


def line(eqs: da.EquationsOfMotion, a: object, b: object, duration: float = 1.0, place: str = TIP) -> da.Record:
    return da.tree.quintic(eqs, {place: [a, b]}, duration, every=0.01)


def test_the_tip_stays_on_its_line_and_the_joints_move_smoothly() -> None:
    eqs = seven_joints()
    home = eqs.state([0.2, 0.5, 0.1, 1.2, -0.2, 0.6, 0.1])
    away = eqs.state([0.8, 0.7, -0.2, 0.9, 0.1, 0.2, 0.3])
    ends = [da.tree.forward_kinematics(eqs, state, "tip") for state in (home, away)]
    path = line(eqs, *ends, place="tip")
    for prefer in (None, home, "middle", "manipulability"):
        motion = da.tree.follow_path(eqs, path, start=home, prefer=prefer)
        T = da.tree.forward_kinematics(eqs, motion, "tip")
        assert np.abs(T[:, :3, 3] - path[["tip.x", "tip.y", "tip.z"]]).max() < 1e-9
        a = motion[[name.replace("rate", "acceleration") for name in eqs.speeds.names]]
        # a quintic begins with a jerk of 60 and has accelerations up to 5.8 times its way: 10 % from one of 100 samples
        # to the next; the Jacobian adds a little
        assert np.abs(np.diff(a, axis=0)).max() < 0.13 * np.abs(a).max()
        assert da.tree.check_limits(eqs, motion) == ()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            da.inverse_dynamics(eqs, motion)


def test_least_motion_of_a_redundant_arm_is_that_of_the_pseudo_inverse() -> None:
    eqs = random_arm(7, 0)
    start = eqs.state(np.full(7, 0.3))
    T = da.tree.forward_kinematics(eqs, start, TIP)
    goal = T.copy()
    goal[:3, 3] += (0.05, -0.03, 0.04)
    motion = da.tree.follow_path(eqs, da.tree.quintic(eqs, {TIP: [T, goal]}, 1.0, every=2e-3), start=start)
    q, v = motion[list(eqs.coordinates.names)], motion[list(eqs.speeds.names)]
    J = da.tree.jacobian(eqs, (q, v), TIP)
    least = np.einsum("kij,kj->ki", np.linalg.pinv(J), np.einsum("kij,kj->ki", J, v))
    # steps of one sample leave the speeds of least norm by the change of J over a step
    assert np.abs(v - least).max() < 0.02 * np.abs(v).max()


def test_a_speed_limit_that_the_path_exceeds_is_named_with_the_time() -> None:
    eqs = two_links()
    path = line(eqs, (1.2, 0.5), (0.4, 0.9))
    start = da.assemble(eqs, {"elbow": 1.0})
    free = da.tree.follow_path(eqs, path, start=start)
    fastest = np.abs(free["elbow.rate"]).max()
    with pytest.raises(da.tree.OutOfReachError) as found:
        da.tree.follow_path(eqs, path, start=start, speed={"elbow": 0.6 * fastest})
    error = found.value
    assert error.finding.evidence["active"]["elbow.angle"] == "speed" and 0 < error.where["time"] < 1
    assert error.record is not None and error.record.time[-1] < error.where["time"]
    near = da.tree.follow_path(eqs, path, start=start, speed={"elbow": 0.6 * fastest}, nearest=True)
    assert np.abs(np.diff(near["elbow.angle"])).max() <= 0.6 * fastest * 0.01 * (1 + 1e-9)
    assert 0 < near.statistics["largest gap"] < 0.2


def test_a_path_that_only_another_solution_can_follow_begins_there() -> None:
    eqs = two_links(lower=-2.5, upper=0.5)  # the elbow bends back far, and forth a little
    path = line(eqs, (1.95, 0.3), (0.3, 1.1))
    motion = da.tree.follow_path(eqs, path, start=da.assemble(eqs, {"elbow": 0.4}))
    assert motion.statistics["first poses"] == 2
    assert (motion["elbow.angle"] < 0).all() and motion["elbow.angle"].min() >= -2.5


def test_a_path_out_of_reach_keeps_the_motion_before_it() -> None:
    eqs = two_links()
    path = line(eqs, (1.0, 0.5), (3.0, 0.5))
    with pytest.raises(da.tree.OutOfReachError) as found:
        da.tree.follow_path(eqs, path)
    reached = found.value.record
    assert reached is not None
    # the path leaves the circle of 2 m where x = √(4 - 0.25)
    x = np.interp(reached.time, path.time, path[f"{TIP}.x"])
    assert x[-1] <= np.sqrt(3.75) < path.at(found.value.where["time"])[f"{TIP}.x"]
    nearest = da.tree.follow_path(eqs, path, nearest=True)
    assert nearest.statistics["largest gap"] == pytest.approx(np.hypot(3.0, 0.5) - 2.0, rel=1e-6)


def test_a_path_that_begins_out_of_reach_begins_at_the_nearest_pose() -> None:
    eqs = two_links()
    path = line(eqs, (3.0, 0.0), (1.0, 0.5))
    with pytest.raises(da.tree.OutOfReachError) as found:
        da.tree.follow_path(eqs, path)
    assert found.value.where["time"] == 0.0 and found.value.record is None
    motion = da.tree.follow_path(eqs, path, nearest=True)
    assert motion.statistics["largest gap"] == pytest.approx(1.0, rel=1e-6)
    T = da.tree.forward_kinematics(eqs, motion, TIP)
    assert T[-1, :2, 2] == pytest.approx([1.0, 0.5], abs=1e-9)


def test_a_path_through_the_singular_pose_is_followed_with_some_tolerance() -> None:
    eqs = two_links()
    path = line(eqs, (1.0, -0.5), (1.0, 2.2), 2.0)  # leaves the reach at y = √3
    motion = da.tree.follow_path(eqs, path, nearest=True, speed=3.0)
    rates = np.abs(np.diff(motion[["shoulder.angle", "elbow.angle"]], axis=0)) / 0.01
    assert rates.max() <= 3.0 * (1 + 1e-9)


def test_too_few_samples_between_two_branches_are_no_motion() -> None:
    eqs = two_links()
    jump = da.Record([0.0, 1.0], [[1.0, 0.5], [-1.0, 0.5]], [f"{TIP}.x", f"{TIP}.y"], ["m", "m"])
    with pytest.raises(da.tree.OutOfReachError) as found:
        da.tree.follow_path(eqs, jump)
    assert "speed" in found.value.finding.evidence["active"].values()


def test_a_path_that_stands_still_and_a_path_of_one_sample_stand_still() -> None:
    eqs = two_links()
    still = da.tree.quintic(eqs, {TIP: [(1.0, 0.5), (1.0, 0.5)]}, 1.0)
    for path in (still, still.between(0.0, 0.0)):
        motion = da.tree.follow_path(eqs, path)
        assert len(motion) == len(path)
        assert np.abs(motion["elbow.rate"]).max() < 1e-9
        assert np.ptp(motion["elbow.angle"]) < 1e-12


@pytest.mark.slow
def test_a_platform_on_six_legs_follows_a_path_with_closed_loops() -> None:
    eqs = da.equations(da.read_model("stewart"), coordinates="joint")
    place = da.tree.forward_kinematics(eqs, da.assemble(eqs), "platform")[:3, 3]
    flat, tilted = da.rotation(vector=(0, 0, 0)), da.rotation(vector=(0.1, 0.05, 0.0))
    path = da.tree.quintic(
        eqs, {"platform": [(*place, flat), (*(place + np.array([0.02, 0.03, -0.02])), tilted)]}, 1.0, every=0.05
    )
    motion = da.tree.follow_path(eqs, path)
    moved = da.kinematics(eqs, motion=motion.select(*[n for n in motion.names if n.endswith("displacement")]))
    same = [f"platform.{axis}" for axis in "xyz"]
    assert moved[same] == pytest.approx(path[same], abs=1e-8)


def test_a_record_of_a_position_sensor_is_a_path() -> None:
    m = da.Mechanism("sensed", planar=True)
    upper = m.add_body("upper", mass=1.0, inertia=da.rod(1.0))
    hand = m.add_body("hand", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("shoulder", m.ground.at(0, 0), upper.at(-0.5, 0))
    m.add_revolute("elbow", upper.at(0.5, 0), hand.at(-0.5, 0))
    m.add_sensor("pen", da.position(hand.at(0.5, 0)))
    eqs = da.equations(m, coordinates="joint")
    path = da.tree.quintic(eqs, {"pen": [(1.0, 0.5), (0.5, 1.0)]}, 1.0)
    motion = da.tree.follow_path(eqs, path, start=da.assemble(eqs, {"elbow": 1.0}))
    moved = da.kinematics(eqs, motion=motion)
    assert moved["pen"] == pytest.approx(path[["pen.x", "pen.y"]], abs=1e-9)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"places": "foot"}, "unknown-name"),
        ({"speed": {"wrist": 1.0}}, "unknown-name"),
        ({"speed": -1.0}, "not-positive"),
        ({"tolerance": 0.0}, "not-positive"),
    ],
)
def test_mistakes_have_codes(options: dict[str, object], code: str) -> None:
    eqs = two_links()
    with pytest.raises(da.errors.DalembertError) as found:
        da.tree.follow_path(eqs, line(eqs, (1.0, 0.5), (0.5, 1.0)), **options)  # type: ignore[arg-type]
    assert found.value.code == code


def test_a_record_without_places_or_with_gaps_is_refused() -> None:
    eqs = two_links()
    with pytest.raises(da.errors.ModelError) as found:
        da.tree.follow_path(eqs, da.Record([0.0, 1.0], [[0.0], [1.0]], ["shoulder.angle"]))
    assert found.value.code == "missing-channel"
    gap = da.Record([0.0, 1.0], [[1.0, 0.0], [np.nan, 0.0]], [f"{TIP}.x", f"{TIP}.y"])
    with pytest.raises(da.errors.ModelError) as found:
        da.tree.follow_path(eqs, gap)
    assert found.value.code == "gap-in-record"
    with pytest.raises(da.errors.ModelError) as found:
        da.tree.follow_path(eqs, {"hand": (1, 0)})  # type: ignore[arg-type]
    assert found.value.code == "wrong-type"
