"""Sources of flexible bodies with mistakes that the numbers show: other units, exchanged matrices, thin interfaces."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.structures import (
    BeamGauge,
    Frame,
    Material,
    Section,
    Solid,
    assemble_structure,
    box_mesh,
    flexible_body,
)
from tests.helpers.findings import raises, warns

STEEL = {"E": 2.1e11, "density": 7850.0}
SPEED = np.sqrt(2.1e11 / 7850.0)


def bar(stiff: float = 1.0) -> Frame:
    f = Frame("bar")
    f.add_points(["a", "b"], [[0, 0, 0], [0.3, 0.2, 0.1]])
    stuff = Material("stuff", E=stiff * STEEL["E"], density=STEEL["density"])
    f.add_beam("bar", "a", "b", section=Section.rectangle(0.01, 0.02), material=stuff, elements=6)
    return f


def block(scale: float = 1.0, stiff: float = 1.0) -> Solid:
    stuff = Material("stuff", E=stiff * STEEL["E"], density=STEEL["density"], poisson=0.3)
    solid = Solid("block", box_mesh(tuple(scale * x for x in (0.2, 0.02, 0.01)), (6, 1, 1)), stuff)
    for name, x in (("a", 0.0), ("b", 0.2 * scale)):
        solid.add_interface(name, np.flatnonzero(np.abs(solid.mesh.points[:, 0] - x) < 1e-9 * scale))
    return solid


def problems(data: Any) -> dict[str, Any]:
    return {one.code: one for one in data.check().findings}


@pytest.mark.parametrize("source", [bar, block])
def test_the_energy_of_an_expansion_shows_the_speed_of_waves(source: Any):
    data = flexible_body(source(), modes=3)
    assert data.finite_elements is not None
    assert data.finite_elements.wave_speed == pytest.approx(SPEED, rel=0.01)
    assert data.check().sound


def test_a_mesh_in_millimetres_with_a_material_in_metres_is_asked_about():
    data = flexible_body(block(scale=1000.0), modes=3)
    assert not data.check().sound
    found = problems(data)["suspect-units"]
    assert "size" in found.problem and found.evidence["difference"] > 1


@pytest.mark.parametrize("source", [bar, block])
@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_a_stiffness_a_thousand_times_off_is_asked_about(source: Any, factor: float):
    found = problems(flexible_body(source(stiff=factor), modes=3))
    assert "wave speed" in found["suspect-units"].problem


def test_matrices_carry_the_figure_too():
    structure = assemble_structure(bar())
    positions = dict(zip(structure.points, structure.positions, strict=True))
    for factor, sound in ((1.0, True), (1e-3, False)):
        data = flexible_body((structure.M, factor * structure.K), positions=positions, nodes=["a", "b"], modes=3)
        assert data.check().sound is sound


# -- shapes of a user ------------------------------------------------------------------------------------------------
def clamped_shapes(structure: Any, count: int = 4) -> np.ndarray:
    data = flexible_body(structure, basis="clamped", fixed="a", modes=count, keep_shapes=True)
    assert data.finite_elements is not None and data.finite_elements.shapes is not None
    return np.array(data.finite_elements.shapes)


def test_shapes_that_are_no_modes_are_compared_with_the_model():
    structure = assemble_structure(bar())
    shapes = clamped_shapes(structure)
    noise = np.random.default_rng(2).normal(size=shapes.shape) * np.abs(shapes).max() * 2e-4
    held = np.repeat([point == "a" for point in structure.points], 6)
    for at_root in (False, True):
        added = noise if at_root else np.where(held[:, None], 0.0, noise)
        data = flexible_body(structure, modes=shapes + added, nodes=["a", "b"])
        row = next(row for row in data.check().rows if row.what == "frequencies [Hz]")
        assert not row.sound and row.difference > 0.05
    for clean in (shapes, shapes[:, :1]):
        assert flexible_body(structure, modes=clean, nodes=["a", "b"]).check().sound


def test_an_assumed_shape_near_a_mode_is_sound():
    """The static shape of a moment has the frequency of a cantilever 27 % too high, that of a uniform load by 0.4 %."""
    structure = assemble_structure(bar())
    x = np.linalg.norm(structure.positions, axis=1) / np.linalg.norm(structure.positions[1])
    up = np.cross(structure.positions[1], [0.0, 0.0, 1.0])
    up /= np.linalg.norm(up)
    turn = np.cross(structure.positions[1], up) / np.linalg.norm(structure.positions[1]) ** 2
    for value, slope, sound in (
        (x**2, 2 * x, False),
        (x**2 * (6 - 4 * x + x**2) / 3, (12 * x - 12 * x**2 + 4 * x**3) / 3, True),
    ):
        shape = np.hstack([value[:, None] * up, slope[:, None] * turn]).reshape(-1, 1)
        data = flexible_body(structure, modes=shape, nodes=["a", "b"])
        assert data.check().sound is sound


# -- interfaces, gauges, exchanged matrices ----------------------------------------------------------------------------
@pytest.mark.parametrize(("count", "shown"), [(1, "1 point"), (2, "2 points on a line"), (3, "3 points on a line")])
def test_an_interface_that_turns_freely_is_named(count: int, shown: str):
    solid = Solid("block", box_mesh((0.2, 0.02, 0.02), (4, 2, 2)), "steel")
    edge = np.flatnonzero((solid.mesh.points[:, 0] == 0.0) & (solid.mesh.points[:, 1] == 0.0))
    solid.add_interface("a", edge[:count])
    solid.add_interface("b", "x=0.2")
    with raises(da.errors.ModelError, "not-held", "'a'", shown):
        flexible_body(solid, modes=3)


def test_a_gauge_that_is_not_on_its_section_is_asked_about():
    for y, warned in ((0.005, False), (0.5, True), (-0.006, True)):
        gauges = {"top": BeamGauge(0.1, y=y, beam="bar")}
        if warned:
            with warns(da.errors.ModelWarning, "off-section", "'top'", f"{y:g}"):
                flexible_body(bar(), modes=2, gauges=gauges)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                flexible_body(bar(), modes=2, gauges=gauges)


def test_exchanged_matrices_are_named():
    structure = assemble_structure(bar())
    positions = dict(zip(structure.points, structure.positions, strict=True))
    with raises(da.errors.ModelError, "no-mass", "M and K", "exchanged"):
        flexible_body((structure.K, structure.M), positions=positions, modes=3)


# -- edges of the limits --


@pytest.mark.parametrize(
    ("section", "y", "warned"),
    [
        (Section.rectangle(0.01, 0.02), 0.00549, False),  # a twentieth of the height beyond the surface
        (Section.rectangle(0.01, 0.02), 0.00551, True),
        (Section(area=4e-4, I_y=1e-8, I_z=1e-8, J=2e-8), 0.0274, False),  # five radii of 5 mm, and a tenth
        (Section(area=4e-4, I_y=1e-8, I_z=1e-8, J=2e-8), 0.0276, True),
    ],
)
def test_a_gauge_may_be_just_above_the_surface(section: Section, y: float, warned: bool):
    f = Frame("bar")
    f.add_points(["a", "b"], [[0, 0, 0], [0.3, 0, 0]])
    f.add_beam("bar", "a", "b", section=section, material="steel", elements=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        flexible_body(f, modes=2, gauges={"top": BeamGauge(0.1, y=y, beam="bar")})
    assert bool(caught) is warned
