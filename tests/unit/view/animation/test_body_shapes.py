"""Shapes of bodies: solids by inertia, and meshes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ModelError
from dalembert.mechanics.absolute.scene import MOST_TRIANGLES, describe_scene, simplify_mesh
from dalembert.view.animation.body_shapes import solid_of
from dalembert.view.animation.machine_scene import machine_data
from tests.helpers.findings import raises


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
    found = np.array(simplify_mesh(every)[0])
    assert len(every) > 2 * MOST_TRIANGLES
    assert 1000 < len(found) <= MOST_TRIANGLES
    assert np.abs(found).max(axis=(0, 1)) == pytest.approx([1.0] * 3, abs=0.03)


def test_a_thin_solid_is_drawn_with_a_least_thickness() -> None:
    plate = solid_of(np.diag([1.0, 2.0, 3.0]))  # a lamina: J3 = J1 + J2
    assert plate is not None and min(plate["size"]) == pytest.approx(0.04 * max(plate["size"]))
    rod = solid_of(np.diag([0.0, 1.0, 1.0]))
    assert rod is not None and rod["radius"] == pytest.approx(0.04 * rod["length"] / 2)
