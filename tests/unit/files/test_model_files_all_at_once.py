"""A file full of mistakes: every one is told in the first reading, and none that only follows from another."""

from __future__ import annotations

from pathlib import Path

import pytest

import dalembert as da
from dalembert.files.models import parse_model
from dalembert.files.models.text.sources import ModelFileError

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
    (2, "no key named 'colour'"),
    (4, "parameters.length: expected a number"),
    (5, "no parameter named 'lenght'"),
    (7, "expected length [m]"),
    (9, "Did you mean 'mass'?"),
    (10, "expected inertia"),
    (11, "Did you mean 'angle'?"),
    (13, "expected mass"),
    (14, "expected inertia"),
    (15, "list of 2 or 3"),
    (16, "mass is negative"),
    (19, "no key named 'weight'"),
    (27, "Did you mean 'foot'?"),
    (28, "has no direction"),
    (29, "Did you mean 'revolute'?"),
    (32, "Did you mean 'foot'?"),
    (33, "joints.lost needs the key 'b'"),
    (36, "expected length [m]"),
    (37, "Did you mean 'hip'?"),
    (41, "Did you mean 'damping'?"),
    (46, "no key named 'limit'"),
    (47, "Did you mean 'knee'?"),
    (51, "torque_constant: expected a number"),
    (51, "expected resistance"),
    (52, "Did you mean 'hip'?"),
    (60, "no coordinate named 'hop.angle'"),
    (62, "must be positive"),
    (63, "no input named 'w'"),
]


def problems(text: str) -> list[tuple[int, str]]:
    with pytest.raises(ModelFileError) as caught:
        parse_model(text, name="arm.toml")
    return [(line, message) for _, line, message in caught.value.problems]


def test_all_mistakes_of_all_layers_come_at_once() -> None:
    found = problems(FULL_OF_MISTAKES)
    missing = [(n, said) for n, said in EXPECTED if not any(n == line and said in message for line, message in found)]
    assert not missing, found


def test_nothing_is_told_that_only_follows_from_another_mistake() -> None:
    found = problems(FULL_OF_MISTAKES)
    extra = [(n, message) for n, message in found if not any(n == line and said in message for line, said in EXPECTED)]
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
    assert len(found) == 1 and found[0][0] == 10 and said in found[0][1], found


def test_a_star_between_units_is_answered_with_how_units_are_written() -> None:
    found = problems(GOOD + '[forces.f]\ntype = "damper"\njoint = "hinge"\ndamping = "4 kN*s/m"\n')
    assert len(found) == 1 and "no parameter named 's'" in found[0][1] and "'4 kN s/m'" in found[0][1], found


def test_names_offered_are_of_the_kind_that_is_asked_for() -> None:
    text = GOOD + '[forces.f]\ntype = "spring"\njoint = "hinge"\nstiffness = 1\n[start.position]\n"hinge.angel" = 1\n'
    ((line, message),) = problems(text)
    assert line == 16 and message.startswith("no coordinate named 'hinge.angel'. Did you mean 'hinge.angle'? Known: ")
    assert message.endswith("Known: hinge.angle, rod.angle, rod.x, rod.y.")
    law = GOOD + '[forces.f]\ntype = "actuator"\njoint = "hinge"\neffort = "-2*hinge.rat"\n'
    assert "f.effort" not in problems(law)[0][1] and "f.current" not in problems(law)[0][1]


def test_a_body_of_an_included_file_that_was_refused_is_not_called_unknown(tmp_path: Path) -> None:
    (tmp_path / "part.toml").write_text("planar = true\n[bodies.lo]\nmass = true\nlenght = 1\n")
    outer = GOOD + '[include.arm]\nfile = "part.toml"\n[joints.B]\ntype = "fixed"\na = "rod"\nb = "arm.lo"\n'
    (tmp_path / "outer.toml").write_text(outer)
    with pytest.raises(ModelFileError) as caught:
        da.read_model(tmp_path / "outer.toml")
    told = [(line, message) for _, line, message in caught.value.problems]
    assert [line for line, _ in told] == [3, 4], told


def test_a_file_that_cannot_be_included_leaves_its_names_known(tmp_path: Path) -> None:
    outer = GOOD + '[include.arm]\nfile = "none.toml"\n[joints.B]\ntype = "fixed"\na = "rod"\nb = "arm.lo"\n'
    (tmp_path / "outer.toml").write_text(outer)
    with pytest.raises(da.errors.FileFormatError, match="there is no such file") as caught:
        da.read_model(tmp_path / "outer.toml")
    assert "no body named" not in str(caught.value)


def test_a_misspelt_key_is_not_also_told_as_missing() -> None:
    found = problems(GOOD + '[drivers.d]\ncoordinat = "hinge"\nmotion = "t"\n')
    assert [n for n, _ in found] == [12] and "Did you mean 'coordinate'?" in found[0][1], found
