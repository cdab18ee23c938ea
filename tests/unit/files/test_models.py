"""Broken model files: each is refused with the line and a sentence that helps; nothing crashes."""

from __future__ import annotations

import time

import pytest

import dalembert as da
from dalembert.files.models import ModelFileError, parse_model
from tests.helpers.findings import raises
from tests.helpers.model_documents import GOOD

# title -> (text after the sound file, line counted from 1 in that text, code, a name or number that the message shows)
APPENDED = {
    "an unknown section": ("[body.x]\nmass = 1", 1, "unknown-argument", "'bodies'"),
    "an unknown key of a body": ("[bodies.b]\nmas = 1\nmass = 1", 2, "unknown-argument", "'mass'"),
    "an unknown type of joint": (
        '[joints.B]\ntype = "revolut"\na = "rod"\nb = "ground"',
        1,
        "unknown-name",
        "'revolute'",
    ),
    "a joint without a type": ('[joints.B]\na = "rod"\nb = "ground"', 1, "missing-argument", ""),
    "a joint with half its places": ('[joints.B]\ntype = "fixed"\na = "rod"', 1, "missing-argument", "'b'"),
    "an unknown body": ('[joints.B]\ntype = "fixed"\na = "rid"\nb = "ground"', 3, "unknown-name", "'rod'"),
    "an unknown point": ('[joints.B]\ntype = "fixed"\na = "rod.tip"\nb = "ground"', 3, "unknown-name", "'tip'"),
    "a place that is a number": ('[joints.B]\ntype = "fixed"\na = 3\nb = "ground"', 3, "wrong-type", "a place"),
    "a place with three coordinates in the plane": (
        '[joints.B]\ntype = "fixed"\na = "rod(1, 2, 3)"\nb = "ground"',
        1,
        "wrong-shape",
        "2",
    ),
    "a place in newtons": ('[joints.B]\ntype = "fixed"\na = "rod(1 N, 0)"\nb = "ground"', 3, "unit-mismatch", ""),
    "a place with a bracket left open": (
        '[joints.B]\ntype = "fixed"\na = "rod((1, 0)"\nb = "ground"',
        3,
        "bad-syntax",
        "')'",
    ),
    "a place table with an unknown key": (
        '[joints.B]\ntype = "fixed"\na = { body = "rod", att = [0, 0] }\nb = "ground"',
        3,
        "unknown-argument",
        "'at'",
    ),
    "a place table with two coordinates": (
        '[joints.B]\ntype = "fixed"\na = { body = "rod", at = [0, 0], offset = [0, 0] }\nb = "ground"',
        3,
        "conflicting-arguments",
        "",
    ),
    "a spatial joint in the plane": ('[joints.B]\ntype = "spherical"\na = "rod"\nb = "ground"', 1, "not-supported", ""),
    "a body joined to itself": ('[joints.B]\ntype = "fixed"\na = "rod"\nb = "rod(1, 0)"', 1, "same-body", ""),
    "a rod of no length": (
        '[joints.B]\ntype = "massless rod"\na = "rod"\nb = "ground"\nlength = 0',
        1,
        "not-positive",
        "",
    ),
    "a length in kilograms": (
        '[joints.B]\ntype = "massless rod"\na = "rod"\nb = "ground"\nlength = "1 kg"',
        5,
        "unit-mismatch",
        "length [m]",
    ),
    "an unknown unit": ('[bodies.b]\nmass = "1 klg"', 2, "unit-mismatch", "'kg'"),
    "a frequency that may mean two things": ('[parameters.x]\ny = "1 Hz"', 1, "wrong-type", "a number"),
    "hertz": ('[start.velocity]\n"A.angle" = "5 Hz"', 2, "unit-mismatch", ""),
    "a mass in metres": ('[bodies.b]\nmass = "1 m"', 2, "unit-mismatch", "mass [kg]"),
    "metres plus seconds": ('[bodies.b]\nmass = "1 m + 1 s"', 2, "unit-mismatch", ""),
    "sine of a length": ('[bodies.b]\nmass = "sin(2 m)"', 2, "unit-mismatch", ""),
    "a hinge spring in newtons per metre": (
        '[forces.f]\ntype = "spring"\njoint = "A"\nstiffness = "200 N/m"',
        4,
        "unit-mismatch",
        "rotational stiffness [N m/rad]",
    ),
    "a point spring in kilonewtons": (
        '[forces.f]\ntype = "spring"\na = "rod"\nb = "ground"\nstiffness = "250 kN"',
        5,
        "unit-mismatch",
        "stiffness [N/m]",
    ),
    "a hinge damper of a slider": (
        '[forces.f]\ntype = "damper"\njoint = "A.angle"\ndamping = "2 N s/m"',
        4,
        "unit-mismatch",
        "rotational damping [N m s/rad]",
    ),
    "a stop of a hinge in metres": (
        '[forces.f]\ntype = "stop"\njoint = "A"\nlower = "1 mm"\nstiffness = 1',
        4,
        "unit-mismatch",
        "angle [rad]",
    ),
    "a parameter that carries its unit": (
        '[constants]\nk = "250 kN"\n[forces.f]\ntype = "spring"\na = "rod"\nb = "ground"\nstiffness = "k"',
        7,
        "unit-mismatch",
        "stiffness [N/m]",
    ),
    "an ambiguous unit": ('[forces.f]\ntype = "damper"\njoint = "A"\ndamping = "1 N/m s"', 4, "unit-mismatch", ""),
    "an unknown parameter": ('[bodies.b]\nmass = "lenth*2"', 2, "unknown-name", "'length'"),
    "an unknown function": ('[bodies.b]\nmass = "sine(2)"', 2, "unknown-name", "'sin'"),
    "an expression that stops": ('[bodies.b]\nmass = "2*"', 2, "bad-syntax", ""),
    "an expression with too much": ('[bodies.b]\nmass = "2 length"', 2, "unit-mismatch", "'length'"),
    "an expression of Python": ("[bodies.b]\nmass = \"__import__('os').system('true')\"", 2, "unknown-name", ""),
    "an attribute of Python": ('[bodies.b]\nmass = "length.__class__"', 2, "unknown-name", ""),
    "a string inside an expression": ("[bodies.b]\nmass = \"'a'\"", 2, "bad-syntax", "a number"),
    "a division by zero": ('[bodies.b]\nmass = "1/0"', 2, "not-finite", ""),
    "a huge power": ('[bodies.b]\nmass = "9**9**9**9"', 2, "not-finite", ""),
    "a root of a negative number": ('[bodies.b]\nmass = "(-1)**0.5"', 2, "not-finite", ""),
    "a logarithm of zero": ('[bodies.b]\nmass = "log(0)"', 2, "not-finite", ""),
    "brackets without end": (f'[bodies.b]\nmass = "{"(" * 500}1{")" * 500}"', 2, "too-large", ""),
    "signs and powers without end": (f'[bodies.b]\nmass = "{"2**" * 500}1"', 2, "too-large", ""),
    "a sum without end": (f'[bodies.b]\nmass = "{"1+" * 2000}1"', 2, "too-large", ""),
    "an expression as long as a book": (f'[bodies.b]\nmass = "{" " * 30000}1"', 2, "wrong-type", "a number"),
    "two many arguments": ('[bodies.b]\nmass = "sqrt(1, 2)"', 2, "bad-syntax", "1"),
    "a negative mass": ("[bodies.b]\nmass = -1\ninertia = 1", 1, "negative", ""),
    "a body without mass": ("[bodies.b]\ninertia = 1", 1, "missing-argument", ""),
    "a mass that is true": ("[bodies.b]\nmass = true", 2, "wrong-type", "a number"),
    "a mass that is not finite": ("[bodies.b]\nmass = nan", 2, "not-finite", ""),
    "a mass that is a date": ("[bodies.b]\nmass = 2020-01-01", 2, "wrong-type", "a number"),
    "a mass that is a list": ("[bodies.b]\nmass = [1]", 2, "wrong-type", "a number"),
    "an empty expression": ('[bodies.b]\nmass = ""', 2, "wrong-type", "a number"),
    "an inertia of two shapes": (
        "[bodies.b]\nmass = 1\ninertia = { rod = 1, sphere = 1 }",
        3,
        "conflicting-arguments",
        "",
    ),
    "an inertia of no shape": ("[bodies.b]\nmass = 1\ninertia = {}", 3, "missing-argument", ""),
    "an axis of a box": ('[bodies.b]\nmass = 1\ninertia = { box = [1, 1], axis = "x" }', 3, "ineffective-argument", ""),
    "an axis that is not an axis": (
        '[bodies.b]\nmass = 1\ninertia = { rod = 1, axis = "w" }',
        3,
        "unknown-choice",
        "'z'",
    ),
    "a negative radius": ("[bodies.b]\nmass = 1\ninertia = { sphere = -1 }", 1, "negative", ""),
    "a composite of nothing": ("[bodies.b]\ninertia = { composite = [] }", 2, "empty", "1"),
    "a mesh without a folder": ('[bodies.b]\ninertia = { mesh = "a.stl", density = 1 }', 2, "no-folder", ""),
    "a rotation in the plane": ("[bodies.b]\nmass = 1\nrotation = [1, 0, 0, 0]", 1, "not-supported", ""),
    "a position of one number": ("[bodies.b]\nmass = 1\nposition = [1]", 3, "wrong-type", "3"),
    "a body called ground": ("[bodies.ground]\nmass = 1", 1, "bad-name", "'ground'"),
    "a name used twice": ('[sensors.rod]\ntype = "energy"', -7, "taken-name", ""),
    "a force without a type": ("[forces.f]\nstiffness = 1", 1, "missing-argument", ""),
    "a spring between nothing": ('[forces.f]\ntype = "spring"\nstiffness = 1', 1, "missing-argument", ""),
    "a spring between points and a joint": (
        '[forces.f]\ntype = "spring"\njoint = "A"\na = "rod"\nb = "ground"',
        1,
        "conflicting-arguments",
        "",
    ),
    "a spring along an unknown joint": (
        '[forces.f]\ntype = "spring"\njoint = "B"\nstiffness = 1',
        1,
        "unknown-name",
        "",
    ),
    "a negative damping": ('[forces.f]\ntype = "damper"\njoint = "A"\ndamping = -1', 1, "negative", ""),
    "a table law that goes back": (
        '[forces.f]\ntype = "spring"\njoint = "A"\nlaw = { table = [[0, 0], [0, 1]] }',
        1,
        "not-increasing",
        "",
    ),
    "a law of an unknown name": (
        '[forces.f]\ntype = "actuator"\njoint = "A"\neffort = "-k*A.angle"',
        4,
        "unknown-name",
        "'k'",
    ),
    "a law of a misspelt coordinate": (
        '[forces.f]\ntype = "actuator"\njoint = "A"\neffort = "-2*A.angel"',
        4,
        "unknown-name",
        "'A.angle'",
    ),
    "a force of three numbers in the plane": (
        '[forces.f]\ntype = "force"\npoint = "rod"\nforce = [1, 2, 3]',
        1,
        "wrong-shape",
        "2",
    ),
    "a torque on nothing": ('[forces.f]\ntype = "torque"\ntorque = 1', 1, "missing-argument", "'body'"),
    "a stop without limits": ('[forces.f]\ntype = "stop"\njoint = "A"\nstiffness = 1', 1, "missing-argument", ""),
    "a motor without resistance": (
        '[forces.f]\ntype = "actuator"\njoint = "A"\ninput = "u"\nmodel = { type = "dc motor", torque_constant = 1 }',
        5,
        "missing-argument",
        "'resistance'",
    ),
    "an unknown motor": (
        '[forces.f]\ntype = "actuator"\njoint = "A"\ninput = "u"\nmodel = { type = "ac motor" }',
        5,
        "unknown-name",
        "'dc motor'",
    ),
    "a friction in an unknown joint": (
        '[forces.f]\ntype = "friction"\njoint = "Q"\nviscous = 1',
        1,
        "unknown-name",
        "'Q'",
    ),
    "an unknown sensor": ('[sensors.s]\ntype = "angel"\njoint = "A"', 1, "unknown-name", "'angle'"),
    "a sensor of an unknown spring": ('[sensors.s]\ntype = "spring force"\nspring = "k"', 1, "unknown-name", "'k'"),
    "a displacement of a hinge": ('[sensors.s]\ntype = "displacement"\njoint = "A"', 1, "unit-mismatch", ""),
    "a driver of an unknown coordinate": (
        '[drivers.d]\ncoordinate = "B.angle"\nmotion = "t"',
        1,
        "unknown-name",
        "'A.angle'",
    ),
    "a motion of a coordinate": (
        '[drivers.d]\ncoordinate = "A.angle"\nmotion = "2*rod.x"',
        3,
        "unknown-name",
        "'rod.x'",
    ),
    "two drivers of one coordinate": (
        '[drivers.d]\ncoordinate = "A.angle"\nmotion = "t"\n[drivers.e]\ncoordinate = "A"\nmotion = "t"',
        1,
        "duplicate",
        "",
    ),
    "a gear of no ratio": ('[couplers.g]\ntype = "gear"\nfirst = "A"\nsecond = "rod.x"\nratio = 0', 1, "zero", ""),
    "a constraint without expressions": ("[constraints.c]\nresidual = []", 2, "empty", ""),
    "a constraint of an unknown level": (
        '[constraints.c]\nresidual = "rod.x"\nlevel = "jerk"',
        3,
        "unknown-choice",
        "'velocity'",
    ),
    "a start of an unknown coordinate": ('[start.position]\n"A.angel" = 1', 2, "unknown-name", "'A.angle'"),
    "a start that is a text": ('[start.position]\n"A.angle" = "up"', 2, "unknown-name", "'up'"),
    "a simulation into the past": ('[simulate]\nuntil = "-1 s"', 2, "not-positive", ""),
    "a simulation by an unknown method": ('[simulate]\nmethod = { type = "Euler" }', 2, "unknown-name", "4"),
    "a method without its step": ('[simulate]\nmethod = { type = "RK4" }', 2, "missing-argument", "'step'"),
    "a method with another's option": (
        '[simulate]\nmethod = { type = "RK4", step = 1, rho = 1 }',
        2,
        "unknown-argument",
        "'rho'",
    ),
    "an input that does not exist": ("[simulate]\ninputs = { u = 1 }", 2, "unknown-name", "'u'"),
    "an include without a folder": ('[include.leg]\nfile = "leg.toml"', 2, "no-folder", ""),
    "a constant that depends on a parameter": ('[constants]\nk = "2*length"', 2, "unknown-name", "'length'"),
    "a constant and parameter of one name": ("[constants]\nlength = 1", -9, "taken-name", ""),
    "a point of the ground with a wrong name": ("[ground.point]\nA = [0, 0]", 1, "unknown-argument", "'points'"),
}


@pytest.mark.parametrize("title", APPENDED)
def test_a_broken_part_is_refused_at_its_line(title: str) -> None:
    text, line, code, shown = APPENDED[title]
    begin = time.process_time()
    with pytest.raises(ModelFileError) as caught:
        parse_model(GOOD + text, name="arm.toml")
    assert time.process_time() - begin < 2
    offset = GOOD.count("\n")
    here = [one for one in caught.value.problems if one.where["line"] == offset + line and one.code == code]
    assert any(shown in one.problem for one in here), caught.value.problems
    assert str(caught.value).count("arm.toml:") == len(caught.value.problems)


# title -> (whole text, line, code)
WHOLE = {
    "an unclosed table": ("[bodies.rod\nmass = 1", 1, "bad-syntax"),
    "a key twice": ('name = "a"\nname = "b"', 2, "bad-syntax"),
    "a table twice": ("[bodies.a]\nmass=1\n[bodies.a]\nmass=1", 3, "bad-syntax"),
    "a string without end": ('name = "a', 1, "bad-syntax"),
    "a bare word": ("name = arm", 1, "bad-syntax"),
    "an empty file": ("", 1, "no-bodies"),
    "a list of bodies": ("bodies = [1, 2]", 1, "wrong-type"),
    "a body that is a number": ("[bodies]\nrod = 3", 2, "wrong-type"),
    "a name that is a number": ("name = 3", 1, "wrong-type"),
    "planar that is a text": ('planar = "yes"', 1, "wrong-type"),
    "gravity of four numbers": ("gravity = [0, 0, 0, 1]", 1, "wrong-type"),
    "gravity in metres": ('gravity = [0, "-9 m", 0]', 1, "unit-mismatch"),
    "parameters in a circle": ('[parameters]\na = "b"\nb = "a"', 2, "circular-definition"),
    "a parameter of itself": ('[parameters]\na = "a + 1"', 2, "circular-definition"),
    "a parameter called t": ("[parameters]\nt = 1", 2, "bad-name"),
    "parameters that double": (
        "[parameters]\np0 = 1\n" + "\n".join(f'p{k} = "p{k - 1} + p{k - 1}"' for k in range(1, 60)),
        14,
        "too-large",
    ),
    "arrays without end": ("a = " + "[" * 5000 + "]" * 5000, 1, "too-large"),
    "inline tables without end": ("a = " + "{a=" * 5000 + "1" + "}" * 5000, 1, "too-large"),
    "a dotted key without end": (".".join(["a"] * 20000) + " = 1", 1, "too-large"),
    "a header without end": ("[" + ".".join(["a"] * 20000) + "]", 1, "too-large"),
    "no UTF-8": (b"name = '\xff'", 1, "not-readable"),
    "UTF-16": ('name = "a"'.encode("utf-16"), 1, "not-readable"),
    "null bytes": (b"\x00\x00\x00", 1, "bad-syntax"),
    "a number with 350 digits": ("[bodies.a]\nmass = " + "9" * 350, 2, "not-finite"),
    "a number with ten thousand digits": ("[bodies.a]\nmass = " + "9" * 10000, 2, "too-large"),
    "a hexadecimal number with four thousand digits": ("[bodies.a]\nmass = 0x" + "f" * 4000, 2, "too-large"),
    "a text of four million characters": ('name = "' + "x" * 4_000_000 + '"', 1, "too-large"),
    "a file of nothing but line breaks": ("\n" * 4_000_000, None, "too-large"),
    "a tower of powers": ('[parameters]\na = "10**10**10"', 2, "not-finite"),
    "a tower of towers": ('[parameters]\na = "' + "9**" * 1000 + '9"', 2, "too-large"),
    "old Macintosh line ends": ("planar = true\rname = 'a'", 1, "bad-syntax"),
    "UTF-16 without a mark": ('name = "a"'.encode("utf-16-le"), 1, "bad-syntax"),
    "a name of a hundred thousand letters": ("[bodies." + "x" * 90_000 + "]\nmass = 1", 1, "too-large"),
}


def places(error: da.errors.FileFormatError) -> list[tuple[str, int | None]]:
    """Code and line of every problem."""
    if isinstance(error, ModelFileError):
        return [(one.code, one.where["line"]) for one in error.problems]
    return [(error.code, error.line)]


@pytest.mark.parametrize("title", WHOLE)
def test_a_broken_file_is_refused(title: str) -> None:
    text, line, code = WHOLE[title]
    begin = time.process_time()
    with pytest.raises(da.errors.FileFormatError) as caught:
        parse_model(text, name="model.toml")
    assert time.process_time() - begin < 2
    assert (code, line) in places(caught.value), caught.value


JSON = {
    "no JSON at all": ("name = 1", 1, "bad-syntax"),
    "a list": ("[1, 2]", 1, "wrong-type"),
    "a key twice": ('{"name": "a",\n "name": "b"}', None, "bad-syntax"),
    "an unknown key": ('{"planar": true,\n "boddies": {}}', 2, "unknown-argument"),
    "arrays without end": ("[" * 5000, 1, "too-large"),
    "not a number": ('{"bodies": {"a":\n {"mass": NaN}}}', 2, "not-finite"),
    "an infinite number": ('{"bodies": {"a":\n {"mass": 1e999}}}', 2, "not-finite"),
}


@pytest.mark.parametrize("title", JSON)
def test_a_broken_json_file_is_refused(title: str) -> None:
    text, line, code = JSON[title]
    with pytest.raises(da.errors.FileFormatError) as caught:
        parse_model(text, is_json=True, name="model.json")
    assert (code, line) in places(caught.value), caught.value


def test_a_message_never_brings_escape_sequences_to_a_terminal_and_stays_short() -> None:
    red = '[bodies."\\u001b[31mred"]\nmass = 1\nlenght = 1\n'
    with raises(ModelFileError, "unknown-argument", "bodies.\\x1b[31mred.") as caught:
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
    lines = [one.where["line"] for one in caught.value.problems]
    assert lines == sorted(lines) and len(lines) == 3
    assert str(caught.value).startswith("3 problems in the model:\n  arm.toml:16: ")


def test_problems_of_parts_are_collected_when_the_structure_is_right() -> None:
    text = GOOD + '[bodies.b]\nmass = "1 m"\n[joints.B]\ntype = "fixed"\na = "b"\nb = "rid"\n'
    text += '[forces.f]\ntype = "spring"\njoint = "Z"\n'
    with pytest.raises(ModelFileError) as caught:
        parse_model(text)
    found = caught.value.problems
    assert caught.value.code == "several-problems"
    assert len(found) == 3  # the joint is not blamed for the body that failed, only for the one that is not there
    assert [one.code for one in found] == ["unit-mismatch", "unknown-name", "unknown-name"]
    assert "'rid'" in found[1].problem and "'Z'" in found[2].problem


def test_expressions_of_a_model_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dalembert.files.models.text.limits.OPERATIONS", 50)
    parse_model(GOOD)
    with raises(ModelFileError, "too-large", "50"):
        parse_model(GOOD + "[constants]\n" + "\n".join(f'c{k} = "1 + 2*3"' for k in range(20)))


def test_values_of_a_file_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dalembert.files.models.text.limits.VALUES", 1000)
    for text, is_json in (("a = [" + "1," * 1001 + "]", False), ('{"a": [' + "1," * 1001 + "1]}", True)):
        with raises(da.errors.FileFormatError, "too-large", "1000"):
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
def test_hundreds_of_wrong_names_are_reported_soon(part: str) -> None:
    bodies = "\n".join(f"[bodies.b{k}]\nmass = 1\ninertia = 1" for k in range(300))
    begin = time.process_time()
    with pytest.raises(ModelFileError) as caught:
        parse_model(bodies + "\n" + "\n".join(part.format(k) for k in range(300)))
    assert len(caught.value.problems) == 200
    assert time.process_time() - begin < 2
