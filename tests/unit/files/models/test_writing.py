"""Mechanisms to files and back: everything but Python functions, without loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.files.models import list_models, parse_model, read_model, write_model
from tests.helpers.findings import raises
from tests.helpers.same_equations import ROUNDING, difference


def again(m: da.Mechanism, folder: Path, suffix: str = ".toml") -> da.Mechanism:
    file = folder / f"copy{suffix}"
    write_model(m, file)
    return read_model(file)


def planar_machine() -> da.Mechanism:
    """One of everything a planar mechanism can hold."""
    m = da.Mechanism("all of it, planar", planar=True, gravity=(0.1, -9.7))
    length, mass = m.parameter("length", 0.4), m.parameter("bar mass", 1.3)
    bar = m.add_body("bar", mass=mass, inertia=da.rod(length), position=(0.2, 0.1), angle=0.3)
    disc = m.add_body("disc 2", mass=0.7, inertia=da.cylinder(length / 3, axis="z"), center=(0.01, length / 9))
    block = m.add_body(
        "block", inertia=da.composite((da.box(0.1, 0.2), mass, (0, 0)), (da.sphere(0.1), 0.5, (length, 0)))
    )
    last = m.add_body("last", mass=2.0, inertia=0.4)
    m.add_revolute("A", m.ground.at(0, 0), bar.at(-length / 2, 0))
    m.add_prismatic("B", bar.frame(0.1, 0, angle=0.4), disc.at(0, 0), axis=(1, length))
    m.add_fixed("W", disc.at(0.1, 0.1), block.at(0, 0))
    m.add_massless_rod("R", block.at(0, 0.1), last.at(0, 0), length=da.math.sqrt(length) * 2)
    m.add_pin_in_slot("slot", bar.at(0, 0), last.at(0.1, 0), axis=(0.5, 0.5))
    m.add_rolling_wheel("roll", m.ground.at(0, -1), last, radius=length)
    m.add_rolling_discs("gears", bar.at(0, 0), last, radius=0.3, second_radius=0.1, inside=True)
    m.add_gear("ratio", "A", "last.angle", ratio=length * 3, offset=-0.2)
    m.add_rack_and_pinion("rack", "A.angle", "B", radius=0.05)
    m.add_driver("hold", "last.x", length * 2)
    m.add_spring("s1", m.ground.at(0, 1), bar.at(length / 2, 0), stiffness=100 * mass, damping=2.0, free_length=0.3)
    m.add_spring("s2", joint="A", stiffness=3.0, damping=0.1, free=0.2, preload=-length)
    m.add_spring("s3", joint="B", law=da.math.table([-1.0, 0.0, 2.0], [-3.0, 0.0, 1.0]))
    m.add_damper("d", joint="B", damping=4.0)
    m.add_bushing("bush", bar.frame(0, 0, angle=length), last, stiffness=(1, 2), damping=0.1, rotational_stiffness=5)
    m.add_force("push", bar.at(0.1, 0.2), (1.0, -mass), axes="body")
    m.add_force("steer", last, (0.0, 2.0), input="u")
    m.add_torque("twist", bar, 0.3)
    m.add_actuator("motor", joint="A", input="torque")
    m.add_friction("rub", "A", viscous=0.1, coulomb=0.2, radius=length / 20, speed=0.01, preload=3.0)
    m.add_friction("dry", "B", coulomb=0.1, static=mass / 10)
    m.add_stop("end", "B", lower=-1.0, stiffness=1e4, damping=mass)
    m.add_contact("floor", m.ground.at(0, -2), last.at(0, 0), normal=(0.1, 1), radius=0.1, stiffness=1e5, friction=0.3)
    m.add_contact("wall", bar, last, normal=(length, 1.0), stiffness=1e3, exponent=1.5, damping=0.2)
    m.add_actuator("lag", "A", input="v", model=da.FirstOrderLag(0.1, gain=mass))
    m.add_actuator("dc", "B", input="w", model=da.DCMotor(0.1, 1.0, 0.01, gear_ratio=10.0, rotor_inertia=1e-4))
    m.add_actuator("plain", "A", input="u")
    sensors = {"e": da.angle("A"), "r": da.rate("A"), "x": da.displacement("B"), "v1": da.speed("B"),
               "a": da.joint_acceleration("A"), "p": da.position(bar.at(length, 0)), "v2": da.velocity(disc.at(0, 0)),
               "acc": da.acceleration(last.at(0, 0)), "imu": da.accelerometer(bar.frame(0, 0, angle=0.5)),
               "gyro": da.gyroscope(bar), "far": da.distance(bar.at(0, 0), disc.at(0.1, 0)),
               "load": da.reaction("A", axes="joint"), "tension": da.spring_force("s1"), "E": da.energy()}  # fmt: skip
    for name, measure in sensors.items():
        m.add_sensor(name, measure)
    return m


def spatial_machine() -> da.Mechanism:
    """One of everything a spatial mechanism can hold."""
    m = da.Mechanism("all of it, spatial")
    k = m.parameter("left.k", 20.0)
    turned = (0.5, 0.5, -0.5, 0.5)
    a = m.add_body("a", mass=1.0, inertia=da.box(0.1, 0.2, 0.3), position=(1, 0, 0), rotation=turned)
    b = m.add_body("b.c", mass=k / 10, inertia=da.sphere(0.2, hollow=True), position=(0, 1, 0))
    c = m.add_body("c", mass=3.0, inertia=[[0.3, 0.01, 0], [0.01, 0.4, k / 1000], [0, k / 1000, 0.5]])
    d = m.add_body("d", mass=1.0, inertia=da.rod(k / 20, axis="y"), center=(0.1, 0, k / 100))
    e = m.add_body("e", mass=1.0, inertia=(0.1, 0.2, 0.25))
    m.add_revolute("A", m.ground, a, at=(0.5, 0, 0), axis=(1, 2, 3))
    m.add_prismatic("B", a.at(0, 0, 0.1), b.at(0, 0, 0), axis=(0, 1, 0), axis_b=(1, 0, 0))
    m.add_cylindrical("C", b, c, at=(0, 0, 0))
    m.add_universal("U", c.at(0, 0, 1), d.at(0, 0, 0))
    m.add_spherical("S", d.at(0.3, 0, 0), e.at(0, 0, 0))
    m.add_planar("P", m.ground.at(0, 0, 0), e.at(0, 0, k / 50), axis=(0, 0.1, 1))
    m.add_screw("screw", a.at(1, 0, 0), e.at(0, 1, 0), lead=0.01, axis=(1, 0, 0))
    m.add_fixed("W", a.frame(0, 0, 1, axis=(1, 1, 0), x=(0, 0, 1)), c.at(0, 0, 0))
    m.add_point_on_line("line", a.at(0, 0, 0), d.at(0, 0, 0), axis=(0, 1, 1))
    m.add_point_on_plane("plane", b.at(0, 0, 0), d.at(0, 0.1, 0), axis=(1, 0, 1))
    m.add_rolling_wheel("wheel", m.ground, d, radius=0.2, axis=(0, 0.6, 0.8), normal=(0, 0.1, 1))
    m.add_rolling_sphere("ball", m.ground.at(0, 0, -1), e, radius=k / 40, normal=(0, 0, 1))
    m.add_gear("g", "U.angle1", "C.displacement", ratio=0.3)
    m.add_bushing("bush", a.frame(0, 0, 0, axis=(0, 1, 0)), b, stiffness=(1, 2, k), rotational_damping=(0.1, 0, 0.2))
    m.add_force("f", a.at(0, 1, 0), (k, 0, 1))
    m.add_torque("t", c, (0.0, 1.0, k), axes="body")
    m.add_torque("u", e, (1.0, 0.0, 0.0), input="u")
    m.add_contact("floor", m.ground.at(0, 0, -2), a.at(0, 0, 0), normal=(0, 1, 1), stiffness=1e4, damping=0.1)
    m.add_friction("rub", "C", viscous=0.2)
    m.add_sensor("imu", da.accelerometer(a.frame(0, 0, 0.1, axis=(1, 0, 0))))
    m.add_sensor("gyro", da.gyroscope(a.frame(0, 0, 0, axis=(1, 0, 1))))
    m.add_sensor("load", da.reaction("S"))
    m.add_sensor("slide", da.speed("C.displacement"))
    return m


@pytest.mark.parametrize("make", [planar_machine, spatial_machine])
@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_everything_a_mechanism_can_hold_goes_to_a_file_and_back(make: Any, suffix: str, tmp_path: Path) -> None:
    m = make()
    copy = again(m, tmp_path, suffix)
    assert repr(copy) == repr(m)
    assert difference(da.equations(m), da.equations(copy)) < ROUNDING
    first = (tmp_path / f"copy{suffix}").read_text()
    again(copy, tmp_path, suffix)
    assert (tmp_path / f"copy{suffix}").read_text() == first  # nothing moves the second time


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n == "stewart" else ()) for n in list_models()]
)
def test_every_library_model_goes_to_a_file_and_back(name: str, tmp_path: Path) -> None:
    m = read_model(name)
    copy = again(m, tmp_path)
    assert difference(da.equations(m), da.equations(copy), samples=1) < ROUNDING
    assert copy.start == m.start
    assert {k: v for k, v in copy.simulation.items() if k != "inputs"} == {
        k: v for k, v in m.simulation.items() if k != "inputs"
    }
    for channel, value in m.simulation.get("inputs", {}).items():
        t = 0.7
        got = copy.simulation["inputs"][channel]
        assert float(got(t) if callable(got) else got) == pytest.approx(float(value(t) if callable(value) else value))


@pytest.mark.parametrize(
    "study",
    [
        "machines.crank_rocker",
        "estimation.excavator",
        "estimation.slider_crank_forces",
        "estimation.slider_crank_experiment",
    ],
)
def test_the_machines_of_the_studies_go_to_a_file_and_back(study: str, tmp_path: Path) -> None:
    import importlib

    room = importlib.import_module(f"dalembert.studies.{study}")
    m = getattr(room, "mechanism", None) or room.machine
    assert difference(da.equations(m()), da.equations(again(m(), tmp_path)), samples=1) < ROUNDING


LAWS = """
planar = true
[parameters]
k = 3.0
[bodies.b]
mass = 1
inertia = 1
[joints.curve]
type = "point on curve"
a = "ground"
b = "b"
curve = ["s", "k*s**2/10"]
[variables.w]
start = 0.5
[constraints.c]
residual = ["w - k*b.angle"]
[constraints.d]
level = "acceleration"
residual = "acceleration(b.vx) - 3*t"
[drivers.d1]
coordinate = "w"
motion = "k*sin(2*t) + where(t > k, 1, 0)"
[forces.f]
type = "force"
point = "b"
force = ["-k*b.x - b.vx", "2*cos(t)"]
[forces.g]
type = "torque"
body = "b"
torque = "-k*b.angle**3"
[forces.s]
type = "spring"
a = "ground(1, 1)"
b = "b"
law = "k*extension + speed/2"
[forces.s2]
type = "spring"
a = "ground(2, 1)"
b = "b"
law = { table = [[0, 0], [1, 2], [3, "k"]] }
[sensors.e]
type = "expression"
expression = "k*b.x**2 + t"
unit = "J"
"""


def test_laws_of_a_file_are_written_as_they_were_read(tmp_path: Path) -> None:
    m = parse_model(LAWS)
    assert difference(da.equations(m), da.equations(again(m, tmp_path))) < ROUNDING


def test_a_machine_with_python_functions_is_refused_with_the_names_of_all_of_them(tmp_path: Path) -> None:
    m = da.Mechanism("m", planar=True)
    b = m.add_body("b", mass=1.0, inertia=1.0)
    m.add_revolute("A", m.ground.at(0, 0), b.at(0, 1))
    m.add_driver("d", "A", lambda t: t)
    m.add_constraint("c", lambda s: s["b.x"])
    m.add_spring("s", joint="A", law=lambda e, v: e)
    m.add_force("f", b.at(0, 0), lambda s: (s.t, 0))
    m.add_sensor("y", da.expression(lambda s: s.t))
    with pytest.raises(da.errors.ModelError) as caught:
        write_model(m, tmp_path / "m.toml")
    for name in ("driver 'd'", "constraint 'c'", "spring 's'", "force 'f'", "sensor 'y'"):
        assert name in str(caught.value)
    assert not (tmp_path / "m.toml").exists()


def test_what_is_not_a_mechanism_or_not_sound_is_refused(tmp_path: Path) -> None:
    with raises(da.errors.ModelError, "wrong-type", "str"):
        write_model("four-bar", tmp_path / "m.toml")  # type: ignore[arg-type]
    with raises(da.errors.ModelError, "no-bodies", "'empty'"):
        write_model(da.Mechanism("empty"), tmp_path / "m.toml")
    with raises(da.errors.FileFormatError, "unknown-suffix", "m.yaml"):
        write_model(read_model("pendulum"), tmp_path / "m.yaml")


def test_a_parameter_called_like_time_cannot_be_written(tmp_path: Path) -> None:
    m = da.Mechanism("m", planar=True)
    m.add_body("b", mass=m.parameter("t", 2.0), inertia=1.0)
    with raises(da.errors.ModelError, "not-writable", "'t'"):
        write_model(m, tmp_path / "m.toml")


def test_start_method_and_inputs_go_along(tmp_path: Path) -> None:
    m = read_model("pendulum")
    assert m.description
    m.simulation = {"until": 2.0, "method": da.GeneralizedAlpha(1e-3, rho=0.5), "every": 0.1}
    m.start = {"position": {"hinge.angle": np.float64(0.5)}, "t": 1.0}
    copy = again(m, tmp_path)
    assert copy.simulation == m.simulation and copy.start == m.start
    assert copy.description == m.description
    m.simulation["events"] = ()
    with raises(da.errors.ModelError, "not-writable", "events"):
        write_model(m, tmp_path / "m.toml")


def test_odd_names_survive(tmp_path: Path) -> None:
    m = da.Mechanism('a "quoted" name\\', planar=True)
    size = m.parameter("größe 1", 0.5)
    b = m.add_body("Körper (1)", mass=1.0, inertia=1.0)
    m.add_revolute("J, 1", m.ground.at(0, 0), b.at(size, 0))
    m.add_actuator("x=y", joint="J, 1", effort=-2 * size)
    copy = again(m, tmp_path)
    assert copy.name == m.name and copy.bodies[0].name == b.name
    assert difference(da.equations(m), da.equations(copy)) < ROUNDING
