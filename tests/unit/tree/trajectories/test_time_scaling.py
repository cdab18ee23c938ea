"""The fastest timing of a motion within limits."""

from __future__ import annotations

import math
import warnings
from functools import partial

import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as da
from dalembert.tree.trajectories import time_scaling
from tests.helpers.findings import raises
from tests.helpers.robot_arms import seven_joints, two_links, wheel


def test_a_wheel_with_limited_torque_takes_the_time_of_bang_bang_control() -> None:
    eqs = wheel(inertia=0.5, effort=2.0)
    path = da.tree.scale_time(eqs, da.tree.quintic(eqs, {"hinge": [0.0, 1.5]}, 10.0))
    assert path.statistics["duration"] == pytest.approx(2 * math.sqrt(1.5 * 0.5 / 2.0), rel=1e-9)
    assert np.abs(path["hinge.acceleration"]) == pytest.approx(np.full(len(path), 4.0), rel=1e-6)
    assert path["hinge.angle"][[0, -1]] == pytest.approx([0.0, 1.5], abs=1e-12)


def test_with_a_limited_speed_it_is_the_trapezoid() -> None:
    eqs = wheel(inertia=0.5, effort=2.0)
    path = da.tree.scale_time(eqs, da.tree.quintic(eqs, {"hinge": [0.0, 1.5]}, 10.0), speed=1.0)
    # a switch between two of 500 places costs less than an interval of the rise
    assert path.statistics["duration"] == pytest.approx(1.5 + 1.0 / 4.0, rel=1e-5)


def test_the_way_back_begins_at_rest() -> None:
    eqs = wheel(inertia=0.5, effort=2.0)
    path = da.tree.scale_time(eqs, da.tree.quintic(eqs, {"hinge": [0.0, 1.5, 0.0]}, 10.0))
    assert path.statistics["duration"] == pytest.approx(4 * math.sqrt(1.5 * 0.5 / 2.0), rel=1e-6)


def damped_time(inertia: float, damping: float, torque: float, angle: float) -> float:
    """Shortest time of a wheel with drag: full torque forth, then back (closed form of both phases)."""
    rate, top = damping / inertia, torque / damping

    def phases(rise: float) -> tuple[float, float]:
        speed = top * (1 - math.exp(-rate * rise))
        way = top * (rise - (1 - math.exp(-rate * rise)) / rate)
        fall = math.log((speed + top) / top) / rate
        return way + (speed + top) * (1 - math.exp(-rate * fall)) / rate - top * fall - angle, rise + fall

    return phases(brentq(lambda rise: phases(rise)[0], 1e-6, 50.0, xtol=1e-14))[1]


def test_damping_is_part_of_the_limits_and_a_finer_grid_is_closer_to_the_shortest_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    eqs = wheel(inertia=0.5, damping=0.5, effort=2.0)
    slow = da.tree.quintic(eqs, {"hinge": [0.0, 1.0]}, 10.0)
    exact = damped_time(0.5, 0.5, 2.0, 1.0)
    excess, path = [], time_scaling._JointPath
    for intervals in (250, 1000):
        monkeypatch.setattr(time_scaling, "_JointPath", partial(path, intervals=intervals))
        excess.append(da.tree.scale_time(eqs, slow).statistics["duration"] / exact - 1)
    assert 0 < excess[1] < excess[0] / 2.5 < 2 / 250  # first order in the interval, and never too short


def test_an_arm_keeps_to_all_its_limits_and_uses_one_throughout() -> None:
    eqs = seven_joints()
    home = da.assemble(eqs, {"joint2": 0.4, "joint4": 1.2, "joint6": 0.5})
    ends = [home, da.assemble(eqs, {"joint1": 1.5, "joint2": -0.6, "joint4": 0.4, "joint5": 1.0}), home]
    slow = da.tree.spline(eqs, ends, [0.0, 5.0, 10.0])
    fast = da.tree.scale_time(eqs, slow, effort={f"joint{k}": 60.0 for k in (1, 2, 3, 4)}, every=2e-3)
    share = np.column_stack([fast[f"joint{k}.angle.share"] for k in range(1, 8)]).max(axis=1)
    assert fast.statistics["largest share"] <= 1 + 1e-6
    # at a limit at nearly every instant: the cells of the switches are the rest
    assert np.mean(share > 0.99) > 0.9
    tau = da.tree.inverse_dynamics(eqs, fast)
    drag = np.array([0.6, 0.6, 0.4, 0.4, 0.2, 0.2, 0.1]) * np.asarray(fast[list(eqs.speeds.names)])
    assert np.abs((tau + drag)[:, :4]).max() <= 60.0 * (1 + 1e-6)
    for k in range(1, 8):
        assert np.abs(fast[f"joint{k}.rate"]).max() <= eqs.limits[f"joint{k}.angle"].speed * (1 + 1e-6)
    assert fast.statistics["duration"] < 5.0


def test_the_path_stays_the_same() -> None:
    eqs = two_links()
    slow = da.tree.spline(eqs, {"shoulder": [0.0, 1.0, 0.5], "elbow": [0.0, -0.5, 1.0]}, [0.0, 1.0, 3.0], every=0.01)
    fast = da.tree.scale_time(eqs, slow, speed=2.0, acceleration=10.0, every=1e-3)
    points = np.column_stack((fast["shoulder.angle"], fast["elbow.angle"]))
    way = np.column_stack((slow["shoulder.angle"], slow["elbow.angle"]))
    # distance from samples to the nearest chord of 300: chords err by (length/300)²/8 times the curvature
    distance = [np.min(np.linalg.norm(way - p, axis=1)) for p in points]
    assert max(distance) < 0.02
    assert points[[0, -1]] == pytest.approx(way[[0, -1]], abs=1e-9)


def test_the_record_moves_as_it_says_and_other_functions_take_it() -> None:
    eqs = wheel(inertia=0.5, effort=2.0)
    path = da.tree.scale_time(eqs, da.tree.quintic(eqs, {"hinge": [0.0, 1.0]}, 10.0), every=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        da.inverse_dynamics(eqs, path)
    # the rate is the derivative of the angle: trapezoidal sums of a piecewise linear rate are exact but at the switch
    way = np.concatenate(
        ([0.0], np.cumsum((path["hinge.rate"][1:] + path["hinge.rate"][:-1]) / 2 * np.diff(path.time)))
    )
    assert way == pytest.approx(path["hinge.angle"], abs=4.0 * 1e-3**2)


def test_a_joint_too_weak_to_hold_its_weight_is_named() -> None:
    eqs = seven_joints()
    slow = da.tree.quintic(eqs, {"joint2": [1.0, 1.5], **dict.fromkeys(["joint1", "joint3", "joint4"], 0.0),
                                 **dict.fromkeys(["joint5", "joint6", "joint7"], 0.0)}, 2.0)  # fmt: skip
    with pytest.raises(da.errors.ConvergenceError) as found:
        da.tree.scale_time(eqs, slow, effort={"joint2": 10.0})
    assert found.value.code == "no-solution"
    assert found.value.where["coordinate"] == "joint2.angle" and found.value.finding.evidence["share"] > 1


def test_a_path_without_length_takes_no_time() -> None:
    eqs = two_links()
    still = da.tree.quintic(eqs, {"shoulder": [0.4, 0.4], "elbow": 0.1}, 3.0)
    path = da.tree.scale_time(eqs, still, speed=1.0, acceleration=1.0)
    assert len(path) == 1 and path.statistics["duration"] == 0.0 and path["shoulder.angle"][0] == 0.4


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, "missing-argument"),
        ({"speed": {"shoulder": 1.0}}, "missing-argument"),  # nothing bounds the elbow where it moves alone
        ({"speed": 0.0}, "not-positive"),
        ({"acceleration": {"wrist": 1.0}}, "unknown-name"),
    ],
)
def test_mistakes_have_codes(options: dict[str, object], code: str) -> None:
    eqs = two_links()
    motion = da.tree.trapezoid(eqs, {"shoulder": [0, 1, 1], "elbow": [0, 0, 1]}, speed=1.0, acceleration=1.0)
    with pytest.raises(da.errors.DalembertError) as found:
        da.tree.scale_time(eqs, motion, **options)  # type: ignore[arg-type]
    assert found.value.code == code


def test_efforts_of_a_machine_with_loops_are_not_limited() -> None:
    eqs = da.equations(da.read_model("four-bar"), coordinates="joint")
    name = eqs.coordinates.names[0]
    motion = da.tree.quintic(eqs, {name: [0.3, 1.0]}, 1.0)
    with pytest.raises(da.errors.ModelError) as found:
        da.tree.scale_time(eqs, motion, effort=1.0)
    assert found.value.code == "not-supported"
    fast = da.tree.scale_time(eqs, motion, acceleration={name: 5.0})
    assert np.abs(fast[name.replace("angle", "acceleration")]).max() == pytest.approx(5.0, rel=1e-3)


def test_a_ball_turns_as_fast_as_its_speeds_allow() -> None:
    m = da.Mechanism("ball")
    rod = m.add_body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_spherical("ball", m.ground.at(0, 0, 0), rod.at(0, 0, 0))
    eqs = da.equations(m, coordinates="joint")
    turned = da.rotation(axis=(0, 0, 1), angle=2.0)
    slow = da.tree.quintic(eqs, {"ball.rotation": [da.rotation(vector=(0, 0, 0)), turned]}, 5.0)
    fast = da.tree.scale_time(eqs, slow, speed=1.0, acceleration=4.0)
    # 2 rad at 1 rad/s with 4 rad/s²; chords of a spline stand for an arc, and a switch lies between two places
    assert fast.statistics["duration"] == pytest.approx(2.0 + 0.25, rel=1e-3)
    p = fast[["ball.e0", "ball.e1", "ball.e2", "ball.e3"]]
    assert np.linalg.norm(p, axis=1) == pytest.approx(np.ones(len(p)), abs=1e-12)
    assert 2 * np.arctan2(p[-1, 3], p[-1, 0]) == pytest.approx(2.0, abs=1e-9)
    with pytest.raises(da.errors.DataError) as found:
        da.tree.scale_time(eqs, slow)
    assert found.value.code == "missing-argument"


def test_a_speed_that_no_machine_reaches_is_no_limit() -> None:
    eqs = wheel(inertia=0.5)
    slow = da.tree.quintic(eqs, {"hinge": [0.0, 1.5]}, 10.0)
    assert da.tree.scale_time(eqs, slow, speed=7e5, every=1e-6).statistics["duration"] > 0.0
    with raises(da.errors.DataError, "missing-argument"):
        da.tree.scale_time(eqs, slow, speed=1.5e6)
