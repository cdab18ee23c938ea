"""Plots and animations: what is drawn, what is refused, and that a page is safe and complete."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from dalembert.core.errors import DataError, FileFormatError
from dalembert.model.joints import JOINTS
from dalembert.record import Array, Record
from dalembert.view import plot
from dalembert.view.plots.record_channels import _COORDINATES, default_names, goes_round, thin_out
from tests.helpers.drawn_records import pendulum
from tests.helpers.findings import raises

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
    assert {part[0] for kind in JOINTS.values() for part in kind.coordinates} == {*_COORDINATES, "x", "y", "z"}
    names = ["b.x", "b.y", "b.angle", "U.angle1", "U.angle2", "S.angle", "S.displacement", "Q.x", "Q.y", "C.parameter"]
    names += ["U.rate1", "U.force.x", "tip.x", "tip.y", "energy", "energy.kinetic"]
    scene = {"joints": [{"name": name, "type": "?", "body": "b", "point": [0, 0, 0]} for name in "USQC"]}
    wanted = ["U.angle1", "U.angle2", "S.angle", "S.displacement", "Q.x", "Q.y", "C.parameter"]
    assert default_names(Record([0.0], [range(16)], names, scene=scene)) == [*wanted, "energy"]
    # a file without a scene does not say what is a joint: what looks like a point or a body is left out
    assert default_names(Record([0.0], [range(16)], names)) == [*wanted[:4], "C.parameter", "energy"]
    flying = Record([0.0], [range(5)], ["b.x", "b.y", "energy.kinetic", "energy", "residual.position"])
    assert default_names(flying) == ["b.x", "b.y", "energy"]
    assert default_names(flying.select("residual.position")) == ["residual.position"]
    many = [f"A{k}.angle" for k in range(20)]
    assert default_names(Record([0.0], [range(21)], [*many, "energy"])) == [*many[:8], "energy"]


def test_what_is_measured_comes_first_and_what_rests_is_left_out() -> None:
    t = np.linspace(0.0, 1.0, 50)
    channels = {"A.angle": 1.0 + 1e-16 * t, "B.angle": 2.0 + 0.1 * t, "C.angle": 0.1 * t, "height.x": 1e-17 * t}
    channels |= {"height.y": 1.0 + t, "torque": 5.0 * t, "energy": t}
    joints = [{"name": name, "type": "revolute", "body": "b", "point": [0, 0, 0]} for name in "ABC"]
    scene = {"joints": joints, "sensors": ["height"], "inputs": ["torque"]}
    units = {"A.angle": "rad", "B.angle": "rad", "C.angle": "rad", "height.x": "m", "height.y": "m", "torque": "N m"}
    run = Record.from_channels(t, channels, units=units, scene=scene)
    assert default_names(run) == ["height.y", "torque", "B.angle", "C.angle", "energy"]
    # two angles whose motion would be two flat lines on one axis
    assert [[line.get_label() for line in ax.lines] for ax in plot(run).axes] == [
        ["height.y"], ["torque"], ["B.angle"], ["C.angle"], ["energy"],
    ]  # fmt: skip
    assert len(plot(run, "B.angle", "C.angle").axes) == 1


def turning(extra: dict[str, Array] | None = None) -> Record:
    """A crank that turns three times, unevenly, with an encoder on it."""
    t = np.linspace(0.0, 3.0, 601)
    turned = 2.0 * np.pi * t + 0.5 * np.sin(2.0 * np.pi * t)
    channels = {"encoder": turned, "A.angle": turned, "A.rate": np.gradient(turned, t), "D.angle": np.sin(6.0 * t)}
    units = {"encoder": "rad", "A.angle": "rad", "A.rate": "rad/s", "D.angle": "rad"}
    joints = [{"name": name, "type": "revolute", "body": "b", "point": [0, 0, 0]} for name in "AD"]
    channels |= extra or {}
    units |= dict.fromkeys(extra or {}, "rad")
    return Record.from_channels(t, channels, units, scene={"joints": joints, "sensors": ["encoder", *(extra or {})]})


def test_an_angle_that_goes_round_and_round_is_drawn_by_its_rate() -> None:
    run = turning()
    assert default_names(run) == ["A.rate", "D.angle"]
    # a sensor that reads noise goes round too; one that swings to and fro as far does not
    noise = np.random.default_rng(1).normal(scale=0.01, size=len(run))
    assert default_names(turning({"noisy": run["encoder"] + noise})) == ["A.rate", "noisy", "D.angle"]
    assert goes_round(turning({"noisy": run["encoder"] + noise}), "noisy")
    swings = turning({"swing": 9.0 * np.sin(2.5 * run.time)})
    assert abs(swings["swing"][-1] - swings["swing"][0]) > 2.0 * np.pi
    assert not goes_round(swings, "swing")
    assert [line.get_label() for ax in plot(run, "A.angle").axes for line in ax.lines] == ["A.angle"]


def test_channels_that_are_equal_are_one_line_with_both_names() -> None:
    run = pendulum()
    angle, scene = run["A.angle"] / 2, {**(run.scene or {}), "sensors": ["encoder", "near"]}
    channels = {"encoder": angle, "A.angle": angle, "near": angle + 1e-3}
    reading = Record.from_channels(run.time, channels, dict.fromkeys(channels, "rad"), scene=scene)
    assert default_names(reading) == ["encoder", "near"]
    assert [line.get_label() for line in plot(reading).axes[0].lines] == ["encoder = A.angle", "near"]
    legs = {f"leg{k}.displacement": np.sin(run.time) for k in range(6)}
    alike = plot(Record.from_channels(run.time, legs, dict.fromkeys(legs, "m")))
    assert [line.get_label() for line in alike.axes[0].lines] == ["leg0.displacement and 5 equal"]
    assert alike.axes[0].get_ylabel() == "leg0.displacement\nand 5 equal\n[m]"
    assert len(plot(reading, "encoder", "A.angle").axes[0].lines) == 2  # what is asked for is drawn


def test_bodies_without_joints_are_drawn_by_place_and_speed_not_by_euler_parameters() -> None:
    names = ["disc.x", "disc.y", "disc.e0", "disc.e1", "disc.e2", "disc.e3", "disc.vx", "disc.wx"]
    values = np.cumsum(np.arange(1.0, 25.0).reshape(3, 8), axis=0) * np.arange(1.0, 9.0)
    assert default_names(Record([0.0, 1.0, 2.0], values, names)) == ["disc.x", "disc.y", "disc.vx", "disc.wx"]


def test_accelerations_of_rounding_beside_gravity_are_rest() -> None:
    t = np.linspace(0.0, 1.0, 50)
    channels = {"roof.x": 5e-10 * np.sin(40 * t), "A.angle": 0.0 * t}
    scene = {"joints": [{"name": "A"}], "sensors": ["roof"], "gravity": [0, -9.81, 0]}
    assert default_names(Record.from_channels(t, channels, {"roof.x": "m/s^2", "A.angle": "rad"}, scene=scene)) == [
        "A.angle"
    ]


@pytest.mark.parametrize(("middle", "swing"), [(1.0, 5e-4), (-0.3, 1e-5), (12345.678, 1.0), (1e9, 1e4), (0.0, 0.02)])
def test_labels_of_ticks_distinguish_values(middle: float, swing: float) -> None:
    t = np.linspace(0.0, 1.0, 101)
    figure = plot(Record.from_channels(t, {"place.z": middle + swing * np.sin(9 * t)}, {"place.z": "m"}))
    figure.canvas.draw()
    ax = figure.axes[0]
    inside = [value for value in ax.get_yticks() if ax.get_ylim()[0] <= value <= ax.get_ylim()[1]]
    shown = [ax.yaxis.get_major_formatter()(value) for value in inside]
    assert len(shown) >= 3
    assert len({*shown}) == len(shown)


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
    nothing = Record.from_channels(
        t, {"energy": 1e-11 * noise, "energy.kinetic": t}, {"energy": "J", "energy.kinetic": "J"}
    )
    assert plot(nothing, "energy").axes[0].get_ylim() == (-0.1, 0.1)
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
    plot(pendulum(), path=tmp_path / f"p.{suffix}")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert (tmp_path / f"p.{suffix}").read_bytes().startswith(start)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_wrong_picture_format_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    (tmp_path / "p.bmpx").write_text("old")
    with raises(FileFormatError, "unknown-choice"):
        plot(pendulum(), path=tmp_path / "p.bmpx")
    assert (tmp_path / "p.bmpx").read_text() == "old"


def test_odd_names_are_drawn_as_they_are() -> None:
    run = Record([0.0, 1.0], [[1, 2, 3], [3, 4, 5]], ["$a_{", "_b", "<c>&"], ["m^{", "m^{", "m^{"], name="$\\frac")
    plot(run)._repr_png_()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("how", "code", "shown"),
    [
        (lambda run: plot(run, "A.angel"), "unknown-name", "'A.angle'"),
        (lambda run: plot(run, "energy", against="tme"), "unknown-name", "'tme'"),
        (lambda run: plot(run, "energy", against="tip"), "wrong-shape", "tip.x, tip.y"),
        (lambda run: plot(run.to_pandas()), "wrong-type", "DataFrame"),
    ],
)
def test_a_plot_of_what_is_not_there_is_refused(how, code: str, shown: str) -> None:  # type: ignore[no-untyped-def]
    with raises(DataError, code, shown):
        how(pendulum())


def test_thinning_keeps_every_extreme_and_every_long_gap() -> None:
    rng = np.random.default_rng(1)
    x = np.arange(200_003.0)
    y = rng.normal(size=x.size)
    y[123_456] = 50.0
    y[50_000:60_000] = np.nan
    thin_x, thin_y = thin_out(x, y, monotonic=True)
    assert thin_x.size < 10_000
    assert np.all(np.diff(thin_x) > 0)
    assert np.nanmax(thin_y) == 50.0
    assert np.nanmin(thin_y) == np.nanmin(y)
    assert np.isnan(thin_y[(thin_x > 50_100) & (thin_x < 59_900)]).all()
    assert (thin_x[0], thin_x[-1]) == (x[0], x[-1])


def swing(rate: str = "A.rate") -> Record:
    t = np.linspace(0.0, 10.0, 2001)
    data = np.column_stack([np.sin(2 * np.pi * t), 2 * np.pi * np.cos(2 * np.pi * t), 0.1 * np.sin(6 * np.pi * t)])
    return Record(t, data, ["A.angle", rate, "force"], ["rad", "rad/s", "N"], name="swing")


def test_many_channels_are_spread_over_axes_by_what_they_show() -> None:
    names = [f"storey{i}.{axis}" for i in range(7) for axis in ("x", "y")]
    run = Record([0.0, 1.0], np.arange(28.0).reshape(2, 14), names, ["m"] * 14)
    assert [ax.get_ylabel() for ax in plot(run, *names).axes] == ["x [m]", "y [m]"]
    gauges = [f"gauge{i}" for i in range(30)]
    run = Record([0.0, 1.0], np.arange(60.0).reshape(2, 30), gauges, ["V"] * 30)
    assert [len(ax.lines) for ax in plot(run, *gauges).axes] == [8, 8, 8, 6]


def test_options_of_another_view_are_refused() -> None:
    with raises(DataError, "ineffective-argument", "'control'", "'time'"):
        plot(swing(), switched_on=3.0)
    with raises(DataError, "unknown-name", "'phse'"):
        plot(swing(), view="phse")
    with raises(DataError, "bad-name"):
        plot(swing(), swing())
