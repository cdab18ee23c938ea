"""Stresses over cross-sections, against Jourawski's V Q/(I b) and Bredt's formula."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate

from dalembert.core.errors import DataError
from dalembert.structures import Frame, Section, assemble_structure, solve_static
from dalembert.structures.beams.section_stresses import points
from tests.helpers.findings import raises

I_BEAM = Section.i_section(height=0.3, width=0.15, web=0.0071, flange=0.0107)  # IPE 300 without fillets
T_BEAM = Section.t_section(height=0.2, width=0.15, web=0.008, flange=0.012)
BOX = Section.box(height=0.2, width=0.1, wall=0.005, flange=0.010)
HALF = Section.semicircle(0.1)


def root(section: Section, load: dict[str, float]):
    """Stresses at the clamp of a cantilever of 1 m along x, y up."""
    frame = Frame("cantilever", gravity=0)
    frame.add_points(["A", "B"], [[0, 0, 0], [1, 0, 0]])
    frame.add_beam("b", "A", "B", section=section, material="steel", up=(0, 1, 0))
    frame.add_support("A", "fixed")
    return solve_static(assemble_structure(frame), {f"B.{way}": value for way, value in load.items()}).beam("b", [0.0])


def width_of(section: Section):
    """Width of a section at y from its centroid."""
    d, (low, high) = section.dimensions, section.fibres_y
    r = (section.height or 0.0) / 2
    return {
        "rectangle": lambda y: d["width"],
        "circle": lambda y: 2 * np.sqrt(max(r**2 - y**2, 0.0)),
        "tube": lambda y: 2 * (np.sqrt(max(r**2 - y**2, 0.0)) - np.sqrt(max((d.get("inner", 0) / 2) ** 2 - y**2, 0.0))),
        "ellipse": lambda y: d["width"] * np.sqrt(max(1 - (y / r) ** 2, 0.0)),
        "semicircle": lambda y: 2 * np.sqrt(max((2 * r) ** 2 - (y - low) ** 2, 0.0)),
        "i_section": lambda y: d["width"] if abs(y) > r - d["flange"] else d["web"],
        "t_section": lambda y: d["width"] if y > high - d["flange"] else d["web"],
        "box": lambda y: d["width"] if abs(y) > r - d["flange"] else 2 * d["wall"],
    }[section.shape]


@pytest.mark.parametrize(
    "section",
    [Section.rectangle(0.1, 0.03), Section.circle(0.06), Section.tube(0.06, 0.05), Section.tube(0.06, 0.02),
     Section.ellipse(0.08, 0.03), HALF, I_BEAM, T_BEAM, BOX],
    ids=lambda s: s.shape,
)  # fmt: skip
def test_the_largest_shear_stress_is_that_of_its_own_shear_flow(section: Section) -> None:
    width = width_of(section)
    low, high = section.fibres_y
    jumps = [low + section.dimensions.get("flange", 0.0), high - section.dimensions.get("flange", 0.0)]
    inner = section.dimensions.get("inner", 0.0) / 2

    def stress(y: float) -> float:
        marks = [p for p in (*jumps, inner) if y < p < high]
        moment = scipy.integrate.quad(lambda s: s * width(s), y, high, points=marks or None, limit=200)[0]
        return 1e4 * moment / (section.I_z * width(y))

    edge = 1e-6 * (high - low)
    places = np.linspace(low + edge, high - edge, 201)
    if section.shape == "tube":  # thick: V Q/(I b) is for cuts of nearly vertical walls, at the neutral axis
        places = np.array([0.0])
    expected = max(stress(float(y)) for y in [*places, 0.0])
    found = root(section, {"y": 1e4})
    assert found.shear[0] == pytest.approx(expected, rel=2e-3)
    assert found.shear_rule == f"V Q/(I t) of the {section.shape.replace('_', ' ')}"


@pytest.mark.parametrize(
    ("section", "along", "factor"),
    [
        (Section.rectangle(0.1, 0.03), "y", 1.5),
        (Section.rectangle(0.1, 0.03), "z", 1.5),
        (Section.circle(0.06), "z", 4 / 3),
        (Section.thin_tube(0.06, 0.001), "y", 2.0),
        (Section.thin_square_tube(0.06, 0.001), "y", 2.25),
        (Section.thin_square_tube(0.06, 0.001), "z", 2.25),
        (HALF, "z", 4 / 3),
        (Section.spar(0.2, 0.004, 0.0), "y", 1.5),
        (Section.rectangle(0.1, 0.03).rotate(), "y", 1.5),
        (Section.circle(0.06).rotate(), "y", 4 / 3),
        (Section(1e-3, 1e-7, 1e-7, 1e-7), "y", 1.0),
        (Section(1e-3, 1e-7, 1e-7, 1e-7, shear_y=1.2), "y", 1.2),
        (Section(1e-3, 1e-7, 1e-7, 1e-7, shear_y=1.2, shear_peak_y=1.5), "y", 1.5),
    ],
)  # fmt: skip
def test_peak_over_mean(section: Section, along: str, factor: float) -> None:
    assert root(section, {along: 1e4}).shear[0] == pytest.approx(factor * 1e4 / section.area, rel=1e-9)


def test_a_force_along_z_on_an_i_section_goes_through_its_flanges() -> None:
    found = root(I_BEAM, {"z": 1e4})
    assert found.shear[0] == pytest.approx(1.5 * 1e4 / (2 * 0.15 * 0.0107), rel=1e-9)
    for section in (I_BEAM, T_BEAM, HALF, BOX, Section.spar(0.2, 0.004, 1e-4)):
        across, back = root(section.rotate(), {"y": 1e4}), root(section.rotate().rotate(), {"z": 1e4})
        assert across.shear[0] == pytest.approx(root(section, {"z": 1e4}).shear[0], rel=1e-9)
        assert back.shear[0] == pytest.approx(across.shear[0], rel=1e-12)


def test_a_thin_flange_on_a_thick_web_has_its_largest_shear_beside_the_web() -> None:
    """Q of half a flange about the neutral axis: its area times the height of its middle line."""
    h, b, t, f = 0.1, 0.3, 0.03, 0.003
    for shape in (Section.i_section, Section.t_section):
        section = shape(height=h, width=b, web=t, flange=f)
        Q = f * (b - t) / 2 * (section.fibres_y[1] - f / 2)
        assert root(section, {"y": 1e4}).shear[0] == pytest.approx(1e4 * Q / (section.I_z * f), rel=1e-9)


def test_an_i_section_near_its_support_is_worst_where_web_and_flange_meet() -> None:
    """Short cantilever: bending at the edge, shear at the neutral axis, both at the foot of the web."""
    h, b, t, f = (I_BEAM.dimensions[k] for k in ("height", "width", "web", "flange"))
    V, M = 3e5, 1.5e5
    found = root(I_BEAM, {"y": V, "rz": M - V})
    y = h / 2 - f
    at_edge = M * h / 2 / I_BEAM.I_z
    junction = np.hypot(M * y / I_BEAM.I_z, np.sqrt(3) * V * b * f * (h - f) / 2 / (I_BEAM.I_z * t))
    neutral = np.sqrt(3) * V * (b * f * (h - f) / 2 + t * y**2 / 2) / (I_BEAM.I_z * t)
    assert found.highest[0] == pytest.approx(at_edge, rel=1e-9)
    assert junction > max(at_edge, neutral)
    assert found.von_mises[0] == pytest.approx(junction, rel=1e-9)


def test_a_slender_rectangle_is_worst_at_its_edge_without_shear() -> None:
    found = root(Section.rectangle(0.1, 0.03), {"y": 1e3})
    assert found.von_mises[0] == pytest.approx(found.highest[0], rel=1e-12)
    assert root(Section.rectangle(0.1, 0.03), {"y": 1e4, "rz": -1e4}).von_mises[0] == pytest.approx(
        np.sqrt(3) * 1.5 * 1e4 / 3e-3, rel=1e-9
    )


def test_shear_and_torsion_of_a_shaft_add_up_on_one_side() -> None:
    d = 0.05
    found = root(Section.circle(d), {"y": 2e4, "rz": -2e4, "rx": 300.0})
    tau = 4 / 3 * 2e4 / (np.pi * d**2 / 4) + 16 * 300.0 / (np.pi * d**3)
    assert found.von_mises[0] == pytest.approx(np.sqrt(3) * tau, rel=1e-9)


def test_oblique_bending_is_largest_on_the_section_itself() -> None:
    """An ellipse and a T have no corners where their bounding boxes do."""
    oval = Section.ellipse(0.08, 0.04)
    found = root(oval, {"y": 3e3, "z": 2e3})
    assert found.highest[0] == pytest.approx(np.hypot(3e3 * 0.04 / oval.I_z, 2e3 * 0.02 / oval.I_y), rel=1e-9)
    low, high = T_BEAM.fibres_y
    found = root(T_BEAM, {"y": -3e3, "z": 2e3})  # tension on top: at the tip of the flange; below: at the foot
    assert found.highest[0] == pytest.approx(3e3 * high / T_BEAM.I_z + 2e3 * 0.075 / T_BEAM.I_y, rel=1e-9)
    corners = [3e3 * low / T_BEAM.I_z - 2e3 * 0.004 / T_BEAM.I_y, 3e3 * high / T_BEAM.I_z - 2e3 * 0.075 / T_BEAM.I_y]
    assert found.lowest[0] == pytest.approx(min(corners), rel=1e-9)


def test_oblique_shear_of_a_round_section_is_that_of_its_resultant() -> None:
    for section in (Section.circle(0.05), Section.tube(0.05, 0.04)):
        one, both = (root(section, load).shear[0] for load in ({"y": 5.0}, {"y": 2.8, "z": -np.sqrt(5.0**2 - 2.8**2)}))
        assert both == pytest.approx(one, rel=1e-12)


def test_a_spar_with_flanges_has_its_largest_shear_in_the_middle_of_the_web() -> None:
    """V Q/(I t) with Q = A_f h/2 + t h²/8."""
    spar = Section.spar(0.2, 0.004, 3e-4)
    expected = 1e4 * (3e-4 * 0.1 + 0.004 * 0.2**2 / 8) / (spar.I_z * 0.004)
    assert root(spar, {"y": 1e4}).shear[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("ratio", "factor"), [(1.0, 0.208), (1.5, 0.231), (2.0, 0.246), (3.0, 0.267), (10.0, 0.312)])
def test_a_twisted_rectangle_has_the_stress_of_the_table(ratio: float, factor: float) -> None:
    """τ = T/(k a b²), b the shorter side (Timoshenko & Goodier, § 109); three digits."""
    b = 0.02
    for section in (Section.rectangle(ratio * b, b), Section.rectangle(b, ratio * b)):
        assert 100.0 / (ratio * b**3) / root(section, {"rx": 100.0}).torsion[0] == pytest.approx(factor, abs=6e-4)


def test_a_bent_and_twisted_ellipse() -> None:
    """On the rim σ = M a cos t/I, τ = 2T/(π a b) √(cos² t/a² + sin² t/b²) (Timoshenko & Goodier, § 107)."""
    t = np.linspace(0.0, np.pi, 200001)
    for height, width in ((0.08, 0.03), (0.03, 0.08)):
        a, b = height / 2, width / 2
        oval = Section.ellipse(height, width)
        tau = 2 * 300.0 / (np.pi * a * b) * np.hypot(np.cos(t) / a, np.sin(t) / b)
        sigma = 200.0 * a * np.cos(t) / oval.I_z
        found = root(oval, {"rx": 300.0, "rz": 200.0})
        assert found.torsion[0] == pytest.approx(2 * 300.0 / (np.pi * a * b * min(a, b)), rel=1e-12)
        # 72 or more places on the rim: less than (π/72)²/2 of the largest is missed
        assert found.von_mises[0] == pytest.approx(np.sqrt(sigma**2 + 3 * tau**2).max(), rel=1e-3)


def test_shear_and_torsion_of_a_box_add_up_in_the_middle_of_its_thin_flange() -> None:
    """At the tip, without bending: √3 (V q/f + T/(2 A_m f))."""
    h, b, t, f = 0.2, 0.1, 0.010, 0.005
    box = Section.box(height=h, width=b, wall=t, flange=f)
    frame = Frame("cantilever", gravity=0)
    frame.add_points(["A", "B"], [[0, 0, 0], [1, 0, 0]])
    frame.add_beam("b", "A", "B", section=box, material="steel", up=(0, 1, 0))
    frame.add_support("A", "fixed")
    found = solve_static(assemble_structure(frame), {"B.z": 1e4, "B.rx": 300.0}).beam("b", [1.0])
    flow = 1e4 * (h / 2 * t * (b - t) / 2 + f * (b / 2 - t) ** 2 / 2) / box.I_y
    expected = np.sqrt(3) * (flow / f + 300.0 / (2 * (h - f) * (b - t) * f))
    assert found.von_mises[0] == pytest.approx(expected, rel=1e-9)


def test_the_shear_flow_goes_on_around_the_corners_of_a_tube() -> None:
    """What goes up a web goes on inwards along the flange, for a force along y and for one along z."""
    tube = Section.thin_square_tube(0.06, 0.001)
    at = points(tube)
    for y, z in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        web = np.flatnonzero(np.isclose(at.y, y * 0.03) & np.isclose(at.z, z * 0.0305))
        flange = np.flatnonzero(np.isclose(at.y, y * 0.0305) & np.isclose(at.z, z * 0.03))
        for flow in (at.along_y[0], at.along_z[0]):
            assert flow[web[0]] * y == pytest.approx(-flow[flange[0]] * z, rel=1e-12)


def test_a_box_with_unequal_walls_twists_as_bredt_says() -> None:
    """A_m = 190 × 95 mm², ∮ds/t = 2 (190/5 + 95/10) = 95: J = 4 A_m²/95 = 1.3718e-5 m⁴; τ = T/(2 A_m t) in the thin."""
    assert pytest.approx(4 * (0.190 * 0.095) ** 2 / 95, rel=1e-12) == BOX.J
    assert pytest.approx(1.371800e-5, rel=1e-6) == BOX.J
    for box in (BOX, BOX.rotate()):
        assert root(box, {"rx": 1e3}).torsion[0] == pytest.approx(1e3 / (2 * 0.190 * 0.095 * 0.005), rel=1e-12)


def test_an_open_section_twists_most_in_its_thickest_wall() -> None:
    for section in (I_BEAM, I_BEAM.rotate()):
        assert root(section, {"rx": 100.0}).torsion[0] == pytest.approx(100.0 * 0.0107 / I_BEAM.J, rel=1e-12)


def test_the_result_names_the_rule_of_a_section_by_properties() -> None:
    plain = Section(1e-3, 1e-7, 1e-7, 1e-7, shear_peak_y=1.5, height=0.1, width=0.05)
    assert root(plain, {"y": 1.0}).shear_rule == "along y 1.5 V/A (given), along z χ V/A (estimate)"
    assert "shear stress V Q/(I t) of the i section" in root(I_BEAM, {"y": 1.0}).table()
    with raises(DataError, "bad-section"):
        Section(1e-3, 1e-7, 1e-7, 1e-7, shear_peak_y=-1.0)


def test_a_turned_section_keeps_its_shape() -> None:
    turned = I_BEAM.rotate()
    assert turned.shape == "i_section turned"
    assert turned.rotate() == I_BEAM
    assert turned.with_poisson(0.0).shear_z == pytest.approx(I_BEAM.with_poisson(0.0).shear_y, rel=1e-14)
    half = turned.between(I_BEAM.scale(2.0).rotate(), 0.5)
    assert half.I_y == pytest.approx(I_BEAM.scale(1.5).I_z, rel=1e-12)
    assert BOX.rotate() == Section.box(0.1, 0.2, 0.010, 0.005)
