"""Models of several files: scopes of names, grounds, bounds; and masses from meshes."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.files.models import ModelFileError, read_model
from dalembert.files.models.values.mesh_mass import mass_of
from tests.helpers.findings import raises

LEG = """
planar = true
[constants]
place = 0.0
[parameters]
length = "1 m"
mass = 2
[bodies.rod]
mass = "mass"
inertia = { rod = "length" }
points = { tip = ["length/2", 0] }
[joints.hip]
type = "revolute"
a = "ground(place, 0)"
b = "rod(-length/2, 0)"
[forces.motor]
type = "actuator"
joint = "hip"
input = "torque"
[forces.soft]
type = "actuator"
joint = "hip"
effort = "-mass*hip.angle"
[start.position]
"hip.angle" = 0.5
"""


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text)
    return folder / "main.toml"


def test_names_of_an_included_file_are_scoped(tmp_path: Path) -> None:
    main = """
planar = true
[parameters]
size = 0.5
[include.left]
file = "leg.toml"
parameters = { place = -1, length = "2*size" }
[include.right]
file = "leg.toml"
[joints.weld]
type = "massless rod"
a = "left.rod.tip"
b = "right.rod.tip"
length = 1
"""
    m = read_model(write(tmp_path, main=main, leg=LEG))
    assert [b.name for b in m.bodies] == ["left.rod", "right.rod"]
    assert m.inputs() == ["left.torque", "right.torque"]
    assert m.parameters == {"size": 0.5, "left.mass": 2.0, "right.length": 1.0, "right.mass": 2.0}
    assert m.start["position"] == {"left.hip.angle": 0.5, "right.hip.angle": 0.5}
    assert m.joints[0].a.coordinates == (-1.0, 0.0)
    assert float(m.joints[0].b.coordinates[0]) == -0.5
    eqs = da.equations(m)
    assert eqs.replace(size=0.25) is not None  # what was handed over stays symbolic


def test_the_ground_of_an_included_file_can_be_a_body(tmp_path: Path) -> None:
    main = """
planar = true
[bodies.car]
mass = 1
inertia = 1
[include.leg]
file = "leg.toml"
ground = "car"
"""
    m = read_model(write(tmp_path, main=main, leg=LEG))
    assert m.joints[0].a.body.name == "car"


def test_includes_of_includes_are_beside_their_own_file(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    write(
        tmp_path / "parts",
        leg=LEG,
        pair='planar = true\n[include.a]\nfile = "leg.toml"\n[include.b]\nfile = "leg.toml"',
    )
    m = read_model(write(tmp_path, main='planar = true\n[include.front]\nfile = "parts/pair.toml"'))
    assert [b.name for b in m.bodies] == ["front.a.rod", "front.b.rod"]


def test_problems_of_all_files_come_at_once_with_their_own_lines(tmp_path: Path) -> None:
    main = 'planar = true\n[include.leg]\nfile = "leg.toml"\nparameters = { lenth = 1 }\n[bodies.b]\nmass = "1 m"\n'
    with pytest.raises(ModelFileError) as caught:
        read_model(write(tmp_path, main=main, leg=LEG.replace("mass = 2", 'mass = "2 s"')))
    found = [(Path(one.where["path"]).name, one.where["line"]) for one in caught.value.problems]
    assert ("main.toml", 4) in found and ("main.toml", 6) in found and ("leg.toml", 9) in found


@pytest.mark.parametrize(
    ("main", "code"),
    [
        ('[include.a]\nfile = "main.toml"', "circular-include"),
        ('[include.a]\nfile = "none.toml"', "no-such-file"),
        ('[include.a]\nfile = "../outside.toml"', "outside-folder"),
        ('[include.a]\nfile = "/etc/passwd.toml"', "outside-folder"),
        ('[include.a]\nfile = "link.toml"', "outside-folder"),
        ('planar = true\n[include.a]\nfile = "leg.toml"\nground = "x"', "unknown-name"),
        ('[include.a]\nfile = "leg.toml"', "not-supported"),
        ('[include.a]\nfile = "leg.txt"', "unknown-suffix"),
        ('[include.a]\nfile = "folder.toml"', "no-such-file"),
    ],
)
def test_an_include_that_is_not_right_is_refused(tmp_path: Path, main: str, code: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "outside.toml").write_text("")
    (inner / "link.toml").symlink_to(tmp_path / "outside.toml")
    (inner / "folder.toml").mkdir()
    with raises(ModelFileError, code):
        read_model(write(inner, main=main, leg=LEG))


def test_files_outside_are_read_when_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    write(tmp_path, leg=LEG)
    main = write(tmp_path / "inner", main='planar = true\n[include.a]\nfile = "../leg.toml"')
    with raises(ModelFileError, "outside-folder", "allow_outside=True"):
        read_model(main)
    assert len(read_model(main, allow_outside=True).bodies) == 1


def test_depth_and_number_of_includes_are_bounded(tmp_path: Path) -> None:
    chain = {f"f{k}": f'planar = true\n[include.a]\nfile = "f{k + 1}.toml"' for k in range(12)}
    with raises(ModelFileError, "too-large", "8"):
        read_model(write(tmp_path, main=chain["f0"], f12=LEG, **chain))
    doubling = {
        f"g{k}": "\n".join(["planar = true", *(f'[include.x{i}]\nfile = "g{k + 1}.toml"' for i in range(8))])
        for k in range(5)
    }
    with raises(ModelFileError, "several-problems", "64"):
        read_model(write(tmp_path, main=doubling["g0"], g5=LEG, **doubling))


# -- meshes -----------------------------------------------------------------------------------------------------------


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
    np.testing.assert_allclose(body.inertia, expected, atol=1e-12 * mass)


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
        (b"", "bad-syntax"),
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
        np.testing.assert_allclose(copy[name].mesh, m[name].mesh, atol=1e-6 * np.abs(m[name].mesh).max())
