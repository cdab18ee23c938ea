"""Modes of machines: what the page of an animation is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.view.animation.mode_playback import REACH
from tests.helpers import flexible_parts
from tests.helpers.findings import raises, warns


def data_of(*args: Any, **how: Any) -> dict[str, Any]:
    return dict(da.animate(*args, **how)._data)


def test_the_mode_of_a_linkage_moves_its_bodies_as_its_joints_allow() -> None:
    eqs = da.equations(da.read_model("four-bar"))
    rest = da.equilibrium(eqs)
    found = data_of(rest)
    h = 1e-6
    states = [da.assemble(eqs, {"A.angle": rest["A.angle"] + way * h}, start=rest) for way in (1, -1)]
    names = [[f"{body['name']}.{axis}" for axis in ("x", "y", "angle")] for body in found["bodies"]]
    expected = np.array([[(states[0][n] - states[1][n]) / (2 * h) for n in row] for row in names])
    drawn = found["shapes"][0]
    factor = drawn.ravel() @ expected.ravel() / (expected.ravel() @ expected.ravel())
    # central differences of an assembly that closes to 1e-12
    assert drawn == pytest.approx(factor * expected, abs=2e-6 * np.abs(drawn).max())
    assert found["turned"] is None
    assert [mode["title"] for mode in found["modes"]] == ["1.12 Hz"]


def test_small_turns_in_space_are_about_axes_of_the_world() -> None:
    m = da.Mechanism("tilted", gravity=(0, 0, -9.81))
    bob = m.add_body("bob", mass=1.0, inertia=(0.01, 0.02, 0.03), position=(0, 0, -1), rotation=(0.5, 0.5, 0.5, 0.5))
    m.add_revolute("hinge", m.ground, bob, at=(0, 0, 0), axis=(0, 1, 0))
    found = data_of(m)
    moved, turned = found["shapes"][0, 0, :3], found["shapes"][0, 0, 3:]
    assert turned / turned[1] == pytest.approx([0.0, 1.0, 0.0], abs=1e-9)
    assert moved == pytest.approx(np.cross(turned, [0.0, 0.0, -1.0]), abs=1e-9)


def test_damped_modes_are_complex_and_report_phases() -> None:
    found = data_of(da.read_model("quarter-car"))
    assert found["turned"] is not None
    first = found["modes"][0]
    assert first["title"] == "1.209 Hz"
    assert first["note"] == "damping 23.1 %"
    name, size, phase = first["parts"][1]
    assert name == "wheel_height.displacement"
    assert 0.05 < size < 0.2
    assert 10.0 < phase < 60.0


def test_a_rolling_machine_in_steady_motion_shows_weave_capsize_and_castering() -> None:
    eqs = da.equations(da.read_model("bicycle"))
    state = da.assemble(eqs, velocity={"rear.angle": 5.0 / 0.3, "steer.angle": 0.0, "frame.wx": 0.0})
    found = data_of(state)["modes"]
    # Meijaard and others (2007), table 2, 5 m/s: capsize -0.32287, weave -0.77534 ± 4.46487i, castering -14.07839
    assert [mode["kind"] for mode in found] == ["decays", "", "decays"]
    assert found[0]["note"] == "does not oscillate, s = -0.3229 1/s"
    assert found[1]["title"] == f"{abs(-0.77534 + 4.46487j) / (2 * np.pi):.4g} Hz"
    assert found[2]["note"] == "does not oscillate, s = -14.08 1/s"


def test_given_modes_are_drawn_on_their_machine_and_no_other() -> None:
    m = da.read_model("double-pendulum")
    eqs = da.equations(m)
    modes = da.linearize(eqs).modes()
    assert data_of(modes, structure=eqs)["shapes"] == pytest.approx(data_of(m)["shapes"])
    assert len(data_of(m, modes=1)["modes"]) == 1
    with raises(DataError, "wrong-owner", "'four-bar'"):
        da.animate(modes, structure=da.read_model("four-bar"))
    with raises(DataError, "wrong-type"):
        da.animate(m, modes=0)
    assert data_of(da.simulate(eqs, until=0.1), structure=m)["frames"] > 1  # a run, drawn as this machine
    with raises(DataError, "wrong-owner"):
        da.animate(da.linear.Modes([1j], [[1.0]], ["shoulder.angle"]), structure=eqs)


def test_the_first_amplitude_is_seen_and_joints_hardly_gape() -> None:
    for name in ("four-bar", "double-pendulum", "quarter-car"):
        found = data_of(da.read_model(name))
        largest = np.abs(found["shapes"]).max(axis=(1, 2))
        assert (largest > 0.02 * found["own"]).all()
        assert (np.abs(found["shapes"][:, :, 2]) < 1.0).all()


def test_flexible_bodies_bend_in_the_modes_of_their_machine() -> None:
    m = da.Mechanism("clamped", planar=True, gravity=0)
    rod = m.add_flexible_body("rod", flexible_parts.cantilever(flexible_parts.lines(False)))
    m.add_fixed("clamp", m.ground.at(0, 0), rod.at("root"))
    eqs = da.equations(m)
    state = da.assemble(eqs)
    data = da.animate(state)._data
    body = data["bodies"][0]["flexible"]
    assert np.abs(data["shapes"]).max() < 1e-9  # its frame is held
    assert body["shapes"].shape == (2, 2)
    moved = np.linalg.norm(np.tensordot(body["shapes"], body["modes"], 1), axis=2).max(axis=1)
    assert moved == pytest.approx(REACH * 2.0 * data["own"])
    # in proportion as the eigenvectors of the body alone
    own = flexible_parts.cantilever()
    values, vectors = scipy.linalg.eigh(own.stiffness, own.modal_mass)
    assert body["shapes"][:, 1] / body["shapes"][:, 0] == pytest.approx(vectors[1] / vectors[0], rel=1e-6)
    hertz = np.sqrt(values) / (2 * np.pi)
    assert [float(mode["title"].split()[0]) for mode in data["modes"]] == pytest.approx(hertz, rel=1e-3)
    assert data["turned"] is None and body["turned"] is None  # damped in proportion: in step


def test_a_machine_bent_at_rest_moves_about_its_bent_state() -> None:
    """The rod hangs without geometric stiffness under more than 2 % of its buckling load: picture and state warn."""
    eqs = da.equations(flexible_parts.pendulum(flexible_parts.lines(False)))
    with warns(da.errors.ModelWarning, "axial-load", "rod"):
        data = da.animate(eqs)._data
    with warns(da.errors.ModelWarning, "axial-load", "rod"):
        rest = da.equilibrium(eqs)
    assert data["bodies"][0]["flexible"]["values"][:, 0] == pytest.approx([rest["rod.mode1"], rest["rod.mode2"]])
    assert rest["rod.mode1"] != pytest.approx(0.0, abs=1e-4)


def test_a_state_that_does_not_rest_is_drawn_as_it_stands() -> None:
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    state = da.assemble(da.equations(m), {"hinge.angle": 0.3})
    data = da.animate(state)._data
    assert data["kind"] == "machine" and data["frames"] == 1 and "modes" not in data
    with raises(da.errors.ModelError, "not-at-rest"):
        da.animate(state, modes=2)
    m.add_driver("motor", "hinge.angle", 0.3)
    assert da.animate(da.assemble(da.equations(m)))._data["frames"] == 1  # nothing is free to move
