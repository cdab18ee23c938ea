"""Mode shapes, buckling and responses of structures in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.record import Record


def portal() -> da.structures.Frame:
    frame = da.structures.Frame("portal", planar=True)
    for name, place in {"A": (0, 0), "B": (0, 3), "C": (4, 3), "D": (4, 0)}.items():
        frame.add_point(name, place)
    frame.add_support("A", "fixed")
    frame.add_support("D", "pinned")
    section = da.structures.Section.rectangle(0.2, 0.1)
    for name, (a, b) in {"left": "AB", "top": "BC", "right": "DC"}.items():
        frame.add_beam(name, a, b, section=section, material="steel", elements=2)
    return frame


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "portal.html"
    da.animate(portal(), path, modes=4)
    return path


def test_mode_shapes_of_a_frame_play_and_their_slider_scales_them(visit: Any, page: Path) -> None:
    seen = visit(page, "#t=0")
    assert seen.page.locator("#modes button").count() == 4
    corner = "dalembert.positions().B[0]"
    full = seen.read(corner)
    assert abs(full) > 0.1  # B stands at x = 0 and sways
    seen.slide("#deformation input", 2.0)
    assert seen.read(corner) == pytest.approx(2 * full, rel=1e-5)
    seen.slide("#deformation input", 0.0)
    assert seen.read(corner) == pytest.approx(0.0, abs=1e-9)
    seen.slide("#deformation input", 1.0)
    seen.slide("#slider", 0.5)  # half a cycle later
    assert seen.read(corner) == pytest.approx(-full, rel=1e-5)
    seen.page.click("#play")
    seen.until(f"Math.abs(dalembert.positions().B[0] + {full}) > {0.2 * abs(full)}")
    seen.quiet()


def test_the_shape_drawn_is_the_shape_computed(visit: Any, page: Path) -> None:
    structure = da.structures.assemble_structure(portal())
    modes = structure.modes(4)
    seen = visit(page, "#t=0")
    for k in range(4):
        seen.page.locator("#modes button").nth(k).click()
        assert f"mode {k + 1}: {modes.frequencies_hz[k]:.4g} Hz" in seen.page.locator("#about").text_content()
        u = dict(zip(structure.coordinates, structure.expand(np.real(modes.shapes[:, k])).tolist(), strict=True))
        drawn = seen.read("dalembert.positions()")
        moved = np.array([drawn["B"][0], drawn["B"][1] - 3, drawn["C"][0] - 4, drawn["C"][1] - 3])
        shape = np.array([u["B.x"], u["B.y"], u["C.x"], u["C.y"]])
        # one factor for all: single precision, and places some metres from the origin
        factor = moved @ shape / (shape @ shape)
        assert moved == pytest.approx(factor * shape, abs=2e-6)
    seen.quiet()


def test_a_solid_shows_its_surface(visit: Any, tmp_path: Path) -> None:
    solid = da.structures.Solid("bar", da.structures.box_mesh((1.0, 0.1, 0.2), (8, 2, 2)), "steel")
    da.animate(solid, tmp_path / "bar.html", modes=8)
    seen = visit(tmp_path / "bar.html", "#t=0")
    # faces of 8 x 2 x 2 bricks on the six sides, two triangles each
    assert seen.read("dalembert.data.triangles.shape[0]") == 2 * 2 * (8 * 2 + 8 * 2 + 2 * 2)
    seen.quiet()


def test_a_response_moves_its_structure_in_time(visit: Any, tmp_path: Path) -> None:
    structure = da.structures.assemble_structure(portal())
    modes = structure.modes(2)
    t = np.linspace(0.0, 1.0, 201)
    weights = 1e-3 * np.stack([np.sin(12.0 * t), 0.3 * np.cos(30.0 * t)])
    values = (np.real(modes.shapes) @ weights).T
    run = Record(t, values, structure.free, name="shaken portal")
    da.animate(run, tmp_path / "a.html", structure=structure)
    seen = visit(tmp_path / "a.html", "#t=0")
    factor = seen.read("dalembert.data.unit")
    column = structure.free.index("B.x")
    for moment in (0.25, 0.8):
        seen.slide("#slider", moment)
        expected = factor * np.interp(moment, t, values[:, column])
        # 30 pictures a second of a 12 rad/s motion: straight lines sag (12/30)²/8 = 2 % of the amplitude
        assert seen.read("dalembert.positions().B[0]") == pytest.approx(
            expected, abs=0.02 * factor * np.ptp(values[:, column])
        )
    assert seen.read("dalembert.plots.shown.length") > 0
    seen.quiet()
