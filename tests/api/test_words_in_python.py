"""Units as text, a machine and its start by name, degrees that were meant, tables of pandas: as people type them."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pandas
import pytest

import dalembert as da
from tests.helpers.findings import raises
from tests.helpers.repetitions import few


def pendulum(mass=2.0, length=0.5, angle=0.0):
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=mass, inertia=da.rod(length), angle=angle)
    m.add_revolute("A", m.ground.at(0, 0), rod.at("-250 mm", 0))
    return m


def test_a_machine_is_simulated_from_named_coordinates_and_rates():
    m = pendulum()
    eqs = da.equations(m)
    run = da.simulate(m, 0.5, start={"A.angle": 0.3, "A.rate": 2.0})
    same = da.simulate(eqs, 0.5, start=da.assemble(eqs, {"A.angle": 0.3}, velocity={"A.angle": 2.0}))
    np.testing.assert_array_equal(run["A.angle"], same["A.angle"])
    with raises(da.errors.ModelError, "unknown-name", "A.angel", "A.angle"):
        da.simulate(m, 0.5, start={"A.angel": 0.3})


def test_a_machine_is_simulated_by_the_first_call_after_the_import():
    """The maker of equations registers itself where its module is loaded."""
    code = (
        "import sys, dalembert as da; m = da.read_model('four-bar'); da.simulate(m, 1e-3, start={'A.angle': 1.0});"
        "assert 'dalembert.linear' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_quantities_with_units_are_texts_in_python_as_in_model_files():
    m, plain = pendulum("2000 g", "50 cm", "90 deg"), pendulum(2.0, 0.5, math.pi / 2)
    for one in (m, plain):
        text = one is m
        one.add_spring(
            "s",
            one.ground.at(0, 1),
            one.bodies[0].at(0.25, 0),
            stiffness="2 N/mm" if text else 2000.0,
            free_length="1 m" if text else 1.0,
        )
        one.add_spring("t", joint="A", stiffness="3 N m/rad" if text else 3.0)
    runs = [da.simulate(one, 0.2, start={"A.angle": angle}) for one, angle in ((m, "-45 deg"), (plain, -math.pi / 4))]
    np.testing.assert_allclose(runs[0].data, runs[1].data, rtol=1e-9, atol=1e-9)
    with raises(da.errors.ModelError, "unit-mismatch", "kg"):
        m.add_body("b", mass="2 m", inertia=1.0)
    with raises(da.errors.ModelError, "unit-mismatch", "rad"):
        da.assemble(da.equations(plain), {"A.angle": "2 m"})
    with raises(da.errors.ModelError, "not-a-number"):
        m.add_spring("u", joint="A", stiffness="hard")


FILE = """
planar = true
gravity = [0, "-981 cm/s^2"]
[parameters]
k = "20 N/mm"
[bodies.rod]
mass = "1 kg"
inertia = { rod = "1 m" }
[bodies.arm]
mass = "500 g"
inertia = "10 kg cm^2"
angle = "90 deg"
position = ["20 mm", 0]
points = { tip = ["50 cm", 0] }
[joints.A]
type = "revolute"
a = "ground"
b = "rod(-50 cm, 0)"
limits = { lower = "-90 deg", upper = "1 rad", speed = "10 rpm", effort = "3 kNm" }
[joints.B]
type = "revolute"
a = "rod(50 cm, 0)"
b = "arm(-50 cm, 0)"
[couplers.g]
type = "gear"
first = "A"
second = "B"
ratio = "200 %"
offset = "10 deg"
[drivers.d]
coordinate = "A"
motion = "30 deg"
[variables.s]
start = "20 %"
[forces.spring]
type = "spring"
a = "ground"
b = "arm"
stiffness = "k"
free_length = "1 m"
damping = "0.1 N s/mm"
preload = "1 kN"
[forces.hinge]
type = "spring"
joint = "A"
stiffness = "3 N m/rad"
free = "90 deg"
[forces.damper]
type = "damper"
joint = "A"
damping = "0.1 N m s/rad"
[forces.friction]
type = "friction"
joint = "A"
viscous = "0.1 N m s/rad"
effort = "2 mNm"
[forces.stop]
type = "stop"
joint = "A"
lower = "-90 deg"
stiffness = "100 N m/rad"
[forces.tendon]
type = "tendon"
coordinates = { A = "20 mm", B = "1 cm" }
stiffness = "1 N/mm"
upper = "1 cm"
[forces.rotor]
type = "rotor"
joint = "A"
inertia = "10 kg cm^2"
[forces.torque]
type = "torque"
body = "arm"
torque = "3 kNm"
[forces.push]
type = "force"
point = "arm.tip"
force = ["3 N", "-2 kN"]
[forces.effort]
type = "actuator"
joint = "B"
effort = "2 mNm"
[forces.motor]
type = "actuator"
joint = "B"
input = "u"
model = { type = "dc motor", resistance = "2 Ohm", inductance = "3 mH", torque_constant = "20 mNm/A" }
[forces.bushing]
type = "bushing"
a = "ground"
b = "arm"
stiffness = ["1 N/mm", "2 N/mm"]
rotational_stiffness = "3 N m/rad"
[forces.contact]
type = "contact"
plane = "ground(0, -2)"
point = "arm"
stiffness = "1 kN/mm^1.5"
exponent = 1.5
damping = "0.2 s/m"
friction = "30 %"
"""


def machine_of_texts():
    m = da.Mechanism("m", planar=True, gravity=(0, "-981 cm/s^2"))
    k = m.parameter("k", "20 N/mm")
    rod = m.add_body("rod", mass="1 kg", inertia=da.rod("1 m"))
    points = {"tip": ("50 cm", 0)}
    arm = m.add_body("arm", mass="500 g", inertia="10 kg cm^2", angle="90 deg", position=("20 mm", 0), points=points)
    limits = {"lower": "-90 deg", "upper": "1 rad", "speed": "10 rpm", "effort": "3 kNm"}
    m.add_revolute("A", m.ground.at(0, 0), rod.at("-50 cm", 0), limits=limits)
    m.add_revolute("B", rod.at("50 cm", 0), arm.at("-50 cm", 0))
    m.add_gear("g", "A", "B", ratio="200 %", offset="10 deg")
    m.add_driver("d", "A", "30 deg")
    m.add_variable("s", "20 %")
    m.add_spring("spring", m.ground, arm, stiffness=k, free_length="1 m", damping="0.1 N s/mm", preload="1 kN")
    m.add_spring("hinge", joint="A", stiffness="3 N m/rad", free="90 deg")
    m.add_damper("damper", joint="A", damping="0.1 N m s/rad")
    m.add_friction("friction", "A", viscous="0.1 N m s/rad", effort="2 mNm")
    m.add_stop("stop", "A", lower="-90 deg", stiffness="100 N m/rad")
    m.add_tendon("tendon", {"A": "20 mm", "B": "1 cm"}, stiffness="1 N/mm", upper="1 cm")
    m.add_rotor("rotor", "A", inertia="10 kg cm^2")
    m.add_torque("torque", arm, torque="3 kNm")
    m.add_force("push", arm.at("tip"), force=("3 N", "-2 kN"))
    m.add_actuator("effort", "B", effort="2 mNm")
    motor = da.DCMotor(resistance="2 Ohm", inductance="3 mH", torque_constant="20 mNm/A")
    m.add_actuator("motor", "B", input="u", model=motor)
    m.add_bushing("bushing", m.ground, arm, stiffness=("1 N/mm", "2 N/mm"), rotational_stiffness="3 N m/rad")
    place = m.ground.at(0, "-2 m")
    m.add_contact("contact", place, arm, stiffness="1 kN/mm^1.5", exponent=1.5, damping="0.2 s/m", friction="30 %")
    return m


def test_every_quantity_of_a_model_file_may_be_a_text_with_its_unit_in_python(tmp_path):
    (tmp_path / "m.toml").write_text(FILE)
    for name, m in (("file", da.read_model(tmp_path / "m.toml")), ("python", machine_of_texts())):
        da.write_model(m, tmp_path / f"{name}.toml")
    assert (tmp_path / "python.toml").read_text() == (tmp_path / "file.toml").read_text()


def test_rotations_runs_inputs_and_parameters_take_texts():
    turned = [da.rotation(axis=(0, 0, 1), angle="90 deg"), da.rotation(vector=(0, 0, "90 deg"))]
    turned.append(da.rotation(tait_bryan=(0, 0, "90 deg")))
    for one in turned:
        np.testing.assert_allclose(one.quaternion, (math.sqrt(0.5), 0, 0, math.sqrt(0.5)), atol=1e-15)
    m = pendulum()
    m.add_spring("s", joint="A", stiffness=m.parameter("k", "2 N m/rad"))
    m.add_actuator("motor", "A", input="u")
    eqs = da.equations(m)
    assert eqs.replace(k="3 mNm").parameter_values == (3e-3,)
    run = da.simulate(eqs, "300 ms", every="100 ms", inputs={"u": "2 mNm"}, start={"A.angle": "10 deg"})
    same = da.simulate(eqs, 0.3, every=0.1, inputs={"u": 2e-3}, start={"A.angle": math.radians(10)})
    np.testing.assert_array_equal(run.data, same.data)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m: m.add_spring("s", joint="A", stiffness="3 N/m"),
        lambda m: m.add_spring("s", m.ground.at(0, 1), m.bodies[0], stiffness="3 N m/rad"),
        lambda m: m.add_stop("s", "A.angle", lower="3 mm", stiffness=1.0),
        lambda m: m.add_damper("s", joint=m.joints[0], damping="3 N s/m"),
        lambda m: m.add_driver("d", "A", "3 mm"),
        lambda m: m.add_revolute("B", m.bodies[0], m.ground, at=(0, 0), limits={"lower": "-3 mm"}),
        lambda m: m.add_revolute("B", m.bodies[0], m.ground, at=(0, 0), limits={"effort": "3 N"}),
        lambda m: m.add_torque("t", m.bodies[0], torque="3 m"),
        lambda m: da.rotation(axis=(0, 0, 1), angle="3 m"),
    ],
)
def test_a_text_with_the_unit_of_another_quantity_is_refused(wrong):
    with raises(da.errors.ModelError, "unit-mismatch", "expected"):
        wrong(pendulum())


@pytest.mark.parametrize("angle", few([60.0, 90.0, -180.0, 1000.0], 3))
def test_an_angle_of_many_turns_is_assembled(angle):
    assert da.assemble(da.equations(pendulum()), {"A.angle": angle})["A.angle"] == pytest.approx(angle, rel=1e-12)


def test_an_angle_of_sixty_that_cannot_be_asks_for_degrees():
    m = da.Mechanism("rocker", planar=True)
    crank, coupler, rocker = (m.add_body(name, mass=1.0, inertia=0.01) for name in ("crank", "coupler", "rocker"))
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.05, 0))
    m.add_revolute("B", crank.at(0.05, 0), coupler.at(-0.15, 0))
    m.add_revolute("C", coupler.at(0.15, 0), rocker.at(0.125, 0))
    m.add_revolute("D", m.ground.at(0.3, 0), rocker.at(-0.125, 0))
    eqs = da.equations(m)
    with raises(da.errors.AssemblyError, "joint-open", "60 deg"):
        da.assemble(eqs, {"D.angle": 60}, restarts=0)
    with raises(da.errors.AssemblyError, "joint-open") as caught:
        da.assemble(eqs, {"D.angle": 0.0, "A.angle": 0.1}, restarts=0)
    assert "deg" not in str(caught.value)


def test_a_table_of_pandas_is_a_record_and_back():
    run = da.simulate(pendulum(), 0.1, every=0.01)
    back = da.Record.from_pandas(run.to_pandas())
    np.testing.assert_array_equal(back.data, run.data)
    assert (back.names, back.units, back.name, back.status) == (run.names, run.units, run.name, run.status)
    dates = pandas.DataFrame({"a": [1.0, 2.0, 4.0]}, index=pandas.date_range("2026-01-01", periods=3, freq="20ms"))
    assert da.Record.from_pandas(dates, {"a": "m"}).time.tolist() == [0.0, 0.02, 0.04]
    named = pandas.DataFrame({"t": [0.0, 0.5], "force": [3, 4]})
    assert da.Record.from_pandas(named, time="t")["force"].tolist() == [3.0, 4.0]
    with raises(da.errors.DataError, "not-a-number", "b"):
        da.Record.from_pandas(pandas.DataFrame({"b": ["x", "y"]}))
    with raises(da.errors.DataError, "wrong-type"):
        da.Record.from_pandas([1.0])
    assert np.asarray(run).shape == run.data.shape
    with raises(da.errors.DataError, "wrong-type", "from_pandas"):
        da.identify.auto(named, "force")
