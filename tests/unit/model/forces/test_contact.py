"""Contacts of collision shapes with the ground."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from tests.helpers.commands import run
from tests.helpers.findings import raises

LINK = """<robot name="r"><link name="body"><inertial><origin xyz="0 0 0.1"/><mass value="2"/>
  <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>{}</link></robot>"""
SHAPES = {
    "sphere": ('<sphere radius="0.1"/>', 1, 0.1, 0.1),
    "capsule": ('<capsule radius="0.05" length="0.3"/>', 2, 0.05, 0.2),
    "cylinder": ('<cylinder radius="0.05" length="0.3"/>', 16, 0.0, 0.15),
    "box": ('<box size="0.1 0.2 0.4"/>', 8, 0.0, 0.2),
}  # count of contacts, their radius, depth of the lowest point below the shape's centre


def robot(folder: Path, *shapes: str, origin: str = '<origin xyz="0.3 0 0.5"/>') -> da.Mechanism:
    path = folder / "robot.urdf"
    text = "".join(f"<collision>{origin}<geometry>{one}</geometry></collision>" for one in shapes)
    path.write_text(LINK.format(text))
    return da.read_urdf(path, base="free")


@pytest.mark.parametrize("kind", SHAPES)
def test_a_shape_touches_the_ground_by_its_lowest_points(tmp_path: Path, kind: str) -> None:
    """At a depth of 1 mm below all lowest points of the shape as drawn, each has its share: the weight per 1 mm."""
    text, count, radius, below = SHAPES[kind]
    m = robot(tmp_path, text)
    contacts = m.add_ground(0.5 - below + 1e-3, friction=0.0)
    assert [one.name for one in contacts] == [f"body.ground{k + 1}" for k in range(count)]
    assert {one.radius for one in contacts} == {radius}
    for one in contacts:
        m.add_sensor(f"load {one.name}", da.spring_force(one.name))
    eqs = da.equations(m, coordinates="joint")
    found = da.forward_dynamics(eqs, da.assemble(eqs))
    loads = np.array([found[f"load {one.name}"] for one in contacts])
    lowest = {"sphere": 1, "capsule": 1, "cylinder": 8, "box": 4}[kind]
    np.testing.assert_allclose(np.sort(loads)[-lowest:], 2 * 9.81, rtol=1e-9)
    np.testing.assert_allclose(np.sort(loads)[:-lowest], 0.0, atol=0.0)


def test_a_turned_box_touches_with_its_turned_corners(tmp_path: Path) -> None:
    m = robot(tmp_path, '<box size="0.2 0.2 0.2"/>', origin='<origin xyz="0 0 1" rpy="0.7853981633974483 0 0"/>')
    heights = [float(one.plane.coordinates[2]) for one in m.add_ground()]
    np.testing.assert_allclose(heights, [1 - 0.1 * np.sqrt(2)] * 8, rtol=1e-12)


def test_the_plane_of_a_model_of_mujoco_is_the_ground(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    path.write_text("""<mujoco><worldbody><geom type="plane" size="1 1 1" pos="0 0 -0.2"/><body name="a" pos="0 0 1">
      <freejoint/><geom type="capsule" size=".05" fromto="0 0 0 .2 0 0"/><geom size=".1" contype="0" conaffinity="0"/>
      </body></worldbody></mujoco>""")
    with pytest.warns(da.errors.ModelWarning):
        m = da.read_mjcf(path)
    contacts = m.add_ground()
    assert [float(one.plane.coordinates[2]) for one in contacts] == [-0.2, -0.2]
    assert [one.radius for one in contacts] == [0.05, 0.05]


def test_a_dropped_body_comes_to_rest_with_its_weight_and_its_energy_balances(tmp_path: Path) -> None:
    m = robot(tmp_path, '<box size="0.3 0.3 0.2"/>', origin='<origin xyz="0 0 0.1"/>')
    contacts = m.add_ground(damping=5.0)
    for one in contacts:
        m.add_sensor(f"load {one.name}", da.spring_force(one.name))
    eqs = da.equations(m, coordinates="joint")
    fall = da.simulate(eqs, 1.5, start=da.assemble(eqs, {"body.z": 0.12}), every=0.05)
    load = sum(fall[f"load {one.name}"][-1] for one in contacts)
    assert load == pytest.approx(2 * 9.81, rel=1e-3)
    assert np.abs(fall["energy.balance"]).max() < 1e-6 * 2 * 9.81 * 0.02


def test_bodies_may_be_chosen_and_must_have_shapes(tmp_path: Path) -> None:
    m = robot(tmp_path, '<sphere radius="0.1"/>')
    assert len(m.add_ground(bodies=["body"])) == 1
    with raises(ModelError, "unknown-name"):
        m.add_ground(bodies=["foot"])
    with raises(ModelError, "no-shapes"):
        robot(tmp_path).add_ground()


def test_meshes_are_listed_and_odd_shapes_left_out(tmp_path: Path) -> None:
    m = robot(tmp_path, '<mesh filename="a.stl"/>', '<sphere radius="0.1"/>')
    assert [one.problem.partition(" is left")[0] for one in m.left_out] == ["collision <mesh>"]
    assert len(m.add_ground()) == 1


def test_a_command_puts_a_robot_on_the_ground(tmp_path: Path) -> None:
    robot(tmp_path, '<box size="0.3 0.3 0.2"/>', origin='<origin xyz="0 0 0.1"/>')
    out, path = tmp_path / "run.csv", tmp_path / "robot.urdf"
    options = ("--until", "0.3", "--coordinates", "joint", "--read", "base=free", "--out", out)
    assert run("simulate", path, *options, "--ground").exit_code == 0
    assert da.read_record(out)["body.z"][-1] > 0.09
    assert run("simulate", path, *options).exit_code == 0
    assert da.read_record(out)["body.z"][-1] < -0.3
