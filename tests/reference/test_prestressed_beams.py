"""Beams under tension and compression, columns, lateral buckling and rotating beams against closed forms.

S. P. Timoshenko, J. M. Gere, Theory of Elastic Stability, 2nd ed. 1961 (TG below); rotating cantilever: problem P11,
flap frequencies of a uniform beam at hub radius 0 in terms of γ = Ω √(ρA L⁴/EI).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq

from dalembert.structures import (
    Frame,
    Material,
    Section,
    assemble_structure,
    centrifugal_load,
    find_buckling,
    prestress,
    solve_static,
    spin,
)

UNIT = Material("unit", E=1.0, density=1.0, G=1.0)
THIN = {"theory": "euler-bernoulli", "rotary": False}
# EI = 1 in both planes, unit mass per length, hardly any stretch (the density makes up for the area)
STIFF = Section(area=1e6, I_y=1.0, I_z=1.0, J=1.0)
LIGHT = Material("unit mass per length", E=1.0, density=1e-6, G=1.0)


def column(foot: str, head: str, *, elements: int = 8, section: Section = STIFF, **theory: object) -> Frame:
    """Upright column of height 1 under a unit load; ends pinned, fixed, free or guided."""
    frame = Frame("column", planar=True, gravity=0)
    frame.add_points(["foot", "head"], [[0, 0], [0, 1]])
    frame.add_beam("column", "foot", "head", section=section, material=LIGHT, elements=elements, **(theory or THIN))
    frame.add_support("foot", {"pinned": "xy", "fixed": "fixed"}[foot])
    if head != "free":
        frame.add_support("head", {"pinned": "x", "fixed": "x rz", "guided": "rz"}[head])
    frame.add_force("load", "head", (0, -1))
    return frame


def critical(frame: Frame, load: object = "load") -> float:
    return find_buckling(assemble_structure(frame), load, count=1).critical


# Exact loads in EI/L²; fixed-pinned: tan x = x.
EULER = {
    ("pinned", "pinned"): np.pi**2,
    ("fixed", "free"): np.pi**2 / 4,
    ("fixed", "pinned"): brentq(lambda x: np.tan(x) - x, 4.4, 4.6) ** 2,
    ("fixed", "fixed"): 4 * np.pi**2,
    ("fixed", "guided"): np.pi**2,
}


class TestColumns:
    @pytest.mark.parametrize("ends", EULER)
    def test_euler_columns_converge_from_above_with_the_fourth_power_of_the_length(self, ends: tuple[str, str]) -> None:
        errors = [critical(column(*ends, elements=n)) / EULER[ends] - 1 for n in (4, 8, 16)]
        assert errors[0] > errors[1] > errors[2] > 0
        assert errors[2] < 1e-4
        for coarse, fine in pairwise(errors):
            assert np.log2(coarse / fine) == pytest.approx(4, abs=0.2)

    def test_higher_loads_of_a_pinned_column_are_those_of_its_half_waves(self) -> None:
        found = find_buckling(assemble_structure(column("pinned", "pinned", elements=40)), "load", count=4)
        exact = (np.arange(1, 5) * np.pi) ** 2
        assert np.all(np.abs(found.factors / exact - 1) < 1.05 * (exact / 40**2) ** 2 / 720 + 1e-8)  # error (k h)⁴/720
        shape = found.shape(2)
        assert abs(shape["column[20].x"]) < 1e-6 * abs(shape["column[10].x"])

    @pytest.mark.parametrize("slenderness", [4.0, 10.0, 40.0])
    def test_a_column_that_shears_buckles_at_engessers_load(self, slenderness: float) -> None:
        """P = P_E/(1 + P_E χ/GA) (TG 2.17); from above with the square of the length, extrapolated."""
        A = slenderness**2
        section = Section(area=A, I_y=1.0, I_z=1.0, J=1.0, shear_y=1.2, shear_z=1.2)
        coarse, fine = (
            critical(column("pinned", "pinned", elements=n, section=section, theory="timoshenko")) for n in (20, 40)
        )
        assert coarse > fine
        assert fine - (coarse - fine) / 3 == pytest.approx(np.pi**2 / (1 + np.pi**2 * 1.2 / A), rel=2e-6)

    def test_a_column_under_its_own_weight(self) -> None:
        """Fixed at the foot: (q L)_cr = 7.837 EI/L² (TG 2.12); the tension is linear along each element."""
        frame = Frame("mast", planar=True, gravity=(0, -1))
        frame.add_points(["foot", "head"], [[0, 0], [0, 1]])
        frame.add_beam("column", "foot", "head", section=STIFF, material=LIGHT, elements=16, **THIN)
        frame.add_support("foot", "fixed")
        assert critical(frame, "gravity") == pytest.approx(7.83735, rel=1e-5)

    def test_a_column_in_space_buckles_twice_at_the_same_load(self) -> None:
        frame = Frame("column", gravity=0)
        frame.add_points(["foot", "head"], [[0, 0, 0], [0, 0, 1]])
        section = Section(area=1e6, I_y=1.0, I_z=1.0, J=1.0)
        frame.add_beam("column", "foot", "head", section=section, material=LIGHT, elements=90, **THIN)
        frame.add_support("foot", "fixed")
        frame.add_force("load", "head", (0, 0, -1))
        found = find_buckling(assemble_structure(frame), "load", count=4)  # 540 coordinates: by Lanczos
        assert found.factors == pytest.approx(np.pi**2 / 4 * np.array([1, 1, 9, 9]), rel=1e-6)

    def test_the_wagner_term_makes_a_column_twist(self) -> None:
        """P = G J A/I_p when bending is held (TG 5.2)."""
        frame = Frame("cruciform", gravity=0)
        frame.add_points(["A", "B"], [[0, 0, 0], [2, 0, 0]])
        frame.add_beam("post", "A", "B", section=Section(area=3.0, I_y=1.0, I_z=1.5, J=0.2), material=UNIT)
        frame.add_support("A", "fixed")
        frame.add_support("B", "y z ry rz")
        frame.add_force("load", "B", (-1, 0, 0))
        assert critical(frame) == pytest.approx(0.2 * 3.0 / 2.5, rel=1e-12)


class TestRigidParts:
    """An elastic column of length 1, fixed at its foot, that carries the load on a rigid part: tan k = 1/(k b)."""

    ARM = 0.6

    def exact(self) -> float:
        return brentq(lambda k: np.cos(k) - k * self.ARM * np.sin(k), 0.1, 1.5) ** 2

    def test_a_rigid_link_leans_with_the_load_it_carries(self) -> None:
        frame = column("fixed", "free", elements=16)
        frame.add_point("top", 0, 1 + self.ARM)
        frame.add_rigid("mast", "head", "top")
        frame.add_force("above", "top", (0, -1))
        assert critical(frame, "above") == pytest.approx(self.exact(), rel=1e-6)

    def test_so_does_the_rigid_arm_of_a_beam(self) -> None:
        frame = Frame("column", planar=True, gravity=0)
        frame.add_points(["foot", "top"], [[0, 0], [0, 1 + self.ARM]])
        frame.add_beam("column", "foot", "top", section=STIFF, material=LIGHT, elements=16,
                       offsets=((0, 0), (0, -self.ARM)), **THIN)  # fmt: skip
        frame.add_support("foot", "fixed")
        frame.add_force("load", "top", (0, -1))
        assert critical(frame) == pytest.approx(self.exact(), rel=1e-6)

    def test_a_rigid_mast_on_a_turning_spring_falls_at_stiffness_by_height(self) -> None:
        frame = Frame("mast", planar=True, gravity=0)
        frame.add_points(["foot", "top"], [[0, 0], [0.3, 2]])
        frame.add_rigid("mast", "foot", "top")
        frame.add_mass("head", "top", 1.0)
        frame.add_spring("hinge", "foot", stiffness=5.0, direction="rz")
        frame.add_support("foot", "xy")
        frame.add_force("load", "top", (0, -1))
        assert critical(frame) == pytest.approx(2.5, rel=1e-12)


class TestPortalFrames:
    """Columns and beam of the same EI and length 1, both columns loaded (TG 2.4)."""

    def portal(self, foot: str) -> Frame:
        frame = Frame("portal", planar=True, gravity=0)
        frame.add_points(["A", "B", "C", "D"], [[0, 0], [0, 1], [1, 1], [1, 0]])
        for name, start, end in (("left", "A", "B"), ("beam", "B", "C"), ("right", "D", "C")):
            frame.add_beam(name, start, end, section=STIFF, material=LIGHT, elements=16, **THIN)
        frame.add_support(["A", "D"], foot)
        frame.add_force("load", "B", (0, -1))
        frame.add_force("load", "C", (0, -1))
        return frame

    def test_sway_with_fixed_feet(self) -> None:
        """tan k / k = -1/6: 7.379 EI/L²."""
        k = brentq(lambda k: 6 * np.sin(k) + k * np.cos(k), 2.0, 3.0)
        assert k**2 == pytest.approx(7.379, abs=5e-4)
        assert critical(self.portal("fixed")) == pytest.approx(k**2, rel=2e-5)

    def test_sway_with_pinned_feet(self) -> None:
        """k tan k = 6: 1.82 EI/L²."""
        k = brentq(lambda k: k * np.sin(k) - 6 * np.cos(k), 1.0, 1.5)
        assert k**2 == pytest.approx(1.82, abs=5e-3)
        assert critical(self.portal("pinned")) == pytest.approx(k**2, rel=2e-5)

    def test_without_sway_the_next_load_is_that_of_columns_held_by_the_beam(self) -> None:
        """Rotation of the corners against the beam, s(k) + 2 = 0: 25.2 EI/L²."""

        def corner(k: float) -> float:
            return k * (np.sin(k) - k * np.cos(k)) + 2 * (2 - 2 * np.cos(k) - k * np.sin(k))

        k = brentq(corner, 4.6, 5.4)
        assert k**2 == pytest.approx(25.2, abs=0.05)
        found = find_buckling(assemble_structure(self.portal("fixed")), "load", count=2).factors
        assert found[1] == pytest.approx(k**2, rel=5e-5)


class TestLateralBuckling:
    """Narrow beams that bend in their stiff plane: EI_y = 1, GJ = 1, EI_z = 10⁸; unit length."""

    def beam(self, elements: int = 32) -> Frame:
        frame = Frame("narrow", gravity=0)
        frame.add_points(["A", "B"], [[0, 0, 0], [1, 0, 0]])
        section = Section(area=1e8, I_y=1.0, I_z=1e8, J=1.0)
        frame.add_beam("beam", "A", "B", section=section, material=UNIT, elements=elements, up=(0, 0, 1), **THIN)
        return frame

    def test_a_cantilever_with_a_load_at_its_tip(self) -> None:
        """P = 4.013 √(EI GJ)/L² (TG 6.5)."""
        frame = self.beam()
        frame.add_support("A", "fixed")
        frame.add_force("load", "B", (0, 0, -1))
        assert critical(frame) == pytest.approx(4.013, abs=1e-3)

    def test_a_cantilever_with_a_load_along_it(self) -> None:
        """(q L) = 12.85 √(EI GJ)/L² (TG 6.5)."""
        frame = self.beam()
        frame.add_support("A", "fixed")
        frame.add_line_load("load", "beam", (0, 0, -1))
        assert critical(frame) == pytest.approx(12.85, abs=1e-2)

    def test_a_supported_beam_in_pure_bending(self) -> None:
        """M = π √(EI GJ)/L (TG 6.2), ends held against twist; twist is linear in an element: order h², extrapolated."""
        found = []
        for elements in (16, 32):
            frame = self.beam(elements)
            frame.add_support("A", "x y z rx")
            frame.add_support("B", "y z rx")
            frame.add_moment("load", "A", (0, -1, 0))
            frame.add_moment("load", "B", (0, 1, 0))
            found.append(critical(frame))
        assert found[0] > found[1] > np.pi
        assert found[1] - (found[0] - found[1]) / 3 == pytest.approx(np.pi, rel=1e-5)

    def test_a_clamped_shaft_under_torque(self) -> None:
        """T = 8.987 EI/L, tan(T/2) = T/2 (Greenhill 1883)."""
        frame = Frame("shaft", gravity=0)
        frame.add_points(["A", "B"], [[0, 0, 0], [1, 0, 0]])
        frame.add_beam("shaft", "A", "B", section=STIFF, material=UNIT, elements=32, **THIN)
        frame.add_support("A", "fixed")
        frame.add_support("B", "y z ry rz")
        frame.add_moment("load", "B", (1, 0, 0))
        exact = 2 * brentq(lambda x: np.tan(x) - x, 4.4, 4.6)
        assert critical(frame) == pytest.approx(exact, rel=1e-4)


class TestTension:
    def beam(self, elements: int) -> Frame:
        frame = column("pinned", "pinned", elements=elements)
        frame.add_force("pull", "head", (0, 50))
        return frame

    def test_frequencies_of_a_supported_beam_under_tension(self) -> None:
        """ω² = (nπ/L)⁴ EI/ρA + (nπ/L)² N/ρA; by a load or by a given tension."""
        n = np.arange(1, 6) * np.pi
        exact = np.sqrt(n**4 + 50 * n**2)
        model = assemble_structure(self.beam(32))
        for tight in (prestress(model, "pull"), prestress(model, tension={"column": 50.0})):
            assert tight.modes(5).frequencies == pytest.approx(exact, rel=5e-5)

    def test_they_converge_with_the_fourth_power_of_the_length(self) -> None:
        exact = np.sqrt(np.pi**4 + 50 * np.pi**2)
        errors = [
            prestress(assemble_structure(self.beam(n)), "pull").modes(1).frequencies[0] / exact - 1 for n in (2, 4, 8)
        ]
        for coarse, fine in pairwise(errors):
            assert np.log2(coarse / fine) == pytest.approx(4, abs=0.2)

    def test_the_square_of_the_frequency_falls_linearly_to_zero_at_the_buckling_load(self) -> None:
        """Exactly so where both shapes are the same: pinned ends."""
        model = assemble_structure(column("pinned", "pinned", elements=8))
        factor = find_buckling(model, "load", count=1).critical
        free = model.modes(1).frequencies[0] ** 2
        for share in (0.5, 0.99):
            pressed = prestress(model, {"load": share * factor}).modes(1).frequencies[0] ** 2
            assert pressed == pytest.approx((1 - share) * free, rel=1e-4)

    def test_a_string_of_bars_vibrates_as_the_beaded_string(self) -> None:
        """n bars of length h under tension N with masses at their ends: ω = 2 √(N/m h) sin(kπ/2n)."""
        n, N = 8, 40.0
        frame = Frame("string", planar=True, gravity=0)
        frame.add_points("p", np.column_stack([np.linspace(0, 1, n + 1), np.zeros(n + 1)]))
        names = [f"p{k + 1}" for k in range(n + 1)]
        frame.add_bars("b", names[:-1], names[1:], section=Section(area=1e6, I_y=1.0, I_z=1.0, J=1.0),
                       material=LIGHT, mass="lumped")  # fmt: skip
        frame.add_support([names[0], names[-1]], "pinned")
        model = prestress(assemble_structure(frame), tension={f"b{k + 1}": N for k in range(n)})
        exact = 2 * np.sqrt(N) * n * np.sin(np.arange(1, n) * np.pi / (2 * n))
        assert model.modes(7).frequencies == pytest.approx(exact, rel=1e-9)


FLAP = {0: (3.5160, 22.0345), 2: (4.1373, 22.6149), 6: (7.3604, 26.8091), 12: (13.1702, 37.6031)}


class TestRotatingCantilever:
    def blade(self, elements: int = 40) -> Frame:
        frame = Frame("blade", gravity=0)
        frame.add_points(["hub", "tip"], [[0, 0, 0], [1, 0, 0]])
        frame.add_beam("blade", "hub", "tip", section=STIFF, material=LIGHT, elements=elements, **THIN)
        frame.add_support("hub", "fixed")
        return frame

    def frequencies(self, gamma: float, **options: object) -> tuple[np.ndarray, np.ndarray]:
        """Flap (along the axis, z) and lag frequencies, lowest first."""
        modes = spin(assemble_structure(self.blade()), "z", gamma, **options).modes(8)
        along = np.array([name.endswith((".z", ".ry")) for name in modes.coordinates])
        flap = np.linalg.norm(modes.shapes[along], axis=0) > np.linalg.norm(modes.shapes[~along], axis=0)
        return modes.frequencies[flap], modes.frequencies[~flap]

    @pytest.mark.parametrize("gamma", FLAP)
    def test_flap_frequencies_are_the_published_ones(self, gamma: int) -> None:
        """P11, four decimals; 40 elements are within 1e-7 of the continuum."""
        flap, _ = self.frequencies(float(gamma), coriolis=False)
        assert np.abs(flap[:2] - FLAP[gamma]).max() < 5e-5

    @pytest.mark.parametrize("gamma", [2.0, 12.0])
    def test_lag_frequencies_are_softer_by_the_spin(self, gamma: float) -> None:
        """ω_lag² = ω_flap² - Ω²; a blade that hardly stretches hardly feels Coriolis forces: order (Ω ω)²/EA."""
        flap, lag = self.frequencies(gamma, coriolis=False)
        assert lag[:2] ** 2 == pytest.approx(flap[:2] ** 2 - gamma**2, rel=1e-7)
        flap, lag = self.frequencies(gamma)
        assert lag[:2] ** 2 == pytest.approx(flap[:2] ** 2 - gamma**2, rel=gamma**2 * 4e-6)

    def test_the_tension_of_a_turning_beam_stretches_it_as_known(self) -> None:
        """P12: L = 10, EA = 2.8e7, ρA = 1.2, 6 rad/s: 5.1429e-4 m = ρA Ω² L³/(3 EA)."""
        frame = Frame("spin-up beam", gravity=0)
        frame.add_points(["root", "tip"], [[0, 0, 0], [10, 0, 0]])
        section = Section(area=1.0, I_y=5e-4, I_z=5e-4, J=1e-3)
        frame.add_beam("beam", "root", "tip", section=section, material=Material("m", E=2.8e7, density=1.2), elements=4)
        frame.add_support("root", "fixed")
        model = assemble_structure(frame)
        stretch = solve_static(model, centrifugal_load(model, "z", 6.0)).displacement["tip.x"]
        assert stretch == pytest.approx(5.1429e-4, abs=5e-9)
        assert stretch == pytest.approx(1.2 * 36 * 1000 / (3 * 2.8e7), rel=1e-12)

    def test_a_hub_of_radius_r_is_a_frame_moved_along_its_blade(self) -> None:
        model = assemble_structure(self.blade())
        moved = self.blade()
        moved.positions = [(x + 0.5, y, z) for x, y, z in moved.positions]
        here = spin(model, "z", 4.0, centre=(-0.5, 0, 0)).modes(4).frequencies
        assert spin(assemble_structure(moved), "z", 4.0).modes(4).frequencies == pytest.approx(here, rel=1e-7)
