"""A file full of mistakes: every one is told in the first reading, and none that only follows from another."""

from __future__ import annotations

import pytest

from dalembert.files.models import parse_model
from dalembert.files.models.sources import ModelFileError

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
