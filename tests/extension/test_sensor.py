"""Kinds of sensors of another package: declared in its own module, found through an entry point."""

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
from dalembert.mechanics.sensors import OUTPUTS
from dalembert.model.sensors import SENSORS
from tests.helpers.findings import raises
from tests.helpers.installed_command import dalembert
from tests.helpers.packages import install

GUESTS = '''
import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.mechanics.sensors import OUTPUTS, Output
from dalembert.model.bodies import Place, Scalar, not_negative
from dalembert.model.options import option
from dalembert.model.sensors import Measure, measure


@measure("clearance")
class Clearance(Measure):
    """Height of a point above the ground [m]."""

    point: Place = option("place", "where it is measured")
    offset: Scalar = option("length", "of the sensor below the point", default=0.0, check=not_negative)
    unit = "m"


def clearance(machine, measure):
    height = machine.position(measure.point)[machine.host.space.dim - 1]
    return Output(height - machine.host.number(measure.offset), measure.unit)


OUTPUTS.register("clearance", clearance)


@measure("radar")
class Radar(Measure):
    """Distance [m] and bearing [rad] of a point, seen from another one; planar."""

    a: Place = option("place", "where the radar stands")
    b: Place = option("place", "its target")

    def check(self, what):
        if not self.bodies()[0].planar:
            raise ModelError("not-supported", f"{what}: a radar sees the plane.")


def radar(machine, measure):
    d = machine.position(measure.b) - machine.position(measure.a)
    value = ca.vertcat(ca.sqrt(ca.dot(d, d)), ca.atan2(d[1], d[0]))
    return Output(value, ["m", "rad"], ["distance", "bearing"])


OUTPUTS.register("radar", radar)
'''


@pytest.fixture
def guests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The kinds, as an import of the other package registers them."""
    (tmp_path / "guest_sensors.py").write_text(GUESTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("guest_sensors")
    for name in ("clearance", "radar"):
        SENSORS.unregister(name)
        OUTPUTS.unregister(name)
    del sys.modules["guest_sensors"]


def pendulum(guests: ModuleType) -> da.Mechanism:
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 2), rod.at(-0.5, 0))
    m.add_actuator("motor", joint="hinge", input="torque")
    m.add_sensor("height", guests.Clearance(rod.at(0.5, 0), offset=m.parameter("offset", 0.1)))
    m.add_sensor("seen", guests.Radar(m.ground.at(-1, 0), rod.at(0.5, 0)))
    return m


def test_a_new_sensor_reads_a_run(guests: ModuleType) -> None:
    eqs = da.equations(pendulum(guests))
    assert eqs.outputs.names == ("height", "seen.distance", "seen.bearing")
    assert eqs.outputs.units == ("m", "m", "rad")
    run = da.simulate(eqs, 1.0, start=da.assemble(eqs, {"hinge": 0.3}), progress=False)
    x, y = np.cos(run["hinge.angle"]), 2 + np.sin(run["hinge.angle"])
    assert run["height"] == pytest.approx(y - 0.1, abs=1e-9)  # the joints are closed to 1e-9 m
    assert run["seen.distance"] == pytest.approx(np.hypot(x + 1, y), abs=1e-9)
    assert run["seen.bearing"] == pytest.approx(np.arctan2(y, x + 1), abs=1e-9)


def test_a_new_sensor_is_linearized_and_corrects_a_filter(guests: ModuleType) -> None:
    eqs = da.equations(pendulum(guests))
    held = {"torque": 0.5 * 9.81}  # against the weight of a horizontal rod
    linear = da.linearize(eqs, at=da.assemble(eqs, {"hinge": 0.0}), inputs=held, outputs=["height"])
    assert linear.state_space().C[0] == pytest.approx([1.0, 0.0], abs=1e-9)  # the tip rises by cos 0 per radian
    ekf = da.estimate.ExtendedKalman(eqs, outputs=["height"], Q=1e-6, R=1e-6, P0=1e-2, dt=0.01)
    run = da.simulate(eqs, 1.0, start=da.assemble(eqs, {"hinge": 0.3}), every=0.01, progress=False)
    found = ekf.run(run, start=da.assemble(eqs, {"hinge": 0.2}))
    error = np.abs(found["hinge.angle"] - run["hinge.angle"])
    assert error.max() < 5e-3  # of 0.1 rad at the start: five deviations of the readings, √R = 1 mm on an arm of 1 m


def test_mistakes_of_a_new_sensor_are_named(guests: ModuleType) -> None:
    m = pendulum(guests)
    with raises(ModelError, "wrong-type", "'y'", "'rod'"):
        m.add_sensor("y", guests.Clearance("rod"))
    with raises(ModelError, "negative", "'y'", "offset"):
        m.add_sensor("y", guests.Clearance(m["rod"], offset=-1.0))
    space = da.Mechanism("space")
    body = space.add_body("b", mass=1.0, inertia=1.0)
    with raises(ModelError, "not-supported", "'y'", "radar"):
        space.add_sensor("y", guests.Radar(space.ground, body))
    m.add_sensor("other", guests.Clearance(da.Mechanism("n", planar=True).add_body("b", mass=1.0)))
    with pytest.raises(ModelError) as caught:
        m.validate()
    assert "sensor 'other' uses body 'b' of another mechanism." in str(caught.value)


def test_a_model_file_keeps_a_new_sensor(guests: ModuleType, tmp_path: Path) -> None:
    m = pendulum(guests)
    for suffix in (".toml", ".json"):
        da.write_model(m, tmp_path / f"pendulum{suffix}")
        again = da.read_model(tmp_path / f"pendulum{suffix}")
        assert [one.measure.kind for one in again.sensors] == ["clearance", "radar"]
        assert da.equations(again).content_hash == da.equations(m).content_hash
    table = tomllib.loads((tmp_path / "pendulum.toml").read_text())["sensors"]
    assert table["height"] == {"type": "clearance", "point": "rod(0.5, 0)", "offset": "offset"}
    assert model_schema()["$defs"]["ClearanceSensor"]["required"] == ["type", "point"]
    text = (tmp_path / "pendulum.toml").read_text().replace('offset = "offset"', 'offset = "1 kg"')
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(da.errors.FileFormatError) as caught:
        da.read_model(tmp_path / "bad.toml")
    assert "'1 kg' is in kg; expected length [m]" in str(caught.value)


@pytest.mark.slow
def test_the_installed_command_reads_a_model_with_a_new_sensor(tmp_path: Path) -> None:
    install(tmp_path, "guest_sensors", GUESTS, "dalembert.sensors")
    model = tmp_path / "pendulum.toml"
    model.write_text(
        'name = "pendulum"\nplanar = true\n[bodies.rod]\nmass = 1\ninertia = { rod = 1 }\n[joints.hinge]\n'
        'type = "revolute"\na = "ground(0, 2)"\nb = "rod(-0.5, 0)"\n'
        '[sensors.height]\ntype = "clearance"\npoint = "rod(0.5, 0)"\noffset = "10 cm"\n'
    )
    found = dalembert(tmp_path, "simulate", model, "--until", "0.1", "--start", "hinge.angle=0", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["channels"]["height"]["first"] == pytest.approx(1.9, abs=1e-9)
