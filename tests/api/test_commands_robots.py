"""Commands on robot files: URDF and MJCF wherever a model file is taken."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import dalembert as da
from dalembert.app.command_line.model_options import complete_model
from tests.helpers.commands import document, error_text, run
from tests.helpers.findings import raises

URDF = """<robot name="arm">
  <link name="base"><visual><geometry><box size="0.2 0.2 0.05"/></geometry></visual></link>
  <link name="rod"><inertial><origin xyz="0 0 -0.3"/><mass value="1"/>
    <inertia ixx="0.03" iyy="0.03" izz="0.001"/></inertial>
    <visual><geometry><mesh filename="package://arm/rod.stl"/></geometry></visual></link>
  <joint name="A" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="9" velocity="5"/></joint>
</robot>
"""
MJCF = """<mujoco model="pair">
  <worldbody>
    <body name="rod"><joint name="A" axis="0 1 0" damping=".1"/>
      <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.5" contype="0" conaffinity="0"/>
      <body name="end" pos="0 0 -.5"><joint name="B" axis="0 1 0" damping=".1"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.4" contype="0" conaffinity="0"/></body></body>
  </worldbody>
  <actuator><motor name="drive" joint="A"/></actuator>
</mujoco>
"""


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    return path


@pytest.fixture
def mjcf(tmp_path: Path) -> Path:
    path = tmp_path / "pair.xml"
    path.write_text(MJCF)
    return path


def test_a_missing_mesh_is_named_with_the_option_that_finds_it(robot: Path) -> None:
    result = run("simulate", robot, "--until", 0.1)
    assert result.exit_code == 0
    assert "line 5" in error_text(result) and "--read folders=DIR" in error_text(result)


def test_the_option_read_reaches_the_reader(robot: Path) -> None:
    found = document("simulate", robot, "--until", 0.1, "--read", "pictures=no", "--read", "actuated=no")
    assert "A.angle" in found["channels"] and "A.effort" not in found["channels"]


@pytest.mark.parametrize(
    ("options", "code"),
    [({"base": "loose"}, "unknown-choice"), ({"colour": "red"}, "unknown-argument"),
     ({"pictures": "perhaps"}, "unknown-choice")],
)  # fmt: skip
def test_options_that_the_reader_does_not_have_are_named(robot: Path, options: dict[str, str], code: str) -> None:
    with raises(da.errors.FileFormatError, code):
        da.read_model(robot, **options)


@pytest.mark.parametrize("suffix", [".urdf", ".xml"])
def test_a_robot_is_recognised_by_its_root_element(robot: Path, suffix: str) -> None:
    path = robot.with_suffix(suffix)
    path.write_text(URDF)
    assert document("equilibrium", path, "--read", "pictures=no")["model"] == "arm"


@pytest.mark.slow
def test_a_model_of_mujoco_is_simulated_linearized_and_animated(mjcf: Path, tmp_path: Path) -> None:
    found = document("simulate", mjcf, "--until", 0.2, "--start", "A.angle=0.3", "--input", "drive=0.1")
    assert found["model"] == "pair" and found["channels"]["drive"]["last"] == pytest.approx(0.1)
    assert len(document("modes", mjcf)["modes"]) >= 2
    page = tmp_path / "pair.html"
    assert document("animate", mjcf, "--until", 0.2, "--out", page)["files"] == [str(page)]
    assert page.stat().st_size > 100_000
    over = ("--over", "start A.angle=0.1:0.2", "--output", "end=B.angle:last", "--samples", 2)
    swept = document("sweep", mjcf, *over, "--until", 0.1)
    assert len(swept["results"]["end"]) == 2


def test_another_xml_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "other.xml"
    path.write_text("<project/>")
    result = run("simulate", path)
    assert result.exit_code != 0 and "other.xml:1" in error_text(result) and "<mujoco>" in error_text(result)


@pytest.mark.slow
def test_functions_of_the_equations_are_exported(mjcf: Path, tmp_path: Path) -> None:
    found = document("export", mjcf, "--functions", "mass_matrix,forward", "--out", tmp_path / "c")
    assert (tmp_path / "c" / "pair.h").is_file() and found["name"] == "pair"
    done = subprocess.run(["make", "-C", str(tmp_path / "c"), "test"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "options",
    [(), ("--functions", "forward", "--lqr"), ("--functions", "forward", "--dt", 0.1), ("--lqr",),
     ("--functions", "forwards"), ("--functions", "forward", "--object", "native")],
)  # fmt: skip
def test_mistakes_in_an_export_are_named(mjcf: Path, tmp_path: Path, options: tuple[object, ...]) -> None:
    assert run("export", mjcf, "--out", tmp_path / "c", *options).exit_code != 0
    assert not (tmp_path / "c").exists()


def test_the_shell_completes_robot_files(robot: Path, mjcf: Path) -> None:
    found = complete_model(str(robot.parent) + "/")
    assert {str(robot), str(mjcf)} <= {*found}
