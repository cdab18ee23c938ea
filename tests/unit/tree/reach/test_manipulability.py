"""Manipulability: closed forms of two links, ellipsoids, loops."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from tests.helpers.robot_arms import TIP, random_arm, two_links


@pytest.mark.parametrize("elbow", [0.3, -1.2, 2.5])
def test_two_links_have_the_measure_of_yoshikawa(elbow: float) -> None:
    found = da.tree.manipulability(two_links(), da.assemble(two_links(), {"elbow": elbow}), TIP)
    assert float(found.measure) == pytest.approx(abs(np.sin(elbow)), rel=1e-12)  # l₁ l₂ |sin q₂|


def test_the_ellipsoid_holds_all_velocities_of_unit_speeds() -> None:
    eqs = random_arm(6, 2)
    state = eqs.state(np.linspace(-0.5, 0.7, 6))
    found = da.tree.manipulability(eqs, state, TIP)
    J = da.tree.jacobian(eqs, state, TIP)[:3]
    assert found.axes.T @ found.axes == pytest.approx(np.eye(3), abs=1e-12)
    for k in range(3):
        assert J @ found.speeds[:, k] == pytest.approx(found.values[k] * found.axes[:, k], abs=1e-12)
    assert float(found.measure) == pytest.approx(np.sqrt(np.linalg.det(J @ J.T)), rel=1e-10)
    assert float(found.condition) == pytest.approx(np.linalg.cond(J), rel=1e-10)


def test_at_a_singular_pose_the_distance_is_zero_and_the_lost_direction_is_shown() -> None:
    found = da.tree.manipulability(two_links(), two_links().state([0.4, 0.0]), TIP)
    assert float(found.distance) == pytest.approx(0.0, abs=1e-15)
    along = np.array([np.cos(0.4), np.sin(0.4)])  # nothing moves the tip along the stretched arm
    assert abs(found.axes[:, 1] @ along) == pytest.approx(1.0, rel=1e-12)


def test_many_states_and_records_have_a_first_axis() -> None:
    eqs = random_arm(6, 2)
    q = np.random.default_rng(0).uniform(-1, 1, size=(5, 6))
    many = da.tree.manipulability(eqs, (q, np.zeros((5, 6))), TIP, part="pose", length=0.5)
    single = [da.tree.manipulability(eqs, eqs.state(one), TIP, part="pose", length=0.5) for one in q]
    assert many.measure == pytest.approx([float(one.measure) for one in single], rel=1e-10)
    assert many.axes.shape == (5, 6, 6) and "5 states" in repr(many)


@pytest.mark.parametrize("length", [0.3, 1.0, 2.0])
def test_turning_counts_as_the_velocity_at_the_given_length(length: float) -> None:
    """Two links of one metre stretched: J = [0 0; 2 1; ℓ ℓ] along x, y and angle, with det (J Jᵀ) in closed form."""
    found = da.tree.manipulability(two_links(), two_links().state([0.0, 0.0]), TIP, part="pose", length=length)
    trace, det = 5 + 2 * length**2, length**2  # of [5, 3ℓ; 3ℓ, 2ℓ²]
    root = np.sqrt(trace**2 / 4 - det)
    assert found.values**2 == pytest.approx([trace / 2 + root, trace / 2 - root, 0.0], rel=1e-12, abs=1e-12)


def test_fewer_joints_than_directions_have_measure_zero() -> None:
    found = da.tree.manipulability(two_links(), two_links().state([0.4, 1.0]), TIP, part="pose")
    assert found.values.shape == (3,) and float(found.measure) == 0.0


def test_a_platform_is_judged_by_the_speeds_of_its_legs() -> None:
    eqs = da.equations(da.read_model("stewart"), coordinates="joint")
    state = da.assemble(eqs)
    legs = [name for name in eqs.measures.names if name.endswith(".displacement")]
    found = da.tree.manipulability(eqs, state, "platform", part="pose", joints=legs)
    # inverse of the map from the twist of the platform to the speeds of the legs, by small motions
    rows = []
    for k in range(6):
        step = np.zeros(6)
        step[k] = 1e-5
        T = da.tree.forward_kinematics(eqs, state, "platform")
        pair = []
        for sign in (1.0, -1.0):
            turned = da.rotation(vector=tuple(sign * step[3:])).matrix @ T[:3, :3]
            there = da.tree.inverse_kinematics(
                eqs, {"platform": (*(T[:3, 3] + sign * step[:3]), da.rotation(matrix=turned.tolist()))}, start=state
            )  # fmt: skip
            pair.append([there[name] for name in legs])
        rows.append((np.array(pair[0]) - pair[1]) / 2e-5)
    inverse = np.linalg.inv(np.array(rows).T)
    # gaps of 1e-10 over steps of 1e-5, and their square
    assert found.values == pytest.approx(np.linalg.svd(inverse, compute_uv=False), rel=1e-4)
    assert found.joints == tuple(legs)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"part": "speed"}, "unknown-choice"),
        ({"part": "pose", "length": 0.0}, "not-positive"),
        ({"joints": ["wrist"]}, "unknown-name"),
        ({"joints": ["elbow"]}, "dependent-coordinates"),
    ],
)
def test_mistakes_have_codes(options: dict[str, object], code: str) -> None:
    with pytest.raises(da.errors.DalembertError) as found:
        da.tree.manipulability(two_links(), two_links().state(), TIP, **options)  # type: ignore[arg-type]
    assert found.value.code == code
