"""Hands on the page: zoom in plots, keys, pictures, views, small screens, modes of machines, bent arrows, meshes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.studies.machines import crank_rocker
from tests.browser.conftest import Visit


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "crank rocker.html"
    da.animate(crank_rocker.simulate(2.0), path)
    return path


@pytest.fixture(scope="module")
def desk(browser: Any, page: Path) -> Iterator[Visit]:
    """One page for all that leaves it as it was."""
    one = Visit(browser, page.as_uri() + "#t=0")
    yield one
    one.context.close()


def at(desk: Visit, share: float) -> tuple[float, float]:
    """Place in the window of a share of the time axis of the plots."""
    box, inner = desk.page.locator("#chart").bounding_box(), desk.read("dalembert.plots.inner")
    return box["x"] + inner["left"] + share * inner["width"], box["y"] + box["height"] / 2


def test_a_drag_zooms_the_plots_a_hover_reads_them_and_a_double_click_shows_all(desk: Visit) -> None:
    mouse = desk.page.mouse
    mouse.move(*at(desk, 0.25))
    mouse.down()
    mouse.move(*at(desk, 0.4), steps=3)
    mouse.move(*at(desk, 0.75), steps=3)
    mouse.up()
    assert desk.read("[dalembert.plots.from, dalembert.plots.to]") == pytest.approx([0.5, 1.5], abs=0.01)
    assert desk.read("dalembert.time") == 0.0  # a zoom is no click
    mouse.move(*at(desk, 0.5))
    readings = desk.read("dalembert.plots.readings")
    assert readings[0].replace("t ", "").startswith(("1 ", "0.99", "1.00"))
    assert readings[1].startswith("A.rate")  # of the angle that is measured first, which turns on and on
    mouse.click(*at(desk, 0.5))
    assert desk.read("dalembert.time") == pytest.approx(1.0, abs=0.01)
    assert desk.page.locator("#whole").is_visible()
    desk.read("dalembert.plots.pan([0.5, 1.5], 10000)")  # not beyond the end
    assert desk.read("[dalembert.plots.from, dalembert.plots.to]") == pytest.approx([1.0, 2.0])
    mouse.dblclick(*at(desk, 0.5))
    assert desk.read("dalembert.plots.window") is None
    mouse.wheel(0, -300)
    desk.until("dalembert.plots.window !== null")
    desk.page.keyboard.press("z")
    assert desk.read("dalembert.plots.window") is None
    desk.quiet()


def test_a_channel_is_hidden_by_a_click_and_the_others_keep_their_colours(desk: Visit) -> None:
    before = desk.read("dalembert.plots.listed()")
    desk.page.locator("#legend .chip").first.click()
    assert desk.read("dalembert.plots.listed()") == before[1:]
    desk.read(f"dalembert.plots.show({[one['name'] for one in before]})")


def test_a_picture_is_saved_with_the_plots(desk: Visit) -> None:
    with desk.page.expect_download() as found:
        desk.page.click("#save")
    assert found.value.suggested_filename.startswith("crank-rocker_")
    content = Path(found.value.path()).read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", content[16:24])
    box = desk.page.locator("#view").bounding_box()
    assert width == box["width"]
    assert height > box["height"] + 100
    # names, bodies, lines: not one colour
    assert len(content) > 10_000


def test_the_key_names_what_is_drawn_and_closes(desk: Visit) -> None:
    desk.page.keyboard.press("?")
    words = desk.page.locator("#key").text_content()
    assert "hinge" in words
    assert "gravity, 9.81 m/s²" in words
    assert "slide" not in words
    desk.page.keyboard.press("Escape")
    assert not desk.page.locator("#key").is_visible()


def test_the_camera_goes_with_a_body(desk: Visit) -> None:
    desk.page.select_option("#follow", label="coupler")
    apart = "dalembert.stage.controls.target.clone().sub(dalembert.actor.bodies[1].position).toArray()"
    first = desk.read(f"dalembert.seek(0.1), {apart}")
    second = desk.read(f"dalembert.seek(0.35), {apart}")
    assert second == pytest.approx(first, abs=1e-9)
    desk.page.select_option("#follow", label="nothing")
    desk.quiet()


def test_what_is_shown_has_names_for_those_who_do_not_see_it(desk: Visit) -> None:
    assert "3 bodies and 4 joints" in desk.page.get_attribute("#canvas", "aria-label")
    assert "A.rate" in desk.page.get_attribute("#chart", "aria-label")
    nameless = desk.read(
        "[...document.querySelectorAll('button, input, select')].filter(one => !one.textContent.trim()"
        " && !one.getAttribute('aria-label') && !one.closest('label')).map(one => one.outerHTML)"
    )
    assert nameless == []


@pytest.mark.slow
def test_on_a_phone_nothing_is_cut_off_and_motion_waits_where_it_is_not_wanted(visit: Any, page: Path) -> None:
    seen = visit(page, size=(390, 780), reduced_motion="reduce", has_touch=True)
    assert not seen.read("dalembert.player.playing")
    assert seen.read("document.documentElement.scrollWidth") <= 390
    assert seen.page.locator("#slider").bounding_box()["width"] > 300
    inside = (
        "[...document.querySelectorAll('.label')].filter(one => one.style.visibility === 'visible')"
        ".map(one => one.getBoundingClientRect()).every(box => box.left >= 0 && box.right <= innerWidth)"
    )
    assert seen.read(inside)
    clock, speed = (seen.page.locator(one).bounding_box() for one in ("#clock", "#speed"))
    assert clock["x"] + clock["width"] <= speed["x"]
    for button in seen.page.locator("#tools button").all():
        box = button.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390, button.text_content()
    x, y = at(seen, 0.5)
    seen.page.touchscreen.tap(x, y)
    assert seen.read("dalembert.time") == pytest.approx(1.0, abs=0.02)
    seen.quiet()


def test_modes_of_a_machine_play_with_their_slider_and_report_frequency_damping_and_phase(
    visit: Any, tmp_path: Path
) -> None:
    made = da.animate(da.read_model("quarter-car"), tmp_path / "modes.html")
    seen = visit(tmp_path / "modes.html", "#t=0")
    assert seen.page.locator("#about").text_content() == "mode 1: 1.209 Hz, damping 23.1 %"
    rest = {body["name"]: body["pose"][1, 0] for body in made._data["bodies"]}
    shapes, turned = made._data["shapes"][:, :, 1], made._data["turned"][:, :, 1]
    for scale, phase in ((1.0, 0.0), (2.0, 0.0), (1.0, 0.3)):
        seen.slide("#deformation input", scale)
        seen.slide("#slider", phase)
        there = seen.read("dalembert.positions()")
        wave = np.exp(2j * np.pi * phase)
        for b, name in enumerate(rest):
            expected = rest[name] + scale * np.real((shapes[0, b] + 1j * turned[0, b]) * wave)
            assert there[name][1] == pytest.approx(expected, abs=1e-5)
    seen.page.locator("#modes button").nth(1).click()
    assert "10.79 Hz, damping 25.2 %" in seen.page.locator("#about").text_content()
    assert "∠" in seen.page.locator("#parts").text_content()
    seen.page.click("#play")
    seen.until("dalembert.time > 0.4 || dalembert.time < 0.2")
    seen.quiet()


def spinning_part() -> da.Record:
    """A wedge with a mesh, driven about a tilted axis, with reactions and a torque."""
    m = da.Mechanism("wedge")
    corners = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.2, 0], [0, 0, 0.1]])
    mesh = corners[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]
    part = m.add_body("part", mass=1.0, inertia=(0.01, 0.02, 0.02), center=(0.07, 0.05, 0.025), mesh=mesh)
    m.add_revolute("axle", m.ground.frame(0, 0, 0, axis=(0, 1, 1)), part.frame(0, 0, 0, axis=(0, 1, 1)))
    m.add_actuator("motor", joint="axle", effort=0.4)
    return da.simulate(da.equations(m), until=0.5)


def test_torques_are_bent_arrows_about_their_axis_and_a_mesh_is_drawn_as_it_is(visit: Any, tmp_path: Path) -> None:
    da.animate(spinning_part(), tmp_path / "part.html")
    seen = visit(tmp_path / "part.html", "#t=0.2")
    assert seen.read("dalembert.data.bodies[0].shape.triangles.shape") == [4, 9]
    seen.page.click("#toggle-forces")
    motor = "dalembert.actor.arrows.find(one => one.force.name === 'motor').arrow"
    angle = seen.read(f"{motor}.angle")
    assert angle > 0.12
    axis = f"dalembert.actor.bodies[0].position.clone().set(0, 0, 1).applyQuaternion({motor}.quaternion).toArray()"
    assert seen.read(axis) == pytest.approx([0.0, 0.5**0.5, 0.5**0.5], abs=1e-6)
    seen.slide("#force-scale input", -0.5)
    assert seen.read(f"{motor}.angle") == pytest.approx(angle * 10**-0.5, rel=0.05)
    height = "dalembert.stage.pixel()"
    seen.page.click("#toggle-parallel")
    assert seen.read("dalembert.stage.camera.fov") == 2
    before = seen.read(height)
    seen.page.click("#toggle-parallel")
    assert seen.read(height) == pytest.approx(before, rel=1e-6)
    seen.quiet()
