"""Named points of bodies: kept by the machine, written to files and found again."""

from __future__ import annotations

from pathlib import Path

import dalembert as da
from dalembert.files.models import parse_model
from tests.helpers.findings import raises
from tests.helpers.same_equations import ROUNDING, difference

ARM = """planar = true
[parameters]
length = "1 m"
[ground.points]
base = [1, 2]
[bodies.arm]
mass = 1
inertia = { rod = "length" }
center = ["length/2", 0]
points = { root = [0, 0], tip = ["length", 0], "odd.name" = [0, 0.3] }
[joints.hinge]
type = "revolute"
a = "ground.base"
b = "arm.root"
[forces.s]
type = "spring"
a = "ground"
b = { body = "arm", point = "odd.name" }
stiffness = 10
[sensors.tip]
type = "position"
point = "arm.tip"
"""


def test_named_points_survive_the_way_to_a_file_and_back(tmp_path: Path) -> None:
    m = parse_model(ARM)
    for file in (tmp_path / "a.toml", tmp_path / "a.json"):
        da.write_model(m, file)
        again = da.read_model(file)
        assert list(again["arm"].points) == ["root", "tip", "odd.name"]
        assert repr(again["arm"].points) == repr(m["arm"].points)
        assert again.ground.points == {"base": (1.0, 2.0)}
        assert difference(da.equations(m), da.equations(again)) < ROUNDING
    text = (tmp_path / "a.toml").read_text()
    assert 'b = "arm.root"' in text and 'a = "ground.base"' in text and 'point = "arm.tip"' in text


def test_a_machine_drawn_in_python_may_name_its_points(tmp_path: Path) -> None:
    m = da.Mechanism("arm", planar=True)
    arm = m.add_body("arm", mass=1.0, inertia=1.0, points={"tip": (0.5, 0)})
    m.add_revolute("hinge", m.ground.at(0, 0), arm.at(-0.5, 0))
    assert arm.at("tip") == arm.at(0.5, 0)
    with raises(da.errors.ModelError, "unknown-name", "'top'", "'arm'", "'tip'"):
        arm.at("top")
    with raises(da.errors.ModelError, "wrong-shape", "'tip'", "'b'", "2"):
        m.add_body("b", mass=1.0, points={"tip": (0.5,)})


def test_the_ground_points_of_an_included_file_are_not_those_of_the_outer_one(tmp_path: Path) -> None:
    (tmp_path / "arm.toml").write_text(ARM)
    outer = 'planar = true\n[ground.points]\nbase = [7, 8]\n[include.left]\nfile = "arm.toml"\n'
    outer += '[bodies.rod]\nmass = 1\ninertia = 1\n[joints.A]\ntype = "revolute"\na = "ground.base"\nb = "rod"\n'
    (tmp_path / "outer.toml").write_text(outer)
    m = da.read_model(tmp_path / "outer.toml")
    assert m["A"].a.coordinates == (7.0, 8.0)
    assert m["left.hinge"].a.coordinates == (1.0, 2.0)
    da.write_model(m, tmp_path / "whole.toml")
    again = da.read_model(tmp_path / "whole.toml")
    assert again.ground.points == m.ground.points == {"base": (7.0, 8.0), "left.base": (1.0, 2.0)}
    assert difference(da.equations(m), da.equations(again)) < ROUNDING


def test_a_named_point_leaves_a_trail() -> None:
    eqs = da.equations(parse_model(ARM))
    run = da.simulate(eqs, until=0.1)
    assert da.animate(run, trail="arm.tip") is not None
    with raises(da.errors.DataError, "unknown-name", "'arm.tip'"):
        da.animate(run, trail="arm.tap")
