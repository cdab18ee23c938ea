"""A model of an actuator of another package: declared in its own module, found through an entry point."""

from __future__ import annotations

import importlib
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.files.models.schema.json_schema import model_schema
from dalembert.mechanics.actuators import ACTUATOR_EFFORTS
from dalembert.model.actuators import ACTUATORS
from tests.helpers.findings import raises
from tests.helpers.installed_command import dalembert
from tests.helpers.packages import install

GUEST = '''
from dalembert.mechanics.actuators import ACTUATOR_EFFORTS
from dalembert.model.actuators import ActuatorModel, actuator
from dalembert.model.bodies import Scalar, positive
from dalembert.model.options import option


@actuator("pneumatic cylinder")
class Pneumatic(ActuatorModel):
    """A cylinder whose pressure follows the input with a lag, T p' + p = u; its leak brakes the piston."""

    area: Scalar = option("", "of the piston: m²", check=positive)
    time_constant: Scalar = option("time", "of the pressure", check=positive)
    leak: Scalar = option("damping", "force per speed", default=0.0)
    input_unit = "Pa"

    def states(self):
        return [("pressure", "Pa")]


def effort(builder, actuator, measured, u):
    host, model, name = builder.host, actuator.model, f"{actuator.name}.pressure"
    builder.state_rates[name] = (u - builder.state(name)) / host.number(model.time_constant)
    return host.number(model.area) * builder.state(name) - host.number(model.leak) * measured.rate


ACTUATOR_EFFORTS.register("pneumatic cylinder", effort)
'''
AREA, TIME, MASS = 2e-3, 0.05, 4.0


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The model, as an import of the other package registers it."""
    (tmp_path / "guest_actuators.py").write_text(GUEST)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("guest_actuators")
    ACTUATORS.unregister("pneumatic cylinder")
    ACTUATOR_EFFORTS.unregister("pneumatic cylinder")
    del sys.modules["guest_actuators"]


def slide(guest: ModuleType, **options: float) -> da.Mechanism:
    m = da.Mechanism("slide", planar=True, gravity=0)
    body = m.add_body("piston", mass=MASS, inertia=0.01)
    m.add_prismatic("rail", m.ground.at(0, 0), body.at(0, 0), axis=(1, 0))
    m.add_actuator("cylinder", joint="rail", input="supply", model=guest.Pneumatic(AREA, TIME, **options))
    return m


def test_a_new_actuator_drives_a_joint_through_its_state(guest: ModuleType) -> None:
    eqs = da.equations(slide(guest))
    assert eqs.inputs.names == ("supply",) and eqs.inputs.units == ("Pa",)
    assert eqs.internal.names == ("cylinder.pressure",) and eqs.internal.units == ("Pa",)
    method = da.DormandPrince(rtol=1e-9, atol=1e-9)
    run = da.simulate(eqs, 0.3, inputs={"supply": 1e5}, method=method, progress=False)
    t = run.time
    assert run["cylinder.pressure"] == pytest.approx(1e5 * (1 - np.exp(-t / TIME)), rel=1e-7, abs=1e-2)
    speed = 1e5 * AREA / MASS * (t - TIME * (1 - np.exp(-t / TIME)))  # its integral
    assert run["rail.speed"] == pytest.approx(speed, rel=1e-7, abs=1e-8)
    work = 0.5 * MASS * run["rail.speed"][-1] ** 2
    assert run["energy"][-1] - run["energy"][0] == pytest.approx(work, rel=1e-9)
    assert np.abs(run["energy.balance"]).max() < 1e-6 * work


def test_a_new_actuator_is_linearized_with_its_state(guest: ModuleType) -> None:
    eqs = da.equations(slide(guest, leak=8.0))
    poles = np.sort(np.linalg.eigvals(da.linearize(eqs, at=da.assemble(eqs)).A).real)
    assert poles == pytest.approx([-1 / TIME, -8.0 / MASS, 0.0], abs=1e-9)


def test_mistakes_of_a_new_actuator_are_named(guest: ModuleType) -> None:
    m = slide(guest)
    with raises(ModelError, "not-positive", "'push'", "area"):
        m.add_actuator("push", joint="rail", input="u", model=guest.Pneumatic(0.0, TIME))
    with raises(ModelError, "wrong-type", "'push'", "Pneumatic"):
        m.add_actuator("push", joint="rail", input="u", model=guest.Pneumatic)


def test_a_model_file_keeps_a_new_actuator(guest: ModuleType, tmp_path: Path) -> None:
    m = slide(guest, leak=8.0)
    for suffix in (".toml", ".json"):
        da.write_model(m, tmp_path / f"slide{suffix}")
        again = da.read_model(tmp_path / f"slide{suffix}")
        assert da.equations(again).content_hash == da.equations(m).content_hash
    table = tomllib.loads((tmp_path / "slide.toml").read_text())["forces"]["cylinder"]
    model = {"type": "pneumatic cylinder", "area": AREA, "time_constant": TIME, "leak": 8.0}
    assert table == {"type": "actuator", "joint": "rail", "input": "supply", "model": model}
    assert model_schema()["$defs"]["PneumaticCylinderModel"]["required"] == ["type", "area", "time_constant"]


def test_the_installed_command_reads_a_model_with_a_new_actuator(tmp_path: Path) -> None:
    install(tmp_path, "guest_actuators", GUEST, "dalembert.actuators")
    model = tmp_path / "slide.toml"
    model.write_text(
        'name = "slide"\nplanar = true\ngravity = 0\n[bodies.piston]\nmass = 4\ninertia = 0.01\n[joints.rail]\n'
        'type = "prismatic"\na = "ground"\nb = "piston"\naxis = [1, 0]\n[forces.cylinder]\ntype = "actuator"\n'
        'joint = "rail"\ninput = "supply"\n'
        'model = { type = "pneumatic cylinder", area = 2e-3, time_constant = "50 ms" }\n'
    )
    found = dalembert(tmp_path, "simulate", model, "--until", "0.3", "--input", "supply=1e5", "--json")
    assert found.returncode == 0, found.stderr
    last = json.loads(found.stdout)["channels"]["cylinder.pressure"]["last"]
    assert last == pytest.approx(1e5 * (1 - np.exp(-6)), rel=1e-5)  # the default rtol is 1e-6
