"""Modes of machines, arrows, shapes by inertia and meshes: what the page of an animation is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from dalembert.mechanics.absolute.scene import MOST_TRIANGLES, describe_scene, simplify_mesh
from dalembert.record import Record
from dalembert.view.animation.body_shapes import solid_of
from dalembert.view.animation.channels import channels_of
from dalembert.view.animation.machine_scene import machine_data
from dalembert.view.animation.payload import as_text
from tests.helpers.findings import raises
from tests.helpers.payload import unpack


def data_of(*args: Any, **how: Any) -> dict[str, Any]:
    return dict(da.animate(*args, **how)._data)


# -- modes


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


def test_damped_modes_are_complex_and_tell_phases() -> None:
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


# -- arrows


def driven_pendulum() -> Record:
    m = da.Mechanism("driven", planar=True)
    rod = m.add_body("rod", mass=2.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_actuator("motor", joint="hinge", input="torque")
    m.add_torque("drag", rod, -0.5)
    return da.simulate(da.equations(m), until=0.5, inputs={"torque": 3.0})


def test_torques_on_joints_and_bodies_are_drawn_and_those_a_hinge_cannot_bear_are_not() -> None:
    found = {(one["name"], one["turns"]): one for one in machine_data(driven_pendulum(), 30, 1.0, [])["forces"]}
    assert set(found) == {("hinge", False), ("motor", True), ("drag", True)}
    motor = found["motor", True]["values"]
    assert motor == pytest.approx(np.tile([0.0, 0.0, 3.0], (len(motor), 1)))
    assert found["drag", True]["values"][0].tolist() == [0.0, 0.0, -0.5]
    assert found["hinge", False]["kind"] == "reaction"


def test_the_torque_of_a_driver_is_what_it_takes_to_hold_the_motion() -> None:
    m = da.Mechanism("held", planar=True, gravity=(0, -10))
    rod = m.add_body("rod", mass=2.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_driver("motor", "hinge.angle", lambda t: 0 * t)
    found = machine_data(da.simulate(da.equations(m), until=0.2), 30, 1.0, [])["forces"]
    (motor,) = [one for one in found if one["name"] == "motor"]
    assert motor["turns"]
    assert motor["values"][-1] == pytest.approx([0.0, 0.0, 2.0 * 10 * 0.5], rel=1e-6)  # m g l/2 against the weight


# -- shapes


def test_the_disc_of_the_heavy_top_is_found_in_its_inertia() -> None:
    found = solid_of(np.diag([0.234375, 0.46875, 0.234375]) / 15)
    assert found is not None
    assert (found["kind"], found["radius"]) == ("cylinder", pytest.approx(0.25))
    assert np.abs(found["axis"]) == pytest.approx([0.0, 1.0, 0.0])
    assert found["length"] < 0.05


@pytest.mark.parametrize("sides", [(0.3, 0.2, 0.1), (1.0, 0.9, 0.05)])
def test_a_box_is_found_in_its_inertia_however_it_is_turned(sides: tuple[float, float, float]) -> None:
    a, b, c = (s * s / 12 for s in sides)
    R = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
    found = solid_of(R @ np.diag([b + c, a + c, a + b]) @ R.T)
    assert found is not None
    axes = np.array(found["axes"])
    assert sorted(found["size"]) == pytest.approx(sorted(sides))
    for k, side in enumerate(sides):
        along = axes[int(np.argmin(np.abs(np.array(found["size"]) - side)))]
        assert abs(along @ R[:, k]) == pytest.approx(1.0)


def test_no_inertia_draws_nothing_and_a_round_one_a_ball() -> None:
    assert solid_of(np.zeros((3, 3))) is None
    ball = solid_of(0.4 * 0.2**2 * np.eye(3))
    assert ball is not None
    assert ball["radius"] == pytest.approx(0.2)


def cube(size: float) -> np.ndarray[Any, Any]:
    faces = []
    for axis in range(3):
        for side in (0, 1):
            p = np.zeros((4, 3))
            p[:, axis] = side
            p[:, (axis + 1) % 3], p[:, (axis + 2) % 3] = [0, 1, 1, 0], [0, 0, 1, 1]
            order = [[0, 1, 2], [0, 2, 3]] if side else [[0, 2, 1], [0, 3, 2]]
            faces += [p[one] for one in order]
    return size * np.array(faces)


def test_a_mesh_stands_about_the_centre_of_mass_of_its_body() -> None:
    m = da.Mechanism("part")
    m.add_body("cube", mass=1.0, inertia=1.0, center=(0.1, 0.1, 0.1), mesh=cube(0.2))
    shape = describe_scene(m).to_json()["bodies"][0]["shape"]
    corners = np.array(shape["triangles"]).reshape(-1, 3)
    assert corners.min(axis=0) == pytest.approx([-0.1] * 3)
    assert corners.max(axis=0) == pytest.approx([0.1] * 3)
    with raises(ModelError, "wrong-shape"):
        m.add_body("other", mass=1.0, inertia=1.0, mesh=[[1, 2, 3]])


def test_the_mesh_of_a_model_file_is_what_its_picture_shows(tmp_path: Path) -> None:
    text = ["solid cube"]
    for triangle in cube(20.0):
        text += ["facet normal 0 0 0", "outer loop", *(f"vertex {x} {y} {z}" for x, y, z in triangle)]
        text += ["endloop", "endfacet"]
    (tmp_path / "cube.stl").write_text("\n".join([*text, "endsolid"]), encoding="utf-8")
    (tmp_path / "m.toml").write_text(
        'name = "m"\n[bodies.cube]\ninertia = { mesh = "cube.stl", density = 1000 }\n[joints.free]\ntype = "revolute"\n'
        'a = "ground"\nb = "cube"\n',
        encoding="utf-8",
    )
    run = da.simulate(da.equations(da.read_model(tmp_path / "m.toml")), until=0.1)
    (body,) = machine_data(run, 30, 1.0, [])["bodies"]
    assert body["shape"]["kind"] == "mesh"
    assert body["shape"]["triangles"].shape == (12, 9)
    assert np.ptp(body["shape"]["triangles"].reshape(-1, 3), axis=0) == pytest.approx([0.02] * 3)


def test_a_mesh_of_many_triangles_is_coarsened_and_keeps_its_size() -> None:
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 121), np.linspace(0, np.pi, 61), indexing="ij")
    p = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=2)
    a, b, c, d = p[:-1, :-1], p[1:, :-1], p[1:, 1:], p[:-1, 1:]
    every = np.concatenate([np.stack(t, axis=2).reshape(-1, 3, 3) for t in ((a, b, c), (a, c, d))])
    found = np.array(simplify_mesh(every))
    assert len(every) > 2 * MOST_TRIANGLES
    assert 1000 < len(found) <= MOST_TRIANGLES
    assert np.abs(found).max(axis=(0, 1)) == pytest.approx([1.0] * 3, abs=0.03)


# -- size


def test_long_rows_are_stored_by_differences_and_come_back() -> None:
    t = np.linspace(0.0, 10.0, 2000)
    rows = np.stack([np.sin(3 * t), 1e6 + t**2, 0 * t, 1e-9 * np.cos(t), np.where(t > 5, 1.0, -1.0)])
    found = unpack(*as_text({"rows": rows}))["rows"]
    allowed = np.ptp(rows, axis=1) * 2.0**-20 + 1e-15 * np.abs(rows).max(axis=1)
    assert (np.abs(found - rows).max(axis=1) <= allowed).all()


def long_chain(samples: int, bodies: int) -> Record:
    t = np.linspace(0.0, samples * 1e-3, samples)
    channels, drawn = {}, []
    for k in range(bodies):
        angle = 0.3 * np.sin((1 + 0.05 * k) * t)
        channels |= {f"b{k}.x": 0.1 * k + 0.05 * np.cos(angle), f"b{k}.y": 0.05 * np.sin(angle), f"b{k}.angle": angle}
        drawn.append({"name": f"b{k}", "points": [[-0.05, 0, 0], [0.05, 0, 0]], "lines": [[0, 1]]})
    scene = {"planar": True, "bodies": drawn, "ground": [[0, 0, 0]], "joints": [], "springs": []}
    return Record.from_channels(t, channels, name="chain", scene=scene)


def test_a_hundred_thousand_samples_make_a_page_below_five_megabytes() -> None:
    assert len(da.animate(long_chain(100_000, 8)).html) < 2_000_000


@pytest.mark.slow
def test_a_hundred_bodies_over_a_hundred_seconds_make_a_page_below_five_megabytes() -> None:
    assert len(da.animate(long_chain(100_000, 100)).html) < 5_000_000


def test_many_channels_have_fewer_samples_rather_than_being_left_out() -> None:
    run = long_chain(6000, 200)
    found = channels_of(run)
    assert len(found["names"]) == 600
    assert 1000 <= found["values"].shape[1] <= 2000
