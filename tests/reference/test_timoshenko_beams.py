"""Timoshenko beams: the table of spec 003 (E8), items C-51 and C-52, Huang's equations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.polynomial import Chebyshev

from dalembert.structures import Beam, End, Frame, Section, assemble_structure, supported_branches, supported_ratios

ENDS = ("free", "clamped", "supported", "guided")
PAIRS = [(a, b) for i, a in enumerate(ENDS) for b in ENDS[i:]]


def unit(left, right, **rest):
    return Beam(1.0, EI=1.0, rhoA=1.0, left=left, right=right, **rest)


E8 = {
    10: [0.85520, 0.65108, 0.50634, 0.40858, 0.34025],
    20: [0.95545, 0.85520, 0.74686, 0.65108, 0.57150],
    30: [0.97927, 0.92541, 0.85520, 0.78208, 0.71316],
    40: [0.98814, 0.95545, 0.90875, 0.85520, 0.80015],
    50: [0.99235, 0.97063, 0.93803, 0.89839, 0.85520],
    60: [0.99466, 0.97927, 0.95545, 0.92541, 0.89135],
    80: [0.99698, 0.98814, 0.97402, 0.95545, 0.93338],
    100: [0.99807, 0.99235, 0.98308, 0.97063, 0.95545],
    150: [0.99914, 0.99657, 0.99235, 0.98654, 0.97927],
    200: [0.99952, 0.99807, 0.99567, 0.99235, 0.98814],
}
CIRCLE = 8.8 / 7.8 * 2.6  # χ* of a circle, ν = 0.3


def round_beam(alpha, left="supported", right="supported", theory="timoshenko"):
    """Circular section, ν = 0.3, EI = ρA = l = 1, slenderness α."""
    r2 = 1.0 / alpha**2
    return unit(left, right, theory=theory, rhoI=r2, GA=1.0 / (CIRCLE * r2))


@pytest.mark.spec("003-E8", "003-C52")
@pytest.mark.parametrize("alpha", sorted(E8))
def test_supported_timoshenko_beams_as_tabulated(alpha):
    lower, _ = supported_ratios(alpha, np.arange(1, 6), CIRCLE)
    assert lower == pytest.approx(E8[alpha], abs=5.01e-6)


@pytest.mark.spec("003-E8", "003-C52")
def test_the_table_follows_from_a_round_section_of_a_material():
    section = Section.circle(0.04)  # radius of gyration 0.01
    beam = Beam(0.5, section, "steel", left="supported", right="supported", theory="timoshenko")
    assert beam.slenderness == pytest.approx(50.0)
    ratio = supported_branches(beam).bending / supported_branches(beam).euler_bernoulli
    assert ratio == pytest.approx(E8[50], abs=5.01e-6)


@pytest.mark.spec("003-E8", "003-C52")
def test_the_shear_branch_as_tabulated():
    _, upper = supported_ratios(50, np.arange(1, 6), CIRCLE)
    assert upper == pytest.approx([149.0376, 38.0929, 17.5187, 10.2891, 6.9176], abs=5.01e-5)


@pytest.mark.spec("003-E8")
def test_shear_lowers_frequencies_about_three_times_more_than_rotary_inertia():
    both, _ = supported_ratios(50, 1, CIRCLE)
    rotary, _ = supported_ratios(50, 1, 0.0)
    shear, none = supported_ratios(50, 1, CIRCLE, rotary=False)
    assert np.isinf(none)
    assert [float(rotary), float(shear), float(both)] == pytest.approx([0.998032, 0.994260, 0.99235], abs=5.01e-6)
    assert (1 - shear) / (1 - rotary) == pytest.approx(2.93, abs=0.02)
    for theory, ratio in (("rayleigh", rotary), ("shear", shear), ("timoshenko", both)):
        assert round_beam(50.0, theory=theory).frequencies(1)[0] == pytest.approx(ratio * np.pi**2, rel=1e-13)


@pytest.mark.spec("003-C52", "003-C51")
@pytest.mark.parametrize("alpha", [5.0, 10.0, 50.0, 500.0])
def test_general_ends_and_closed_form_agree_on_both_branches_and_thickness_shear(alpha):
    beam = round_beam(alpha)
    count = 40
    branches = supported_branches(beam, 60)
    closed = np.sort(np.concatenate([branches.bending, branches.shear, [branches.thickness_shear]]))[:count]
    assert beam.frequencies(count) == pytest.approx(closed, rel=2e-14 if alpha < 100 else 1e-13)


@pytest.mark.spec("003-C52")
def test_thickness_shear_turns_all_sections_alike():
    beam = round_beam(10.0)
    found = beam.modes(5)
    assert found.frequencies[3] == pytest.approx(58.387, abs=5e-4)  # between i = 3 and i = 4, as the spec says
    assert found.frequencies[3] == pytest.approx(supported_branches(beam).thickness_shear, rel=1e-14)
    z = np.linspace(0.0, 1.0, 9)
    assert np.abs(found.shape(z)[3]).max() < 1e-12
    assert found.slope(z)[3] == pytest.approx(np.ones(9), abs=1e-12)
    assert found.shape(z)[4] == pytest.approx(np.sin(4 * np.pi * z), abs=1e-12)


@pytest.mark.spec("003-C51")
@pytest.mark.parametrize(("left", "right"), [("clamped", "free"), ("clamped", "clamped"), ("free", "free")])
def test_timoshenko_frequencies_satisfy_huangs_equations_on_both_sides_of_the_cut_off(left, right):
    # Huang, J. Appl. Mech. 28 (1961) 579, with his b² = λ; complex arithmetic carries the hyperbolic functions over
    alpha = 12.0
    r2, s2 = 1 / alpha**2, CIRCLE / alpha**2
    found = round_beam(alpha, left, right).frequencies(14)[2 if left == right == "free" else 0 :]
    assert found[0] < 1.0 / math.sqrt(r2 * s2) < found[-1]

    def huang(b):
        root = np.sqrt((r2 - s2) ** 2 + 4 / b**2)
        a, be = np.sqrt((-(r2 + s2) + root + 0j) / 2), np.sqrt((r2 + s2 + root) / 2)
        cut = np.sqrt(1 - b**2 * r2 * s2 + 0j)
        ch, sh, c, s = np.cosh(b * a), np.sinh(b * a), np.cos(b * be), np.sin(b * be)
        if (left, right) == ("clamped", "free"):
            return 2 + (b**2 * (r2 - s2) ** 2 + 2) * ch * c - b * (r2 + s2) / cut * sh * s
        own, other = (s2, r2) if left == "clamped" else (r2, s2)
        return 2 - 2 * ch * c + b / cut * (b**2 * own * (other - own) ** 2 + 3 * own - other) * sh * s

    for w in found:
        step = 1e-6 * w
        slope = abs(huang(w + step) - huang(w - step)) / (2 * step)
        assert abs(huang(w)) / (slope * w) < 1e-11


@pytest.mark.spec("003-C51")
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_timoshenko_modes_satisfy_the_coupled_equations(left, right):
    beam = round_beam(12.0, left, right)
    found = beam.modes(12)
    z = np.linspace(0.1, 0.9, 17)  # a Chebyshev derivative loses N² ε at the ends, N ε inside
    for i, w in enumerate(found.frequencies):
        fields = {"u": found.shape, "phi": found.slope, "M": found.moment, "F": found.shear_force}
        d = {
            name: Chebyshev.interpolate(lambda x, i=i, f=f: f(x)[i], 50, domain=[0.0, 1.0]).deriv()(z)
            for name, f in fields.items()
        }
        u, phi, M, F = (f(z)[i] for f in fields.values())
        size = max(np.abs(value).max() for value in (u, phi, M, F))
        assert pytest.approx(d["u"] - phi, abs=1e-11 * size) == F / beam.GA  # γ = χF/GA
        assert d["phi"] == pytest.approx(M, abs=1e-11 * size)  # M = EI φ′
        assert d["F"] == pytest.approx(-(w**2) * u, abs=1e-11 * size * max(w, 1.0))  # ρA ü = F′
        assert F + d["M"] == pytest.approx(-(w**2) * beam.rhoI * phi, abs=1e-11 * size)  # ρI φ̈ = F + M′


@pytest.mark.spec("003-C51")
def test_a_slender_timoshenko_beam_is_an_euler_bernoulli_beam():
    for left, right in PAIRS:
        slender = round_beam(1e5, left, right).frequencies(6)
        assert slender == pytest.approx(unit(left, right).frequencies(6), rel=2e-7)


@pytest.mark.spec("003-C51")
@pytest.mark.parametrize("tip", [End(), End(mass=5.0, inertia=0.01)])
def test_frame_elements_converge_from_above_to_the_exact_beam(tip):
    """Two formulations that share nothing but section and material; the element is of order 2 here, so a Richardson
    step from 20 and 40 elements leaves about (ω h²)² of the error of 40."""
    section = Section.circle(0.1)
    exact = Beam(1.0, section, "steel", theory="timoshenko", right=tip).frequencies(4)

    def bending(elements):
        frame = Frame("cantilever", planar=True)
        frame.add_point("A", (0.0, 0.0))
        frame.add_point("B", (1.0, 0.0))
        frame.add_beam("beam", "A", "B", section=section, material="steel", elements=elements)
        frame.add_support("A", "fixed")
        if tip.mass:
            frame.add_mass("tip", "B", tip.mass, inertia=tip.inertia)
        found = assemble_structure(frame).modes(10).frequencies
        return np.array([found[np.argmin(np.abs(found - w))] for w in exact])  # axial modes lie in between

    coarse, fine = bending(20), bending(40)
    assert (coarse > fine).all()
    assert (fine > exact).all()
    assert (4.0 * fine - coarse) / 3.0 == pytest.approx(exact, rel=1e-5)
