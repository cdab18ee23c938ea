"""Motions of polynomials of degree five, seven and nine."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.tree.trajectories.polynomial import rest_to_rest
from tests.helpers.robot_arms import seven_joints, two_links


def test_from_rest_to_rest_it_is_the_polynomial_of_the_books() -> None:
    path = da.tree.quintic(two_links(), {"shoulder": [0.5, 2.0], "elbow": 0.3}, 2.0)
    x = path.time / 2.0
    assert path["shoulder.angle"] == pytest.approx(0.5 + 1.5 * (10 * x**3 - 15 * x**4 + 6 * x**5), abs=1e-13)
    assert path["shoulder.rate"] == pytest.approx(1.5 / 2 * 30 * (x**2 - 2 * x**3 + x**4), abs=1e-12)
    assert path["shoulder.acceleration"] == pytest.approx(1.5 / 4 * (60 * x - 180 * x**2 + 120 * x**3), abs=1e-11)
    assert set(path["elbow.angle"].round(15)) == {0.3}
    assert path.units["shoulder.acceleration"] == "rad/s^2"


def test_it_passes_its_way_points_and_stays_between_them() -> None:
    values = [0.0, 1.0, 1.2, 0.4, 0.4, 0.9]
    times = [0.0, 1.0, 1.5, 2.5, 3.0, 4.0]
    path = da.tree.quintic(two_links(), {"shoulder": values}, times, every=0.01)
    assert np.interp(times, path.time, path["shoulder.angle"]) == pytest.approx(values, abs=1e-12)
    for low, high, a, b in zip(times[:-1], times[1:], values[:-1], values[1:], strict=True):
        part = path.between(low, high)["shoulder.angle"]
        assert part.min() > min(a, b) - 1e-12 and part.max() < max(a, b) + 1e-12


def test_rates_of_the_user_are_met_at_the_way_points() -> None:
    path = da.tree.quintic(
        two_links(), {"shoulder": [0.0, 1.0, 3.0]}, [0.0, 1.0, 2.0], every=0.01,
        rates={"shoulder": [0.5, 1.5, 0.0]},
    )  # fmt: skip
    at = [0, 100, 200]
    assert path["shoulder.rate"][at] == pytest.approx([0.5, 1.5, 0.0], abs=1e-12)
    assert path["shoulder.acceleration"][at] == pytest.approx(np.zeros(3), abs=1e-10)


def test_inverse_dynamics_kinematics_and_drivers_take_it_without_a_warning() -> None:
    eqs = seven_joints()
    home = da.assemble(eqs, {"joint2": 0.4, "joint4": 1.2})
    path = da.tree.quintic(eqs, [home, da.assemble(eqs, {"joint1": 1.0, "joint4": 0.5, "joint6": -0.5})], 1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torques = da.inverse_dynamics(eqs, path)
        moved = da.kinematics(eqs, motion=path)
        m = da.Mechanism("driven", planar=True)
        rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
        m.add_revolute("joint1", m.ground.at(0, 0), rod.at(-0.5, 0))
        m.add_driver("drive", "joint1.angle", path)
        run = da.simulate(da.equations(m), 1.5, method=da.RK4(5e-3))
    assert moved["joint4.acceleration"] == pytest.approx(path["joint4.acceleration"], abs=1e-12)
    assert torques.statistics["determination"] == "determined"
    # the driver splines the samples: of degree five, through values of a polynomial of degree five
    assert run.at(0.75)["joint1.angle"] == pytest.approx(path.at(0.75)["joint1.angle"], abs=1e-9)


def test_poses_of_a_place_turn_on_the_shortest_way_and_have_its_channels() -> None:
    eqs = seven_joints()
    a, b = da.rotation(axis=(0, 0, 1), angle=0.2), da.rotation(axis=(0, 0, 1), angle=1.4)
    path = da.tree.quintic(eqs, {"tip": [(0.5, 0.0, 0.5, a), (0.5, 0.2, 0.5, b)]}, 1.0)
    p = path[["tip.e0", "tip.e1", "tip.e2", "tip.e3"]]
    assert np.linalg.norm(p, axis=1) == pytest.approx(np.ones(len(p)), abs=1e-14)
    angle = 2 * np.arctan2(p[:, 3], p[:, 0])
    assert angle[[0, -1]] == pytest.approx([0.2, 1.4], abs=1e-12) and (np.diff(angle) >= -1e-15).all()
    # the angular velocity is the rate of the angle: central differences err by h² |angle'''|/6 < 60 h²
    step = path.time[1]
    assert path["tip.wz"][1:-1] == pytest.approx((angle[2:] - angle[:-2]) / (2 * step), abs=60 * step**2)


def test_the_way_back_through_orientations_is_the_way_there_in_reverse() -> None:
    """Before and after are alike: p(t) through a, b, c is p(T - t) through c, b, a, and ω changes its sign."""
    axes = ((0, 0, 1), (0.6, 0, 0.8), (0, 1, 0))
    turns = [da.rotation(axis=axis, angle=angle) for axis, angle in zip(axes, (0.2, 0.9, -0.5), strict=True)]
    poses, times = [(0.5, 0.1 * k, 0.5, one) for k, one in enumerate(turns)], [0.0, 0.5, 2.0]
    there = da.tree.quintic(seven_joints(), {"tip": poses}, times, every=0.01)
    back = da.tree.quintic(seven_joints(), {"tip": poses[::-1]}, [2.0 - t for t in times[::-1]], every=0.01)
    p, r = (path[[f"tip.e{k}" for k in range(4)]] for path in (there, back))
    assert np.abs((p * r[::-1]).sum(axis=1)) == pytest.approx(np.ones(len(p)), abs=1e-13)
    for axis in "xyz":
        assert back[f"tip.w{axis}"][::-1] == pytest.approx(-there[f"tip.w{axis}"], abs=1e-11)
        assert back[f"tip.alpha{axis}"][::-1] == pytest.approx(there[f"tip.alpha{axis}"], abs=1e-9)


@pytest.mark.parametrize(
    ("points", "times", "code"),
    [
        ({"shouldr": [0, 1]}, 1.0, "unknown-name"),
        ({"shoulder": [0.0]}, 1.0, "empty"),
        ({"shoulder": [0, 1], "elbow": [0, 1, 2]}, 1.0, "wrong-shape"),
        ({"shoulder": [0, float("nan")]}, 1.0, "not-finite"),
        ({"shoulder": ["a", "b"]}, 1.0, "not-a-number"),
        ({"shoulder": [0, 1, 1, 2]}, 1.0, "duplicate"),
        ({"shoulder": [0, 1]}, 0.0, "not-positive"),
        ({"shoulder": [0, 1]}, None, "not-positive"),
        ({"shoulder": [0, 1]}, [0.0, 0.0], "not-increasing"),
        ({"shoulder": [0, 1]}, [0.0, 1.0, 2.0], "wrong-shape"),
        ({"shoulder": [0, 1], "shoulder.angle": [0, 1]}, 1.0, "duplicate"),
        ([1, 2], 1.0, "wrong-type"),
    ],
)
def test_mistakes_in_way_points_have_codes(points: object, times: object, code: str) -> None:
    with pytest.raises(da.errors.DalembertError) as found:
        da.tree.quintic(two_links(), points, times)
    assert found.value.code == code


def test_a_way_point_beyond_the_limits_of_a_joint_is_refused() -> None:
    eqs = two_links(lower=-1.0, upper=2.0)
    da.tree.quintic(eqs, {"elbow": [-1.0, 2.0]}, 1.0)
    with pytest.raises(da.errors.ModelError) as found:
        da.tree.quintic(eqs, {"elbow": [0.0, 2.001]}, 1.0)
    assert found.value.code == "out-of-range"
    assert found.value.where == {"coordinate": "elbow.angle", "way-point": 2}


def test_way_points_that_repeat_are_a_rest_where_times_are_given() -> None:
    path = da.tree.quintic(two_links(), {"shoulder": [0.0, 1.0, 1.0, 2.0]}, [0.0, 1.0, 2.0, 3.0], every=0.01)
    assert path.between(1.0, 2.0)["shoulder.angle"] == pytest.approx(np.ones(101), abs=1e-14)


@pytest.mark.spec("001-C51")
@pytest.mark.parametrize(("degree", "smooth"), [(5, 2), (7, 3), (9, 4)])
def test_a_polynomial_of_higher_degree_rests_with_more_derivatives(degree: int, smooth: int) -> None:
    """Value, and derivatives up to (degree - 1)/2, of the closed form and of the record."""
    x = np.polynomial.Polynomial([0.0, 1.0])
    shape = rest_to_rest(x, degree)
    assert shape.degree() == degree and (shape(0.0), shape(1.0)) == pytest.approx((0.0, 1.0), abs=1e-12)
    for k in range(1, smooth + 1):
        assert (shape.deriv(k)(0.0), shape.deriv(k)(1.0)) == pytest.approx((0.0, 0.0), abs=1e-9)
    assert abs(shape.deriv(smooth + 1)(0.0)) > 1.0
    path = da.tree.polynomial(two_links(), {"shoulder": [0.2, 1.2], "elbow": 0.0}, 2.0, degree=degree)
    for k, kind in enumerate(("angle", "rate", "acceleration")):
        expected = 0.2 * (k == 0) + (shape.deriv(k) if k else shape)(path.time / 2.0) / 2.0**k
        assert path[f"shoulder.{kind}"] == pytest.approx(expected, abs=1e-11)


def test_a_degree_without_polynomial_is_refused() -> None:
    with pytest.raises(DataError, match="5, 7 or 9"):
        da.tree.polynomial(two_links(), {"shoulder": [0.0, 1.0], "elbow": 0.0}, 1.0, degree=6)
