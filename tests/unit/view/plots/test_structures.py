"""Pictures of structures: geometry, shapes by the shape functions, diagrams, stresses."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.structures import (
    Buckling,
    Frame,
    Section,
    Solid,
    StaticSolution,
    Structure,
    assemble_structure,
    box_mesh,
    find_buckling,
    guyan,
    prestress,
    solve_static,
)
from dalembert.view import plot
from dalembert.view.plots.structures import geometry
from tests.helpers.findings import raises


@cache
def portal() -> Structure:
    """Two storeys, one element per beam."""
    f = Frame("portal", planar=True)
    for k in range(3):
        f.add_point(f"L{k}", 0, 3 * k)
        f.add_point(f"R{k}", 5, 3 * k)
    properties: Any = {"section": Section.rectangle(0.2, 0.2), "material": "steel"}
    for k in (1, 2):
        f.add_beam(f"left{k}", f"L{k - 1}", f"L{k}", **properties)
        f.add_beam(f"right{k}", f"R{k - 1}", f"R{k}", **properties)
        f.add_beam(f"floor{k}", f"L{k}", f"R{k}", **properties)
    f.add_support("L0", "fixed")
    f.add_support("R0", "pinned")
    f.add_mass("tank", "R2", 500.0)
    f.add_force("wind", "L2", (1e4, 0))
    return assemble_structure(f)


@cache
def simple_beam() -> Structure:
    """A beam of one element, 4 m between two supports, 2 kN/m."""
    f = Frame("beam", planar=True, gravity=0)
    f.add_points(["A", "B"], [[0, 0], [4, 0]])
    f.add_beam("beam", "A", "B", section=Section.rectangle(0.2, 0.1), material="steel", theory="euler-bernoulli")
    f.add_support("A", "pinned")
    f.add_support("B", "y")
    f.add_line_load("roof", "beam", (0, -2000.0))
    return assemble_structure(f)


@cache
def tower() -> Structure:
    f = Frame("tower")
    for i, (z, b) in enumerate([(0, 1.0), (4, 0.8), (8, 0.6)]):
        f.add_points([f"{c}{i}" for c in "abcd"], [[-b, -b, z], [b, -b, z], [b, b, z], [-b, b, z]])
    tube = Section.tube(0.1, 0.09)
    for i in range(2):
        for c, d in ("ab", "bc", "cd", "da"):
            f.add_beam(f"leg{c}{i}", f"{c}{i}", f"{c}{i + 1}", section=tube, material="steel")
            f.add_beam(f"ring{c}{i}", f"{c}{i + 1}", f"{d}{i + 1}", section=tube, material="steel")
            f.add_bar(f"brace{c}{i}", f"{c}{i}", f"{d}{i + 1}", section=tube, material="steel")
    f.add_support([f"{c}0" for c in "abcd"], "pinned")
    f.add_force("wind", "a2", (1e4, 0, 0))
    return assemble_structure(f)


@cache
def block() -> StaticSolution:
    solid = Solid("block", box_mesh((1.0, 0.1, 0.2), (6, 1, 2), "hex20"), "steel")
    solid.add_support("x=0")
    solid.add_traction("tip", "x=1", (0, 0, -1e5))
    return solve_static(assemble_structure(solid), "tip")


def collections(ax: Any, label: str) -> list[Any]:
    return [one for one in ax.collections if one.get_label() == label]


def curves(ax: Any, label: str = "beams") -> list[Any]:
    return [np.asarray(path.vertices) for one in collections(ax, label) for path in one.get_paths()]


def marked(ax: Any, label: str) -> Any:
    return [line for line in ax.lines if line.get_label() == label]


def drawn(figure: Any) -> None:
    figure.canvas.draw()


# ---- at rest


def test_a_planar_frame_is_drawn_with_its_supports_masses_and_names() -> None:
    figure = plot(portal())
    (ax,) = figure.axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x [m]", "y [m]")
    assert ax.get_aspect() == 1.0
    assert len(curves(ax)) == 6
    assert marked(ax, "fixed")[0].get_xydata().tolist() == [[0.0, 0.0]]
    assert marked(ax, "pinned")[0].get_xydata().tolist() == [[5.0, 0.0]]
    assert marked(ax, "mass")[0].get_xydata().tolist() == [[5.0, 6.0]]
    assert {text.get_text() for text in ax.texts} == {"L0", "R0", "L1", "R1", "L2", "R2"}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["fixed", "pinned", "mass"]
    assert figure.get_suptitle() == "portal"
    drawn(figure)
    assert not plot(portal(), names=False).axes[0].texts


def test_springs_rigid_links_bars_and_arms_are_drawn() -> None:
    f = Frame("bridge", planar=True)
    f.add_points(["A", "B", "C", "D", "E"], [[0, 0], [4, 0], [2, 2], [2, 0], [2, 0.5]])
    beam: Any = {"section": Section.rectangle(0.2, 0.1), "material": "steel"}
    f.add_beam("b1", "A", "D", **beam)
    f.add_beam("b2", "D", "B", **beam)
    f.add_beam("mast", "D", "C", offsets=((0, 0.1), None), **beam)
    f.add_bar("stay", "A", "C", section=Section.circle(0.02), material="steel")
    f.add_rigid("deck", "D", "E")
    f.add_spring("k", "C", "B", 1e5)
    f.add_spring("ground", "B", stiffness={"y": 1e6})
    f.add_support("A", "pinned")
    figure = plot(f)  # a description will do
    ax = figure.axes[0]
    assert len(curves(ax, "bars")) == 1
    assert [line.tolist() for line in curves(ax, "arms")] == [[[2.0, 0.0], [2.0, 0.1]]]
    assert sorted(curves(ax, "springs")[0].tolist()) == [[2.0, 2.0], [4.0, 0.0]]
    assert sorted(curves(ax, "rigid links")[0].tolist()) == [[2.0, 0.0], [2.0, 0.5]]
    assert marked(ax, "spring to ground")[0].get_xydata().tolist() == [[4.0, 0.0]]
    assert not marked(ax, "mass")
    drawn(figure)


def test_points_between_the_elements_of_a_beam_are_not_named() -> None:
    f = Frame("line", planar=True)
    f.add_points(["A", "B"], [[0, 0], [1, 0]])
    f.add_beam("b", "A", "B", section=Section.circle(0.02), material="steel", elements=6)
    f.add_support("A", "fixed")
    assert [text.get_text() for text in plot(f).axes[0].texts] == ["A", "B"]


def test_a_spatial_frame_has_equal_scales_and_units() -> None:
    figure = plot(tower())
    ax: Any = figure.axes[0]
    assert [getattr(ax, f"get_{axis}label")() for axis in "xyz"] == ["x [m]", "y [m]", "z [m]"]
    ranges = np.array([np.ptp(limits) for limits in (ax.get_xlim(), ax.get_ylim(), ax.get_zlim())])
    box = ax._box_aspect
    assert box / box[0] == pytest.approx(ranges / ranges[0])
    drawn(figure)


def test_a_solid_is_drawn_by_its_outer_faces_with_their_middles() -> None:
    solution = block()
    (group,) = geometry.solids(solution.structure)
    faces = geometry.outer_faces(group)
    assert faces.points.shape == (2 * (6 * 1 + 6 * 2 + 1 * 2), 8)
    place = group.mesh.points[faces.points]
    assert place[:, 1::2] == pytest.approx(0.5 * (place[:, ::2] + np.roll(place[:, ::2], -1, axis=1)))
    figure = plot(solution.structure)
    assert marked(figure.axes[0], "held")
    drawn(figure)


def test_prestress_is_not_drawn_as_springs() -> None:
    figure = plot(prestress(portal(), "wind"))
    assert not curves(figure.axes[0], "springs")
    assert not marked(figure.axes[0], "spring to ground")


def test_a_structure_of_matrices_alone_is_drawn_by_its_points() -> None:
    K = [[8, -8, 0], [-8, 16, -8], [0, -8, 8]]
    chain = Structure("chain", "ABC", [[0, 0, 0], [1, 0, 0], [2, 0, 0]], ["x"], np.eye(3), K, held=[1, 0, 0])
    figure = plot(chain)
    assert len(curves(figure.axes[0], "springs")) == 2
    drawn(figure)
    drawn(plot(chain, chain.modes(2)))


# ---- shapes


def test_a_beam_of_one_element_is_drawn_as_the_cubic_it_is() -> None:
    beam = simple_beam()
    modes = beam.modes()
    figure = plot(beam, modes, mode=1, scale=1.0)
    (curve,) = curves(figure.axes[0])
    turn = dict(zip(modes.coordinates, modes.shapes[:, 0]))
    x = curve[:, 0]
    xi = x / 4.0
    # Hermite's cubics of the two end rotations; both ends are held across
    y = 4.0 * (turn["A.rz"] * xi * (1 - xi) ** 2 - turn["B.rz"] * xi**2 * (1 - xi))
    assert curve[:, 1] == pytest.approx(y, abs=1e-12)
    assert np.abs(y).max() > 0.0


def test_small_multiples_carry_frequencies_and_share_their_limits() -> None:
    modes = portal().modes(8)
    figure = plot(portal(), modes, mode=[1, 2, 3])
    hertz = modes.frequencies_hz
    assert [ax.get_title() for ax in figure.axes] == [f"mode {k}: {hertz[k - 1]:.4g} Hz" for k in (1, 2, 3)]
    assert len({ax.get_xlim() for ax in figure.axes}) == 1
    assert len(curves(figure.axes[0], "at rest")) == 6
    drawn(figure)
    assert len(plot(portal(), modes).axes) == 4
    assert len(plot(portal(), modes, mode=[1, 2, 3, 4, 5]).axes) == 5


def test_shapes_keep_to_their_part_of_the_size_whatever_the_normalisation() -> None:
    modes = portal().modes(3)
    one, other = (plot(portal(), m, mode=2).axes[0] for m in (modes, modes.normalise("largest")))
    for a, b in zip(curves(one), curves(other)):
        assert np.abs(a) == pytest.approx(np.abs(b), abs=1e-9)
    rest = np.array(curves(one, "at rest"))
    moved = [np.abs(curve[[0, -1]] - line).max() for curve, line in zip(curves(one), rest)]
    assert max(moved) <= 0.13 * np.hypot(5.0, 6.0) * 1.0001


def test_shapes_in_space_and_of_solids_are_drawn() -> None:
    drawn(plot(tower(), tower().modes(4)))
    figure = plot(block().structure, block().structure.modes(2))
    assert [ax.get_title()[:6] for ax in figure.axes] == ["mode 1", "mode 2"]
    drawn(figure)


def test_complex_modes_are_drawn_at_their_largest_moment() -> None:
    f = Frame("damped", planar=True)
    f.add_points(["A", "B"], [[0, 0], [1, 0]])
    f.add_beam("b", "A", "B", section=Section.circle(0.02), material="steel", elements=2)
    f.add_damper("c", "B", damping={"y": 50.0})
    f.add_support("A", "fixed")
    s = assemble_structure(f)
    modes = s.modes(3)
    assert np.iscomplexobj(modes.shapes)
    drawn(plot(s, modes))


def test_buckling_shapes_carry_their_load_factors() -> None:
    f = Frame("column", planar=True)
    f.add_points(["foot", "head"], [[0, 0], [0, 2]])
    f.add_beam("column", "foot", "head", section=Section.square(0.02), material="steel", elements=4)
    f.add_support("foot", "pinned")
    f.add_support("head", "x")
    f.add_force("weight", "head", (0, -1000))
    found: Buckling = find_buckling(assemble_structure(f), "weight", count=2)
    figure = plot(found)
    assert [ax.get_title() for ax in figure.axes] == [f"mode {k + 1}: load × {found.factors[k]:.4g}" for k in range(2)]
    assert figure.get_suptitle() == "column: buckling under 'weight'"
    drawn(figure)


# ---- statics


def test_a_loaded_beam_is_drawn_with_the_deflection_between_its_ends() -> None:
    solution = solve_static(simple_beam(), "roof")
    figure = plot(solution, scale=100.0)
    (curve,) = curves(figure.axes[0])
    EI = simple_beam().groups[0].materials[0].E * 0.1 * 0.2**3 / 12
    middle = curve[np.argmin(np.abs(curve[:, 0] - 2.0)), 1]
    assert middle == pytest.approx(-100.0 * 5 * 2000.0 * 4.0**4 / (384 * EI), rel=1e-9)
    assert figure.get_suptitle() == "beam: roof, drawn × 100, largest 476 µm"


def test_the_scale_of_a_deformed_shape_is_a_round_number() -> None:
    figure = plot(solve_static(portal(), "wind"))
    text = figure.get_suptitle().replace("\n", " ")
    factor = text.split("× ")[1].split(",")[0]
    assert factor.strip("0") in ("1", "2", "5")
    drawn(figure)
    free = solve_static(portal(), {"wind": 1e9})
    assert "× 1," in plot(free).get_suptitle().replace("\n", " ")  # never shrunk


def test_a_moment_is_drawn_on_the_side_of_the_tension() -> None:
    figure = plot(solve_static(simple_beam(), "roof"), view="moment", scale=1e-3)
    ax = figure.axes[0]
    (tips,) = curves(ax, "diagram")
    largest = 2000.0 * 4.0**2 / 8  # q l²/8: the lower side of a beam under its roof is stretched
    assert tips[:, 1].min() == pytest.approx(-1e-3 * largest)
    assert tips[np.argmin(tips[:, 1]), 0] == pytest.approx(2.0)
    assert [text.get_text() for text in ax.texts] == ["4"]
    text = figure.get_suptitle().replace("\n", " ")
    assert text == "beam: bending moment M_z [kN m] under roof, largest 4 kN m"
    drawn(figure)


def test_shear_jumps_at_a_point_load() -> None:
    f = Frame("beam", planar=True, gravity=0)
    f.add_points(["A", "B"], [[0, 0], [4, 0]])
    f.add_beam("beam", "A", "B", section=Section.rectangle(0.2, 0.1), material="steel")
    f.add_support("A", "pinned")
    f.add_support("B", "y")
    f.add_beam_force("crane", "beam", 1.0, (0, -1000.0))
    (tips,) = curves(plot(solve_static(assemble_structure(f), "crane"), view="V_y", scale=1e-3).axes[0], "diagram")
    here = np.abs(tips[:, 0] - 1.0) < 1e-6
    assert np.ptp(tips[here, 1]) == pytest.approx(1.0)
    assert sorted({abs(round(float(y), 9)) for y in tips[:, 1]}) == pytest.approx([0.25, 0.75])


def test_the_moment_of_a_free_beam_vanishes_at_its_ends() -> None:
    f = Frame("free", planar=True, gravity=0)
    f.add_points(["A", "B", "C"], [[0, 0], [2, 0], [4, 0]])
    f.add_beams("b", ["A", "B"], ["B", "C"], section=Section.rectangle(0.2, 0.1), material="steel", rotary=False)
    f.add_force("push", "B", (0, 800.0))
    solution = solve_static(assemble_structure(f), "push", inertia_relief=True)
    left, right = curves(plot(solution, view="moment", scale=1e-3).axes[0], "diagram")
    assert left[0, 1] == pytest.approx(0.0, abs=1e-9)
    assert right[-1, 1] == pytest.approx(0.0, abs=1e-9)
    # the inertia of either half, 400 N over 2 m, acts at 1 m from the middle
    assert abs(left[-1, 1]) == pytest.approx(0.4, rel=1e-9)


def test_forces_that_are_zero_are_said_to_be() -> None:
    figure = plot(solve_static(simple_beam(), "roof"), view="axial")
    assert "zero everywhere" in figure.get_suptitle().replace("\n", " ")
    drawn(figure)


@pytest.mark.parametrize("view", ["shape", "axial", "shear", "moment", "torque", "von_mises"])
def test_every_view_of_a_tower_is_drawn(view: str) -> None:
    drawn(plot(solve_static(tower(), "wind"), view=view))


def test_stresses_of_beams_are_colours_with_a_unit() -> None:
    figure = plot(solve_static(portal(), "wind"), view="von_mises")
    assert figure.axes[1].get_ylabel() == "von Mises stress [MPa]"
    (pieces,) = collections(figure.axes[0], "stress")
    found = solve_static(portal(), "wind").largest_stresses(25)
    # drawn in the middle of pieces of a twelfth: below the largest, and not by much
    assert 0.9 * max(found.values()) / 1e6 < pieces.get_array().max() <= max(found.values()) / 1e6
    drawn(figure)


def test_stresses_of_solids_are_colours_with_a_unit() -> None:
    figure = plot(block(), view="xx")
    assert figure.axes[1].get_ylabel() == "stress xx [MPa]"
    low, high = figure.axes[1].get_ylim()
    assert low == pytest.approx(-high)  # tension and compression in one scale
    drawn(figure)
    shape = plot(block())
    assert shape.axes[1].get_ylabel() == "displacement [µm]"
    drawn(shape)
    drawn(plot(block(), view="von_mises"))


# ---- files and mistakes


def test_pictures_of_structures_are_written(tmp_path: Path) -> None:
    plot(tower(), tower().modes(2), path=tmp_path / "tower.png", title="a tower")
    assert (tmp_path / "tower.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda: plot(portal(), mode=1), "missing-argument"),
        (lambda: plot(portal(), tower().modes(2)), "wrong-owner"),
        (lambda: plot(portal(), [1.0]), "wrong-type"),
        (lambda: plot(portal(), portal().modes(2), mode=3), "unknown-name"),
        (lambda: plot(portal(), portal().modes(2), scale=0.0), "out-of-range"),
        (lambda: plot(portal(), portal().modes(2), names=True), "ineffective-argument"),
        (lambda: plot(portal(), portal().modes(2), 1), "unknown-argument"),
        (lambda: plot(guyan(portal().system(), ["L2.x"]).system.modes(), portal()), "unknown-argument"),
        (lambda: plot(solve_static(portal(), "wind"), view="momnt"), "unknown-name"),
        (lambda: plot(solve_static(portal(), "wind"), view="xx"), "unknown-name"),
        (lambda: plot(block(), view="moment"), "unknown-name"),
        (lambda: plot(block(), view="xx", scale=2.0), "ineffective-argument"),
        (lambda: plot(solve_static(portal(), "wind"), scale=np.nan), "out-of-range"),
        (
            lambda: plot(solve_static(portal(), "wind"), mode=1),
            "unknown-name",
        ),
    ],
)
def test_a_wrong_picture_of_a_structure_is_refused_with_advice(how: Any, message: str) -> None:
    with raises(DataError, message):
        how()
