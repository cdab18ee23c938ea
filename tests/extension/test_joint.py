"""Joint kinds of another package: declared in its own module, found through an entry point."""

from __future__ import annotations

import importlib
import inspect
import json
import pickle
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.files.models.schema.json_schema import model_schema
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS
from dalembert.model.joints import JOINTS
from tests.helpers.animation_pages import page_data
from tests.helpers.checks import DIFFERENCE, measure_error, random_state, row_error
from tests.helpers.findings import raises
from tests.helpers.installed_command import dalembert
from tests.helpers.packages import install

GUESTS = '''
import casadi as ca

from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, transform
from dalembert.model.bodies import nonzero
from dalembert.model.joints.joint import AT, AXIS, AXIS_B, DISPLACEMENT, JOINTS, Coordinate, Glyph, JointKind, Option

# a pin in a slot along the parabola y = curvature x²
JOINTS.register(
    "parabola slot",
    JointKind(
        "A pin of the second body stays on a parabola of the first; planar. Coordinate `name.displacement`.",
        rows=(None, 1),
        coordinates=(DISPLACEMENT,),
        options=(AT, AXIS, Option("curvature", "number", "half the second derivative [1/m]", check=nonzero)),
        glyph=Glyph("pin", "pin in a parabola", lines=(tuple((k - 4.0, (k - 4.0) ** 2 / 4, 0.0) for k in range(9)),)),
        numbers=("curvature",),
    ),
)


def slot(s):
    x, y = ca.dot(s.E[:, 0], s.d), ca.dot(s.E[:, 1], s.d)
    return [y - s.numbers[0] * x**2]


def displacement(s):
    return [s.along()]


def drawn(values, planar):
    return transform(planar, shift=(values[0], 0.0))


JOINT_EQUATIONS.register("parabola slot", JointEquations(slot, coordinates=displacement, relative=drawn))

# a Rzeppa joint: the shafts turn alike, whatever the angle between them
JOINTS.register(
    "constant velocity",
    JointKind(
        "Two shafts along `axis` that turn alike at any angle between them; spatial. Coordinate `name.bend`.",
        rows=(4, None),
        coordinates=(Coordinate("bend", "bend_rate", "rad"),),
        options=(AT, AXIS, AXIS_B),
    ),
)


def alike(s):
    return [s.d, ca.dot(s.E[:, 0], s.G[:, 1]) - ca.dot(s.E[:, 1], s.G[:, 0])]


def bend(s):
    """Angle of the second shaft in the plane of z and x of the first."""
    return [ca.atan2(ca.dot(s.E[:, 0], s.G[:, 2]), ca.dot(s.E[:, 2], s.G[:, 2]))]


JOINT_EQUATIONS.register("constant velocity", JointEquations(alike, coordinates=bend))
'''
CURVATURE, MASS = 0.8, 0.5


@pytest.fixture
def guests(tmp_path: Path, monkeypatch):
    """The kinds, as an import of the other package registers them."""
    (tmp_path / "guest_joints.py").write_text(GUESTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("guest_joints")
    for name in ("parabola slot", "constant velocity"):
        JOINTS.unregister(name)
        JOINT_EQUATIONS.unregister(name)
    del sys.modules["guest_joints"]


def bead() -> da.Mechanism:
    """A bead on a parabola."""
    m = da.Mechanism("bead", planar=True)
    curvature = m.parameter("curvature", CURVATURE)
    body = m.add_body("bead", mass=MASS, inertia=1e-3)
    m.add_joint("parabola slot", "wire", m.ground.at(0, 0), body.at(0, 0), curvature=curvature)
    m.add_driver("level", "bead.angle", 0.0)
    m.add_sensor("push", da.reaction("wire"))
    return m


def test_a_new_joint_has_exact_rows_and_is_assembled_at_its_coordinate(guests):
    eqs = da.equations(bead())
    state = random_state(eqs, 1)
    assert row_error(eqs, state) < DIFFERENCE and measure_error(eqs, state) < DIFFERENCE
    start = da.assemble(eqs, {"wire.displacement": 0.6})
    assert start["bead.x"] == pytest.approx(0.6, abs=1e-9)
    assert start["bead.y"] == pytest.approx(CURVATURE * 0.36, abs=1e-9)


def test_a_new_joint_keeps_energy_and_is_closed_over_a_run(guests):
    eqs = da.equations(bead())
    run = da.simulate(eqs, 3.0, start=da.assemble(eqs, {"wire.displacement": 0.6}), progress=False)
    # DormandPrince at its default rtol of 1e-6 over some ten swings: energy to 1e-5 of its span m g c x²
    assert np.ptp(run["energy"]) < 1e-5 * MASS * 9.81 * CURVATURE * 0.36
    assert run["residual.position"].max() < 1e-8
    assert run["bead.y"] == pytest.approx(CURVATURE * run["bead.x"] ** 2, abs=1e-8)


def test_a_new_joint_is_linearized_and_its_reaction_carries_the_weight(guests):
    eqs = da.equations(bead())
    rest = da.equilibrium(eqs)
    frequency = da.linearize(eqs, at=rest).modes().frequencies[0]  # ÿ = 2 c g x for small x
    assert frequency == pytest.approx(np.sqrt(2 * CURVATURE * 9.81), rel=1e-9)
    stiffer = da.linearize(eqs.replace(curvature=2 * CURVATURE), at=rest).modes().frequencies[0]
    assert stiffer == pytest.approx(np.sqrt(2) * frequency, rel=1e-9)
    run = da.simulate(eqs, 0.01, start=rest, progress=False)
    assert run["push.force.y"][-1] == pytest.approx(MASS * 9.81, rel=1e-9)
    assert run["push.force.x"][-1] == pytest.approx(0.0, abs=1e-9)


def test_equations_with_a_new_joint_can_be_pickled(guests):
    eqs = da.equations(bead())
    again = pickle.loads(pickle.dumps(eqs))  # noqa: S301
    assert again.content_hash == eqs.content_hash
    assert da.assemble(again, {"wire.displacement": 0.5})["bead.y"] == pytest.approx(CURVATURE * 0.25, abs=1e-9)


def test_a_new_spatial_joint_turns_two_shafts_alike(guests):
    m = da.Mechanism("shafts", gravity=0)
    first = m.add_body("first", mass=1.0, inertia=(0.1, 0.1, 0.02), position=(0, 0, 0))
    turned = da.rotation(vector=(0.0, 0.5, 0.0))  # 0.5 rad between the shafts
    second = m.add_body("second", mass=1.0, inertia=(0.1, 0.1, 0.02), position=(0, 0, 0), rotation=turned)
    m.add_revolute("A", m.ground.at(0, 0, 0), first.at(0, 0, 0))
    m.add_constant_velocity("CV", first.at(0, 0, 0), second.at(0, 0, 0))
    m.add_cylindrical("B", m.ground, second, at=(0, 0, 0), axis=(np.sin(0.5), 0.0, np.cos(0.5)))
    eqs = da.equations(m)
    assert row_error(eqs, random_state(eqs, 3)) < DIFFERENCE and measure_error(eqs, random_state(eqs, 3)) < DIFFERENCE
    start = da.assemble(eqs, velocity={"A.angle": 3.0})
    run = da.simulate(eqs, 2.0, start=start, progress=False)
    assert run["B.rate"] == pytest.approx(run["A.rate"], abs=1e-7)
    assert run["A.angle"][-1] == pytest.approx(6.0, abs=1e-5)  # nothing brakes equal shafts


def test_the_method_of_a_new_joint_has_its_signature_and_its_mistakes(guests):
    m = da.Mechanism("m", planar=True)
    body = m.add_body("b", mass=1.0, inertia=1.0)
    signature = str(inspect.signature(m.add_parabola_slot))
    assert signature.startswith("(name, a, b, *, at=None, axis=None, curvature, limits=None)")
    assert "parabola" in m.add_parabola_slot.__doc__ and "add_parabola_slot" in dir(m)
    with raises(ModelError, "missing-argument", "'wire'", "curvature"):
        m.add_parabola_slot("wire", m.ground.at(0, 0), body.at(0, 0))
    with raises(ModelError, "unknown-argument", "'curvatur'", "curvature"):
        m.add_parabola_slot("wire", m.ground.at(0, 0), body.at(0, 0), curvatur=1.0)
    with raises(ModelError, "zero", "'wire'", "curvature"):
        m.add_parabola_slot("wire", m.ground.at(0, 0), body.at(0, 0), curvature=0.0)
    with raises(ModelError, "not-supported", "planar", "constant velocity"):
        m.add_constant_velocity("CV", m.ground.at(0, 0), body.at(0, 0))
    with raises(ModelError, "unknown-name", "'parabola slt'", "parabola slot"):
        m.add_joint("parabola slt", "wire", m.ground.at(0, 0), body.at(0, 0))


def test_a_model_file_keeps_a_new_joint(guests, tmp_path: Path):
    m = bead()
    for suffix in (".toml", ".json"):
        da.write_model(m, tmp_path / f"bead{suffix}")
        again = da.read_model(tmp_path / f"bead{suffix}")
        assert again.joints[0].kind == "parabola slot"
        assert da.equations(again).content_hash == da.equations(m).content_hash
    table = tomllib.loads((tmp_path / "bead.toml").read_text())["joints"]["wire"]
    assert table == {"type": "parabola slot", "a": "ground", "b": "bead", "curvature": "curvature"}
    assert model_schema()["$defs"]["ParabolaSlot"]["required"] == ["type", "a", "b", "curvature"]


def test_mistakes_in_the_table_of_a_new_joint_are_found(guests, tmp_path: Path):
    da.write_model(bead(), tmp_path / "bead.toml")
    text = (tmp_path / "bead.toml").read_text().replace('curvature = "curvature"', 'curvatre = "curvature"')
    (tmp_path / "bead.toml").write_text(text)
    with pytest.raises(da.errors.FileFormatError) as caught:
        da.read_model(tmp_path / "bead.toml")
    assert "'curvatre'" in str(caught.value) and "curvature" in str(caught.value)


def test_a_new_joint_is_drawn_with_its_glyph(guests, tmp_path: Path):
    eqs = da.equations(bead())
    run = da.simulate(eqs, 0.2, start=da.assemble(eqs, {"wire.displacement": 0.6}), progress=False)
    da.animate(run, tmp_path / "bead.html")
    joint = page_data(tmp_path / "bead.html")["joints"][0]
    assert (joint["type"], joint["glyph"], joint["legend"]) == ("parabola slot", "pin", "pin in a parabola")
    assert np.array(joint["lines"]) == pytest.approx(np.array([[[k - 4.0, (k - 4.0) ** 2 / 4, 0] for k in range(9)]]))


def test_the_installed_command_reads_a_written_model_with_a_new_joint(guests, tmp_path: Path):
    install(tmp_path, "guest_joints", GUESTS, "dalembert.joints")
    model = tmp_path / "bead.toml"
    da.write_model(bead(), model)
    found = dalembert(tmp_path, "modes", model, "--json")
    assert found.returncode == 0, found.stderr
    expected = np.sqrt(2 * CURVATURE * 9.81) / (2 * np.pi)
    assert json.loads(found.stdout)["modes"][0]["frequency_hz"] == pytest.approx(expected, rel=1e-9)
    schema = json.loads(dalembert(tmp_path, "schema").stdout)
    assert "ParabolaSlot" in schema["$defs"]
