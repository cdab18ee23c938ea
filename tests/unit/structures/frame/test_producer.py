"""Frames that are easily got wrong: lumped tapers, single points, straight trusses, free parts, many mechanisms."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dalembert.core.errors import ModelError
from dalembert.structures import Frame, Material, Section, assemble_structure, find_buckling, solve_static, spin
from tests.helpers.findings import raises

STEEL = Material("steel", E=210e9, density=7850.0)
ROD = {"section": Section.circle(0.02), "material": STEEL}
CONE = np.pi / 3 * 10 * (0.2**2 + 0.2 * 0.05 + 0.05**2) * STEEL.density


def mast(n, **options):
    f = Frame("mast", planar=True)
    f.add_points(["a", "b"], [[0, 0], [10, 0]])
    f.add_beam("mast", "a", "b", section=Section.circle(0.4), end_section=Section.circle(0.1), material=STEEL,
               elements=n, **options)  # fmt: skip
    f.add_support("a")
    return assemble_structure(f)


def test_a_lumped_taper_has_its_own_mass():
    s = mast(5, mass="lumped")
    assert s.mass() == pytest.approx(CONE, rel=1e-12)
    assert solve_static(s, "gravity").reaction["a.y"] == pytest.approx(9.81 * CONE, rel=1e-12)
    lumped, consistent = (mast(40, mass=mass).modes(1).frequencies for mass in ("lumped", "consistent"))
    np.testing.assert_allclose(lumped, consistent, rtol=2e-3)


def test_a_turning_taper_pulls_with_its_own_mass_whatever_the_mesh():
    found = [spin(mast(n), "z", 30.0, coriolis=False).modes(1).frequencies[0] for n in (8, 32)]
    assert found[0] == pytest.approx(found[1], rel=1e-4)


def test_a_single_point_on_a_spring_is_held_when_its_translations_are():
    f = Frame("oscillator", planar=True)
    f.add_point("P", 0, 0)
    f.add_mass("m", "P", 2.0)
    f.add_spring("k", "P", None, 100.0, direction="y")
    with raises(ModelError, "not-held"):
        solve_static(assemble_structure(f), "gravity")
    f.add_support("P", "x")
    assert solve_static(assemble_structure(f), "gravity").displacement["P.y"] == pytest.approx(-0.1962)


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_a_straight_truss_does_not_turn_about_itself(far):
    f = Frame("tie")
    f.add_points(["A", "B", "C"], np.array([[0, 0, 0], [1, 0, 0], [3, 0, 0]]) + far)
    f.add_bars("b", ["A", "B"], ["B", "C"], **ROD)
    f.add_support(["A", "C"], "pinned")
    f.add_support("B", "yz")
    s = assemble_structure(f)
    area = ROD["section"].area
    assert solve_static(s, {"B.x": 1e3}).displacement["B.x"] == pytest.approx(1e3 / (STEEL.E * area * 1.5), rel=1e-9)


def test_every_mechanism_of_several_is_distinguished():
    f = Frame("fingers", planar=True)
    f.add_points("p", [[0, 0], [1, 0], [2, 0], [3, 0]])
    f.add_points("q", [[0, 1], [1, 1], [2, 1], [3, 1]])
    f.add_bars("b", [f"p{k}" for k in (1, 2, 3, 4)], [f"q{k}" for k in (1, 2, 3, 4)], **ROD)
    f.add_support(["p1", "p2", "p3", "p4"], "pinned")
    f.add_force("wind", "q1", (1.0, 0))
    with pytest.raises(ModelError) as error:
        solve_static(assemble_structure(f), "wind")
    for k in (1, 2, 3, 4):
        assert f"a mechanism that moves q{k}.x" in str(error.value)
    assert str(error.value).count("q1.x") == 1


def test_inside_a_flying_beam_its_inertia_acts_too():
    """A free beam pushed at its middle: V and M are those of the beam on the push, loaded by its own inertia."""
    L, F = 2.0, 100.0
    for n, mass in ((1, "consistent"), (4, "consistent")):
        f = Frame("flying", planar=True)
        f.add_points(["A", "B", "C"], [[0, 0], [L / 2, 0], [L, 0]])
        f.add_beams("b", ["A", "B"], ["B", "C"], **ROD, elements=n, mass=mass)
        f.add_force("push", "B", (0, F))
        solution = solve_static(assemble_structure(f), "push", inertia_relief=True)
        x = np.linspace(0, L / 2, 7)
        left, right = solution.beam("b1", x), solution.beam("b2", x)
        q = F / L
        np.testing.assert_allclose(left.V_y, q * x, rtol=0, atol=1e-8 * F)
        np.testing.assert_allclose(left.M_z, -q * x**2 / 2, rtol=0, atol=1e-8 * F)
        np.testing.assert_allclose(right.M_z, -q * (L / 2 - x) ** 2 / 2, rtol=0, atol=1e-8 * F)
        EI = STEEL.E * ROD["section"].I_z
        shear = ROD["section"].shear_y / (STEEL.G * ROD["section"].area)
        energy = q**2 * (L / 2) ** 5 / (20 * EI) + q**2 * (L / 2) ** 3 / 3 * shear
        assert solution.strain_energy == pytest.approx(energy, rel=1e-8)
        worst = max(solution.largest_stresses().values())
        assert worst == pytest.approx(max(left.von_mises.max(), right.von_mises.max()), rel=1e-9)
        again = pickle.loads(pickle.dumps(solution))  # noqa: S301
        np.testing.assert_array_equal(again.beam("b1", x).M_z, left.M_z)


def test_a_pushed_and_turning_free_beam_has_free_ends():
    f = Frame("flying")
    f.add_points(["A", "B"], [[0, 0, 0], [1, 2, 0.5]])
    f.add_beam("b", "A", "B", section=Section.rectangle(0.05, 0.02), material=STEEL, elements=3)
    f.add_mass("m", "B", 3.0, inertia=0.1)
    f.add_force("push", "B", (10.0, 20.0, -5.0), moment=(1.0, 2.0, 3.0))
    found = solve_static(assemble_structure(f), "push", inertia_relief=True).beam("b", 2)
    for name in ("N", "V_y", "V_z", "T", "M_y", "M_z"):
        assert getattr(found, name)[0] == pytest.approx(0.0, abs=1e-7), name


def test_torsion_of_a_tapered_column_converges_to_that_of_its_own_sections():
    """Wagner's term takes I_p/A of the place, not of the foot."""

    def factor(n):
        f = Frame("column")
        f.add_points(["a", "b"], [[0, 0, 0], [0, 0, 2]])
        thin = Section(area=4e-4, I_y=1e-6, I_z=1e-6, J=1e-11, height=0.1, width=0.1)
        wide = Section(area=4e-4, I_y=4e-6, I_z=4e-6, J=1e-11, height=0.2, width=0.2)
        f.add_beam("c", "a", "b", section=wide, end_section=thin, material=STEEL, elements=n)
        f.add_support("a")
        f.add_support("b", "xy rx ry rz")
        f.add_force("P", "b", (0, 0, -1.0))
        return find_buckling(assemble_structure(f), "P", count=1).critical

    # uniform compression: ∫ (GJ − P I_p/A) φ′² dx loses its sign first where I_p is largest, at the foot
    assert factor(32) > STEEL.G * 1e-11 * 4e-4 / 8e-6
    assert factor(4) == pytest.approx(factor(16), rel=0.2)
