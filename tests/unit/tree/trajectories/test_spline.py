"""Motions by splines."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import dalembert as da
from tests.helpers.robot_arms import seven_joints, two_links

VALUES, TIMES = [0.0, 1.0, 0.2, 0.8], [0.0, 1.0, 1.7, 3.0]


def test_of_degree_three_it_is_the_clamped_cubic_spline() -> None:
    path = da.tree.spline(two_links(), {"shoulder": VALUES}, TIMES, degree=3, every=0.01)
    same = CubicSpline(TIMES, VALUES, bc_type="clamped")
    for k, channel in enumerate(("angle", "rate", "acceleration")):
        assert path[f"shoulder.{channel}"] == pytest.approx(same(path.time, k), abs=1e-11)


def test_of_degree_five_it_rests_without_acceleration_at_both_ends() -> None:
    path = da.tree.spline(two_links(), {"shoulder": VALUES}, TIMES)
    for channel in ("rate", "acceleration"):
        assert path[f"shoulder.{channel}"][[0, -1]] == pytest.approx([0.0, 0.0], abs=1e-10)
    assert np.interp(TIMES, path.time, path["shoulder.angle"]) == pytest.approx(VALUES, abs=1e-3)


def test_a_periodic_one_ends_as_it_begins() -> None:
    values = [0.0, 0.4, 0.1, -0.5, -0.2, 0.3, 0.0]
    path = da.tree.spline(two_links(), {"shoulder": values}, 3.0, ends="periodic")
    for channel in ("angle", "rate", "acceleration"):
        assert path[f"shoulder.{channel}"][0] == pytest.approx(path[f"shoulder.{channel}"][-1], abs=1e-9)
    assert abs(path["shoulder.rate"][0]) > 0.05


def test_a_natural_one_of_degree_three_has_no_acceleration_at_its_ends() -> None:
    path = da.tree.spline(two_links(), {"shoulder": VALUES}, TIMES, degree=3, ends="natural")
    assert path["shoulder.acceleration"][[0, -1]] == pytest.approx([0.0, 0.0], abs=1e-11)
    assert abs(path["shoulder.rate"][0]) > 0.05


def test_orientations_keep_unit_length_and_their_angular_velocity() -> None:
    turns = [da.rotation(vector=v) for v in ((0, 0, 0), (0.5, 0, 0), (0.5, 0.8, 0.2), (0, 1.0, 0.4))]
    path = da.tree.spline(seven_joints(), {"tip.rotation": turns}, 3.0, every=1e-3)
    p = path[["tip.e0", "tip.e1", "tip.e2", "tip.e3"]]
    assert np.linalg.norm(p, axis=1) == pytest.approx(np.ones(len(p)), abs=1e-14)
    R = da.rotation(quaternion=p).matrix
    between = np.swapaxes(R[:-2], 1, 2) @ R[2:]
    omega = np.stack([between[:, 2, 1] - between[:, 1, 2], between[:, 0, 2] - between[:, 2, 0],
                      between[:, 1, 0] - between[:, 0, 1]], axis=1) / 4e-3  # fmt: skip
    # central differences of a motion with rates of about one err by h² = 1e-6 times its third derivatives
    assert path[["tip.wx", "tip.wy", "tip.wz"]][1:-1] == pytest.approx(omega, abs=1e-4)
    assert R[-1] == pytest.approx(turns[-1].matrix, abs=1e-12)


def test_samples_of_a_record_are_way_points_at_their_times() -> None:
    coarse = da.tree.quintic(two_links(), {"shoulder": [0.0, 1.0], "elbow": [0.5, -0.5]}, 2.0, every=0.1)
    fine = da.tree.spline(two_links(), coarse, every=0.01)
    # a spline of degree five through samples of a polynomial of degree five with its rest at both ends is the same
    exact = da.tree.quintic(two_links(), {"shoulder": [0.0, 1.0], "elbow": [0.5, -0.5]}, 2.0, every=0.01)
    assert fine["elbow.angle"] == pytest.approx(exact["elbow.angle"], abs=1e-11)


@pytest.mark.parametrize(
    ("values", "options", "code"),
    [
        (VALUES, {"degree": 4}, "unknown-choice"),
        (VALUES, {"ends": "soft"}, "unknown-choice"),
        (VALUES, {"ends": "periodic"}, "conflicting-arguments"),
        ([0.0, 1.0], {"ends": "natural"}, "empty"),
        ([0.0, 1.0, 0.0], {"ends": "periodic"}, "empty"),
    ],
)
def test_mistakes_have_codes(values: list[float], options: dict[str, object], code: str) -> None:
    with pytest.raises(da.errors.DataError) as found:
        da.tree.spline(two_links(), {"shoulder": values}, 3.0, **options)  # type: ignore[arg-type]
    assert found.value.code == code
