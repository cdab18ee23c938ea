"""Kinds of forces of another package: declared in its own module, found through an entry point."""

from __future__ import annotations

import importlib
import inspect
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
from dalembert.mechanics.forces import FORCE_EQUATIONS
from dalembert.model.forces import FORCES
from dalembert.model.forces.force import ForceMethods
from tests.helpers.animation_pages import page_data
from tests.helpers.findings import raises
from tests.helpers.installed_command import dalembert
from tests.helpers.packages import install

GUESTS = '''
from dataclasses import KW_ONLY

import casadi as ca

from dalembert.mechanics.forces import FORCE_EQUATIONS, ForceEquations
from dalembert.model.bodies import Place, Scalar, not_negative, positive
from dalembert.model.forces import Force, force
from dalembert.model.options import option


@force("magnet")
class Magnet(Force):
    """Attraction of two poles, with the inverse square of their distance, and eddy currents against their motion."""

    a: Place = option("point", "first pole")
    b: Place = option("point", "second pole")
    _: KW_ONLY
    strength: Scalar = option("", "force times square of the distance: N m²", check=not_negative)
    eddy: Scalar = option("damping", "force per speed", default=0.0, check=not_negative)
    measured = True
    central = True


def attract(builder, magnet):
    """V = -strength / r."""
    host = builder.host
    at_a, v_a = builder.point(magnet.a)
    at_b, v_b = builder.point(magnet.b)
    d = at_b - at_a
    r = ca.sqrt(ca.dot(d, d))
    e = d / r
    strength = host.number(magnet.strength)
    builder.potential = builder.potential - strength / r
    drag = host.number(magnet.eddy) * ca.dot(e, v_b - v_a)
    for pull, has_potential in ((strength / r**2, True), (drag, False)):
        builder.push(magnet.a, pull * e, has_potential=has_potential)
        builder.push(magnet.b, -pull * e, has_potential=has_potential)
    builder.tensions[magnet.name] = (strength / r**2 + drag, "N")


def draw(drawing, magnet):
    drawing.spring(magnet.name, magnet.a, magnet.b, damped=float(magnet.eddy) > 0)


FORCE_EQUATIONS.register("magnet", ForceEquations(attract, draw))


@force("maxwell element")
class MaxwellElement(Force):
    """A spring and a damper in series along a joint coordinate; the stretch of the spring is an internal state."""

    joint: str = option("coordinate", "a joint coordinate")
    _: KW_ONLY
    stiffness: Scalar = option("stiffness", "of the spring", about="rotational stiffness", check=positive)
    damping: Scalar = option("damping", "of the damper", about="rotational damping", check=positive)

    def states(self):
        return [(f"{self.name}.stretch", "")]


def relax(builder, element):
    host, name = builder.host, f"{element.name}.stretch"
    measured = host.measure(element.joint)
    k, c = host.number(element.stiffness), host.number(element.damping)
    builder.state_rates[name] = measured.rate - k / c * builder.state(name)
    builder.drive(measured, -k * builder.state(name))


FORCE_EQUATIONS.register("maxwell element", ForceEquations(relax))
'''
MASS, STRENGTH, AWAY, STIFFNESS = 0.4, 0.05, 0.5, 30.0


@pytest.fixture
def guests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The kinds, as an import of the other package registers them."""
    (tmp_path / "guest_forces.py").write_text(GUESTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("guest_forces")
    for name in ("magnet", "maxwell element"):
        FORCES.unregister(name)
        FORCE_EQUATIONS.unregister(name)
        delattr(ForceMethods, f"add_{name.replace(' ', '_')}")
    del sys.modules["guest_forces"]


def block(**options: float) -> da.Mechanism:
    """A block on a rail between a spring and a magnet, at rest where the displacement is zero."""
    m = da.Mechanism("block", planar=True, gravity=0)
    body = m.add_body("block", mass=MASS, inertia=0.01)
    m.add_prismatic("rail", m.ground.at(0, 0), body.at(0, 0), axis=(1, 0))
    strength = m.parameter("strength", STRENGTH)
    m.add_spring("coil", joint="rail", stiffness=STIFFNESS, preload=STRENGTH / AWAY**2)
    m.add_magnet("pull", body, m.ground.at(AWAY, 0), strength=strength, **options)
    m.add_sensor("attraction", da.spring_force("pull"))
    return m


def test_a_new_force_keeps_energy_and_is_linearized_with_its_stiffness(guests: ModuleType) -> None:
    eqs = da.equations(block())
    run = da.simulate(eqs, 2.0, start=da.assemble(eqs, {"rail": 0.1}), progress=False)
    # DormandPrince at its default rtol of 1e-6 over some three periods: energy to 1e-5 of that of the spring
    assert np.ptp(run["energy"]) < 1e-5 * 0.5 * STIFFNESS * 0.1**2
    assert run["attraction"] == pytest.approx(STRENGTH / (AWAY - run["rail.displacement"]) ** 2, rel=1e-9)
    for strength in (STRENGTH, 0.0):
        changed = eqs.replace(strength=strength)
        found = da.linearize(changed, at=da.equilibrium(changed)).modes().frequencies[0]
        assert found == pytest.approx(np.sqrt((STIFFNESS - 2 * strength / AWAY**3) / MASS), rel=1e-9)


def test_the_power_of_a_new_force_is_booked(guests: ModuleType) -> None:
    eqs = da.equations(block(eddy=0.5))
    run = da.simulate(eqs, 2.0, start=da.assemble(eqs, {"rail": 0.1}), progress=False)
    lost = run["energy"][0] - run["energy"][-1]
    assert lost > 0.02  # more than a tenth of the energy that the spring has at the start
    power = 0.5 * run["rail.speed"] ** 2
    assert lost == pytest.approx(np.diff(run.time) @ (power[1:] + power[:-1]) / 2, rel=1e-3)  # trapezoidal rule
    assert np.abs(run["energy.balance"]).max() < 1e-5 * lost  # as the run: rtol 1e-6


def test_a_new_force_with_an_internal_state_relaxes(guests: ModuleType) -> None:
    m = da.Mechanism("hinge", planar=True, gravity=0)
    arm = m.add_body("arm", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), arm.at(-0.5, 0))
    m.add_maxwell_element("slow", "A", stiffness=5.0, damping=2.0)
    m.add_driver("held", "A", 0.3)
    eqs = da.equations(m)
    assert eqs.internal.names == ("slow.stretch",)
    start = da.assemble(eqs, internal={"slow.stretch": 0.3})
    run = da.simulate(eqs, 1.0, start=start, progress=False, method=da.DormandPrince(rtol=1e-9, atol=1e-12))
    assert run["slow.stretch"] == pytest.approx(0.3 * np.exp(-2.5 * run.time), rel=1e-7)  # rate k / c
    assert run["held.effort"] == pytest.approx(5.0 * run["slow.stretch"], rel=1e-7)


def test_the_method_of_a_new_force_has_its_signature_and_its_mistakes(guests: ModuleType) -> None:
    m = da.Mechanism("m", planar=True)
    body = m.add_body("b", mass=1.0, inertia=1.0)
    assert list(inspect.signature(m.add_magnet).parameters) == ["name", "a", "b", "strength", "eddy"]
    assert "inverse square" in m.add_magnet.__doc__ and "add_magnet" in dir(m)
    with raises(ModelError, "missing-argument", "'M'", "strength"):
        m.add_magnet("M", m.ground, body)
    with raises(ModelError, "unknown-argument", "'strenth'", "strength"):
        m.add_magnet("M", m.ground, body, strenth=1.0)
    with raises(ModelError, "negative", "'M'", "strength"):
        m.add_magnet("M", m.ground, body, strength=-1.0)
    with raises(ModelError, "wrong-type", "'M'", "'b'"):
        m.add_magnet("M", m.ground, "b", strength=1.0)
    m.add_magnet("M", body.at(0, 1), body, strength=1.0)
    with pytest.raises(ModelError) as caught:
        m.validate()
    assert "magnet 'M' joins body 'b' to itself." in str(caught.value)
    with pytest.raises(AttributeError):
        m.add_magnt


def test_a_model_file_keeps_a_new_force(guests: ModuleType, tmp_path: Path) -> None:
    m = block(eddy=0.5)
    m.add_maxwell_element("slow", "rail", stiffness=5.0, damping=2.0)
    for suffix in (".toml", ".json"):
        da.write_model(m, tmp_path / f"block{suffix}")
        again = da.read_model(tmp_path / f"block{suffix}")
        assert [force.kind for force in again.forces] == ["spring", "magnet", "maxwell element"]
        assert da.equations(again).content_hash == da.equations(m).content_hash
    table = tomllib.loads((tmp_path / "block.toml").read_text())["forces"]["pull"]
    assert table == {"type": "magnet", "a": "block", "b": "ground(0.5, 0)", "strength": "strength", "eddy": 0.5}
    assert model_schema()["$defs"]["Magnet"]["required"] == ["type", "a", "b", "strength"]


def test_mistakes_in_the_table_of_a_new_force_are_found(guests: ModuleType, tmp_path: Path) -> None:
    m = block()
    m.add_maxwell_element("slow", "rail", stiffness=5.0, damping=2.0)
    da.write_model(m, tmp_path / "block.toml")
    text = (tmp_path / "block.toml").read_text()
    for good, bad, shown in (
        ('strength = "strength"', 'strenth = "strength"', ("'strenth'", "strength")),
        ("stiffness = 5.0", 'stiffness = "5 N m/rad"', ("N m", "stiffness [N/m]")),
        ('joint = "rail"\nstiffness = 5.0', 'joint = "rale"\nstiffness = 5.0', ("'rale'", "'rail'")),
    ):
        assert good in text
        (tmp_path / "bad.toml").write_text(text.replace(good, bad))
        with pytest.raises(da.errors.FileFormatError) as caught:
            da.read_model(tmp_path / "bad.toml")
        assert all(word in str(caught.value) for word in shown), str(caught.value)


def test_a_new_force_is_drawn(guests: ModuleType, tmp_path: Path) -> None:
    eqs = da.equations(block(eddy=0.5))
    run = da.simulate(eqs, 0.2, start=da.assemble(eqs, {"rail": 0.1}), progress=False)
    da.animate(run, tmp_path / "block.html")
    drawn = page_data(tmp_path / "block.html")["springs"][0]
    assert (drawn["name"], drawn["damped"]) == ("pull", True)
    assert drawn["a"] == ["block", [0, 0, 0]] and drawn["b"] == [None, [AWAY, 0, 0]]


@pytest.mark.slow
def test_the_installed_command_reads_a_model_with_a_new_force(tmp_path: Path) -> None:
    install(tmp_path, "guest_forces", GUESTS, "dalembert.forces")
    model = tmp_path / "block.toml"
    model.write_text(
        'name = "block"\nplanar = true\ngravity = 0\n[bodies.block]\nmass = 0.4\ninertia = 0.01\n[joints.rail]\n'
        'type = "prismatic"\na = "ground"\nb = "block"\naxis = [1, 0]\n'
        '[forces.coil]\ntype = "spring"\njoint = "rail"\nstiffness = 30\npreload = 0.2\n'
        '[forces.pull]\ntype = "magnet"\na = "block"\nb = "ground(0.5, 0)"\nstrength = 0.05\n'
    )
    found = dalembert(tmp_path, "modes", model, "--json")
    assert found.returncode == 0, found.stderr
    expected = np.sqrt((STIFFNESS - 2 * STRENGTH / AWAY**3) / MASS) / (2 * np.pi)
    assert json.loads(found.stdout)["modes"][0]["frequency_hz"] == pytest.approx(expected, rel=1e-9)
    assert "Magnet" in json.loads(dalembert(tmp_path, "schema").stdout)["$defs"]
