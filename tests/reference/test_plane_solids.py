"""Plane strain and plane stress against closed forms and published benchmarks."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ModelWarning
from dalembert.structures import (
    Material,
    Mesh,
    Solid,
    assemble_structure,
    box_mesh,
    find_buckling,
    flexible_body,
    read_mesh,
    shape_report,
    solve_static,
)
from dalembert.structures.solid.element import SOLID_ELEMENTS
from dalembert.structures.solid.shapes import shapes
from tests.helpers.findings import raises, warns

pytest.importorskip("skfem")

STEEL = Material("steel", 210e9, 7850.0, 0.3)
PLANE = [kind for kind, cell in SOLID_ELEMENTS.items() if cell.dimension == 2]
QUAD = ["quad4", "quad8"]


def distorted(kind: str, plane: str) -> Solid:
    """A rectangle of 3 x 3 cells whose inner points are moved about, straight edges kept."""
    linear = box_mesh((1.0, 0.8), (3, 3), "quad4")
    inner = np.all((linear.points[:, :2] > 1e-9) & (linear.points[:, :2] < np.array([1.0, 0.8]) - 1e-9), axis=1)
    points = linear.points.copy()
    points[inner, :2] += np.random.default_rng(5).uniform(-0.06, 0.06, (inner.sum(), 2))
    cells = linear.cells
    reference = SOLID_ELEMENTS[kind].reference
    if kind == "tri6":
        cells = np.concatenate([cells[:, [0, 1, 2]], cells[:, [0, 2, 3]]])
        values = np.column_stack([1 - reference.sum(axis=1), reference])
    else:
        values = shapes("quad4", reference)[0]
    spread = np.einsum("ij,ejk->eik", values, points[cells]).reshape(-1, 3)
    _, first, number = np.unique(spread.round(9), axis=0, return_index=True, return_inverse=True)
    mesh = Mesh(spread[first, :2], number.reshape(len(cells), -1), kind)
    return Solid("patch", mesh, STEEL, plane=plane, thickness=0.02)


@pytest.mark.parametrize("plane", ["strain", "stress"])
@pytest.mark.parametrize("kind", PLANE)
def test_patch_of_distorted_cells_carries_a_constant_strain_exactly(kind: str, plane: str) -> None:
    model = assemble_structure(distorted(kind, plane))
    strain = np.array([[1.0, 0.3], [0.1, -0.7]]) * 1e-3
    u = (model.positions[:, :2] @ strain.T).ravel()
    inner = np.all((model.positions[:, :2] > 1e-9) & (model.positions[:, :2] < np.array([1.0, 0.8]) - 1e-9), axis=1)
    force = (model.K @ u).reshape(-1, 2)
    # sums of some ten terms, each rounded
    assert np.abs(force[inner]).max() < 1e-12 * np.abs(force).max()
    field = model.groups[0].stresses(u)  # type: ignore[attr-defined]
    E, nu, (xx, yy), xy = 210e9, 0.3, np.diag(strain), strain[0, 1] + strain[1, 0]
    if plane == "strain":
        c = E / (1 + nu) / (1 - 2 * nu)
        stress = [c * ((1 - nu) * xx + nu * yy), c * ((1 - nu) * yy + nu * xx), c * nu * (xx + yy)]
        across = 0.0
    else:
        c = E / (1 - nu**2)
        stress, across = [c * (xx + nu * yy), c * (yy + nu * xx), 0.0], -nu / (1 - nu) * (xx + yy)
    exact = np.array([*stress, E / 2 / (1 + nu) * xy, 0.0, 0.0])
    assert np.abs(field.stresses - exact).max() < 1e-11 * np.abs(exact).max()
    assert np.abs(field.at_points - exact).max() < 1e-11 * np.abs(exact).max()
    assert np.abs(field.strains[..., 2] - across).max() < 1e-15


@pytest.mark.parametrize("kind", PLANE)
def test_a_free_sheet_has_three_motions_without_strain_and_its_own_mass(kind: str) -> None:
    model = assemble_structure(distorted(kind, "stress"))
    values = np.linalg.eigvalsh(model.K.toarray())
    assert np.all(np.abs(values[:3]) < 1e-13 * values[-1]) and values[3] > 1e-6 * values[-1]
    mass = 7850.0 * 1.0 * 0.8 * 0.02
    assert model.mass() == pytest.approx(mass, rel=1e-12)
    about_centre = model.inertia(about=(0.5, 0.4, 0.0))[2, 2]
    assert about_centre == pytest.approx(mass * (1.0 + 0.8**2) / 12, rel=1e-12)


@pytest.mark.parametrize("kind", PLANE)
def test_plane_shape_functions_meet_the_requirements(kind: str) -> None:
    report = shape_report(kind)
    assert report.complete and report.compatible and report.isotropic, report


def test_incompatible_modes_of_quad4_give_up_continuity_alone() -> None:
    report = shape_report("quad4", incompatible=True)
    assert report.complete and not report.compatible


def cook(cells: int, kind: str, **options: Any) -> float:
    """Deflection of the middle of the loaded edge of Cook's tapered and swept panel, 23.96 on fine meshes."""
    flat = box_mesh((1, 1), (cells, cells), kind)
    s, t = flat.points[:, 0], flat.points[:, 1]
    panel = flat.replace(points=np.column_stack([48 * s, 44 * s + (44 - 28 * s) * t]))
    solid = Solid("panel", panel, Material("unit", 1.0, 1.0, 1 / 3), plane="stress", thickness=1.0, gravity=0,
                  **options)  # fmt: skip
    solid.add_support("x=0", "xy")
    solid.add_traction("shear", "x=48", (0.0, 1 / 16))
    middle = panel.select("x=48, y=52")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # trapezoids resist bending: what the benchmark is about
        return float(solve_static(assemble_structure(solid), "shear").displacement[f"p{middle}.y"])


@pytest.mark.parametrize(
    ("incompatible", "published"), [(False, (11.85, 18.30, 22.08, 23.43)), (True, (21.05, 23.02, 23.69, 23.88))]
)
def test_cook_membrane_has_the_published_values_of_quad4(incompatible: bool, published: tuple[float, ...]) -> None:
    """Meshes of 2, 4, 8 and 16 cells (Taylor, Beresford and Wilson 1976; Simo and Rifai 1990), two decimals."""
    deflections = [cook(cells, "quad4", incompatible=incompatible) for cells in (2, 4, 8, 16)]
    np.testing.assert_allclose(deflections, published, rtol=0, atol=0.006)


@pytest.mark.parametrize("kind", ["quad8", "tri6"])
def test_cook_membrane_converges_with_quadratic_cells(kind: str) -> None:
    """From below, to 23.96: 0.2 % with 16 cells on a side."""
    deflections = [cook(cells, kind) for cells in (2, 4, 8, 16)]
    assert np.all(np.diff(deflections) > 0) and deflections[-1] == pytest.approx(23.96, rel=2e-3)


def cylinder(kind: str, nu: float, **options: Any) -> tuple[float, float]:
    """Radial displacement and hoop stress at the bore of a thick cylinder, over those of Lamé."""
    radii = np.array([3, 3.5, 4.2, 5.2, 6.75, 9])
    flat = box_mesh((1, 1), (5, 9), kind)
    r = np.interp(5 * flat.points[:, 0], np.arange(6), radii)
    angle = 0.5 * np.pi * flat.points[:, 1]
    points = np.column_stack([r * np.cos(angle), r * np.sin(angle)])
    points[np.abs(points) < 1e-12] = 0.0
    solid = Solid("ring", flat.replace(points=points), Material("rubber", 1000.0, 1.0, nu), plane="strain",
                  thickness=1.0, gravity=0, **options)  # fmt: skip
    solid.add_support("x=0", "x")
    solid.add_support("y=0", "y")
    solid.add_pressure("pressure", lambda x, y, z: np.hypot(x, y) < 3.01, 1.0)
    result = solve_static(assemble_structure(solid), "pressure")
    bore = solid.mesh.select("x=3, y=0")[0]
    exact = (1 + nu) / 1000 * 9 / 72 * (81 / 3 + (1 - 2 * nu) * 3)
    return result.displacement[f"p{bore}.x"] / exact, result.stresses()[0].at([bore], "yy")[0] / (90 / 72)


@pytest.mark.parametrize(("nu", "left"), [(0.49, 0.846), (0.499, 0.359), (0.4999, 0.053)])
def test_thick_cylinder_of_plain_quad4_locks_as_published(nu: float, left: float) -> None:
    """MacNeal and Harder 1985, three decimals; their load at two points is ours along the edge to 0.002."""
    with warns(ModelWarning, "locking"):
        assert cylinder("quad4", nu, incompatible=False)[0] == pytest.approx(left, abs=0.002)


def test_thick_cylinder_does_not_lock_at_a_ratio_of_0_4999() -> None:
    """Chords of 10° in place of the arc leave 1.4 % of displacement, 8 % of bore stress with linear cells, as at 0.49.

    Quadratic cells of 2 x 2 points have 0.1 %.
    """
    linear, before = cylinder("quad4", 0.4999), cylinder("quad4", 0.49)
    np.testing.assert_allclose(linear, before, rtol=0.005)
    assert linear == pytest.approx((1.0, 1.0), abs=0.083)
    assert cylinder("quad8", 0.4999, quadrature=3) == pytest.approx((1.0, 1.0), abs=1e-3)


@pytest.mark.parametrize("kind", ["quad4", "quad8", "tri6"])
def test_pure_bending_of_a_sheet_stores_the_energy_of_beam_theory(kind: str) -> None:
    L, h, b, kappa, nu = 2.0, 0.2, 0.03, 0.01, 0.3
    mesh = box_mesh((L, h), (5, 2), kind, origin=(0, -h / 2, 0))
    model = assemble_structure(Solid("beam", mesh, STEEL, plane="stress", thickness=b))
    x, y, _ = model.positions.T
    u = np.stack([-kappa * x * y, kappa * (x**2 + nu * y**2) / 2], axis=1).ravel()
    assert 0.5 * u @ (model.K @ u) == pytest.approx(0.5 * 210e9 * b * h**3 / 12 * kappa**2 * L, rel=1e-10)


@pytest.mark.parametrize("kind", PLANE)
def test_loads_have_their_resultants(kind: str) -> None:
    solid = Solid("bar", box_mesh((1.0, 0.2), (6, 2), kind), STEEL, plane="strain", thickness=0.1)
    solid.add_pressure("pressure", "y=0.2", 3.0)
    solid.add_traction("shear", "x=1", (0.0, 5.0))
    loads = {name: load.reshape(-1, 2).sum(axis=0) for name, load in assemble_structure(solid).loads.items()}
    assert loads["pressure"] == pytest.approx([0, -3.0 * 1.0 * 0.1], abs=1e-12)
    assert loads["shear"] == pytest.approx([0, 5.0 * 0.02], abs=1e-12)
    assert loads["gravity"] == pytest.approx([0, -7850.0 * 0.02 * 9.81], rel=1e-12)


def cantilever(kind: str, rigid: bool) -> Solid:
    """0.1 m high and 0.03 m thick, 1 m long."""
    solid = Solid("beam", box_mesh((1.0, 0.1), (20, 2), kind), STEEL, plane="stress", thickness=0.03, gravity=0)
    solid.add_interface("root", "x=0")
    solid.add_interface("tip", "x=1", rigid=rigid)
    return solid


@pytest.mark.parametrize("kind", QUAD)
def test_a_rigid_interface_turns_about_z_and_bends_the_sheet_as_a_beam(kind: str) -> None:
    """M l/EI; clamp and rigid end hinder the contraction there, over a height of a tenth of the length."""
    solid = cantilever(kind, True)
    solid.add_support("root", "fixed")
    solid.add_force("couple", "tip", 0.0, moment=1e3)
    result = solve_static(assemble_structure(solid), "couple").displacement
    assert result["tip.rz"] == pytest.approx(1e3 / (210e9 * 0.03 * 0.1**3 / 12), rel=5e-3)


@pytest.mark.parametrize("kind", QUAD)
def test_an_averaging_interface_has_the_mean_motion_of_its_points(kind: str) -> None:
    """Also about a place off their middle: the motion of a rigid body that fits best."""
    solid = cantilever(kind, False)
    solid.interfaces.pop("tip")
    solid.add_interface("tip", "x=1", position=(1.0, 0.3), rigid=False)
    solid.add_support("root", "fixed")
    solid.add_force("load", "tip", (3.0, -2.0), moment=0.7)
    result = solve_static(assemble_structure(solid), "load").displacement
    points = solid.mesh.select("x=1")
    u = np.array([[result[f"p{i}.{way}"] for way in "xy"] for i in points])
    y = solid.mesh.points[points, 1]
    turn = -((y - y.mean()) @ u[:, 0]) / ((y - y.mean()) @ (y - y.mean()))
    mean = u.mean(axis=0) + turn * np.array([-(0.3 - y.mean()), 0.0])
    np.testing.assert_allclose([result[f"tip.{way}"] for way in ("x", "y", "rz")], [*mean, turn], rtol=1e-10)


@pytest.mark.parametrize("kind", QUAD)
def test_a_flexible_sheet_has_the_modes_of_its_structure(kind: str) -> None:
    solid = cantilever(kind, True)
    body = flexible_body(solid, basis="clamped", fixed="root", modes=3, nodes=["root", "tip"])
    solid.add_support("root", "fixed")
    hertz = assemble_structure(solid).modes(3).frequencies / 2 / np.pi
    np.testing.assert_allclose(body.frequencies_hz, hertz, rtol=1e-9)  # two factorizations
    assert body.mass == pytest.approx(7850.0 * 1.0 * 0.1 * 0.03, rel=1e-12)


def test_a_compressed_sheet_buckles_as_euler_says() -> None:
    """π² EI/(4 l²), less 2.2 % of shear and the clamp: k A G = 0.3 % of it at this slenderness."""
    solid = Solid("strut", box_mesh((1.0, 0.02), (40, 1), "quad8"), STEEL, plane="stress", thickness=0.03, gravity=0)
    solid.add_support("x=0", "xy")
    solid.add_traction("push", "x=1", (-1.0, 0.0))
    factor = find_buckling(assemble_structure(solid), "push", count=1).factors[0]
    assert factor * 0.02 * 0.03 == pytest.approx(np.pi**2 * 210e9 * 0.03 * 0.02**3 / 12 / 4, rel=2e-3)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, "unknown-choice"),
        ({"plane": "flat", "thickness": 1.0}, "unknown-choice"),
        ({"plane": "strain"}, "missing-argument"),
        ({"plane": "strain", "thickness": 0.0}, "not-positive"),
        ({"plane": "strain", "thickness": 1.0, "gravity": (0, 0, -9.81)}, "not-planar"),
    ],
)
def test_a_sheet_needs_its_state_and_thickness(options: dict[str, Any], code: str) -> None:
    with raises(Exception, code):
        Solid("sheet", box_mesh((1, 1), (1, 1), "quad4"), STEEL, **options)


def test_a_solid_has_no_plane_and_points_of_a_sheet_one_z() -> None:
    with raises(Exception, "ineffective-argument"):
        Solid("block", box_mesh((1, 1, 1), (1, 1, 1)), STEEL, plane="strain", thickness=1.0)
    with raises(Exception, "not-planar"):
        Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0]], [[0, 1, 2, 3]], "quad4")


def test_a_sheet_is_drawn_by_its_cells_and_moves() -> None:
    """Nine cells in the plane; pictures of statics and of a flexible body, and a page."""
    solid = cantilever("quad8", True)
    solid.add_support("root", "fixed")
    solid.add_force("load", "tip", (0.0, -1.0))
    cells, faces = solid.mesh.skin()
    assert len(cells) == len(solid.mesh.cells) and not faces.any()
    figure = da.plot(solve_static(assemble_structure(solid), "load"))
    figure.canvas.draw()
    assert figure.axes[0].name == "rectilinear"
    body = flexible_body(cantilever("tri6", True), basis="clamped", fixed="root", modes=2, nodes=["root", "tip"])
    assert body.picture is not None and len(body.picture.triangles) == 80
    assert da.animate(solid) is not None


def test_a_mesh_file_of_plane_cells_is_read(tmp_path: Path) -> None:
    """Lines of the border become a set of points; beside solid cells plane ones are their surface."""
    nodes = "1 0 0 0\n2 1 0 0\n3 2 0 0\n4 0 1 0\n5 1 1 0\n6 2 1 0"
    cells = "1 1 2 1 1 1 4\n2 3 2 2 1 1 2 5 4\n3 3 2 2 1 2 3 6 5"
    file = tmp_path / "sheet.msh"
    file.write_text(f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n6\n{nodes}\n$EndNodes\n"
                    f"$Elements\n3\n{cells}\n$EndElements\n")  # fmt: skip
    mesh = read_mesh(file)
    assert mesh.kind == "quad4" and mesh.volumes().tolist() == pytest.approx([1.0, 1.0])
    assert mesh.select("physical 1-1").tolist() == [0, 3]
