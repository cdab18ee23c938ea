"""Spectra of records."""

from __future__ import annotations

import numpy as np

from dalembert.core.errors import DataError
from dalembert.identify import efdd, merge_setups, survey
from dalembert.record import Record
from dalembert.view import plot
from tests.helpers.ambient_chain import ambient
from tests.helpers.findings import raises


def swing(rate: str = "A.rate") -> Record:
    t = np.linspace(0.0, 10.0, 2001)
    data = np.column_stack([np.sin(2 * np.pi * t), 2 * np.pi * np.cos(2 * np.pi * t), 0.1 * np.sin(6 * np.pi * t)])
    return Record(t, data, ["A.angle", rate, "force"], ["rad", "rad/s", "N"], name="swing")


def test_spectra_show_their_peaks_and_units() -> None:
    figure = plot(swing(), "A.angle", "force", view="spectrum", highest=10.0, axis="linear")
    assert [ax.get_ylabel() for ax in figure.axes] == ["A.angle [rad²/Hz]", "force [N²/Hz]"]
    assert figure.axes[-1].get_xlabel().startswith("frequency [Hz]")
    assert "1 Hz" in [text.get_text() for text in plot(swing(), "A.angle", view="spectrum", segment=2000).axes[0].texts]


def test_a_record_with_gaps_has_no_spectrum() -> None:
    data = np.array(swing().data)
    data[5, 2] = np.nan
    holed = Record(swing().time, data, swing().names)
    with raises(DataError, "not-finite", "'force'"):
        plot(holed, "force", view="spectrum")


def test_a_constant_has_no_spectrum() -> None:
    with raises(DataError, "no-motion"):
        plot(Record(np.arange(9.0), np.ones((9, 1)), ["x"]), "x", view="spectrum")


def test_singular_values_show_modes_bells_and_harmonics() -> None:
    found = efdd.quiet(ambient(19_200, sines={13.4: 5.0}))
    ax = plot(found).axes[0]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[0] == "first singular value"
    assert labels[-2:] == ["mode and its bell", "harmonic of a machine"]
    assert len(ax.texts) == len(found.modes)
    below = plot(found, highest=4.0).axes[0]
    assert below.get_xlim()[1] <= 4.0
    assert len(below.texts) == (found.frequencies_hz < 4.0).sum()


def test_merged_set_ups_show_their_shapes_at_all_sensors() -> None:
    setups = [ambient(6400, seed=k).select("m3", "m8", *own) for k, own in enumerate((("m1", "m2"), ("m5", "m6")))]
    merged = merge_setups.quiet(setups, method="preger")
    titles = [ax.get_title(loc="left") for ax in plot(merged).axes]
    assert sum(title.startswith("mode") for title in titles) == len(merged.modes)


def test_the_last_spectrum_of_a_survey_has_the_frequencies_whichever_channel_it_belongs_to() -> None:
    run = swing()
    data = np.column_stack([run.data, np.full(len(run), 3.0)])
    steady = Record(run.time, data, [*run.names, "supply"], ["rad", "rad/s", "N", "V"])
    axes = plot(survey(steady), record=steady).axes
    labelled = [ax for ax in axes if ax.get_xlabel().startswith("frequency")]
    assert [ax.axison for ax in labelled] == [True]
    labelled[0].figure.canvas.draw()
    assert any(tick.label1.get_visible() and tick.label1.get_text() for tick in labelled[0].xaxis.get_major_ticks())
