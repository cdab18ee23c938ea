"""Places that bodies carry: nodes of flexible bodies stand where the equations have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.equations.scene import SceneFlexible
from dalembert.record import Record
from dalembert.view.animation.machine_motion import joint_motions, machine_motion, picture_modes
from dalembert.view.animation.machine_scene import machine_data
from tests.helpers import flexible_parts
from tests.helpers.findings import raises
from tests.helpers.flexible_parts import LENGTH
from tests.helpers.repetitions import few


@pytest.fixture(scope="module", params=[False, True], ids=["plane", "space"])
def run(request: pytest.FixtureRequest) -> Record:
    return flexible_parts.swing(flexible_parts.lines(request.param), spatial=request.param)


def sensed(run: Record, name: str) -> np.ndarray:
    values = [run[f"{name}.{axis}"] for axis in "xyz" if f"{name}.{axis}" in run.names]
    return np.column_stack([*values, *[np.zeros(len(run))] * (3 - len(values))])


def flexible(run: Record) -> SceneFlexible:
    found = machine_motion(run).scene.bodies[0].flexible
    assert found is not None
    return found


def test_nodes_and_points_of_the_picture_stand_where_sensors_measure_them(run: Record) -> None:
    motion = machine_motion(run)
    assert np.abs(run["rod.mode1"]).max() > 0.02 * LENGTH  # it deforms
    # the picture keeps seven digits of the modes
    assert motion.points("rod", [(LENGTH, 0, 0)])[:, 0] == pytest.approx(sensed(run, "tip"), abs=1e-7)
    middle, last = len(flexible(run).points) // 2, len(flexible(run).points) - 1
    found = motion.picture_points("rod", [middle, last])
    assert found[:, 0] == pytest.approx(sensed(run, "middle"), abs=1e-7)
    assert found[:, 1] == pytest.approx(sensed(run, "tip"), abs=1e-7)
    assert motion.origins("bob") == pytest.approx(sensed(run, "tip"), abs=1e-6)  # its joint is closed


def test_axes_at_a_node_turn_with_its_deformation(run: Record) -> None:
    motion = machine_motion(run)
    turn = motion.turns("rod").transpose(0, 2, 1) @ motion.turns("rod", (LENGTH, 0, 0))
    slope = (2 * run["rod.mode1"] + 3 * run["rod.mode2"]) / LENGTH
    assert np.arctan2(turn[:, 1, 0], turn[:, 0, 0]) == pytest.approx(slope, abs=1e-6)
    assert motion.turns("bob", (0, 0, 0)) == pytest.approx(motion.turns("bob"))


def test_trails_springs_and_forces_follow_the_deformed_nodes(run: Record) -> None:
    data = machine_data(run, 200, 1.0, ["rod.tip", "rod.middle", "B", "rod"])
    trails = {trail["name"]: trail for trail in data["trails"]}
    for name, node in (("rod.tip", "tip"), ("rod.middle", "middle"), ("B", "tip")):
        ends = trails[name]["points"][[0, -1]]
        assert ends == pytest.approx(sensed(run, node)[[0, -1]], abs=1e-6)
    assert trails["rod.tip"]["at"] == ["rod", [LENGTH, 0.0, 0.0]]
    assert "at" not in trails["rod"]
    (push,) = [one for one in data["forces"] if one["name"] == "push"]
    assert push["point"] == [LENGTH / 2, 0.0, 0.0]
    own = machine_motion(run).turns("rod", (LENGTH / 2, 0, 0))[-1]
    assert push["values"][-1] == pytest.approx(0.5 * own[:, 1], abs=1e-6)


def test_the_page_gets_points_modes_and_elastic_coordinates_of_every_picture(run: Record) -> None:
    data = machine_data(run, 60, 1.0, [])
    body = data["bodies"][0]["flexible"]
    count = len(flexible(run).coordinates)
    assert body["values"].shape == (count, data["frames"])
    assert body["values"][0, [0, -1]] == pytest.approx(run["rod.mode1"][[0, -1]], abs=1e-9)
    assert body["modes"].shape == (count, len(body["points"]), 3)
    assert [node["name"] for node in body["nodes"]] == ["root", "middle", "tip"]
    assert "flexible" not in data["bodies"][1]
    assert data["bodies"][0]["shape"] is None
    # largest deflection from the chord between the joints: of x²/l² - x/l a quarter, of x³/l³ - x/l 0.385 of the tip's
    expected = np.abs(np.outer(run["rod.mode1"], S2) + np.outer(run["rod.mode2"], S3)).max()
    assert body["largest"] == pytest.approx(expected, rel=0.02)  # of 200 pictures at most


S = np.linspace(0.0, 1.0, 21)
S2, S3 = S**2 - S, S**3 - S


def test_deformations_are_enlarged_beside_the_motion_of_the_joints(run: Record) -> None:
    own = flexible(run)
    held = joint_motions(own, [(0, 0, 0), (LENGTH, 0, 0), (LENGTH, 0, 0)])
    points, modes = picture_modes(own)
    beside = modes - held[:, None, :3] - np.cross(held[:, None, 3:], points[None])
    assert beside[:, [0, -1]] == pytest.approx(0.0, abs=1e-9)  # joints stay where they are
    assert beside[0, :, 1] == pytest.approx(S2, abs=1e-6)
    # about one joint: the motion of this node; without any: none
    root, tip = joint_motions(own, [(0, 0, 0)]), joint_motions(own, [(LENGTH, 0, 0)])
    assert root == pytest.approx(0.0, abs=1e-12)
    moved = tip[:, :3] + np.cross(tip[:, 3:], [LENGTH, 0, 0])
    assert moved == pytest.approx(np.array(own.nodes[2].translation), abs=1e-12)
    assert not joint_motions(own, [(7, 0, 0)]).any()


def test_a_file_keeps_the_deformed_picture(run: Record, tmp_path: Path) -> None:
    for name in ("run.nc", "run.parquet"):
        da.write_record(run, tmp_path / name)
        again = da.read_record(tmp_path / name)
        assert again.scene == run.scene
        assert da.animate(again).html == da.animate(run).html


def test_elastic_coordinates_that_are_missing_are_named(run: Record) -> None:
    part = run.select(*[name for name in run.names if name != "rod.mode2"])
    with raises(DataError, "missing-channel", "rod.mode2"):
        da.animate(part)


def test_elastic_coordinates_are_plotted_by_their_names(run: Record) -> None:
    figure = da.plot(run, "rod.mode1", "rod.mode2.rate")
    assert len(figure.axes) == 2


@pytest.mark.parametrize("planar", few([True, False]), ids=["plane", "space"])
def test_the_shortening_of_a_bent_body_is_drawn(planar: bool) -> None:
    """Geometric stiffness by forces moves the tip to second order, here by a millimetre; joints would gape by it."""
    run = flexible_parts.stiffened_swing(planar)
    motion = machine_motion(run)
    linear = motion.points("rod", [(LENGTH, 0, 0)])[:, 0] - motion._second("rod", flexible(run).nodes[1])
    assert np.abs(linear - sensed(run, "tip")).max() > 1e-3
    assert motion.points("rod", [(LENGTH, 0, 0)])[:, 0] == pytest.approx(sensed(run, "tip"), abs=1e-7)
    last = int(np.argmax(np.array(flexible(run).points)[:, 0]))
    assert motion.picture_points("rod", [last])[:, 0] == pytest.approx(sensed(run, "tip"), abs=1e-7)
    assert motion.origins("bob") == pytest.approx(sensed(run, "tip"), abs=1e-6)


# ---- edges of thresholds
