"""Colours of robot files in pictures, and which shapes are drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.mechanics.absolute.scene import MOST_TRIANGLES, simplify_mesh
from dalembert.view.animation.machine_scene import machine_data

URDF = """<robot name="arm">
  <material name="blue"><color rgba="0 0 0.8 1"/></material>
  <link name="base"/>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
    <visual><geometry><box size="1 1 1"/></geometry><material name="blue"/></visual>
    <visual><geometry><box size="2 1 1"/></geometry></visual>
    <visual><geometry><box size="3 1 1"/></geometry><material name="own"><color rgba="1 0.5 0 1"/></material></visual>
    <visual><geometry><box size="4 1 1"/></geometry><material name="own"/></visual>
    <visual><geometry><box size="5 1 1"/></geometry><material name="odd"><color rgba="1 red"/></material></visual>
    <collision><geometry><box size="9 9 9"/></geometry></collision>
  </link>
  <joint name="A" type="continuous"><parent link="base"/><child link="arm"/></joint>
</robot>"""
MJCF = """<mujoco>
  <default><default class="red"><geom rgba="1 0 0 1"/></default></default>
  <asset><material name="steel" rgba="0.2 0.4 0.6 1"/><material name="wood" texture="t"/><texture name="t" type="2d"
    builtin="flat" width="4" height="4"/></asset>
  <worldbody><body name="b"><joint name="A"/>
    <geom class="red" type="box" size=".1 .1 .1" contype="0" conaffinity="0"/>
    <geom material="steel" type="box" size=".2 .1 .1" contype="0" conaffinity="0"/>
    <geom material="wood" type="box" size=".3 .1 .1" contype="0" conaffinity="0"/>
    <geom material="steel" rgba="0 1 0 1" type="box" size=".4 .1 .1" contype="0" conaffinity="0"/>
    <geom material="steel" rgba="0 1 0 0" type="box" size=".5 .1 .1" contype="0" conaffinity="0"/>
    <geom group="3" type="box" size=".9 .9 .9"/><geom type="box" size=".8 .8 .8"/>
  </body></worldbody></mujoco>"""


def test_materials_of_a_urdf_file_color_its_visual_shapes(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(URDF, encoding="utf-8")
    with pytest.warns(da.errors.ModelWarning, match="rgba"):
        m = da.read_urdf(tmp_path / "arm.urdf")
    arm = m["arm"]
    assert arm.colors == ((0, 12, 0x0000CC), (24, 24, 0xFF8000))  # two boxes of one colour are one part
    assert np.abs(arm.mesh).max() == 2.5  # the collision shape of 9 m is not drawn
    shape = machine_data(da.simulate(da.equations(m), until=0.01), 30, 1.0, [])["bodies"][0]["shape"]
    assert shape["colors"] == [[0, 12, 0x0000CC], [24, 24, 0xFF8000]] and len(shape["triangles"]) == 60


def test_materials_and_colors_of_an_mjcf_file_color_what_mujoco_shows(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(MJCF, encoding="utf-8")
    body = da.read_mjcf(tmp_path / "arm.xml")["b"]
    assert body.colors == ((0, 12, 0xFF0000), (12, 12, 0x336699), (36, 12, 0x00FF00))
    assert np.ptp(body.mesh[..., 0]) == pytest.approx(0.8)  # neither contact shapes nor invisible ones


def test_a_coarser_mesh_keeps_its_colors() -> None:
    rng = np.random.default_rng(2)
    many = 2 * MOST_TRIANGLES
    triangles = np.sort(rng.random((many, 1, 3)), axis=0) + 0.02 * rng.random((many, 3, 3))  # sorted: along x
    found, colors = simplify_mesh(triangles, ((many // 2, many // 2, 0xFF),))
    assert len(found) <= MOST_TRIANGLES
    ((first, count, color),) = colors
    assert first + count == len(found) and color == 0xFF
    middle = float(triangles[many // 2, 0, 0])
    painted = np.array(found)[first:, :, 0]
    assert painted.min() > middle - 0.02 - 1.0 / 8  # corners move by at most half a cell, and no cell is larger
