"""Motions with trapezoidal speed."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.integrate import trapezoid

import dalembert as da
from tests.helpers.robot_arms import seven_joints, two_links


def test_the_slowest_coordinate_sets_the_time_of_all() -> None:
    path = da.tree.trapezoid(
        two_links(), {"shoulder": [0.0, 1.0], "elbow": [0.0, -2.0]}, speed={"shoulder": 1.0, "elbow": 1.5},
        acceleration=4.0,
    )  # fmt: skip
    # the elbow: 2 rad at 1.5 rad/s with 4 rad/s²
    assert path.statistics["duration"] == pytest.approx(2.0 / 1.5 + 1.5 / 4.0, rel=1e-12)
    assert path["shoulder.angle"] == pytest.approx(-path["elbow.angle"] / 2, abs=1e-14)
    assert np.abs(path["elbow.rate"]).max() == pytest.approx(1.5, rel=1e-12)
    assert np.abs(path["elbow.acceleration"]).max() == pytest.approx(4.0, rel=1e-12)


def test_a_short_motion_is_a_triangle() -> None:
    path = da.tree.trapezoid(two_links(), {"shoulder": [0.0, 0.1]}, speed=10.0, acceleration=5.0)
    assert path.statistics["duration"] == pytest.approx(2 * math.sqrt(0.1 / 5.0), rel=1e-12)
    assert path["shoulder.rate"].max() == pytest.approx(math.sqrt(0.1 * 5.0), rel=1e-12)


def test_limits_of_joints_are_the_speeds_that_are_not_given() -> None:
    eqs = seven_joints()
    path = da.tree.trapezoid(eqs, {"joint1": [0.0, 2.0], "joint5": [0.0, 2.0]}, acceleration=20.0)
    assert path.statistics["duration"] == pytest.approx(2.0 / 1.7 + 1.7 / 20.0, rel=1e-12)
    assert da.tree.check_limits(eqs, path) == ()


def test_it_stops_at_every_way_point_and_repeats_take_no_time() -> None:
    points = {"shoulder": [0.0, 1.0, 1.0, 0.5]}
    path = da.tree.trapezoid(two_links(), points, speed=1.0, acceleration=2.0, every=1e-3)
    times = path.statistics["times"]
    assert times == pytest.approx([0.0, 1.5, 1.5, 2.5])
    # between samples the rate changes by a · h
    assert np.abs(np.interp(times, path.time, path["shoulder.rate"])).max() < 2.0 * 1e-3
    assert np.interp(times, path.time, path["shoulder.angle"]) == pytest.approx(points["shoulder"], abs=1e-6)


def test_a_longer_duration_stretches_the_whole_motion() -> None:
    points, bounds = {"shoulder": [0.0, 1.0, 0.0]}, {"speed": 1.0, "acceleration": 2.0}
    fast = da.tree.trapezoid(two_links(), points, **bounds)
    slow = da.tree.trapezoid(two_links(), points, **bounds, until=6.0)
    assert slow.time == pytest.approx(2 * fast.time)
    assert slow["shoulder.angle"] == pytest.approx(fast["shoulder.angle"], abs=1e-12)
    assert slow["shoulder.rate"] == pytest.approx(fast["shoulder.rate"] / 2, abs=1e-12)


def test_a_motion_without_length_is_one_sample_at_rest() -> None:
    path = da.tree.trapezoid(two_links(), {"shoulder": [0.3, 0.3], "elbow": 1.0}, speed=1.0, acceleration=1.0)
    assert len(path) == 1 and path["shoulder.angle"].tolist() == [0.3] and path["shoulder.rate"].tolist() == [0.0]


def test_an_orientation_turns_about_one_axis_with_the_same_law() -> None:
    a, b = da.rotation(vector=(0.1, 0.2, 0.3)), da.rotation(vector=(-0.5, 0.4, 1.0))
    path = da.tree.trapezoid(
        seven_joints(), {"tip": [(0.5, 0.0, 0.5, a), (0.5, 0.1, 0.5, b)]}, speed=1.0, acceleration=2.0
    )  # fmt: skip
    omega = np.linalg.norm(path[["tip.wx", "tip.wy", "tip.wz"]], axis=1)
    turn = float(np.linalg.norm(da.rotation(matrix=(a.matrix.T @ b.matrix).tolist()).vector))
    assert trapezoid(omega, path.time) == pytest.approx(turn, rel=1e-4)  # straight lines between 201 samples
    assert omega.max() == pytest.approx(1.0, rel=1e-9)  # the turn, larger than 0.1 m, is at its limit


def test_inverse_dynamics_takes_it_without_a_warning() -> None:
    eqs = seven_joints()
    home = da.assemble(eqs, {"joint2": 0.4, "joint4": 1.2})
    path = da.tree.trapezoid(eqs, [home, da.assemble(eqs, {"joint1": 0.5, "joint4": 0.6})], acceleration=5.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        da.inverse_dynamics(eqs, path)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"speed": 1.0}, "missing-argument"),
        ({"speed": 1.0, "acceleration": {"elbow": 1.0}}, "missing-argument"),
        ({"speed": -1.0, "acceleration": 1.0}, "not-positive"),
        ({"speed": {"wrist": 1.0}, "acceleration": 1.0}, "unknown-name"),
        ({"speed": 1.0, "acceleration": 1.0, "until": 0.5}, "out-of-range"),
        ({"speed": 1.0, "acceleration": 1.0, "every": 0.0}, "not-positive"),
        ({"speed": 1.0, "acceleration": 1.0, "every": 1e-9}, "too-large"),
    ],
)
def test_mistakes_have_codes(options: dict[str, object], code: str) -> None:
    with pytest.raises(da.errors.DataError) as found:
        da.tree.trapezoid(two_links(), {"shoulder": [0.0, 1.0], "elbow": 0.0}, **options)  # type: ignore[arg-type]
    assert found.value.code == code
