"""Reports in a browser: machines and mode shapes move inside the page, and nothing is complained about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.studies import runner
from dalembert.studies.identification import robot_arm
from dalembert.studies.machines import monte_carlo
from dalembert.view.reports.pages import Moving, Picture, Text, html_page
from tests.helpers.commands import run

READY = "Boolean(window.dalembert && window.dalembert.ready)"


class Report:
    """An open report, the frames in it, what its console said, and what it asked of the network."""

    def __init__(self, browser: Any, file: Path, **how: Any) -> None:
        # animations begin at once where nobody asks for less motion, and keep a machine without a graphics card busy
        still = {"viewport": {"width": 1000, "height": 900}, "reduced_motion": "reduce"}
        self.context = browser.new_context(**{**still, **how})
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        self.frames = [frame for frame in self.page.frames if frame.parent_frame is not None]
        for frame in self.frames:
            self.until(frame, READY)

    def until(self, frame: Any, script: str) -> None:
        for _ in range(600):
            if frame.evaluate(script):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"{script} did not become true: {self.said}")

    def alone_and_quiet(self) -> None:
        assert self.said == []
        assert [url for url in self.asked if url.startswith("http")] == []


@pytest.fixture
def open_report(browser: Any) -> Iterator[Any]:
    opened: list[Report] = []

    def go(file: Path, **how: Any) -> Report:
        opened.append(Report(browser, file, **how))
        return opened[-1]

    yield go
    for one in opened:
        one.context.close()


def test_the_machine_moves_inside_the_report(open_report: Any, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert run("simulate", "pendulum", "--until", 1, "--report", file).exit_code == 0
    seen = open_report(file)
    (inner,) = seen.frames
    assert inner.query_selector("canvas") is not None
    seen.alone_and_quiet()


@pytest.mark.slow
def test_the_animation_of_a_study_plays_by_itself_in_its_report(
    open_report: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.5, inertia=da.rod(1.0))
    m.add_revolute("pivot", m.ground.at(0, 0), rod.at(-0.5, 0))
    eqs = da.equations(m)
    swing = da.simulate(eqs, 2.0)
    made = runner.Outcome(
        "A pendulum", {}, [Text("It swings."), Picture("angle", da.plot(swing, "pivot.angle"))],
        moving=[Moving("swing", da.animate(swing))], model=(m, eqs),
    )  # fmt: skip
    monkeypatch.setattr(runner, "STUDIES", {"small": ("identification.robot_arm", "Something small.")})
    monkeypatch.setattr(robot_arm, "study", lambda: made)
    runner.run("small", tmp_path)
    seen = open_report(tmp_path / "report.html", reduced_motion="no-preference")
    (inner,) = seen.frames
    first = inner.evaluate("window.dalembert.time")
    seen.until(inner, f"window.dalembert.time !== {first}")
    inner.evaluate("window.dalembert.seek(0.5)")
    places = inner.evaluate("window.dalembert.positions()")
    assert np.hypot(*places["rod"][:2]) == pytest.approx(0.5, abs=1e-4)
    assert inner.evaluate("window.dalembert.plots !== null")
    # the page does not spill over the screen
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 1000
    seen.alone_and_quiet()


def test_a_report_follows_the_dark_screen_of_its_reader(open_report: Any, tmp_path: Path) -> None:
    record = da.Record(np.arange(3.0), np.arange(3.0)[:, None], ["x"], ["m"])
    da.report(record, tmp_path / "page.html")
    brightness = {}
    for scheme in ("light", "dark"):
        page = open_report(tmp_path / "page.html", color_scheme=scheme).page
        script = """image => { const c = document.createElement('canvas'); c.width = c.height = 1;
            const g = c.getContext('2d'); g.drawImage(image, 0, 0); return g.getImageData(0, 0, 1, 1).data[0]; }"""
        brightness[scheme] = page.eval_on_selector("img", script)
    assert brightness == {"light": 255, "dark": 0x14}


@pytest.mark.slow
def test_figures_are_readable_on_a_phone_and_the_page_does_not_spill(open_report: Any, tmp_path: Path) -> None:
    t = np.linspace(0.0, 1.0, 101)
    record = da.Record.from_channels(t, {"x": np.sin(9 * t)}, {"x": "m"}, name="rig")
    da.report(record, tmp_path / "page.html", provenance={"hash of the whole file (SHA-256)": "0123456789abcdef" * 4})
    page = open_report(tmp_path / "page.html", viewport={"width": 375, "height": 800}).page
    shown = page.evaluate("[...document.images].map(image => image.clientWidth / image.naturalWidth)")
    # labels of ticks are 9 points high, pictures have 150 pixels per inch
    assert len(shown) == 2
    assert min(9 / 72 * 150 * scale for scale in shown) > 9.0
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    scrolls = "[...document.querySelectorAll('.picture')].every(one => one.scrollWidth > one.clientWidth)"
    assert page.evaluate(scrolls)
    assert page.evaluate("document.querySelector('.origin').clientHeight") < 800  # a hash is not one letter a line


@pytest.mark.slow
def test_a_printed_report_keeps_a_still_of_its_animation(open_report: Any, tmp_path: Path) -> None:
    from PIL import Image

    file = tmp_path / "page.html"
    assert run("simulate", "four-bar", "--until", 1, "--report", file).exit_code == 0
    seen = open_report(file)
    seen.page.emulate_media(media="print")
    seen.frames[0].evaluate("window.dalembert.seek(0.5)")
    seen.page.locator("iframe").screenshot(path=tmp_path / "still.png")
    colors = Image.open(tmp_path / "still.png").convert("RGB").getcolors(1 << 24) or []
    blue = sum(n for n, (r, g, b) in colors if b > 150 and b - r > 80)  # crank and lines of the plot
    orange = sum(n for n, (r, g, b) in colors if r > 200 and r - b > 100)  # coupler and lines of the plot
    assert min(blue, orange) > 500
    assert seen.page.pdf().startswith(b"%PDF")


def test_mode_shapes_of_an_identified_model_move_inside_its_report(open_report: Any, tmp_path: Path) -> None:
    from dalembert.linear.modes import Modes
    from dalembert.view.animation.shape_scene import read_places, shape_animation
    from dalembert.view.reports.pages import write_page

    modes = Modes([-0.1 + 6j, -0.2 + 18j], [[0.5, 1.0], [1.0, -0.5]], ["a1", "a2"])
    spots = read_places({"ground": (0, 0), "a1": (0, 1, "x"), "a2": (0, 2, "x")}, ["a1", "a2"])
    write_page(tmp_path / "page.html", "Modes", [Moving("modes", shape_animation(modes, spots))])
    seen = open_report(tmp_path / "page.html")
    (inner,) = seen.frames
    inner.evaluate("window.dalembert.seek(0)")
    at_rest = inner.evaluate("window.dalembert.positions()")
    inner.evaluate("window.dalembert.seek(0.5)")
    moved = inner.evaluate("window.dalembert.positions()")
    assert moved["ground"] == at_rest["ground"]
    assert moved["a2"][0] == pytest.approx(-at_rest["a2"][0]) and at_rest["a2"][0] > 0.1
    assert inner.locator("#modes button").count() == 2
    seen.alone_and_quiet()


def test_only_the_script_of_the_animations_runs_in_a_report(browser: Any, tmp_path: Path) -> None:
    """What a policy is for: a script that got into a report, in the page or in a frame, does not run."""
    file = tmp_path / "page.html"
    assert run("simulate", "pendulum", "--until", 1, "--report", file).exit_code == 0
    text = file.read_text("utf-8")
    spoiled = text.replace("<h1>", "<script>document.title = 'ran'</script><img src='http://127.0.0.1:9/x'><h1>", 1)
    spoiled = spoiled.replace("<main>", "<script>window.ran = true</script><main>", 1)
    assert spoiled.count("ran") - text.count("ran") >= 2
    file.write_text(spoiled, "utf-8")
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: asked.remove(request.url))
    page.goto(file.as_uri())
    (inner,) = (frame for frame in page.frames if frame.parent_frame is not None)
    for _ in range(600):
        if inner.evaluate(READY):
            break
        page.wait_for_timeout(50)
    assert inner.evaluate(READY)
    assert page.title() != "ran"
    assert not inner.evaluate("Boolean(window.ran)")
    assert [url for url in asked if url.startswith("http")] == []
    context.close()


@pytest.mark.slow
def test_the_report_of_a_real_study_opens_and_plays(
    open_report: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = monte_carlo.design(6)
    monkeypatch.setattr(monte_carlo, "design", lambda: few)
    runner.run("monte-carlo", tmp_path)
    assert (tmp_path / "report.html").stat().st_size < 5_000_000
    seen = open_report(tmp_path / "report.html")
    (inner,) = seen.frames
    inner.evaluate("window.dalembert.seek(0.1)")
    first = inner.evaluate("window.dalembert.positions()")
    inner.evaluate("window.dalembert.seek(0.3)")
    assert inner.evaluate("window.dalembert.positions()")["coupler"] != first["coupler"]
    seen.alone_and_quiet()


@pytest.mark.slow
def test_printing_keeps_a_still_of_each_animation_in_light_colours(open_report: Any, tmp_path: Path) -> None:
    m = da.read_model("pendulum")
    moving = da.animate(da.simulate(da.equations(m), until=0.5))
    file = tmp_path / "report.html"
    file.write_text(html_page("Two runs", [Moving("a", moving, "first"), Moving("b", moving, "second")]), "utf-8")
    seen = open_report(file, color_scheme="dark")
    seen.page.pdf(path=str(tmp_path / "report.pdf"))  # every frame is printed
    read = (
        "(() => { const c = document.querySelector('#still canvas'), d = c.getContext('2d').getImageData(0, 0, c.width,"
        " c.height).data, seen = new Set(); for (let k = 0; k < d.length; k += 4) seen.add(d[k] << 16 | d[k + 1] << 8 |"
        " d[k + 2]); return [seen.size, d[0], d[1], d[2], c.width, c.height]; })()"
    )
    assert len(seen.frames) == 2
    for frame in seen.frames:
        colours, *paper, wide, high = frame.evaluate(read)
        assert colours > 100 and wide > 500 and high > 300  # a picture, not an empty canvas
        assert min(paper) > 230
    seen.page.emulate_media(media="print")
    assert all(box["height"] > 300 for box in (one.bounding_box() for one in seen.page.locator("iframe").all()))
    for frame in seen.frames:
        assert frame.evaluate("getComputedStyle(document.querySelector('main')).visibility") == "hidden"
        assert frame.evaluate("document.querySelector('#still').clientHeight") > 300
    seen.alone_and_quiet()
