"""Robots from URDF files."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import FileFormatError, ModelWarning
from dalembert.files.models.values.mesh_mass import binary_stl
from dalembert.files.robots import xml_tree
from tests.helpers.findings import raises, warns

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


def test_roll_pitch_and_yaw_turn_about_fixed_axes_in_this_order(tmp_path: Path) -> None:
    """R = Rz(yaw) Ry(pitch) Rx(roll), written out with plane rotations."""
    m = da.read_urdf(written(tmp_path, ARM))
    c, s = np.cos([0.3, -0.2, 0.5]), np.sin([0.3, -0.2, 0.5])
    roll = np.array([[1, 0, 0], [0, c[0], -s[0]], [0, s[0], c[0]]])
    pitch = np.array([[c[1], 0, s[1]], [0, 1, 0], [-s[1], 0, c[1]]])
    yaw = np.array([[c[2], -s[2], 0], [s[2], c[2], 0], [0, 0, 1]])
    axis = np.array(m["shoulder"].a.axes)[:, 2]
    np.testing.assert_allclose(axis, yaw @ pitch @ roll @ np.array([0, 1, 1]) / np.sqrt(2), atol=1e-15)


def test_limits_are_those_of_the_joint(tmp_path: Path) -> None:
    m = da.read_urdf(written(tmp_path, ARM.replace('<axis xyz="0 1 0"/>', '<limit effort="9" velocity="0"/>')))
    limits = m.limits()
    shoulder = limits["shoulder.angle"]
    assert (*shoulder.range, shoulder.speed, shoulder.effort) == (-2.0, 2.0, 3.0, 50.0)
    assert limits["elbow.angle"].range == (-np.inf, np.inf)
    assert (limits["elbow.angle"].effort, limits["elbow.angle"].speed) == (9.0, None)
    assert limits["slide.effort"].range == (-5.0, 5.0)


def test_damping_and_friction_act_along_the_joint(tmp_path: Path) -> None:
    m = da.read_urdf(written(tmp_path, ARM.replace('damping="0.3"', 'damping="0.3" friction="0.1"')))
    eqs = da.equations(m, coordinates="joint")
    still, moving = (eqs.state(v=[rate, 0.0, 0.0]) for rate in (0.0, 2.0))
    f = [eqs.kernel("forces")(s.q, s.v, s.z, np.zeros(3), eqs.p, 0.0, np.zeros(0))[0] for s in (still, moving)]
    inertial = da.tree.inverse_dynamics(eqs, moving) - da.tree.inverse_dynamics(eqs, still)
    lost = (f[0] - f[1] - inertial)[0]
    assert lost == pytest.approx(0.3 * 2.0 + 0.1, rel=1e-6)  # of the law that is smoothed over 1e-3 rad/s


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


def test_a_joint_may_mimic_one_that_mimics_another(tmp_path: Path) -> None:
    text = ARM.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="shoulder" multiplier="2"/>')
    text = text.replace('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/><mimic joint="elbow" multiplier="0.1"/>')
    state = da.assemble(da.equations(da.read_urdf(written(tmp_path, text))), {"shoulder.angle": 0.4})
    assert state["slide.displacement"] == pytest.approx(0.08, abs=1e-10)


def test_what_is_left_out_is_listed_with_its_line(tmp_path: Path) -> None:
    """Of another program quietly; a mesh that is not shown with a warning."""
    text = ARM.replace("</robot>", "<gazebo/><gazebo/></robot>").replace(
        '<sphere radius="0.06"/>', '<mesh filename="a.3ds"/>'
    )
    with pytest.warns(ModelWarning) as caught:
        m = da.read_urdf(written(tmp_path, text))
    assert [one.message.code for one in caught] == ["not-supported"]  # type: ignore[union-attr]
    assert "mesh *.3ds (1)" in str(caught[0].message) and "gazebo" not in str(caught[0].message)
    found = {one.evidence["count"]: one.where["line"] for one in m.left_out}
    assert found == {1: 16, 2: text[: text.index("<gazebo")].count("\n") + 1}


def test_a_joint_named_as_a_link_has_another_name(tmp_path: Path) -> None:
    m = da.read_urdf(written(tmp_path, ARM.replace('name="elbow"', 'name="fore"')))
    assert [joint.name for joint in m.joints] == ["shoulder", "fore_joint", "slide"]
    assert any("fore_joint" in one.problem for one in m.left_out)


def test_a_floating_joint_leaves_its_child_free_and_a_planar_one_three_freedoms(tmp_path: Path) -> None:
    text = ARM.replace('type="continuous"', 'type="floating"').replace('type="prismatic"', 'type="planar"')
    eqs = da.equations(da.read_urdf(written(tmp_path, text)), coordinates="joint")
    assert (eqs.nv, len(eqs.rows)) == (1 + 6 + 3, 0)
    assert {"elbow.x", "elbow.e0", "slide.x", "slide.angle"} <= {*eqs.coordinates.names}


TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
FACES = TETRAHEDRON[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]
OBJ = (
    "# tetrahedron\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nf 1 3 2\nf 1//1 2//1 4//1\nf -4 -1 -2\nf 2/1 3/1 4\n"
)


def mesh_file(path: Path) -> None:
    if path.suffix == ".obj":
        path.write_text(OBJ)
    elif path.name.startswith("text"):
        corners = ["".join(f"vertex {x} {y} {z}\n" for x, y, z in face) for face in FACES]
        path.write_text(
            "solid t\n" + "".join(f"facet normal 0 0 0\nouter loop\n{c}endloop\nendfacet\n" for c in corners)
        )
    else:
        path.write_bytes(binary_stl(FACES))


@pytest.mark.parametrize("name", ["mesh.obj", "mesh.stl", "text.stl", "mesh.STL"])
def test_a_mesh_is_found_beneath_the_folders_and_shown(tmp_path: Path, name: str) -> None:
    (tmp_path / "robot" / "meshes").mkdir(parents=True)
    (tmp_path / "data" / "arm").mkdir(parents=True)
    mesh_file(tmp_path / "data" / "arm" / name)
    shown = f'<mesh filename="package://arm/{name}" scale="0.1 0.1 0.2"/>'
    path = written(tmp_path / "robot", ARM.replace('<sphere radius="0.06"/>', shown))
    with warns(ModelWarning, "no-picture", name):
        assert da.read_urdf(path)["hand"].mesh is None
    for folder in (tmp_path / "data", tmp_path / "data" / "arm"):
        m = da.read_urdf(path, folders=[folder])
        np.testing.assert_allclose(m["hand"].mesh, FACES * [0.1, 0.1, 0.2], atol=1e-7)  # single precision of STL
    assert da.read_urdf(path, pictures=False)["hand"].mesh is None


def test_the_base_of_a_robot_is_drawn_on_the_ground(tmp_path: Path) -> None:
    drawn = '<link name="base"><visual><geometry><box size="0.4 0.4 0.1"/></geometry></visual></link>'
    eqs = da.equations(da.read_urdf(written(tmp_path, ARM.replace('<link name="base"/>', drawn))))
    scene = da.simulate(eqs, 0.01, start=da.assemble(eqs)).scene
    assert len(scene["ground_shape"]["triangles"]) == 12
    assert [body["name"] for body in scene["bodies"]] == ["upper", "fore", "hand"]


def test_an_inertia_that_no_body_can_have_is_repaired_on_request(tmp_path: Path) -> None:
    """Σ = ½ tr(J) 1 - J of (0.1, 0.02, 0.02) is (-0.03, 0.05, 0.05): without the negative one J = (0.1, 0.05, 0.05)."""
    path = written(tmp_path, ARM.replace('ixx="0.01" iyy="0.02" izz="0.02"', 'ixx="0.1" iyy="0.02" izz="0.02"'))
    with pytest.warns(ModelWarning):
        m = da.read_urdf(path, repair=True)
    np.testing.assert_allclose(np.array(m["fore"].inertia, dtype=float), np.diag([0.1, 0.05, 0.05]), atol=1e-15)


def test_an_inertia_is_accepted_up_to_the_digits_of_a_file(tmp_path: Path) -> None:
    """The largest of (0.01, 0.02, 0.03 + d) exceeds the others' sum by d: up to 1e-6 of it counts as rounding."""
    for excess, code in ((2.9e-8, None), (3.2e-8, "not-physical")):
        own = f'ixx="0.01" iyy="0.02" izz="{0.03 + excess!r}"'
        path = written(tmp_path, ARM.replace('ixx="0.01" iyy="0.02" izz="0.02"', own))
        if code is None:
            assert da.read_urdf(path)["fore"].mass == 1.5
        else:
            with warns(ModelWarning, code):
                assert np.array(da.read_urdf(path)["fore"].inertia, dtype=float)[2, 2] == 0.03 + excess


def test_an_impossible_inertia_is_taken_as_it_is_with_one_warning(tmp_path: Path) -> None:
    """Principal values (0.1, 0.02, 0.02) and (0.3, 0.01, 0.02): positive, so that M stays positive definite."""
    text = ARM.replace('ixx="0.01" iyy="0.02" izz="0.02"', 'ixx="0.1" iyy="0.02" izz="0.02"')
    path = written(tmp_path, text.replace('ixx="0.001" iyy="0.001"', 'ixx="0.3" iyy="0.01"'))
    with pytest.warns(ModelWarning) as caught:
        m = da.read_urdf(path)
    assert [(one.message.code, one.message.finding.evidence["count"]) for one in caught] == [("not-physical", 2)]  # type: ignore[union-attr]
    np.testing.assert_array_equal(np.array(m["fore"].inertia, dtype=float), np.diag([0.1, 0.02, 0.02]))
    eqs = da.equations(m, coordinates="joint")
    assert np.linalg.eigvalsh(da.tree.mass_matrix(eqs, da.assemble(eqs)))[0] > 0
    assert [one.code for one in m.left_out] == ["not-physical"]


def test_a_negative_inertia_of_a_fixed_part_counts_with_the_body_that_carries_it(tmp_path: Path) -> None:
    part = """<link name="antenna"><inertial><mass value="1e-6"/>
      <inertia ixx="-4e-8" iyy="3e-8" izz="9e-8" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="weld" type="fixed"><parent link="hand"/><child link="antenna"/></joint></robot>"""
    with warns(ModelWarning, "not-physical"):
        m = da.read_urdf(written(tmp_path, ARM.replace("</robot>", part)))
    assert float(m["antenna"].inertia[0][0]) == -4e-8


def test_products_of_inertia_that_are_left_out_are_listed(tmp_path: Path) -> None:
    m = da.read_urdf(written(tmp_path, ARM.replace(' ixy="0.001"', "").replace(' iyz="0.002"', "")))
    assert [one.problem.partition(" ")[0] for one in m.left_out] == ["ixy", "iyz"]


ROBOTS = [
    pytest.param("panda_description/urdf/panda.urdf", False),
    pytest.param("talos_data/robots/talos_left_arm.urdf", False, marks=pytest.mark.slow),
    pytest.param("solo_description/robots/solo12.urdf", True, marks=pytest.mark.slow),
    pytest.param("simple_humanoid_description/urdf/simple_humanoid.urdf", True, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "free"), ROBOTS)
def test_published_robots_have_the_mass_matrix_and_bias_of_pinocchio(name: str, free: bool) -> None:
    models = pytest.importorskip("tests.helpers.pinocchio_models", reason="Pinocchio is not installed")
    path = models.robot_file(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        m = da.read_urdf(path, base="free" if free else "fixed", pictures=False)
    eqs = da.equations(m, coordinates="joint")
    twin, random = models.twin_of_file(path, m, eqs, free=free), np.random.default_rng(0)
    for _ in range(2):
        q = np.array(eqs.placement.q) + random.normal(size=eqs.nq)
        for block in eqs.quaternions:
            q[block.part] /= np.linalg.norm(q[block.part])
        state = eqs.state(q, random.normal(size=eqs.nv))
        T = twin.T(state)
        theirs = models.pin.crba(twin.model, twin.data, twin.q(state))
        theirs = np.triu(theirs) + np.triu(theirs, 1).T
        np.testing.assert_allclose(da.tree.mass_matrix(eqs, state), T.T @ theirs @ T, atol=1e-12 * theirs.max())
        bias = models.pin.rnea(twin.model, twin.data, twin.q(state), twin.v(state), twin.a(state, np.zeros(eqs.nv)))
        ours = da.tree.inverse_dynamics(eqs, state)
        np.testing.assert_allclose(ours, twin.tau(state, bias), atol=1e-12 * np.abs(bias).max())


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
    "negative inertia": (ARM.replace('ixx="0.01" iyy="0.02" izz="0.02"', 'ixx="0.01" iyy="-0.9" izz="0.02"'),
                         "not-physical"),
    "not a number": (ARM.replace('<mass value="2"/>', '<mass value="two"/>'), "not-a-number"),
    "not finite": (ARM.replace('<mass value="2"/>', '<mass value="inf"/>'), "not-a-number"),
    "two numbers": (ARM.replace('xyz="0 0 0.4"', 'xyz="0 0.4"'), "not-a-number"),
    "millimetres": (ARM.replace('xyz="0 0 0.4"', 'xyz="0 0 400"'), "out-of-range"),
    "unknown joint": (ARM.replace('type="continuous"', 'type="hinge"'), "unknown-choice"),
    "negative damping": (ARM.replace('damping="0.3"', 'damping="-0.3"'), "negative"),
    "entity expansion": (
        '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><robot name="&b;"/>', "not-supported"
    ),
    "entity of another file": ('<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><robot/>', "not-supported"),
    "misspelt element": (ARM.replace("inertial>", "intertial>"), "several-problems"),
    "misspelt limit": (ARM.replace('lower="-2"', 'lowr="-2"'), "unknown-name"),
    "misspelt link": (ARM.replace("</robot>", '<Link name="more"/></robot>'), "unknown-name"),
    "mimic in a circle": (
        ARM.replace('<axis xyz="0 1 0"/>', '<mimic joint="slide"/>').replace(
            '<axis xyz="1 0 0"/>', '<mimic joint="elbow"/>'
        ),
        "several-problems",
    ),
    "mimic of a weld": (
        ARM.replace('<axis xyz="0 1 0"/>', '<mimic joint="slide"/>').replace('"prismatic"', '"fixed"'), "not-supported",
    ),
    "mimic by nothing": (ARM.replace('<axis xyz="0 1 0"/>', '<mimic joint="slide" multiplier="0"/>'), "zero"),
    "one link": ('<robot name="r"><link name="base"/></robot>', "no-bodies"),
    "negative limit": (ARM.replace('effort="50"', 'effort="-50"'), "negative"),
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


@pytest.mark.parametrize(
    "content", ["v 0 0\nf 1 1 1", "v 0 0 0\nf 1 2 3", "v 0 0 nan\nf 1 1 1", "", "f 1", "v 1 2 3\nf 1 1"]
)
def test_a_malformed_mesh_is_left_out_with_the_line_of_its_link(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.obj").write_text(content)
    path = written(tmp_path, ARM.replace('<sphere radius="0.06"/>', '<mesh filename="a.obj"/>'))
    with warns(ModelWarning, "no-picture", "line 16", "a.obj"):
        assert da.read_urdf(path)["hand"].mesh is None


ODD = ['<sphere radius="0"/>', '<box size="1 1"/>', '<mesh filename="b.stl"/>', '<mesh filename="../../e/b.stl"/>',
       '<mesh filename="a.obj" scale="1 1 1 1"/>']  # fmt: skip


def test_odd_pictures_never_stop_a_computation(tmp_path: Path) -> None:
    """One warning for all of them; the pictures beside them are shown."""
    (tmp_path / "a.obj").write_text(OBJ)
    odd = "".join(f"<visual><geometry>{one}</geometry></visual>" for one in ODD)
    text = ARM.replace('<visual><geometry><sphere radius="0.06"/></geometry></visual>',
                       f'{odd}<visual><geometry><box size="1 1 1"/></geometry></visual>')  # fmt: skip
    with pytest.warns(ModelWarning) as caught:
        m = da.read_urdf(written(tmp_path, text))
    assert [(one.message.code, one.message.finding.evidence["count"]) for one in caught] == [("no-picture", 5)]  # type: ignore[union-attr]
    assert len(m["hand"].mesh) == 12


def test_a_mesh_in_millimetres_is_pointed_out(tmp_path: Path) -> None:
    (tmp_path / "a.stl").write_bytes(binary_stl(200 * FACES))
    path = written(tmp_path, ARM.replace('<sphere radius="0.06"/>', '<mesh filename="a.stl"/>'))
    with warns(ModelWarning, "no-picture", "200 m"):
        da.read_urdf(path)


def test_elements_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = ARM.count("<") - ARM.count("</") - 1
    for most, refused in ((count, False), (count - 1, True)):
        monkeypatch.setattr(xml_tree, "ELEMENTS", most)
        if refused:
            with raises(FileFormatError, "too-large"):
                da.read_urdf(written(tmp_path, ARM))
        else:
            da.read_urdf(written(tmp_path, ARM))


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


def test_a_robot_goes_through_a_model_file_with_all_its_parts(tmp_path: Path) -> None:
    """Limits, friction, gears, pictures and the base that stands on the ground."""
    drawn = '<link name="base"><visual><geometry><box size="0.4 0.4 0.1"/></geometry></visual></link>'
    text = ARM.replace('<link name="base"/>', drawn).replace('damping="0.3"', 'damping="0.3" friction="0.1"')
    m = da.read_urdf(written(tmp_path, text))
    da.write_model(m, tmp_path / "robot.toml")
    again = da.read_model(tmp_path / "robot.toml")
    np.testing.assert_allclose(again.ground.mesh, m.ground.mesh, atol=1e-7)  # single precision of STL
    assert again.limits() == m.limits() and [f.kind for f in again.forces] == [f.kind for f in m.forces]
    states = [da.equations(one, coordinates="joint").state(np.arange(3.0), np.ones(3)) for one in (m, again)]
    one, two = (da.tree.inverse_dynamics(state.eqs, state) for state in states)
    np.testing.assert_allclose(one, two, atol=1e-12)


@pytest.mark.slow
def test_every_published_robot_is_read_or_refused_for_a_reason() -> None:
    """69 files; refused are one without links, and one whose joints mimic unknown ones."""
    models = pytest.importorskip("tests.helpers.pinocchio_models", reason="Pinocchio is not installed")
    refused = {}
    for path in sorted(models.robot_file("").rglob("*.urdf")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)
                da.read_urdf(path, base="free", pictures=False)
        except FileFormatError as error:
            refused[path.name] = error.code
    assert refused == {"alex_psyonic_hands.urdf": "several-problems", "ur3.urdf": "empty"}


# ---- edges of thresholds


@pytest.mark.parametrize(("size", "limited"), [("9.9e8", True), ("1.0e9", False)])
def test_limits_from_a_billion_on_are_none(tmp_path: Path, size: str, limited: bool) -> None:
    limit = f'lower="-{size}" upper="{size}" effort="{size}" velocity="{size}"'
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace('lower="-2" upper="2" effort="50" velocity="3"', limit), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        made = da.read_urdf(path)
    joint = next(joint for joint in made.joints if joint.name == "shoulder")
    found = joint.limits.get("angle")
    if limited:
        assert (found.range, found.speed, found.effort) == ((-9.9e8, 9.9e8), 9.9e8, 9.9e8)
    else:
        assert found is None or (not np.isfinite(found.range).any() and found.speed is found.effort is None)
