"""Actuators, tendons, sites, keyframes, meshes and loops of MJCF against MuJoCo itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.files.models.values.mesh_mass import binary_stl
from dalembert.files.robots import shapes
from tests.helpers.commands import error_text, run
from tests.helpers.repetitions import few

twins = pytest.importorskip("tests.helpers.mujoco_models", reason="MuJoCo is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
ROUNDING = 1e-11  # of the largest acceleration: M has condition numbers near 10
SINGLE = 1e-6  # MuJoCo has corners of meshes in single precision

ARM = """<mujoco><compiler angle="radian"/><option><flag contact="disable"/></option>
  <default><joint axis="0 1 0"/></default><worldbody>
  <body name="base" gravcomp="1"><joint name="a" range="-1 2"/><geom size=".1" fromto="0 0 0 .3 0 0" type="capsule"/>
    <body name="fore" pos=".3 0 0" gravcomp=".4"><joint name="b" range="-1 2" ref=".2"/>
      <geom size=".05" fromto="0 0 0 .3 0 0" type="capsule"/>
      <site name="tool" pos=".1 .02 0" euler=".3 .2 0"/>
      <body name="slider" pos=".3 0 0"><joint name="s" type="slide" axis="1 0 0" actuatorfrcrange="-3 5"/>
        <geom size=".04"/></body></body></body>
  </worldbody>%s</mujoco>"""
ACTUATORS = {
    "motor": '<motor joint="a" gear="-3" ctrlrange="-1 .5"/>',
    "motor with a force range": '<motor joint="a" gear="-3" forcerange="-.4 1"/>',
    "motor that is not limited": '<motor joint="a" ctrlrange="-.1 .1" ctrllimited="false"/>',
    "range of a joint": '<motor joint="s" gear="-4"/>',
    "position": '<position joint="b" kp="50" kv="2" ctrlrange="-.5 .5" forcerange="-9 7"/>',
    "position within its joint": '<position joint="b" kp="50" inheritrange=".5" gear="2"/>',
    "damping ratio": '<position joint="a" kp="50" dampratio="1.1" gear="2"/>',
    "velocity": '<velocity joint="s" kv="6" ctrlrange="-1 1" forcerange="-2 2"/>',
    "general": '<general joint="b" gainprm="4" biastype="affine" biasprm=".3 -4 .7" forcerange="-2 2"/>',
    "general that drives": '<general joint="b" gainprm="4" biastype="affine" biasprm=".3 -2 .7"/>',
    "site": '<motor site="tool" gear="1 2 3 .4 .5 .6" ctrlrange="-1 .2"/>',
    "tendon": '<motor tendon="t" gear="3" ctrlrange="-.5 .5"/>',
    "position of a tendon": '<position tendon="t" kp="30" dampratio=".7" forcerange="-3 3"/>',
}
TENDON = """<tendon><fixed name="t" stiffness="30" damping=".2" springlength="-.1 .2"><joint joint="a" coef=".5"/>
  <joint joint="b" coef="-.3"/></fixed><fixed stiffness="4"><joint joint="b" coef="2"/></fixed></tendon>"""


def accelerations(path: Path, seed: int, spread: float = 0.6) -> tuple[Any, Any]:
    """Ours and those of MuJoCo at a random state with random inputs; constraints of limits are off."""
    _, twin = twins.load_both(path)
    twin.model.opt.disableflags |= int(twins.mujoco.mjtDisableBit.mjDSBL_LIMIT)
    random = np.random.default_rng(seed)
    state = twins.random_state(twin.eqs, random, spread)
    u = 2 * random.normal(size=twin.model.nu)
    twin.data.ctrl[:] = u
    twin.take(state)
    ours = da.forward_dynamics(twin.eqs, state, inputs=dict(zip(twin.eqs.inputs.names, u, strict=True)))
    return twin.ordered(ours.acceleration), np.array(twin.data.qacc)


def written(folder: Path, text: str, name: str = "model.xml") -> Path:
    (folder / name).parent.mkdir(exist_ok=True, parents=True)
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize("kind", few(ACTUATORS, 3))
def test_an_actuator_acts_as_in_mujoco(tmp_path: Path, kind: str) -> None:
    more = (TENDON if "tendon" in kind else "") + f"<actuator>{ACTUATORS[kind]}</actuator>"
    path = written(tmp_path, ARM % more)
    for seed in range(3):
        ours, theirs = accelerations(path, seed)
        np.testing.assert_allclose(ours, theirs, atol=ROUNDING * np.abs(theirs).max())
    assert not da.read_mjcf(path).left_out


def test_the_input_of_a_position_servo_is_an_angle_within_its_range(tmp_path: Path) -> None:
    servos = """<actuator><position name="p" joint="b" kp="2000" ctrlrange="-6.28 6.28" forcerange="-330 330"/>
      <position name="q" joint="s" kp="9"/><velocity name="v" joint="a" ctrlrange="-1 3"/></actuator>"""
    m = da.read_mjcf(written(tmp_path, ARM % servos))
    eqs = da.equations(m, coordinates="joint")
    assert eqs.inputs.units == ("rad", "m", "rad/s")
    assert m.limits()["p"].range == (-6.28, 6.28)
    assert m.limits()["v"].range == (-1.0, 3.0)
    assert "q" not in m.limits()
    assert m.limits()["b.angle"].effort == 330.0


def test_sites_are_points_of_their_bodies(tmp_path: Path) -> None:
    path = written(tmp_path, ARM % "")
    m, twin = twins.load_both(path)
    state = twins.random_state(twin.eqs, np.random.default_rng(0))
    twin.take(state)
    ours = da.tree.forward_kinematics(twin.eqs, state, "fore.tool")[:3, 3]
    np.testing.assert_allclose(ours, twin.data.site("tool").xpos, atol=1e-12)
    assert m["fore"].points["tool"] == (0.1, 0.02, 0.0)


KEYS = """<actuator><position name="p" joint="b" kp="9"/><muscle joint="a" lengthrange="0 1"/>
  <motor name="m" joint="a"/></actuator><keyframe>
  <key name="home" qpos=".1 .5 .03" qvel="0 0 .2" ctrl=".5 0 1.5"/><key qpos="0 0 0"/>
  </keyframe>"""


def test_keyframes_are_initial_states_with_inputs(tmp_path: Path) -> None:
    m = da.read_mjcf(written(tmp_path, ARM % KEYS))
    home = m.starts["home"]
    assert list(m.starts) == ["home", "key2"]
    assert home.inputs == {"p": 0.5, "m": 1.5}
    state = da.assemble(da.equations(m, coordinates="joint"), home.position, velocity=home.velocity)
    assert (state["a.angle"], state["b.angle"], state["s.displacement"]) == pytest.approx((0.1, 0.5, 0.03), abs=1e-12)
    assert state["s.speed"] == pytest.approx(0.2)


def test_a_keyframe_places_free_and_ball_joints(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body name="trunk" pos="0 0 1"><freejoint name="root"/><geom size=".1" pos=".1 0 0"/>
      <body name="ball" pos=".2 0 0"><joint name="neck" type="ball"/><geom size=".05" pos="0 0 .1"/></body></body>
      </worldbody><keyframe><key name="home" qpos=".1 .2 .3 .8 .6 0 0 .6 0 .8 0"/></keyframe></mujoco>"""
    m, twin = twins.load_both(written(tmp_path, text))
    for coordinates in ("joint", "absolute"):
        state = da.assemble(da.equations(m, coordinates=coordinates), m.starts["home"].position)
        twins.mujoco.mj_resetDataKeyframe(twin.model, twin.data, 0)
        twins.mujoco.mj_forward(twin.model, twin.data)
        for name in ("trunk", "ball"):
            ours = [state[f"{name}.{c}"] for c in "xyz"]
            np.testing.assert_allclose(ours, twin.data.body(name).xipos, atol=1e-9)


TROUGH = """vertex="0 0 0 1 0 0 1 1 0 0 1 0 0 0 1 1 0 1 1 1 1 0 1 1 .2 .2 .2 .8 .2 .2 .8 .8 .2 .2 .8 .2 .2 .2 1 .8
  .2 1 .8 .8 1 .2 .8 1" face="0 2 1 0 3 2 0 1 5 0 5 4 1 2 6 1 6 5 2 3 7 2 7 6 3 0 4 3 4 7 8 9 10 8 10 11 8 13 9 8 12
  13 9 14 10 9 13 14 10 15 11 10 14 15 11 12 8 11 15 12 4 5 13 4 13 12 5 6 14 5 14 13 6 7 15 6 15 14 7 4 12 7 12 15" """


@pytest.mark.parametrize("mode", ["", 'inertia="legacy"', 'inertia="exact"', 'inertia="convex"', 'inertia="shell"'])
@pytest.mark.parametrize("moved", ["", 'refpos=".1 .2 .3" refquat="1 .5 0 0" scale="1 2 .5"'])
def test_the_mass_of_a_mesh_is_that_of_mujoco(tmp_path: Path, mode: str, moved: str) -> None:
    text = f"""<mujoco><asset><mesh name="trough" {TROUGH} {mode} {moved}/></asset><worldbody><body name="a">
      <freejoint/><geom type="mesh" mesh="trough" pos=".1 0 0" euler="20 0 30"/></body></worldbody></mujoco>"""
    path = written(tmp_path, text)
    ours, theirs = da.read_mjcf(path)["a"], twins.mujoco.MjModel.from_xml_path(str(path))
    R = np.zeros(9)
    twins.mujoco.mju_quat2Mat(R, theirs.body_iquat[1])
    J = R.reshape(3, 3) @ np.diag(theirs.body_inertia[1]) @ R.reshape(3, 3).T
    assert ours.mass == pytest.approx(theirs.body_mass[1], rel=SINGLE)
    np.testing.assert_allclose(ours.center, theirs.body_ipos[1], atol=SINGLE)
    np.testing.assert_allclose(np.array(ours.inertia, dtype=float), J, atol=SINGLE * J.max())


def test_meshes_are_found_beside_the_included_file(tmp_path: Path) -> None:
    (tmp_path / "arm").mkdir()
    (tmp_path / "arm" / "box.stl").write_bytes(binary_stl(shapes.box(np.array([0.1, 0.2, 0.3]))))
    part = """<mujocoinclude><asset><mesh name="box" file="box.stl"/></asset><worldbody><body name="a"><joint/>
      <geom type="mesh" mesh="box"/></body></worldbody></mujocoinclude>"""
    written(tmp_path, part, "arm/part.xml")
    path = written(tmp_path, '<mujoco><include file="arm/part.xml"/></mujoco>')
    theirs = twins.mujoco.MjModel.from_xml_path(str(path))
    assert da.read_mjcf(path)["a"].mass == pytest.approx(theirs.body_mass[1], rel=SINGLE)


LOOP = """<mujoco><option><flag contact="disable"/></option><default><joint axis="0 1 0"/></default><worldbody>
  <body name="crank"><joint name="A"/><geom size=".02" type="capsule" fromto="0 0 0 0 0 .2"/>
    <body name="rod" pos="0 0 .2"><joint name="B"/><geom size=".02" type="capsule" fromto="0 0 0 .4 0 .1"/></body>
  </body>
  <body name="rocker" pos=".4 0 0"><joint name="C"/><geom size=".02" type="capsule" fromto="0 0 0 0 0 .3"/></body>
  </worldbody><equality><connect name="D" body1="rod" body2="rocker" anchor=".4 0 .1"/></equality></mujoco>"""


def test_loops_are_cut_at_the_rows_of_connect(tmp_path: Path) -> None:
    m, twin = twins.load_both(written(tmp_path, LOOP))
    assert set(twin.eqs.coordinates.names) == {"A.angle", "B.angle", "C.angle"}
    assert len(twin.eqs.rows) == 3
    assert da.equations(m).rows


def test_a_command_starts_from_a_keyframe_with_its_inputs(tmp_path: Path) -> None:
    path, out = written(tmp_path, ARM % KEYS), tmp_path / "run.csv"
    options = ("simulate", path, "--until", "0.01", "--coordinates", "joint", "--out", out)
    result = run(*options, "--start", "home", "--start", "s.displacement=0.02")
    assert result.exit_code == 0, result.output
    record = da.read_record(out)
    assert record["b.angle"][0] == pytest.approx(0.5)
    assert record["s.displacement"][0] == pytest.approx(0.02)
    assert record["m"][0] == 1.5
    unknown = run(*options, "--start", "hmoe")
    assert unknown.exit_code != 0
    assert "home" in error_text(unknown)


@pytest.mark.parametrize(
    ("limited", "free"),
    [
        ('<motor name="u" joint="a" ctrlrange="-1 1"/>', '<motor name="u" joint="a"/>'),
        ('<position name="u" joint="a" kp="2000" forcerange="-3 3"/>', '<position name="u" joint="a" kp="2000"/>'),
    ],
)
def test_inverse_dynamics_gives_the_input_that_a_motion_needs_beyond_its_limits(
    limited: str, free: str, tmp_path: Path
) -> None:
    others = '<motor name="v" joint="b"/><motor name="w" joint="s"/>'
    needed = []
    for k, actuators in enumerate((limited, free)):
        (tmp_path / f"{k}.xml").write_text(ARM % f"<actuator>{actuators}{others}</actuator>")
        eqs = da.equations(da.read_mjcf(tmp_path / f"{k}.xml"), coordinates="joint")
        motion = {"a.angle": lambda t: 0.5 + da.sin(t), "b.angle": lambda t: 0.1 * t, "s": lambda t: 0 * t}
        run = da.inverse_dynamics(eqs, motion, times=[0.0, 0.5, 1.0])
        assert np.abs(run["residual.force"]).max() < 1e-9
        needed.append(np.asarray(run["u"]))
    np.testing.assert_allclose(needed[0], needed[1], rtol=1e-12)
