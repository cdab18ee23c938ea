"""Strain gauges on beams and solids against statics."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.structures import (
    Beam,
    BeamGauge,
    Frame,
    Section,
    Solid,
    SurfaceGauge,
    assemble_structure,
    box_mesh,
    flexible_body,
)


def frame(end: Section | None = None) -> Frame:
    made = Frame("link")
    made.add_points(["root", "tip"], [[0, 0, 0], [0.6, 0.3, 0.0]])
    made.add_beam("link", "root", "tip", section=Section.rectangle(0.02, 0.01), material="steel", elements=6,
                  up=(0, 0, 1), end_section=end)  # fmt: skip
    return made


@pytest.mark.parametrize("tapered", [False, True])
def test_gauges_read_the_strain_of_statics(tapered: bool) -> None:
    """Static shapes of all loads at the tip are exact, so that the strain under a tip force is σ/E of statics."""
    end = Section.rectangle(0.01, 0.01) if tapered else None
    place, y, z = 0.23, 0.004, -0.003
    gauges = {
        "strain": BeamGauge(place, y=y, z=z, beam="link"),
        "curvature": BeamGauge(place, beam="link", quantity="curvature", about="y"),
    }
    data = flexible_body(frame(end), fixed="root", modes=2, static="tip", gauges=gauges)
    force = np.array([300.0, 20.0, -35.0])
    eta = np.linalg.solve(data.stiffness, data.node("tip").translation.T @ force)
    loaded = frame(end)
    loaded.add_support("root", "fixed")
    loaded.add_force("push", "tip", force)
    found = da.structures.solve_static(assemble_structure(loaded), "push").beam("link")
    N, M_y, M_z = (float(np.interp(place, found.x, values)) for values in (found.N, found.M_y, found.M_z))
    length = float(np.hypot(0.6, 0.3))
    first = Section.rectangle(0.02, 0.01)
    section = first if end is None else first.between(end, place / length)
    E = da.structures.material("steel").E
    expected = N / (E * section.area) - y * M_z / (E * section.I_z) + z * M_y / (E * section.I_y)
    assert data.gauges[0].row @ eta == pytest.approx(expected, rel=1e-6)
    assert data.gauges[1].row @ eta == pytest.approx(M_y / (E * section.I_y), rel=1e-6)


def test_gauges_on_a_solid_read_its_bending_strain() -> None:
    """ε = 6 F (L − x)/(E b h²) at the surface; 1 % away from the clamp."""
    solid = Solid("bar", box_mesh((0.4, 0.03, 0.01), (20, 2, 2), kind="hex20"), "steel")
    solid.add_interface("root", "x=0")
    solid.add_interface("tip", "x=0.4")
    gauge = {
        "along": SurfaceGauge((0.2, 0.015, 0.01), (1, 0, 0)),
        "across": SurfaceGauge((0.2, 0.015, 0.01), (0, 2, 0)),
    }
    data = flexible_body(solid, fixed="root", modes=1, static="tip", gauges=gauge)
    eta = np.linalg.solve(data.stiffness, data.node("tip").translation[2] * -100.0)
    E = da.structures.material("steel").E
    expected = 6 * 100.0 * 0.2 / (E * 0.03 * 0.01**2)
    along, across = (one.row @ eta for one in data.gauges)
    assert along == pytest.approx(expected, rel=0.01)
    assert across == pytest.approx(-da.structures.material("steel").poisson * expected, rel=0.05)


def test_gauges_on_a_continuous_beam_read_its_curvature() -> None:
    gauges = {"k": BeamGauge(0.3, quantity="curvature"), "e": BeamGauge(0.3, y=0.01), "off": BeamGauge(
        0.3, quantity="curvature", about="y")}  # fmt: skip
    beam = Beam(1.0, EI=1.0, rhoA=1.0)
    data = flexible_body(beam, modes=3, gauges=gauges)
    curvature = np.abs(beam.modes(3, normalised="mass").curvature(0.3)).ravel()
    assert np.abs(data.gauges[0].row) == pytest.approx(curvature)
    assert data.gauges[1].row == pytest.approx(-0.01 * data.gauges[0].row)
    assert not data.gauges[2].row.any()
    across = flexible_body(Beam(1.0, EI=1.0, rhoA=1.0, direction="z"), modes=1, gauges={
        "k": BeamGauge(0.3, quantity="curvature", about="y"), "e": BeamGauge(0.3, z=0.01)})  # fmt: skip
    # tip up: the upper side is compressed near the clamp, and sections turn about −y
    assert across.gauges[0].row[0] < 0 and across.gauges[1].row[0] < 0


@pytest.mark.parametrize(
    ("gauge", "code"),
    [
        (BeamGauge(0.1, beam="arm"), "unknown-name"),
        (BeamGauge(9.0, beam="link"), "out-of-range"),
        (BeamGauge(0.1, beam="link", quantity="stress"), "unknown-choice"),
        (SurfaceGauge((0, 0, 0), (1, 0, 0)), "not-supported"),
        ("link", "wrong-type"),
    ],
)
def test_bad_gauges_are_named(gauge: object, code: str) -> None:
    with pytest.raises(da.errors.ModelError) as caught:
        flexible_body(frame(), fixed="root", modes=1, gauges={"g": gauge})
    assert caught.value.code == code
    assert "link" in str(caught.value)
