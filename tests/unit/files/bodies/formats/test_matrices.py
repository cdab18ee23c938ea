"""Matrices of finite-element programs: the same body as from the model itself, and bad files refused by line."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.linalg

import dalembert as da
from dalembert.core.errors import FileFormatError
from dalembert.files.bodies.formats.matrices import read_points
from dalembert.structures import Frame, Rayleigh, Section, assemble_structure, craig_bampton, flexible_body
from tests.helpers.findings import raises

ELEMENTS = 20
FULL = """format = "flexible body matrices"
version = 1
name = "link"
points = "points.txt"
M = "M.mtx"
K = "K.txt"
D = "D.npy"
basis = "clamped"
fixed = "root"
modes = 6
nodes = ["root", "tip"]
"""
REDUCED = """format = "flexible body matrices"
version = 1
name = "link"
points = "points.txt"
M = "M_reduced.txt"
K = "K_reduced.csv"
shapes = "shapes.npy"
masses = "masses.txt"
nodes = ["root", "tip"]
"""


def frame() -> Frame:
    f = Frame("link")
    f.add_points(["root", "tip"], [[0, 0, 0], [0.5, 0.1, 0.2]])
    f.add_beam("link", "root", "tip", section=Section.rectangle(0.004, 0.03), material="steel", elements=ELEMENTS)
    return f


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files as a finite-element program writes them."""
    folder = tmp_path_factory.mktemp("exported")
    structure = assemble_structure(frame())
    scipy.io.mmwrite(folder / "M.mtx", structure.M, symmetry="symmetric", precision=17)
    np.savetxt(folder / "K.txt", structure.K.toarray(), header="stiffness [N/m, N m]")
    np.save(folder / "D.npy", 1e-5 * structure.K.toarray())
    rows = [f"{name}, {x:.17g}, {y:.17g}, {z:.17g}" for name, (x, y, z) in zip(structure.points, structure.positions)]
    (folder / "points.txt").write_text("# name, x, y, z [m]\n" + "\n".join(rows) + "\n")
    reduction = craig_bampton(structure.system(), ["root", "tip"], modes=4)
    np.savetxt(folder / "M_reduced.txt", reduction.system.M)
    np.savetxt(folder / "K_reduced.csv", reduction.system.K, delimiter=",")
    order = [structure.coordinates.index(name) for name in reduction.full.coordinates]
    shapes = np.zeros((len(structure.coordinates), reduction.T.shape[1]))
    shapes[order] = reduction.T
    np.save(folder / "shapes.npy", shapes)
    masses = np.full(len(structure.points), structure.mass() / ELEMENTS)
    masses[:2] /= 2
    np.savetxt(folder / "masses.txt", masses)
    (folder / "link.toml").write_text(FULL)
    (folder / "reduced.toml").write_text(REDUCED)
    return folder


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    for file in exported.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def largest_difference(a: np.ndarray, b: np.ndarray) -> float:
    """Relative; modes have either sign."""
    return float(np.abs(np.abs(a) - np.abs(b)).max() / np.abs(b).max())


def test_full_matrices_make_the_body_of_their_model(exported: Path):
    data = da.read_flexible_body(exported / "link.toml")
    model = flexible_body(frame(), basis="clamped", fixed="root", modes=6, damping=Rayleigh(0.0, 1e-5))
    assert data.name == "link" and [node.name for node in data.nodes] == ["root", "tip"]
    # eigenvectors of matrices that differ by rounding: 1e-16 times the spread of the eigenvalues, some 1e4
    for name in ("mass", "first_moment", "inertia", "translation", "rotation", "stiffness", "damping"):
        assert largest_difference(getattr(data, name), getattr(model, name)) < 1e-9, name
    # integrals inside elements are sums over points: an error of second order, (1/20)² with factors of order one
    for name in ("moments", "products"):
        assert largest_difference(getattr(data, name), getattr(model, name)) < 4 / ELEMENTS**2, name


@pytest.mark.spec("001-C11")
def test_reduced_matrices_make_the_body_of_their_reduction(folder: Path):
    (folder / "reduced.toml").write_text(REDUCED + 'reference = "root"\n')
    data = da.read_flexible_body(folder / "reduced.toml")
    model = flexible_body(frame(), basis="craig-bampton", nodes=["root", "tip"], modes=4, reference="root")
    assert data.modes == model.modes == 10 and data.reference == "attached"
    assert np.abs(data.frequencies_hz / model.frequencies_hz - 1).max() < 1e-9
    for name in ("mass", "first_moment", "inertia"):
        assert largest_difference(getattr(data, name), getattr(model, name)) < 1e-9, name
    for name in ("translation", "rotation"):
        assert largest_difference(getattr(data, name), getattr(model, name)) < 1e-7, name
    for k in range(2):
        assert np.abs(np.abs(data.nodes[k].translation) - np.abs(model.nodes[k].translation)).max() < 1e-6
    # the four lowest modes; masses at the points do not resolve the bending of the highest
    low = np.s_[..., :4]
    assert largest_difference(data.moments[low], model.moments[low]) < 10 / ELEMENTS**2
    assert largest_difference(data.products[..., :4, :4], model.products[..., :4, :4]) < 10 / ELEMENTS**2
    assert data.check().sound


def test_a_reduced_body_with_two_interfaces_has_a_mean_axis_as_the_body_itself(exported: Path):
    data = da.read_flexible_body(exported / "reduced.toml")
    model = flexible_body(frame(), basis="craig-bampton", nodes=["root", "tip"], modes=4)
    assert data.reference == model.reference == "mean axis"
    assert np.abs(data.frequencies_hz / model.frequencies_hz - 1).max() < 1e-9
    assert max(np.abs(one).max() for one in (data.translation, data.rotation)) < 1e-7  # no momentum


def test_a_reduced_body_on_a_mean_axis_has_the_frequencies_of_the_free_body(folder: Path):
    (folder / "reduced.toml").write_text(REDUCED + 'reference = "mean axis"\nmodes = 2\n')
    data = da.read_flexible_body(folder / "reduced.toml")
    K, M = np.loadtxt(folder / "K_reduced.csv", delimiter=","), np.loadtxt(folder / "M_reduced.txt")
    free = np.sqrt(scipy.linalg.eigh(K, M, eigvals_only=True)[6:8]) / (2 * np.pi)  # behind the six rigid motions
    assert data.reference == "mean axis" and data.modes == 2
    assert np.abs(data.frequencies_hz / free - 1).max() < 1e-8


def test_a_descriptor_may_be_json_with_points_inside(folder: Path):
    rows = [line.split(", ") for line in (folder / "points.txt").read_text().splitlines()[1:]]
    table = {
        "format": "flexible body matrices", "version": 1, "M": "M.mtx", "K": "K.txt", "modes": 3,
        "points": {name: [float(cell) for cell in cells] for name, *cells in rows},
        "nodes": {"foot": "root", "hand": [0.5, 0.1, 0.2]}, "damping": 0.02,
    }  # fmt: skip
    (folder / "arm.json").write_text(json.dumps(table))
    data = da.read_flexible_body(folder / "arm.json")
    assert data.name == "arm" and [node.name for node in data.nodes] == ["foot", "hand"]
    w = data.frequencies
    assert np.allclose(np.diagonal(data.damping), 2 * 0.02 * w, rtol=1e-9)


def test_shapes_of_the_user_are_modes(folder: Path):
    rng = np.random.default_rng(1)
    shapes = rng.normal(size=(6 * (ELEMENTS + 1), 2))
    np.save(folder / "modes.npy", shapes)
    text = FULL.replace('basis = "clamped"\nfixed = "root"\n', "").replace("modes = 6", 'modes = "modes.npy"')
    (folder / "link.toml").write_text(text)
    data = da.read_flexible_body(folder / "link.toml")
    assert data.modes == 2 and np.allclose(data.nodes[0].translation, shapes[:3])


# -- bad files -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    (
        ("version = 1", "version = 2", "bad-version", 2),
        ('"flexible body matrices"', '"matrices"', "unknown-format", None),
        ("M.mtx", "N.mtx", "no-such-file", 5),
        ("M.mtx", "../M.mtx", "outside-folder", 5),
        ("M.mtx", "M.mat", "unknown-suffix", 5),
        ("modes = 6", "mode = 6", "unknown-argument", 10),
        ("modes = 6", "modes = true", "wrong-type", 10),
        ("modes = 6", "modes = 6000", "too-many-modes", None),
        ('K = "K.txt"', "", "missing-argument", None),
        ('K = "K.txt"', 'K = "masses.txt"', "wrong-shape", 6),
        ('K = "K.txt"', 'K = "flat.npy"', "wrong-shape", 6),
        ('M = "M.mtx"', 'M = "flat.npy"', "wrong-shape", 5),
        ('"points.txt"', '"number.npy"', "wrong-shape", 4),
        ('fixed = "root"', 'fixed = "foot"', "unknown-name", None),
        ('fixed = "root"', 'masses = "masses.txt"', "ineffective-argument", 9),
        ("modes = 6", "modes = [", "bad-syntax", None),
    ),
)
def test_a_bad_descriptor_is_named(folder: Path, old: str, new: str, code: str, line: int | None):
    (folder / "link.toml").write_text(FULL.replace(old, new))
    np.save(folder / "flat.npy", np.ones(3))
    np.save(folder / "number.npy", 1.0)
    with raises(FileFormatError, code, "link.toml") as caught:
        da.read_flexible_body(folder / "link.toml")
    assert line is None or caught.value.line == line


@pytest.mark.parametrize(
    ("old", "new", "code"),
    (
        ('masses = "masses.txt"\n', "", "missing-argument"),
        ('nodes = ["root", "tip"]', 'nodes = ["root", "hand"]', "unknown-name"),
        ('nodes = ["root", "tip"]', 'basis = "free"', "ineffective-argument"),
        ('nodes = ["root", "tip"]', "modes = 11", "too-many-modes"),
        ('nodes = ["root", "tip"]', 'reference = "middle"', "unknown-name"),
        ("shapes.npy", "masses.txt", "wrong-shape"),
        ('masses = "masses.txt"', 'masses = "shapes.npy"', "wrong-shape"),
    ),
)
def test_a_bad_descriptor_of_reduced_matrices_is_named(folder: Path, old: str, new: str, code: str):
    (folder / "reduced.toml").write_text(REDUCED.replace(old, new))
    with raises(FileFormatError, code, "reduced.toml"):
        da.read_flexible_body(folder / "reduced.toml")


def test_reduced_matrices_that_no_free_body_has_are_refused(folder: Path):
    K = np.loadtxt(folder / "K_reduced.csv", delimiter=",")
    for change, code in ((np.eye(len(K)) * K.max(), "few-rigid-modes"), (np.tri(len(K)) * K.max(), "not-symmetric")):
        np.savetxt(folder / "K_reduced.csv", K + change, delimiter=",")
        with raises(FileFormatError, code, "reduced.toml"):
            da.read_flexible_body(folder / "reduced.toml")
    np.savetxt(folder / "K_reduced.csv", K, delimiter=",")
    np.save(folder / "shapes.npy", np.load(folder / "shapes.npy")[::-1])
    with raises(FileFormatError, "few-rigid-modes", "link"):
        da.read_flexible_body(folder / "reduced.toml")


def test_masses_that_are_not_those_of_the_matrix_are_refused(folder: Path):
    np.savetxt(folder / "masses.txt", 2 * np.loadtxt(folder / "masses.txt"))
    with raises(FileFormatError, "conflicting-arguments", "kg"):
        da.read_flexible_body(folder / "reduced.toml")


def test_points_are_checked_by_line(folder: Path):
    text = (folder / "points.txt").read_text()
    for old, new, code in (
        ("tip,", "tip, 1, 2,", "ragged-row"),
        ("tip,", "root,", "duplicate"),
        ("tip, 0.5", "tip, half", "not-a-number"),
        ("tip, 0.5", "tip, inf", "not-finite"),
    ):
        (folder / "points.txt").write_text(text.replace(old, new))
        with raises(FileFormatError, code, "points.txt"):
            da.read_flexible_body(folder / "link.toml")


def test_asymmetric_matrices_are_refused(folder: Path):
    K = np.loadtxt(folder / "K.txt")
    K[0, 7] += 1e5
    np.savetxt(folder / "K.txt", K)
    with raises(FileFormatError, "not-symmetric", "stiffness"):
        da.read_flexible_body(folder / "link.toml")


def test_a_text_of_points_takes_no_more_memory_than_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "points.txt"
    path.write_bytes(b"0 0 0\n" * 20_000)
    size = path.stat().st_size
    with raises(FileFormatError, "too-large"):
        read_points(path, path.name, 80 * size - 1)
    tracemalloc.start()
    read_points(path, path.name, 80 * size)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 80 * size
