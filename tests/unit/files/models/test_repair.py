"""A file full of mistakes: every one is reported in the first reading, and none that only follows from another."""

from __future__ import annotations

from pathlib import Path

import pytest

import dalembert as da
from dalembert.files.models import parse_model
from dalembert.files.models.text.sources import ModelFileError
from tests.helpers.findings import raises

FULL_OF_MISTAKES = """planar = true
colour = "red"
[parameters]
length = true
height = "2*lenght"
[ground.points]
base = ["1 kg", 0]
[bodies.arm]
mas = "2 kg"
inertia = "3 mm"
angel = "30 deg"
[bodies.leg]
mass = "2 m"
inertia = "3 mm"
points = { tip = ["length", 0], end = [1] }
[bodies.foot]
mass = "-3 kg"
inertia = 1
weight = 3
[joints.hip]
type = "revolute"
a = "ground.base"
b = "leg.tip"
[joints.slide]
type = "prismatic"
a = "ground"
b = "foott"
axis = [0, 0]
[joints.knee]
type = "revolut"
a = "leg.end"
b = "foof"
[joints.lost]
type = "fixed"
a = "arm"
at = ["1 s", 0]
[forces.spring]
type = "spring"
joint = "hipp"
stiffness = 3
dampping = 1
[forces.push]
type = "actuator"
joint = "hip"
input = "u"
limit = 3
[forces.motor]
type = "actuator"
joint = "knees"
input = "v"
model = { type = "dc motor", resistance = "3 m", torque_constant = true }
[sensors.s]
type = "angle"
joint = "hop"
[sensors.t]
type = "position"
point = "leg.tip"
[start.position]
"hip.angle" = "10 deg"
"hop.angle" = 1
[simulate]
until = "-1 s"
inputs = { u = 1, v = 2, w = 3 }
"""

EXPECTED = [
    (2, "unknown-argument", "'colour'"),
    (4, "wrong-type", "parameters.length"),
    (5, "unknown-name", "'lenght'"),
    (7, "unit-mismatch", "length [m]"),
    (9, "unknown-argument", "'mass'"),
    (10, "unit-mismatch", "inertia"),
    (11, "unknown-argument", "'angle'"),
    (13, "unit-mismatch", "mass"),
    (14, "unit-mismatch", "inertia"),
    (15, "wrong-type", ""),
    (16, "negative", ""),
    (19, "unknown-argument", "'weight'"),
    (27, "unknown-name", "'foot'"),
    (28, "zero-length", ""),
    (29, "unknown-name", "'revolute'"),
    (32, "unknown-name", "'foot'"),
    (33, "missing-argument", "'b'"),
    (36, "unit-mismatch", "length [m]"),
    (37, "unknown-name", "'hip'"),
    (41, "unknown-argument", "'damping'"),
    (46, "unknown-argument", "'limit'"),
    (47, "unknown-name", "'knee'"),
    (51, "wrong-type", "torque_constant"),
    (51, "unit-mismatch", "resistance"),
    (52, "unknown-name", "'hip'"),
    (60, "unknown-name", "'hop.angle'"),
    (62, "not-positive", ""),
    (63, "unknown-name", "'w'"),
]


def problems(text: str) -> list[tuple[int, str, str]]:
    """Line, code and text of every problem."""
    with pytest.raises(ModelFileError) as caught:
        parse_model(text, name="arm.toml")
    return [(one.where["line"], one.code, one.problem) for one in caught.value.problems]


def agree(found: tuple[int, str, str], expected: tuple[int, str, str]) -> bool:
    return found[:2] == expected[:2] and expected[2] in found[2]


def test_all_mistakes_of_all_layers_come_at_once() -> None:
    found = problems(FULL_OF_MISTAKES)
    missing = [one for one in EXPECTED if not any(agree(other, one) for other in found)]
    assert not missing, found


def test_nothing_is_reported_that_only_follows_from_another_mistake() -> None:
    found = problems(FULL_OF_MISTAKES)
    extra = [one for one in found if not any(agree(one, other) for other in EXPECTED)]
    assert not extra
    assert len(found) == len(EXPECTED)


GOOD = """planar = true
[parameters]
length = "1 m"
[bodies.rod]
mass = 1
inertia = { rod = "length" }
[joints.hinge]
type = "revolute"
a = "ground"
b = "rod(-length/2, 0)"
"""


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("ground(1 m, 2 m", "')' is missing"),
        ("ground 1 m, 2 m)", "'(' is missing"),
        ("ground(1, 2) m", "after the ')'"),
    ],
)
def test_a_bracket_that_is_missing_in_a_place_is_named(place: str, said: str) -> None:
    found = problems(GOOD.replace('b = "rod(-length/2, 0)"', f'b = "{place}"'))
    assert len(found) == 1 and found[0][:2] == (10, "bad-syntax") and said in found[0][2], found


def test_a_star_between_units_is_answered_with_how_units_are_written() -> None:
    found = problems(GOOD + '[forces.f]\ntype = "damper"\njoint = "hinge"\ndamping = "4 kN*s/m"\n')
    assert [one[1] for one in found] == ["unknown-name"] and "'s'" in found[0][2] and "'4 kN s/m'" in found[0][2], found


def test_names_offered_are_of_the_kind_that_is_asked_for() -> None:
    text = GOOD + '[forces.f]\ntype = "spring"\njoint = "hinge"\nstiffness = 1\n[start.position]\n"hinge.angel" = 1\n'
    ((line, code, message),) = problems(text)
    assert (line, code) == (16, "unknown-name") and "'hinge.angel'" in message
    assert message.endswith("Known: hinge.angle, rod.angle, rod.x, rod.y.")
    law = GOOD + '[forces.f]\ntype = "actuator"\njoint = "hinge"\neffort = "-2*hinge.rat"\n'
    assert "f.effort" not in problems(law)[0][2] and "f.current" not in problems(law)[0][2]


def test_a_body_of_an_included_file_that_was_refused_is_not_called_unknown(tmp_path: Path) -> None:
    (tmp_path / "part.toml").write_text("planar = true\n[bodies.lo]\nmass = true\nlenght = 1\n")
    outer = GOOD + '[include.arm]\nfile = "part.toml"\n[joints.B]\ntype = "fixed"\na = "rod"\nb = "arm.lo"\n'
    (tmp_path / "outer.toml").write_text(outer)
    with pytest.raises(ModelFileError) as caught:
        da.read_model(tmp_path / "outer.toml")
    assert [one.where["line"] for one in caught.value.problems] == [3, 4], caught.value.problems


def test_a_file_that_cannot_be_included_leaves_its_names_known(tmp_path: Path) -> None:
    outer = GOOD + '[include.arm]\nfile = "none.toml"\n[joints.B]\ntype = "fixed"\na = "rod"\nb = "arm.lo"\n'
    (tmp_path / "outer.toml").write_text(outer)
    with raises(da.errors.FileFormatError, "no-such-file", "none.toml"):  # and not of the body in it
        da.read_model(tmp_path / "outer.toml")


def test_a_misspelt_key_is_not_also_reported_as_missing() -> None:
    found = problems(GOOD + '[drivers.d]\ncoordinat = "hinge"\nmotion = "t"\n')
    assert [one[:2] for one in found] == [(12, "unknown-argument")] and "'coordinate'" in found[0][2], found
