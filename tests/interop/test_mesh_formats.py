"""Meshes from gmsh, Abaqus and Nastran files, numbered by the manuals' own tables; scikit-fem on the same mesh."""

from pathlib import Path

import numpy as np
import pytest

from dalembert.structures import Material, Solid, assemble_structure, box_mesh, mesh_from_skfem, read_mesh
from dalembert.structures.solid.element import SOLID_ELEMENTS

skfem = pytest.importorskip("skfem")
pytest.importorskip("meshlane")

DATA = Path(__file__).parents[1] / "data" / "meshes"


@pytest.mark.parametrize("file", ["two_cubes_22.msh", "two_cubes_41.msh"])
def test_gmsh_physical_groups_become_cell_sets_of_volumes_and_point_sets_of_surfaces(file):
    mesh = read_mesh(DATA / file)
    assert (mesh.kind, len(mesh.points), len(mesh.cells)) == ("hex8", 12, 2)
    assert {name: cells.tolist() for name, cells in mesh.cell_sets.items()} == {"near": [0], "far": [1]}
    assert np.all(mesh.points[mesh.point_sets["clamped"], 0] == 0.0) and len(mesh.point_sets["clamped"]) == 4


def test_abaqus_sets_keep_their_names_and_numbers_may_have_gaps():
    mesh = read_mesh(DATA / "two_cubes.inp")
    assert np.all(mesh.points[mesh.point_sets["CLAMPED"], 0] == 0.0)
    assert np.all(mesh.points[mesh.point_sets["BOTTOM"], 2] == 0.0) and len(mesh.point_sets["BOTTOM"]) == 6
    assert mesh.point_sets["EVERY"].tolist() == list(range(12))
    assert {name: cells.tolist() for name, cells in mesh.cell_sets.items()} == {"NEAR": [0], "FAR": [1], "BOTH": [0, 1]}


@pytest.mark.parametrize("file", ["brick20.msh", "brick20.inp", "brick20.bdf"])
def test_a_quadratic_brick_is_the_same_from_every_format(file):
    mesh = read_mesh(DATA / file)
    assert mesh.kind == "hex20" and mesh.turned == 0
    for a, b, middle in SOLID_ELEMENTS["hex20"].edges:
        ends, place = mesh.points[mesh.cells[0, [a, b]]], mesh.points[mesh.cells[0, middle]]
        assert np.abs(place - ends.mean(axis=0)).max() < 0.0101  # bowed by at most 0.01 m, edges are 2 to 4 m long
    assert mesh.volumes().sum() == pytest.approx(23.91271555555556, rel=1e-9)


@pytest.mark.parametrize("file", ["tet10.msh", "tet10.nas"])
def test_a_quadratic_tetrahedron_has_its_middles_on_its_edges(file):
    mesh = read_mesh(DATA / file)
    for a, b, middle in SOLID_ELEMENTS["tet10"].edges:
        assert np.allclose(mesh.points[mesh.cells[0, middle]], mesh.points[mesh.cells[0, [a, b]]].mean(axis=0))
    assert mesh.volumes().sum() == pytest.approx(1 / 6)


def test_millimetres_become_metres_and_a_left_handed_cell_is_turned():
    mesh = read_mesh(DATA / "left_handed.bdf", scale=1e-3)
    assert mesh.turned == 1
    assert mesh.volumes().sum() == pytest.approx(1 / 6)
    assert list(mesh.cell_sets) == ["property 1"]


@pytest.mark.parametrize(
    ("format", "kind"),
    [
        (format, kind)
        for format in ("gmsh", "gmsh22", "abaqus", "nastran")
        for kind in ("tet4", "tet10", "hex8", "hex20", "hex27")
        if kind != "hex27" or format.startswith("gmsh")  # the others have no such cell
    ],
)
def test_a_box_written_by_meshlane_comes_back_as_it_was(kind, format, tmp_path, capfd):
    import meshlane

    types = {
        "tet4": "tetra",
        "tet10": "tetra10",
        "hex8": "hexahedron",
        "hex20": "hexahedron20",
        "hex27": "hexahedron27",
    }
    box = box_mesh((2, 1, 1), (2, 2, 1), kind)
    file = tmp_path / ("box" + {"abaqus": ".inp", "nastran": ".bdf"}.get(format, ".msh"))
    meshlane.Mesh(box.points, [(types[kind], box.cells)]).write(file, file_format=format)
    capfd.readouterr()  # the writer speaks; the reader must not
    again = read_mesh(file)
    assert capfd.readouterr() == ("", "")
    assert np.array_equal(again.cells, box.cells)
    assert np.allclose(again.points, box.points, rtol=0, atol=1e-9)


PAIRS = {
    "tet4": ("MeshTet1", "ElementTetP1", 3),
    "tet10": ("MeshTet2", "ElementTetP2", 4),
    "hex8": ("MeshHex1", "ElementHex1", 3),
}


@pytest.mark.spec("003-C54")
@pytest.mark.spec("000-34")
@pytest.mark.parametrize("kind", PAIRS)
def test_matrices_are_those_of_scikit_fem_on_the_same_mesh(kind):
    from skfem.models.elasticity import lame_parameters, linear_elasticity

    mesh_name, element_name, degree = PAIRS[kind]
    theirs = getattr(skfem, mesh_name)().refined(1)
    mesh = mesh_from_skfem(theirs)
    steel = Material("steel", 210e9, 7850.0, 0.3)
    ours = assemble_structure(Solid("cube", mesh, steel, incompatible=False, quadrature=degree))
    basis = skfem.Basis(theirs, skfem.ElementVector(getattr(skfem, element_name)()), intorder=degree)
    K = skfem.asm(linear_elasticity(*lame_parameters(210e9, 0.3)), basis).toarray()
    M = 7850.0 * skfem.asm(_vector_mass(), basis).toarray()
    order = _order(mesh, basis)
    assert np.abs(ours.K.toarray() - K[np.ix_(order, order)]).max() < 1e-13 * np.abs(K).max()
    assert np.abs(ours.M.toarray() - M[np.ix_(order, order)]).max() < 1e-13 * np.abs(M).max()


def _vector_mass():
    from skfem.helpers import dot

    return skfem.BilinearForm(lambda u, v, w: dot(u, v))


def _order(mesh, basis):
    """Number there of every coordinate here: by position, then direction in turn."""
    there = basis.doflocs.T
    found = []
    for point in mesh.points:
        same = np.flatnonzero(np.linalg.norm(there - point, axis=1) < 1e-9)
        assert len(same) == 3
        found += sorted(same)
    return np.array(found)
