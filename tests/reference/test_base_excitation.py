"""A flexible body on a base that is shaken: by a motion, by a measured acceleration, and in linear models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.structures import Frame, Rayleigh, Section, assemble_structure, flexible_body
from tests.helpers.repetitions import few

RATE, SIZE = 11.0, 2.0  # frequency [rad/s] and amplitude [m/s²] of the base
DAMPING, LOAD = Rayleigh(beta=1e-3), 0.3  # LOAD [kg] at the top


def frame() -> Frame:
    """A mast of steel, 1 m."""
    f = Frame("mast", planar=True)
    f.add_points(["foot", "top"], [[0.0, 0.0], [0.0, 1.0]])
    f.add_beam("mast", "foot", "top", section=Section.rectangle(0.01, 0.03), material="steel", elements=10)
    return f


def mast(**drive: Any) -> da.Mechanism:
    """The mast with a mass at its top on a table on rails, which a driver moves."""
    m = da.Mechanism("shaken mast", planar=True, gravity=0)
    table = m.add_body("table", mass=5.0, inertia=0.1)
    data = flexible_body(frame(), basis="clamped", fixed="foot", modes=3, damping=DAMPING, static="top.x")
    body = m.add_flexible_body("mast", data)
    load = m.add_body("load", mass=LOAD, inertia=1e-4, position=(0.0, 1.0))
    m.add_prismatic("rail", m.ground.at(0.0, 0.0), table.at(0.0, 0.0))
    m.add_fixed("bolt", table.at(0.0, 0.0), body.at("foot"))
    m.add_fixed("clamp", body.at("top"), load.at(0.0, 0.0))
    m.add_driver("shaker", "rail.displacement", **drive)
    m.add_sensor("top", da.deflection(body.at("top")))
    return m


def motion(t: Any) -> Any:
    """Twice the integral of SIZE sin(RATE t), from rest."""
    return SIZE / RATE**2 * (RATE * t - da.sin(RATE * t))


METHODS = (da.GeneralizedAlpha(step=5e-4), da.Rosenbrock(), da.DormandPrince(), da.Sundials())


@pytest.mark.parametrize("method", few(METHODS, 2), ids=lambda one: type(one).__name__)
def test_the_base_moved_by_its_acceleration_shakes_the_mast_as_its_motion_does(method: Any) -> None:
    """Of a deflection of 1.9 mm: 1e-7 m where steps are of second order, else 1e-8 m, the tolerance of the method."""
    moved, driven = da.equations(mast(motion=motion)), da.equations(mast(input="quake"))
    assert dict(zip(driven.inputs.names, driven.inputs.units, strict=True)) == {"quake": "m/s^2"}
    one = da.simulate(moved, 1.0, method=method, every=0.01, progress=False)
    inputs = {"quake": lambda t: SIZE * da.sin(RATE * t)}
    other = da.simulate(driven, 1.0, inputs=inputs, method=method, every=0.01, progress=False)
    limit = 1e-7 if isinstance(method, da.GeneralizedAlpha) else 1e-8
    assert np.abs(one["top.x"]).max() > 1.5e-3
    assert other["top.x"] == pytest.approx(one["top.x"], abs=limit)
    assert other["rail.displacement"] == pytest.approx(motion(other.time), abs=1e-6)


@pytest.mark.slow
def test_a_measured_acceleration_of_any_length_is_an_input() -> None:
    """40 s at 200 Hz: 8001 samples, straight lines between them in both routes.

    The run takes steps of 1 ms with (ω h)²/12 = 4e-4 of a period of error in a period of the mode at 6.4 Hz, which
    damping of 2 % forgets after some ten periods: 1 %.
    """
    time = 0.005 * np.arange(8001)
    noise = np.random.default_rng(3).normal(size=(5, 2))
    waves = np.sum([a * np.sin((3.0 + 4.0 * k) * time + b) for k, (a, b) in enumerate(noise)], axis=0)
    quake = da.Record.from_channels(time, {"quake": waves}, units={"quake": "m/s^2"})
    eqs = da.equations(mast(input="quake"))
    run = da.simulate(eqs, 40.0, inputs=quake, method=da.GeneralizedAlpha(step=1e-3), every=0.005, progress=False)
    exact = da.linearize(eqs, at=da.assemble(eqs)).response(quake, hold="first")["top.x"]
    assert run["top.x"] == pytest.approx(exact, abs=0.01 * np.abs(exact).max())


def test_the_linear_model_answers_the_base_as_the_finite_elements_do() -> None:
    """Deflection of the top per acceleration of the base, up to three times the first frequency: the static shape and
    three modes leave 1e-4 of it out."""
    eqs = da.equations(mast(input="quake"))
    linear = da.linearize(eqs, at=da.assemble(eqs))
    held = frame()
    held.add_support("foot", "fixed")
    held.add_mass("load", "top", LOAD, inertia=1e-4)
    exact = assemble_structure(held).system(base="x", outputs=["top.x"], damping=DAMPING)
    rates = exact.modes(1).frequencies[0] * np.array([0.05, 0.5, 0.9, 1.0, 1.1, 2.0, 3.0])
    found = linear.frequency_response(rates, inputs="quake", outputs="top.x").values.ravel()
    assert np.abs(found) == pytest.approx(np.abs(exact.frequency_response(rates).values.ravel()), rel=1e-3)
    assert np.abs(found[3] / found[0]) > 10.0


def test_inverse_dynamics_gives_the_acceleration_of_the_base_back() -> None:
    eqs = da.equations(mast(input="quake"))
    run = da.simulate(eqs, 0.2, inputs={"quake": lambda t: SIZE * da.sin(RATE * t)}, every=1e-3, progress=False)
    found = da.inverse_dynamics(eqs, run)
    assert found["quake"] == pytest.approx(run["quake"], abs=1e-9)
    assert found["shaker.effort"] == pytest.approx(run["shaker.effort"], abs=1e-6)


def test_a_model_file_keeps_the_input_of_a_driver(tmp_path: Any) -> None:
    da.write_model(mast(input="quake"), tmp_path / "mast.toml")
    again = da.read_model(tmp_path / "mast.toml")
    assert again.inputs() == ["quake"] and again.drivers[0].motion is None


def test_kinematics_prescribes_what_an_input_would() -> None:
    m = da.Mechanism("table", planar=True)
    table = m.add_body("table", mass=5.0, inertia=0.1)
    m.add_prismatic("rail", m.ground.at(0.0, 0.0), table.at(0.0, 0.0))
    m.add_driver("shaker", "rail.displacement", input="quake")
    eqs = da.equations(m)
    found = da.inverse_dynamics(eqs, {"rail.displacement": lambda t: 1.5 * t**2}, times=[0.0, 0.1, 0.2])
    assert found["quake"] == pytest.approx(3.0, abs=1e-12)
    assert found["shaker.effort"] == pytest.approx(15.0, abs=1e-12)


@pytest.mark.parametrize(
    ("coordinate", "drive", "code"),
    (
        ("rail.displacement", {}, "missing-argument"),
        ("rail.displacement", {"motion": 1.0, "input": "quake"}, "conflicting-arguments"),
        ("table.pose", {"input": "quake"}, "not-supported"),
    ),
)
def test_a_driver_has_a_motion_or_an_input(coordinate: str, drive: dict[str, Any], code: str) -> None:
    with pytest.raises(da.errors.ModelError) as caught:
        da.Mechanism("table").add_driver("shaker", coordinate, **drive)
    assert caught.value.code == code and caught.value.where == {"driver": "shaker"}
