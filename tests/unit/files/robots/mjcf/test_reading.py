"""MJCF models against MuJoCo: mass matrix, bias, passive forces, actuators and accelerations at random states."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelWarning
from dalembert.files.models.values.mesh_mass import binary_stl
from dalembert.files.robots import shapes
from tests.helpers.findings import raises, warns

twins = pytest.importorskip("tests.helpers.mujoco_models", reason="MuJoCo is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
ROUNDING = 1e-12  # of the largest entry: some hundred operations

HUMANOID = (Path(__file__).parents[4] / "data" / "robots" / "humanoid.xml").read_text(encoding="utf-8")


def written(folder: Path, text: str, name: str = "model.xml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def compare(m: da.Mechanism, twin: Any, count: int = 2, spread: float = 0.6) -> None:
    """Mass matrix, bias and passive forces at random states."""
    eqs, random = twin.eqs, np.random.default_rng(0)
    for _ in range(count):
        state = twins.random_state(eqs, random, spread)
        twin.take(state)
        M = twin.mass_matrix()
        ours = da.tree.mass_matrix(eqs, state)[np.ix_(twin.v_places, twin.v_places)]
        np.testing.assert_allclose(ours, M, atol=ROUNDING * M.max())
        bias = twin.data.qfrc_bias
        most = ROUNDING * max(1.0, np.abs(bias).max())
        np.testing.assert_allclose(twin.ordered(da.tree.inverse_dynamics(eqs, state)), bias, atol=most)
        lam = np.zeros(len(eqs.rows))
        (f,) = eqs.kernel("forces")(state.q, state.v, state.z, np.zeros(eqs.nu), eqs.p, 0.0, lam)
        np.testing.assert_allclose(twin.ordered(f), twin.data.qfrc_passive - bias, atol=most)


def test_a_humanoid_moves_as_in_mujoco(tmp_path: Path) -> None:
    """Free base, several hinges of one body, ball, slide, frames, classes, springs, damping and armature."""
    m, twin = twins.load_both(written(tmp_path, HUMANOID))
    assert (twin.eqs.nv, len(twin.eqs.rows)) == (6 + 4 + 3 + 1 + 2, 0)
    compare(m, twin)
    state = twins.random_state(twin.eqs, np.random.default_rng(1))
    twin.take(state)
    theirs = twin.rigid_accelerations([], np.zeros(twin.model.nv))
    ours = twin.ordered(da.forward_dynamics(twin.eqs, state).acceleration)
    np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())
    assert np.abs(theirs - twin.data.qacc_smooth).max() < 1e-9 * np.abs(theirs).max()


def test_coordinates_start_as_in_mujoco(tmp_path: Path) -> None:
    _, twin = twins.load_both(written(tmp_path, HUMANOID))
    np.testing.assert_allclose(np.array(twin.eqs.placement.q)[twin.q_places], twin.model.qpos0, atol=1e-12)


def test_ranges_are_limits(tmp_path: Path) -> None:
    m = da.read_mjcf(written(tmp_path, HUMANOID))
    assert m.limits()["knee.angle"].range == pytest.approx((-np.pi / 3, np.pi / 3))
    assert "rail.displacement" not in m.limits()


def test_what_is_left_out_is_listed(tmp_path: Path) -> None:
    more = "<tendon><spatial name='t'><site site='s'/></spatial></tendon><sensor/><visual/></mujoco>"
    with pytest.warns(ModelWarning) as caught:
        m = da.read_mjcf(written(tmp_path, HUMANOID.replace("</mujoco>", more)))
    text = str(caught[0].message)
    assert "<spatial> of <tendon> (1)" in text and "contact between geoms (1)" in text and "visual" not in text
    assert {one.where["line"] for one in m.left_out} >= {13, HUMANOID.count("\n")}


# -- loops -------------------------------------------------------------------------------------------------------------
FOUR_BAR = """<mujoco>
  <compiler angle="radian"/>
  <default><geom type="capsule" size=".02"/><joint axis="0 1 0" damping=".01"/></default>
  <worldbody>
    <body name="crank"><joint name="A"/><geom fromto="0 0 0 .2 0 0"/>
      <body name="coupler" pos=".2 0 0" euler="0 -1.2 0"><joint name="B"/><geom fromto="0 0 0 .6 0 0"/>
        <site name="end" pos=".6 0 0"/></body>
    </body>
    <body name="rocker" pos=".7 0 0" euler="0 -1.9 0"><joint name="D" type="ball"/><geom fromto="0 0 0 .5 0 0"/>
      <site name="top" pos=".5 0 0"/></body>
  </worldbody>
  <equality><connect name="C" {ends}/></equality>
</mujoco>
"""


def point_rows(twin: Any, first: tuple[str, Any], second: tuple[str, Any], turns: bool = False) -> list[Any]:
    """Rows of two points that stay together, and of two bodies that do not turn against each other."""
    a, b = (twin.point_row(body, np.array(point, dtype=float)) for body, point in (first, second))
    found = [(a[0] - b[0], b[2] - a[2])]
    return [*found, (a[1] - b[1], b[3] - a[3])] if turns else found


@pytest.mark.parametrize("by_sites", [True, False])
def test_a_loop_closed_by_connect_moves_as_rigid_rows_of_mujoco(tmp_path: Path, by_sites: bool) -> None:
    """Accelerations of M v̇ = f + Jᵀ λ with MuJoCo's matrices; its own contact-like softness is left out."""
    anchor = np.array([0.6, 0.0, 0.0])
    ends = 'site1="end" site2="top"' if by_sites else 'body1="coupler" body2="rocker" anchor=".6 0 0"'
    m, twin = twins.load_both(written(tmp_path, FOUR_BAR.format(ends=ends)), cut=("C",))
    assert [joint.kind for joint in m.joints] == ["revolute", "revolute", "spherical", "spherical"]
    assert len(twin.eqs.rows) == 3
    twin.data.qpos[:] = twin.model.qpos0
    twins.mujoco.mj_forward(twin.model, twin.data)
    k, other = (twin.model.body(name).id for name in ("coupler", "rocker"))
    place = twin.data.xpos[k] + twin.data.xmat[k].reshape(3, 3) @ anchor
    there = twin.data.xmat[other].reshape(3, 3).T @ (place - twin.data.xpos[other])
    there = np.array([0.5, 0.0, 0.0]) if by_sites else there
    state = da.assemble(twin.eqs, {"A.angle": 0.3}, velocity={"A.angle": 2.0})
    twin.take(state)
    theirs = twin.rigid_accelerations(point_rows(twin, ("coupler", anchor), ("rocker", there)), np.zeros(twin.model.nv))
    ours = twin.ordered(da.forward_dynamics(twin.eqs, state).acceleration)
    np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())


WELDED = """<mujoco>
  <worldbody>
    <body name="base" pos="0 0 1"><freejoint name="fly"/><geom type="box" size=".2 .1 .05"/>
      <body name="arm" pos=".2 0 0"><joint name="S" axis="0 1 0"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body>
    </body>
    <body name="crate" pos=".6 0 1"><freejoint name="load"/><geom type="box" size=".05 .06 .07"/></body>
  </worldbody>
  <equality><weld name="grip" body1="arm" body2="crate" {relpose}/></equality>
</mujoco>
"""


@pytest.mark.parametrize("relpose", ["", 'relpose=".35 .02 0 .9 .1 .2 0"'])
def test_a_weld_carries_its_load_as_rigid_rows_of_mujoco(tmp_path: Path, relpose: str) -> None:
    _, twin = twins.load_both(written(tmp_path, WELDED.format(relpose=relpose)), cut=("grip",))
    assert len(twin.eqs.rows) == 6
    state = da.assemble(twin.eqs, {"S.angle": 0.4}, velocity={"S.angle": 1.5, "fly.x": 0.3})
    twin.take(state)
    place = [0.35, 0.02, 0.0] if relpose else [0.4, 0.0, 0.0]
    rows = point_rows(twin, ("arm", place), ("crate", [0.0, 0.0, 0.0]), turns=True)
    theirs = twin.rigid_accelerations(rows, np.zeros(twin.model.nv))
    ours = twin.ordered(da.forward_dynamics(twin.eqs, state).acceleration)
    np.testing.assert_allclose(ours, theirs, atol=1e-9 * max(1.0, np.abs(theirs).max()))


def test_joints_that_follow_are_geared_and_those_that_follow_nothing_are_held(tmp_path: Path) -> None:
    text = FOUR_BAR.replace('type="ball"', 'ref=".2"').format(ends='body1="crank" anchor="0 0 0" active="false"')
    follow = '<joint joint1="D" joint2="A" polycoef=".1 -2"/><joint name="held" joint1="B" polycoef=".3"/></equality>'
    m = da.read_mjcf(written(tmp_path, text.replace("</equality>", follow)))
    eqs = da.equations(m, coordinates="joint")
    state = da.assemble(eqs, {"A.angle": 0.25})
    # D - 0.2 = 0.1 - 2 A
    assert state["D.angle"] == pytest.approx(0.2 + 0.1 - 2 * 0.25, abs=1e-10)
    assert state["B.angle"] == pytest.approx(0.3, abs=1e-10)


# -- actuators, friction -----------------------------------------------------------------------------------------------
ARM = """<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <default><joint axis="0 1 0" frictionloss="0.4"/><general ctrlrange="-2 2"/>
    <default class="drive"><motor gear="30"/></default></default>
  <worldbody>
    <body name="upper"><joint name="shoulder"/><geom type="capsule" size=".05" fromto="0 0 0 0 0 .4"/>
      <body name="fore" pos="0 0 .4"><joint name="elbow" actuatorfrcrange="-7 7"/>
        <geom type="capsule" size=".04" fromto="0 0 0 .3 0 0"/>
        <body name="hand" pos=".3 0 0"><joint name="hand" axis="1 0 0"/><geom size=".05"/>
          <body name="finger" pos=".05 0 0"><joint name="grip" type="slide" axis="0 1 0"/>
            <geom type="box" size=".02 .01 .03"/></body>
        </body></body></body>
  </worldbody>
  <actuator>
    <motor name="M" joint="shoulder" class="drive"/>
    <position name="P" joint="elbow" kp="50" kv="3" gear="2"/>
    <velocity joint="hand" kv="4" forcerange="-3 3"/>
    <general name="G" joint="grip" gainprm="5" biastype="affine" biasprm="1 -20 -.5" gear="-1"/>
    <muscle joint="elbow" lengthrange="0 1"/>
    <intvelocity joint="elbow" kp="3"/>
  </actuator>
</mujoco>
"""


def test_actuators_give_the_efforts_of_mujoco(tmp_path: Path) -> None:
    """Without the ranges of forces, at which MuJoCo cuts them off: here they are limits, data."""
    text = ARM.replace('frictionloss="0.4"', "").replace('actuatorfrcrange="-7 7"', "").replace('forcerange="-3 3"', "")
    text = re.sub("<(muscle|intvelocity).*/>", "", text)
    _, twin = twins.load_both(written(tmp_path, text))
    eqs = twin.eqs
    assert eqs.inputs.names == ("M", "P", "actuator3", "G")
    state = twins.random_state(eqs, np.random.default_rng(3))
    u = np.array([0.7, -0.4, 0.5, 1.2])
    (f,) = eqs.kernel("forces")(state.q, state.v, state.z, u, eqs.p, 0.0, np.zeros(0))
    twin.data.ctrl[:] = u
    twin.take(state)
    theirs = np.array(twin.data.qfrc_actuator)
    ours = twin.ordered(f + da.tree.inverse_dynamics(eqs, state))
    np.testing.assert_allclose(ours, theirs, atol=ROUNDING * np.abs(theirs).max())


def test_actuators_of_other_kinds_are_listed(tmp_path: Path) -> None:
    left = {one.problem.partition(" is left")[0] for one in da.read_mjcf(written(tmp_path, ARM)).left_out}
    assert {"<muscle> of <actuator>", "<intvelocity> of <actuator>"} <= left


def test_efforts_are_limited_by_the_joint_or_by_its_actuators(tmp_path: Path) -> None:
    limits = da.read_mjcf(written(tmp_path, ARM)).limits()
    assert limits["shoulder.angle"].effort == 60.0  # gear 30 times the range of the input
    assert limits["elbow.angle"].effort == 7.0
    assert limits["hand_joint.angle"].effort == 3.0


def test_friction_loss_is_friction_whatever_the_load(tmp_path: Path) -> None:
    m = da.read_mjcf(written(tmp_path, ARM))
    assert m["elbow.friction"].effort == 0.4
    assert not da.equations(m, coordinates="joint").rows


# -- inertia -----------------------------------------------------------------------------------------------------------
SOLIDS = """<mujoco>
  <compiler {compiler}/>
  <worldbody>
    <body name="one" pos="0 0 1"><joint name="A" axis="0 1 0" pos=".1 0 0"/>
      <inertial pos="0 0 .1" mass="1.5" diaginertia=".02 .01 .0101" euler="10 20 30"/>
      <geom type="box" size=".1 .2 .3" euler="40 50 60" group="1"/>
      <geom type="cylinder" size=".1" fromto=".1 .2 .3 .2 .1 .5" density="500"/>
      <body name="two" pos="0 .3 0" quat=".5 .5 .5 .5"><joint name="B" axis="1 1 1" type="hinge"/>
        <geom type="capsule" size=".05 .2" pos=".1 0 0" axisangle="1 2 3 45"/>
        <geom type="ellipsoid" size=".05 .1 .15" mass="2" pos="0 .1 0" xyaxes="0 1 0 -1 0 0"/>
        <geom type="sphere" size=".07" group="3" pos="0 0 .2"/>
        <geom type="box" size=".04" fromto="0 0 0 .1 .2 .3"/></body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize(
    "compiler",
    [
        "", 'inertiafromgeom="true"', 'inertiagrouprange="0 2"', 'inertiafromgeom="true" settotalmass="10"',
        'boundmass="5" boundinertia=".5"', 'balanceinertia="true"', 'angle="radian" eulerseq="XYZ"', 'eulerseq="zXy"',
    ],
)  # fmt: skip
def test_inertia_follows_the_settings_of_the_compiler(tmp_path: Path, compiler: str) -> None:
    text = SOLIDS.format(compiler=compiler)
    if "balance" in compiler:
        text = text.replace(".02 .01 .0101", ".03 .01 .0101")
    m, twin = twins.load_both(written(tmp_path, text))
    compare(m, twin, count=1)


def test_an_unbalanced_inertia_is_refused_where_the_compiler_does_not_balance_it(tmp_path: Path) -> None:
    path = written(tmp_path, SOLIDS.format(compiler="").replace(".02 .01 .0101", ".03 .01 .0101"))
    with pytest.raises(da.errors.FileFormatError) as caught:
        da.read_mjcf(path)
    assert caught.value.code == "not-physical" and caught.value.line == 5


MESHES = """<mujoco>
  <compiler meshdir="assets"/>
  <asset><mesh name="solid" file="solid.stl" scale=".5 .5 .4"/><mesh file="shape.obj"/>
    <mesh name="hull" vertex="0 0 0  .3 0 0  0 .3 0  0 0 .3  .1 .1 .1"/>
    <mesh name="faced" vertex="0 0 0  .3 0 0  0 .3 0  0 0 .3" face="0 2 1  0 1 3  0 3 2  1 2 3"/></asset>
  <worldbody>
    <include file="body.xml"/>
  </worldbody>
</mujoco>
"""
BODY = """<mujocoinclude>
  <body name="one"><joint axis="0 1 0"/><geom type="mesh" mesh="solid" pos=".1 0 0" quat=".8 .6 0 0"/>
    <body name="two" pos="0 .5 0"><joint axis="1 0 0"/><geom type="mesh" mesh="hull" density="2000"/>
      <body name="three" pos="0 .5 0"><joint axis="1 0 1"/><geom type="mesh" mesh="faced" mass="2"/>
        <geom type="mesh" mesh="shape" mass="1" group="2"/></body></body>
  </body>
</mujocoinclude>
"""


def test_meshes_and_included_files_are_read_beneath_the_folder(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    corners = np.add(shapes.box(np.array([0.5, 0.25, 1.0])), [0.1, 0.2, 0.3])
    (tmp_path / "assets" / "solid.stl").write_bytes(binary_stl(corners))
    (tmp_path / "assets" / "shape.obj").write_text(
        "v 0 0 0\nv .5 0 0\nv 0 .5 0\nv 0 0 .5\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    )
    written(tmp_path, BODY, "body.xml")
    m, twin = twins.load_both(written(tmp_path, MESHES))
    assert len(m["one"].mesh) == 12 and len(m["three"].mesh) == 8
    state = twins.random_state(twin.eqs, np.random.default_rng(0))
    twin.take(state)
    M = twin.mass_matrix()
    ours = da.tree.mass_matrix(twin.eqs, state)[np.ix_(twin.v_places, twin.v_places)]
    np.testing.assert_allclose(ours, M, rtol=1e-6)  # MuJoCo keeps meshes in single precision


def test_a_model_of_the_package_of_mujoco_has_its_mass_matrix_and_bias() -> None:
    """Armature of a ball joint and gravity compensation are left out, and listed."""
    path = Path(twins.mujoco.__file__).parent / "testdata" / "model.xml"
    if not path.is_file():
        pytest.skip("this MuJoCo has no test data")
    m, twin = twins.load_both(path, cut=("weld1",))
    state = twins.random_state(twin.eqs, np.random.default_rng(0), 0.2)
    twin.take(state)
    M = twin.mass_matrix()
    for joint in range(twin.model.njnt):
        if twin.model.jnt_type[joint] == twins.BALL:
            k = int(twin.model.jnt_dofadr[joint])
            M[k : k + 3, k : k + 3] -= np.diag(twin.model.dof_armature[k : k + 3])
    ours = da.tree.mass_matrix(twin.eqs, state)[np.ix_(twin.v_places, twin.v_places)]
    np.testing.assert_allclose(ours, M, atol=1e-7 * M.max())  # a mesh in single precision
    bias = twin.data.qfrc_bias
    np.testing.assert_allclose(
        twin.ordered(da.tree.inverse_dynamics(twin.eqs, state)), bias, atol=1e-7 * np.abs(bias).max()
    )
    left = " ".join(one.problem for one in m.left_out)
    for what in ("armature of a ball joint", "<spatial> of <tendon>", "forces of a fluid"):
        assert what in left


def test_pictures_show_geoms_of_the_visible_groups(tmp_path: Path) -> None:
    m = da.read_mjcf(written(tmp_path, SOLIDS.format(compiler="")))
    assert len(m["two"].mesh) == len(shapes.capsule(1, 1)) + len(shapes.sphere(1)) + 12
    assert da.read_mjcf(written(tmp_path, SOLIDS.format(compiler="")), pictures=False)["two"].mesh is None


def test_warnings_can_be_errors_where_nothing_is_left_out(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = SOLIDS.format(compiler="").replace("<geom", '<geom contype="0" conaffinity="0"')
        da.read_mjcf(written(tmp_path, text))


def test_a_free_joint_draws_no_support_on_the_ground(tmp_path: Path) -> None:
    eqs = da.equations(da.read_mjcf(written(tmp_path, HUMANOID)), coordinates="joint")
    assert eqs.scene is not None and not eqs.scene.ground


def test_bodies_without_mass_serve_absolute_coordinates_too(tmp_path: Path) -> None:
    """The same pose and speeds of all bodies give the same accelerations."""
    m = da.read_mjcf(written(tmp_path, HUMANOID))
    joint, plain = da.equations(m, coordinates="joint"), da.equations(m)
    state = twins.random_state(joint, np.random.default_rng(0), 0.3)
    q, v = np.array(plain.placement.q), np.array([state[name] for name in plain.speeds.names])
    for k, name in enumerate(plain.coordinates.names):
        q[k] = q[k] if name.endswith(".turned") else state[name]
    found = [da.forward_dynamics(*pair) for pair in ((joint, state), (plain, plain.state(q, v)))]
    for name in ("hip_x.angle", "hip_z.angle", "knee.angle", "rail.displacement", "torso.x"):
        assert found[1][name] == pytest.approx(found[0][name], abs=1e-9)


def test_an_orientation_of_its_own_replaces_that_of_the_class(tmp_path: Path) -> None:
    text = """<mujoco><default><geom quat="1 1 0 0" type="box" size=".1 .2 .3"/></default><worldbody>
      <body><joint axis="1 0 0"/><geom euler="0 0 30"/><geom pos=".5 0 0"/></body></worldbody></mujoco>"""
    m, twin = twins.load_both(written(tmp_path, text))
    compare(m, twin, count=1)


def test_meshes_that_give_no_mass_and_no_picture_are_not_needed(tmp_path: Path) -> None:
    """Those of a body that stands still, and geoms fitted to a mesh beside an inertial; else they are."""
    text = """<mujoco><asset><mesh name="absent" file="absent.stl"/></asset><worldbody>
      <body name="base"><geom type="mesh" mesh="absent"/>
        <body name="arm"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
          <geom type="capsule" mesh="absent"/></body></body></worldbody></mujoco>"""
    assert float(da.read_mjcf(written(tmp_path, text), pictures=False)["arm"].mass) == 1.0
    with warns(ModelWarning, "no-picture", "absent"):
        da.read_mjcf(written(tmp_path, text))
    without = re.sub("<inertial.*?/>", "", text)
    with raises(da.errors.FileFormatError, "several-problems"):
        da.read_mjcf(written(tmp_path, without), pictures=False)
