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
from tests.helpers.written_machines import LAWS, planar_machine, spatial_machine


def again(m: da.Mechanism, folder: Path, suffix: str = ".toml") -> da.Mechanism:
    file = folder / f"copy{suffix}"
    write_model(m, file)
    return read_model(file)


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
