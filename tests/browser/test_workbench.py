"""The modal workbench of a report in a browser: values, zoom, a choice of poles that the command takes back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from tests.helpers.commands import document, run

BENCH = "window.workbenches[0]"
PLACES = ("ground=0,0", "a1=0,1,x", "a2=0,2,x", "a3=0,3,x")


def make_test(samples: int = 3000) -> da.Record:
    """A three-storey frame under a random force, 5 % noise."""
    K = 400.0 * np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    frame = da.SecondOrder(
        np.eye(3), K, C=0.2 * np.eye(3) + 2e-4 * K, B=[1.0, 0.0, 0.0], Y_acceleration=np.eye(3), inputs="force",
        outputs=["a1", "a2", "a3"],
    )  # fmt: skip
    rng = np.random.default_rng(1)
    u = rng.normal(size=samples)
    made = (
        frame.state_space().to_discrete(0.05).response(da.Record.from_channels(0.05 * np.arange(samples), {"force": u}))
    )
    y = made[["a1", "a2", "a3"]]
    y = y + 0.05 * y.std(axis=0) * rng.normal(size=y.shape)
    return da.Record(made.time, np.column_stack([u, y]), ["force", "a1", "a2", "a3"], ["N", *["m/s^2"] * 3])


@pytest.fixture(scope="module")
def page_of_frame(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    da.write_record(make_test(), folder / "frame.csv")
    places = [part for place in PLACES for part in ("--place", place)]
    result = run("identify", folder / "frame.csv", "--report", folder / "modes.html", *places)
    assert result.exit_code == 0, result.output
    # other tests open the frame with the animation, which keeps a machine without a graphics card busy
    text, count = re.subn(r"<iframe .*?</iframe>", "", (folder / "modes.html").read_text("utf-8"), flags=re.DOTALL)
    assert count == 1
    (folder / "modes.html").write_text(text, "utf-8")
    return folder / "modes.html"


class Open:
    """An open report: its page, what its console said, and what it asked of the network."""

    def __init__(self, browser: Any, file: Path, **how: Any) -> None:
        # a shape that moves keeps a machine without a graphics card busy: still unless a test asks for it
        still = {"viewport": {"width": 1300, "height": 900}, "reduced_motion": "reduce"}
        self.context = browser.new_context(**{**still, **how})
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        for _ in range(600 if how.get("java_script_enabled", True) else 0):
            if self.page.evaluate("Boolean(window.workbenches)"):
                break
            self.page.wait_for_timeout(50)

    def read(self, script: str) -> Any:
        return self.page.evaluate(script)

    def figure(self, k: int) -> Any:
        return self.page.locator(".workbench .figure svg").nth(k)

    def place_of(self, pole: int) -> tuple[float, float]:
        """Where a pole of the diagram is on the screen."""
        self.figure(1).scroll_into_view_if_needed()
        script = f"""(() => {{ const d = {BENCH}.figures[1], one = {BENCH}.poles[{pole}];
            const box = d.svg.getBoundingClientRect();
            return [box.left + d.x(one.hz), box.top + d.y(one.order)]; }})()"""
        x, y = self.read(script)
        return x, y

    def free_pole(self) -> int:
        """A pole in the band that is not chosen and whose neighbours are not nearer than the pointer reaches."""
        script = f"""(() => {{ const b = {BENCH}, d = b.figures[1], at = b.poles.map(p => [d.x(p.hz), d.y(p.order)]);
            const alone = p => at.every((q, k) => k === p.pole ||
                Math.hypot(q[0] - at[p.pole][0], q[1] - at[p.pole][1]) > 14);
            return b.poles.find(p => !b.chosen.has(p.pole) && !p.outside && p.damping > 0 && p.hz > b.view.from &&
                p.hz < b.view.to && alone(p)).pole; }})()"""
        return int(self.read(script))

    def view(self) -> list[float]:
        found: list[float] = self.read(f"[{BENCH}.view.from, {BENCH}.view.to]")
        return found


@pytest.fixture
def open_page(browser: Any) -> Iterator[Any]:
    opened: list[Open] = []

    def go(file: Path, **how: Any) -> Open:
        opened.append(Open(browser, file, **how))
        return opened[-1]

    yield go
    for one in opened:
        one.context.close()


@pytest.fixture(scope="module")
def shared(browser: Any, page_of_frame: Path) -> Iterator[Open]:
    """One page for the tests that leave it as it was."""
    one = Open(browser, page_of_frame)
    yield one
    one.context.close()


def test_the_page_opens_under_its_policy_without_a_word(shared: Open, page_of_frame: Path) -> None:
    assert "script-src 'sha256-" in page_of_frame.read_text("utf-8")
    assert shared.page.locator(".workbench.live .interactive").is_visible()
    assert not shared.page.locator(".workbench .still").is_visible()
    assert shared.said == []
    assert [url for url in shared.asked if url.startswith("http")] == []


def test_pointing_at_a_pole_shows_its_values(shared: Open) -> None:
    pole = shared.read(f"{BENCH}.chosenList()[1].pole")
    shared.page.mouse.move(*shared.place_of(pole))
    told = shared.page.locator(".figure .tip:visible").inner_text()
    hz = shared.read(f"{BENCH}.poles[{pole}].hz")
    assert f"{hz:.5g}" in told and "order" in told and "MAC with the order before" in told and "sound" in told
    assert shared.read(f"{BENCH}.figures[0].marker !== null")  # a line at this frequency in the response
    assert shared.page.locator(".modes tr.pointed").count() == 1
    shared.page.mouse.move(2, 2)
    assert shared.page.locator(".figure .tip:visible").count() == 0


def test_pointing_at_the_response_shows_measurement_models_and_coherence(shared: Open) -> None:
    figure = shared.figure(0)
    figure.scroll_into_view_if_needed()
    box = figure.bounding_box()
    shared.page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 60)
    told = shared.page.locator(".figure .tip:visible").inner_text()
    assert all(word in told for word in ("Hz", "measured", "chosen poles", "the model", "coherence", "phase"))
    shared.page.mouse.move(2, 2)


def test_the_models_follow_the_measured_response(shared: Open) -> None:
    """Residues by least squares in the page, and the curve from Python, agree with the measured lines."""
    texts = shared.page.locator(".figure .legend span").all_inner_texts()
    agreement = [float(text.partition("FRAC ")[2]) for text in texts if "FRAC" in text]
    # 5 % noise of the outputs leaves 0.25 % of the power; blocks of 512 samples flatten peaks of 0.7 % damping
    assert len(agreement) == 2 and min(agreement) > 0.9


def test_a_line_of_noise_does_not_count_in_the_agreement(shared: Open) -> None:
    """A line a thousand times too large, with a standard deviation of as much, as where no force excites it."""
    script = f"""(() => {{ const f = {BENCH}.figures[0], p = f.pair, k = p.re.length >> 1;
        const before = [p.re[k], p.deviation[k]];
        [p.re[k], p.deviation[k]] = [1e3, 1e3];
        const text = f.judge(f.curves[0].at, [0, 1e9]);
        [p.re[k], p.deviation[k]] = before;
        return text; }})()"""
    assert float(shared.read(script).partition("FRAC ")[2]) > 0.9


@pytest.mark.slow
def test_wheel_drag_and_double_click_zoom_all_figures(shared: Open) -> None:
    home = shared.view()
    figure = shared.figure(1)
    figure.scroll_into_view_if_needed()
    box = figure.bounding_box()
    x, y = box["x"] + 0.5 * box["width"], box["y"] + box["height"] - 60
    shared.page.mouse.move(x, y)
    shared.page.mouse.wheel(0, -300)  # a page scrolls, a figure that has the focus zooms
    shared.page.wait_for_timeout(200)
    assert shared.view() == home
    figure.focus()
    figure.scroll_into_view_if_needed()
    box = figure.bounding_box()
    shared.page.mouse.move(x, box["y"] + 200)
    shared.page.mouse.wheel(0, -300)
    shared.page.wait_for_timeout(100)
    near = shared.view()
    assert near[1] - near[0] < 0.8 * (home[1] - home[0])
    # dragged over the middle fifth, in the other figure
    other = shared.figure(0)
    other.scroll_into_view_if_needed()
    box = other.bounding_box()
    shared.page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 50)
    shared.page.mouse.down()
    shared.page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 55, steps=4)
    shared.page.mouse.up()
    nearer = shared.view()
    assert nearer[1] - nearer[0] == pytest.approx(
        0.2 * box["width"] / (box["width"] - 74) * (near[1] - near[0]), rel=0.05
    )
    ticks = [float(text) for text in figure.locator("text.tick").all_text_contents()[-3:]]
    assert all(nearer[0] - 1e-9 <= tick <= nearer[1] + 1e-9 for tick in ticks)
    other.dblclick(position={"x": 0.5 * box["width"], "y": 50})
    assert shared.view() == pytest.approx(home)


def test_a_click_chooses_a_pole_and_table_and_mac_follow(open_page: Any, page_of_frame: Path) -> None:
    seen = open_page(page_of_frame)
    rows, cells = seen.page.locator(".modes tbody tr"), seen.page.locator(".mac").first.locator("tbody td")
    assert rows.count() == 3 and cells.count() == 9
    pole = seen.free_pole()
    seen.page.mouse.click(*seen.place_of(pole))
    assert seen.read(f"{BENCH}.chosen.has({pole})")
    assert rows.count() == 4 and cells.count() == 16
    shape = seen.read(f"{BENCH}.poles.map(p => [Array.from(p.shape.re), Array.from(p.shape.im)])")
    chosen = seen.read(f"{BENCH}.chosenList().map(p => p.pole)")
    phi = np.array([np.array(shape[k][0]) + 1j * np.array(shape[k][1]) for k in chosen]).T
    phi = phi / np.linalg.norm(phi, axis=0)
    written = np.array([float(text) for text in cells.all_inner_texts()]).reshape(4, 4)
    assert written == pytest.approx(np.abs(phi.conj().T @ phi) ** 2, abs=0.0051)  # two decimals
    seen.page.mouse.click(*seen.place_of(pole))
    assert rows.count() == 3
    seen.page.locator(".modes tbody button").first.click()
    assert rows.count() == 2
    seen.page.get_by_role("button", name="none").click()
    assert rows.count() == 0 and seen.page.get_by_role("button", name="save choice").is_disabled()
    seen.page.get_by_role("button", name="sound modes").click()
    assert rows.count() == 3
    assert seen.said == []


def test_many_chosen_modes_keep_the_headings_of_their_matrix(open_page: Any, page_of_frame: Path) -> None:
    seen = open_page(page_of_frame)
    seen.read(f"{BENCH}.choose({BENCH}.poles.slice(0, 20).map(p => p.pole))")
    headings = seen.page.locator(".mac").first.locator("thead th")
    assert headings.count() == 20 and all(headings.all_inner_texts())
    assert headings.first.bounding_box()["width"] < 30  # pixels: upright, the columns stay narrow
    assert seen.said == []


@pytest.mark.slow
def test_the_second_model_may_be_any_order(open_page: Any, page_of_frame: Path) -> None:
    seen = open_page(page_of_frame)
    seen.page.get_by_label("compare with").select_option("12")
    columns = seen.page.locator(".mac").nth(1).locator("thead th").count()
    assert columns == seen.read(f"{BENCH}.poles.filter(p => p.order === 12 && !p.outside && p.damping > 0).length") > 3
    assert "order 12" in seen.page.locator(".figure .legend").first.inner_text()
    seen.page.get_by_label("compare with").select_option("none")
    assert seen.page.locator(".mac").count() == 1
    seen.page.locator(".bar select").first.select_option("2")
    assert seen.read(f"{BENCH}.pair") == 2
    assert seen.said == []


def test_poles_are_found_and_chosen_with_keys_alone(open_page: Any, page_of_frame: Path) -> None:
    seen = open_page(page_of_frame)
    seen.figure(0).focus()
    home = seen.view()
    seen.page.keyboard.press("+")
    assert seen.view()[1] - seen.view()[0] < home[1] - home[0]
    seen.page.keyboard.press("0")
    seen.page.keyboard.press("ArrowRight")
    assert "measured" in seen.page.locator(".figure .tip:visible").inner_text()
    seen.page.keyboard.press("Tab")  # to the diagram
    assert seen.read(f"document.activeElement === {BENCH}.figures[1].svg")
    first = seen.read(f"{BENCH}.pointed.pole")
    seen.page.keyboard.press("ArrowUp")
    second = seen.read(f"{BENCH}.pointed")
    assert second["pole"] != first and "Hz" in seen.page.locator(".said").inner_text()
    before = seen.read(f"{BENCH}.chosen.has({second['pole']})")
    seen.page.keyboard.press("Enter")
    assert seen.read(f"{BENCH}.chosen.has({second['pole']})") is not before
    assert "chosen" in seen.page.locator(".said").inner_text()


@pytest.mark.slow
def test_the_saved_choice_is_taken_by_the_command(open_page: Any, page_of_frame: Path, tmp_path: Path) -> None:
    seen = open_page(page_of_frame)
    seen.page.locator(".modes tbody button").last.click()
    with seen.page.expect_download() as waited:
        seen.page.get_by_role("button", name="save choice").click()
    file = tmp_path / "choice.json"
    waited.value.save_as(file)
    choice = json.loads(file.read_text("utf-8"))
    assert choice["schema"] == "dalembert-choice" and choice["version"] == 1 and len(choice["poles"]) == 2
    assert choice["inputs"] == ["force"] and choice["outputs"] == ["a1", "a2", "a3"]
    assert [one["name"] for one in choice["files"]] == ["frame.csv"] and len(choice["files"][0]["sha256"]) == 64
    found = document("identify", page_of_frame.with_name("frame.csv"), "--choice", file)
    wanted = [pole["frequency_hz"] for pole in choice["poles"]]
    assert [mode["frequency_hz"] for mode in found["modes"]] == pytest.approx(wanted, rel=1e-6)  # seven digits
    assert {mode["class"] for mode in found["modes"]} == {"chosen"} and found["order"] == 4
    # and back into the page
    seen.page.get_by_role("button", name="none").click()
    seen.page.locator("input[type=file]").set_input_files(file)
    seen.page.wait_for_timeout(200)
    assert seen.page.locator(".modes tbody tr").count() == 2


def test_the_shape_moves_on_the_places_of_the_sensors(open_page: Any, page_of_frame: Path) -> None:
    seen = open_page(page_of_frame, reduced_motion="no-preference")
    # frames are rare on a busy machine: the clock is set by hand, a period has 1600 ms
    script = f"""[0, 400, 800].map(now => {{ {BENCH}.shape.tick(now);
        return [document.querySelector('.shape .fixed').getAttribute('x'),
            ...[...document.querySelectorAll('.shape .spot')].map(one => one.getAttribute('cx'))].map(Number); }})"""
    first, quarter, half = seen.read(script)
    assert first[0] == quarter[0] == half[0]  # the ground
    middle = 0.5 * (np.array(first) + np.array(half))
    assert abs(first[3] - half[3]) > 10.0 and quarter[1:] == pytest.approx(middle[1:].tolist(), abs=2.0)
    seen.page.locator(".shape .play").click()
    assert not seen.read(f"{BENCH}.shape.playing") and seen.page.locator(".shape .play").inner_text() == "play"


@pytest.mark.parametrize(("wide", "scheme"), [(390, "light"), (1300, "dark")])
def test_narrow_and_dark_screens_show_all_of_it(open_page: Any, page_of_frame: Path, wide: int, scheme: str) -> None:
    seen = open_page(page_of_frame, viewport={"width": wide, "height": 844}, color_scheme=scheme)
    assert seen.read("document.documentElement.scrollWidth") <= wide
    paper = seen.read("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 28)")
    # names of modes stand apart
    script = """[...document.querySelectorAll('.workbench .mode')].map(
        e => { const b = e.getBoundingClientRect(); return [b.left, b.right]; })"""
    boxes = sorted(seen.read(script))
    assert len(boxes) == 3 and all(a[1] <= b[0] for a, b in pairwise(boxes))
    assert seen.said == []


def test_without_scripts_and_in_print_the_pictures_stay(open_page: Any, page_of_frame: Path) -> None:
    bare = open_page(page_of_frame, java_script_enabled=False)
    bare.page.wait_for_selector(".workbench img")
    assert bare.page.locator(".workbench img").count() == 2
    seen = open_page(page_of_frame)
    seen.page.emulate_media(media="print")
    assert seen.page.locator(".workbench .still").is_visible()
    assert not seen.page.locator(".workbench .interactive").is_visible()


@pytest.mark.slow
def test_a_hostile_name_stays_text_and_long_names_differ_in_the_shape(open_page: Any, tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=document.title='ran'>"
    record = make_test(1200)
    names = ["force", evil, "wing_tip_of_the_left_side_X", "wing_tip_of_the_left_side_Y"]
    odd = da.Record(record.time, record.data, names, ["N", *["m/s^2"] * 3])
    found = da.identify.auto(odd, "force", order=6, refined=False)
    da.report(found, tmp_path / "odd.html")
    seen = open_page(tmp_path / "odd.html")
    assert seen.page.title() == "Identification report"
    assert evil in seen.read(f"{BENCH}.data.outputs")
    assert evil in seen.page.locator("select").first.inner_text()
    assert seen.page.locator("img[src=x]").count() == 0
    labels = seen.page.locator(".workbench text.tick").all_text_contents()
    assert {text[-1] for text in labels if text.startswith("wing_ti…")} == {"X", "Y"}
    assert "magnitude [m/s²/N]" in seen.figure(0).text_content()
    assert seen.said == []
