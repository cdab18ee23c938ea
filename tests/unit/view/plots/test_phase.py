"""Phase portraits of records."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.record import Record
from dalembert.view import plot
from tests.helpers.findings import raises


def swing(rate: str = "A.rate") -> Record:
    t = np.linspace(0.0, 10.0, 2001)
    data = np.column_stack([np.sin(2 * np.pi * t), 2 * np.pi * np.cos(2 * np.pi * t), 0.1 * np.sin(6 * np.pi * t)])
    return Record(t, data, ["A.angle", rate, "force"], ["rad", "rad/s", "N"], name="swing")


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
