"""Robots from URDF files."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import FileFormatError, ModelWarning

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0 0 0.2" rpy="0.1 0.2 0.3"/><mass value="2"/>
      <inertia ixx="0.03" iyy="0.03" izz="0.01" ixy="0.001" ixz="0" iyz="0.002"/></inertial>
    <visual><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.05" length="0.4"/></geometry></visual>
  </link>
  <link name="fore">
    <inertial><origin xyz="0.1 0 0"/><mass value="1.5"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.3 0.05 0.05"/></geometry></visual>
  </link>
  <link name="hand">
    <inertial><mass value="0.4"/><inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><sphere radius="0.06"/></geometry></visual>
  </link>
  <joint name="shoulder" type="revolute">
    <origin xyz="0 0 0.1" rpy="0.3 -0.2 0.5"/><parent link="base"/><child link="upper"/><axis xyz="0 1 1"/>
    <limit lower="-2" upper="2" effort="50" velocity="3"/><dynamics damping="0.3"/>
  </joint>
  <joint name="elbow" type="continuous">
    <origin xyz="0 0 0.4" rpy="0 1.2 0"/><parent link="upper"/><child link="fore"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="slide" type="prismatic">
    <origin xyz="0.2 0 0"/><parent link="fore"/><child link="hand"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.1" effort="5" velocity="1"/>
  </joint>
</robot>
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "robot.urdf"
    path.write_text(text, encoding="utf-8")
    return path


def test_an_arm_has_its_links_joints_inputs_and_pictures(tmp_path: Path) -> None:
    m = da.read_urdf(written(tmp_path, ARM))
    eqs = da.equations(m, coordinates="joint")
    assert eqs.coordinates.names == ("shoulder.angle", "elbow.angle", "slide.displacement")
    assert eqs.inputs.names == ("shoulder.effort", "elbow.effort", "slide.effort")
    assert all(body.mesh is not None for body in m.bodies)


def test_places_follow_the_origins_of_the_joints(tmp_path: Path) -> None:
    """At zero coordinates a link stands where the product of the origins puts it."""
    m = da.read_urdf(written(tmp_path, ARM))
    m.add_sensor("tip", da.position(next(b for b in m.bodies if b.name == "hand").at(0, 0, 0)))
    eqs = da.equations(m, coordinates="joint")
    run = da.simulate(eqs, 1e-3, start=da.assemble(eqs))

    def turn(roll: float, pitch: float, yaw: float) -> np.ndarray:
        return np.array(da.rotation(tait_bryan=(roll, pitch, yaw)).matrix)

    first = turn(0.3, -0.2, 0.5)
    second = first @ turn(0, 1.2, 0)
    place = np.array([0, 0, 0.1]) + first @ [0, 0, 0.4] + second @ [0.2, 0, 0]
    np.testing.assert_allclose([run[f"tip.{k}"][0] for k in "xyz"], place, atol=1e-12)


def test_inertia_is_turned_into_the_axes_of_the_link(tmp_path: Path) -> None:
    m = da.read_urdf(written(tmp_path, ARM))
    upper = next(b for b in m.bodies if b.name == "upper")
    R = np.array(da.rotation(tait_bryan=(0.1, 0.2, 0.3)).matrix)
    given = np.array([[0.03, 0.001, 0], [0.001, 0.03, 0.002], [0, 0.002, 0.01]])
    np.testing.assert_allclose(np.array(upper.inertia, dtype=float), R @ given @ R.T, atol=1e-15)


def test_a_free_base_has_six_freedoms_more(tmp_path: Path) -> None:
    text = ARM.replace(
        '<link name="base"/>',
        '<link name="base"><inertial><mass value="5"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>',
    )
    eqs = da.equations(da.read_urdf(written(tmp_path, text), base="free"), coordinates="joint")
    assert (eqs.nv, len(eqs.rows)) == (9, 0)


def test_a_joint_that_mimics_another_is_geared_to_it(tmp_path: Path) -> None:
    text = ARM.replace(
        '<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="shoulder" multiplier="2" offset="0.1"/>'
    )
    eqs = da.equations(da.read_urdf(written(tmp_path, text)), coordinates="joint")
    state = da.assemble(eqs, {"shoulder.angle": 0.4})
    assert state["elbow.angle"] == pytest.approx(0.9, abs=1e-10)
    assert "elbow.effort" not in eqs.inputs.names


def test_what_is_left_out_is_listed(tmp_path: Path) -> None:
    text = ARM.replace('damping="0.3"', 'damping="0.3" friction="0.1"').replace("</robot>", "<gazebo/></robot>")
    with pytest.warns(ModelWarning) as caught:
        da.read_urdf(written(tmp_path, text))
    assert "<dynamics friction> (1)" in str(caught[0].message)
    assert "<gazebo> (1)" in str(caught[0].message)


def test_mass_matrix_and_bias_are_those_of_pinocchio(tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    path = written(tmp_path, ARM)
    eqs = da.equations(da.read_urdf(path), coordinates="joint")
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    q, v = np.random.default_rng(0).normal(size=(2, 3))
    theirs = np.array([q[0], np.cos(q[1]), np.sin(q[1]), q[2]])  # a continuous joint has cosine and sine
    M = pin.crba(model, data, theirs)
    ours = np.reshape(eqs.kernel("inertia")(q, eqs.p, 0.0)[0], (3, 3))
    np.testing.assert_allclose(ours, np.triu(M) + np.triu(M, 1).T, atol=1e-14)
    (f,) = eqs.kernel("forces")(q, v, np.zeros(0), np.zeros(3), eqs.p, 0.0, np.zeros(0))
    bias = pin.nonLinearEffects(model, data, theirs, v)
    np.testing.assert_allclose(-f - np.array([0.3 * v[0], 0, 0]), bias, atol=1e-12)


LINK = '<link name="fore">'
BAD = {
    "broken XML": (ARM.replace("</robot>", ""), "bad-syntax"),
    "another root": (ARM.replace("robot", "model"), "bad-syntax"),
    "document type": (ARM.replace("<robot", '<!DOCTYPE robot [<!ENTITY a "b">]><robot', 1), "not-supported"),
    "too deep": ("<robot>" + "<link>" * 80 + "</link>" * 80 + "</robot>", "too-large"),
    "no links": ('<robot name="empty"/>', "empty"),
    "missing parent": (ARM.replace('<parent link="base"/>', ""), "missing-argument"),
    "missing child": (ARM.replace('<child link="upper"/>', ""), "several-problems"),
    "unknown link": (ARM.replace('<parent link="base"/>', '<parent link="bass"/>'), "unknown-name"),
    "two parents": (
        ARM.replace(
            "</robot>",
            '<joint name="again" type="fixed"><parent link="base"/><child link="hand"/></joint></robot>',
        ),
        "duplicate",
    ),
    "cycle": (ARM.replace('<parent link="base"/>', '<parent link="hand"/>'), "conflicting-arguments"),
    "two roots": (ARM.replace("</robot>", '<link name="other"/></robot>'), "conflicting-arguments"),
    "link twice": (ARM.replace("</robot>", '<link name="base"/></robot>'), "duplicate"),
    "joint twice": (ARM.replace('name="elbow"', 'name="shoulder"'), "duplicate"),
    "joint without a name": (ARM.replace('name="elbow" ', ""), "bad-name"),
    "link without a name": (ARM.replace("</robot>", "<link/></robot>"), "several-problems"),
    "axis without direction": (ARM.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>'), "zero-length"),
    "crossed limits": (ARM.replace('lower="-2" upper="2"', 'lower="2" upper="-2"'), "conflicting-arguments"),
    "mimic of itself": (ARM.replace('<axis xyz="0 1 0"/>', '<mimic joint="elbow"/>'), "same-coordinate"),
    "mimic of nothing": (ARM.replace('<axis xyz="0 1 0"/>', '<mimic joint="knee"/>'), "unknown-name"),
    "negative mass": (ARM.replace('<mass value="2"/>', '<mass value="-2"/>'), "negative"),
    "no mass": (ARM.replace('<mass value="2"/>', ""), "missing-argument"),
    "impossible inertia": (ARM.replace('ixx="0.01"', 'ixx="0.9"'), "not-physical"),
    "not a number": (ARM.replace('<mass value="2"/>', '<mass value="two"/>'), "not-a-number"),
    "not finite": (ARM.replace('<mass value="2"/>', '<mass value="inf"/>'), "not-a-number"),
    "two numbers": (ARM.replace('xyz="0 0 0.4"', 'xyz="0 0.4"'), "not-a-number"),
    "millimetres": (ARM.replace('xyz="0 0 0.4"', 'xyz="0 0 400"'), "out-of-range"),
    "unknown joint": (ARM.replace('type="continuous"', 'type="hinge"'), "several-problems"),
    "negative damping": (ARM.replace('damping="0.3"', 'damping="-0.3"'), "negative"),
    "missing mesh": (ARM.replace('<sphere radius="0.06"/>', '<mesh filename="hand.stl"/>'), "no-such-file"),
    "mesh outside": (
        ARM.replace('<sphere radius="0.06"/>', '<mesh filename="package://../../etc/hand.stl"/>'), "no-such-file"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_malformed_file_is_refused_with_its_line(tmp_path: Path, what: str) -> None:
    text, code = BAD[what]
    path = written(tmp_path, text)
    with warnings.catch_warnings(), pytest.raises(FileFormatError) as caught:
        warnings.simplefilter("ignore", ModelWarning)
        da.read_urdf(path)
    assert caught.value.code == code, str(caught.value)
    assert caught.value.line is not None
    assert caught.value.path == str(path)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    with path.open("wb") as file:
        file.truncate(30 * 1024**2)
    with pytest.raises(FileFormatError) as caught:
        da.read_urdf(path)
    assert caught.value.code == "too-large"


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError) as caught:
        da.read_urdf(tmp_path / "robot.urdf")
    assert caught.value.code == "no-such-file"


def test_something_else_than_a_path_is_refused() -> None:
    with pytest.raises(FileFormatError) as caught:
        da.read_urdf(5)  # type: ignore[arg-type]
    assert caught.value.code == "wrong-type"


def test_an_unknown_base_is_named_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError) as caught:
        da.read_urdf(written(tmp_path, ARM), base="loose")
    assert caught.value.code == "unknown-choice"
    assert "fixed, free" in str(caught.value)
