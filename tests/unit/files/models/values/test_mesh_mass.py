"""Masses, centres and inertias from meshes, and meshes that show bodies."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.files.models import ModelFileError, read_model
from dalembert.files.models.values.mesh_mass import mass_of
from tests.helpers.findings import raises


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text)
    return folder / "main.toml"


def box_triangles(x: float, y: float, z: float, at: tuple[float, float, float] = (0, 0, 0)) -> np.ndarray:
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]) * [x, y, z] + at
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return np.array([[corners[q[i]] for i in t] for q in quads for t in ((0, 1, 2), (0, 2, 3))])


def text_stl(triangles: np.ndarray) -> bytes:
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {p[0]!r} {p[1]!r} {p[2]!r}\n" for p in t.tolist())
        + "endloop\nendfacet\n"
        for t in triangles
    )
    return f"solid box\n{facets}endsolid box\n".encode()


def binary_stl(triangles: np.ndarray) -> bytes:
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *t.ravel(), 0) for t in triangles)
    return b"\0" * 80 + struct.pack("<I", len(triangles)) + body


@pytest.mark.parametrize("encode", [text_stl, binary_stl])
def test_a_box_of_triangles_has_the_mass_of_a_box(tmp_path: Path, encode) -> None:
    (tmp_path / "box.stl").write_bytes(encode(box_triangles(200, 100, 50, at=(1000, -500, 0))))
    main = tmp_path / "main.toml"
    main.write_text('[bodies.b]\ninertia = { mesh = "box.stl", density = "7850 kg/m^3" }')
    body = read_model(main).bodies[0]
    mass = 7850 * 0.2 * 0.1 * 0.05
    assert body.mass == pytest.approx(mass, rel=1e-12)
    assert body.center == pytest.approx((1.1, -0.45, 0.025), rel=1e-12)
    expected = da.Mechanism("x").add_body("b", mass=mass, inertia=da.box(0.2, 0.1, 0.05)).inertia
    np.testing.assert_allclose(body.inertia, expected, rtol=0, atol=1e-12 * mass)


def test_the_mass_of_the_body_can_be_given_instead_of_the_density(tmp_path: Path) -> None:
    (tmp_path / "box.stl").write_bytes(text_stl(box_triangles(2, 1, 1)))
    main = tmp_path / "main.toml"
    main.write_text('planar = true\n[bodies.b]\nmass = 3\ninertia = { mesh = "box.stl", scale = "1 m" }')
    body = read_model(main).bodies[0]
    assert float(body.mass) == pytest.approx(3.0) and float(body.inertia) == pytest.approx(3 * 5 / 12)


def test_a_tetrahedron_and_a_turned_box_agree_with_closed_forms() -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    found = mass_of(corners[faces])
    assert found.volume == pytest.approx(1 / 6, rel=1e-14)
    assert found.center == pytest.approx((0.25, 0.25, 0.25), rel=1e-14)
    # ∫(y²+z²)dV = 2/60 about the corner; minus V (1/4²+1/4²) about the centre
    assert found.inertia[0][0] == pytest.approx(2 / 60 - 2 / 16 / 6, rel=1e-12)
    assert found.inertia[0][1] == pytest.approx(-(1 / 120 - 1 / 16 / 6), rel=1e-12)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (text_stl(box_triangles(1, 1, 1)[1:]), "open-mesh"),
        (text_stl(box_triangles(1, 1, 1)[:, ::-1]), "inside-out"),
        (text_stl(np.concatenate([box_triangles(1, 1, 1)[:1], box_triangles(1, 1, 1)[:1, ::-1]])), "no-volume"),
        (b"", "empty"),
        (b"solid x\nendsolid", "damaged"),
        (b"solid x\nvertex 1 2 a\n", "bad-syntax"),
        (b"solid x\nvertex 1 2 3\n", "damaged"),
        (b"solid x\n" + b"vertex 1 2 nan\n" * 3, "not-finite"),
        (b"\0" * 84, "empty"),
        (b"\0" * 100, "bad-syntax"),
        (binary_stl(np.full((1, 3, 3), np.inf)), "not-finite"),
    ],
)
def test_a_mesh_that_encloses_nothing_is_refused(tmp_path: Path, content: bytes, code: str) -> None:
    (tmp_path / "part.stl").write_bytes(content)
    main = tmp_path / "main.toml"
    main.write_text('[bodies.b]\ninertia = { mesh = "part.stl", density = 1 }')
    with raises(ModelFileError, code):
        read_model(main)


@pytest.mark.parametrize(
    ("inertia", "code"),
    [
        ('{ mesh = "none.stl", density = 1 }', "no-such-file"),
        ('{ mesh = "../x.stl", density = 1 }', "outside-folder"),
        ('{ mesh = "box.obj", density = 1 }', "unknown-suffix"),
        ('{ mesh = "box.stl" }', "missing-argument"),
        ('{ mesh = "box.stl", density = "1 kg" }', "unit-mismatch"),
        ('{ mesh = "box.stl", density = 1, scale = 0 }', "not-positive"),
    ],
)
def test_a_mesh_that_is_not_asked_for_rightly_is_refused(tmp_path: Path, inertia: str, code: str) -> None:
    (tmp_path / "box.stl").write_bytes(text_stl(box_triangles(1, 1, 1)))
    main = tmp_path / "main.toml"
    main.write_text(f"[bodies.b]\ninertia = {inertia}")
    with raises(ModelFileError, code):
        read_model(main)


def test_the_mesh_that_shows_a_body_goes_along_with_the_model(tmp_path: Path) -> None:
    (tmp_path / "case.stl").write_bytes(binary_stl(box_triangles(200, 100, 50, at=(10, 0, 0))))
    (tmp_path / "plate.stl").write_bytes(binary_stl(box_triangles(1, 2, 3)[:4]))  # a picture need not be closed
    main = write(
        tmp_path,
        main="""
        [bodies.case]
        inertia = { mesh = "case.stl", density = "7850 kg/m^3" }
        [bodies.plate]
        mass = 1
        inertia = 1
        center = [1, 0, 0]
        picture = { mesh = "plate.stl", scale = "1 m" }
        [joints.a]
        type = "revolute"
        a = "ground"
        b = "case"
        [joints.b]
        type = "revolute"
        a = "case"
        b = "plate"
        """,
    )
    m = read_model(main)
    assert len(m["plate"].mesh) == 4
    (tmp_path / "out").mkdir()
    da.write_model(m, tmp_path / "out" / "copy.toml")
    copy = read_model(tmp_path / "out" / "copy.toml")
    for name in ("case", "plate"):
        np.testing.assert_allclose(copy[name].mesh, m[name].mesh, rtol=0, atol=1e-6 * np.abs(m[name].mesh).max())


@pytest.mark.parametrize(("height", "refused"), [(1e-13, True), (1e-12, False)])
def test_a_box_without_height_encloses_no_volume(height: float, refused: bool) -> None:
    """Corners are 0.5 from the middle: a box of 1 x 1 x h has the volume h of 0.125, its size cubed."""
    if refused:
        with raises(da.errors.FileFormatError, "no-volume"):
            mass_of(box_triangles(1.0, 1.0, height))
    else:
        assert mass_of(box_triangles(1.0, 1.0, height)).volume == pytest.approx(height, rel=1e-3)
