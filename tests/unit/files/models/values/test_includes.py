"""Models of several files: scopes of names, grounds, bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

import dalembert as da
from dalembert.files.models import ModelFileError, read_model
from tests.helpers.findings import raises

LEG = """
planar = true
[constants]
place = 0.0
[parameters]
length = "1 m"
mass = 2
[bodies.rod]
mass = "mass"
inertia = { rod = "length" }
points = { tip = ["length/2", 0] }
[joints.hip]
type = "revolute"
a = "ground(place, 0)"
b = "rod(-length/2, 0)"
[forces.motor]
type = "actuator"
joint = "hip"
input = "torque"
[forces.soft]
type = "actuator"
joint = "hip"
effort = "-mass*hip.angle"
[start.position]
"hip.angle" = 0.5
"""


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text)
    return folder / "main.toml"


def test_names_of_an_included_file_are_scoped(tmp_path: Path) -> None:
    main = """
planar = true
[parameters]
size = 0.5
[include.left]
file = "leg.toml"
parameters = { place = -1, length = "2*size" }
[include.right]
file = "leg.toml"
[joints.weld]
type = "massless rod"
a = "left.rod.tip"
b = "right.rod.tip"
length = 1
"""
    m = read_model(write(tmp_path, main=main, leg=LEG))
    assert [b.name for b in m.bodies] == ["left.rod", "right.rod"]
    assert m.inputs() == ["left.torque", "right.torque"]
    assert m.parameters == {"size": 0.5, "left.mass": 2.0, "right.length": 1.0, "right.mass": 2.0}
    assert m.start["position"] == {"left.hip.angle": 0.5, "right.hip.angle": 0.5}
    assert m.joints[0].a.coordinates == (-1.0, 0.0)
    assert float(m.joints[0].b.coordinates[0]) == -0.5
    eqs = da.equations(m)
    assert eqs.replace(size=0.25) is not None  # what was handed over stays symbolic


def test_the_ground_of_an_included_file_can_be_a_body(tmp_path: Path) -> None:
    main = """
planar = true
[bodies.car]
mass = 1
inertia = 1
[include.leg]
file = "leg.toml"
ground = "car"
"""
    m = read_model(write(tmp_path, main=main, leg=LEG))
    assert m.joints[0].a.body.name == "car"


def test_includes_of_includes_are_beside_their_own_file(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    write(
        tmp_path / "parts",
        leg=LEG,
        pair='planar = true\n[include.a]\nfile = "leg.toml"\n[include.b]\nfile = "leg.toml"',
    )
    m = read_model(write(tmp_path, main='planar = true\n[include.front]\nfile = "parts/pair.toml"'))
    assert [b.name for b in m.bodies] == ["front.a.rod", "front.b.rod"]


def test_problems_of_all_files_come_at_once_with_their_own_lines(tmp_path: Path) -> None:
    main = 'planar = true\n[include.leg]\nfile = "leg.toml"\nparameters = { lenth = 1 }\n[bodies.b]\nmass = "1 m"\n'
    with pytest.raises(ModelFileError) as caught:
        read_model(write(tmp_path, main=main, leg=LEG.replace("mass = 2", 'mass = "2 s"')))
    found = [(Path(one.where["path"]).name, one.where["line"]) for one in caught.value.problems]
    assert ("main.toml", 4) in found and ("main.toml", 6) in found and ("leg.toml", 9) in found


@pytest.mark.parametrize(
    ("main", "code"),
    [
        ('[include.a]\nfile = "main.toml"', "circular-include"),
        ('[include.a]\nfile = "none.toml"', "no-such-file"),
        ('[include.a]\nfile = "../outside.toml"', "outside-folder"),
        ('[include.a]\nfile = "/etc/passwd.toml"', "outside-folder"),
        ('[include.a]\nfile = "link.toml"', "outside-folder"),
        ('planar = true\n[include.a]\nfile = "leg.toml"\nground = "x"', "unknown-name"),
        ('[include.a]\nfile = "leg.toml"', "not-supported"),
        ('[include.a]\nfile = "leg.txt"', "unknown-suffix"),
        ('[include.a]\nfile = "folder.toml"', "not-readable"),
    ],
)
def test_an_include_that_is_not_right_is_refused(tmp_path: Path, main: str, code: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "outside.toml").write_text("")
    (inner / "link.toml").symlink_to(tmp_path / "outside.toml")
    (inner / "folder.toml").mkdir()
    with raises(ModelFileError, code):
        read_model(write(inner, main=main, leg=LEG))


def test_files_outside_are_read_when_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    write(tmp_path, leg=LEG)
    main = write(tmp_path / "inner", main='planar = true\n[include.a]\nfile = "../leg.toml"')
    with raises(ModelFileError, "outside-folder", "allow_outside=True"):
        read_model(main)
    assert len(read_model(main, allow_outside=True).bodies) == 1


def test_depth_and_number_of_includes_are_bounded(tmp_path: Path) -> None:
    chain = {f"f{k}": f'planar = true\n[include.a]\nfile = "f{k + 1}.toml"' for k in range(12)}
    with raises(ModelFileError, "too-large", "8"):
        read_model(write(tmp_path, main=chain["f0"], f12=LEG, **chain))
    doubling = {
        f"g{k}": "\n".join(["planar = true", *(f'[include.x{i}]\nfile = "g{k + 1}.toml"' for i in range(8))])
        for k in range(5)
    }
    with raises(ModelFileError, "several-problems", "64"):
        read_model(write(tmp_path, main=doubling["g0"], g5=LEG, **doubling))
