"""Animations: what a page holds, what is refused, and that a page is safe and complete."""

from __future__ import annotations

import re
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, FileFormatError
from dalembert.mechanics.absolute.scene import describe_scene
from dalembert.record import Record
from dalembert.view import animate
from tests.helpers.animation_pages import page_data
from tests.helpers.drawn_records import pendulum
from tests.helpers.findings import raises


def spinning(samples: int = 61) -> Record:
    """A box turning about z, its quaternion changing sign halfway as a solver's may."""
    t = np.linspace(0.0, 1.0, samples)
    sign = np.where(t > 0.5, -1.0, 1.0)
    channels: dict[str, Any] = {"b.x": 0 * t + 1, "b.y": 0 * t, "b.z": 0 * t}
    channels |= {"b.e0": sign * np.cos(t / 2), "b.e1": 0 * t, "b.e2": 0 * t, "b.e3": sign * np.sin(t / 2)}
    shape = {"kind": "box", "size": [0.4, 0.2, 0.1], "axis": "x"}
    scene = {"planar": False, "bodies": [{"name": "b", "points": [[1, 0, 0]], "lines": [], "shape": shape}]}
    return Record.from_channels(t, channels, scene=scene)


def test_a_page_holds_the_poses_at_the_asked_rate(tmp_path: Path) -> None:
    animate(pendulum(), tmp_path / "a.html", fps=20, speed=0.5, trail="tip")
    data = page_data(tmp_path / "a.html")
    assert data["frames"] == 81  # 2 s at half speed, 20 pictures a second, and the last one
    assert data["step"] == pytest.approx(0.025, rel=1e-12)
    x, y, angle = map(np.array, data["bodies"][0]["pose"])
    times = np.linspace(0, 2, 81)
    # cubic between samples 1/30 s apart at 3 rad/s: 5/384 h⁴ ω⁴ · 0.5 m < 1e-6 inside, some times that at the
    # ends, and five digits of rounding on a scene of 2 m: half of 1e-5
    assert np.abs(x - 0.5 * np.cos(3 * times)).max() < 2e-5
    assert np.abs(angle - 3 * times).max() < 1e-5
    assert len(data["trails"][0]["points"]) == 81
    assert np.hypot(x, y) == pytest.approx(0.5, abs=2e-5)


def test_pictures_are_added_until_a_fast_path_looks_round(tmp_path: Path) -> None:
    t = np.linspace(0.0, 1.0, 1001)
    turn = 100.0 * t
    channels = {"c.x": 0.1 * np.cos(turn), "c.y": 0.1 * np.sin(turn), "c.angle": turn}
    scene = {"planar": True, "bodies": [{"name": "c", "points": [[-0.1, 0, 0], [0.1, 0, 0]], "lines": [[0, 1]]}]}
    run = Record.from_channels(t, channels, scene=scene)
    animate(run, tmp_path / "a.html", trail="c")
    data = page_data(tmp_path / "a.html")
    path = np.array(data["trails"][0]["points"])
    between = (path[1:] + path[:-1]) / 2
    # the tip at 0.2 m is allowed 1.5e-3 of the radius of the scene below its chords, so 0.1 m half of that
    assert 0.1 - np.hypot(between[:, 0], between[:, 1]).min() < 1.5e-3 * data["radius"]
    assert data["frames"] == len(path) > 31
    assert data["picture"] == pytest.approx(1 / 30)
    assert data["picture"] / data["step"] == pytest.approx(round(data["picture"] / data["step"]))


def test_a_record_of_few_samples_is_not_refined_without_end(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    scene = {"planar": True, "bodies": [{"name": "c", "points": [[1, 0, 0]], "lines": []}]}
    run = Record([0, 1, 2, 3, 4, 5], rng.normal(size=(6, 3)), ["c.x", "c.y", "c.angle"], scene=scene)
    animate(run, tmp_path / "a.html", fps=0.5)
    assert page_data(tmp_path / "a.html")["frames"] <= 16 * len(run)


def test_both_points_of_a_joint_reach_the_page_and_scenes_of_old_have_one(tmp_path: Path) -> None:
    run = pendulum()
    scene = run.scene
    assert scene is not None
    old = scene["joints"][0]
    new = {**old, "name": "P", "type": "prismatic", "other": {"body": None, "point": [2, 3]}}
    animate(Record(run.time, run.data, run.names, scene={**scene, "joints": [old, new]}), tmp_path / "a.html")
    first, second = page_data(tmp_path / "a.html")["joints"]
    assert "other" not in first
    assert second["other"] == {"body": None, "point": [2, 3, 0]}


def test_the_scene_of_a_mechanism_names_both_bodies_of_a_joint() -> None:
    m = da.Mechanism("slide", planar=True)
    block = m.add_body("block", mass=1.0, inertia=1.0)
    m.add_prismatic("P", m.ground.at(1, 2), block.at(0.5, 0))
    joint = describe_scene(m).to_json()["joints"][0]
    assert joint == {
        "name": "P",
        "type": "prismatic",
        "glyph": "slide",
        "legend": "slide and its rail",
        "body": "block",
        "point": [0.5, 0.0, 0.0],
        "other": {"point": [1.0, 2.0, 0.0], "axis": [1.0, 0.0, 0.0]},  # without a body: the ground
        "axis": [1.0, 0.0, 0.0],
    }


def test_the_ground_end_of_a_spring_is_inside_the_picture(tmp_path: Path) -> None:
    run = pendulum()
    scene = run.scene
    assert scene is not None
    scene["springs"] = [{"name": "k", "a": ["rod", [0, 0, 0]], "b": [None, [5.0, 1.0, 0]]}]
    animate(Record(run.time, run.data, run.names, scene=scene), tmp_path / "a.html")
    assert page_data(tmp_path / "a.html")["high"][0] == 5.0


def test_a_page_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    animate(pendulum(), tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text("utf-8")
    # what remains are names of XML vocabularies in the script, which nobody opens
    assert set(re.findall(r"https?://[\w.]+", text)) <= {"http://www.w3.org"}
    assert re.findall(r"<(?:link|img|script|iframe)[^>]* (?:src|href)=\S*", text) == ['<link rel="icon" href="data:,">']
    assert "default-src 'none'" in text
    assert "connect-src 'none'" in text
    assert "with three.js:\nThe MIT License" in text


def test_names_cannot_break_out_of_the_script(tmp_path: Path) -> None:
    nasty = "</script><script>alert(1)</script><!-- & \"'"
    run = pendulum(name=nasty)
    scene = run.scene
    assert scene is not None
    scene["joints"] = [{**scene["joints"][0], "name": nasty}]
    animate(Record(run.time, run.data, run.names, name=nasty, scene=scene), tmp_path / "a.html")
    tags: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            tags.append(tag)

    Reader().feed((tmp_path / "a.html").read_text("utf-8"))
    assert tags.count("script") == 2
    data = page_data(tmp_path / "a.html")
    assert data["name"] == nasty
    assert data["joints"][0]["name"] == nasty


def test_a_quaternion_that_changes_sign_is_followed_the_short_way(tmp_path: Path) -> None:
    animate(spinning(), tmp_path / "a.html", fps=97)
    e = np.array(page_data(tmp_path / "a.html")["bodies"][0]["pose"][3:])
    assert np.linalg.norm(e, axis=0) == pytest.approx(1.0, abs=1e-4)
    assert np.abs(np.diff(e, axis=1)).max() < 0.01  # half of 1 rad/s · 1/97 s, and rounding


def test_a_trail_may_be_a_joint_a_body_or_a_position(tmp_path: Path) -> None:
    animate(pendulum(), tmp_path / "a.html", trail=["A", "rod", "tip"])
    at_joint, at_body, at_tip = (np.array(t["points"]) for t in page_data(tmp_path / "a.html")["trails"])
    # pictures and samples fall together, so what is left is rounding to 1e-5 of a coordinate, 5e-6 · √2 of a distance
    assert np.abs(at_joint).max() < 1e-5
    assert np.hypot(at_body[:, 0], at_body[:, 1]) == pytest.approx(0.5, abs=1e-5)
    assert np.hypot(at_tip[:, 0], at_tip[:, 1]) == pytest.approx(1.0, abs=1e-5)
    with raises(DataError, "unknown-name", "'tipp'", "'tip'"):
        animate(pendulum(), tmp_path / "b.html", trail="tipp")


def test_a_single_sample_is_a_still_picture(tmp_path: Path) -> None:
    animate(pendulum().between(0, 0), tmp_path / "a.html", trail="tip")
    assert page_data(tmp_path / "a.html")["frames"] == 1


def test_every_shape_of_a_body_reaches_the_page(tmp_path: Path) -> None:
    run = spinning()
    for kind, size, expected in (
        ("cylinder", [0.2, 0.5], {"radius": 0.2, "length": 0.5}),
        ("sphere", [0.3], {"radius": 0.3}),
        ("rod", [2.0], {"ends": [[-1, 0, 0], [1, 0, 0]]}),
        ("box", [1.0, 2.0, 3.0], {"size": [1, 2, 3]}),
    ):
        scene = {"bodies": [{"name": "b", "points": [], "shape": {"kind": kind, "size": size, "axis": "x"}}]}
        animate(Record(run.time, run.data, run.names, scene=scene), tmp_path / "a.html")
        data = page_data(tmp_path / "a.html")
        assert expected.items() <= data["bodies"][0]["shape"].items()
        assert data["high"][0] > 1.0


@pytest.mark.parametrize(
    ("make", "how", "error", "message"),
    [
        (lambda: Record([0.0], [[1.0]], ["a"]), {}, DataError, "no-scene"),
        (lambda: pendulum().select("rod.x", "rod.y"), {}, DataError, "missing-channel"),
        (lambda: "run", {}, DataError, "wrong-type"),
        (pendulum, {"fps": 0}, DataError, "not-positive"),
        (pendulum, {"speed": np.nan}, DataError, "not-positive"),
        (pendulum, {"fps": 1e9}, DataError, "too-large"),
        (pendulum, {"path": "a.gif"}, FileFormatError, "bad-name"),
        (lambda: Record([0.0], [[1.0]], ["a"], scene={"bodies": []}), {}, DataError, "empty"),
        (lambda: Record([0.0], [[1.0]], ["a"], scene={"bodies": [{}]}), {}, DataError, "damaged"),
    ],
)
def test_what_cannot_be_animated_is_refused_and_leaves_no_file(  # type: ignore[no-untyped-def]
    tmp_path: Path, make, how: dict[str, Any], error: type[Exception], message: str
) -> None:
    with raises(error, message):
        animate(make(), tmp_path / how.pop("path", "a.html"), **how)
    assert list(tmp_path.iterdir()) == []


def test_a_run_read_from_csv_is_drawn_with_its_mechanism(tmp_path: Path) -> None:
    m = da.read_model("slider-crank")
    eqs = da.equations(m)
    whole = da.simulate(eqs, 0.2, start=da.assemble(eqs, **m.start), every=0.05)
    da.write_record(whole, tmp_path / "run.csv")
    read = da.read_record(tmp_path / "run.csv")
    assert read.scene is None
    for machine in (m, eqs):
        drawn = animate(read, structure=machine)
        assert drawn.html == animate(whole).html


def test_a_gap_in_a_pose_is_refused(tmp_path: Path) -> None:
    run = pendulum()
    data = run.data.copy()
    data[3, 0] = np.nan
    with raises(DataError, "not-finite", "'rod.x'"):
        animate(Record(run.time, data, run.names, scene=run.scene), tmp_path / "a.html")


def test_the_live_view_opens_from_python_and_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    server = da.view("pendulum", block=False)
    try:
        assert opened == [server.address]
        with urllib.request.urlopen(server.address, timeout=10) as answer:
            assert b"</html>" in answer.read()
    finally:
        server.close()
    with pytest.raises(OSError), urllib.request.urlopen(server.address, timeout=2):
        pass
    with raises(DataError, "wrong-type"):
        da.view(3, browser=False, block=False)
