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

import dalembert as da
from dalembert.errors import DataError, FileFormatError
from dalembert.mechanics.scene import scene_of
from dalembert.model.joints import COORDINATES
from dalembert.record import Record
from dalembert.view import animate, plot
from dalembert.view.plots import _COORDINATES, _default_names, _thinned


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


def test_coordinates_of_every_kind_of_joint_are_shown_up_to_eight() -> None:
    assert {part[0] for parts in COORDINATES.values() for part in parts} == {*_COORDINATES, "x", "y"}
    names = ["b.x", "b.y", "b.angle", "U.angle1", "U.angle2", "S.angle", "S.displacement", "Q.x", "Q.y", "C.parameter"]
    names += ["U.rate1", "U.force.x", "tip.x", "tip.y", "energy", "energy.kinetic"]
    scene = {"joints": [{"name": name, "type": "?", "body": "b", "point": [0, 0, 0]} for name in "USQC"]}
    wanted = ["U.angle1", "U.angle2", "S.angle", "S.displacement", "Q.x", "Q.y", "C.parameter"]
    assert _default_names(Record([0.0], [range(16)], names, scene=scene)) == [*wanted, "energy"]
    # a file without a scene does not say what is a joint: what looks like a point or a body is left out
    assert _default_names(Record([0.0], [range(16)], names)) == [*wanted[:4], "C.parameter", "energy"]
    flying = Record([0.0], [range(5)], ["b.x", "b.y", "energy.kinetic", "energy", "residual.position"])
    assert _default_names(flying) == ["b.x", "b.y", "energy"]
    assert _default_names(flying.select("residual.position")) == ["residual.position"]
    many = [f"A{k}.angle" for k in range(20)]
    assert _default_names(Record([0.0], [range(21)], [*many, "energy"])) == [*many[:8], "energy"]


def test_rounding_errors_are_drawn_flat_and_differences_are_not() -> None:
    t = np.linspace(0.0, 1.0, 101)
    noise = np.random.default_rng(1).normal(size=t.size)
    channels = {
        "energy": -5.1364011712095 + 1e-12 * noise,
        "energy.balance": 1e-12 * noise,
        "residual.position": 1e-14 * noise,
        "b.x": 2.0 + np.sin(t),
        "P.displacement": 1e-17 * noise,
        "P.torque.z": 1e-24 * noise,
        "small": 1e-9 * np.sin(t),
        "near": 1.0 + 1e-5 * np.sin(t),
    }
    units = {"energy": "J", "energy.balance": "J", "b.x": "m", "P.displacement": "m", "P.torque.z": "N m", "small": "V"}
    run = Record.from_channels(t, channels, units)

    def height(name: str) -> float:
        low, high = plot(run, name).axes[0].get_ylim()
        assert low < np.min(run[name])
        assert np.max(run[name]) < high
        return high - low

    assert height("energy") > 1.0
    assert height("P.displacement") == pytest.approx(0.11)
    assert height("P.torque.z") == pytest.approx(0.11)
    for name in ("energy.balance", "residual.position", "b.x", "small", "near"):
        # the range of the data and 8 % on either side
        assert height(name) == pytest.approx(1.16 * np.ptp(run[name]))
    figure = plot(run, "energy")
    figure.canvas.draw()
    assert all(len(tick.get_text()) <= 5 for tick in figure.axes[0].get_yticklabels())
    plot(Record([0.0, 1.0], [[np.nan], [np.nan]], ["gap"], ["m"]))._repr_png_()  # type: ignore[attr-defined]


def test_an_axes_is_named_by_what_its_channels_share() -> None:
    names = ["A.force.x", "A.force.y", "B.force.x", "P.displacement", "mid.x", "R.angle", "U.angle1", "p", "q"]
    run = Record([0.0, 1.0], np.zeros((2, 9)), names, ["N", "N", "N", "m", "m", "rad", "rad", "V", "V"])
    labels = [ax.get_ylabel() for ax in plot(run, *names).axes]
    assert labels == ["force [N]", "length [m]", "angle [rad]", "[V]"]


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
    joint = scene_of(m)["joints"][0]
    assert joint == {
        "name": "P",
        "type": "prismatic",
        "body": "block",
        "point": [0.5, 0.0, 0.0],
        "other": {"body": None, "point": [1.0, 2.0, 0.0]},
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
