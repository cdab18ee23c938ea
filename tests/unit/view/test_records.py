"""Pictures of records: phase portraits, spectra, without and with control, many channels."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.record import Record
from dalembert.view import plot
from dalembert.view.plots.before_after import control_effects
from tests.helpers.findings import raises


def swing(rate: str = "A.rate") -> Record:
    t = np.linspace(0.0, 10.0, 2001)
    data = np.column_stack([np.sin(2 * np.pi * t), 2 * np.pi * np.cos(2 * np.pi * t), 0.1 * np.sin(6 * np.pi * t)])
    return Record(t, data, ["A.angle", rate, "force"], ["rad", "rad/s", "N"], name="swing")


# ---- phase portraits


def test_a_coordinate_is_drawn_against_its_rate() -> None:
    run = swing()
    (ax,) = plot(run, "A.angle", view="phase").axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("A.angle [rad]", "A.rate [rad/s]")
    path = next(line for line in ax.lines if len(line.get_xdata()) == 2001)
    assert np.array_equal(path.get_ydata(), run["A.rate"])


def test_without_names_all_coordinates_with_rates_are_drawn() -> None:
    assert [ax.get_xlabel() for ax in plot(swing(), view="phase").axes] == ["A.angle [rad]"]


@pytest.mark.parametrize(("name", "rate"), [("x3", "x3.rate"), ("cart.x", "cart.vx"), ("cart.x", "cart.x.rate")])
def test_rates_are_found_by_the_names_of_machines_and_linear_models(name: str, rate: str) -> None:
    run = Record([0.0, 1.0, 2.0], [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [name, rate], ["m", "m/s"])
    assert plot(run, name, view="phase").axes[0].get_ylabel() == f"{rate} [m/s]"


def test_a_channel_without_a_rate_gets_its_slope_and_says_so() -> None:
    (ax,) = plot(swing(), "force", view="phase").axes
    assert ax.get_ylabel() == "slope of force [N/s]"
    slope = next(line for line in ax.lines if len(line.get_xdata()) == 2001).get_ydata()
    turn = 6 * np.pi * 0.005  # central differences of a sine are too small by sin(ωh) / ωh
    assert np.abs(slope[1:-1]).max() == pytest.approx(0.6 * np.pi * np.sin(turn) / turn, rel=1e-9)


def test_a_record_without_rates_has_no_phase_portrait_by_itself() -> None:
    with raises(DataError, "missing-channel"):
        plot(Record([0.0, 1.0], [[0.0], [1.0]], ["x"]), view="phase")


# ---- spectra


def test_spectra_show_their_peaks_and_units() -> None:
    figure = plot(swing(), "A.angle", "force", view="spectrum", highest=10.0, axis="linear")
    assert [ax.get_ylabel() for ax in figure.axes] == ["A.angle [rad²/Hz]", "force [N²/Hz]"]
    assert figure.axes[-1].get_xlabel().startswith("frequency [Hz]")
    assert "1 Hz" in [text.get_text() for text in plot(swing(), "A.angle", view="spectrum", segment=2000).axes[0].texts]


def test_an_uneven_record_has_no_spectrum_until_it_is_resampled() -> None:
    run = swing()
    uneven = Record(np.delete(run.time, 7), np.delete(run.data, 7, axis=0), run.names, run.units)
    with raises(DataError, "uneven-sampling"):
        plot(uneven, "force", view="spectrum")
    plot(uneven.resample(every=0.005), "force", view="spectrum")


def test_a_record_with_gaps_has_no_spectrum() -> None:
    data = np.array(swing().data)
    data[5, 2] = np.nan
    holed = Record(swing().time, data, swing().names)
    with raises(DataError, "not-finite", "'force'"):
        plot(holed, "force", view="spectrum")


def test_a_constant_has_no_spectrum() -> None:
    with raises(DataError, "no-motion"):
        plot(Record(np.arange(9.0), np.ones((9, 1)), ["x"]), "x", view="spectrum")


# ---- without and with control


def test_one_record_is_cut_where_control_begins() -> None:
    t = np.linspace(0.0, 20.0, 2001)
    x = np.sin(7 * t) * np.where(t >= 10.0, 0.2, 1.0)
    figure = plot(Record(t, x[:, None], ["x3"], ["m"]), "x3", view="control", switched_on=10.0)
    (ax,) = figure.axes
    before, after = ax.lines[:2]
    assert before.get_xdata()[-1] == after.get_xdata()[0] == 10.0
    words = [text.get_text() for text in ax.texts]
    assert "rms −80 %\npeak −80 %" in words
    assert "control on at 10 s" in words


def test_two_records_are_laid_over_one_another() -> None:
    run = swing()
    calm = Record(run.time, 0.5 * run.data, run.names, run.units)
    (ax,) = plot(run, calm, "force", view="control").axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["without control", "with control"]
    assert "rms −50 %" in ax.texts[0].get_text()


def test_gains_are_shown_for_channels_at_rest_worse_and_much_worse() -> None:
    rest, push = Record([0.0, 1.0], [[0.0], [0.0]], ["u"], ["N"]), Record([0.0, 1.0], [[3.0], [3.0]], ["u"], ["N"])
    assert control_effects(rest, push, ("u",))[0].describe() == "rms 3 N\npeak 3 N"
    assert (
        control_effects(push, Record([0.0, 1.0], [[4.5], [4.5]], ["u"]), ("u",))[0].describe()
        == "rms +50 %\npeak +50 %"
    )
    assert (
        control_effects(push, Record([0.0, 1.0], [[60.0], [60.0]], ["u"]), ("u",))[0].describe() == "rms ×20\npeak ×20"
    )


def test_control_needs_a_time_or_a_second_record() -> None:
    with raises(DataError, "missing-argument"):
        plot(swing(), "force", view="control")
    with raises(DataError, "out-of-range", "10"):
        plot(swing(), "force", view="control", switched_on=11.0)


# ---- time histories


def test_many_channels_are_spread_over_axes_by_what_they_tell() -> None:
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
