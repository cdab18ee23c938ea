"""Workspaces of two links, of an arm with limits and of a machine with loops."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.tree.reach.workspace import Workspace
from tests.helpers.robot_arms import TIP, seven_joints, two_links


def test_two_links_reach_a_disc() -> None:
    cloud = da.tree.workspace(two_links(), TIP)
    low, high = cloud.reach
    assert low < 0.05 and 2.0 - 1e-3 < high <= 2.0
    # cells at the edge are counted whole: their number is that of the rim, 2π · 2 m, over the size of a cell
    grid = cloud.grid()
    cell = grid.edges[0][1] - grid.edges[0][0]
    assert grid.volume == pytest.approx(np.pi * 4, abs=4 * np.pi * cell)
    assert grid.counts.sum() == len(cloud.points)


def test_limits_bound_the_workspace() -> None:
    eqs = two_links(lower=0.5, upper=2.0)
    cloud = da.tree.workspace(eqs, TIP)
    low, high = cloud.reach
    # |1 + e^(iq)| = 2 cos(q/2)
    assert low >= 2 * np.cos(1.0) - 1e-12 and high <= 2 * np.cos(0.25) + 1e-12
    assert (low, high) == pytest.approx((2 * np.cos(1.0), 2 * np.cos(0.25)), abs=1e-2)
    assert np.abs(da.tree.workspace(eqs, TIP, limits=False).reach[1] - 2.0) < 1e-2


def test_places_belong_to_their_poses_and_manipulabilities() -> None:
    eqs = seven_joints()
    cloud = da.tree.workspace(eqs, "tip", samples=64, base=(0.0, 0.0, 0.34))
    k = 17
    state = eqs.state(cloud.q[k])
    assert da.tree.forward_kinematics(eqs, state, "tip")[:3, 3] == pytest.approx(cloud.points[k], abs=1e-14)
    assert float(da.tree.manipulability(eqs, state, "tip").measure) == pytest.approx(cloud.measure[k], rel=1e-9)
    for name, column in zip(eqs.coordinates.names, cloud.q.T, strict=True):
        low, high = eqs.limits[name].range
        assert low <= column.min() and column.max() <= high
    assert cloud.reach[1] <= 1.0 + 1e-12  # two links of 0.4 m and a hand of 0.2 m


def test_a_five_bar_is_drawn_by_its_motors_and_closed() -> None:
    eqs = da.equations(da.read_model("five-bar"), coordinates="joint")
    cranks = ["left.shoulder.angle", "right.shoulder.angle"]
    here = da.assemble(eqs)
    limits = {name: (here[name] - 0.4, here[name] + 0.4) for name in cranks}
    cloud = da.tree.workspace(eqs, "payload", samples=20, limits=limits, joints=cranks)
    gaps = eqs.kernel("position").many(cloud.q, eqs.p, 0.0)[0]
    assert np.abs(gaps).max() < 1e-11 and len(cloud.points) > 15
    for name in cranks:
        column = cloud.q[:, eqs.coordinates.index[name]]
        assert limits[name][0] <= column.min() and column.max() <= limits[name][1]


def test_a_picture_shows_every_place_in_two_views() -> None:
    cloud = da.tree.workspace(seven_joints(), "tip", samples=64)
    figure = da.plot(cloud)
    assert [ax.get_xlabel() for ax in figure.axes[:2]] == ["x [m]", "x [m]"]
    assert len(figure.axes[0].collections[0].get_offsets()) == 64
    flat = da.plot(da.tree.workspace(two_links(), TIP, samples=16), title="disc")
    assert len(flat.axes) == 2  # one view and the scale of colours


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"samples": 0}, "not-a-count"),
        ({"samples": 10**9}, "too-large"),
        ({"base": (1, 2, 3)}, "wrong-shape"),
        ({"limits": {"elbow": (1, 0)}}, "not-increasing"),
    ],
)
def test_mistakes_have_codes(options: dict[str, object], code: str) -> None:
    with pytest.raises(da.errors.DalembertError) as found:
        da.tree.workspace(two_links(), TIP, **options)  # type: ignore[arg-type]
    assert found.value.code == code


def test_a_slide_without_limits_has_no_workspace() -> None:
    m = da.Mechanism("slide", planar=True)
    cart = m.add_body("cart", mass=1.0, inertia=0.1)
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0), axis=(1, 0))
    with pytest.raises(da.errors.ModelError) as found:
        da.tree.workspace(da.equations(m, coordinates="joint"), "cart")
    assert found.value.code == "no-limits" and found.value.where == {"coordinate": "rail.displacement"}


def cloud(points: np.ndarray) -> Workspace:
    count, dim = points.shape
    return Workspace("arm", "tip", points, np.zeros((count, 1)), np.ones(count), np.zeros(dim), count)


def test_bending_links_keep_their_deformation_and_need_no_limits() -> None:
    """Two rods of 0.44 and 0.378 m, drawn with their sag of 25 mm."""
    eqs = da.equations(da.read_model("tudor"), coordinates="joint")
    cloud = da.tree.workspace(eqs, "link2.end", samples=100)
    modes = [eqs.coordinates.index[name] for name in eqs.elastic]
    np.testing.assert_array_equal(cloud.q[:, modes], np.broadcast_to(eqs.state().q[modes], (100, 6)))
    distance = np.linalg.norm(cloud.points, axis=1)
    assert distance.min() > 0.05 and 0.7 < distance.max() < 0.819
