"""Beam elements and frames against spec 003 (C-54 to C-66, E10, R9, R13), spec 000 (32 to 37) and spec 004 (C-34).

Printed numbers are met to half a unit of their last digit; closed forms and second formulations to rounding.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
from numpy.polynomial import Polynomial

from dalembert.structures import Frame, Material, Section, assemble_structure, guyan, solve_static
from dalembert.structures.beams import elements as fe
from dalembert.structures.beams.taper import TaperedElements

UNIT = Material("unit", E=1.0, density=1.0, G=1.0)
SQUARE = Section(area=1.0, I_y=1.0, I_z=1.0, J=1.0)
EXACT = (3.516015, 22.034492, 61.697214, 120.901916)


def numbers(**changes):
    """A deep element with every number different."""
    given = {"length": 1.7, "EA": 3.0, "EI_y": 0.7, "EI_z": 1.3, "GJ": 0.9, "phi_y": 0.4, "phi_z": 0.25, "rhoA": 2.0,
             "rhoI_y": 0.11, "rhoI_z": 0.23, "rhoI_p": 0.34}  # fmt: skip
    return fe.BeamNumbers(**{name: np.array([value]) for name, value in {**given, **changes}.items()})


def frequencies(s, count):
    """ω [rad/s], by a dense solver that knows nothing of the package; massless directions are condensed."""
    K, M = s.reduce(s.K).toarray(), s.reduce(s.M).toarray()
    inverse = scipy.linalg.eigh(M, K, eigvals_only=True)[::-1]
    return 1 / np.sqrt(inverse[:count])


def cantilever(n, **options):
    """EI = rho A = l = 1, bending only."""
    f = Frame("cantilever", planar=True, gravity=0)
    f.add_points("p", np.column_stack([np.linspace(0, 1, n + 1), np.zeros(n + 1)]))
    points = f.point_names
    given = {"theory": "euler-bernoulli", "rotary": False, **options}
    f.add_beams("b", points[:-1], points[1:], section=SQUARE, material=UNIT, **given)
    f.add_support(points[1:], "x")
    f.add_support("p1", "fixed")
    return f


def bar(n, mass="consistent"):
    f = Frame("bar", planar=True, gravity=0)
    f.add_points("p", np.column_stack([np.linspace(0, 1, n + 1), np.zeros(n + 1)]))
    f.add_bars("b", f.point_names[:-1], f.point_names[1:], section=SQUARE, material=UNIT, mass=mass)
    f.add_support(f.point_names, "y")
    f.add_support("p1", "x")
    return assemble_structure(f)


def spatial_cantilever(R=None, clamp=True):
    """The 3-D cantilever of E10; its local y is the spec's x (0.03 m), its local z the spec's y (0.02 m)."""
    R = np.eye(3) if R is None else R
    alloy = Material("alloy", E=70e9, density=2700.0, G=27e9)
    chi = 15.3 / 13  # printed as 1.176923
    section = Section(
        area=0.02 * 0.03, I_z=0.02 * 0.03**3 / 12, I_y=0.03 * 0.02**3 / 12, J=0.2 * 0.02**3 * 0.03,
        shear_y=chi, shear_z=chi,
    )  # fmt: skip
    f = Frame("cantilever", gravity=0)
    f.add_points(["root", "tip"], np.array([[0, 0, 0], [0.5, 0, 0]]) @ R.T)
    f.add_beam("beam", "root", "tip", section=section, material=alloy, elements=8, up=R @ [0, 1, 0])
    if clamp:
        f.add_support("root", "fixed")
    return f


def turned(axis, angle):
    axis = np.array(axis, float) / np.linalg.norm(axis)
    S = np.cross(np.eye(3), -axis)
    return np.eye(3) + np.sin(angle) * S + (1 - np.cos(angle)) * S @ S


def derivative(function, x):
    """Exact derivative along ξ of shape functions (polynomials of degree 3 at most) at x (g,)."""
    nodes = np.linspace(0, 1, 5)
    values = function(nodes)[0].reshape(5, -1)
    rows = [Polynomial.fit(nodes, column, 4, domain=[0, 1]).deriv()(x) for column in values.T]
    return np.stack(rows, axis=1).reshape(len(x), 6, 12)


# -- the element -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("003-C54", "003-C59")
def test_stiffness_is_the_integral_of_strain_energy_of_the_shape_functions():
    b = numbers()
    xi, w = fe.gauss(6)
    length = b.length[0]
    N, dN = fe.shapes(b, xi)[0], derivative(lambda x: fe.shapes(b, x), xi) / length
    strain = np.stack([dN[:, 0], dN[:, 1] - N[:, 5], dN[:, 2] + N[:, 4], dN[:, 3], dN[:, 4], dN[:, 5]], axis=1)
    shear_y, shear_z = 12 * b.EI_z / (b.phi_y * length**2), 12 * b.EI_y / (b.phi_z * length**2)
    E = np.concatenate([b.EA, shear_y, shear_z, b.GJ, b.EI_y, b.EI_z])
    K = np.einsum("gri,r,grj,g->ij", strain, E, strain, w) * length
    np.testing.assert_allclose(fe.stiffness(b)[0], K, rtol=0, atol=1e-13 * np.abs(K).max())


@pytest.mark.spec("003-C54", "003-C59", "003-C60", "000-34")
def test_mass_is_the_integral_of_the_kinetic_energy_of_the_shape_functions():
    b = numbers()
    xi, w = fe.gauss(6)
    N = fe.shapes(b, xi)[0]
    density = np.concatenate([b.rhoA, b.rhoA, b.rhoA, b.rhoI_p, b.rhoI_y, b.rhoI_z])
    M = np.einsum("gri,r,grj,g->ij", N, density, N, w) * b.length[0]
    np.testing.assert_allclose(fe.mass(b)[0], M, rtol=0, atol=1e-14 * np.abs(M).max())


@pytest.mark.spec("003-C59", "003-E10")
def test_stiffness_and_mass_have_the_printed_entries_of_the_bending_element():
    L, f, EI, rho, rho_I = 1.7, 0.4, 1.3, 2.0, 0.23
    D = 1 + f
    K = EI / (L**3 * D) * np.array([
        [12, 6 * L, -12, 6 * L], [6 * L, (4 + f) * L**2, -6 * L, (2 - f) * L**2],
        [-12, -6 * L, 12, -6 * L], [6 * L, (2 - f) * L**2, -6 * L, (4 + f) * L**2],
    ])  # fmt: skip
    m = [156 + 294 * f + 140 * f**2, 22 + 38.5 * f + 17.5 * f**2, 54 + 126 * f + 70 * f**2, 13 + 31.5 * f + 17.5 * f**2,
         4 + 7 * f + 3.5 * f**2, 3 + 7 * f + 3.5 * f**2, 36, 3 - 15 * f,
         4 + 5 * f + 10 * f**2, 1 + 5 * f - 5 * f**2]  # fmt: skip
    first = [[m[0], L * m[1], m[2], -L * m[3]], [0, L**2 * m[4], L * m[3], -(L**2) * m[5]], [0, 0, m[0], -L * m[1]],
             [0, 0, 0, L**2 * m[4]]]  # fmt: skip
    second = [[m[6], L * m[7], -m[6], L * m[7]], [0, L**2 * m[8], -L * m[7], -(L**2) * m[9]], [0, 0, m[6], -L * m[7]],
              [0, 0, 0, L**2 * m[8]]]  # fmt: skip
    upper = rho * L / (420 * D**2) * np.array(first) + rho_I / (30 * L * D**2) * np.array(second)
    M = upper + np.triu(upper, 1).T
    b = numbers()
    at = np.ix_(fe.PLANE_XY, fe.PLANE_XY)
    np.testing.assert_allclose(fe.stiffness(b)[0][at], K, rtol=1e-14)
    np.testing.assert_allclose(fe.mass(b)[0][at], M, rtol=1e-14)


@pytest.mark.spec("003-C57", "003-C58")
def test_bars_and_shafts_have_the_linear_element():
    b = numbers()
    ones, twos = np.array([[1, -1], [-1, 1]]), np.array([[2, 1], [1, 2]]) / 6
    K, M = fe.stiffness(b)[0], fe.mass(b)[0]
    np.testing.assert_allclose(K[np.ix_([0, 6], [0, 6])], 3.0 / 1.7 * ones, rtol=1e-15)
    np.testing.assert_allclose(M[np.ix_([0, 6], [0, 6])], 2.0 * 1.7 * twos, rtol=1e-15)
    np.testing.assert_allclose(K[np.ix_([3, 9], [3, 9])], 0.9 / 1.7 * ones, rtol=1e-15)
    np.testing.assert_allclose(M[np.ix_([3, 9], [3, 9])], 0.34 * 1.7 * twos, rtol=1e-15)


@pytest.mark.spec("003-C57", "003-C58")
def test_axial_and_torsional_loads_are_shared_linearly():
    f = Frame("bar", gravity=0)
    f.add_points(["A", "B"], [[0, 0, 0], [2.0, 0, 0]])
    f.add_beam("beam", "A", "B", section=SQUARE, material=UNIT)
    f.add_line_load("pull", "beam", (3.0, 0, 0), moment=(5.0, 0, 0))
    f.add_beam_force("point", "beam", 0.5, (8.0, 0, 0))
    s = assemble_structure(f)
    np.testing.assert_allclose(s.loads["pull"][[0, 6, 3, 9]], [3, 3, 5, 5], rtol=1e-14)
    np.testing.assert_allclose(s.loads["point"][[0, 6]], [8 * 0.75, 8 * 0.25], rtol=1e-14)


@pytest.mark.spec("003-C60")
def test_the_other_plane_has_the_same_matrices_with_changed_signs():
    b = numbers(EI_y=1.3, phi_z=0.4, rhoI_y=0.23)
    S = np.diag([1.0, -1, 1, -1])
    one, other = np.ix_(fe.PLANE_XY, fe.PLANE_XY), np.ix_(fe.PLANE_XZ, fe.PLANE_XZ)
    for matrix in (fe.stiffness(b)[0], fe.mass(b)[0]):
        np.testing.assert_allclose(matrix[other], S @ matrix[one] @ S, rtol=1e-15)
    N = fe.shapes(b, np.array([0.3]))[0, 0]
    np.testing.assert_allclose(N[2, fe.PLANE_XZ], N[1, fe.PLANE_XY] * [1, -1, 1, -1], rtol=1e-15)
    np.testing.assert_allclose(N[4, fe.PLANE_XZ], N[5, fe.PLANE_XY] * [-1, 1, -1, 1], rtol=1e-15)
    q = np.array([[[0, 2.0, 2.0, 0, 3.0, 3.0]] * 2])
    f = np.einsum("gri,gr,g->i", fe.shapes(b, fe.gauss(3)[0])[0], np.repeat(q[0, :1], 3, axis=0), fe.gauss(3)[1]) * 1.7
    # entries 2, 4 turn for the force, 1, 3 for the moment
    force, moment = _bending_loads(1.7, 0.4)
    np.testing.assert_allclose(f[fe.PLANE_XY], 2 * force + 3 * moment, rtol=1e-13)
    np.testing.assert_allclose(f[fe.PLANE_XZ], 2 * force * [1, -1, 1, -1] + 3 * moment * [-1, 1, -1, 1], rtol=1e-13)


def _bending_loads(L, phi):
    """C-59: (l/12){6, l, 6, −l} and {−1, lΦ/2, 1, lΦ/2}/(1 + Φ), corrected from the source (trap 20)."""
    return L / 12 * np.array([6, L, 6, -L]), np.array([-1, L * phi / 2, 1, L * phi / 2]) / (1 + phi)


@pytest.mark.spec("003-C61", "003-C56")
def test_the_element_has_six_motions_without_energy_and_the_inertia_of_a_rod():
    b = numbers()
    K, M = fe.stiffness(b)[0], fe.mass(b)[0]
    values = np.linalg.eigvalsh(K)
    assert np.all(np.abs(values[:6]) < 1e-14 * values[-1])
    assert values[6] > 1e-3 * values[-1] * 1e-2
    L = 1.7
    y, turn_z = np.zeros(12), np.zeros(12)
    y[[1, 7]] = 1
    turn_z[[5, 11]], turn_z[7] = 1, L
    assert y @ M @ y == pytest.approx(2.0 * L, rel=1e-14)
    assert turn_z @ M @ turn_z == pytest.approx(2.0 * L**3 / 3 + 0.23 * L, rel=1e-14)
    for motion in (y, turn_z):
        np.testing.assert_allclose(K @ motion, 0, rtol=0, atol=1e-14)


@pytest.mark.spec("003-C61")
def test_index_maps_from_the_axes_of_the_source_are_a_cyclic_change():
    ours = {"A": fe.AXIAL, "T": fe.TORSION, "F1": fe.PLANE_XY, "F2": fe.PLANE_XZ}
    theirs = {"A": [2, 8], "T": [5, 11], "F1": [0, 4, 6, 10], "F2": [1, 3, 7, 9]}
    change = {0: 1, 1: 2, 2: 0}  # their x, y, z are our y, z, x
    for part, index in theirs.items():
        np.testing.assert_array_equal(ours[part], [6 * (i // 6) + 3 * (i % 6 // 3) + change[i % 3] for i in index])


@pytest.mark.spec("003-C56")
def test_shape_functions_hold_rigid_motions_constant_strains_and_join_their_neighbours():
    b = numbers()
    L, xi = 1.7, np.linspace(0, 1, 7)
    N = fe.shapes(b, xi)[0]
    ends = np.einsum("gri->gri", N[[0, -1]]).reshape(12, 12)
    np.testing.assert_allclose(
        ends, np.eye(12), rtol=0, atol=1e-15
    )  # compatible: the ends take the values of the points
    turn = np.zeros(12)
    turn[[5, 11]], turn[7] = 1, L
    np.testing.assert_allclose(
        N @ turn, np.stack([0 * xi, L * xi, 0 * xi, 0 * xi, 0 * xi, 1 + 0 * xi], 1), rtol=0, atol=1e-14
    )
    stretch, bend = np.zeros(12), np.zeros(12)
    stretch[6] = L
    bend[7], bend[11] = L**2 / 2, L  # constant curvature 1
    np.testing.assert_allclose((N @ stretch)[:, 0], L * xi, rtol=0, atol=1e-14)
    np.testing.assert_allclose((N @ bend)[:, 1], (L * xi) ** 2 / 2, rtol=0, atol=1e-14)
    np.testing.assert_allclose((N @ bend)[:, 5], L * xi, rtol=0, atol=1e-14)


@pytest.mark.spec("003-C59", "003-C62")
def test_without_shear_the_element_is_that_of_euler_and_bernoulli():
    """P18: Φ → 0."""
    small, none = numbers(phi_y=1e-9, phi_z=1e-9), numbers(phi_y=0.0, phi_z=0.0)
    np.testing.assert_allclose(fe.stiffness(small), fe.stiffness(none), rtol=1e-8)
    np.testing.assert_allclose(fe.mass(small), fe.mass(none), rtol=1e-8, atol=1e-9)


def test_a_taper_of_no_taper_is_the_closed_element():
    """Two formulations: integrated flexibility against the closed form."""
    b = numbers()
    L = b.length
    at = {name: np.repeat(getattr(b, name)[:, None], 12, 1)
          for name in ("EA", "GJ", "EI_y", "EI_z", "rhoA", "rhoI_y", "rhoI_z", "rhoI_p")}  # fmt: skip
    at["shear_y"] = np.repeat((b.phi_y * L**2 / (12 * b.EI_z))[:, None], 12, 1)
    at["shear_z"] = np.repeat((b.phi_z * L**2 / (12 * b.EI_y))[:, None], 12, 1)
    tapered = TaperedElements(L, at)
    for ours, closed in ((tapered.stiffness(), fe.stiffness(b)), (tapered.mass(), fe.mass(b))):
        np.testing.assert_allclose(ours, closed, rtol=0, atol=2e-14 * np.abs(closed).max())
    xi = np.array([0.0, 0.2, 0.77, 1.0])
    np.testing.assert_allclose(tapered.shapes(xi), fe.shapes(b, xi), rtol=0, atol=1e-14)


# -- E10: one element, tables of frequencies -------------------------------------------------------------------------


def slender(alpha, load, **options):
    """Clamped beam of one element, EI = A = l = 1, round with ν = 0.3: χ = 8.8/7.8, l/√(I/A) = alpha."""
    chi = 8.8 / 7.8
    E = float(alpha) ** 2  # I = A l²/alpha² with A = L = 1, so E I = 1
    G = E / 2.6
    material = Material("material", E=E, density=1.0, G=G)
    section = Section(area=1.0, I_y=1 / E, I_z=1 / E, J=2 / E, shear_y=chi, shear_z=chi)
    f = Frame("beam", planar=True, gravity=0)
    f.add_points(["A", "B"], [[0, 0], [1, 0]])
    f.add_beam("beam", "A", "B", section=section, material=material, **options)
    f.add_support("A", "fixed")
    f.add_force("tip", "B", (0, 1))
    f.add_line_load("uniform", "beam", (0, 1))
    f.add_line_load("moment", "beam", moment=1.0)
    return solve_static(assemble_structure(f), load)


@pytest.mark.spec("003-E10", "003-C59")
@pytest.mark.parametrize(("alpha", "tip"), [(5, 0.4506667), (10, 0.3626667), (100, 0.3336267)])
def test_one_element_is_exact_for_a_load_at_its_tip(alpha, tip):
    found = slender(alpha, "tip").displacement["B.y"]
    assert found == pytest.approx(tip, abs=5e-8)
    assert found == pytest.approx(1 / 3 + 8.8 / 7.8 * 2.6 / alpha**2, rel=1e-12)


@pytest.mark.spec("003-E10", "003-C54")
def test_one_element_is_exact_at_its_tip_for_loads_along_it():
    uniform = slender(5, "uniform").displacement
    assert uniform["B.y"] == pytest.approx(0.1836667, abs=5e-8)
    assert uniform["B.rz"] == pytest.approx(0.1666667, abs=5e-8)
    for alpha in (5, 50):
        moment = slender(alpha, "moment").displacement
        assert moment["B.y"] == pytest.approx(1 / 3, rel=1e-12)
        assert moment["B.rz"] == pytest.approx(1 / 2, rel=1e-12)


@pytest.mark.spec("003-E10", "003-C55", "003-C59")
@pytest.mark.parametrize(("n", "printed"), [
    (1, [3.532732, 34.806893]),
    (2, [3.517715, 22.221474, 75.157083]),
    (4, [3.516130, 22.060166, 62.174893, 122.657639]),
    (8, [3.516023, 22.036253, 61.734741, 121.172751]),
])  # fmt: skip
def test_consistent_mass_gives_the_printed_frequencies_from_above(n, printed):
    """P17 for the consistent mass."""
    found = frequencies(assemble_structure(cantilever(n)), len(printed))
    np.testing.assert_allclose(found, printed, rtol=0, atol=5e-7)
    assert np.all(found > np.array(EXACT[: len(printed)]))


@pytest.mark.spec("003-E10", "003-C55")
@pytest.mark.parametrize(("n", "printed"), [
    (2, [3.156232, 16.258041]),
    (4, [3.418039, 20.090351, 53.201737]),
    (8, [3.490988, 21.501581, 59.278944, 114.293942]),
])  # fmt: skip
def test_lumped_mass_gives_the_printed_frequencies_from_below(n, printed):
    """P17 for the lumped mass; rotations have no inertia and follow statically."""
    found = frequencies(assemble_structure(cantilever(n, mass="lumped")), len(printed))
    np.testing.assert_allclose(found, printed, rtol=0, atol=5e-7)
    assert np.all(found < np.array(EXACT[: len(printed)]))


@pytest.mark.spec("003-E10")
@pytest.mark.parametrize(("n", "printed"), [
    (4, [3.516283, 22.094623, 62.970373, 123.545148]),
    (8, [3.516028, 22.037449, 61.763681]),
])  # fmt: skip
def test_guyan_onto_translations_gives_the_printed_frequencies(n, printed):
    s = assemble_structure(cantilever(n))
    reduced = guyan(s.system(), [name for name in s.free if name.endswith(".y")]).system
    np.testing.assert_allclose(reduced.modes().frequencies[: len(printed)], printed, rtol=0, atol=5e-7)


@pytest.mark.spec("003-E10", "003-C57")
def test_bar_frequencies_are_the_printed_ones():
    printed = {1: [1.732051], 2: [1.611416, 5.629303], 4: [1.580908, 4.987196]}
    lumped = {1: [1.414214], 2: [1.530734, 3.695518], 4: [1.560723, 4.444562]}
    for table, mass in ((printed, "consistent"), (lumped, "lumped")):
        for n, row in table.items():
            np.testing.assert_allclose(frequencies(bar(n, mass), len(row)), row, rtol=0, atol=5e-7)


def test_frequencies_converge_with_order_four():
    exact = scipy.optimize.brentq(lambda b: np.cos(b) * np.cosh(b) + 1, 4, 5) ** 2
    errors = np.array([frequencies(assemble_structure(cantilever(n)), 2)[1] / exact - 1 for n in (8, 16, 32)])
    order = np.log2(errors[:-1] / errors[1:])
    np.testing.assert_allclose(order, 4, rtol=0, atol=0.05)


@pytest.mark.spec("003-E10", "003-C62")
@pytest.mark.parametrize(
    ("alpha", "printed", "half"), [(10, 0.97238, 5e-6), (100, 0.26036, 5e-6), (1000, 0.0035077, 5e-8)]
)
def test_linear_functions_lock_and_ours_do_not(alpha, printed, half):
    """P18. The locking element exists here only, as a warning."""
    chi, n = 8.8 / 7.8, 10
    EI, h = 1.0, 1 / n
    GA = alpha**2 / 2.6 / chi
    exact = 1 / 3 + 1 / GA

    def tip(points):
        xi, w = fe.gauss(points)
        K = np.zeros((2 * n + 2, 2 * n + 2))
        for e in range(n):
            element = np.zeros((4, 4))
            for x, weight in zip(xi, w):
                bend = np.array([0, -1, 0, 1]) / h
                shear = np.array([-1 / h, -(1 - x), 1 / h, -x])
                element += weight * h * (EI * np.outer(bend, bend) + GA * np.outer(shear, shear))
            K[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += element
        load = np.zeros(2 * n)
        load[-2] = 1
        return np.linalg.solve(K[2:, 2:], load)[-2]

    assert tip(2) / exact == pytest.approx(printed, abs=half)
    # one point: bending by (1 − 1/4n²) = 0.9975, shear exactly; printed as 0.9975 throughout, 0.9977 at alpha = 10
    assert tip(1) / exact == pytest.approx((0.9975 / 3 + 1 / GA) / exact, rel=1e-6)
    assert slender(alpha, "tip").displacement["B.y"] / exact == pytest.approx(1, rel=1e-9)


def supported(alpha, n=40):
    """Simply supported Timoshenko beam, EI = ρA = l = 1, round with ν = 0.3; ω over those of Euler-Bernoulli."""
    E = float(alpha) ** 2
    material = Material("material", E=E, density=1.0, G=E / 2.6)
    section = Section(area=1.0, I_y=1 / E, I_z=1 / E, J=2 / E, shear_y=8.8 / 7.8, shear_z=8.8 / 7.8)
    f = Frame("beam", planar=True, gravity=0)
    f.add_points("p", np.column_stack([np.linspace(0, 1, n + 1), np.zeros(n + 1)]))
    f.add_beams("b", f.point_names[:-1], f.point_names[1:], section=section, material=material)
    f.add_support(f.point_names, "x")
    f.add_support(["p1", f"p{n + 1}"], "y")
    return frequencies(assemble_structure(f), 5) / np.pi**2


@pytest.mark.spec("003-E8", "003-C59")
def test_forty_elements_give_the_timoshenko_table_from_above():
    found = supported(20) / np.arange(1, 6) ** 2
    np.testing.assert_allclose(found, [0.955469, 0.855378, 0.747451, 0.652315, 0.573539], rtol=0, atol=5e-7)
    assert np.all(found > [0.95545, 0.85520, 0.74686, 0.65108, 0.57150])


@pytest.mark.spec("003-E8")
def test_the_thickness_shear_mode_comes_between_and_is_not_one_of_bending():
    """Trap 24: at alpha = 10 the fourth frequency is α²/√χ* = 58.387 (0.369743 of 16 π²), i = 4 is the fifth."""
    found = supported(10)
    np.testing.assert_allclose(found[:3] / [1, 4, 9], [0.855243, 0.651388, 0.507076], rtol=0, atol=5e-7)
    assert found[3] / 16 == pytest.approx(0.370071, abs=5e-7)
    assert found[3] * np.pi**2 == pytest.approx(58.387, rel=1e-3)
    coarse, fine = found[4] / 16 - 0.40858, supported(10, 80)[4] / 16 - 0.40858
    assert 0 < fine < 0.3 * coarse  # the fifth is i = 4, met from above with order 2 (shear rules so short a wave)


SPATIAL = [65.719676, 98.426156, 408.894087, 606.953895, 1133.079750, 1360.916122]


@pytest.mark.spec("003-E10", "003-C61", "003-C64")
def test_the_spatial_cantilever_has_the_printed_frequencies_however_it_is_turned():
    straight = frequencies(assemble_structure(spatial_cantilever()), 6) / (2 * np.pi)
    np.testing.assert_allclose(straight, SPATIAL, rtol=0, atol=5e-7)
    leaning = frequencies(assemble_structure(spatial_cantilever(turned([1, 2, 3], 0.7))), 6) / (2 * np.pi)
    np.testing.assert_allclose(leaning, straight, rtol=1e-9)


@pytest.mark.spec("003-C65")
def test_penalty_supports_are_good_up_to_a_point_and_deletion_is_better():
    """R13. Solved as M x = μ K x the penalty is a true softening: 65.719652 Hz at 1e2 (printed 65.719654), nearer to
    deletion from below at every factor. Solved as K x = λ M x, the usual way, rounding grows with the factor; printed
    65.719527, 65.724451, 66.578434 at 1e4, 1e6, 1e8. Those digits are those of one solver and cannot come again
    (here 65.81, 67.7, 67.2): only that they are worthless is checked."""
    softened, usual = [], []
    for factor in (1e0, 1e2, 1e4, 1e8):
        f = spatial_cantilever(clamp=False)
        largest = float(assemble_structure(f).K.diagonal().max())
        f.add_spring("clamp", "root", None, [factor * largest] * 6)
        s = assemble_structure(f)
        softened.append(frequencies(s, 1)[0] / (2 * np.pi))
        K, M = s.reduce(s.K).toarray(), s.reduce(s.M).toarray()
        usual.append(np.sqrt(np.abs(scipy.linalg.eigh(K, M, eigvals_only=True)[0])) / (2 * np.pi))
    assert softened[1] == pytest.approx(65.719654, abs=3e-6)  # the printed value carries 2e-6 of rounding
    assert np.all(np.diff([*softened[:3], SPATIAL[0] + 5e-7]) > 0)
    assert softened[3] == pytest.approx(SPATIAL[0], abs=2e-6)
    errors = np.abs(np.array(usual) - SPATIAL[0])
    assert errors[3] > 100 * errors[1] or errors[3] > 0.1


@pytest.mark.spec("003-C65")
def test_a_penalty_gives_the_reaction_as_its_own_force():
    f = cantilever(2)
    f.supports = [support for support in f.supports if support.point != "p1"]
    f.add_support("p1", "x")
    f.add_spring("wall", "p1", None, {"y": 1e4, "rz": 1e4})
    f.add_force("tip", "p3", (0, 2.0))
    u = solve_static(assemble_structure(f), "tip").displacement
    assert -1e4 * u["p1.y"] == pytest.approx(-2.0, rel=1e-8)  # force on the structure
    assert -1e4 * u["p1.rz"] == pytest.approx(-2.0, rel=1e-8)  # moment: arm 1


# -- R9, damping -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("003-C66", "000-37")
def test_the_damped_cantilever_has_the_printed_frequency_response():
    f = cantilever(8)
    f.set_damping(beta=0.001)
    response = (
        assemble_structure(f)
        .system(inputs=["p9.y"], outputs=["p9.y"])
        .frequency_response([0, 3, 10, 22, 40], kind="output")
    )
    printed = [0.333333, 1.199414 - 0.013150j, -0.033708 - 0.000211j, 0.047959 - 0.366406j, -0.003789 - 0.000210j]
    values = np.asarray(response.values).reshape(-1)
    np.testing.assert_allclose(values.real, np.real(printed), rtol=0, atol=5e-7)
    np.testing.assert_allclose(values.imag, np.imag(printed), rtol=0, atol=5e-7)


@pytest.mark.spec("003-C66")
def test_loss_factors_are_assembled_element_by_element():
    f = cantilever(2)
    f.elements.clear()
    f.add_beam("b1", "p1", "p2", section=SQUARE, material=UNIT, loss_factor=0.1)
    f.add_beam("b2", "p2", "p3", section=SQUARE, material=UNIT, loss_factor=0.3)
    s = assemble_structure(f)
    parts = []
    for name, ends in (("b1", ("p1", "p2")), ("b2", ("p2", "p3"))):
        one = cantilever(2)
        one.elements.clear()
        one.add_beam(name, *ends, section=SQUARE, material=UNIT)
        one.add_mass("dot", "p3" if name == "b1" else "p1", 1.0)
        parts.append(assemble_structure(one).K.toarray())
    np.testing.assert_allclose(s.K_loss.toarray(), 0.1 * parts[0] + 0.3 * parts[1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(s.K.toarray(), parts[0] + parts[1], rtol=0, atol=1e-12)
    w = 2.0
    system = s.system(inputs=["p3.y"], outputs=["p3.y"])
    x = np.linalg.solve(
        -(w**2) * s.reduce(s.M).toarray() + s.reduce(s.K).toarray() + 1j * s.reduce(s.K_loss).toarray(),
        system.B.toarray(),
    )
    found = np.asarray(system.frequency_response([w], kind="output").values).ravel()[0]
    assert found == pytest.approx(x[s.free.index("p3.y"), 0], rel=1e-9)


@pytest.mark.spec("003-C66", "003-C63")
def test_dampers_have_the_pattern_of_springs():
    f = Frame("pair", gravity=0)
    f.add_points(["A", "B"], [[0, 0, 0], [0, 0, 0]])
    f.add_spring("spring", "A", "B", {"x": 1, "y": 2, "z": 3, "rx": 4, "ry": 5, "rz": 6})
    f.add_damper("damper", "A", "B", [1, 2, 3, 4, 5, 6])
    s = assemble_structure(f)
    diagonal = np.diag([1.0, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(s.K.toarray(), np.block([[diagonal, -diagonal], [-diagonal, diagonal]]))
    np.testing.assert_array_equal(s.C.toarray(), s.K.toarray())


@pytest.mark.spec("003-C63")
def test_masses_have_inertia_and_may_differ_by_direction():
    f = Frame("lump", gravity=0)
    f.add_point("A", 0, 0, 0)
    f.add_mass("first", "A", (1, 2, 3), inertia=(4, 5, 6))
    np.testing.assert_array_equal(assemble_structure(f).M.toarray(), np.diag([1.0, 2, 3, 4, 5, 6]))


@pytest.mark.spec("003-C49")
def test_base_motion_acts_through_the_participation_factors():
    """f = −M r ẍ; effective masses of a cantilever 0.61308, 0.18830, 0.06473 of the total (closed form)."""
    s = assemble_structure(cantilever(40))
    system = s.system(base="y")
    r = s.base_motion("y")
    np.testing.assert_allclose(system.B.toarray()[:, 0], -(s.T.T @ (s.M @ r)), rtol=1e-14)
    K, M = s.reduce(s.K).toarray(), s.reduce(s.M).toarray()
    _, shapes = scipy.linalg.eigh(K, M)
    effective = (shapes.T @ system.B.toarray()[:, 0]) ** 2
    np.testing.assert_allclose(effective[:3], [0.61308, 0.18830, 0.06473], rtol=0, atol=1e-5)
    free = s.free_index
    moved = s.M @ r
    assert effective.sum() == pytest.approx(moved[free] @ np.linalg.solve(M, moved[free]), rel=1e-10)


# -- spec 000, 004 ---------------------------------------------------------------------------------------------------


def planar_element(angle=0.0):
    f = Frame("element", planar=True, gravity=0)
    L = 1.3
    f.add_points(["A", "B"], [[0, 0], [L * np.cos(angle), L * np.sin(angle)]])
    section = Section(area=0.4, I_y=0.2, I_z=0.05, J=0.1)
    material = Material("m", E=7.0, density=3.0)
    f.add_beam("beam", "A", "B", section=section, material=material, theory="euler-bernoulli", rotary=False)
    return assemble_structure(f), L, section, material


@pytest.mark.spec("000-36", "004-C34")
@pytest.mark.parametrize("angle", [0.0, 0.8])
def test_planar_matrices_are_the_closed_ones_turned(angle):
    s, L, section, material = planar_element(angle)
    m = material.density * section.area * L
    A, J, EJ = section.area, section.I_z, material.E * section.I_z
    M = m * np.array([
        [1 / 3, 0, 0, 1 / 6, 0, 0], [0, 13 / 35, 11 * L / 210, 0, 9 / 70, -13 * L / 420],
        [0, 11 * L / 210, L**2 / 105, 0, 13 * L / 420, -(L**2) / 140], [1 / 6, 0, 0, 1 / 3, 0, 0],
        [0, 9 / 70, 13 * L / 420, 0, 13 / 35, -11 * L / 210],
        [0, -13 * L / 420, -(L**2) / 140, 0, -11 * L / 210, L**2 / 105],
    ])  # fmt: skip
    K = EJ / L * np.array([
        [A / J, 0, 0, -A / J, 0, 0], [0, 12 / L**2, 6 / L, 0, -12 / L**2, 6 / L], [0, 6 / L, 4, 0, -6 / L, 2],
        [-A / J, 0, 0, A / J, 0, 0], [0, -12 / L**2, -6 / L, 0, 12 / L**2, -6 / L], [0, 6 / L, 2, 0, -6 / L, 4],
    ])  # fmt: skip
    c, d = np.cos(angle), np.sin(angle)
    T = np.kron(np.eye(2), np.array([[c, d, 0], [-d, c, 0], [0, 0, 1]]))
    np.testing.assert_allclose(s.K.toarray(), T.T @ K @ T, rtol=0, atol=1e-14 * np.abs(K).max())
    np.testing.assert_allclose(s.M.toarray(), T.T @ M @ T, rtol=0, atol=1e-14 * np.abs(M).max())


@pytest.mark.spec("000-32")
def test_planar_shape_functions_are_the_printed_ones():
    s, L, _, _ = planar_element()
    x = 0.37
    N = s.groups[0].shapes(np.array([x]))[0, 0][:2][:, [0, 1, 5, 6, 7, 11]]
    S1 = [1 - x, 0, 0, x, 0, 0]
    S2 = [0, 1 - 3 * x**2 + 2 * x**3, L * (x - 2 * x**2 + x**3), 0, 3 * x**2 - 2 * x**3, L * (-(x**2) + x**3)]
    np.testing.assert_allclose(N, [S1, S2], rtol=0, atol=1e-15)
    leaning, _, _, _ = planar_element(0.8)
    group = leaning.groups[0]
    c, d = np.cos(0.8), np.sin(0.8)
    C = np.array([[c, -d, 0], [d, c, 0], [0, 0, 1]])
    turned_shapes = C[:2, :2] @ np.array([S1, S2]) @ np.kron(np.eye(2), C.T)
    ours = group.R[0].T[:2, :] @ group.shapes(np.array([x]))[0, 0][:3] @ group.transform()[0]
    np.testing.assert_allclose(ours, turned_shapes, rtol=0, atol=1e-15)


@pytest.mark.spec("000-33", "000-34")
def test_index_maps_are_the_boolean_connectivity():
    """M = Σ B_eᵀ B_cᵀ C̄ᵀ M_e C̄ B_c B_e, with dense Boolean matrices and by the assembly."""
    f = Frame("bent", planar=True, gravity=0)
    f.add_points(["A", "B", "C"], [[0, 0], [1, 0], [1.5, 1]])
    f.add_beams("b", ["A", "B"], ["B", "C"], section=SQUARE, material=UNIT)
    f.add_support("A", "xy")
    s = assemble_structure(f)
    group = s.groups[0]
    N = len(s.coordinates)
    B_e = np.eye(N)[:, s.free_index]
    for matrix, local in ((s.M, group.mass()), (s.K, group.stiffness())):
        total = np.zeros((len(s.free), len(s.free)))
        for e, places in enumerate(group.coordinates()):
            B_c = np.eye(N)[places]
            T = group.transform()[e]
            total += B_e.T @ B_c.T @ T.T @ local[e] @ T @ B_c @ B_e
        np.testing.assert_allclose(s.reduce(matrix).toarray(), total, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(s.T.toarray(), B_e)


@pytest.mark.spec("000-37")
def test_rayleigh_damping_is_a_mix_of_mass_and_stiffness_and_bodies_apart_do_not_mix():
    f = Frame("two", planar=True, gravity=0)
    f.add_points(["A", "B", "C", "D"], [[0, 0], [1, 0], [0, 1], [2, 1]])
    f.add_beams("b", ["A", "C"], ["B", "D"], section=SQUARE, material=UNIT)
    f.add_support(["A", "C"], "fixed")
    f.set_damping(alpha=0.3, beta=0.02)
    system = assemble_structure(f).system()
    M, K, C = (matrix.toarray() for matrix in (system.M, system.K, system.C))
    np.testing.assert_allclose(C, 0.3 * M + 0.02 * K, rtol=1e-14)
    for matrix in (M, K, C):
        assert not matrix[:3, 3:].any()


# -- P21, P22 --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("003-C65")
def test_reactions_from_deleted_rows_balance_the_loads():
    """P21."""
    f = spatial_cantilever(turned([1, 2, 3], 0.7))
    f.gravity = (0.3, -2.0, -9.81)
    f.add_line_load("mixed", "beam", (1.0, 2.0, 3.0), end_force=(-4.0, 0.5, 9.0), moment=(0.1, 0.2, 0.3))
    f.add_force("mixed", "tip", (5, 6, 7), moment=(1, -2, 3))
    f.add_support("tip", "z")
    s = assemble_structure(f)
    solution = solve_static(s, {"mixed": 1.0, "gravity": 2.0})
    R = s.rigid_motions()
    total = R.T @ (solution.load + solution.reaction.array)
    np.testing.assert_allclose(total, 0, rtol=0, atol=1e-10 * np.abs(R.T @ solution.load).max())


@pytest.mark.spec("003-C64")
def test_element_forces_cancel_at_points_without_load():
    """P22."""
    s = assemble_structure(spatial_cantilever(turned([1, 2, 3], 0.7)))
    solution = solve_static(s, {"tip.x": 1.0, "tip.z": -2.0, "tip.ry": 0.5})
    group = s.groups[0]
    at_points = group.scatter(group.state(solution.u, {}).end_forces, group.transform())
    inner = [i for i, name in enumerate(s.coordinates) if name.startswith("beam[")]
    np.testing.assert_allclose(at_points[inner], 0, rtol=0, atol=1e-9 * np.abs(at_points).max())
    np.testing.assert_allclose(at_points[s.held], solution.reaction.array[s.held], rtol=1e-8, atol=1e-9)
