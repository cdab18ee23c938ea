"""Pictures of the linear world: what is drawn, named and refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.text import Text

from dalembert.core.errors import DataError, FileFormatError
from dalembert.linear import (
    EigenvalueBranches,
    FrequencyResponse,
    Modes,
    Roots,
    SecondOrder,
    StateSpace,
    campbell,
    root_locus,
    track_eigenvalues,
)
from dalembert.structures import Bar, Beam, correlate, guyan
from dalembert.view import plot
from dalembert.view.plots.linear import pole_map
from tests.helpers.findings import raises


def building() -> SecondOrder:
    """Three storeys; 5.4566, 15.8108 and 23.6377 Hz (Dyke 1996)."""
    C = [[175, -50, 0], [-50, 100, -50], [0, -50, 50]]
    K = 1e5 * np.array([[12, -6.84, 0], [-6.84, 13.7, -6.84], [0, -6.84, 6.84]])
    floors = ["floor1.x", "floor2.x", "floor3.x"]
    units = {**dict.fromkeys(floors, "m"), "shaker": "N", "jack": "N"}
    return SecondOrder(
        98.3 * np.eye(3), K, C=C, B=np.eye(3)[:, 1:], coordinates=floors, inputs=["jack", "shaker"], units=units
    )


def responses(frequencies: Any = None) -> FrequencyResponse:
    hertz = np.linspace(0.5, 30.0, 1181) if frequencies is None else frequencies
    return building().frequency_response(2 * np.pi * np.asarray(hertz))


def bicycle() -> EigenvalueBranches:
    """Carvallo and Whipple's bicycle over its speed (Meijaard 2007): weave 4.292, capsize 6.024 m/s."""
    M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
    C1 = np.array([[0, 33.86641391492494], [-0.85035641456978, 1.6854039739756]])
    K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
    K2 = np.array([[0, 76.59734589573222], [0, 2.65431523794604]])
    speeds = np.linspace(0.0, 10.0, 41)
    return track_eigenvalues(
        lambda v: SecondOrder.from_full(M, v * C1, 9.81 * K0 + v * v * K2), speeds, parameter="speed", unit="m/s"
    )


def rotor() -> EigenvalueBranches:
    """Critical speeds of order 1: √(36/13), and of order 2."""
    return campbell(
        lambda w: SecondOrder(np.eye(2), np.diag([4.0, 9.0]), G=[[0, w], [-w, 0]]), np.linspace(0.0, 4.0, 9),
        orders=(1.0, 2.0),
    )  # fmt: skip


def labelled(ax: Any, label: str) -> list[Any]:
    return [line for line in ax.lines if line.get_label() == label]


def words(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def drawn(figure: Any) -> None:
    """Nothing raises or warns when the picture is made."""
    figure.canvas.draw()


# ---- frequency responses


def test_magnitudes_and_phases_are_drawn_with_names_and_units() -> None:
    figure = plot(responses(), ("floor1.x", "shaker"), ("floor3.x", "shaker"))
    size, angle = figure.axes
    assert size.get_ylabel() == "receptance [m/N]"
    assert angle.get_ylabel() == "phase [deg]"
    assert angle.get_xlabel() == "frequency [Hz]"
    assert [text.get_text() for text in size.get_legend().get_texts()] == ["floor1.x / shaker", "floor3.x / shaker"]
    assert size.get_yscale() == "log"
    drawn(figure)


def test_the_peaks_of_a_building_are_named_by_their_frequencies() -> None:
    figure = plot(responses(), ("floor3.x", "shaker"))
    # the grid is 0.025 Hz wide, so half of that beside the published frequencies, and the four digits written
    found = [float(text.split()[0]) for text in words(figure.axes[0])]
    assert sorted(found) == pytest.approx([5.4566, 15.8108, 23.6377], abs=0.0125 + 0.005)
    assert len(labelled(figure.axes[0], "_peaks")) == 1
    assert words(plot(responses(), ("floor3.x", "shaker"), peaks=False).axes[0]) == []


def test_decibels_and_radians_per_second_are_drawn_on_request() -> None:
    response = responses()
    figure = plot(response, ("floor1.x", "jack"), magnitude="dB", frequency="rad/s", phase=False, title="roof")
    (ax,) = figure.axes
    assert ax.get_ylabel() == "receptance [dB re 1 m/N]"
    assert ax.get_xlabel() == "frequency [rad/s]"
    x, y = ax.lines[0].get_data()
    assert np.array_equal(x, response.frequencies)
    assert np.array_equal(y, response.decibels("floor1.x", "jack"))
    assert figure.get_suptitle() == "roof"


def test_an_output_alone_means_all_inputs_and_nothing_means_everything() -> None:
    assert len(plot(responses(), "floor2.x", peaks=False).axes[0].lines) == 2
    assert len(plot(responses(), peaks=False).axes[0].lines) == 6


def test_entries_of_different_units_have_axes_of_their_own() -> None:
    w = np.linspace(1.0, 10.0, 50)
    H = np.ones((50, 2, 1)) / (9.0 - w**2 + 0.1j * w)[:, None, None]
    both = FrequencyResponse(
        w, H, ["f"], ["x", "angle"], input_units={"f": "N"}, output_units={"x": "m", "angle": "rad"}
    )
    assert [ax.get_ylabel() for ax in plot(both).axes] == ["magnitude [m/N]", "magnitude [rad/N]", "phase [deg]"]


def test_the_frequency_axis_follows_the_spacing_of_the_grid() -> None:
    assert plot(responses()).axes[-1].get_xscale() == "linear"
    spread = plot(responses(np.geomspace(0.5, 50.0, 300)))
    assert spread.axes[-1].get_xscale() == "log"
    assert plot(responses(), axis="log").axes[-1].get_xscale() == "log"
    spread.canvas.draw()
    shown = [label.get_text() for label in spread.axes[-1].get_xticklabels() + spread.axes[0].get_yticklabels()]
    assert "10" in shown
    assert "10⁻⁵" in shown
    assert not any("$" in text for text in shown)  # no typesetting commands


def test_a_phase_that_rests_at_half_a_turn_is_not_torn() -> None:
    w = np.linspace(2.0, 9.0, 400)
    beyond = FrequencyResponse(w, 1.0 / (1.0 - w**2 + 1e-9j * np.sin(40.0 * w)), ["f"], ["x"])
    x, _ = plot(beyond, peaks=False).axes[1].lines[0].get_data()
    assert not np.isnan(x).any()
    turning = FrequencyResponse(w, np.exp(-2j * w), ["f"], ["x"])
    x, y = plot(turning, peaks=False).axes[1].lines[0].get_data()
    assert np.isnan(y).sum() >= 2  # gaps and no line from one end of the range to the other
    assert np.nanmax(np.abs(np.diff(y))) < 180.0


def test_exact_zeros_and_single_frequencies_are_drawn() -> None:
    drawn(plot(FrequencyResponse([1.0, 2.0, 3.0], [0.0, 1.0, 2.0], ["f"], ["x"])))
    drawn(plot(FrequencyResponse([0.0], [1.0], ["f"], ["x"])))
    drawn(plot(FrequencyResponse([1.0, 2.0], [0.0, 0.0], ["f"], ["x"])))
    drawn(plot(FrequencyResponse([-2.0, 0.0, 2.0], [1.0, 2.0, 1.0], ["f"], ["x"])))


# ---- eigenvalue branches


def test_a_campbell_diagram_marks_where_orders_meet_frequencies() -> None:
    found = rotor()
    figure = plot(found, title="rotor")
    (ax,) = [one for one in figure.axes if one.get_ylabel() == "frequency [Hz]"]
    assert ax.get_xlabel() == "speed [rad/s]"
    assert len(labelled(ax, "_order")) == 2
    marks = [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in labelled(ax, "_critical")]
    assert len(marks) == len(found.critical_speeds) == 3
    assert marks[0][0] == pytest.approx(np.sqrt(36 / 13))
    for (speed, height), one in zip(marks, found.critical_speeds):
        assert height == pytest.approx(one.order * speed / (2 * np.pi))
    assert {"1×", "2×"} <= set(words(ax))
    drawn(figure)


def test_an_undamped_campbell_diagram_has_no_axes_of_growth() -> None:
    assert "growth rate [1/s]" not in [ax.get_ylabel() for ax in plot(rotor()).axes]


def test_a_bicycle_is_stable_between_its_weave_and_capsize_speeds() -> None:
    found = bicycle()
    figure = plot(found)
    upper, lower = figure.axes
    assert upper.get_ylabel() == "frequency [Hz]"
    assert lower.get_ylabel() == "growth rate [1/s]"
    assert lower.get_xlabel() == "speed [m/s]"
    assert {"4.292", "6.024"} <= set(words(upper))
    assert len(labelled(lower, "_crossing")) == 2
    parts = labelled(lower, "_unstable")
    assert parts
    speeds = np.concatenate([line.get_xdata()[np.isfinite(line.get_ydata())] for line in parts])
    # one step of the grid (0.25 m/s) beyond the boundaries, where the red line joins the blue one
    assert not ((speeds > 4.292 + 0.25) & (speeds < 6.024 - 0.25)).any()
    drawn(figure)


def test_frequencies_in_radians_per_second_are_those_of_the_sweep() -> None:
    found = bicycle()
    height = plot(found, frequency="rad/s").axes[0].lines[0].get_ydata()
    branch = found.frequencies[:, 0]
    seen = branch > 0.0
    assert np.nan_to_num(height)[seen] == pytest.approx(branch[seen])


def test_a_locus_starts_at_crosses_and_meets_the_axis_at_the_found_gain() -> None:
    plant = StateSpace([[-1, 1, 0], [0, -2, 1], [0, 0, -3]], [0, 0, 1], [1, 0, 0])
    figure = plot(root_locus(plant, np.linspace(0.0, 100.0, 41)))  # a gain: a locus without asking
    ax = figure.axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("real part [rad/s]", "imaginary part [rad/s]")
    assert figure.axes[1].get_ylabel() == "gain"
    starts = np.unique(np.concatenate([line.get_xdata() for line in labelled(ax, "_start")]).round(9))
    assert starts.tolist() == [-3.0, -2.0, -1.0]
    heights = sorted(float(line.get_ydata()[0]) for line in labelled(ax, "_crossing"))
    assert heights == pytest.approx([-np.sqrt(11.0), np.sqrt(11.0)])
    assert "60" in words(ax)
    drawn(figure)
    drawn(plot(bicycle(), view="locus"))


# ---- poles


def test_poles_are_crosses_and_zeros_are_circles() -> None:
    system = StateSpace([[0, 1], [-4, -1]], [0, 1], [[3, 1]])
    ax = plot(system).axes[0]
    poles, zeros = labelled(ax, "poles")[0], labelled(ax, "zeros")[0]
    assert poles.get_marker() == "x"
    assert sorted(poles.get_ydata()) == pytest.approx([-np.sqrt(3.75), np.sqrt(3.75)])
    assert zeros.get_marker() == "o"
    assert zeros.get_xdata() == pytest.approx([-3.0])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("real part [rad/s]", "imaginary part [rad/s]")
    assert not labelled(plot(system, zeros=False).axes[0], "zeros")


def test_growing_poles_have_a_colour_and_a_name_of_their_own() -> None:
    ax = plot(Roots([-1.0, 2.0 + 1j, 2.0 - 1j])).axes[0]
    assert labelled(ax, "growing poles")[0].get_xdata().tolist() == [2.0, 2.0]
    assert labelled(ax, "poles")[0].get_xdata().tolist() == [-1.0]
    undamped = plot(SecondOrder(np.eye(2), np.diag([1.0, 9.0]))).axes[0]
    assert not labelled(undamped, "growing poles")


def test_damping_rays_pass_through_poles_of_that_ratio() -> None:
    for size in (1e-3, 1.0, 1e4):
        ax = plot(Roots(size * np.array([-0.3 + 0.954j, -0.3 - 0.954j, -0.9]))).axes[0]
        rays = [line.get_data() for line in labelled(ax, "_ray")]
        slopes = [-x[0] / np.hypot(x[0], y[0]) for x, y in rays]
        assert any(slope == pytest.approx(0.3) for slope in slopes)
        assert len([text for text in words(ax) if text.startswith("ζ = ")]) >= 2


def test_sampled_poles_lie_in_a_unit_circle() -> None:
    system = building().state_space().to_discrete(0.01)
    ax = plot(system, zeros=False).axes[0]
    assert ax.get_aspect() == 1.0
    x, y = labelled(ax, "_unit circle")[0].get_data()
    assert np.hypot(x, y) == pytest.approx(1.0)
    assert ax.get_xlabel() == "real part of z [-]"
    assert len(labelled(ax, "poles")[0].get_xdata()) == 6


@pytest.mark.parametrize(
    "values", [[0.0], [-1.0], [5.0], [1j, -1j], [-1e-12 + 1j, -1e-12 - 1j], [-1e6, -1e-3], [-1e-9 + 1e5j]]
)
def test_poles_of_any_size_have_room(values: list[complex]) -> None:
    figure = plot(Roots(values))
    ax = figure.axes[0]
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    for value in np.array(values, dtype=complex):
        assert left < value.real < right
        assert low < value.imag < high
    drawn(figure)


def test_a_verdict_on_stability_is_drawn_with_its_eigenvalues() -> None:
    figure = plot(SecondOrder(1.0, 4.0, C=-0.1).stability())
    assert figure.get_suptitle() == "unstable"
    assert len(labelled(figure.axes[0], "growing poles")[0].get_xdata()) == 2


# ---- modes


def test_shapes_without_geometry_are_bars_over_coordinates() -> None:
    modes = building().modes()
    figure = plot(modes, mode=[1, 3])
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "mode 1: 5.457 Hz, damping 0.306 %",
        "mode 3: 23.64 Hz, damping 0.63 %",
    ]
    assert [label.get_text() for label in figure.axes[-1].get_xticklabels()] == list(modes.coordinates)
    heights = np.array([bar.get_height() for bar in figure.axes[0].patches])
    shape = modes.shapes[:, 0]
    assert heights == pytest.approx((shape / shape[2]).real)
    drawn(figure)


def test_complex_shapes_show_both_parts_and_directions_have_colours() -> None:
    shapes = [[1.0, 1.0], [0.5j, -0.2], [0.1, 0.3j]]
    figure = plot(Modes([2j, 5j], shapes, ["A.x", "A.y", "B.x"]), mode=1)
    assert len(figure.axes[0].patches) == 6
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [".x", ".y"]
    many = Modes([2j], np.random.default_rng(1).normal(size=(300, 1)))
    drawn(plot(many))


def test_shapes_of_a_machine_have_an_axis_for_metres_and_one_for_radians() -> None:
    names = ["floor1.displacement", "floor2.displacement", "hinge.angle"]
    figure = plot(Modes([2j, 5j], [[0.01, 1.0], [0.02, -0.5], [1.0, 1e-16]], names))
    assert [ax.get_ylabel() for ax in figure.axes] == ["[m]", "[rad]", "[m]", "[rad]"]
    assert [[bar.get_height() for bar in ax.patches] for ax in figure.axes[:2]] == [[0.01, 0.02], [1.0]]
    assert [ax.get_ylim()[1] for ax in figure.axes] == pytest.approx([0.023, 1.15, 1.15, 1.15])  # the last is rounding
    assert [text.get_text() for text in figure.axes[2].get_xticklabels()] == names[:2]


def test_modes_of_few_coordinates_stand_side_by_side() -> None:
    drawn(figure := plot(building().modes()))
    assert len({ax.get_position().y0 for ax in figure.axes}) == 1
    assert len({ax.get_position().x0 for ax in figure.axes}) == 3


def test_titles_of_damped_modes_side_by_side_stay_above_their_axes() -> None:
    modes = Modes([-0.2537 + 23.129j, -0.6328 + 69.93j, -0.5747 + 104.3j], np.eye(3), ["floor1", "floor2", "floor3"])
    drawn(figure := plot(modes))
    for ax in figure.axes:
        assert "damping" in ax.get_title(loc="left")
        title = next(text for text in ax.findobj(Text) if text.get_text() == ax.get_title(loc="left"))
        assert title.get_window_extent().x1 <= ax.get_window_extent().x1


def test_the_mac_of_modes_with_themselves_is_one_on_its_diagonal() -> None:
    modes = building().modes()
    ax = plot(modes, view="mac").axes[0]
    assert np.diag(np.asarray(ax.images[0].get_array())) == pytest.approx(1.0)
    assert words(ax).count("1.00") == 3
    other = plot(modes, view="mac", against=modes.select([2, 1])).axes[0]
    assert other.images[0].get_array().shape == (3, 2)
    assert other.get_xlabel() == "mode of the other set"


def test_modes_are_a_pole_map_on_request() -> None:
    ax = plot(building().modes(), view="poles").axes[0]
    assert len(labelled(ax, "poles")[0].get_xdata()) == 6  # with conjugates


def test_shapes_of_a_beam_and_of_a_bar_are_drawn_over_their_length() -> None:
    modes = Beam(2.0, EI=1.0, rhoA=1.0).modes(6)
    figure = plot(modes, mode=[1, 4])
    ax = figure.axes[0]
    assert ax.get_xlabel() == "position along the body [m]"
    assert ax.get_ylabel() == "shape, largest 1 [-]"
    curves = [line for line in ax.lines if ":" in str(line.get_label())]
    assert [line.get_label() for line in curves] == [f"{n}: {modes.frequencies_hz[n - 1]:.4g} Hz" for n in (1, 4)]
    assert curves[1].get_ydata()[-1] == pytest.approx(1.0)
    assert plot(modes.normalise("mass")).axes[0].get_ylabel() == "shape [1/√kg]"
    drawn(plot(Bar(1.0, EA=1.0, rhoA=1.0, left="fixed").modes(3)))


# ---- comparisons


def test_a_reduction_shows_its_frequency_errors_and_orthogonality() -> None:
    n = 12
    K = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    chain = SecondOrder(np.eye(n), K, coordinates=[f"x{k}" for k in range(n)])
    report = guyan(chain, ["x2", "x5", "x8", "x11"]).fidelity(4)
    figure = plot(report)
    bars, matrix = figure.axes[:2]
    assert [bar.get_width() for bar in bars.patches[:4]] == pytest.approx(report.frequency_errors)
    assert bars.get_xlabel() == "frequency error [%]"
    assert matrix.images[0].get_array().shape == (4, 4)
    assert figure.axes[2].get_ylabel() == "NCO [-]"
    assert figure.get_suptitle() == report.method
    drawn(figure)


def test_without_a_mass_matrix_mac_takes_the_place_of_nco() -> None:
    modes = building().modes()
    figure = plot(correlate(modes, modes))
    assert figure.axes[2].get_ylabel() == "MAC [-]"
    drawn(figure)


def test_balanced_truncation_shows_what_is_kept_and_what_is_cut() -> None:
    reduced = building().state_space().balanced_truncation(2)
    figure = plot(reduced)
    ax = figure.axes[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["kept (2)", "cut (4)"]
    tops = [bar.get_y() + bar.get_height() for bar in ax.patches]
    assert tops == pytest.approx(reduced.hankel_values)
    assert "order 6 to 2" in figure.get_suptitle()
    drawn(figure)


# ---- the door


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_every_kind_is_written_in_the_format_of_its_suffix(tmp_path: Path, suffix: str) -> None:
    plot(building().modes(), path=tmp_path / f"m.{suffix}")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert (tmp_path / f"m.{suffix}").read_bytes().startswith(start)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_wrong_format_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "m.txtx").write_text("old")
    with raises(FileFormatError, "unknown-choice"):
        plot(building().modes(), path=tmp_path / "m.txtx")
    assert (tmp_path / "m.txtx").read_text() == "old"


def test_pictures_change_no_global_setting() -> None:
    before = dict(mpl.rcParams)
    plot(building().modes())
    plot(bicycle())
    assert dict(mpl.rcParams) == before


def test_a_record_is_drawn_without_loading_linear_algebra() -> None:
    import subprocess
    import sys

    code = (
        "import sys, dalembert as da; da.plot(da.Record([0.0, 1.0], [[1.0], [2.0]], ['a']));"
        "print([m for m in ('dalembert.linear', 'dalembert.structures', 'scipy') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda: plot(responses(), "flor1.x"), "unknown-name"),
        (lambda: plot(responses(), ("floor1.x", "shakr")), "unknown-name"),
        (lambda: plot(responses(), 3), "wrong-type"),
        (lambda: plot(responses(), magnitude="db"), "unknown-name"),
        (lambda: plot(responses(), frequency="hz"), "unknown-name"),
        (lambda: plot(responses(), axis="logarithmic"), "unknown-name"),
        (lambda: plot(FrequencyResponse([0.0], [1.0]), axis="log"), "not-positive"),
        (lambda: plot(FrequencyResponse([1.0], np.ones((1, 5, 5)))), "too-large"),
        (lambda: plot(responses(), against="time"), "unknown-name"),
        (lambda: plot(rotor(), view="cambell"), "unknown-name"),
        (lambda: plot(rotor(), frequency="rpm"), "unknown-name"),
        (lambda: plot(rotor(), "speed"), "unknown-argument"),
        (lambda: plot(Roots([])), "empty"),
        (lambda: plot(Roots([1.0], 0.1), zeros=Roots([1.0], kind="zero")), "sample-time-mismatch"),
        (lambda: plot(building().modes(), mode=4), "unknown-name"),
        (lambda: plot(building().modes(), mode=[]), "out-of-range"),
        (lambda: plot(building().modes(), mode=True), "unknown-name"),
        (lambda: plot(building().modes(), view="bars"), "unknown-name"),
        (lambda: plot(building().modes(), against=building().modes()), "ineffective-argument"),
        (lambda: plot(building().modes(), view="mac", against=[1]), "wrong-type"),
        (lambda: plot(Modes([], np.zeros((2, 0)))), "empty"),
        (lambda: plot(Modes([], np.zeros((2, 0))), view="poles"), "empty"),
        (lambda: plot(Beam(1.0, EI=1.0, rhoA=1.0).modes(2), mode=0), "unknown-name"),
        (lambda: plot(StateSpace([[-1.0]], [0.0], [[1.0]]).balanced_truncation(0)), "no-motion"),
        (lambda: plot(3.0), "wrong-type"),
    ],
)
def test_a_wrong_combination_is_refused_with_advice(how: Any, message: str) -> None:
    with raises(DataError, message):
        how()


def test_the_help_names_every_kind() -> None:
    for kind in (
        "Record",
        "FrequencyResponse",
        "EigenvalueBranches",
        "Modes",
        "Structure",
        "StaticSolution",
        "Buckling",
        "Fidelity",
    ):
        assert re.search(rf"\b{kind}\b", plot.__doc__ or "")


def test_a_response_of_rounding_is_named_and_does_not_stretch_the_axis() -> None:
    values = np.array([[[1.0], [1e-15], [2.0]], [[3.0], [2e-15], [1.0]], [[1.0], [1e-15], [1.0]]])
    units = {"a": "m", "b": "m", "c": "rad"}
    found = FrequencyResponse([1.0, 2.0, 3.0], values, ["torque"], ["a", "b", "c"], kind="output",
                              input_units={"torque": "N m"}, output_units=units)  # fmt: skip
    figure = plot(found)
    named = [text.get_text() for ax in figure.axes if ax.get_legend() for text in ax.get_legend().get_texts()]
    assert named == ["a", "b (zero)", "c"]
    assert figure.axes[0].get_ylim()[0] > 0.1
    assert figure.axes[0].get_ylabel() == "magnitude [m/(N m)]"
    assert figure.get_suptitle() == "response to torque"


@pytest.mark.parametrize(("width", "left"), [(7e-7, -0.224), (1.5e-6, -1.68e-6)])
def test_a_map_of_undamped_poles_has_a_width_of_its_own(width: float, left: float) -> None:
    assert pole_map.limits(np.array([-width + 1j, -width - 1j]))[0] == pytest.approx(left, rel=1e-3)
