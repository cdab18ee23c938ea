"""Machines as URDF files: golden files, round trips, and what a file cannot hold."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import FileFormatError, ModelError, ModelWarning
from dalembert.model.forces import FORCES, Force, JointDynamics, force
from dalembert.model.forces.force import ForceMethods
from dalembert.model.joints import JOINTS
from dalembert.model.joints.joint import JointMethods
from dalembert.model.options import option
from tests.helpers.findings import raises

GOLDEN = Path(__file__).parents[3] / "data" / "robots"


def machine() -> da.Mechanism:
    """Every joint and option that URDF has: a trunk on a rail, a hand that follows, a tool on a plane, a crate."""
    m = da.Mechanism("own <machine>")
    trunk = m.add_body("trunk", mass=4.0, inertia=[[0.3, 0.01, 0.02], [0.01, 0.2, 0.0], [0.02, 0.0, 0.25]])
    arm = m.add_body("arm", mass=2.0, inertia=da.box(0.4, 0.1, 0.2), center=(0.2, 0.0, 0.05))
    hand = m.add_body("hand", mass=0.5, inertia=da.cylinder(0.05, 0.1, axis="x"))
    tool = m.add_body("tool", mass=0.2, inertia=da.sphere(0.03))
    cap = m.add_body("cap", mass=0.1, inertia=(1e-4, 2e-4, 2.5e-4))
    crate = m.add_body("crate", mass=3.0, inertia=0.1, center=(0.0, 0.1, 0.0))
    turned = da.rotation(axis=(1, 2, 3), angle=0.7)
    m.add_prismatic("rail", m.ground.at(0, 0, 1), trunk.at(0, 0, -0.2), axis=(1, 1, 0))
    m.add_revolute(
        "shoulder", arm.frame(0.0, 0.0, 0.0, axis=(0, 1, 0.2)), trunk.frame(0, 0.3, 0.4, rotation=turned),
        limits={"lower": -1.0, "upper": 2.0, "speed": 3.0, "effort": 40.0},
    )  # fmt: skip
    m.add_revolute("wrist", arm.at(0.4, 0, 0), hand.at(-0.05, 0, 0), axis=(1, 0, 0), limits={"upper": 1.5})
    m.add_planar("table", hand.frame(0.05, 0, 0, axis=(1, 0, 0), x=(0, 1, 1)), tool.frame(0, 0, 0.01, axis=(0, 0, 1)))
    m.add_fixed("lid", tool.at(0, 0, 0.05), cap.frame(0, 0, 0, rotation=turned))
    m.add_gear("pair", "shoulder", "wrist", ratio=-2.0, offset=0.1)
    m.add_damper("oil", joint="rail", damping=2.5)
    m.add_friction("seal", "shoulder", viscous=0.3, effort=0.2)
    m.add_free("thrown", m.ground.at(1, 2, 3), crate.at(0, 0, 0.1))
    return m


def bias(m: da.Mechanism, count: int = 2) -> list[Any]:
    """M and the forces of motion and gravity at random states, by names: links of a file have other frames."""
    eqs, random = da.equations(m, coordinates="joint"), np.random.default_rng(1)
    found: list[Any] = [eqs.coordinates.names]
    for _ in range(count):
        q = random.normal(size=eqs.nq)  # the pose in which a machine is drawn is not part of its dynamics
        for block in eqs.quaternions:
            q[block.part] /= np.linalg.norm(q[block.part])
        state = eqs.state(q, random.normal(size=eqs.nv))
        found += [da.tree.mass_matrix(eqs, state), da.tree.inverse_dynamics(eqs, state)]
    return found


def assert_same_dynamics(one: da.Mechanism, two: da.Mechanism, scale: float = 1.0) -> None:
    """To rounding: some hundred operations of numbers near `scale`."""
    names, *numbers = bias(one)
    others, *values = bias(two)
    assert names == others
    for a, b in zip(numbers, values, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12 * scale * max(1.0, np.abs(a).max()))


def described(m: da.Mechanism) -> list[Any]:
    """Everything of a robot as nested numbers and texts."""

    def frame(one: Any) -> Any:
        return one.body.name, [float(x) for x in one.coordinates], one.axes

    bodies = [(b.name, float(b.mass), b.inertia, b.center) for b in m.bodies]
    joints = [(j.name, j.kind, frame(j.a), frame(j.b), [(c, repr(x)) for c, x in j.limits.items()]) for j in m.joints]
    couplers = [(c.name, c.first, c.second, float(c.ratio), float(c.offset)) for c in m.couplers]
    forces = [(f.name, f.kind, repr(f)) for f in m.forces]
    return [m.name, bodies, joints, couplers, forces]


def assert_close(a: Any, b: Any) -> None:
    """Equal texts; numbers to rounding of angles and products of rotations."""
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_close(x, y)
    elif isinstance(a, float):
        assert b == pytest.approx(a, abs=4e-15, rel=4e-15)
    else:
        assert a == b


def again(m: da.Mechanism, path: Path, **options: Any) -> da.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return da.read_urdf(da.write_urdf(m, path), **options)


def assert_golden(path: Path, name: str) -> None:
    """Equal texts; numbers to rounding of products of rotations, which a library may do in another order."""
    parts = [re.split(r"([-+.0-9e]*[0-9])(?=[ \"])", file.read_text()) for file in (path, GOLDEN / name)]
    assert parts[0][::2] == parts[1][::2]
    np.testing.assert_allclose(*(np.array(one[1::2], dtype=float) for one in parts), rtol=0, atol=4e-15)


def test_a_machine_is_written_as_the_golden_file_and_read_back(tmp_path: Path) -> None:
    m = machine()
    first = again(m, tmp_path / "machine.urdf")
    assert_golden(tmp_path / "machine.urdf", "machine.urdf")
    assert_same_dynamics(m, first)
    second = again(first, tmp_path / "again.urdf")
    assert_close(described(second), described(first))
    assert (first["rail.damping"].damping, first["shoulder.friction"].effort) == (2.5, 0.2)
    assert vars(first["shoulder"].limits["angle"]) == vars(m["shoulder"].limits["angle"])
    assert first["wrist"].limits["angle"].range == (-np.inf, 1.5)


def test_an_arm_of_the_library_is_written_as_the_golden_file(tmp_path: Path) -> None:
    m = da.read_model("six-joint-arm")
    with pytest.warns(ModelWarning) as caught:
        path = da.write_urdf(m, tmp_path / "arm.urdf")
    assert_golden(path, "six-joint-arm.urdf")
    lost = caught[0].message.finding.evidence["left_out"]  # type: ignore[union-attr]
    assert {key for one in lost for key in one.where} == {"body", "force", "mechanism", "sensor"}
    assert_same_dynamics(m, da.read_urdf(path))


ROBOTS = [
    pytest.param("panda_description/urdf/panda.urdf", "fixed"),
    pytest.param("solo_description/robots/solo12.urdf", "free", marks=pytest.mark.slow),
    pytest.param("talos_data/robots/talos_full_v2.urdf", "free", marks=pytest.mark.slow),
    pytest.param("ur_description/urdf/ur5_robot.urdf", "fixed", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "base"), ROBOTS)
def test_a_published_robot_comes_back_as_it_was(name: str, base: str, tmp_path: Path) -> None:
    models = pytest.importorskip("tests.helpers.pinocchio_models", reason="Pinocchio is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        first = da.read_urdf(models.robot_file(name), base=base, pictures=False)
    second = again(first, tmp_path / "robot.urdf", base=base)
    assert_close(described(second), described(first))
    assert_same_dynamics(first, second)


def test_pictures_go_into_files_beside_it(tmp_path: Path) -> None:
    m = da.Mechanism("shown")
    corners = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0, 0], [0, 1, 0], [0, 0, 1]]])
    rod = m.add_body("rod", mass=1.0, inertia=0.1, mesh=corners, center=(0.5, 0, 0))
    m.add_revolute("A", m.ground.at(0, 0, 0), rod.at(0.25, 0, 0))
    back = again(m, tmp_path / "shown.urdf")
    assert (tmp_path / "shown-1.stl").is_file()
    own = back["rod"].mesh + np.array(back["rod"].center)  # from the joint
    np.testing.assert_allclose(own, corners - [0.25, 0, 0], atol=1e-7)  # single precision of STL


def loop() -> da.Mechanism:
    m = da.Mechanism("loop")
    one, two = (m.add_body(name, mass=1.0, inertia=0.1) for name in ("one", "two"))
    m.add_revolute("A", m.ground.at(0, 0, 0), one.at(0, 0, 0))
    m.add_revolute("B", one.at(1, 0, 0), two.at(0, 0, 0))
    m.add_revolute("C", two.at(1, 0, 0), m.ground.at(1, 1, 0))
    return m


def jointed(kind: str) -> da.Mechanism:
    m = da.Mechanism("one joint")
    body = m.add_body("body", mass=1.0, inertia=0.1)
    m.add_joint(kind, "J", m.ground.at(0, 0, 0), body.at(0, 0, 0), **({"lead": 0.1} if kind == "screw" else {}))
    return m


def reversed_plane() -> da.Mechanism:
    m = da.Mechanism("plane")
    body = m.add_body("body", mass=1.0, inertia=0.1)
    m.add_planar("J", body.at(0, 0, 0), m.ground.at(0, 0, 0))
    return m


@pytest.mark.parametrize(
    "m", [loop(), reversed_plane(), *map(jointed, ("spherical", "universal", "cylindrical", "screw"))], ids=repr
)
def test_a_joint_that_urdf_cannot_hold_is_named_with_a_remedy(m: da.Mechanism, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        da.write_urdf(m, tmp_path / "robot.urdf")
    assert caught.value.code == "not-supported"
    assert caught.value.where["joint"] in {joint.name for joint in m.joints}
    assert caught.value.advice
    assert not list(tmp_path.iterdir())


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    m = jointed("spherical")
    other = m.add_body("other", mass=1.0, inertia=0.1)
    m.add_universal("U", m["body"].at(1, 0, 0), other.at(0, 0, 0))
    with pytest.raises(ModelError) as caught:
        da.write_urdf(m, tmp_path / "robot.urdf")
    assert caught.value.code == "several-problems"
    assert [one.where["joint"] for one in caught.value.finding.evidence["problems"]] == ["J", "U"]


def test_two_free_machines_and_planar_ones_are_refused(tmp_path: Path) -> None:
    m = da.Mechanism("two")
    for name in ("one", "two"):
        m.add_body(name, mass=1.0, inertia=0.1)
    with raises(ModelError, "not-supported"):
        da.write_urdf(m, tmp_path / "robot.urdf")
    with raises(ModelError, "not-supported"):
        da.write_urdf(da.read_model("four-bar"), tmp_path / "robot.urdf")
    with raises(FileFormatError, "unknown-suffix"):
        da.write_urdf(m, tmp_path / "robot.xml")


def test_what_urdf_has_no_words_for_is_listed(tmp_path: Path) -> None:
    m = da.Mechanism("much", gravity=(0, 0, -1.62))
    body = m.add_body("body", mass=m.parameter("load", 1.0), inertia=0.1, points={"tip": (0, 0, 1)})
    m.add_revolute("A", m.ground.at(0, 0, 0), body.at(0, 0, 0))
    m.add_spring("S", joint="A", stiffness=3.0)
    m.add_actuator("M", joint="A", input="u")
    m.add_sensor("E", da.angle("A"))
    m.add_driver("D", "A", 0.0)
    with pytest.warns(ModelWarning) as caught:
        da.write_urdf(m, tmp_path / "robot.urdf")
    lost = caught[0].message.finding.evidence["left_out"]  # type: ignore[union-attr]
    assert [" ".join(*one.where.items()) for one in lost] == [
        "body body", "mechanism much", "force S", "sensor E", "driver D", "mechanism much",
    ]  # fmt: skip


def test_damping_along_one_of_several_coordinates_is_listed(tmp_path: Path) -> None:
    m = da.Mechanism("table")
    body = m.add_body("body", mass=1.0, inertia=0.1)
    m.add_planar("J", m.ground.at(0, 0, 0), body.at(0, 0, 0))
    m.add_damper("oil", joint="J.x", damping=1.0)
    with pytest.warns(ModelWarning) as caught:
        da.write_urdf(m, tmp_path / "robot.urdf")
    assert [one.where for one in caught[0].message.finding.evidence["left_out"]] == [{"force": "oil"}]  # type: ignore[union-attr]


def test_kinds_of_other_packages_are_written_as_they_declare(tmp_path: Path) -> None:
    @force("grease")
    class Grease(Force):
        """Damping that a package of its own adds."""

        joint: str = option("coordinate", "a joint coordinate")
        amount: float = option("number", "effort per speed")

        def joint_dynamics(self) -> JointDynamics:
            return JointDynamics(self.joint, damping=self.amount)

    JOINTS.register("bearing", replace(JOINTS["revolute"], doc="A hinge with a name of its own."))
    try:
        m = jointed("bearing")
        m.forces.append(Grease("G", "J", 0.25))
        back = again(m, tmp_path / "robot.urdf")
    finally:
        JOINTS.unregister("bearing")
        FORCES.unregister("grease")
        del JointMethods.add_bearing, ForceMethods.add_grease  # type: ignore[attr-defined]
    assert [(joint.name, joint.kind) for joint in back.joints] == [("J", "revolute")]
    assert back["J.damping"].damping == 0.25
