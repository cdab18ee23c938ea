"""Records without and with control."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.record import Record
from dalembert.view import plot
from dalembert.view.plots.before_after import _change, control_effects
from tests.helpers.findings import raises


def swing(rate: str = "A.rate") -> Record:
    t = np.linspace(0.0, 10.0, 2001)
    data = np.column_stack([np.sin(2 * np.pi * t), 2 * np.pi * np.cos(2 * np.pi * t), 0.1 * np.sin(6 * np.pi * t)])
    return Record(t, data, ["A.angle", rate, "force"], ["rad", "rad/s", "N"], name="swing")


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


@pytest.mark.parametrize(
    ("one", "two", "text"),
    [
        (7e-10, 1.0, "peak 1 m"),  # nothing before: no percentage
        (1.5e-9, 1.0, "peak ×6.67e+08"),
        (1.0, 9.9, "peak +890 %"),
        (1.0, 10.2, "peak ×10.2"),
        (1.0, 1.094, "peak +9.4 %"),
        (1.0, 1.106, "peak +11 %"),
        (1.0, 0.005, "peak −99.5 %"),
        (1.0, 0.014, "peak −99 %"),
    ],
)
def test_changes_are_written_as_percentages_or_factors(one: float, two: float, text: str) -> None:
    assert _change("peak", one, two, "m") == text
