"""Model files: units, expressions, parameters, places, includes, meshes, laws."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.files.models import ModelFileError, library_path, list_models, model_schema, parse_model, read_model
from dalembert.files.models.schema.json_schema import SCHEMA
from dalembert.files.models.text import arithmetic as ar
from tests.helpers.findings import raises
from tests.helpers.same_equations import ROUNDING, difference

PENDULUM = """
name = "pendulum"
planar = true
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


def body(text: str, *, planar: bool = True) -> da.Mechanism:
    return parse_model(f"planar = {str(planar).lower()}\n[bodies.b]\nmass = 1\ninertia = 1\n{text}")


# -- units and expressions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20 mm", 0.02),
        ("700 mm", 0.7),
        ("90 deg", math.pi / 2),
        ("90°", math.pi / 2),
        ("3 rpm", math.tau / 20),
        ("2 rev/s", 2 * math.tau),
        ("9.81 m/s^2", 9.81),
        ("1 m/s²", 1.0),
        ("7.85 g/cm^3", 7850.0),
        ("1 kN/mm", 1e6),
        ("0.2 N m s/rad", 0.2),
        ("1 inch + 2 mm", 0.0274),
        ("2*(30 mm + 0.02)", 0.1),
        ("-2**2", -4.0),
        ("2**-1", 0.5),
        ("2^3**2", 512.0),
        ("8/4/2", 1.0),
        ("1 - 2 - 3", -4.0),
        ("sqrt(9) + abs(-1) + min(3, 1, 2) + max(1, 2)", 7.0),
        ("where(1 < 2, 3, 4)", 3.0),
        ("2*pi", math.tau),
        ("1e-3", 1e-3),
        (".5", 0.5),
        ("50 %", 0.5),
        ("(6 m)/(2 s)", 3.0),
        ("20\u00a0mm", 0.02),  # blanks and the minus of documents it was copied from
        ("9.81\u202fm/s²", 9.81),
        ("\u22125\u2009deg", -5 * math.pi / 180),
    ],
)
def test_quantities_and_expressions_are_turned_into_si(text: str, expected: float) -> None:
    assert ar.value(ar.parse(text), ar.CONSTANTS.get) == pytest.approx(expected, rel=2e-16)


def test_digits_of_other_scripts_are_no_numbers() -> None:
    for text in ("\uff11", "\u0661 m", "1 m\u0662"):
        with pytest.raises(da.errors.DataError):
            ar.value(ar.parse(text), lambda name: 1.0 / 0.0)


def test_parameters_stay_symbolic_through_expressions_and_derived_parameters() -> None:
    text = PENDULUM.replace('length = "1 m"', 'half = "length/2"\nlength = "1 m"').replace("-length/2", "-half")
    eqs = da.equations(parse_model(text))
    assert eqs.parameters.names == ("length",)
    twice = da.assemble(eqs.replace(length=2.0), {"hinge.angle": 0.0})
    assert twice["rod.x"] == pytest.approx(1.0, abs=1e-12)
    assert float(np.array(eqs.replace(length=2.0).kernel("inertia")(twice.q, [2.0], 0.0)[0])[2, 2]) == pytest.approx(
        1 / 3
    )


def test_constants_are_numbers_of_the_file_only() -> None:
    m = parse_model(PENDULUM.replace("[parameters]", "[constants]"))
    assert m.parameters == {}
    assert m.joints[0].b.coordinates == (-0.5, 0.0)


def test_a_parameter_with_any_name_is_used_between_backquotes() -> None:
    text = PENDULUM.replace('length = "1 m"', '"rod length" = 2').replace('"length"', '"`rod length`"')
    m = parse_model(text.replace("-length/2", "-`rod length`/2"))
    assert float(m.joints[0].b.coordinates[0]) == -1.0


# -- places, bodies, forces -------------------------------------------------------------------------------------------


def test_places_are_names_points_coordinates_or_tables() -> None:
    text = """
[bodies.c]
mass = 1
inertia = 1
center = [0.1, 0]
points = { tip = [0.5, 0] }
[joints]
J1 = { type = "revolute", a = "ground", b = "b(1, 2)" }
J2 = { type = "revolute", a = "b", b = "c.tip" }
J3 = { type = "prismatic", a = { body = "b", at = [0, 1], angle = "90 deg" }, b = { body = "c", offset = [0, 0] } }
"""
    joints = {j.name: j for j in body(text).joints}
    assert joints["J1"].b.coordinates == (1.0, 2.0)
    assert joints["J2"].b.coordinates == (0.4, 0.0)  # from the centre of mass
    assert joints["J3"].a.angle == pytest.approx(math.pi / 2)
    assert joints["J3"].b.coordinates == (0.0, 0.0)


def test_a_joint_can_be_placed_in_the_drawing() -> None:
    text = """
position = [1, 0, 0]
[joints.J]
type = "revolute"
a = "ground"
b = "b"
at = [0.5, 0, 0]
axis = [0, 1, 0]
"""
    joint = body(text, planar=False).joints[0]
    assert joint.a.coordinates == (0.5, 0.0, 0.0) and joint.b.coordinates == (-0.5, 0.0, 0.0)
    assert [row[2] for row in joint.b.axes] == [0.0, 1.0, 0.0]


def test_a_rotation_is_a_quaternion_a_matrix_or_a_turn_about_an_axis() -> None:
    turns = ["[0.7071067811865476, 0, 0, 0.7071067811865476]", "[[0, -1, 0], [1, 0, 0], [0, 0, 1]]",
             '{ axis = [0, 0, 2], angle = "90 deg" }']  # fmt: skip
    found = [body(f"rotation = {turn}", planar=False).bodies[0].rotation for turn in turns]
    for rotation in found:
        np.testing.assert_allclose(rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("inertia", "made"),
    [
        ("{ rod = 2 }", da.rod(2.0)),
        ('{ rod = 2, axis = "z" }', da.rod(2.0, axis="z")),
        ("{ box = [1, 2, 3] }", da.box(1.0, 2.0, 3.0)),
        ("{ cylinder = [0.5, 2] }", da.cylinder(0.5, 2.0)),
        ("{ sphere = 0.5, hollow = true }", da.sphere(0.5, hollow=True)),
    ],
)
def test_shapes_give_the_inertia_of_the_python_functions(inertia: str, made: object) -> None:
    joint = '[joints.J]\ntype = "spherical"\na = "ground"\nb = "b"'
    m = parse_model(f"[bodies.b]\nmass = 2\ninertia = {inertia}\n{joint}")
    assert m.bodies[0].inertia == da.Mechanism("x").add_body("b", mass=2.0, inertia=made).inertia


def test_a_composite_brings_its_mass_and_centre() -> None:
    parts = '{ sphere = 0, mass = 1, position = [-1, 0, 0] }, { sphere = 0, mass = 3, position = ["1 m", 0, 0] }'
    joint = '[joints.J]\ntype = "spherical"\na = "ground"\nb = "b"'
    m = parse_model(f"[bodies.b]\ninertia = {{ composite = [{parts}] }}\n{joint}")
    assert m.bodies[0].mass == 4.0 and m.bodies[0].center == (0.5, 0.0, 0.0) and m.bodies[0].inertia[2][2] == 3.0


def test_a_force_law_is_an_expression_of_the_state() -> None:
    text = (
        PENDULUM + '[forces.k]\ntype = "actuator"\njoint = "hinge"\neffort = "-3*length*hinge.angle - 0.5*hinge.rate"\n'
    )
    law = da.equations(parse_model(text))
    m = da.Mechanism("pendulum", planar=True)
    length = m.parameter("length", 1.0)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(length))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-length / 2, 0))
    m.add_actuator("k", joint="hinge", effort=lambda s: -3 * s["length"] * s["hinge.angle"] - 0.5 * s["hinge.rate"])
    assert difference(law, da.equations(m)) < ROUNDING


def test_springs_take_laws_of_extension_and_speed_and_tables() -> None:
    for law in ('"100*extension + 20*extension**3 + 2*speed"', "{ table = [[-1, -100], [0, 0], [1, 50]] }"):
        text = (
            PENDULUM + f'[forces.k]\ntype = "spring"\na = "ground(0, 1)"\nb = "rod"\nfree_length = 0.5\nlaw = {law}\n'
        )
        eqs = da.equations(parse_model(text + '[sensors.pull]\ntype = "spring force"\nspring = "k"'))
        state = da.assemble(eqs, {"hinge.angle": -np.pi / 2})  # 1.5 m long, stretched by 1 m
        run = da.simulate(eqs, 0.01, start=state)
        assert run["pull"][0] == pytest.approx(120.0 if "speed" in law else 50.0, rel=1e-9)


def test_a_driver_follows_an_expression_of_time_and_parameters() -> None:
    text = PENDULUM + '[drivers.d]\ncoordinate = "hinge"\nmotion = "length*where(t < 2, sin(2*t), 5)"'
    eqs = da.equations(parse_model(text)).replace(length=3.0)
    run = da.kinematics(eqs, [0.0, 0.5])
    assert run["hinge.angle"][-1] == pytest.approx(3 * math.sin(1.0), abs=1e-12)


def test_constraints_variables_and_curves_are_expressions() -> None:
    text = """
planar = true
[bodies.bead]
mass = 1
inertia = 1
position = [0.5, 0.25]
[joints.wire]
type = "point on curve"
a = "ground"
b = "bead"
curve = ["s", "s**2"]
start = 0.5
[variables.w]
start = 0.2
[constraints.turn]
residual = "bead.angle - w**2"
[constraints.slip]
level = "velocity"
residual = ["bead.rate - 2*bead.vx"]
"""
    eqs = da.equations(parse_model(text))
    state = da.assemble(eqs)
    assert state["bead.y"] == pytest.approx(state["bead.x"] ** 2, abs=1e-12)
    assert state["bead.angle"] == pytest.approx(state["w"] ** 2, abs=1e-12)


def test_an_acceleration_level_constraint_names_the_derivative_of_a_speed() -> None:
    text = '[constraints.c]\nlevel = "acceleration"\nresidual = "acceleration(b.vx) - 3"'
    eqs = da.equations(body(text))
    assert da.forward_dynamics(eqs, eqs.state())["b.vx"] == pytest.approx(3.0, abs=1e-12)


def test_start_and_simulation_defaults_run_the_machine() -> None:
    text = (
        PENDULUM
        + """
[forces.motor]
type = "actuator"
joint = "hinge"
input = "u"
[start]
position = { hinge = "10 deg" }
velocity = { hinge = "1 rpm" }
[simulate]
until = 0.1
every = "50 ms"
method = { type = "RK4", step = "1 ms" }
inputs = { u = "2*length*sin(t)" }
"""
    )
    m = parse_model(text)
    eqs = da.equations(m)
    run = da.simulate(eqs, start=da.assemble(eqs, **m.start), **m.simulation)
    assert m.simulation["method"] == da.RK4(1e-3)
    assert run["hinge.angle"][0] == pytest.approx(math.radians(10), abs=1e-12)
    assert run["hinge.rate"][0] == pytest.approx(math.tau / 60, abs=1e-12)
    assert run["u"] == pytest.approx(2 * np.sin(run.time), abs=1e-12)


def test_json_says_the_same_as_toml(tmp_path: Path) -> None:
    import tomllib

    file = tmp_path / "pendulum.json"
    file.write_text(json.dumps({"$schema": "model.schema.json", **tomllib.loads(PENDULUM)}))
    assert difference(da.equations(read_model(file)), da.equations(parse_model(PENDULUM))) == 0


# -- names and files --------------------------------------------------------------------------------------------------


def test_a_library_name_that_is_not_there_is_answered_with_the_nearest() -> None:
    with raises(da.errors.FileFormatError, "unknown-name", "'four-bar'"):
        read_model("fourbar")


def test_a_folder_does_not_hide_a_library_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "four-bar").mkdir()
    monkeypatch.chdir(tmp_path)
    assert read_model("four-bar").name == "four-bar"


def test_what_is_not_a_path_is_refused() -> None:
    with raises(da.errors.FileFormatError, "wrong-type", "3"):
        read_model(3)  # type: ignore[arg-type]
    for wrong in ("no-such.toml", "model.yaml", "a\0b.toml"):
        with pytest.raises(da.errors.FileFormatError):
            read_model(wrong)


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "big.toml"
    for size in (5 * 1024**2 + 1, 1 << 30):
        with file.open("wb") as hole:
            hole.truncate(size)
        with raises(da.errors.FileFormatError, "too-large", str(size)):
            read_model(file)


def test_a_mark_and_other_line_ends_make_no_difference(tmp_path: Path) -> None:
    for k, text in enumerate((PENDULUM.replace("\n", "\r\n"), PENDULUM.replace("\n", "\r\n", 4), "\ufeff" + PENDULUM)):
        file = tmp_path / f"{k}.toml"
        file.write_bytes(text.encode())
        assert difference(da.equations(read_model(file)), da.equations(parse_model(PENDULUM))) == 0


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    import os

    os.symlink("loop.toml", tmp_path / "loop.toml")
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "folder.toml").mkdir()
    for name, code in (("loop", "no-such-file"), ("pipe", "not-readable"), ("folder", "not-readable")):
        with raises(da.errors.FileFormatError, code):
            read_model(tmp_path / f"{name}.toml")
        (tmp_path / "main.toml").write_text(f'planar = true\n[include.a]\nfile = "{name}.toml"')
        with raises(da.errors.FileFormatError, code, "main.toml:3: "):
            read_model(tmp_path / "main.toml")


@pytest.mark.slow
def test_ten_thousand_bodies_are_read_and_one_more_is_refused() -> None:
    text = "\n".join(f"[bodies.b{k}]\nmass = 1\ninertia = 1" for k in range(10_000))
    assert len(parse_model(text).bodies) == 10_000
    with raises(ModelFileError, "too-large", "10000"):
        parse_model(text + "\n[bodies.more]\nmass = 1")


def test_the_shipped_schema_is_the_one_of_the_code() -> None:
    from dalembert.files.models.schema.make_schema import schema_text

    stale = "stale: run python -m dalembert.files.models.schema.make_schema"
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), stale
    assert model_schema()["$defs"]["Revolute"]["properties"]["type"]["const"] == "revolute"


def test_pydantic_is_imported_when_a_file_is_read_and_not_before() -> None:
    code = "import sys, dalembert as da; import dalembert.files.models as f; assert 'pydantic' not in sys.modules; "
    code += "f.read_model('pendulum'); assert 'pydantic' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_library_file_can_be_copied_and_read_from_anywhere(tmp_path: Path) -> None:
    import shutil

    shutil.copytree(library_path("pendulum").parent, tmp_path / "mine")
    for name in list_models():
        assert read_model(tmp_path / "mine" / library_path(name).name).name == name


def test_the_example_in_the_documentation_of_the_format_is_a_sound_file(tmp_path: Path) -> None:
    import textwrap

    import dalembert.files.models as room

    text = textwrap.dedent((room.__doc__ or "").partition("\n\n")[2].partition("Further sections")[0])
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "leg.toml").write_text(PENDULUM)
    (tmp_path / "main.toml").write_text(text)
    m = read_model(tmp_path / "main.toml")
    assert [b.name for b in m.bodies] == ["rod", "left.rod"]
    assert m.joints[0].a.body.name == "rod" and set(m.parameters) == {"length"}
    da.equations(m)
