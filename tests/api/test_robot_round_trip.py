"""Robots as model files: their initial states, loops, shapes of contact and colours come back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from tests.helpers.findings import raises

ROBOT = """<mujoco model="leg"><compiler angle="radian"/>
  <worldbody><geom type="plane" size="1 1 .1" pos="0 0 -.5"/>
    <body name="trunk" pos="0 0 1"><freejoint name="root"/>
      <geom type="box" size=".2 .1 .05" euler=".1 .2 .3" rgba="1 0 0 1"/>
      <body name="thigh" pos=".1 0 0"><joint name="hip" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.3"
        size=".03" rgba="0 1 0 1"/>
        <body name="shank" pos="0 0 -.3"><joint name="knee" axis="0 1 0"/><geom type="sphere" size=".04" pos="0 0 -.3"/>
        </body></body>
      <body name="rod" pos="-.1 0 0"><joint name="crank" axis="0 1 0"/><geom type="cylinder" size=".02 .15"/></body>
    </body></worldbody>
  <equality><connect name="link" body1="rod" body2="shank" anchor="0 0 -.3"/></equality>
  <actuator><motor name="drive" joint="hip"/></actuator>
  <keyframe><key name="home" qpos="0 0 .4 .8 .6 0 0 .2 -.4 .1" qvel="1 0 0 0 0 0 0 0 2" ctrl=".5"/></keyframe>
</mujoco>"""


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_starts_loops_shapes_and_colors_go_to_a_file_and_back(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "leg.xml").write_text(ROBOT, encoding="utf-8")
    with pytest.warns(da.errors.ModelWarning, match="contact"):
        m = da.read_mjcf(tmp_path / "leg.xml")
    da.write_model(m, tmp_path / f"leg{suffix}")
    copy = da.read_model(tmp_path / f"leg{suffix}")
    assert copy.loops == m.loops == ["link"]
    home, same = m.starts["home"], copy.starts["home"]
    assert list(copy.starts) == ["home"]
    assert (home.velocity, home.inputs) == (same.velocity, same.inputs)
    turned = home.position["trunk.rotation"], same.position["trunk.rotation"]
    np.testing.assert_allclose(turned[1].quaternion, turned[0].quaternion, rtol=0, atol=4e-16)
    assert {k: v for k, v in same.position.items() if k != "trunk.rotation"} == {
        k: v for k, v in home.position.items() if k != "trunk.rotation"
    }
    for one, other in zip((m.ground, *m.bodies), (copy.ground, *copy.bodies), strict=True):
        assert [(s.kind, s.size, s.place) for s in one.shapes] == [(s.kind, s.size, s.place) for s in other.shapes]
        for s, t in zip(one.shapes, other.shapes, strict=True):
            np.testing.assert_array_equal(s.axes, t.axes)
        assert one.colors == other.colors
    assert sum(len(body.shapes) for body in copy.bodies) == 4 and copy.ground.shapes[0].kind == "plane"
    eqs = [da.equations(one, coordinates="joint") for one in (m, copy)]
    assert eqs[0].speeds.names == eqs[1].speeds.names


def test_an_inertia_taken_as_it_is_comes_back(tmp_path: Path) -> None:
    text = """<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="3"/></inertial></link>
      <joint name="A" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>"""
    (tmp_path / "r.urdf").write_text(text, encoding="utf-8")
    with pytest.warns(da.errors.ModelWarning, match="inertia"):
        m = da.read_urdf(tmp_path / "r.urdf")
    da.write_model(m, tmp_path / "r.toml")
    assert da.read_model(tmp_path / "r.toml")["arm"].inertia == m["arm"].inertia


WRONG = [
    ('loops = ["B"]', "unknown-name"),
    ("[starts.home.position]\nB = 1", "unknown-name"),
    ('[starts.home.position]\n"A.angle" = [1, 2]', "wrong-type"),
    ('[[bodies.b.shapes]]\ntype = "box"\nsize = [1]', "out-of-range"),
    ('[[bodies.b.shapes]]\ntype = "sphere"\nsize = [-1]', "out-of-range"),
    ('[bodies.b.picture]\nmesh = "b.stl"\ncolors = [{first = 0, count = 1, color = "red"}]', None),
]


@pytest.mark.parametrize(("more", "code"), WRONG)
def test_wrong_values_are_refused_with_their_line(tmp_path: Path, more: str, code: str | None) -> None:
    start, tables = (more, "") if more.startswith("loops") else ("", more)
    joint = '[bodies.b]\nmass = 1\ninertia = 1\n[joints.A]\ntype = "revolute"\na = "ground"\nb = "b"\n'
    (tmp_path / "m.toml").write_text(f"{start}\n{joint}{tables}\n", encoding="utf-8")
    with pytest.raises(da.errors.FileFormatError) as caught:
        da.read_model(tmp_path / "m.toml")
    assert "m.toml:" in str(caught.value)
    if code:
        with raises(da.errors.FileFormatError, code):
            da.read_model(tmp_path / "m.toml")
