"""Plots and animations: what is drawn, what is refused, and that a page is safe and complete."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from dalembert.errors import DataError, FileFormatError
from dalembert.record import Record
from dalembert.view import animate, plot
from dalembert.view.plots import _thinned


def pendulum(samples: int = 61, name: str = "pendulum") -> Record:
    """A rod turning about the origin, its centre at 0.5 m."""
    t = np.linspace(0.0, 2.0, samples)
    angle = 3.0 * t
    channels = {
        "rod.x": 0.5 * np.cos(angle),
        "rod.y": 0.5 * np.sin(angle),
        "rod.angle": angle,
        "A.angle": angle,
        "A.rate": np.full_like(t, 3.0),
        "tip.x": np.cos(angle),
        "tip.y": np.sin(angle),
        "energy": 0.5 + 0 * t,
    }
    units = {"rod.x": "m", "rod.y": "m", "rod.angle": "rad", "A.angle": "rad", "A.rate": "rad/s"}
    units |= {"tip.x": "m", "tip.y": "m", "energy": "J"}
    scene = {
        "planar": True,
        "bodies": [{"name": "rod", "points": [[-0.5, 0, 0], [0.5, 0, 0]], "lines": [[0, 1]]}],
        "ground": [[0, 0, 0]],
        "joints": [{"name": "A", "type": "revolute", "body": "rod", "point": [-0.5, 0, 0]}],
        "springs": [{"name": "k", "a": ["rod", [0, 0, 0]], "b": [None, [1.0, 1.0, 0]]}],
    }
    return Record.from_channels(t, channels, units, name=name, scene=scene)


def spinning(samples: int = 61) -> Record:
    """A box turning about z, its quaternion changing sign halfway as a solver's may."""
    t = np.linspace(0.0, 1.0, samples)
    sign = np.where(t > 0.5, -1.0, 1.0)
    channels: dict[str, Any] = {"b.x": 0 * t + 1, "b.y": 0 * t, "b.z": 0 * t}
    channels |= {"b.e0": sign * np.cos(t / 2), "b.e1": 0 * t, "b.e2": 0 * t, "b.e3": sign * np.sin(t / 2)}
    shape = {"kind": "box", "size": [0.4, 0.2, 0.1], "axis": "x"}
    scene = {"planar": False, "bodies": [{"name": "b", "points": [[1, 0, 0]], "lines": [], "shape": shape}]}
    return Record.from_channels(t, channels, scene=scene)


def page_data(path: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"), re.S)
    assert found
    data: dict[str, Any] = json.loads(found.group(1))
    return data


# ---- plots


def test_a_plot_has_one_axes_per_unit_with_names_and_units() -> None:
    figure = plot(pendulum(), "A.angle", "rod.angle", "energy", "tip")
    labels = [ax.get_ylabel() for ax in figure.axes]
    assert labels == ["angle [rad]", "energy [J]", "tip [m]"]
    assert figure.axes[-1].get_xlabel() == "time [s]"
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["A.angle", "rod.angle"]
    assert figure.axes[0].get_title(loc="left") == "pendulum"


def test_a_plot_without_names_shows_joint_coordinates_and_energy() -> None:
    figure = plot(pendulum())
    drawn = [line.get_label() for ax in figure.axes for line in ax.lines]
    assert drawn == ["A.angle", "energy"]
    plain = Record([0.0, 1.0], np.zeros((2, 20)), [f"c{i}" for i in range(20)], ["V"] * 20)
    assert len(plot(plain).axes[0].lines) == 8


def test_a_channel_is_plotted_against_another_with_equal_scales() -> None:
    figure = plot(pendulum(), "tip.y", against="tip.x")
    assert figure.axes[0].get_xlabel() == "tip.x [m]"
    assert figure.axes[0].get_aspect() == 1.0


def test_plotting_changes_no_global_setting_and_keeps_no_figure() -> None:
    before = dict(mpl.rcParams)
    plot(pendulum())
    assert dict(mpl.rcParams) == before
    import matplotlib.pyplot as plt

    assert plt.get_fignums() == []


def test_a_plot_shows_itself_in_a_notebook() -> None:
    assert plot(pendulum())._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_plot_is_written_in_the_format_of_its_suffix(tmp_path: Path, suffix: str) -> None:
    plot(pendulum(), file=tmp_path / f"p.{suffix}")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert (tmp_path / f"p.{suffix}").read_bytes().startswith(start)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_wrong_picture_format_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    (tmp_path / "p.bmpx").write_text("old")
    with pytest.raises(FileFormatError, match=r"Known: .*\.png"):
        plot(pendulum(), file=tmp_path / "p.bmpx")
    assert (tmp_path / "p.bmpx").read_text() == "old"


def test_odd_names_are_drawn_as_they_are() -> None:
    run = Record([0.0, 1.0], [[1, 2, 3], [3, 4, 5]], ["$a_{", "_b", "<c>&"], ["m^{", "m^{", "m^{"], name="$\\frac")
    plot(run)._repr_png_()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda run: plot(run, "A.angel"), r"Did you mean 'A\.angle'"),
        (lambda run: plot(run, "energy", against="tme"), "no channel named 'tme'"),
        (lambda run: plot(run, "energy", against="tip"), "is a vector; take one of tip.x, tip.y"),
        (lambda run: plot(run.to_pandas()), "takes a Record, not a DataFrame"),
    ],
)
def test_a_plot_of_what_is_not_there_is_refused(how, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError, match=message):
        how(pendulum())


def test_thinning_keeps_every_extreme_and_every_long_gap() -> None:
    rng = np.random.default_rng(1)
    x = np.arange(200_003.0)
    y = rng.normal(size=x.size)
    y[123_456] = 50.0
    y[50_000:60_000] = np.nan
    thin_x, thin_y = _thinned(x, y, monotonic=True)
    assert thin_x.size < 10_000
    assert np.all(np.diff(thin_x) > 0)
    assert np.nanmax(thin_y) == 50.0
    assert np.nanmin(thin_y) == np.nanmin(y)
    assert np.isnan(thin_y[(thin_x > 50_100) & (thin_x < 59_900)]).all()
    assert (thin_x[0], thin_x[-1]) == (x[0], x[-1])


# ---- animations


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


def test_a_page_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    animate(pendulum(), tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text("utf-8")
    assert "http://" not in text
    assert "https://" not in text
    assert not re.search(r"\ssrc\s*=|@import|url\(", text)
    assert "default-src 'none'" in text


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
    with pytest.raises(DataError, match=r"no point named 'tipp' in the scene\. Did you mean 'tip'"):
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
        (lambda: Record([0.0], [[1.0]], ["a"]), {}, DataError, "no scene to draw"),
        (lambda: pendulum().select("rod.x", "rod.y"), {}, DataError, "no channel named 'rod.angle'"),
        (lambda: "run", {}, DataError, "takes a Record"),
        (pendulum, {"fps": 0}, DataError, "fps must be a positive number"),
        (pendulum, {"speed": np.nan}, DataError, "speed must be a positive number"),
        (pendulum, {"fps": 1e9}, DataError, "too much for one page"),
        (pendulum, {"path": "a.gif"}, FileFormatError, r"ending in \.html"),
        (lambda: Record([0.0], [[1.0]], ["a"], scene={"bodies": []}), {}, DataError, "has no bodies"),
        (lambda: Record([0.0], [[1.0]], ["a"], scene={"bodies": [{}]}), {}, DataError, "cannot be drawn"),
    ],
)
def test_what_cannot_be_animated_is_refused_and_leaves_no_file(  # type: ignore[no-untyped-def]
    tmp_path: Path, make, how: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        animate(make(), tmp_path / how.pop("path", "a.html"), **how)
    assert list(tmp_path.iterdir()) == []


def test_a_gap_in_a_pose_is_refused(tmp_path: Path) -> None:
    run = pendulum()
    data = run.data.copy()
    data[3, 0] = np.nan
    with pytest.raises(DataError, match=r"'rod\.x' has gaps"):
        animate(Record(run.time, data, run.names, scene=run.scene), tmp_path / "a.html")
