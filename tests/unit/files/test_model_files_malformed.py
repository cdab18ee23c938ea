"""Broken model files: each is refused with the line and a sentence that helps; nothing crashes."""

from __future__ import annotations

import time

import pytest

import dalembert as da
from dalembert.files.models import ModelFileError, parse_model

# a sound file to append to: 13 lines
GOOD = """\
name = "arm"
planar = true

[parameters]
length = "0.5 m"

[bodies.rod]
mass = 1.0
inertia = { rod = "length" }

[joints.A]
type = "revolute"
a = "ground"
b = "rod(-length/2, 0)"
"""

# title -> (text after the sound file, line counted from 1 in that text, part of the message)
APPENDED = {
    "an unknown section": ("[body.x]\nmass = 1", 1, "Did you mean 'bodies'?"),
    "an unknown key of a body": ("[bodies.b]\nmas = 1\nmass = 1", 2, "Did you mean 'mass'?"),
    "an unknown type of joint": (
        '[joints.B]\ntype = "revolut"\na = "rod"\nb = "ground"',
        1,
        "Did you mean 'revolute'?",
    ),
    "a joint without a type": ('[joints.B]\na = "rod"\nb = "ground"', 1, "needs a type"),
    "a joint with half its places": ('[joints.B]\ntype = "fixed"\na = "rod"', 1, "needs the key 'b'"),
    "an unknown body": ('[joints.B]\ntype = "fixed"\na = "rid"\nb = "ground"', 3, "Did you mean 'rod'?"),
    "an unknown point": ('[joints.B]\ntype = "fixed"\na = "rod.tip"\nb = "ground"', 3, "no point named 'tip'"),
    "a place that is a number": ('[joints.B]\ntype = "fixed"\na = 3\nb = "ground"', 3, "expected a place"),
    "a place with three coordinates in the plane": (
        '[joints.B]\ntype = "fixed"\na = "rod(1, 2, 3)"\nb = "ground"',
        1,
        "2 finite numbers",
    ),
    "a place in newtons": ('[joints.B]\ntype = "fixed"\na = "rod(1 N, 0)"\nb = "ground"', 3, "coordinates are lengths"),
    "a place with a bracket left open": (
        '[joints.B]\ntype = "fixed"\na = "rod((1, 0)"\nb = "ground"',
        3,
        "expected ')'",
    ),
    "a place table with an unknown key": (
        '[joints.B]\ntype = "fixed"\na = { body = "rod", att = [0, 0] }\nb = "ground"',
        3,
        "Did you mean 'at'?",
    ),
    "a place table with two coordinates": (
        '[joints.B]\ntype = "fixed"\na = { body = "rod", at = [0, 0], offset = [0, 0] }\nb = "ground"',
        3,
        "not both",
    ),
    "a spatial joint in the plane": (
        '[joints.B]\ntype = "spherical"\na = "rod"\nb = "ground"',
        1,
        "does not exist in a planar",
    ),
    "a body joined to itself": ('[joints.B]\ntype = "fixed"\na = "rod"\nb = "rod(1, 0)"', 1, "to itself"),
    "a rod of no length": (
        '[joints.B]\ntype = "massless rod"\na = "rod"\nb = "ground"\nlength = 0',
        1,
        "must be a positive number",
    ),
    "a length in kilograms": (
        '[joints.B]\ntype = "massless rod"\na = "rod"\nb = "ground"\nlength = "1 kg"',
        5,
        "expected length [m]",
    ),
    "an unknown unit": ('[bodies.b]\nmass = "1 klg"', 2, "Did you mean 'kg'?"),
    "a frequency that may mean two things": ('[parameters.x]\ny = "1 Hz"', 1, "expected a number"),
    "hertz": ('[start.velocity]\n"A.angle" = "5 Hz"', 2, "rev/s"),
    "a mass in metres": ('[bodies.b]\nmass = "1 m"', 2, "expected mass [kg]"),
    "metres plus seconds": ('[bodies.b]\nmass = "1 m + 1 s"', 2, "do not go together"),
    "sine of a length": ('[bodies.b]\nmass = "sin(2 m)"', 2, "needs a plain number or an angle"),
    "a hinge spring in newtons per metre": (
        '[forces.f]\ntype = "spring"\njoint = "A"\nstiffness = "200 N/m"',
        4,
        "expected rotational stiffness [N m/rad]",
    ),
    "a point spring in kilonewtons": (
        '[forces.f]\ntype = "spring"\na = "rod"\nb = "ground"\nstiffness = "250 kN"',
        5,
        "expected stiffness [N/m]",
    ),
    "a hinge damper of a slider": (
        '[forces.f]\ntype = "damper"\njoint = "A.angle"\ndamping = "2 N s/m"',
        4,
        "expected rotational damping [N m s/rad]",
    ),
    "a stop of a hinge in metres": (
        '[forces.f]\ntype = "stop"\njoint = "A"\nlower = "1 mm"\nstiffness = 1',
        4,
        "expected angle [rad]",
    ),
    "a parameter that carries its unit": (
        '[constants]\nk = "250 kN"\n[forces.f]\ntype = "spring"\na = "rod"\nb = "ground"\nstiffness = "k"',
        7,
        "expected stiffness [N/m]",
    ),
    "an ambiguous unit": ('[forces.f]\ntype = "damper"\njoint = "A"\ndamping = "1 N/m s"', 4, "two ways"),
    "an unknown parameter": ('[bodies.b]\nmass = "lenth*2"', 2, "Did you mean 'length'?"),
    "an unknown function": ('[bodies.b]\nmass = "sine(2)"', 2, "Did you mean 'sin'?"),
    "an expression that stops": ('[bodies.b]\nmass = "2*"', 2, "at the end"),
    "an expression with too much": ('[bodies.b]\nmass = "2 length"', 2, "no unit named 'length'"),
    "an expression of Python": ("[bodies.b]\nmass = \"__import__('os').system('true')\"", 2, "no function named"),
    "an attribute of Python": ('[bodies.b]\nmass = "length.__class__"', 2, "no parameter named"),
    "a string inside an expression": ("[bodies.b]\nmass = \"'a'\"", 2, "expected a number"),
    "a division by zero": ('[bodies.b]\nmass = "1/0"', 2, "no finite real value"),
    "a huge power": ('[bodies.b]\nmass = "9**9**9**9"', 2, "no finite real value"),
    "a root of a negative number": ('[bodies.b]\nmass = "(-1)**0.5"', 2, "no finite real value"),
    "a logarithm of zero": ('[bodies.b]\nmass = "log(0)"', 2, "no finite real value"),
    "brackets without end": (f'[bodies.b]\nmass = "{"(" * 500}1{")" * 500}"', 2, "levels deep"),
    "signs and powers without end": (f'[bodies.b]\nmass = "{"2**" * 500}1"', 2, "levels deep"),
    "a sum without end": (f'[bodies.b]\nmass = "{"1+" * 2000}1"', 2, "levels deep"),
    "an expression as long as a book": (f'[bodies.b]\nmass = "{" " * 30000}1"', 2, "expected a number"),
    "two many arguments": ('[bodies.b]\nmass = "sqrt(1, 2)"', 2, "takes 1 argument"),
    "a negative mass": ("[bodies.b]\nmass = -1\ninertia = 1", 1, "mass is negative"),
    "a body without mass": ("[bodies.b]\ninertia = 1", 1, "needs a mass"),
    "a mass that is true": ("[bodies.b]\nmass = true", 2, "expected a number"),
    "a mass that is not finite": ("[bodies.b]\nmass = nan", 2, "finite"),
    "a mass that is a date": ("[bodies.b]\nmass = 2020-01-01", 2, "expected a number"),
    "a mass that is a list": ("[bodies.b]\nmass = [1]", 2, "expected a number"),
    "an empty expression": ('[bodies.b]\nmass = ""', 2, "expected a number"),
    "an inertia of two shapes": ("[bodies.b]\nmass = 1\ninertia = { rod = 1, sphere = 1 }", 3, "rod and sphere"),
    "an inertia of no shape": ("[bodies.b]\nmass = 1\ninertia = {}", 3, "got none"),
    "an axis of a box": ('[bodies.b]\nmass = 1\ninertia = { box = [1, 1], axis = "x" }', 3, "rod or a cylinder"),
    "an axis that is not an axis": ('[bodies.b]\nmass = 1\ninertia = { rod = 1, axis = "w" }', 3, "'x', 'y' or 'z'"),
    "a negative radius": ("[bodies.b]\nmass = 1\ninertia = { sphere = -1 }", 1, "not negative"),
    "a composite of nothing": ("[bodies.b]\ninertia = { composite = [] }", 2, "at least 1"),
    "a mesh without a folder": ('[bodies.b]\ninertia = { mesh = "a.stl", density = 1 }', 2, "without a folder"),
    "a rotation in the plane": ("[bodies.b]\nmass = 1\nrotation = [1, 0, 0, 0]", 1, "has no rotation"),
    "a position of one number": ("[bodies.b]\nmass = 1\nposition = [1]", 3, "list of 2 or 3"),
    "a body called ground": ("[bodies.ground]\nmass = 1", 1, "may not be called 'ground'"),
    "a name used twice": ('[sensors.rod]\ntype = "energy"', -7, "names must differ"),
    "a force without a type": ("[forces.f]\nstiffness = 1", 1, "needs a type"),
    "a spring between nothing": ('[forces.f]\ntype = "spring"\nstiffness = 1', 1, "two points"),
    "a spring between points and a joint": (
        '[forces.f]\ntype = "spring"\njoint = "A"\na = "rod"\nb = "ground"',
        1,
        "not both",
    ),
    "a spring along an unknown joint": (
        '[forces.f]\ntype = "spring"\njoint = "B"\nstiffness = 1',
        1,
        "joint or coordinate",
    ),
    "a negative damping": ('[forces.f]\ntype = "damper"\njoint = "A"\ndamping = -1', 1, "negative"),
    "a table law that goes back": (
        '[forces.f]\ntype = "spring"\njoint = "A"\nlaw = { table = [[0, 0], [0, 1]] }',
        1,
        "strictly increasing",
    ),
    "a law of an unknown name": (
        '[forces.f]\ntype = "actuator"\njoint = "A"\neffort = "-k*A.angle"',
        4,
        "no quantity named 'k'",
    ),
    "a law of a misspelt coordinate": (
        '[forces.f]\ntype = "actuator"\njoint = "A"\neffort = "-2*A.angel"',
        4,
        "Did you mean 'A.angle'?",
    ),
    "a force of three numbers in the plane": (
        '[forces.f]\ntype = "force"\npoint = "rod"\nforce = [1, 2, 3]',
        1,
        "2 finite numbers",
    ),
    "a torque on nothing": ('[forces.f]\ntype = "torque"\ntorque = 1', 1, "needs the key 'body'"),
    "a stop without limits": ('[forces.f]\ntype = "stop"\njoint = "A"\nstiffness = 1', 1, "lower"),
    "a motor without resistance": (
        '[forces.f]\ntype = "actuator"\njoint = "A"\ninput = "u"\nmodel = { type = "dc motor", torque_constant = 1 }',
        5,
        "needs the key 'resistance'",
    ),
    "an unknown motor": (
        '[forces.f]\ntype = "actuator"\njoint = "A"\ninput = "u"\nmodel = { type = "ac motor" }',
        5,
        "Did you mean 'dc motor'?",
    ),
    "a friction in an unknown joint": (
        '[forces.f]\ntype = "friction"\njoint = "Q"\nviscous = 1',
        1,
        "no joint named 'Q'",
    ),
    "an unknown sensor": ('[sensors.s]\ntype = "angel"\njoint = "A"', 1, "Did you mean 'angle'?"),
    "a sensor of an unknown spring": ('[sensors.s]\ntype = "spring force"\nspring = "k"', 1, "no spring named 'k'"),
    "a displacement of a hinge": ('[sensors.s]\ntype = "displacement"\njoint = "A"', 1, "is an angle"),
    "a driver of an unknown coordinate": (
        '[drivers.d]\ncoordinate = "B.angle"\nmotion = "t"',
        1,
        "Did you mean 'A.angle'?",
    ),
    "a motion of a coordinate": (
        '[drivers.d]\ncoordinate = "A.angle"\nmotion = "2*rod.x"',
        3,
        "no parameter named 'rod.x'",
    ),
    "two drivers of one coordinate": (
        '[drivers.d]\ncoordinate = "A.angle"\nmotion = "t"\n[drivers.e]\ncoordinate = "A"\nmotion = "t"',
        1,
        "both prescribe",
    ),
    "a gear of no ratio": (
        '[couplers.g]\ntype = "gear"\nfirst = "A"\nsecond = "rod.x"\nratio = 0',
        1,
        "other than zero",
    ),
    "a constraint without expressions": ("[constraints.c]\nresidual = []", 2, "at least one"),
    "a constraint of an unknown level": (
        '[constraints.c]\nresidual = "rod.x"\nlevel = "jerk"',
        3,
        "'position', 'velocity'",
    ),
    "a start of an unknown coordinate": ('[start.position]\n"A.angel" = 1', 2, "Did you mean 'A.angle'?"),
    "a start that is a text": ('[start.position]\n"A.angle" = "up"', 2, "no parameter named 'up'"),
    "a simulation into the past": ('[simulate]\nuntil = "-1 s"', 2, "must be positive"),
    "a simulation by an unknown method": ('[simulate]\nmethod = { type = "Euler" }', 2, "RK4"),
    "a method without its step": ('[simulate]\nmethod = { type = "RK4" }', 2, "needs the key 'step'"),
    "a method with another's option": (
        '[simulate]\nmethod = { type = "RK4", step = 1, rho = 1 }',
        2,
        "no option named 'rho'",
    ),
    "an input that does not exist": ("[simulate]\ninputs = { u = 1 }", 2, "no input named 'u'"),
    "an include without a folder": ('[include.leg]\nfile = "leg.toml"', 2, "without a folder"),
    "a constant that depends on a parameter": ('[constants]\nk = "2*length"', 2, "no parameter named 'length'"),
    "a constant and parameter of one name": ("[constants]\nlength = 1", -9, "is a constant already"),
    "a point of the ground with a wrong name": ("[ground.point]\nA = [0, 0]", 1, "Did you mean 'points'?"),
}


@pytest.mark.parametrize("title", APPENDED)
def test_a_broken_part_is_refused_at_its_line(title: str) -> None:
    text, line, message = APPENDED[title]
    begin = time.process_time()
    with pytest.raises(ModelFileError) as caught:
        parse_model(GOOD + text, name="arm.toml")
    assert time.process_time() - begin < 2
    offset = GOOD.count("\n")
    assert any(message in m and n == offset + line for _, n, m in caught.value.problems), caught.value.problems
    assert str(caught.value).count("arm.toml:") == len(caught.value.problems)


# title -> (whole text, line, part of the message)
WHOLE = {
    "an unclosed table": ("[bodies.rod\nmass = 1", 1, "not valid TOML"),
    "a key twice": ('name = "a"\nname = "b"', 2, "not valid TOML"),
    "a table twice": ("[bodies.a]\nmass=1\n[bodies.a]\nmass=1", 3, "not valid TOML"),
    "a string without end": ('name = "a', 1, "not valid TOML"),
    "a bare word": ("name = arm", 1, "not valid TOML"),
    "an empty file": ("", 1, "has no bodies"),
    "a list of bodies": ("bodies = [1, 2]", 1, "expected a table"),
    "a body that is a number": ("[bodies]\nrod = 3", 2, "expected a table"),
    "a name that is a number": ("name = 3", 1, "valid string"),
    "planar that is a text": ('planar = "yes"', 1, "valid boolean"),
    "gravity of four numbers": ("gravity = [0, 0, 0, 1]", 1, "list of 2 or 3"),
    "gravity in metres": ('gravity = [0, "-9 m", 0]', 1, "expected acceleration"),
    "parameters in a circle": ('[parameters]\na = "b"\nb = "a"', 2, "depends on itself"),
    "a parameter of itself": ('[parameters]\na = "a + 1"', 2, "depends on itself"),
    "a parameter called t": ("[parameters]\nt = 1", 2, "may not be called 't'"),
    "parameters that double": (
        "[parameters]\np0 = 1\n" + "\n".join(f'p{k} = "p{k - 1} + p{k - 1}"' for k in range(1, 60)),
        14,
        "operations",
    ),
    "arrays without end": ("a = " + "[" * 5000 + "]" * 5000, 1, "deep"),
    "inline tables without end": ("a = " + "{a=" * 5000 + "1" + "}" * 5000, 1, "deep"),
    "a dotted key without end": (".".join(["a"] * 20000) + " = 1", 1, "deep"),
    "a header without end": ("[" + ".".join(["a"] * 20000) + "]", 1, "deep"),
    "no UTF-8": (b"name = '\xff'", 1, "not UTF-8"),
    "UTF-16": ('name = "a"'.encode("utf-16"), 1, "not UTF-8"),
    "null bytes": (b"\x00\x00\x00", 1, "not valid TOML"),
    "a number with 350 digits": ("[bodies.a]\nmass = " + "9" * 350, 2, "finite"),
    "a number with ten thousand digits": ("[bodies.a]\nmass = " + "9" * 10000, 2, "no number"),
    "a hexadecimal number with four thousand digits": ("[bodies.a]\nmass = 0x" + "f" * 4000, 2, "no number"),
    "a text of four million characters": ('name = "' + "x" * 4_000_000 + '"', 1, "more than 100000 characters"),
    "a file of nothing but line breaks": ("\n" * 4_000_000, None, "more than 300000 lines"),
    "a tower of powers": ('[parameters]\na = "10**10**10"', 2, "no finite real value"),
    "a tower of towers": ('[parameters]\na = "' + "9**" * 1000 + '9"', 2, "levels deep"),
    "old Macintosh line ends": ("planar = true\rname = 'a'", 1, "not valid TOML"),
    "UTF-16 without a mark": ('name = "a"'.encode("utf-16-le"), 1, "not valid TOML"),
    "a name of a hundred thousand letters": ("[bodies." + "x" * 90_000 + "]\nmass = 1", 1, "at most 1000 characters"),
}


@pytest.mark.parametrize("title", WHOLE)
def test_a_broken_file_is_refused(title: str) -> None:
    text, line, message = WHOLE[title]
    begin = time.process_time()
    with pytest.raises(da.errors.FileFormatError) as caught:
        parse_model(text, name="model.toml")
    assert time.process_time() - begin < 2
    found = getattr(caught.value, "problems", [("", caught.value.line, str(caught.value))])
    assert any(message in m and n == line for _, n, m in found), found


JSON = {
    "no JSON at all": ("name = 1", 1, "not valid JSON"),
    "a list": ("[1, 2]", 1, "expected a table"),
    "a key twice": ('{"name": "a",\n "name": "b"}', None, "given twice"),
    "an unknown key": ('{"planar": true,\n "boddies": {}}', 2, "Did you mean 'bodies'?"),
    "arrays without end": ("[" * 5000, 1, "deep"),
    "not a number": ('{"bodies": {"a":\n {"mass": NaN}}}', 2, "finite"),
    "an infinite number": ('{"bodies": {"a":\n {"mass": 1e999}}}', 2, "finite"),
}


@pytest.mark.parametrize("title", JSON)
def test_a_broken_json_file_is_refused(title: str) -> None:
    text, line, message = JSON[title]
    with pytest.raises(da.errors.FileFormatError) as caught:
        parse_model(text, is_json=True, name="model.json")
    found = getattr(caught.value, "problems", [("", caught.value.line, str(caught.value))])
    assert any(message in m and n == line for _, n, m in found), found


def test_a_message_never_brings_escape_sequences_to_a_terminal_and_stays_short() -> None:
    red = '[bodies."\\u001b[31mred"]\nmass = 1\nlenght = 1\n'
    with pytest.raises(ModelFileError, match=r"in bodies\.\\x1b\[31mred\. ") as caught:
        parse_model(red)
    assert "\x1b" not in str(caught.value)
    with pytest.raises(ModelFileError) as caught:
        parse_model("[bodies." + "x" * 90_000 + "]\nmass = 1\nlenght = 1\n")
    assert len(str(caught.value)) < 500


def test_more_than_sixty_broken_files_are_tried() -> None:
    assert len(APPENDED) + len(WHOLE) + len(JSON) > 60


def test_all_problems_come_at_once_in_the_order_of_the_file() -> None:
    text = GOOD + '[bodies.b]\nmas = 1\n[joints.B]\ntype = "revolut"\n[sensors.s]\ntype = "angel"\n'
    with pytest.raises(ModelFileError) as caught:
        parse_model(text, name="arm.toml")
    lines = [line for _, line, _ in caught.value.problems]
    assert lines == sorted(lines) and len(lines) == 3
    assert str(caught.value).startswith("3 problems in the model:\n  arm.toml:16: ")


def test_problems_of_parts_are_collected_when_the_structure_is_right() -> None:
    text = GOOD + '[bodies.b]\nmass = "1 m"\n[joints.B]\ntype = "fixed"\na = "b"\nb = "rid"\n'
    text += '[forces.f]\ntype = "spring"\njoint = "Z"\n'
    with pytest.raises(ModelFileError) as caught:
        parse_model(text)
    messages = [m for _, _, m in caught.value.problems]
    assert len(messages) == 3  # the joint is not blamed for the body that failed, only for the one that is not there
    assert "expected mass" in messages[0] and "'rid'" in messages[1] and "'Z'" in messages[2]


def test_expressions_of_a_model_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dalembert.files.models.values.scopes.MAX_OPERATIONS", 50)
    parse_model(GOOD)
    with pytest.raises(ModelFileError, match="more than 50 operations"):
        parse_model(GOOD + "[constants]\n" + "\n".join(f'c{k} = "1 + 2*3"' for k in range(20)))


def test_values_of_a_file_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dalembert.files.models.text.positions.MAX_VALUES", 1000)
    for text, is_json in (("a = [" + "1," * 1001 + "]", False), ('{"a": [' + "1," * 1001 + "1]}", True)):
        with pytest.raises(da.errors.FileFormatError, match="more than 1000 values"):
            parse_model(text, is_json=is_json)


def test_after_two_hundred_problems_nothing_more_is_looked_for() -> None:
    with pytest.raises(ModelFileError) as caught:
        parse_model("\n".join(f"x{k} = 1" for k in range(1000)))
    assert len(caught.value.problems) == 200
    assert "... and 150 more." in str(caught.value)


@pytest.mark.parametrize(
    "part",
    ['[forces.x{0}]\ntype = "spring"\njoint = "zz{0}"', '[sensors.b{0}]\ntype = "energy"'],
    ids=["unknown", "twice"],
)
def test_hundreds_of_wrong_names_are_told_soon(part: str) -> None:
    bodies = "\n".join(f"[bodies.b{k}]\nmass = 1\ninertia = 1" for k in range(300))
    begin = time.process_time()
    with pytest.raises(ModelFileError) as caught:
        parse_model(bodies + "\n" + "\n".join(part.format(k) for k in range(300)))
    assert len(caught.value.problems) == 200
    assert time.process_time() - begin < 2
