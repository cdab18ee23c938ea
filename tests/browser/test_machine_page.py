"""The page of a machine in a real browser: it loads, moves, plots, and keeps to itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.record import Record
from dalembert.studies.machines import crank_rocker
from tests.browser.conftest import Visit

WICKED = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"> & \"'"


@pytest.fixture(scope="module")
def run() -> Record:
    return crank_rocker.simulate(2.0)


@pytest.fixture(scope="module")
def page(run: Record, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "crank-rocker.html"
    da.animate(run, path, trail="C")
    return path


def spinning_top() -> Record:
    """A cylinder in space with a spring to the ground and a reaction."""
    t = np.linspace(0.0, 2.0, 121)
    channels: dict[str, Any] = {"top.x": 0.3 * np.cos(t), "top.y": 0.3 * np.sin(t), "top.z": 0.5 + 0 * t}
    channels |= {"top.e0": np.cos(t), "top.e1": 0 * t, "top.e2": 0 * t, "top.e3": np.sin(t)}
    channels |= {"P.force.x": 3 + 0 * t, "P.force.y": 0 * t, "P.force.z": 4 + 0 * t}
    scene = {
        "planar": False,
        "bodies": [
            {"name": "top", "points": [[0, 0, -0.5]], "lines": [], "shape": {"kind": "cylinder", "size": [0.2, 0.1]}}
        ],
        "ground": [[0, 0, 0]],
        "joints": [{"name": "P", "type": "spherical", "body": "top", "point": [0, 0, -0.5]}],
        "springs": [{"name": "k", "a": ["top", [0, 0, 0]], "b": [None, [1, 0, 0]]}],
    }
    return Record.from_channels(t, channels, name="top", scene=scene)


def test_a_page_from_disk_loads_without_a_complaint_and_asks_nothing_of_the_network(visit: Any, page: Path) -> None:
    seen = visit(page)
    seen.page.wait_for_timeout(300)
    seen.quiet()
    assert seen.asked == [page.as_uri()]
    assert seen.page.title() == "crank-rocker"
    assert seen.read("dalembert.stage.renderer.getContext() instanceof WebGL2RenderingContext")


def test_the_time_slider_moves_the_machine_to_its_recorded_place(visit: Any, page: Path, run: Record) -> None:
    seen = visit(page, "#t=0")
    for t in (0.0, 0.37, 1.5, 2.0):
        seen.slide("#slider", t)
        there = seen.read("dalembert.positions()")
        for body in ("crank", "coupler", "rocker"):
            expected = [run.at(t)[f"{body}.{axis}"] for axis in "xy"]
            # straight lines between pictures, and `at` between samples: both sag less than 1 mm of a 0.7 m machine
            assert there[body][:2] == pytest.approx(expected, abs=1e-3)
    assert seen.read("document.getElementById('clock').textContent").startswith("t = 2.00")
    seen.quiet()


def test_the_picture_changes_when_the_machine_moves(visit: Any, page: Path) -> None:
    seen = visit(page, "#t=0")
    pictures = []
    for t in (0.0, 0.2):
        seen.read(f"dalembert.seek({t})")
        seen.page.wait_for_timeout(150)
        pictures.append(seen.page.locator("#view").screenshot())
    assert pictures[0] != pictures[1]


def test_plots_follow_the_time_and_a_click_sets_it(visit: Any, page: Path, run: Record) -> None:
    seen = visit(page, "#t=0")
    before = seen.read("dalembert.plots.cursor")
    seen.slide("#slider", 1.0)
    assert seen.read("dalembert.plots.cursor") > before + 100
    shown = seen.page.locator("#legend .chip output").first.text_content().replace("−", "-").split()
    assert float(shown[0]) == pytest.approx(run.at(1.0)["A.rate"], rel=1e-3)
    assert shown[1] == "rad/s"
    box = seen.page.locator("#chart").bounding_box()
    inner = seen.read("dalembert.plots.inner")
    seen.page.mouse.click(box["x"] + inner["left"] + 0.25 * inner["width"], box["y"] + box["height"] / 2)
    assert seen.read("dalembert.time") == pytest.approx(0.5, abs=0.01)
    seen.quiet()


def test_channels_are_chosen_by_name(visit: Any, page: Path) -> None:
    seen = visit(page, "#t=0")
    seen.page.click("#choose")
    seen.page.fill("#filter", "energy.kin")
    seen.page.locator("#choices label:visible input").check()
    seen.page.click("#chooser .main")
    assert "energy.kinetic" in seen.read("dalembert.plots.shown")
    assert "J" in seen.read("dalembert.plots.placed.map(frame => frame.unit)")


def test_it_plays_by_itself_stops_and_steps_by_keys(visit: Any, page: Path) -> None:
    seen = visit(page)
    seen.until("dalembert.time > 0.05")
    seen.page.keyboard.press("Space")
    stopped = seen.read("dalembert.time")
    seen.page.wait_for_timeout(200)
    assert seen.read("dalembert.time") == stopped
    seen.page.keyboard.press("ArrowRight")
    assert seen.read("dalembert.time") == pytest.approx(min(stopped + 1 / 30, 2.0), abs=1e-3)
    seen.page.keyboard.press("Home")
    assert seen.read("dalembert.time") == 0.0


def test_without_loop_it_stops_at_the_end(visit: Any, page: Path) -> None:
    seen = visit(page, "#t=1.95")
    seen.page.click("#loop")
    seen.page.click("#play")
    seen.until("!dalembert.player.playing")
    assert seen.read("dalembert.time") == 2.0


@pytest.mark.slow
def test_a_page_is_dark_where_the_system_is_and_the_button_turns_it(visit: Any, page: Path) -> None:
    seen = visit(page, "#t=0", color_scheme="dark")
    brightness = "(() => { const c = dalembert.stage.scene.background; return (c.r + c.g + c.b) / 3; })()"
    assert seen.read(brightness) < 0.05
    seen.page.click("#theme")
    assert seen.read(brightness) > 0.8
    light = visit(page, "#t=0", color_scheme="light")
    assert light.read(brightness) > 0.8
    seen.quiet()


def test_names_that_look_like_html_are_only_names(visit: Any, run: Record, tmp_path: Path) -> None:
    assert run.scene is not None
    text = {name: name.replace("crank.", f"{WICKED}.") for name in run.names}
    scene = dict(run.scene)
    scene["bodies"] = [
        {**body, "name": WICKED if body["name"] == "crank" else body["name"]} for body in scene["bodies"]
    ]
    scene["joints"] = [
        {**joint, "name": f"{WICKED}{k}", "body": WICKED if joint["body"] == "crank" else joint["body"]}
        for k, joint in enumerate(scene["joints"])
    ]
    wicked = Record(run.time, run.data, [text[name] for name in run.names], name=WICKED, scene=scene)
    da.animate(wicked, tmp_path / "a.html", trail=WICKED)
    seen = visit(tmp_path / "a.html", "#t=0")
    seen.page.click("#choose")
    assert seen.page.title() == WICKED
    assert seen.page.locator("#title").text_content() == WICKED
    assert seen.page.locator("img").count() == 0
    assert WICKED in seen.read("dalembert.positions()")
    seen.quiet()


@pytest.fixture(scope="module")
def top(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    """One page in space for all that leaves it as it was."""
    path = tmp_path_factory.mktemp("page") / "top.html"
    da.animate(spinning_top(), path)
    one = Visit(browser, path.as_uri() + "#t=0.5")
    yield one
    one.context.close()


def test_force_arrows_grow_with_their_slider(top: Visit) -> None:
    seen = top
    seen.page.click("#toggle-forces")
    arrow = "dalembert.actor.arrows[0].arrow.tip.position.y"
    first = seen.read(arrow)
    assert first > 0
    seen.slide("#force-scale input", 0.3)
    assert seen.read(arrow) == pytest.approx(first * 10**0.3, rel=1e-6)
    seen.quiet()


def test_views_along_the_axes_look_along_them(top: Visit) -> None:
    seen = top
    way = "dalembert.stage.camera.position.clone().sub(dalembert.stage.controls.target).normalize().toArray()"
    for name, expected in (("side", [1, 0, 0]), ("front", [0, -1, 0]), ("top", [0, 0, 1])):
        seen.page.click(f"[data-view={name}]")
        assert seen.read(way) == pytest.approx(expected, abs=1e-3)
    seen.quiet()


def test_a_spring_is_stretched_between_its_ends(top: Visit) -> None:
    seen = top
    lengths = []
    for t in (0.0, 1.0):
        seen.read(f"dalembert.seek({t})")
        lengths.append(
            seen.read("(() => { const s = dalembert.actor.springs[0]; return s.length * s.one.scale.z; })()")
        )
    expected = [np.linalg.norm([1 - 0.3 * np.cos(t), -0.3 * np.sin(t), -0.5]) for t in (0.0, 1.0)]
    assert lengths == pytest.approx(expected, rel=1e-3)


def test_a_notebook_shows_the_page_in_a_frame(visit: Any, run: Record, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(
        "<!DOCTYPE html><meta charset='utf-8'><script>window.dalembert = {ready: true}</script>"
        + da.animate(run)._repr_html_(),
        encoding="utf-8",
    )
    seen = visit(path)
    frame = next(one for one in seen.page.frames if one.parent_frame)
    seen.page.frame_locator("iframe").locator("#canvas").wait_for(timeout=30_000)
    assert frame.evaluate("dalembert.data.name") == "crank-rocker"
    seen.quiet()
