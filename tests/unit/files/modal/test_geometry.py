"""Places and directions of sensors as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from dalembert.core.errors import FileFormatError
from dalembert.files.modal.geometry import Geometry, read_geometry
from tests.helpers.findings import raises

WANTED = {"ground": (0.0, 0.0, 0.0), "a1": (0.0, 0.0, 0.23, "x"), "a2": (0.1, 0.0, 0.51, "-y")}
LINES = (("ground", "a1"), ("a1", "a2"))
FILES = {
    "p.csv": "name,x [mm],y [mm],z [mm],direction,to\nground,0,0,0,,a1\na1,0,0,230,+X,a2\na2,100,0,510,-y,\n",
    "p.tsv": "Sensor\tx\ty\tz\taxis\tto\nground\t0\t0\t0\t\ta1\na1\t0\t0\t0.23\tx\ta2\na2\t0.1\t0\t0.51\t-y\t\n",
    "p.txt": "# bridge\nname;x;y;z;direction;to\nground;0;0;0;-;a1\na1;0;0;0,23;x;a2\na2;0,1;0;0,51;-y;\n",
    "p.toml": 'lines = [["ground", "a1", "a2"]]\n[places]\n'
    'ground = [0, 0]\na1 = [0, 0, 0.23, "x"]\na2 = [0.1, 0, 0.51, "-y"]\n',
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_places_and_lines(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], "utf-8")
    found = read_geometry(path)
    assert {key: place[:3] == pytest.approx(WANTED[key][:3]) and place[3:] == WANTED[key][3:]
            for key, place in found.items()} == dict.fromkeys(WANTED, True)  # fmt: skip
    assert found.lines == LINES


FLOORS = {
    "f.csv": "name,x,y,z,direction,to,floor,follows\na1,0,0,1,x,,first,\na2,4,0,1,3 4 0,a1,first,\nb2,4,3,1,,,first,\n"
    "mid,2,0,1,,,,0.5*a1 0.5*a2\nend,5,0,1,,,,mid\n",
    "f.txt": "name;x;y;z;direction;floor;follows\na1;0;0;1;x;first;\na2;4;0;1;0,6 0,8 0;first;\nb2;4;3;1;;first;\n"
    "mid;2;0;1;;;0,5*a1 0,5*a2\nend;5;0;1;;;mid\n",
    "f.toml": 'lines = [["a2", "a1"]]\n[places]\na1 = [0, 0, 1, "x"]\na2 = [4, 0, 1, [3, 4, 0]]\nb2 = [4, 3, 1]\n'
    'mid = [2, 0, 1]\nend = [5, 0, 1]\n[floors]\nfirst = ["a1", "a2", "b2"]\n[follows]\n'
    'mid = {a1 = 0.5, a2 = 0.5}\nend = "mid"\n',
}  # fmt: skip


@pytest.mark.parametrize("name", FLOORS)
def test_oblique_directions_floors_and_followers_are_read_from_every_format(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FLOORS[name], "utf-8")
    found = read_geometry(tmp_path / name)
    assert found["a2"][3] == pytest.approx((0.6, 0.8, 0.0))
    assert found.floors == {"first": ("a1", "a2", "b2")}
    assert found.follows == {"mid": {"a1": 0.5, "a2": 0.5}, "end": {"mid": 1.0}}
    matched, _ = found.match(["a1"])
    assert matched.floors == found.floors and matched.follows == found.follows and len(matched["a2"]) == 3


def test_names_that_do_not_fit_the_channels_are_found() -> None:
    matched, findings = Geometry(WANTED, LINES).match(["a1", "b7", "b8"])
    assert [one.code for one in findings] == ["unknown-name", "no-place"]
    assert findings[0].where == {"name": "a2"} and findings[1].where["channels"] == ["b7", "b8"]
    assert matched["a2"] == (0.1, 0.0, 0.51) and matched["a1"] == WANTED["a1"]


def test_many_sensors_without_a_channel_are_named_in_a_few_findings() -> None:
    places = {f"s{k}": (0.0, 0.0, float(k), "x") for k in range(20_000)}
    channels = [f"c{k}" for k in range(2_000)]
    matched, findings = Geometry(places).match(["s7", *channels])
    assert len(findings) < 20
    named = [name for one in findings[:-1] for name in one.where.get("names", [one.where.get("name")])]
    assert sorted(named) == sorted(set(places) - {"s7"})
    assert {name for name, place in matched.items() if len(place) == 4} == {"s7"}
    assert findings[-1].where["channels"] == channels


HEAD = "name,x,y,z,direction,to\n"
SLAVES = "name,x,y,z,direction,floor,follows\n"
BROKEN: dict[str, tuple[str, str, str, int | None]] = {
    "no header": ("p.csv", "a1,0,0,0,x\n", "no-header", 1),
    "no names": ("p.csv", "x,y,z\n0,0,0\n", "missing-argument", 1),
    "another column": ("p.csv", "name,x,y,z,colour\na1,0,0,0,red\n", "unknown-argument", 1),
    "a unit of mass": ("p.csv", "name,x [kg],y,z\na1,0,0,0\n", "unit-mismatch", 1),
    "a text as number": ("p.csv", HEAD + "a1,up,0,0,x,\n", "not-a-number", 2),
    "infinite": ("p.csv", HEAD + "a1,inf,0,0,x,\n", "not-a-number", 2),
    "a direction": ("p.csv", HEAD + "a1,0,0,0,up,\n", "unknown-choice", 2),
    "two numbers as direction": ("p.csv", HEAD + "a1,0,0,0,1 2,\n", "unknown-choice", 2),
    "a direction of zeros": ("p.csv", HEAD + "a1,0,0,0,0 0 0,\n", "unknown-choice", 2),
    "a direction in TOML": ("p.toml", '[places]\na0 = [0, 0]\na1 = [0, 0, 0, [1, "x", 0]]\n', "unknown-choice", 3),
    "follows nothing known": ("p.csv", SLAVES + "a1,0,0,0,x,,\na2,0,0,0,,,a9\n", "unknown-name", 3),
    "a weight": ("p.csv", SLAVES + "a1,0,0,0,x,,\na2,0,0,0,,,half*a1\n", "not-a-number", 3),
    "a sensor that follows": ("p.csv", SLAVES + "a1,0,0,0,x,,\na2,0,0,0,y,,a1\n", "conflicting-arguments", 3),
    "in a floor and follows": ("p.csv", SLAVES + "a1,0,0,0,x,one,\na2,0,0,0,,one,a1\n", "duplicate", 3),
    "a circle": ("p.csv", SLAVES + "a1,0,0,0,,,a2\na2,0,0,0,,,a1\n", "circular-definition", None),
    "a floor of nothing known": ("p.toml", '[places]\na1 = [0, 0]\n[floors]\none = ["a1", "a2"]\n', "unknown-name", 4),
    "a place in two floors": (
        "p.toml", '[places]\na1 = [0, 0]\n[floors]\none = ["a1"]\ntwo = ["a1"]\n', "duplicate", 2
    ),
    "a floor of numbers": ("p.toml", "[places]\na1 = [0, 0]\n[floors]\none = [1]\n", "wrong-shape", 4),
    "floors as a list": ("p.toml", "floors = [1]\n[places]\na1 = [0, 0]\n", "wrong-shape", None),
    "a name twice": ("p.csv", HEAD + "a1,0,0,0,x,\na1,0,0,0,y,\n", "taken-name", 3),
    "no name": ("p.csv", HEAD + ",0,0,0,x,\n", "bad-name", 2),
    "a short row": ("p.csv", HEAD + "a1,0,0\n", "ragged-row", 2),
    "a line to nowhere": ("p.csv", HEAD + "a1,0,0,0,x,a9\n", "unknown-name", None),
    "no places": ("p.csv", HEAD, "empty", None),
    "no TOML": ("p.toml", "[places]\na1 = 0 0\n", "bad-syntax", 2),
    "no table": ("p.toml", "a1 = [0, 0]\n", "unknown-argument", None),
    "no table of places": ("p.toml", "lines = []\n", "missing-argument", None),
    "one coordinate": ("p.toml", "[places]\na1 = [0]\n", "wrong-shape", None),
    "401 digits": ("p.toml", f"[places]\na1 = [0, {10**400}, 0]\n", "wrong-shape", None),
    "5001 digits": ("p.toml", f"[places]\na1 = [0, {'1' * 5001}, 0]\n", "bad-syntax", None),
    "not a number": ("p.toml", "[places]\na1 = [0, nan, 0]\n", "wrong-shape", None),
    "lines of numbers": ("p.toml", "lines = [[1, 2]]\n[places]\na1 = [0, 0]\n", "wrong-shape", None),
    "no nodes": ("p.uff", "    -1\n   151\nx\n    -1\n", "empty", None),
    "a suffix": ("p.dxf", "0\n", "unknown-suffix", None),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_geometries_are_refused_with_code_and_line(tmp_path: Path, kind: str) -> None:
    name, text, code, line = BROKEN[kind]
    (tmp_path / name).write_text(text)
    with raises(FileFormatError, code, name) as caught:
        read_geometry(tmp_path / name)
    if line is not None:
        assert caught.value.line == line
