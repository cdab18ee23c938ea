"""Static solutions: internal forces, deflections, stresses, reactions, structures that are not held."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.integrate

from dalembert.core.errors import DataError, ModelError
from dalembert.structures import (
    Frame,
    Material,
    Section,
    Structure,
    assemble_structure,
    solve_static,
)
from tests.helpers.findings import assert_read_only, raises

STEEL = Material("steel", E=210e9, density=7850.0)


PLANK = Section.rectangle(0.2, 0.1)


L = 2.0


def beam(n=1, planar=True, **options):
    f = Frame("beam", planar=planar)
    f.add_points(["A", "B"], np.array([[0, 0, 0], [L, 0, 0]])[:, : 2 if planar else 3])
    f.add_beam("beam", "A", "B", **{"section": PLANK, "material": STEEL, "elements": n, **options})
    return f


def simply_supported(n=1, **options):
    f = beam(n, **options)
    f.add_support("A", "xy")
    f.add_support("B", "y")
    return f


# -- inside a beam ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 2, 7])
def test_internal_forces_and_deflection_are_exact_under_a_linear_load(n):
    """Simply supported, load from q to 0: M = q x (L−x)(2L−x)/6L and EI v = its double integral (Timoshenko)."""
    f = simply_supported(n)
    q = 1000.0
    f.add_line_load("q", "beam", (0, -q), end_force=(0, 0))
    result = solve_static(assemble_structure(f), "q").beam("beam", 9)
    x = result.x
    moment = q * x * (L - x) * (2 * L - x) / (6 * L)
    np.testing.assert_allclose(result.M_z, moment, rtol=0, atol=1e-9 * q)
    # M′ = q(L/3 − x + x²/2L); on the face that looks along +x the shear force is −M′
    np.testing.assert_allclose(result.V_y, -q * (L / 3 - x + x**2 / (2 * L)), rtol=0, atol=1e-9 * q)
    EI, GA = STEEL.E * PLANK.I_z, STEEL.G * PLANK.area / PLANK.shear_y
    bent = -q * x * (L - x) * (2 * L - x) * (4 * L**2 + 6 * L * x - 3 * x**2) / (360 * L * EI)
    np.testing.assert_allclose(result.deflection[:, 1], bent - moment / GA, rtol=1e-8, atol=1e-18)


def test_a_load_on_a_place_of_a_beam_needs_no_point_there():
    f = simply_supported(2)
    f.add_beam_force("p", "beam", 0.5, (0, -12.0))
    s = assemble_structure(f)
    result = solve_static(s, "p").beam("beam", [0.25, 0.5, 1.0])
    np.testing.assert_allclose(result.M_z, 12 * 1.5 / 2 * np.array([0.25, 0.5, 1.0 / 3]), rtol=1e-9)
    np.testing.assert_allclose(result.V_y, [-9.0, 3.0, 3.0], rtol=1e-9)
    g = Frame("beam", planar=True)
    g.add_points("p", [[0, 0], [0.5, 0], [2, 0]])
    g.add_beams("b", ["p1", "p2"], ["p2", "p3"], section=PLANK, material=STEEL)
    g.add_support("p1", "xy")
    g.add_support("p3", "y")
    there = solve_static(assemble_structure(g), {"p2.y": -12.0})
    assert result.deflection[1, 1] == pytest.approx(there.displacement["p2.y"], rel=1e-9)
    quarter = there.beam("b1", [0.25]).deflection[0, 1]
    assert result.deflection[0, 1] == pytest.approx(quarter, rel=1e-9)


def test_point_loads_on_bars_tapers_and_beams_together():
    f = Frame("three", planar=True)
    f.add_points("p", [[0, 0], [1, 0], [2, 0], [3, 0]])
    f.add_bar("bar", "p1", "p2", section=PLANK, material=STEEL)
    f.add_beam("taper", "p2", "p3", section=PLANK, end_section=Section.rectangle(0.1, 0.1), material=STEEL)
    f.add_beam("beam", "p3", "p4", section=PLANK, material=STEEL)
    f.add_support(f.point_names, "fixed")
    for name in ("bar", "taper", "beam"):
        f.add_beam_force("all", name, 0.25, (0, -8.0))
    solution = solve_static(assemble_structure(f), "all")
    np.testing.assert_allclose(solution.reaction["p1"], [0, 6, 0], rtol=0, atol=1e-9)
    assert sum(solution.reaction[f"{p}.y"] for p in f.point_names) == pytest.approx(24, rel=1e-12)
    for name in ("bar", "taper", "beam"):
        jump = solution.beam(name, [0.25 - 1e-9, 0.25]).V_y
        assert jump[1] - jump[0] == pytest.approx(8, abs=1e-6)


def test_signs_of_internal_forces_in_space():
    f = beam(planar=False)
    f.add_support("A", "fixed")
    s = assemble_structure(f)
    up = solve_static(s, {"B.x": 5.0, "B.rx": 7.0, "B.z": 3.0}).beam("beam", 3)  # local y is global z
    np.testing.assert_allclose(up.N, 5)
    np.testing.assert_allclose(up.T, 7)
    np.testing.assert_allclose(up.V_y, 3)
    np.testing.assert_allclose(up.M_z, 3 * (L - up.x), rtol=0, atol=1e-9)
    side = solve_static(s, {"B.y": -2.0}).beam("beam", 3)  # local z is −y
    np.testing.assert_allclose(side.V_z, 2, rtol=1e-9)
    np.testing.assert_allclose(side.M_y, -2 * (L - side.x), rtol=0, atol=1e-9)
    # the fibre at +z is pressed where the beam is bent towards +z
    assert side.deflection[-1, 2] > 0
    extreme = 2 * L * 0.05 / PLANK.I_y
    assert side.highest[0] == pytest.approx(extreme, rel=1e-9)
    assert side.lowest[0] == pytest.approx(-extreme, rel=1e-9)


def test_weight_of_a_tapered_beam_is_carried_to_its_root():
    deep, shallow = Section.rectangle(0.3, 0.1), Section.rectangle(0.1, 0.1)
    f = beam(4, section=deep, end_section=shallow)
    f.add_support("A", "fixed")
    solution = solve_static(assemble_structure(f), "gravity")
    result = solution.beam("beam", 5)
    weight = lambda x: 9.81 * 7850 * deep.between(shallow, x / L).area  # noqa: E731
    for x, V, M in zip(result.x, result.V_y, result.M_z):
        assert -scipy.integrate.quad(weight, x, L)[0] == pytest.approx(V, abs=1e-9 * 9e3)
        assert -scipy.integrate.quad(lambda s, x=x: weight(s) * (s - x), x, L)[0] == pytest.approx(M, abs=1e-9 * 9e3)
    assert result.deflection[-1, 1] == pytest.approx(solution.displacement["B.y"], rel=1e-6)


def test_stresses_at_the_extreme_fibres():
    f = beam(planar=False, section=Section.circle(0.1))
    f.add_support("A", "fixed")
    root = solve_static(assemble_structure(f), {"B.x": 1e4, "B.y": 300.0, "B.z": 400.0, "B.rx": 50.0}).beam("beam", 2)
    inertia, A = np.pi * 0.1**4 / 64, np.pi * 0.1**2 / 4
    bent = 500 * L * 0.05 / inertia  # both planes together: a round section bends about one axis
    assert root.highest[0] == pytest.approx(1e4 / A + bent, rel=1e-9)
    assert root.lowest[0] == pytest.approx(1e4 / A - bent, rel=1e-9)
    assert root.torsion[0] == pytest.approx(50 * 0.05 / (2 * inertia), rel=1e-9)
    assert root.shear[0] == pytest.approx(4 / 3 * 500 / A, rel=1e-9)
    # where bending is largest the shear force has no stress, torsion has
    assert root.von_mises[0] == pytest.approx(np.sqrt(root.highest[0] ** 2 + 3 * root.torsion[0] ** 2), rel=1e-9)
    assert root.highest_strain[0] == pytest.approx(root.highest[0] / 210e9, rel=1e-12)


def test_torsion_of_a_square_is_that_of_the_tables():
    """τ = T/(0.208 a³) (Timoshenko and Goodier, table for a/b = 1)."""
    from dalembert.structures.beams.section_stresses import torsion_modulus

    assert torsion_modulus(Section.rectangle(1.0, 1.0)) == pytest.approx(0.208, abs=5e-4)
    assert torsion_modulus(Section.rectangle(2.0, 1.0)) == pytest.approx(0.246 * 2, abs=1e-3)
    assert torsion_modulus(Section.rectangle(1000.0, 1.0)) == pytest.approx(1000 / 3, rel=1e-3)


def test_a_section_without_size_has_no_bending_stress():
    f = beam(section=Section(area=1e-3, I_y=1e-6, I_z=1e-6, J=1e-6))
    f.add_support("A", "fixed")
    result = solve_static(assemble_structure(f), {"B.y": 1.0}).beam("beam", 2)
    assert np.isnan(result.highest[0])
    assert result.axial[0] == pytest.approx(0, abs=1e-9)


def test_largest_stress_of_every_beam_is_that_along_it():
    f = Frame("portal", planar=True)
    f.add_points("p", [[0, 0], [0, 3], [4, 3], [4, 0]])
    f.add_beams("b", ["p1", "p2", "p3"], ["p2", "p3", "p4"], section=PLANK, material=STEEL, elements=2)
    f.add_support(["p1", "p4"], "fixed")
    f.add_force("wind", "p2", (1e4, 0))
    solution = solve_static(assemble_structure(f), {"wind": 1.0, "gravity": 1.0})
    for name, value in solution.largest_stresses(stations=5).items():
        assert value == pytest.approx(solution.beam(name, 9).von_mises.max(), rel=1e-9)
    assert solution.stresses()[0] == solution.largest_stresses()


def test_a_bar_carries_its_load_to_its_ends():
    f = Frame("bar", planar=True)
    f.add_points(["A", "B"], [[0, 0], [L, 0]])
    f.add_bar("bar", "A", "B", section=PLANK, material=STEEL)
    f.add_support(["A", "B"], "xy")
    result = solve_static(assemble_structure(f), "gravity").beam("bar", 3)
    w = 9.81 * 7850 * 0.02
    np.testing.assert_allclose(result.M_z, [0, w * L**2 / 8, 0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.deflection, 0)


@pytest.mark.parametrize("n", [1, 3])
def test_heat_lengthens_what_is_free_and_presses_what_is_held(n):
    alpha_T = 12e-6 * 50
    f = beam(n)
    f.add_support("A", "fixed")
    f.add_strain("heat", "beam", alpha_T, curvature_z=-0.003)
    free = solve_static(assemble_structure(f), "heat")
    np.testing.assert_allclose(free.displacement["B"], [alpha_T * L, -0.003 * L**2 / 2, -0.003 * L], rtol=1e-9)
    along = free.beam("beam", 5)
    np.testing.assert_allclose(along.N, 0, rtol=0, atol=1e-3)
    np.testing.assert_allclose(along.deflection[:, 1], -0.003 * along.x**2 / 2, rtol=0, atol=1e-12)
    f.add_support("B", "fixed")
    held = solve_static(assemble_structure(f), "heat").beam("beam", 3)
    np.testing.assert_allclose(held.N, -STEEL.E * PLANK.area * alpha_T, rtol=1e-9)
    np.testing.assert_allclose(held.M_z, 0.003 * STEEL.E * PLANK.I_z, rtol=1e-9)
    np.testing.assert_allclose(held.deflection, 0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_initial_curvature_about_y_bends_sideways(n):
    f = beam(n, planar=False)
    f.add_support("A", "fixed")
    f.add_strain("bow", "beam", curvature_y=0.01)
    solution = solve_static(assemble_structure(f), "bow")
    local = solution.beam("beam", 2)
    assert local.deflection[-1, 2] == pytest.approx(-0.01 * L**2 / 2, rel=1e-9)
    assert local.rotation[-1, 1] == pytest.approx(0.01 * L, rel=1e-9)
    # the point itself: local z is global -y, local y is global z
    np.testing.assert_allclose(solution.displacement["B"], [0, 0.01 * L**2 / 2, 0, 0, 0, 0.01 * L], rtol=0, atol=1e-12)
    f.add_support("B", "fixed")
    held = solve_static(assemble_structure(f), "bow")
    np.testing.assert_allclose(held.beam("beam", 3).M_y, -0.01 * STEEL.E * PLANK.I_y, rtol=1e-9)
    np.testing.assert_allclose(held.beam("beam", 3).deflection, 0, rtol=0, atol=1e-12)


# -- solutions --------------------------------------------------------------------------------------------------------
def test_cases_combine_with_factors_and_coordinates():
    f = simply_supported(2)
    f.add_line_load("snow", "beam", (0, -5.0))
    f.add_force("hook", "beam[1]", (0, -7.0))
    s = assemble_structure(f)
    both = solve_static(s, {"snow": 1.5, "hook": 2.0, "beam[1].x": 3.0})
    parts = 1.5 * solve_static(s, "snow").u + 2 * solve_static(s, "hook").u + 3 * solve_static(s, {"beam[1].x": 1.0}).u
    np.testing.assert_allclose(both.u, parts, rtol=1e-10, atol=1e-22)
    assert both.factors == {"snow": 1.5, "hook": 2.0}
    np.testing.assert_allclose(solve_static(s, both.load).u, both.u, rtol=1e-10)


def test_points_give_vectors_and_coordinates_numbers():
    f = beam()
    f.add_support("A", "fixed")
    solution = solve_static(assemble_structure(f), {"B.y": 6.0})
    np.testing.assert_allclose(solution.reaction["A"], [0, -6, -12], rtol=0, atol=1e-12)
    assert list(solution.reaction) == ["A.x", "A.y", "A.rz"]
    assert dict(solution.reaction)["A.y"] == pytest.approx(-6)
    assert solution.displacement["B"][1] == solution.displacement["B.y"]


def test_reactions_at_a_held_master_include_what_its_slaves_carry():
    f = Frame("foot", planar=True)
    f.add_points(["foot", "A", "B"], [[0, 0], [0.5, 0], [2.5, 0]])
    f.add_beam("beam", "A", "B", section=PLANK, material=STEEL)
    f.add_rigid("plate", "foot", "A")
    f.add_support("foot", "fixed")
    solution = solve_static(assemble_structure(f), {"B.y": -4.0})
    np.testing.assert_allclose(solution.reaction["foot"], [0, 4, 10], rtol=0, atol=1e-10)


def test_prescribed_motion_of_a_master_moves_its_slaves():
    f = Frame("foot", planar=True)
    f.add_points(["foot", "A", "B"], [[0, 0], [0.5, 0], [2.5, 0]])
    f.add_beam("beam", "A", "B", section=PLANK, material=STEEL)
    f.add_rigid("plate", "foot", "A")
    f.add_support("foot", "fixed", values={"rz": 0.01})
    solution = solve_static(assemble_structure(f))
    np.testing.assert_allclose(solution.displacement["A"], [0, 0.005, 0.01], rtol=1e-12)
    np.testing.assert_allclose(solution.displacement["B"], [0, 0.025, 0.01], rtol=1e-9)


def test_a_structure_remembers_its_factors_between_loads_but_not_in_a_pickle():
    f = beam(3)
    f.add_support("A", "fixed")
    s = assemble_structure(f)
    first = solve_static(s, {"B.y": 1.0})
    assert "_statics" in s.__dict__
    np.testing.assert_array_equal(solve_static(s, {"B.y": 1.0}).u, first.u)
    again = pickle.loads(pickle.dumps(s))  # noqa: S301
    assert "_statics" not in again.__dict__
    np.testing.assert_array_equal(solve_static(again, {"B.y": 1.0}).u, first.u)


def test_solutions_survive_pickling_and_print():
    f = beam()
    f.add_support("A", "fixed")
    solution = solve_static(assemble_structure(f), {"B.y": 6.0})
    again = pickle.loads(pickle.dumps(solution))  # noqa: S301
    np.testing.assert_array_equal(again.u, solution.u)
    assert "reactions of supports" in repr(again)
    assert "A.rz" in again.table()
    assert "M_z [N m]" in repr(again.beam("beam"))
    with pytest.raises(AttributeError):
        again.u = 0
    assert_read_only(again.u)


@pytest.mark.parametrize("n", [500, 2000])
def test_a_long_thin_mesh_loses_no_more_than_its_condition_allows(n):
    """Entries of K are rounded to ε and its condition number grows as n⁴."""
    f = beam(n, theory="euler-bernoulli")
    f.add_support("A", "fixed")
    found = solve_static(assemble_structure(f), {"B.y": 1.0}).displacement["B.y"]
    assert found == pytest.approx(L**3 / (3 * STEEL.E * PLANK.I_z), rel=n**4 * 2.2e-16)


# -- structures that are not held -------------------------------------------------------------------------------------
def test_a_structure_without_supports_is_refused_with_its_free_motions():
    with pytest.raises(ModelError) as error:
        solve_static(assemble_structure(beam(planar=False)), {"B.y": 1.0})
    for motion in ("translation along x", "translation along y", "translation along z", "rotation about x",
                   "rotation about y", "rotation about z"):  # fmt: skip
        assert motion in str(error.value)


@pytest.mark.parametrize(("held", "expected", "absent"), [
    ([("A", "xy")], ["rotation about z through (0, 0, 0)"], ["translation"]),
    ([("B", "xy")], ["rotation about z through (2, 0, 0)"], ["translation"]),
    ([("A", "y"), ("B", "y")], ["translation along x"], ["rotation"]),
    ([("A", "x rz")], ["translation along y"], ["rotation", "along x"]),
])  # fmt: skip
def test_what_is_left_free_is_named(held, expected, absent):
    f = beam(3)
    for point, ways in held:
        f.add_support(point, ways)
    with pytest.raises(ModelError) as error:
        solve_static(assemble_structure(f), {"B.x": 1.0})
    for words in expected:
        assert words in str(error.value)
    for words in absent:
        assert words not in str(error.value)


def test_a_mechanism_is_named_by_what_moves():
    f = Frame("square", planar=True)
    f.add_points("p", [[0, 0], [1, 0], [1, 1], [0, 1]])
    f.add_bars("b", ["p2", "p3", "p4"], ["p3", "p4", "p1"], section=PLANK, material=STEEL)
    f.add_support(["p1", "p2"], "xy")
    with raises(ModelError, "not-held"):
        solve_static(assemble_structure(f), {"p3.y": 1.0})


def test_springs_to_the_ground_hold_a_structure():
    f = beam(3)
    f.add_spring("a", "A", stiffness={"x": 1e3, "y": 1e3})
    f.add_spring("b", "B", stiffness=1e3, direction="y")
    moved = solve_static(assemble_structure(f), {"B.y": 1.0}).displacement
    assert moved["B.y"] == pytest.approx(1e-3, rel=1e-9)


def test_soft_springs_beside_stiff_beams_still_hold():
    f = beam(3)
    f.add_spring("a", "A", stiffness={"x": 1.0, "y": 1.0, "rz": 1.0})
    assert solve_static(assemble_structure(f), {"A.x": 1.0}).displacement["A.x"] == pytest.approx(1, rel=1e-6)


def test_a_turned_free_structure_is_recognised_however_large_its_coordinates():
    rng = np.random.default_rng(3)
    f = Frame("far")
    f.add_points("p", 1000 + rng.uniform(-5, 5, (12, 3)))
    f.add_beams("b", [f"p{k}" for k in range(1, 12)], [f"p{k}" for k in range(2, 13)], section=PLANK, material=STEEL)
    with pytest.raises(ModelError) as error:
        solve_static(assemble_structure(f), "gravity")
    assert str(error.value).count("translation") == 3
    assert str(error.value).count("rotation") == 3
    assert "mechanism" not in str(error.value)


def test_inertia_relief_lets_a_free_beam_carry_its_own_inertia():
    """Pushed at its middle a free beam bends like one held there under its inertia, M = F L/8 in the middle."""
    f = beam(2)
    s = assemble_structure(f)
    solution = solve_static(s, {"beam[1].y": 8.0}, inertia_relief=True)
    R = s.rigid_motions()
    np.testing.assert_allclose(R.T @ solution.load, 0, rtol=0, atol=1e-10)
    np.testing.assert_allclose(R.T @ (s.M @ solution.u), 0, rtol=0, atol=1e-12)
    bent = solution.displacement["beam[1].y"] - solution.displacement["A.y"]
    half, w = L / 2, 8 / L
    GA = STEEL.G * PLANK.area / PLANK.shear_y
    assert bent == pytest.approx(w * half**4 / (8 * STEEL.E * PLANK.I_z) + w * half**2 / (2 * GA), rel=1e-3)


def test_the_fibres_of_an_unsymmetric_section_are_pulled_and_pressed_on_their_own_sides():
    """A cantilever with a T: pushed towards its flange the web is pulled, σ = M e / I with each side's own e; and the
    same of the T turned, bent in its other plane."""
    T = Section.t_section(0.2, 0.15, 0.008, 0.012)
    low, high = T.fibres_y
    assert -low > 1.5 * high
    f = beam(planar=False, section=T)
    f.add_support("A", "fixed")
    up = solve_static(assemble_structure(f), {"B.z": 100.0}).beam("beam", 2)  # local y is global z
    assert up.highest[0] == pytest.approx(-100 * L * low / T.I_z, rel=1e-9)
    assert up.lowest[0] == pytest.approx(-100 * L * high / T.I_z, rel=1e-9)
    g = beam(planar=False, section=T.rotate())
    g.add_support("A", "fixed")
    low, high = T.rotate().fibres_z
    side = solve_static(assemble_structure(g), {"B.y": -100.0}).beam("beam", 2)  # local z is -y: pushed towards +z
    wanted = (-100 * L * low / T.I_z, -100 * L * high / T.I_z)
    assert (side.highest[0], side.lowest[0]) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("n", [1, 4])
def test_a_tapered_bar_stretches_and_twists_by_the_integral_of_its_give(n):
    """∫ F dx / EA and ∫ T dx / GJ of a bar whose height goes from 0.3 to 0.1 m; 12 points of Gauss leave 1e-9."""
    deep, shallow = Section.rectangle(0.3, 0.1), Section.rectangle(0.1, 0.1)
    f = beam(n, planar=False, section=deep, end_section=shallow)
    f.add_support("A", "fixed")
    found = solve_static(assemble_structure(f), {"B.x": 1e5, "B.rx": 2e3}).displacement
    at = lambda x: deep.between(shallow, x / L)  # noqa: E731
    stretch = scipy.integrate.quad(lambda x: 1e5 / (STEEL.E * at(x).area), 0, L)[0]
    twist = scipy.integrate.quad(lambda x: 2e3 / (STEEL.G * at(x).J), 0, L)[0]
    assert found["B.x"] == pytest.approx(stretch, rel=1e-8)
    assert found["B.rx"] == pytest.approx(twist, rel=1e-5)  # J of a rectangle is no polynomial


@pytest.mark.parametrize(("height", "width"), [(0.08, 0.03), (0.03, 0.08)])
def test_torsion_of_an_ellipse_is_largest_at_its_narrow_side(height, width):
    """Saint-Venant: τ = 2 T / (π a b²), b the smaller half axis."""
    f = beam(planar=False, section=Section.ellipse(height, width))
    f.add_support("A", "fixed")
    twisted = solve_static(assemble_structure(f), {"B.rx": 50.0}).beam("beam", 2)
    assert twisted.torsion[0] == pytest.approx(2 * 50.0 / (np.pi * 0.04 * 0.015**2), rel=1e-9)


# -- mistakes ---------------------------------------------------------------------------------------------------------
def test_a_load_must_be_known_and_finite():
    f = simply_supported(2)
    f.add_force("snow", "beam[1]", (0, -1))
    s = assemble_structure(f)
    with raises(DataError, "unknown-name", "'snow'"):
        solve_static(s, "snwo")
    with raises(DataError, "unknown-name", "'B.x'"):
        solve_static(s, {"Bb.x": 1.0})
    with raises(DataError, "missing-argument"):
        solve_static(s)
    with raises(DataError, "not-a-number"):
        solve_static(s, {"snow": float("nan")})
    with raises(DataError, "wrong-shape"):
        solve_static(s, [1.0, 2.0])
    with raises(DataError, "unknown-name", "'bem'"):
        solve_static(s, "snow").beam("bem")
    with raises(DataError, "not-a-count", "2"):
        solve_static(s, "snow").beam("beam", 1)


def test_moments_on_points_that_do_not_turn_are_refused():
    f = Frame("bar", planar=True)
    f.add_points(["A", "B"], [[0, 0], [1, 0]])
    f.add_bar("bar", "A", "B", section=PLANK, material=STEEL)
    f.add_support("A", "xy")
    f.add_support("B", "y")
    with raises(DataError, "ineffective-load"):
        solve_static(assemble_structure(f), {"B.rz": 1.0})


def test_a_structure_that_is_held_everywhere_only_has_reactions():
    s = Structure("still", ["A"], [[0, 0, 0]], ["x"], M=[[1.0]], K=[[5.0]], held=[True])
    solution = solve_static(s, {"A.x": 3.0})
    assert solution.reaction["A.x"] == -3
