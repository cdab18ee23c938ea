"""Solids as users describe them: meshes, materials, supports, interfaces, loads, and what is refused."""

import numpy as np
import pytest

from dalembert.core.errors import DataError, MissingExtraError, ModelError
from dalembert.structures import (
    Frame,
    Material,
    Mesh,
    OrthotropicMaterial,
    Rayleigh,
    Section,
    Solid,
    assemble_structure,
    box_mesh,
    craig_bampton,
    mesh_from_skfem,
    solve_static,
)
from dalembert.structures.solid.element import SOLID_ELEMENTS
from tests.helpers.findings import raises

pytest.importorskip("skfem")

STEEL = Material("steel", 210e9, 7850.0, 0.3)
SPATIAL = [kind for kind, cell in SOLID_ELEMENTS.items() if cell.dimension == 3]


def bar(kind="hex8", divisions=(4, 2, 2), **options):
    return Solid("bar", box_mesh((1.0, 0.2, 0.1), divisions, kind), STEEL, **options)


# -- meshes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SPATIAL)
def test_a_box_is_filled_and_its_surface_is_closed(kind):
    mesh = box_mesh((2.0, 1.0, 0.5), (3, 2, 2), kind, origin=(1.0, 0.0, -0.5))
    assert mesh.volumes().sum() == pytest.approx(1.0) and np.all(mesh.volumes() > 0)
    assert mesh.turned == 0
    from dalembert.structures.solid.element_matrices import on_surface

    cells, faces = mesh.surface()
    _, areas = on_surface(mesh.points, mesh.cells[cells], faces, kind, 2)
    assert np.abs(areas.sum(axis=(0, 1))).max() < 1e-12
    assert np.linalg.norm(areas, axis=2).sum() == pytest.approx(2 * (2.0 + 1.0 + 0.5))


@pytest.mark.parametrize("kind", SPATIAL)
def test_cells_numbered_inside_out_are_turned(kind):
    from dalembert.structures.solid.shapes import mirror_order

    mesh = box_mesh((1, 1, 1), (2, 1, 1), kind)
    cells = mesh.cells.copy()
    cells[1] = cells[1][mirror_order(kind)]
    again = Mesh(mesh.points, cells, kind)
    assert again.turned == 1 and np.array_equal(again.cells, mesh.cells)


def test_points_of_no_cell_are_dropped_and_sets_follow():
    box = box_mesh((1, 1, 1), (1, 1, 1))
    points = np.concatenate([[[9.0, 9.0, 9.0]], box.points])
    mesh = Mesh(points, box.cells + 1, "hex8", point_sets={"some": [0, 1, 2]})
    assert mesh.dropped == 1 and mesh.point_sets["some"].tolist() == [0, 1]


def test_points_are_selected_by_plane_range_function_and_number():
    mesh = box_mesh((2, 1, 1), (2, 1, 1))
    assert len(mesh.select("x=0")) == 4
    assert len(mesh.select("x >= 1 and z = 0")) == 4
    assert len(mesh.select("x>1, x<3")) == 4
    assert len(mesh.select(lambda x, y, z: (x > 0.5) & (y > 0.5))) == 4
    assert mesh.select([3, 1, 3]).tolist() == [1, 3]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("x=7", ("nothing-selected", "'x=7'")),
        ("lef", ("unknown-name", "'lef'")),
        ("__import__('os')", ("unknown-name",)),
        (lambda x, y, z: 1, ("wrong-type",)),
        ([99], ("out-of-range", "0", "7")),
        ([0.5], ("not-a-count",)),
    ],
)
def test_a_selection_of_nothing_or_nonsense_is_refused(where, message):
    with raises(DataError, *message):
        box_mesh((1, 1, 1), (1, 1, 1)).select(where)


BAD_MESHES = {
    "unknown kind": ({"kind": "hex9"}, ("unknown-name", "'hex9'", "'hex8'")),
    "cells of another kind": ({"kind": "tet4"}, ("wrong-shape", "4", "(1, 8)")),
    "no cells": ({"cells": np.zeros((0, 8), int)}, ("empty",)),
    "missing point": ({"cells": [[0, 1, 3, 2, 4, 5, 7, 88]]}, ("bad-mesh", "0", "88", "8")),
    "not a number": ({"points": np.full((8, 3), np.nan)}, ("not-finite", "0")),
    "crossed": ({"cells": [[0, 1, 2, 3, 4, 5, 6, 7]]}, ("bad-mesh",)),
    "flat": ({"points": np.array([[x, y, 0.0] for y in (0, 1) for x in (0, 1)] * 2)}, ("bad-mesh",)),
    "set outside": ({"point_sets": {"a": [8]}}, ("out-of-range", "'a'", "0", "7")),
}


@pytest.mark.parametrize("what", BAD_MESHES)
def test_a_bad_mesh_is_refused(what):
    box = box_mesh((1, 1, 1), (1, 1, 1))
    changes, message = BAD_MESHES[what]
    with raises(DataError, *message):
        Mesh(**{"points": box.points, "cells": box.cells, "kind": "hex8", **changes})


@pytest.mark.parametrize(("arguments", "code"), [
    (((1, 1), (1, 1, 1)), "not-positive"), (((1, 0, 1), (1, 1, 1)), "not-positive"),
    (((1, 1, 1), (1, 0, 1)), "not-a-count"), (((1, 1, 1), (1, 1.5, 1)), "not-a-count"),
])  # fmt: skip
def test_a_bad_box_is_refused(arguments, code):
    with raises(DataError, code, "box"):
        box_mesh(*arguments)


def test_a_mesh_of_scikit_fem_brings_its_named_boundaries():
    import skfem

    theirs = skfem.MeshHex().refined(1).with_boundaries({"left": lambda x: x[0] == 0.0})
    mesh = mesh_from_skfem(theirs)
    assert np.all(mesh.points[mesh.point_sets["left"], 0] == 0.0) and len(mesh.point_sets["left"]) == 9


# -- materials -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("000-35")
def test_isotropic_law_is_the_orthotropic_one_with_equal_moduli_in_any_axes():
    from dalembert.structures.solid.elastic_laws import elasticity

    G = 210e9 / 2.6
    same = OrthotropicMaterial("same", 210e9, 210e9, 210e9, 0.3, 0.3, 0.3, G, G, G, density=1.0)
    for material in (same, same.turn_about("x", 20.0).turn_about("z", 70.0)):
        assert material.elasticity() == pytest.approx(elasticity(STEEL), rel=1e-12, abs=1e-3)


def test_a_material_that_would_release_energy_is_refused():
    with raises(DataError, "bad-material"):
        OrthotropicMaterial("bad", 10e9, 200e9, 10e9, 0.5, 0.3, 0.3, 5e9, 5e9, 5e9, density=1.0)
    with raises(DataError, "bad-material", "-1"):
        OrthotropicMaterial("bad", -1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, density=-2.0)
    with raises(DataError, "bad-material"):
        OrthotropicMaterial("bad", 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, density=1.0, axes=-np.eye(3))


def test_incompressible_and_wrongly_isotropic_materials_are_refused():
    for material, message in (
        (Material("rubber", 1e6, 1000.0, 0.5), ("incompressible",)),
        ("spruce", ("not-isotropic",)),
    ):
        with raises(ModelError, *message):
            assemble_structure(Solid("bar", box_mesh((1, 1, 1), (1, 1, 1)), material))


def test_cell_sets_have_materials_of_their_own():
    box = box_mesh((2, 1, 1), (2, 1, 1)).replace(cell_sets={"near": [0], "far": [1]})
    model = assemble_structure(Solid("bar", box, {"near": "steel", "far": "aluminium"}))
    assert model.mass() == pytest.approx(7850.0 + 2700.0)
    with raises(ModelError, "no-material", "1", "'bar'"):
        Solid("bar", box, {"near": "steel"})
    with raises(ModelError, "unknown-name", "'nea'", "'near'"):
        Solid("bar", box, {"nea": "steel", "far": "steel"})


def test_a_loss_factor_makes_the_stiffness_complex():
    model = assemble_structure(
        Solid("bar", box_mesh((1, 1, 1), (1, 1, 1)), Material("m", 1e9, 1000.0, 0.3, loss_factor=0.02))
    )
    assert np.abs((model.K_loss - 0.02 * model.K).toarray()).max() < 1e-6


# -- loads and supports ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SPATIAL)
def test_pressure_traction_and_gravity_have_the_right_resultants(kind):
    solid = bar(kind)
    solid.add_pressure("pressure", "z=0.1", 3.0)
    solid.add_traction("shear", "x=1", (0.0, 5.0, 0.0))
    solid.add_force("point", "x=1", (0.0, 0.0, 7.0))
    loads = assemble_structure(solid).loads
    assert loads["pressure"].reshape(-1, 3).sum(axis=0) == pytest.approx([0, 0, -3.0 * 1.0 * 0.2], abs=1e-12)
    assert loads["shear"].reshape(-1, 3).sum(axis=0) == pytest.approx([0, 5.0 * 0.02, 0], abs=1e-12)
    assert loads["point"].reshape(-1, 3).sum(axis=0) == pytest.approx([0, 0, 7.0], abs=1e-12)
    weight = 7850.0 * 0.02 * 9.81
    assert loads["gravity"].reshape(-1, 3).sum(axis=0) == pytest.approx([0, 0, -weight], abs=1e-9)


def test_reactions_carry_the_weight():
    solid = bar()
    solid.add_support("x=0", "fixed")
    found = solve_static(assemble_structure(solid), "gravity")
    total = sum(force for name, force in found.reaction.items() if name.endswith(".z"))
    assert total == pytest.approx(7850.0 * 0.02 * 9.81)


def test_a_foundation_under_pressure_sinks_by_pressure_over_stiffness():
    block = Solid("block", box_mesh((1, 1, 0.1), (3, 3, 1)), STEEL, gravity=0)
    block.add_foundation("z=0", (0.0, 0.0, 2e6))
    block.add_support("x=0", "x")
    block.add_support("y=0", "y")
    block.add_pressure("press", "z=0.1", 1e4)
    u = solve_static(assemble_structure(block), "press").u.reshape(-1, 3)
    assert u[block.mesh.select("z=0"), 2] == pytest.approx(np.full(16, -1e4 / 2e6), rel=1e-9)


def test_prescribed_displacements_stretch_the_bar():
    solid = bar(gravity=0)
    solid.add_support("x=0", "xyz")
    solid.add_support("x=1", "x", values=1e-3)
    found = solve_static(assemble_structure(solid), {})
    assert found.u.reshape(-1, 3)[solid.mesh.select("x=1"), 0] == pytest.approx(np.full(9, 1e-3))


def test_an_unsupported_solid_is_refused_by_statics_with_its_free_motions():
    with raises(ModelError, "not-held"):
        solve_static(assemble_structure(bar()), "gravity")


MISTAKES = {
    "no name": (lambda s: Solid("", s.mesh, STEEL), ("bad-name",)),
    "no mesh": (lambda s: Solid("a", [[0]], STEEL), ("wrong-type",)),
    "rotation of a point": (lambda s: s.add_support("x=0", "rx"), ("not-supported",)),
    "no direction": (lambda s: s.add_support("x=0", "up"), ("unknown-choice",)),
    "value": (lambda s: s.add_support("x=0", "x", values=np.inf), ("not-finite",)),
    "moment on points": (lambda s: s.add_force("a", "x=0", 0, moment=(1, 0, 0)), ("not-supported",)),
    "two numbers": (lambda s: s.add_force("a", "x=0", (1, 2)), ("wrong-shape",)),
    "pressure": (lambda s: s.add_pressure("a", "x=0", "high"), ("not-a-number",)),
    "case": (lambda s: s.add_pressure("gravity", "x=0", 1.0), ("bad-name", "'gravity'")),
    "foundation": (lambda s: s.add_foundation("x=0", -1.0), ("negative",)),
    "interface name": (lambda s: s.add_interface("p3", "x=0"), ("taken-name",)),
    "quadrature": (lambda s: Solid("a", s.mesh, STEEL, quadrature=99), ("out-of-range", "1", "12")),
    "modes": (lambda s: bar("tet4", incompatible=True), ("not-supported",)),
    "material": (lambda s: Solid("a", s.mesh, "steeel"), ("unknown-name", "'steel'")),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_refused_where_it_is_made(what):
    action, message = MISTAKES[what]
    with raises(ModelError, *message):
        action(bar())


def test_all_contradictions_of_interfaces_are_reported_at_once():
    solid = bar()
    solid.add_support("x=0", "xyz")
    solid.add_interface("root", "x=0")
    solid.add_interface("tip", "x=1")
    solid.add_interface("corner", "x=1, z=0")
    solid.add_interface("line", "x=0.5, y=0", rigid=False)
    with pytest.raises(ModelError) as error:
        assemble_structure(solid)
    for part in (
        "is held by a support and follows interface 'root'",
        "both interfaces 'tip' and 'corner'",
        "on a line",
    ):
        assert part in str(error.value)


# -- interfaces ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rigid", [True, False])
def test_an_interface_follows_a_rigid_motion_of_the_solid(rigid):
    solid = bar(gravity=0)
    solid.add_interface("root", "x=0", rigid=rigid)
    solid.add_interface("tip", "x=1", position=(1.3, 0.1, 0.2), rigid=rigid)
    shift = np.array([1e-3, -2e-3, 3e-3, 4e-3, 5e-3, -6e-3])
    solid.add_support("root", "fixed", values=shift)
    model = assemble_structure(solid)
    u = solve_static(model, {}).u.reshape(-1, 6)
    root = model.positions[model.point("root")]
    exact = shift[:3] + np.cross(shift[3:], model.positions - root)
    assert np.abs(u[:, :3] - exact).max() < 1e-11
    assert u[model.point("tip"), 3:] == pytest.approx(shift[3:], abs=1e-11)


def test_a_rigid_interface_is_stiffer_than_an_averaging_one_and_both_balance_the_load():
    tips = []
    for rigid in (True, False):
        solid = bar(divisions=(8, 2, 2), gravity=0)
        solid.add_support("x=0", "xyz")
        solid.add_interface("tip", "x=1", rigid=rigid)
        solid.add_force("bend", "tip", (0, 0, 100.0), moment=(3.0, 0, 0))
        found = solve_static(assemble_structure(solid), "bend")
        tips.append(found.displacement["tip.z"])
        root = solid.mesh.select("x=0")
        force = np.array([found.reaction[f"p{i}"][:3] for i in root])
        assert force.sum(axis=0) == pytest.approx([0, 0, -100.0], abs=1e-6)
        arms = solid.mesh.points[root] - [1.0, 0.1, 0.05]
        assert np.cross(arms, force).sum(axis=0) == pytest.approx([-3.0, 0, 0], abs=1e-6)
    assert tips[0] < tips[1] < 1.02 * tips[0]


def test_craig_bampton_on_interfaces_comes_down_on_the_frequencies_of_a_solid():
    solid = bar(divisions=(10, 2, 2))
    solid.add_interface("left", "x=0")
    solid.add_interface("right", "x=1")
    system = assemble_structure(solid).system()
    masters = [f"{end}.{way}" for end in ("left", "right") for way in ("x", "y", "z", "rx", "ry", "rz")]
    full = system.modes(12).frequencies_hz[6:]
    few, many = (craig_bampton(system, masters, modes=k).system.modes().frequencies_hz[6:12] for k in (8, 80))
    assert np.all(few > full * (1 - 1e-9)) and np.all(many > full * (1 - 1e-9))  # Ritz: from above
    assert np.max(many / full - 1) < 0.1 * np.max(few / full - 1)


def test_a_solid_with_an_interface_bends_as_a_timoshenko_beam():
    # without Poisson's ratio the ends do not hinder the section; what is left is the hindered warping by shear at
    # the ends, of the order h/L of the shear deflection, itself 3 χ E I/(G A L²) = 0.6 % of the whole: below 1e-3
    material = Material("m", 210e9, 7850.0, 0.0)
    solid = Solid("bar", box_mesh((1.0, 0.2, 0.1), (12, 1, 2), "hex20"), material, gravity=0)
    solid.add_support("x=0", "xyz")
    solid.add_interface("tip", "x=1")
    solid.add_force("bend", "tip", (0, 0, 100.0))
    frame = Frame("beam")
    frame.add_point("A", (0, 0, 0))
    frame.add_point("tip", (1, 0, 0))
    section = Section.rectangle(0.1, 0.2, poisson=0.0)
    frame.add_beam("beam", "A", "tip", section=section, material=material)
    frame.add_support("A", "fixed")
    frame.add_force("bend", "tip", (0, 0, 100.0))
    beam = solve_static(assemble_structure(frame), "bend").displacement["tip.z"]
    assert solve_static(assemble_structure(solid), "bend").displacement["tip.z"] == pytest.approx(beam, rel=1e-3)


# -- axes ------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("000-35")
@pytest.mark.spec("000-34")
@pytest.mark.parametrize("kind", SPATIAL)
def test_a_turned_solid_has_turned_matrices(kind):
    # trap T-06: element matrices that mix frames store energy in a rotation and change with the axes
    wood = OrthotropicMaterial("spruce", 11e9, 0.8e9, 0.45e9, 0.37, 0.42, 0.47, 0.69e9, 0.65e9, 0.03e9, density=450.0)
    turned = wood.turn_about("z", 34.0).turn_about("x", -50.0)
    R = np.array(turned.axes).T  # columns: where x, y, z of the wood have gone
    mesh = box_mesh((1.0, 0.5, 0.4), (2, 1, 1), kind)
    here = assemble_structure(Solid("here", mesh, wood))
    there = assemble_structure(Solid("there", mesh.replace(points=mesh.points @ R.T), turned))
    turn = np.kron(np.eye(len(mesh.points)), R)
    for a, b in ((here.K, there.K), (here.M, there.M)):
        assert np.abs(turn @ a.toarray() @ turn.T - b.toarray()).max() < 1e-12 * np.abs(a).max()


# -- results ---------------------------------------------------------------------------------------------------------


def test_stresses_are_found_by_place_and_component():
    solid = bar("hex20", (8, 2, 2), gravity=0)
    solid.add_support("x=0", "x")
    solid.add_support("x=0, y=0", "y")
    solid.add_support("x=0, z=0", "z")
    solid.add_traction("pull", "x=1", (2e6, 0, 0))
    found = solve_static(assemble_structure(solid), "pull").stresses()[0]
    assert found.at("x=0.5", "xx") == pytest.approx(2e6)
    assert found.at("x=0.5", "von_mises") == pytest.approx(2e6)
    assert found.positions.shape[:2] == found.stresses.shape[:2]
    with raises(DataError, "unknown-choice"):
        found.at("x=0.5", "yx")
    assert "von Mises" in repr(found)


def test_damping_and_description_travel_to_the_structure():
    solid = bar()
    solid.set_damping(Rayleigh(0.0, 1e-5))
    solid.add_support("x=0", "xyz")
    model = assemble_structure(solid)
    assert np.abs((model.system().C - 1e-5 * model.system().K).toarray()).max() < 1e-3
    assert model.provenance["elements"] == "16 hex8" and "16 hex8 cells" in repr(solid)


def test_without_scikit_fem_the_extra_is_named(monkeypatch):
    import importlib

    real = importlib.import_module

    def missing(name, *rest):
        if name.startswith("skfem"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", missing)
    from dalembert.structures.solid import shapes as solid_shapes

    with raises(MissingExtraError, "missing-extra", "dalembert[solids]"):
        solid_shapes.shapes("hex8", np.zeros((1, 3)))


@pytest.mark.spec("000-35")
def test_every_modulus_of_an_orthotropic_law_acts_in_its_own_plane():
    """Stresses of unit strains in the order xx, yy, zz, xy, yz, zx: G12 shears xy, G23 yz, G13 zx; Poisson's ratios by
    uniaxial stress: pulled along 1 it shrinks by ν12/E1 and ν13/E1."""
    E1, E2, E3, nu12, nu13, nu23, G12, G13, G23 = 11e9, 0.8e9, 0.45e9, 0.37, 0.42, 0.47, 0.69e9, 0.65e9, 0.03e9
    wood = OrthotropicMaterial(
        "wood", E1, E2, E3, nu12=nu12, nu13=nu13, nu23=nu23, G12=G12, G13=G13, G23=G23, density=450.0
    )
    D = wood.elasticity()
    assert np.diag(D)[3:] == pytest.approx([G12, G23, G13], rel=1e-12)
    pulled = np.linalg.solve(D, [1.0, 0, 0, 0, 0, 0])
    assert pulled[:3] == pytest.approx([1 / E1, -nu12 / E1, -nu13 / E1], rel=1e-9)
    assert np.linalg.solve(D, [0, 1.0, 0, 0, 0, 0])[:3] == pytest.approx([-nu12 / E1, 1 / E2, -nu23 / E2], rel=1e-9)


def test_a_sheared_block_has_the_comparison_stress_of_pure_shear():
    """√3 τ in each of the three planes."""
    from dalembert.structures.solid.elastic_laws import von_mises

    for plane in range(3):
        stresses = np.zeros(6)
        stresses[3 + plane] = 2e6
        assert von_mises(stresses[None])[0] == pytest.approx(np.sqrt(3) * 2e6, rel=1e-12)
    mixed = np.array([[3e6, -1e6, 0.5e6, 1e6, -2e6, 0.7e6]])
    deviator = mixed[0, :3] - mixed[0, :3].mean()
    wanted = np.sqrt(1.5 * (deviator @ deviator + 2 * (mixed[0, 3:] @ mixed[0, 3:])))
    assert von_mises(mixed)[0] == pytest.approx(wanted, rel=1e-12)
