"""Frames: offsets, releases, taper, links, masses, springs, orientation, many members at once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

from dalembert.structures import Frame, Material, Section, assemble_structure, solve_static
from tests.helpers.findings import raises

STEEL = Material("steel", E=210e9, density=7850.0)
PIPE = Section.tube(0.1, 0.08)
PLANK = Section.rectangle(0.2, 0.1)


def line(n=1, planar=True, length=2.0, **options):
    f = Frame("line", planar=planar)
    f.add_points(["A", "B"], np.array([[0, 0, 0], [length, 0, 0]])[:, : 2 if planar else 3])
    f.add_beam("beam", "A", "B", **{"section": PLANK, "material": STEEL, "elements": n, **options})
    return f


def dense(s, which="K"):
    return getattr(s, which).toarray()


def frequencies(s, count):
    K, M = s.reduce(s.K).toarray(), s.reduce(s.M).toarray()
    return 1 / np.sqrt(scipy.linalg.eigh(M, K, eigvals_only=True)[::-1][:count])


# -- geometry --------------------------------------------------------------------------------------------------------


def test_points_inside_a_beam_are_named_after_it():
    f = line(4)
    f.add_support("A")
    s = assemble_structure(f)
    assert s.points == ("A", "B", "beam[1]", "beam[2]", "beam[3]")
    np.testing.assert_allclose(s.positions[3], [1, 0, 0])
    assert s.coordinates[:3] == ("A.x", "A.y", "A.rz")


def test_height_of_a_beam_points_up_unless_it_stands():
    f = Frame("axes")
    f.add_points("p", [[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]])
    for k, (a, b, up) in enumerate([("p1", "p2", None), ("p1", "p3", None), ("p3", "p4", (0, 1, 0))]):
        f.add_beam(f"b{k}", a, b, section=PLANK, material=STEEL, up=up)
    R = assemble_structure(f).groups[0].R
    np.testing.assert_allclose(R[0, 1], [0, 0, 1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(R[1], [[0, 0, 1], [1, 0, 0], [0, 1, 0]], rtol=0, atol=1e-15)
    np.testing.assert_allclose(R[2, 1], [0, 1, 0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.det(R), 1, rtol=1e-14)


def test_a_tall_section_is_stiff_against_loads_along_its_height():
    f = line(planar=False)
    f.add_support("A", "fixed")
    s = assemble_structure(f)
    down, side = (solve_static(s, {f"B.{way}": 1.0}).displacement[f"B.{way}"] for way in "zy")
    E, L = STEEL.E, 2.0
    assert down == pytest.approx(L**3 / (3 * E * PLANK.I_z) + PLANK.shear_y * L / (STEEL.G * PLANK.area), rel=1e-10)
    assert side == pytest.approx(L**3 / (3 * E * PLANK.I_y) + PLANK.shear_z * L / (STEEL.G * PLANK.area), rel=1e-10)


def test_a_planar_frame_is_the_spatial_one_restricted():
    points = np.array([[0, 0, 0], [0.3, 3, 0], [4, 3.5, 0]])
    g = Frame("portal", planar=True)
    g.add_points("p", points[:, :2])
    g.add_beams("b", ["p1", "p2"], ["p2", "p3"], section=PLANK, material=STEEL)
    f = Frame("portal")
    f.add_points("p", points)
    f.add_beam("b1", "p1", "p2", section=PLANK, material=STEEL, up=(-1, 0, 0))  # the height lies in the plane
    f.add_beam("b2", "p2", "p3", section=PLANK, material=STEEL, up=(0, 1, 0))
    spatial, planar = assemble_structure(f), assemble_structure(g)
    keep = [spatial.index(name) for name in planar.coordinates]
    for which in "KM":
        ours, theirs = dense(planar, which), dense(spatial, which)[np.ix_(keep, keep)]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13 * np.abs(ours).max())


def test_rotating_everything_changes_nothing_that_matters():
    rng = np.random.default_rng(4)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    Q *= np.sign(np.linalg.det(Q))
    points = rng.uniform(-1, 1, (4, 3))
    ups = rng.standard_normal((3, 3))
    found = []
    for R in (np.eye(3), Q):
        f = Frame("any", gravity=0)
        f.add_points("p", points @ R.T)
        for k in range(3):
            f.add_beam(f"b{k}", f"p{k + 1}", f"p{k + 2}", section=PLANK, material=STEEL, up=R @ ups[k], elements=2,
                       offsets=(R @ [0.05, 0, 0.02], None), releases={"end": "ry"} if k == 1 else None)  # fmt: skip
        f.add_mass("lump", "p4", 3.0, inertia=R @ np.diag([1.0, 2, 3]) @ R.T, offset=R @ [0.1, 0.2, 0.3])
        f.add_support(["p1", "p4"], "fixed")
        found.append(frequencies(assemble_structure(f), 8))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


def test_members_added_one_by_one_or_at_once_are_the_same():
    one, many = Frame("f"), Frame("f")
    points = np.random.default_rng(0).uniform(0, 5, (6, 3))
    for k, p in enumerate(points):
        one.add_point(f"p{k + 1}", *p)
    many.add_points("p", points)
    starts, ends = [f"p{k}" for k in range(1, 6)], [f"p{k}" for k in range(2, 7)]
    for k, (a, b) in enumerate(zip(starts, ends)):
        one.add_beam(f"b{k + 1}", a, b, section=PIPE, material="steel")
    many.add_beams("b", starts, ends, section=PIPE, material="steel")
    assert len(one.elements) == 1
    first, second = assemble_structure(one), assemble_structure(many)
    np.testing.assert_array_equal(dense(first), dense(second))
    assert first.coordinates == second.coordinates


def test_equal_elements_are_computed_once_and_give_the_same_matrices(monkeypatch):
    f = Frame("grid")
    f.add_points("p", [[x, y, 0] for x in range(4) for y in range(4)])
    pairs = [(4 * i + j, 4 * i + j + 1) for i in range(4) for j in range(3)]
    f.add_beams("b", [f"p{a + 1}" for a, _ in pairs], [f"p{b + 1}" for _, b in pairs], section=PLANK, material=STEEL)
    shared = assemble_structure(f)
    group = shared.groups[0]
    assert len(group.different()[0].points) == 1
    np.testing.assert_allclose(dense(shared), group.assemble(group.stiffness()).toarray(), rtol=1e-14)


def test_matrices_are_symmetric():
    f = line(3, planar=False, offsets=((0.1, 0.2, 0.3), (0, 0.1, 0)), releases={"end": "rz"})
    s = assemble_structure(f)
    for which in "MK":
        A = dense(s, which)
        np.testing.assert_allclose(A, A.T, rtol=0, atol=1e-14 * np.abs(A).max())


# -- offsets, releases, taper -----------------------------------------------------------------------------------------


def test_offsets_are_rigid_arms():
    arms = ((0.1, -0.2, 0.3), (-0.3, 0.1, 0.2))
    f = Frame("arms")
    f.add_points(["A", "B"], [[0, 0, 0], [2, 1, 0.5]])
    f.add_beam("beam", "A", "B", section=PLANK, material=STEEL, elements=3, offsets=arms)
    f.add_support("A", "fixed")
    g = Frame("links")
    g.add_points(["A", "B", "a", "b"], [[0, 0, 0], [2, 1, 0.5], arms[0], np.add([2, 1, 0.5], arms[1])])
    g.add_beam("beam", "a", "b", section=PLANK, material=STEEL, elements=3)
    g.add_rigid("start", "A", "a")
    g.add_rigid("end", "B", ["b"])
    g.add_support("A", "fixed")
    first, second = assemble_structure(f), assemble_structure(g)
    order = [second.free.index(name) for name in first.free]
    for which in "MK":
        ours = first.reduce(getattr(first, which)).toarray()
        theirs = second.reduce(getattr(second, which)).toarray()[np.ix_(order, order)]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * np.abs(ours).max())
    assert first.mass() == pytest.approx(second.mass(), rel=1e-12)


def test_a_released_end_is_a_hinge():
    """Propped at a hinge: the beam of a clamped and a hinged end has 3EI/L³ at the hinge."""
    slender = {"theory": "euler-bernoulli"}
    f = line(releases={"end": "rz"}, **slender)
    f.add_support("A", "fixed")
    f.add_support("B", "x rz")
    solution = solve_static(assemble_structure(f), {"B.y": -1.0})
    assert solution.displacement["B.y"] == pytest.approx(-(2.0**3) / (3 * STEEL.E * PLANK.I_z), rel=1e-12)
    assert solution.reaction["A.rz"] == pytest.approx(2.0, rel=1e-12)
    assert solution.reaction["B.rz"] == pytest.approx(0, abs=1e-12)


def test_releases_condense_mass_as_the_hinge_moves():
    """Clamped at A and hinged at B: the frequencies of a beam clamped and supported, 15.4182 √(EI/ρAL⁴)."""
    f = line(16, releases={"end": "rz"}, theory="euler-bernoulli", rotary=False)
    f.add_support(["A", "B"], "fixed")
    found = frequencies(assemble_structure(f), 1)[0] / np.sqrt(
        STEEL.E * PLANK.I_z / (STEEL.density * PLANK.area * 2.0**4)
    )
    assert found == pytest.approx(15.418206, rel=1e-5)
    single = assemble_structure(line(releases={"end": "rz"}))
    assert single.mass() == pytest.approx(STEEL.density * PLANK.area * 2.0, rel=1e-12)
    np.testing.assert_allclose(single.centre(), [1, 0, 0], rtol=0, atol=1e-12)


def test_loads_on_a_hinged_beam_are_condensed_with_it():
    """Uniform load on a beam clamped at A and hinged at B: moment qL²/8 at A, 5/8 and 3/8 of the load."""
    f = line(releases={"end": "rz"}, theory="euler-bernoulli")
    f.add_support(["A", "B"], "fixed")
    f.add_line_load("q", "beam", (0, -1.0))
    solution = solve_static(assemble_structure(f), "q")
    q = {name: solution.reaction[name] for name in ("A.y", "A.rz", "B.y", "B.rz")}
    np.testing.assert_allclose(list(q.values()), [5 / 8 * 2, 2**2 / 8, 3 / 8 * 2, 0], rtol=0, atol=1e-12)
    middle = solution.beam("beam", [2.0]).deflection[0]
    np.testing.assert_allclose(middle, 0, rtol=0, atol=1e-18)


def test_beams_hinged_at_both_ends_make_a_truss_without_rotations():
    def truss(bars):
        f = Frame("truss", planar=True)
        f.add_points(["A", "B", "C"], [[0, 0], [2, 0], [1, 1]])
        for name, a, b in (("AB", "A", "B"), ("AC", "A", "C"), ("BC", "B", "C")):
            if bars:
                f.add_bar(name, a, b, section=PIPE, material=STEEL)
            else:
                f.add_beam(name, a, b, section=PIPE, material=STEEL, rotary=False,
                           releases={"start": "rz", "end": "rz"})  # fmt: skip
        f.add_support("A", "xy")
        f.add_support("B", "y")
        f.add_force("push", "C", (3.0, -5.0))
        return assemble_structure(f)

    first, second = truss(True), truss(False)
    assert first.free == second.free == ("B.x", "C.x", "C.y")
    np.testing.assert_allclose(solve_static(first, "push").u, solve_static(second, "push").u, rtol=1e-10, atol=1e-20)
    np.testing.assert_allclose(dense(first, "M"), dense(second, "M"), rtol=0, atol=1e-10)


def test_a_hinge_about_a_slanted_axis_that_turns_nothing_is_refused():
    f = Frame("slanted")
    f.add_points("p", [[0, 0, 0], [1, 1, 0], [2, 2, 0]])
    f.add_beam("b1", "p1", "p2", section=PIPE, material=STEEL, releases={"end": "rx"})
    f.add_beam("b2", "p2", "p3", section=PIPE, material=STEEL, releases={"start": "rx"})
    with raises(Exception, "not-held", "'p2'"):
        assemble_structure(f)


@pytest.mark.parametrize("n", [1, 3])
def test_one_tapered_element_is_exact_at_its_tip(n):
    """∫ M²/EI + χ V²/GA along a cantilever whose height falls from 0.3 to 0.1 m."""
    deep, shallow = Section.rectangle(0.3, 0.1), Section.rectangle(0.1, 0.1)
    f = line(n, section=deep, end_section=shallow)
    f.add_support("A", "fixed")
    found = solve_static(assemble_structure(f), {"B.y": 1.0}).displacement["B.y"]

    def give(x):
        s = deep.between(shallow, x / 2.0)
        return (2.0 - x) ** 2 / (STEEL.E * s.I_z) + s.shear_y / (STEEL.G * s.area)

    exact = scipy.integrate.quad(give, 0, 2.0, epsabs=0, epsrel=1e-13)[0]
    assert found == pytest.approx(exact, rel=1e-10)


def test_a_tapered_beam_has_its_mass_and_centre():
    f = line(2, planar=False, section=Section.circle(0.3), end_section=Section.circle(0.1))
    s = assemble_structure(f)
    cone = np.pi * STEEL.density * 2.0 / 3 * (0.15**2 + 0.15 * 0.05 + 0.05**2)
    assert s.mass() == pytest.approx(cone, rel=1e-12)
    R, r = 0.15, 0.05
    assert s.centre()[0] == pytest.approx(2.0 * (R**2 + 2 * R * r + 3 * r**2) / (4 * (R**2 + R * r + r**2)), rel=1e-12)


def test_a_tapered_cantilever_vibrates_at_the_tabulated_frequency():
    """Wedge of constant width and zero tip height: ω = 5.315 √(E I₀/ρ A₀ L⁴) (Kirchhoff 1879; Blevins, table 8-11)."""
    wedge = {"section": Section.rectangle(0.02, 0.02), "end_section": Section.rectangle(2e-7, 0.02)}
    f = line(16, **wedge, theory="euler-bernoulli", rotary=False)
    f.add_support("A", "fixed")
    root = wedge["section"]
    unit = np.sqrt(STEEL.E * root.I_z / (STEEL.density * root.area * 2.0**4))
    assert frequencies(assemble_structure(f), 1)[0] / unit == pytest.approx(5.315, abs=5e-4)


# -- masses, springs, links -------------------------------------------------------------------------------------------


def test_an_offset_mass_is_a_mass_at_the_end_of_a_rigid_link():
    f = Frame("offset")
    f.add_point("A", 0, 0, 0)
    f.add_mass("m", "A", 2.0, inertia=(1, 2, 3), offset=(0.1, 0.2, 0.3))
    g = Frame("link")
    g.add_points(["A", "B"], [[0, 0, 0], [0.1, 0.2, 0.3]])
    g.add_mass("m", "B", 2.0, inertia=(1, 2, 3))
    g.add_rigid("arm", "A", "B")
    one, other = assemble_structure(f), assemble_structure(g)
    np.testing.assert_allclose(dense(one, "M"), other.reduce(other.M).toarray(), rtol=0, atol=1e-15)
    np.testing.assert_allclose(one.centre(), [0.1, 0.2, 0.3], rtol=1e-14)


def test_rigid_links_may_follow_each_other():
    f = Frame("chain")
    f.add_points("p", [[0, 0, 0], [1, 0, 0], [1, 1, 0]])
    f.add_mass("m", "p3", 1.0)
    f.add_rigid("second", "p2", "p3")
    f.add_rigid("first", "p1", "p2")
    s = assemble_structure(f)
    assert s.free == tuple(f"p1.{way}" for way in ("x", "y", "z", "rx", "ry", "rz"))
    turn = s.expand(np.array([0, 0, 0, 0, 0, 1.0]))
    np.testing.assert_allclose(turn[12:18], [-1, 1, 0, 0, 0, 1])


def test_a_floor_is_rigid_in_its_plane_only():
    f = Frame("floor")
    f.add_points("c", [[0, 0, 0], [4, 0, 0], [0, 0, 3], [4, 0, 3]])
    f.add_beams("col", ["c1", "c2"], ["c3", "c4"], section=PIPE, material=STEEL)
    f.add_rigid("floor", "c3", ["c4"], "x y rz")
    f.add_support(["c1", "c2"], "fixed")
    s = assemble_structure(f)
    assert "c4.x" not in s.free
    assert "c4.z" in s.free
    moved = solve_static(s, {"c3.rz": 1000.0}).displacement
    assert moved["c4.y"] == pytest.approx(moved["c3.y"] + 4 * moved["c3.rz"], rel=1e-12)


def test_a_spring_without_direction_acts_along_its_line():
    f = Frame("spring", planar=True)
    f.add_points(["A", "B"], [[0, 0], [3, 4]])
    f.add_spring("s", "A", "B", 10.0, damping=2.0, loss_factor=0.1)
    s = assemble_structure(f)
    n = np.array([0.6, 0.8, 0])
    block = 10 * np.outer(n, n)
    np.testing.assert_allclose(dense(s), np.block([[block, -block], [-block, block]]), rtol=0, atol=1e-15)
    np.testing.assert_allclose(dense(s, "C"), dense(s) / 5, rtol=0, atol=1e-15)
    np.testing.assert_allclose(dense(s, "K_loss"), dense(s) / 10, rtol=0, atol=1e-15)
    assert s.free == ("A.x", "A.y", "B.x", "B.y")


def test_springs_to_the_ground_take_directions_matrices_and_vectors():
    f = Frame("ground")
    f.add_point("A", 1, 2, 3)
    f.add_spring("s1", "A", stiffness=5.0, direction="ry")
    f.add_spring("s2", "A", stiffness={"xz": 2.0})
    f.add_spring("s3", "A", stiffness=9.0, direction=(0, 0, 7))
    f.add_spring("s4", "A", stiffness=np.diag([0, 1.0, 0, 0, 0, 0]))
    np.testing.assert_array_equal(dense(assemble_structure(f)).diagonal(), [2, 1, 11, 0, 5, 0])


def test_springs_and_masses_of_one_kind_or_many_are_the_same():
    rng = np.random.default_rng(2)
    points = rng.uniform(0, 3, (5, 3))
    f = Frame("mixed")
    f.add_points("p", points)
    K = np.zeros((30, 30))
    for k in range(4):
        f.add_spring(f"line{k}", f"p{k + 1}", f"p{k + 2}", 10.0 + k)
        n = (points[k + 1] - points[k]) / np.linalg.norm(points[k + 1] - points[k])
        block = (10.0 + k) * np.outer(n, n)
        for (i, j), sign in {(k, k): 1, (k + 1, k + 1): 1, (k, k + 1): -1, (k + 1, k): -1}.items():
            K[6 * i : 6 * i + 3, 6 * j : 6 * j + 3] += sign * block
    f.add_spring("foot", "p1", stiffness={"x": 3.0, "rz": 4.0}, loss_factor=0.5)
    K[0, 0] += 3
    K[5, 5] += 4
    s = assemble_structure(f)
    np.testing.assert_allclose(dense(s), K, rtol=0, atol=1e-13)
    assert dense(s, "K_loss")[5, 5] == 2.0
    assert s.C.nnz == 0


def test_lumped_and_consistent_beams_have_one_mass():
    for mass in ("lumped", "consistent"):
        assert assemble_structure(line(3, mass=mass)).mass() == pytest.approx(7850 * 0.02 * 2, rel=1e-12)


@pytest.mark.parametrize("mass", ["lumped", "consistent"])
def test_lumped_and_consistent_beams_have_one_polar_inertia(mass):
    """ρ I_p L about the axis of the beam, of three elements."""
    s = assemble_structure(line(3, mass=mass, planar=False))
    spin = s.rigid_motions()[:, s.rigid_names.index("rx")]
    rotary = 7850 * Section.rectangle(0.2, 0.1).I_p * 2
    assert spin @ (s.M @ spin) == pytest.approx(rotary, rel=1e-10)


# -- loads, supports --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("planar", [True, False])
def test_gravity_is_the_weight_per_length(planar):
    f = line(2, planar=planar)
    g = (0, -9.81 * 7850 * 0.02) if planar else (0, 0, -9.81 * 7850 * 0.02)
    f.add_line_load("weight", "beam", g)
    f.add_support(["A", "B"], "fixed")
    s = assemble_structure(f)
    np.testing.assert_allclose(s.loads["gravity"], s.loads["weight"], rtol=0, atol=1e-10)


def test_line_loads_are_cut_at_the_elements():
    whole, cut = line(1), line(5)
    for f in (whole, cut):
        f.add_support("A", "fixed")
        f.add_line_load("q", "beam", (1, -2), end_force=(0, 7), moment=3.0, end_moment=-1.0)
        f.add_beam_force("p", "beam", 1.3, (4, 5), moment=6.0)
    for case in "qp":
        one, other = (solve_static(assemble_structure(f), case).displacement["B"] for f in (whole, cut))
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_local_axes_of_a_load_are_those_of_the_beam():
    f = Frame("lean", planar=True)
    f.add_points(["A", "B"], [[0, 0], [3, 4]])
    f.add_beam("beam", "A", "B", section=PLANK, material=STEEL)
    f.add_line_load("local", "beam", (0, 1.0), axes="local")
    f.add_line_load("global", "beam", (-0.8, 0.6))
    loads = assemble_structure(f).loads
    np.testing.assert_allclose(loads["local"], loads["global"], rtol=0, atol=1e-14)


def test_prescribed_displacements_move_the_structure():
    f = line(2)
    f.add_support("A", "fixed", values={"y": 0.01})
    f.add_support("B", "fixed")
    solution = solve_static(assemble_structure(f))
    assert solution.displacement["A.y"] == 0.01
    assert solution.displacement["beam[1].y"] == pytest.approx(0.005, rel=1e-9)
    k = 12 * STEEL.E * PLANK.I_z / 2.0**3 / (1 + 12 * STEEL.E * PLANK.I_z * PLANK.shear_y / (STEEL.G * PLANK.area * 4))
    assert solution.reaction["A.y"] == pytest.approx(0.01 * k, rel=1e-9)


def test_frames_print_what_they_have():
    assert repr(line()) == ("Frame('line', planar, 2 points, 1 x beam, 0 supports, 0 load cases)")
